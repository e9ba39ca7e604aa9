/* SPDX-License-Identifier: Apache-2.0 */
/* bound/gather.h: the best all-gather and reduce-scatter rates, by minimum cuts. */
#ifndef BANYAN_BOUND_GATHER_H
#define BANYAN_BOUND_GATHER_H

#include "solve/net/fraction.h"
#include "solve/net/graph.h"

/* The whole vector's rate in the graph's units, and the cut that limits it: inside[v] != 0 on its near side.
 * All data of the near side must leave it (towards != 0: all data of the other side must come in). */
banyan_status banyan_gather_rate(const banyan_graph *graph, int towards, banyan_fraction *out,
                                 unsigned char *inside, banyan_error *err);

#endif
