/* SPDX-License-Identifier: Apache-2.0 */
/* verify/verify.c: the verdict: what is wrong, first things first. */
#include "verify/verify.h"

#include <string.h>

#include "verify/judge.h"

banyan_status banyan_verify(const banyan_schedule *schedule, const banyan_topology *topology,
                            banyan_verdict *verdict, banyan_error *err)
{
    banyan_judge judge = {.schedule = schedule, .topology = topology, .verdict = verdict};
    banyan_status status;

    memset(verdict, 0, sizeof *verdict);
    if (topology && schedule->node_count > topology->node_count) {
        banyan_judge_report(&judge, 0, "the schedule is for %d nodes, but %.60s has %d", schedule->node_count,
                            topology->name, topology->node_count);
        return BANYAN_SUCCESS;
    }
    status = banyan_judge_values(&judge, err);
    if (!status && topology)
        status = banyan_judge_network(&judge, err);
    return status;
}

banyan_status banyan_verdict_status(const banyan_verdict *verdict, banyan_error *err)
{
    if (!verdict->problem_count)
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_PLAN_INVALID, "%s", verdict->problems[0]);
}
