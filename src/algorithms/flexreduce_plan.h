/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/flexreduce_plan.h: who ends with which share of the vector at each level of a tree, and which
 * ranks must send what for that. This is the plan of FlexReduce (flexreduce.c), before it becomes a
 * schedule. */
#ifndef BANYAN_ALGORITHMS_FLEXREDUCE_PLAN_H
#define BANYAN_ALGORITHMS_FLEXREDUCE_PLAN_H

#include <stdint.h>

#include "algorithms/hierarchy.h"

typedef struct {
    int64_t begin, end;
} banyan_share;

/* One reduce: what the ranks who have it hold of an interval goes to its owner. There is one such rank below
 * each child of the branch, in the order of children. */
typedef struct {
    banyan_share part;
    int level; /* from the bottom, empty levels left out */
    int owner, owner_child;
    int owner_holds;                /* a valid part itself; else what it has there is stale */
    int first_holder, holder_count; /* in the plan's holders */
} banyan_flexreduce_call;

typedef struct {
    const banyan_problem *problem;
    banyan_hierarchy tree;
    int *weight, *total;           /* of each node: see flexreduce_shares.h */
    int *leaf;                     /* node of each rank */
    int is_weighted;               /* do any links of a level differ, so that shares do? */
    int64_t whole;                 /* the vector's length in the units of shares */
    banyan_share *now, *next;      /* of each rank */
    int *sorted;                   /* ranks below a branch */
    banyan_flexreduce_call *calls; /* level by level */
    size_t call_count, call_capacity;
    int *holders;
    size_t holder_count, holder_capacity;
    int level_count;
} banyan_flexreduce_call_plan;

/* Shares by degree alone, as in the paper, or by the speeds of links too. Fini also after failure. */
banyan_status banyan_flexreduce_call_plan_init(banyan_flexreduce_call_plan *plan,
                                               const banyan_problem *problem, int by_bandwidth,
                                               banyan_error *err);
void banyan_flexreduce_call_plan_fini(banyan_flexreduce_call_plan *plan);

#endif
