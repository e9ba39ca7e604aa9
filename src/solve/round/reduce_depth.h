/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/reduce_depth.h: making packed trees shallower by swapping cables between them. */
#ifndef BANYAN_SOLVE_ROUND_REDUCE_DEPTH_H
#define BANYAN_SOLVE_ROUND_REDUCE_DEPTH_H

#include "solve/net/trees.h"

/* Trees on a graph whose edges are single cables, with their weights. Swaps keep what each cable carries, or
 * use room that is left, until no tree has more hops from its centre than the network's radius and one more,
 * or nothing helps. A swap between trees of different weight splits the heavier one, as long as there are
 * fewer than tree_limit. trees and *weight are replaced. */
banyan_status banyan_reduce_depth(const banyan_graph *graph, banyan_trees *trees, double **weight,
                                  size_t tree_limit, banyan_error *err);

#endif
