/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/branch_moves.h: the same as solve/round/subtree_moves.h where no node only forwards: idle nodes
 * are in a tree just while they are of use. */
#ifndef BANYAN_SOLVE_ROUND_BRANCH_MOVES_H
#define BANYAN_SOLVE_ROUND_BRANCH_MOVES_H

#include "solve/round/subtree_moves.h"

/* Every node with an arc adds and copies, some are idle, and arcs are not that many that edges move well one
 * by one. */
int banyan_branch_moves_applies(const banyan_graph *graph);

/* It ends after some rounds over all trees, whatever the limit of attempts is, or after the first that passes
 * the limit of visits. */
banyan_status banyan_branch_moves(const banyan_graph *graph, const banyan_subtree_moves_problem *problem,
                                  banyan_trees *trees, double *fullest, banyan_error *err);

#endif
