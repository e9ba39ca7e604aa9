/* SPDX-License-Identifier: Apache-2.0 */
/* calls/drift.c: rows of calls that take another time than they did. */
#include "calls/drift.h"

#include <math.h>
#include <string.h>

#include "core/sort.h"

#define SHORTEST_ROW 2

/* The power of two and the four bits below it. */
static int size_of(size_t bytes)
{
    int power = 0;

    while (bytes >> power > 31)
        power++;
    return 16 * power + (int)(bytes >> power) % 16;
}

static double median_of(const banyan_drift_reference *r)
{
    double sorted[BANYAN_DRIFT_SAMPLES];

    memcpy(sorted, r->times_s, sizeof sorted);
    banyan_sort_doubles(sorted, (size_t)r->count);
    return sorted[r->count / 2];
}

static void end_row(banyan_drift *drift)
{
    drift->direction = drift->length = 0;
    drift->usual_s = 0;
}

void banyan_drift_restart(banyan_drift *drift)
{
    memset(drift, 0, sizeof *drift);
}

void banyan_drift_learn(banyan_drift *drift, size_t bytes, double seconds)
{
    banyan_drift_reference *r = &drift->references[size_of(bytes)];

    if (r->count < BANYAN_DRIFT_SAMPLES)
        r->times_s[r->count++] = seconds;
}

int banyan_drift_note(banyan_drift *drift, size_t bytes, double seconds, double calls, double survey_s)
{
    const banyan_drift_reference *r = &drift->references[size_of(bytes)];
    double ratio, usual_s;
    int direction;

    if (r->count < BANYAN_DRIFT_SAMPLES) {
        banyan_drift_learn(drift, bytes, seconds);
        return 0;
    }
    usual_s = median_of(r);
    ratio = seconds / usual_s;
    direction = ratio > BANYAN_DRIFT_SLOWER ? 1 : ratio < BANYAN_DRIFT_FASTER ? -1 : 0;
    if (direction != drift->direction)
        end_row(drift);
    if (!direction)
        return 0;
    drift->nearest = !drift->length  ? ratio
                     : direction > 0 ? fmin(drift->nearest, ratio)
                                     : fmax(drift->nearest, ratio);
    drift->usual_s += drift->length ? calls * usual_s : usual_s;
    drift->direction = direction;
    drift->length++;
    return drift->length >= SHORTEST_ROW && drift->usual_s * fabs(drift->nearest - 1) >= survey_s;
}
