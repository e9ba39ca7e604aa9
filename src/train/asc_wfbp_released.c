/* SPDX-License-Identifier: Apache-2.0 */
/* train/asc_wfbp_released.c: the rule of the code that was released with ASC-WFBP: a tensor is merged with
 * the next one if that is ready before its all-reduce could start; groups go out on two streams.
 *
 *     merge while   ready(next) < start,     start = max(ready, end of the group before)
 *
 * The condition knows no start-up, as that of MG-WFBP does, so that merging never makes a group wait. There
 * is no gamma in it, and none of Algorithm 1's conditions. O(L).
 *
 * Source: the asc setting of github.com/lzhangbv/dear_pytorch (mgwfbp), which is the only public one. */
#include <math.h>

#include "train/decision.h"

static banyan_status decide(const banyan_train_problem *problem, banyan_decision *decision, banyan_error *err)
{
    const banyan_grouping_units *units = &decision->units;
    double end_s = 0;
    int first = 0;

    (void)err;
    for (int i = 0; i < units->count; i++) {
        double start_s = fmax(end_s, units->ready_s[i]);

        if (i + 1 < units->count && units->ready_s[i + 1] < start_s)
            continue;
        banyan_grouping_cuts_add(&decision->cuts, i + 1, decision->streams - 1);
        end_s = start_s +
                banyan_cost_seconds(problem->cost, units->bytes_before[i + 1] - units->bytes_before[first]);
        first = i + 1;
    }
    return BANYAN_SUCCESS;
}

const banyan_policy banyan_policy_asc_wfbp_released = {
    .name = "asc-wfbp-released",
    .summary = "merge what is ready before the network is free, two at a time: ASC-WFBP's released code",
    .paper = "Shi, Chu, Li, Exploiting Simultaneous Communications to Accelerate Data Parallel Distributed "
             "Deep Learning, 2021, as released",
    .streams = 2,
    .decide = decide};
