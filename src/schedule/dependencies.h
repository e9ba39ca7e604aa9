/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/dependencies.h: what a transfer must wait for, derived from the meaning of rounds.
 *
 * A transfer t has two moments: it is *sent* (its pieces are read at src) and *applied* (they change dst).
 *   send_after_apply[t]   transfers that changed these pieces at src last, in an earlier round
 *   apply_after_apply[t]  transfers that changed these pieces at dst last, before t in the order of the array
 *   apply_after_send[t]   transfers that read these pieces at dst since then, up to and including t's round
 * Each holds element by element, so slices may follow one another through the whole graph. */
#ifndef BANYAN_SCHEDULE_DEPENDENCIES_H
#define BANYAN_SCHEDULE_DEPENDENCIES_H

#include "schedule/schedule.h"

typedef struct {
    size_t *first; /* items of t: item[first[t] .. first[t+1]), ascending, each once */
    int *item;
} banyan_dependency_list;

typedef struct {
    banyan_dependency_list send_after_apply, apply_after_apply, apply_after_send;
} banyan_dependencies;

banyan_status banyan_dependencies_derive(const banyan_schedule *schedule, banyan_dependencies **out,
                                         banyan_error *err);
void banyan_dependencies_destroy(banyan_dependencies *dependencies); /* accepts NULL */

#endif
