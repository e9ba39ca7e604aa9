/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/pair_tools.h: what all makers of pairs share. Trees stand in, out, in, out, ...: pair k has the
 * trees 2 k and 2 k + 1, with one root and one weight. */
#ifndef BANYAN_SOLVE_START_PAIR_TOOLS_H
#define BANYAN_SOLVE_START_PAIR_TOOLS_H

#include "solve/oracle/pair_oracle.h"
#include "solve/pack/pair_columns.h"

/* Appends the oracle's tree of the root, which there must be; prices of its kind were given before. */
banyan_status banyan_pair_tools_grow(banyan_pair_oracle *oracle, int is_out, int root, banyan_trees *trees,
                                     banyan_error *err);

/* Hops of the deepest tree; above: room for a number a node. */
int banyan_pair_tools_depth(const banyan_graph *graph, const banyan_trees *trees, int *above);

/* The pairs become the packing's trees. weight: per pair, in the graph's units. On success *root (per tree)
 * is the packing's, and *trees is left empty. */
banyan_status banyan_pair_tools_hand_over(banyan_pair_packing *packing, banyan_trees *trees, int **root,
                                          const double *weight, banyan_error *err);

/* Undirected trees of a symmetric graph as pairs of trees that mirror each other, rooted at their centres.
 * weight: per tree, in the graph's units. */
banyan_status banyan_pair_tools_mirror(const banyan_graph *graph, const banyan_trees *trees,
                                       const double *weight, banyan_pair_packing *packing, banyan_error *err);

#endif
