/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/events.c: the heap, and a line that grows. */
#include "simulate/events.h"

#include "core/alloc.h"

static int push_on_heap(banyan_events *events, banyan_event event)
{
    void *heap = events->heap;
    size_t i = events->count;

    if (!banyan_grow(&heap, events->count, &events->capacity, sizeof *events->heap))
        return 0;
    events->heap = heap;
    events->count++;
    for (; i > 0 && banyan_event_is_before(&event, &events->heap[(i - 1) / 2]); i = (i - 1) / 2)
        events->heap[i] = events->heap[(i - 1) / 2];
    events->heap[i] = event;
    return 1;
}

static int lengthen_line(banyan_events *events)
{
    banyan_events longer = *events;

    longer.line_size = events->line_size ? 2 * events->line_size : 64;
    longer.line = banyan_alloc(longer.line_size, sizeof *longer.line);
    if (!longer.line)
        return 0;
    for (size_t i = events->first; i != events->last; i++)
        *banyan_events_place(&longer, i) = *banyan_events_place(events, i);
    banyan_free(events->line);
    *events = longer;
    return 1;
}

int banyan_events_push_elsewhere(banyan_events *events, banyan_event event)
{
    if (events->first != events->last &&
        banyan_event_is_before(&event, banyan_events_place(events, events->last - 1)))
        return push_on_heap(events, event);
    if (!lengthen_line(events))
        return 0;
    *banyan_events_place(events, events->last++) = event;
    return 1;
}

banyan_event banyan_events_pop_from_heap(banyan_events *events)
{
    banyan_event top = events->heap[0], last = events->heap[--events->count];
    size_t i = 0, child;

    for (; (child = 2 * i + 1) < events->count; i = child) {
        if (child + 1 < events->count &&
            banyan_event_is_before(&events->heap[child + 1], &events->heap[child]))
            child++;
        if (!banyan_event_is_before(&events->heap[child], &last))
            break;
        events->heap[i] = events->heap[child];
    }
    events->heap[i] = last;
    return top;
}

void banyan_events_fini(banyan_events *events)
{
    banyan_free(events->heap);
    banyan_free(events->line);
    *events = (banyan_events){0};
}
