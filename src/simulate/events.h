/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/events.h: what happens at a known time, in order; ties by transfer and then by kind. */
#ifndef BANYAN_SIMULATE_EVENTS_H
#define BANYAN_SIMULATE_EVENTS_H

#include <stddef.h>

typedef struct {
    double time_s;
    int transfer, kind;
} banyan_event;

typedef struct {
    banyan_event *heap;
    size_t count, capacity;
    banyan_event *line; /* of those that came in order: line[first .. last), places counted modulo its size */
    size_t first, last, line_size;
} banyan_events;

int banyan_events_push(banyan_events *events, banyan_event event); /* 0: memory ran out */
double banyan_events_next_s(const banyan_events *events);          /* infinity: none */
banyan_event banyan_events_pop(banyan_events *events);
void banyan_events_fini(banyan_events *events);

#endif
