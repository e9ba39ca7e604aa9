/* SPDX-License-Identifier: Apache-2.0 */
/* report/use.c: every transfer is spread evenly over its time and laid on the links of its path. That is
 * exact as to bytes, and a good picture as to moments: the page shows it where transfers are too many to
 * draw. */
#include "report/use.h"

#include <math.h>

#include "core/alloc.h"

enum { MAX_CHARACTERS = 300000, MIN_MOMENTS = 24, MAX_MOMENTS = 240 };

static int moment_count(int links)
{
    int moments = MAX_CHARACTERS / (links > 0 ? links : 1);

    return moments < MIN_MOMENTS ? MIN_MOMENTS : moments > MAX_MOMENTS ? MAX_MOMENTS : moments;
}

/* Adds bytes that flow evenly from begin to end, both in moments. */
static void spread(double *row, int moments, double begin, double end, double bytes)
{
    double length = end - begin;
    int first = (int)fmax(0, floor(begin)), last = (int)fmin(moments - 1, floor(end));

    if (length < 1e-9) {
        row[first < moments ? first : moments - 1] += bytes;
        return;
    }
    for (int i = first; i <= last; i++)
        row[i] += bytes * fmax(0, fmin(end, i + 1) - fmax(begin, i)) / length;
}

static void lay(const banyan_report *report, const banyan_timeline *timeline, double moments_per_s,
                double *carried, int moments)
{
    const banyan_schedule *schedule = report->schedule;

    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        double bytes =
            (double)report->bytes * banyan_schedule_share(schedule, t->first_piece, t->piece_count);
        int path = report->path_of[i];

        if (!isfinite(timeline->begin_s[i]) || !isfinite(timeline->end_s[i]))
            continue;
        for (int j = report->path_first[path]; j < report->path_first[path + 1]; j++)
            spread(carried + (size_t)report->path_link[j] * (size_t)moments, moments,
                   timeline->begin_s[i] * moments_per_s, timeline->end_s[i] * moments_per_s, bytes);
    }
}

banyan_status banyan_report_add_use(banyan_text *text, const banyan_report *report,
                                    const banyan_timeline *timeline, double total_s, banyan_error *err)
{
    int links = report->topology->link_count, moments = moment_count(links);
    double *carried = banyan_alloc((size_t)links * (size_t)moments, sizeof *carried);

    if (!carried)
        return banyan_fail_memory(err);
    if (total_s > 0)
        lay(report, timeline, moments / total_s, carried, moments);
    banyan_text_add(text, "[");
    for (int link = 0; link < links; link++) {
        double full = report->topology->links[link].bytes_per_s * total_s / moments;

        banyan_text_add(text, link ? ",\"" : "\"");
        for (int i = 0; i < moments; i++) {
            double use = full > 0 ? carried[(size_t)link * (size_t)moments + (size_t)i] / full : 0;

            /* Something is never shown as nothing. */
            banyan_text_add_bytes(text, &BANYAN_REPORT_DIGITS[(int)ceil(63 * fmin(1, use) - 1e-9)], 1);
        }
        banyan_text_add(text, "\"");
    }
    banyan_text_add(text, "]");
    banyan_free(carried);
    return BANYAN_SUCCESS;
}
