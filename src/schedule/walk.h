/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/walk.h: one pass over a schedule in the order of its meaning: round by round, and in a round
 * everything is sent before anything is applied. For whoever works out times, loads or sums from what comes
 * before what. */
#ifndef BANYAN_SCHEDULE_WALK_H
#define BANYAN_SCHEDULE_WALK_H

#include "schedule/schedule.h"

/* What is done with each transfer, once each, in the order of the array. */
typedef struct {
    banyan_status (*send)(void *context, size_t transfer, banyan_error *err); /* reads at src */
    void (*apply)(void *context, size_t transfer);                            /* changes dst */
} banyan_walk_steps;

/* Ends at the first send that fails, with what it returned. */
banyan_status banyan_schedule_walk(const banyan_schedule *schedule, const banyan_walk_steps *steps,
                                   void *context, banyan_error *err);

#endif
