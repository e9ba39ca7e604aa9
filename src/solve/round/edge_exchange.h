/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/edge_exchange.h: trees of equal weight become better neighbours: one edge at a time leaves a
 * full cable. */
#ifndef BANYAN_SOLVE_ROUND_EDGE_EXCHANGE_H
#define BANYAN_SOLVE_ROUND_EDGE_EXCHANGE_H

#include "solve/net/trees.h"

typedef struct {
    const double *weight; /* per tree, above 0 */
    double usual;         /* prices are made for cables about as full as this; 0: as the fullest */
    double enough;        /* stop when no cable bears more than its capacity times this; 0: never */
    int depth_limit; /* hops from the root that no exchange goes beyond, unless a tree is deeper already */
    long attempt_limit;
} banyan_edge_exchange_problem;

/* Lowers the largest quotient of weight and capacity over the cables of a symmetric graph; *fullest is what
 * it comes to. Each tree must span the active nodes; idle nodes that add may join as branching points. The
 * trees are replaced, each with edges from the root on. */
banyan_status banyan_edge_exchange(const banyan_graph *graph, const banyan_edge_exchange_problem *problem,
                                   banyan_trees *trees, double *fullest, banyan_error *err);

#endif
