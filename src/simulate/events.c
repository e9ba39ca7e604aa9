/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/events.c: a binary heap in an array. */
#include "simulate/events.h"

#include <math.h>

#include "core/alloc.h"

static int happens_before(banyan_event a, banyan_event b)
{
    if (a.time_s != b.time_s)
        return a.time_s < b.time_s;
    return a.transfer != b.transfer ? a.transfer < b.transfer : a.kind < b.kind;
}

int banyan_events_push(banyan_events *events, banyan_event event)
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

double banyan_events_next_s(const banyan_events *events)
{
    return events->count ? events->heap[0].time_s : HUGE_VAL;
}

banyan_event banyan_events_pop(banyan_events *events)
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

void banyan_events_fini(banyan_events *events)
{
    banyan_free(events->heap);
    *events = (banyan_events){0};
}
