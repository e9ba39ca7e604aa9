/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_loom.h: takes the steps of an MSCCL program one after the other, with what each must come
 * after, and writes down only the waits that are needed; for schedule/msccl_*.c only. */
#ifndef BANYAN_SCHEDULE_MSCCL_LOOM_H
#define BANYAN_SCHEDULE_MSCCL_LOOM_H

#include "schedule/msccl_weave.h"

/* Where a step is: the number of its block (over all ranks), its number in the block, its number in steps. */
typedef struct {
    int block, number, step;
} banyan_msccl_place;

typedef struct {
    const banyan_msccl_lanes *lanes;
    int max_steps;            /* of a block */
    banyan_msccl_step *steps; /* in the order of writing; their blocks are numbers over all ranks */
    int *previous;            /* by step: the one before it in its block, -1: none */
    size_t step_count, step_capacity, previous_capacity;
    int *step_counts, *last_step; /* by block; last_step is one more than an index in steps, 0: none */
    banyan_msccl_place *wanted;   /* what the next step must come after, one a block */
    int wanted_count;
    int *clocks; /* by step and block: how many of the block's steps are done before it; NULL: too many */
    size_t clock_capacity;
    int is_crowded; /* a block became too long: more channels may help */
} banyan_msccl_loom;

banyan_status banyan_msccl_loom_init(banyan_msccl_loom *loom, const banyan_msccl_lanes *lanes, int max_steps,
                                     banyan_error *err);
void banyan_msccl_loom_fini(banyan_msccl_loom *loom);

/* The next step comes after this one, of the same rank. */
void banyan_msccl_loom_want(banyan_msccl_loom *loom, banyan_msccl_place place);

/* The next step, on the chunks of the part. sender: the step that sends what it receives, -1: none. */
banyan_status banyan_msccl_loom_write(banyan_msccl_loom *loom, banyan_msccl_type type, int block, int part,
                                      int sender, banyan_msccl_place *out, banyan_error *err);

#endif
