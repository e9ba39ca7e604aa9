/* SPDX-License-Identifier: Apache-2.0 */
/* calls/call_time.c: the ranks' times, put together. */
#include "calls/call_time.h"

#include <math.h>

double banyan_call_time_of_all(const banyan_call_time *times, int count)
{
    double least_s = HUGE_VAL, most_s = 0, begin_s = 0, end_s = 0;
    int is_common = 1;

    for (int i = 0; i < count; i++) {
        double took_s = times[i].end_s - times[i].begin_s;

        is_common &= times[i].begin_s >= 0;
        least_s = fmin(least_s, took_s);
        most_s = fmax(most_s, took_s);
        begin_s = fmax(begin_s, times[i].begin_s);
        end_s = fmax(end_s, times[i].end_s);
    }
    return is_common ? fmin(fmax(end_s - begin_s, least_s), most_s) : least_s;
}
