/* SPDX-License-Identifier: Apache-2.0 */
/* train/ddp.c: the buckets of PyTorch's DistributedDataParallel: a first one of 1 MiB, then 25 MiB each. A
 * bucket closes once it has that many bytes, so it may hold more. */
#include "train/decision.h"

static banyan_status decide(const banyan_train_problem *problem, banyan_decision *decision, banyan_error *err)
{
    const banyan_grouping_units *units = &decision->units;
    double limit = 1 << 20, before = 0;

    (void)problem;
    (void)err;
    for (int i = 0; i < units->count; i++) {
        if (i + 1 < units->count && units->bytes_before[i + 1] - before < limit)
            continue;
        banyan_grouping_cuts_add(&decision->cuts, i + 1, decision->streams - 1);
        before = units->bytes_before[i + 1];
        limit = 25 << 20;
    }
    return BANYAN_SUCCESS;
}

const banyan_policy banyan_policy_ddp = {
    .name = "ddp",
    .summary = "PyTorch DDP's buckets: 1 MiB, then 25 MiB each",
    .paper = "Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel Training, 2020",
    .streams = 1,
    .decide = decide};
