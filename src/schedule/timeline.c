/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/timeline.c: two arrays of moments. */
#include "schedule/timeline.h"

#include "core/alloc.h"

banyan_status banyan_timeline_create(size_t count, banyan_timeline **out, banyan_error *err)
{
    banyan_timeline *timeline = banyan_alloc(1, sizeof *timeline);

    *out = NULL;
    if (!timeline)
        return banyan_fail_memory(err);
    timeline->count = count;
    timeline->begin_s = banyan_alloc(count, sizeof *timeline->begin_s);
    timeline->end_s = banyan_alloc(count, sizeof *timeline->end_s);
    if (!timeline->begin_s || !timeline->end_s) {
        banyan_timeline_destroy(timeline);
        return banyan_fail_memory(err);
    }
    *out = timeline;
    return BANYAN_SUCCESS;
}

void banyan_timeline_destroy(banyan_timeline *timeline)
{
    if (!timeline)
        return;
    banyan_free(timeline->begin_s);
    banyan_free(timeline->end_s);
    banyan_free(timeline);
}
