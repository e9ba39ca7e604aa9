/* SPDX-License-Identifier: Apache-2.0 */
/* bound/large.h: bounds of networks that are too large for a search (topology/scale.h): the best of some cuts
 * that need none. They hold like any others, with certificates, but are not always the lowest. */
#ifndef BANYAN_BOUND_LARGE_H
#define BANYAN_BOUND_LARGE_H

#include "bound/allreduce.h"
#include "topology/topology.h"

/* Sets price, value and fraction; reached is 0. */
banyan_status banyan_large_solve(const banyan_topology *topology, const banyan_graph *graph,
                                 banyan_allreduce_bound *out, banyan_error *err);

/* Replaces a bound that a search ended too early to make as low: price, value and fraction. */
banyan_status banyan_large_lower(const banyan_topology *topology, const banyan_graph *graph,
                                 banyan_allreduce_bound *bound, banyan_error *err);

/* What prices prove, as banyan_allreduce_prove, in O(arcs log arcs); it may prove less than that. */
banyan_status banyan_large_prove(const banyan_graph *graph, const int64_t *price, banyan_fraction *fraction,
                                 double *value, banyan_error *err);

/* As banyan_gather_rate (bound/gather.h). */
banyan_status banyan_large_gather(const banyan_topology *topology, const banyan_graph *graph, int towards,
                                  banyan_fraction *out, unsigned char *inside, banyan_error *err);

#endif
