/* SPDX-License-Identifier: Apache-2.0 */
/* solve/rehang.h: one-way trees that share arcs fairly, made from some that do not. */
#ifndef BANYAN_SOLVE_REHANG_H
#define BANYAN_SOLVE_REHANG_H

#include "solve/trees.h"

typedef struct {
    const int *root;     /* per tree */
    const double *limit; /* per arc: its users should weigh so much together at most */
    int depth_limit;     /* hops of a tree, unless it has more already */
    long attempt_limit;
    const double *weight; /* per tree; NULL: 1 each */
    const int64_t *price; /* solve/graft.h: per arc, under which good trees are cheap; NULL: not known */
    double *
        learned; /* the same: per arc, what prices have learned, for the next time; 0: nothing yet; NULL: it is not kept */
    int is_firm; /* the same: nearly all limits are held, and trees change only where one is not */
} banyan_rehang_problem;

/* Trees 0, 2, 4, ... lead to their roots, the others away from them; each spans the active nodes of the graph and some that
 * help; whatever is not in a tree forwards. The trees are replaced. *fullest: the most of what users weigh / limit. */
banyan_status banyan_rehang(const banyan_graph *graph, const banyan_rehang_problem *problem,
                            banyan_trees *trees, double *fullest, banyan_error *err);

#endif
