/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/geometric_trees.h: few trees, each of another weight, that come near to the bound where very
 * many cables have many widths. */
#ifndef BANYAN_SOLVE_START_GEOMETRIC_TREES_H
#define BANYAN_SOLVE_START_GEOMETRIC_TREES_H

#include "solve/start/unit_weights.h"

/* The problem is that of whole units, but enough is a share of the bound to aim at, and round_limit is not
 * used. Appends at most tree_limit trees to trees, which is empty, and gives the caller their weights, with
 * which no cable bears more than its capacity; *total is their sum, in the graph's units. */
banyan_status banyan_geometric_trees_pack(const banyan_graph *graph,
                                          const banyan_unit_weights_problem *problem, banyan_trees *trees,
                                          double **weight, double *total, banyan_error *err);

#endif
