/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/alarms.h: numbered clocks, and which of them rings next; ties go to the lower number. */
#ifndef BANYAN_SIMULATE_ALARMS_H
#define BANYAN_SIMULATE_ALARMS_H

#include <stddef.h>

typedef struct {
    double time_s;
    int number;
} banyan_alarm;

typedef struct {
    banyan_alarm *heap;
    int *place; /* by number: in the heap, or -1 */
    int count;
} banyan_alarms;

int banyan_alarms_init(banyan_alarms *alarms, int clock_count); /* 0: memory ran out */
void banyan_alarms_fini(banyan_alarms *alarms);

/* Sets or moves an alarm; switches it off. */
void banyan_alarms_set(banyan_alarms *alarms, int number, double time_s);
void banyan_alarms_silence(banyan_alarms *alarms, int number);

#endif
