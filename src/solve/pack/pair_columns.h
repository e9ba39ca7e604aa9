/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/pair_columns.h: reduce trees and broadcast trees with common roots, packed into one-way arcs.
 *
 *     maximise sum over roots v of chi(v),  chi(v) = weight of in-trees to v = weight of out-trees from v
 *
 * Stages say which capacities they share. Pipelined: both kinds share each arc. Sequential: each kind has
 * the arcs for itself, one after the other (problem 4 of the tree packing paper). Overlap: out-trees may
 * also run beside the in-trees (its problem 8). Prices y prove a bound: for every root the cheapest in-tree
 * and the cheapest out-tree cost some sum; capacity times price, over the least such sum, cannot be
 * passed. */
#ifndef BANYAN_SOLVE_PACK_PAIR_COLUMNS_H
#define BANYAN_SOLVE_PACK_PAIR_COLUMNS_H

#include "solve/net/fraction.h"
#include "solve/net/trees.h"

typedef enum { BANYAN_STAGES_PIPELINED, BANYAN_STAGES_SEQUENTIAL, BANYAN_STAGES_OVERLAP } banyan_stages;

typedef enum {
    BANYAN_KINDS_BOTH,
    BANYAN_KINDS_OUT,     /* out-trees alone, from any root */
    BANYAN_KINDS_MIRRORED /* symmetric graph: in-trees to one node, and out-trees that are their images; only
                           * in-trees are packed, so that prices, bound and total are of use, not the trees */
} banyan_kinds;

typedef struct {
    banyan_stages stages;
    banyan_kinds kinds;  /* not both: pipelined */
    double tolerance;    /* stop when the bound exceeds the packing by no more than this share */
    double good_enough;  /* stop when the packing weighs this much; 0: never */
    int round_limit;     /* linear programs at most */
    int64_t visit_limit; /* stop after that much work (solve/net/work.h); 0: never */
    int tree_limit;      /* pipelined: more pairs of trees than these are of no use; 0: any number is */
    /* above 0: the cheapest trees are searched for, see solve/oracle/branch_and_bound.h */
    int search_effort;
} banyan_pair_packing_problem;

typedef enum { BANYAN_TREE_IN, BANYAN_TREE_OUT, BANYAN_TREE_OUT_LATER } banyan_tree_kind;

typedef struct {
    banyan_trees trees;
    banyan_tree_kind *kind; /* per tree; OUT_LATER is in the second stage */
    int *root;              /* per tree, a node */
    double *weight;         /* per tree, in the graph's units */
    double total;           /* sum of chi */
    int64_t *price;         /* per arc; sequential and overlap: then per arc of the second stage */
    banyan_fraction bound;
    double bound_value;
    int proven; /* the oracle was exact, so bound holds */
    int rounds;
} banyan_pair_packing;

void banyan_pair_packing_fini(banyan_pair_packing *packing);

/* Other trees, pipelined, under the same prices. All that is given becomes the packing's; *trees is left
 * empty. */
void banyan_pair_packing_replace(banyan_pair_packing *packing, banyan_tree_kind *kind, int *root,
                                 double *weight, banyan_trees *trees);

/* Trees one by one, each the cheapest under the prices of those before: exact everywhere. With a division (or
 * NULL), pipelined: its prices and bound are there from the beginning, and the first trees follow it. */
typedef struct banyan_split banyan_split;
banyan_status banyan_pair_packing_by_columns(const banyan_graph *graph,
                                             const banyan_pair_packing_problem *problem,
                                             const banyan_split *division, banyan_pair_packing *out,
                                             banyan_error *err);

/* The bound that pipelined prices prove, recomputed from them alone; *num / *den. den 0: no tree has a cost.
 * *proven is 0 where the trees' costs are only estimates. */
banyan_status banyan_pair_prices_check(const banyan_graph *graph, const int64_t *price, banyan_wide *num,
                                       banyan_wide *den, int *proven, banyan_error *err);

/* The same for prices of stages: per arc, and where there are two stages then per arc of the second one. */
banyan_status banyan_pair_prices_check_stages(const banyan_graph *graph, banyan_stages stages,
                                              const int64_t *price, banyan_wide *num, banyan_wide *den,
                                              int *proven, banyan_error *err);

#endif
