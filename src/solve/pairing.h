/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pairing.h: what all makers of pairs share. Trees stand in, out, in, out, ...: pair k has the trees 2 k and 2 k + 1,
 * with one root and one weight. */
#ifndef BANYAN_SOLVE_PAIRING_H
#define BANYAN_SOLVE_PAIRING_H

#include "solve/coupled-oracle.h"
#include "solve/coupled.h"

/* Appends the oracle's tree of the root, which there must be; prices of its kind were given before. */
banyan_status banyan_pairing_grow(banyan_coupled_oracle *oracle, int is_out, int root, banyan_trees *trees,
                                  banyan_error *err);

/* Hops of the deepest tree; above: room for a number a node. */
int banyan_pairing_depth(const banyan_graph *graph, const banyan_trees *trees, int *above);

/* The pairs become the packing's trees. weight: per pair, in the graph's units. On success *root (per tree) is the packing's,
 * and *trees is left empty. */
banyan_status banyan_pairing_hand_over(banyan_coupled *packing, banyan_trees *trees, int **root,
                                       const double *weight, banyan_error *err);

#endif
