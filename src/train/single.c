/* SPDX-License-Identifier: Apache-2.0 */
/* train/single.c: one all-reduce of everything after backward: one start-up, and nothing is hidden. */
#include "train/decision.h"

static banyan_status decide(const banyan_train_problem *problem, banyan_decision *decision, banyan_error *err)
{
    (void)problem;
    (void)err;
    banyan_grouping_cuts_add(&decision->cuts, decision->units.count, 0);
    return BANYAN_SUCCESS;
}

const banyan_policy banyan_policy_single = {.name = "single",
                                            .summary = "one all-reduce of everything after backward",
                                            .streams = 1,
                                            .decide = decide};
