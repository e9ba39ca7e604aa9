/* SPDX-License-Identifier: Apache-2.0 */
/* solve/coins.h: few trees of weights 2^k ... 4, 2, 1 that come near to the bound where cables are of many widths. */
#ifndef BANYAN_SOLVE_COINS_H
#define BANYAN_SOLVE_COINS_H

#include "solve/packing.h"

typedef struct {
    const int64_t *price; /* per arc: those that prove the bound, equal on twins */
    double bound;         /* in the graph's units */
    double enough;        /* share of the bound to aim at, below 1 */
    int tree_limit;
    int round_limit;           /* times that all trees of a weight are grown anew, at most */
    banyan_tree_oracle oracle; /* cheap trees on the symmetric graph */
    void *context;
} banyan_coins_problem;

/* Appends at most tree_limit trees to trees, which is empty, and gives the caller their weights, with which no cable bears
 * more than its capacity; *total is their sum, in the graph's units. */
banyan_status banyan_coins_pack(const banyan_graph *graph, const banyan_coins_problem *problem,
                                banyan_trees *trees, double **weight, double *total, banyan_error *err);

#endif
