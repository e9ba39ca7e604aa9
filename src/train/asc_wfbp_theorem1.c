/* SPDX-License-Identifier: Apache-2.0 */
/* train/asc_wfbp_theorem1.c: Theorem 1 of the ASC-WFBP paper with its slips repaired, as a rule of its own.
 *
 *     normal         if it ends before the next tensor is ready
 *     merged         if the next is ready within a start-up of its start, and it would not end before that
 *                    when sent beside the group before
 *     simultaneous   else, and the last one
 *
 * Repaired are the times that Algorithm 1 takes from the wrong layers: a group is one unit, a normal one
 * waits for the group before, a penalty is never negative, counts the bytes that are on the wire together,
 * and is paid by both. The rule stays local, so it merges as MG-WFBP does where tensors follow closely
 * (docs/asc-wfbp.md). O(L). */
#include <math.h>

#include "train/decision.h"

/* The group before. */
typedef struct {
    double start_s, end_s, bytes;
} previous;

/* How much longer both take if the second starts while the first is on the wire. */
static double find_penalty(const banyan_cost *cost, const previous *before, double start_s, double bytes)
{
    double left = before->bytes - (start_s - before->start_s) / cost->s_per_byte;

    return (cost->gamma - 1) * cost->s_per_byte * fmin(bytes, fmax(0, left));
}

static banyan_status decide(const banyan_train_problem *problem, banyan_decision *decision, banyan_error *err)
{
    const banyan_grouping_units *units = &decision->units;
    const banyan_cost *cost = problem->cost;
    previous before = {0, 0, 0};
    int first = 0;

    (void)err;
    for (int i = 0; i < units->count; i++) {
        double bytes = units->bytes_before[i + 1] - units->bytes_before[first], ready_s = units->ready_s[i];
        double comm_s = banyan_cost_seconds(cost, bytes), start_s = fmax(ready_s, before.end_s);
        double next_s = i + 1 < units->count ? units->ready_s[i + 1] : INFINITY;
        double penalty_s = find_penalty(cost, &before, ready_s, bytes);
        int is_last = i + 1 == units->count, is_normal = !is_last && start_s + comm_s <= next_s;

        if (!is_normal && next_s < start_s + cost->start_s && ready_s + comm_s + penalty_s >= next_s)
            continue;
        if (is_normal) {
            before = (previous){start_s, start_s + comm_s, bytes};
        } else {
            double end_s = fmax(ready_s + comm_s, before.end_s) + penalty_s;

            before = (previous){ready_s, end_s, bytes};
        }
        banyan_grouping_cuts_add(&decision->cuts, i + 1, is_normal ? 0 : decision->streams - 1);
        first = i + 1;
    }
    return BANYAN_SUCCESS;
}

const banyan_policy banyan_policy_asc_wfbp_theorem1 = {
    .name = "asc-wfbp-theorem1",
    .summary = "Theorem 1 of the ASC-WFBP paper with its slips repaired, for comparison",
    .paper = "after Shi, Chu, Li, Exploiting Simultaneous Communications to Accelerate Data Parallel "
             "Distributed Deep Learning, 2021",
    .streams = 2,
    .decide = decide};
