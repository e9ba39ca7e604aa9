/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/rebalance.h: a limited number of pairs of trees, whatever they are, become such as nearly fill
 * the arcs. */
#ifndef BANYAN_SOLVE_ROUND_REBALANCE_H
#define BANYAN_SOLVE_ROUND_REBALANCE_H

#include "solve/pack/pair_columns.h"

typedef enum {
    BANYAN_WEIGHTS_CHANGE,
    BANYAN_WEIGHTS_ENOUGH, /* they stay where they are enough, */
    BANYAN_WEIGHTS_STAY    /* or in any case */
} banyan_weights_rule;

typedef struct {
    double aim;    /* what all pairs together should weigh at best, in the graph's units */
    double enough; /* and what will do: then it ends */
    int turn_limit;
    int64_t visit_limit; /* of work (solve/net/work.h), or little more; 0: none */
    const int64_t
        *price;      /* per arc, under which good trees are cheap, where idle nodes help; NULL: not known */
    int more_hops;   /* than the deepest tree has: trees may become so deep */
    int keeps_depth; /* that is a limit of the caller's, in edges: idle nodes join no tree */
    banyan_weights_rule weights;
} banyan_rebalance_problem;

/* Trees stand in, out, in, out, ...; root is per tree, weight per pair: on entry they only matter beside each
 * other, in the end they are what the pairs can carry, in the graph's units, and *total is their sum. The
 * trees are replaced. */
banyan_status banyan_rebalance(const banyan_graph *graph, const banyan_rebalance_problem *problem,
                               banyan_trees *trees, const int *root, double *weight, double *total,
                               banyan_error *err);

/* The same for a packing that is made of pairs, in this order. */
banyan_status banyan_rebalance_packing(const banyan_graph *graph, const banyan_rebalance_problem *problem,
                                       banyan_pair_packing *packing, banyan_error *err);

#endif
