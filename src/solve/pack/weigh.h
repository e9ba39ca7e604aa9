/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/weigh.h: the weights with which given trees fill the cables of a symmetric graph best. */
#ifndef BANYAN_SOLVE_PACK_WEIGH_H
#define BANYAN_SOLVE_PACK_WEIGH_H

#include "solve/net/trees.h"

typedef struct banyan_weighing banyan_weighing;

/* Graph and trees must live on; trees that are appended later count from the next solve on. */
banyan_status banyan_weighing_create(const banyan_graph *graph, const banyan_trees *trees,
                                     banyan_weighing **out, banyan_error *err);
void banyan_weighing_destroy(banyan_weighing *weighing); /* accepts NULL */

/* *total: the sum of the weights, in the graph's units. A second solve begins where the first one ended. */
banyan_status banyan_weighing_solve(banyan_weighing *weighing, double *total, banyan_error *err);

/* The tree weighs nothing from the next solve on. */
void banyan_weighing_drop(banyan_weighing *weighing, size_t tree);

/* After a solve: the weight of a tree, and what one more unit of an arc's cable is worth. */
double banyan_weighing_weight(const banyan_weighing *weighing, size_t tree);
double banyan_weighing_price(const banyan_weighing *weighing, int arc);

#endif
