/* SPDX-License-Identifier: Apache-2.0 */
/* solve/branch.h: trees that fill capacities on arcs, so much of them at each root (solve/divide.h says how much). */
#ifndef BANYAN_SOLVE_BRANCH_H
#define BANYAN_SOLVE_BRANCH_H

#include "solve/trees.h"

typedef struct {
    int towards;            /* 1: trees lead to their roots */
    const double *capacity; /* per arc */
    const double *root;     /* per node: the weight of trees that are wanted there */
} banyan_branch_problem;

typedef struct {
    banyan_trees trees;
    int *root;      /* per tree */
    double *weight; /* per tree */
    double total;   /* their sum */
    size_t root_capacity, weight_capacity;
} banyan_branches;

/* Trees that span all active nodes; every node with an arc must be active. Nearly all that is wanted is found
 * where the capacities allow it. */
banyan_status banyan_branch(const banyan_graph *graph, const banyan_branch_problem *problem,
                            banyan_branches *out, banyan_error *err);
void banyan_branches_fini(banyan_branches *branches);

#endif
