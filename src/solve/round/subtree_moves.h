/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/subtree_moves.h: one-way trees that share arcs fairly, made from some that do not. */
#ifndef BANYAN_SOLVE_ROUND_SUBTREE_MOVES_H
#define BANYAN_SOLVE_ROUND_SUBTREE_MOVES_H

#include "solve/net/trees.h"

/* Share of the old way's price that a move must gain. */
#define BANYAN_MIN_MOVE_GAIN 1e-3

typedef struct {
    const int *root;     /* per tree */
    const double *limit; /* per arc: its users should weigh that much together at most */
    int depth_limit;     /* hops of a tree, unless it has more already */
    long attempt_limit;
    int64_t visit_limit;  /* solve/round/branch_moves.h: of work (solve/net/work.h); 0: none */
    const double *weight; /* per tree; NULL: 1 each */
    /* solve/round/branch_moves.h: per arc, under which good trees are cheap; NULL: not known */
    const int64_t *price;
    double *
        /* the same: per arc, what prices have learned, for the next time; 0: nothing yet; NULL: it is not
         * kept */
        learned;
    int is_firm; /* the same: nearly all limits are held, and trees change only where one is not */
} banyan_subtree_moves_problem;

/* Trees 0, 2, 4, ... lead to their roots, the others away from them; each spans the active nodes of the graph
 * and some that help; whatever is not in a tree forwards. The trees are replaced. *fullest: the most of what
 * users weigh / limit. */
banyan_status banyan_subtree_moves(const banyan_graph *graph, const banyan_subtree_moves_problem *problem,
                                   banyan_trees *trees, double *fullest, banyan_error *err);

/* The same trees, but nodes are nearer to the roots as far as arcs have room; no limit is passed that was
 * not before. */
banyan_status banyan_subtree_moves_flatten(const banyan_graph *graph,
                                           const banyan_subtree_moves_problem *problem, banyan_trees *trees,
                                           banyan_error *err);

#endif
