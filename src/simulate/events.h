/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/events.h: what happens at a known time, in order; what happens at one time, in an order that
 * depends on the input alone.
 *
 * Events that come in order stand in a line, the others in a binary heap. Where all routes have one latency
 * arrivals come in order, and many at one time, so most events never see the heap; hence what touches the
 * line is inline. */
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

/* The parts that are not inline: anything but the line as it is. */
int banyan_events_push_elsewhere(banyan_events *events, banyan_event event);
banyan_event banyan_events_pop_from_heap(banyan_events *events);

void banyan_events_fini(banyan_events *events);

static inline int banyan_event_is_before(const banyan_event *a, const banyan_event *b)
{
    return a->time_s < b->time_s;
}

static inline banyan_event *banyan_events_place(const banyan_events *events, size_t i)
{
    return &events->line[i & (events->line_size - 1)];
}

/* 0: memory ran out. */
static inline int banyan_events_push(banyan_events *events, banyan_event event)
{
    size_t waiting = events->last - events->first;

    if (waiting == events->line_size ||
        (waiting && banyan_event_is_before(&event, banyan_events_place(events, events->last - 1))))
        return banyan_events_push_elsewhere(events, event);
    *banyan_events_place(events, events->last++) = event;
    return 1;
}

/* The next one, or NULL: none. Borrowed until something is pushed or popped. */
static inline const banyan_event *banyan_events_next(const banyan_events *events)
{
    const banyan_event *line;

    if (events->first == events->last)
        return events->count ? events->heap : NULL;
    line = banyan_events_place(events, events->first);
    return !events->count || banyan_event_is_before(line, events->heap) ? line : events->heap;
}

/* next: what banyan_events_next gave. */
static inline banyan_event banyan_events_pop(banyan_events *events, const banyan_event *next)
{
    if (next == events->heap)
        return banyan_events_pop_from_heap(events);
    events->first++;
    return *next;
}

#endif
