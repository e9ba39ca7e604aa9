/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/unit_weights.h: few trees of small whole weights that together come near to the bound. */
#ifndef BANYAN_SOLVE_START_UNIT_WEIGHTS_H
#define BANYAN_SOLVE_START_UNIT_WEIGHTS_H

#include "solve/pack/tree_columns.h"

typedef struct {
    const int64_t *price; /* per arc: those that prove the bound, equal on twins */
    double bound;         /* in the graph's units */
    double enough;        /* share of the bound that will do, below 1 */
    int tree_limit;
    int round_limit;           /* times that all trees are grown anew, at most */
    banyan_tree_oracle oracle; /* cheap trees on the symmetric graph */
    void *context;
} banyan_unit_weights_problem;

/* Appends at most tree_limit trees to trees, which is empty, and gives the caller their weights, whole
 * numbers. *fits: with these no cable bears more than its share when enough of the bound is reached; else
 * they are what came nearest to that, and other weights may do better. No trees where no number of units
 * leaves room. */
banyan_status banyan_unit_weights_pack(const banyan_graph *graph, const banyan_unit_weights_problem *problem,
                                       banyan_trees *trees, double **weight, int *fits, banyan_error *err);

#endif
