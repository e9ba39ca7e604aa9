/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/peel.h: an optimal packing of spanning trees with few trees, taken off one by one, each
 * shallow. */
#ifndef BANYAN_SOLVE_START_PEEL_H
#define BANYAN_SOLVE_START_PEEL_H

#include "solve/net/trees.h"

typedef struct {
    int tree_limit;
    double enough; /* stop at this share of the optimum, below 1 */
    double least;  /* stop when this share of it is out of sight; 0: never */
} banyan_peel_problem;

typedef struct {
    banyan_trees trees;
    double *weight; /* per tree, in the graph's units */
    double total, optimum;
} banyan_peel;

/* The graph must be symmetric and connected, all its nodes active. */
banyan_status banyan_peel_solve(const banyan_graph *graph, const banyan_peel_problem *problem,
                                banyan_peel *out, banyan_error *err);
void banyan_peel_fini(banyan_peel *peel);

#endif
