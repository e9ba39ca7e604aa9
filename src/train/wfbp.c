/* SPDX-License-Identifier: Apache-2.0 */
/* train/wfbp.c: wait-free backpropagation: one all-reduce per tensor, as soon as it is ready.
 *
 *     [1][2][3][4]...        L start-ups: cheap where start-up is cheap, ruinous where tensors are small
 */
#include "train/decision.h"

static banyan_status decide(const banyan_train_problem *problem, banyan_decision *decision, banyan_error *err)
{
    (void)problem;
    (void)err;
    for (int i = 0; i < decision->units.count; i++)
        banyan_grouping_cuts_add(&decision->cuts, i + 1, decision->streams - 1);
    return BANYAN_SUCCESS;
}

const banyan_policy banyan_policy_wfbp = {
    .name = "wfbp",
    .summary = "one all-reduce per tensor, as soon as it is ready",
    .paper = "Zhang et al., Poseidon: An Efficient Communication Architecture for Distributed Deep Learning "
             "on GPU Clusters, 2017",
    .streams = 1,
    .decide = decide};
