/* SPDX-License-Identifier: Apache-2.0 */
/* train/mg_wfbp.c: merge a tensor with the next if that one is ready within a start-up of its own start.
 *
 *     merge while   ready(next) < start + a,     start = max(ready, end of the group before)
 *
 * Each merge moves the start to the newest member, so the condition holds again: where tensors follow one
 * another within less than a start-up the whole model ends in one group and overlap is lost. O(L). */
#include <math.h>

#include "train/decision.h"

static banyan_status decide(const banyan_train_problem *problem, banyan_decision *decision, banyan_error *err)
{
    const banyan_grouping_units *units = &decision->units;
    const banyan_cost *cost = problem->cost;
    double end_s = 0;
    int first = 0;

    (void)err;
    for (int i = 0; i < units->count; i++) {
        double start_s = fmax(end_s, units->ready_s[i]);

        if (i + 1 < units->count && units->ready_s[i + 1] < start_s + cost->start_s)
            continue;
        banyan_grouping_cuts_add(&decision->cuts, i + 1, decision->streams - 1);
        end_s = start_s + banyan_cost_seconds(cost, units->bytes_before[i + 1] - units->bytes_before[first]);
        first = i + 1;
    }
    return BANYAN_SUCCESS;
}

const banyan_policy banyan_policy_mg_wfbp = {
    .name = "mg-wfbp",
    .summary = "merge with the next tensor if it is ready within a start-up",
    .paper = "Shi, Chu, Li, MG-WFBP: Efficient Data Communication for Distributed Synchronous SGD "
             "Algorithms, 2019",
    .streams = 1,
    .decide = decide};
