/* SPDX-License-Identifier: Apache-2.0 */
/* train/horovod.c: Horovod's cycle: every 5 ms what is ready is fused, up to 64 MiB an all-reduce.
 *
 *     |  1  2 3|   4    |        |5 6 7 8 |       ticks
 *              [1+2+3]  [4]               [5..8]
 */
#include <math.h>

#include "train/decision.h"

#define CYCLE_S 5e-3
#define MAX_BYTES (64 << 20)

static banyan_status decide(const banyan_train_problem *problem, banyan_decision *decision, banyan_error *err)
{
    const banyan_grouping_units *units = &decision->units;
    banyan_grouping_cuts *cuts = &decision->cuts;

    (void)problem;
    (void)err;
    for (int i = 0; i < units->count;) {
        double tick_s = CYCLE_S * fmax(1, ceil(units->ready_s[i] / CYCLE_S));
        double before = units->bytes_before[i];

        /* What became ready while an earlier fusion filled up went out with the same tick. */
        if (cuts->count && cuts->cuts[cuts->count - 1].release_s >= units->ready_s[i])
            tick_s = cuts->cuts[cuts->count - 1].release_s;
        i++;
        while (i < units->count && units->ready_s[i] <= tick_s &&
               units->bytes_before[i + 1] - before <= MAX_BYTES)
            i++;
        banyan_grouping_cuts_add(cuts, i, decision->streams - 1);
        cuts->cuts[cuts->count - 1].release_s = tick_s;
    }
    return BANYAN_SUCCESS;
}

const banyan_policy banyan_policy_horovod = {
    .name = "horovod",
    .summary = "Horovod's cycle: every 5 ms what is ready, up to 64 MiB together",
    .paper = "Sergeev, Del Balso, Horovod: Fast and Easy Distributed Deep Learning in TensorFlow, 2018",
    .streams = 1,
    .decide = decide};
