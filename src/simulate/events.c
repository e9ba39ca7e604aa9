/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/events.c: a line for those that come in order, and a binary heap for the others. Where all routes
 * have one latency arrivals come in order, so most events never see the heap. */
#include "simulate/events.h"

#include <math.h>

#include "core/alloc.h"

static int happens_before(banyan_event a, banyan_event b)
{
    if (a.time_s != b.time_s)
        return a.time_s < b.time_s;
    return a.transfer != b.transfer ? a.transfer < b.transfer : a.kind < b.kind;
}

static int push_on_heap(banyan_events *events, banyan_event event)
{
    void *heap = events->heap;
    size_t i = events->count;

    if (!banyan_grow(&heap, events->count, &events->capacity, sizeof *events->heap))
        return 0;
    events->heap = heap;
    events->count++;
    for (; i > 0 && happens_before(event, events->heap[(i - 1) / 2]); i = (i - 1) / 2)
        events->heap[i] = events->heap[(i - 1) / 2];
    events->heap[i] = event;
    return 1;
}

static banyan_event *place_in_line(const banyan_events *events, size_t i)
{
    return &events->line[i & (events->line_size - 1)];
}

static int lengthen_line(banyan_events *events)
{
    banyan_events longer = *events;

    longer.line_size = events->line_size ? 2 * events->line_size : 64;
    longer.line = banyan_alloc(longer.line_size, sizeof *longer.line);
    if (!longer.line)
        return 0;
    for (size_t i = events->first; i != events->last; i++)
        *place_in_line(&longer, i) = *place_in_line(events, i);
    banyan_free(events->line);
    *events = longer;
    return 1;
}

int banyan_events_push(banyan_events *events, banyan_event event)
{
    if (events->first != events->last && happens_before(event, *place_in_line(events, events->last - 1)))
        return push_on_heap(events, event);
    if (events->last - events->first == events->line_size && !lengthen_line(events))
        return 0;
    *place_in_line(events, events->last++) = event;
    return 1;
}

static int line_is_next(const banyan_events *events)
{
    return events->first != events->last &&
           (!events->count || happens_before(*place_in_line(events, events->first), events->heap[0]));
}

double banyan_events_next_s(const banyan_events *events)
{
    if (line_is_next(events))
        return place_in_line(events, events->first)->time_s;
    return events->count ? events->heap[0].time_s : HUGE_VAL;
}

static banyan_event pop_from_heap(banyan_events *events)
{
    banyan_event top = events->heap[0], last = events->heap[--events->count];
    size_t i = 0, child;

    for (; (child = 2 * i + 1) < events->count; i = child) {
        if (child + 1 < events->count && happens_before(events->heap[child + 1], events->heap[child]))
            child++;
        if (!happens_before(events->heap[child], last))
            break;
        events->heap[i] = events->heap[child];
    }
    events->heap[i] = last;
    return top;
}

banyan_event banyan_events_pop(banyan_events *events)
{
    return line_is_next(events) ? *place_in_line(events, events->first++) : pop_from_heap(events);
}

void banyan_events_fini(banyan_events *events)
{
    banyan_free(events->heap);
    banyan_free(events->line);
    *events = (banyan_events){0};
}
