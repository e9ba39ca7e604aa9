/* SPDX-License-Identifier: Apache-2.0 */
/* comm/plans.c: the planner chooses and proves; here the result is kept by collective, root and, where the
 * choice may depend on it, size. Sizes are rounded up to a power of four, so that there are few of them. */
#include "comm/plans.h"

#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "planner/planner.h"

static size_t size_class_of(const banyan_setup *setup, size_t bytes)
{
    size_t class = 1024;

    if (strcmp(setup->algorithm, "auto") != 0)
        return 0;
    while (class < bytes && class <= SIZE_MAX / 8)
        class *= 4;
    return class;
}

/* Part r of the public reduce-scatter and all-gather is the r-th equal part of the vector. */
static banyan_status check_parts(const banyan_schedule *schedule, banyan_error *err)
{
    __extension__ typedef __int128 wide;
    wide size = schedule->active_count;

    for (int i = 0; schedule->owner && i < schedule->piece_count; i++)
        if (schedule->cut[i] * size < schedule->owner[i] * (wide)schedule->whole ||
            schedule->cut[i + 1] * size > (schedule->owner[i] + 1) * (wide)schedule->whole)
            return banyan_fail(err, BANYAN_UNSUPPORTED,
                               "algorithm %s does not give each rank an equal part: piece %d is not within "
                               "part %d",
                               schedule->algorithm ? schedule->algorithm : "?", i, schedule->owner[i]);
    return BANYAN_SUCCESS;
}

static void destroy_plan(banyan_comm_plan *plan)
{
    if (!plan)
        return;
    for (int i = 0; plan->schedule && i < plan->schedule->node_count; i++) {
        if (plan->runners)
            banyan_runner_destroy(plan->runners[i]);
        if (plan->programs)
            banyan_program_destroy(plan->programs[i]);
    }
    banyan_free(plan->runners);
    banyan_free(plan->programs);
    banyan_dependencies_destroy(plan->dependencies);
    banyan_schedule_destroy(plan->schedule);
    banyan_free(plan);
}

static banyan_status make_plan(const banyan_setup *setup, banyan_comm_plan *plan, banyan_error *err)
{
    banyan_problem problem = {.topology = setup->topology,
                              .active = setup->active,
                              .active_count = setup->size,
                              .collective = plan->collective,
                              .root = plan->root,
                              .bytes = plan->size_class};
    banyan_plan chosen;
    banyan_status status = banyan_plan_choose(setup->algorithm, &problem, &chosen, err);

    if (status)
        return status;
    plan->schedule = chosen.schedule;
    chosen.schedule = NULL; /* ours now */
    banyan_plan_fini(&chosen);
    status = check_parts(plan->schedule, err);
    if (!status)
        status = banyan_dependencies_derive(plan->schedule, &plan->dependencies, err);
    if (status)
        return status;
    plan->programs = banyan_alloc((size_t)plan->schedule->node_count, sizeof *plan->programs);
    plan->runners = banyan_alloc((size_t)plan->schedule->node_count, sizeof *plan->runners);
    return plan->programs && plan->runners ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

banyan_status banyan_comm_plan_get(banyan_comm_plan **plans, const banyan_setup *setup,
                                   banyan_collective collective, int root, size_t bytes,
                                   banyan_comm_plan **out, banyan_error *err)
{
    size_t size_class = size_class_of(setup, bytes);
    banyan_comm_plan *plan;
    banyan_status status;

    for (plan = *plans; plan; plan = plan->next)
        if (plan->collective == collective && plan->root == root && plan->size_class == size_class) {
            *out = plan;
            return BANYAN_SUCCESS;
        }
    plan = banyan_alloc(1, sizeof *plan);
    if (!plan)
        return banyan_fail_memory(err);
    plan->collective = collective;
    plan->root = root;
    plan->size_class = size_class;
    status = make_plan(setup, plan, err);
    if (status) {
        destroy_plan(plan);
        return status;
    }
    plan->next = *plans;
    *plans = plan;
    *out = plan;
    return BANYAN_SUCCESS;
}

void banyan_comm_plans_destroy(banyan_comm_plan *plans)
{
    while (plans) {
        banyan_comm_plan *next = plans->next;

        destroy_plan(plans);
        plans = next;
    }
}

banyan_status banyan_comm_plan_runner(const banyan_comm_plan *plan, const banyan_setup *setup,
                                      banyan_endpoint *endpoint, banyan_runner **out, banyan_error *err)
{
    int node = endpoint->member;
    banyan_status status = BANYAN_SUCCESS;

    if (!plan->programs[node])
        status = banyan_program_compile(plan->schedule, plan->dependencies, node, &plan->programs[node], err);
    if (!status && !plan->runners[node])
        status = banyan_runner_create(plan->programs[node], endpoint, setup->slice_bytes, setup->timeout_ms,
                                      &plan->runners[node], err);
    *out = status ? NULL : plan->runners[node];
    return status;
}
