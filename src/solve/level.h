/* SPDX-License-Identifier: Apache-2.0 */
/* solve/level.h: spanning trees of single cables move off the cables that are too full. */
#ifndef BANYAN_SOLVE_LEVEL_H
#define BANYAN_SOLVE_LEVEL_H

#include "solve/graph.h"

typedef struct {
    int tree_count;
    const double *weight; /* per tree, above 0 */
    double enough;        /* stop when no cable bears more than its capacity times this */
    double usual;         /* cables no fuller than their capacity times this are left alone */
    int depth_limit; /* hops from its centre that no tree goes beyond by a move, unless it does already; */
    int depth_most;  /* or this many, when nothing else helps */
    long move_limit;
} banyan_level_problem;

/* parent[tree * node_count + v] is v's parent or -1 at the root, via[] the cable to it (banyan_graph_cable). All
 * nodes of the symmetric graph are in every tree. Moves lower the sum over cables of load squared over capacity;
 * the trees are changed in place, and *fullest is the largest load over capacity in the end. */
banyan_status banyan_level(const banyan_graph *graph, const banyan_level_problem *problem, int *parent,
                           int *via, double *fullest, banyan_error *err);

#endif
