/* SPDX-License-Identifier: Apache-2.0 */
/* bound/gather.h: the best all-gather and reduce-scatter rates on a graph, with weighted cuts that prove
 * them: by maximum flows, and by a linear program where these are not enough. gather_rate.c makes rates with
 * certificates of them. */
#ifndef BANYAN_BOUND_GATHER_H
#define BANYAN_BOUND_GATHER_H

#include "bound/check.h"
#include "topology/topology.h"

/* By minimum cuts, which trees reach where no idle node has unequal widths in and out: the whole vector's
 * rate in the graph's units, and the cut that limits it: inside[v] != 0 on its near side (NULL:
 * nobody asks). All data of the near side must leave it (towards != 0: all data of the other side must come
 * in). */
banyan_status banyan_gather_rate(const banyan_graph *graph, int towards, banyan_fraction *out,
                                 unsigned char *inside, banyan_error *err);

typedef struct {
    banyan_cut_family family; /* proves the rate; the caller's */
    double reached; /* the whole vector's rate by trees that are known to exist; 0: none are known */
} banyan_gather_bound;

/* By cuts, with potentials where these prove less; in large networks by cuts that need no search
 * (bound/large.h). */
banyan_status banyan_gather_solve(const banyan_topology *topology, const banyan_graph *graph, int towards,
                                  banyan_gather_bound *out, banyan_error *err);

#endif
