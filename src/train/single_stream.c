/* SPDX-License-Identifier: Apache-2.0 */
/* train/single_stream.c: the best grouping for one all-reduce at a time, exactly.
 *
 *     f(j) = min over i < j of  max(f(i), ready(j)) + a + b (bytes from i to j),     f(0) = 0
 *
 * f(j) is when the first j units can be done at the earliest. It never falls with j, so once some f(i) is not
 * after ready(j), groups that begin still earlier only carry more bytes: the scan stops there. Groups of
 * neighbours suffice: exchanging two tensors never makes the later group ready earlier. O(L^2). */
#include <math.h>

#include "core/alloc.h"
#include "train/search.h"

static void trace_back(const int *from, int count, int level, banyan_grouping_cuts *out)
{
    int groups = 0;

    for (int j = count; j > 0; j = from[j])
        groups++;
    out->count = groups;
    for (int j = count; j > 0; j = from[j])
        out->cuts[--groups] = (banyan_cut){j, level, 0};
}

banyan_status banyan_grouping_cuts_one_by_one(const banyan_grouping_units *units, const banyan_cost *cost,
                                              double start_share, double gain, int level,
                                              banyan_grouping_cuts *out, banyan_error *err)
{
    double start_s = start_share * cost->start_s;
    size_t room = (size_t)units->count + 1;
    double *done_s = banyan_alloc(room, sizeof *done_s);
    int *from = banyan_alloc(room, sizeof *from);

    if (!done_s || !from) {
        banyan_free(done_s);
        banyan_free(from);
        return banyan_fail_memory(err);
    }
    for (int j = 1; j <= units->count; j++) {
        double ready_s = units->ready_s[j - 1];

        done_s[j] = INFINITY;
        for (int i = j - 1; i >= 0; i--) {
            double end_s = (done_s[i] > ready_s ? done_s[i] : ready_s) + start_s +
                           banyan_cost_work(cost, units->bytes_before[j] - units->bytes_before[i]) / gain;

            if (end_s < done_s[j]) {
                done_s[j] = end_s;
                from[j] = i;
            }
            if (done_s[i] <= ready_s)
                break;
        }
    }
    trace_back(from, units->count, level, out);
    banyan_free(done_s);
    banyan_free(from);
    return BANYAN_SUCCESS;
}
