/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/tree_columns.h: the heaviest packing of trees into a symmetric graph's cables, with prices that
 * prove it; or of out-trees into any graph's arcs.
 *
 *     maximise sum of w(T)   subject to   sum over T of uses(T, e) w(T) <= capacity(e)  for every cable e
 *
 * Any prices y >= 0 bound it from above by  sum of capacity(e) y(e)  over the cost of the cheapest tree under
 * y; at the optimum both sides meet. */
#ifndef BANYAN_SOLVE_PACK_TREE_COLUMNS_H
#define BANYAN_SOLVE_PACK_TREE_COLUMNS_H

#include "solve/net/fraction.h"
#include "solve/net/trees.h"

/* The cheapest tree under the arcs' costs (undirected: equal on twins): appends it and returns its cost; -1:
 * none. */
typedef int64_t (*banyan_tree_oracle)(void *context, const int64_t *cost, banyan_trees *trees);

typedef struct {
    banyan_tree_oracle oracle;
    void *context;
    banyan_tree_oracle quick; /* the same context: cheap trees, not always the cheapest, or NULL */
    int directed;             /* trees have a direction, and each arc has its own capacity and price */
    const int *group;     /* per arc: those of one group share a row (0..group_count-1), as if by symmetry; */
    int group_count;      /* the weights are then no packing, but prices and bound hold. NULL: each its own */
    double tolerance;     /* stop when the bound exceeds the packing by no more than this share */
    double good_enough;   /* stop when the packing weighs this much; 0: never */
    int warm_trees;       /* trees by multiplicative weights before the first linear program */
    const int64_t *start; /* good prices per arc for the first tree, or NULL: by capacity */
    const banyan_trees *seed; /* trees to begin with, or NULL */
    int round_limit;          /* linear programs at most */
} banyan_tree_packing_problem;

typedef struct {
    banyan_trees trees;
    double *weight; /* per tree, in the graph's units */
    double total;   /* their sum */
    int64_t *price; /* per arc; whole numbers in proportion */
    banyan_fraction bound;
    double bound_value; /* the same, also where the fraction does not fit */
    int rounds;
} banyan_tree_packing;

banyan_status banyan_tree_packing_solve(const banyan_graph *graph, const banyan_tree_packing_problem *problem,
                                        banyan_tree_packing *out, banyan_error *err);
void banyan_tree_packing_fini(banyan_tree_packing *packing);

/* Sum over the cables (directed: over the arcs) of capacity times price. */
banyan_wide banyan_tree_packing_value(const banyan_graph *graph, const int64_t *price, int directed);

#endif
