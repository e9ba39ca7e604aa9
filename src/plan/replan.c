/* SPDX-License-Identifier: Apache-2.0 */
/* plan/replan.c: checks that an older plan can be mended, then mends it. */
#include "plan/replan.h"

#include <string.h>

/* The names are the same, or one of them continues with what has happened to the network. */
static int is_same_network(const char *a, const char *b)
{
    size_t length = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

    return strncmp(a, b, length) == 0 && (a[length] == 0 || a[length] == ',') &&
           (b[length] == 0 || b[length] == ',');
}

static banyan_status check_algorithm(const banyan_schedule *old, const char *asked, banyan_error *err)
{
    if (asked && strcmp(asked, "forest") != 0 && strcmp(asked, "auto") != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "only plans of forest can be mended, not of %.40s",
                           asked);
    if (old->algorithm && *old->algorithm && strcmp(old->algorithm, "forest") != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the old schedule is a plan of %.60s; only plans of forest can be mended",
                           old->algorithm);
    return BANYAN_SUCCESS;
}

static banyan_status check_network(const banyan_problem *problem, const banyan_schedule *old,
                                   banyan_error *err)
{
    const banyan_topology *now = problem->topology;

    if (old->topology && *old->topology && !is_same_network(old->topology, now->name))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the old schedule is a plan for %.60s, not for %.60s", old->topology, now->name);
    if (old->node_count != now->node_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the old schedule is a plan for %d nodes, but %.60s has %d", old->node_count,
                           now->name, now->node_count);
    return BANYAN_SUCCESS;
}

static banyan_status check_task(const banyan_problem *problem, const banyan_schedule *old, banyan_error *err)
{
    banyan_collective other =
        old->collective != BANYAN_COLLECTIVE_ALLREDUCE ? old->collective : problem->collective;

    if (other != BANYAN_COLLECTIVE_ALLREDUCE)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "only plans of allreduce can be mended, not of %s",
                           banyan_collective_name(other));
    if (old->active_count != problem->active_count ||
        memcmp(old->active, problem->active, (size_t)old->active_count * sizeof *old->active) != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the old schedule is a plan for other active workers: name the same ones");
    return BANYAN_SUCCESS;
}

banyan_status banyan_plan_from(const banyan_problem *problem, const banyan_schedule *old,
                               const char *algorithm, banyan_plan *out, banyan_error *err)
{
    banyan_replan how = {0};
    banyan_status status = check_algorithm(old, algorithm, err);

    if (!status)
        status = check_network(problem, old, err);
    if (!status)
        status = check_task(problem, old, err);
    if (!status)
        status =
            banyan_topology_check_connected(problem->topology, problem->active, problem->active_count, err);
    if (!status)
        status = banyan_plan_mend(problem, old, &how, out, err);
    if (!status)
        out->mended = how;
    return status;
}
