/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/timeline.h: when each transfer began and ended, simulated or measured. */
#ifndef BANYAN_SCHEDULE_TIMELINE_H
#define BANYAN_SCHEDULE_TIMELINE_H

#include "schedule/schedule.h"

typedef struct {
    size_t count;    /* the schedule's transfer_count */
    double *begin_s; /* first byte leaves src */
    double *end_s;   /* last byte applied at dst */
    double total_s;
} banyan_timeline;

banyan_status banyan_timeline_create(size_t count, banyan_timeline **out, banyan_error *err);
void banyan_timeline_destroy(banyan_timeline *timeline); /* accepts NULL */

#endif
