/* SPDX-License-Identifier: Apache-2.0 */
/* solve/coins.h: few trees of weights 2^k ... 4, 2, 1 that come near to the bound where cables are of many widths. */
#ifndef BANYAN_SOLVE_COINS_H
#define BANYAN_SOLVE_COINS_H

#include "solve/units.h"

/* The problem is that of whole units, but enough is a share of the bound to aim at, and round_limit goes for the trees
 * of each weight. Appends at most tree_limit trees to trees, which is empty, and gives the caller their weights, with which no
 * cable bears more than its capacity; *total is their sum, in the graph's units. */
banyan_status banyan_coins_pack(const banyan_graph *graph, const banyan_units_problem *problem,
                                banyan_trees *trees, double **weight, double *total, banyan_error *err);

#endif
