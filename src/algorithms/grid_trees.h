/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/grid_trees.h: trees that follow the dimensions of a mesh or torus. */
#ifndef BANYAN_ALGORITHMS_GRID_TREES_H
#define BANYAN_ALGORITHMS_GRID_TREES_H

#include "solve/net/trees.h"
#include "topology/topology.h"

/* Is the graph all of a grid's workers, with cables between neighbours? */
int banyan_grid_trees_apply(const banyan_topology *topology, const banyan_graph *graph);

/* Appends the trees whose cables all exist; at most limit. */
banyan_status banyan_grid_trees_add(const banyan_topology *topology, const banyan_graph *graph, size_t limit,
                                    banyan_trees *trees, banyan_error *err);

#endif
