/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/split_check.h: does a division of the arcs between reduce and broadcast serve all active
 * nodes? */
#ifndef BANYAN_SOLVE_CUT_SPLIT_CHECK_H
#define BANYAN_SOLVE_CUT_SPLIT_CHECK_H

#include "solve/net/graph.h"

typedef struct {
    const banyan_graph *graph;
    const double *width, *sent; /* per arc: all of it, and the broadcast's part */
    const double *root;         /* per node: how much is summed there */
    double rate;
} banyan_split_check_problem;

/* As much must come to each from all roots, and get from each to them, as the rate is: two maximum flows a
 * node. The flow is that of banyan_graph_make_flow with one node more, the one before the roots. */
int banyan_split_check_all(const banyan_split_check_problem *problem, banyan_flow *flow);

#endif
