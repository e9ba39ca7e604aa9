/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/packed-parts.h: what the files that pack a network share. */
#ifndef BANYAN_ALGORITHMS_PACKED_PARTS_H
#define BANYAN_ALGORITHMS_PACKED_PARTS_H

#include "algorithms/packed.h"
#include "solve/packing.h"

/* The cheapest spanning tree; the context is a banyan_spanning. */
int64_t banyan_packed_oracle(void *context, const int64_t *cost, banyan_trees *trees);

/* The packing's trees as flows, each rooted at its centre. */
void banyan_packed_take(banyan_flows *flows, const banyan_graph *graph, const banyan_packing *packing);

/* Column generation, from the seed's trees where there are some, until enough is packed (0: the optimum). */
banyan_status banyan_packed_spanning(const banyan_graph *graph, const banyan_trees *seed, double enough,
                                     banyan_flows *flows, banyan_error *err);

/* Workers behind switches that forward: the optimum, by shallow trees of equal weight where these reach it. */
banyan_status banyan_packed_switched(const banyan_topology *topology, const banyan_graph *graph,
                                     const banyan_packed_options *options, banyan_flows *flows,
                                     banyan_error *err);

/* The same for flows that are there already, with prices (per arc) that prove them best. With max_depth, trees
 * are no deeper, even at a loss. */
banyan_status banyan_packed_shallow(const banyan_topology *topology, const banyan_graph *graph,
                                    const int64_t *price, const banyan_packed_options *options,
                                    banyan_flows *flows, banyan_error *err);

int banyan_packed_all_active(const banyan_graph *graph);

/* Every node active: the optimum is the strength, and few trees reach it. */
banyan_status banyan_packed_direct(const banyan_topology *topology, const banyan_graph *graph,
                                   const banyan_packed_options *options, banyan_flows *flows,
                                   banyan_error *err);

#endif
