/* SPDX-License-Identifier: Apache-2.0 */
/* plan/plan.c: plans for users of the library: the best of all algorithms, or that of one. */
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/sized.h"
#include "plan/problem.h"
#include "planner/wisdom.h"

/* auto: by wisdom where it knows, else the best of all candidates. */
static banyan_status search(const banyan_plan_config *config, const banyan_plan_problem *problem,
                            banyan_plan *out, banyan_error *err)
{
    int64_t deadline_ns = config->timeout_ms ? banyan_clock_ns() + (int64_t)config->timeout_ms * 1000000 : 0;
    banyan_wisdom *known = NULL, wisdom;
    char *explanation = NULL;
    banyan_status status = BANYAN_SUCCESS;

    banyan_wisdom_init(&wisdom);
    if (config->wisdom) {
        status = banyan_wisdom_load(config->wisdom, &wisdom, err);
        known = &wisdom;
    }
    if (!status)
        status = banyan_plan_search_until(&problem->problem, problem->effort, deadline_ns, known, out,
                                          &explanation, err);
    if (!status)
        out->explanation = explanation;
    if (!status && known) {
        status = banyan_wisdom_save(known, config->wisdom, err);
        if (status)
            banyan_plan_fini(out);
    }
    banyan_wisdom_fini(&wisdom);
    return status;
}

static banyan_status make(const banyan_plan_config *config, const banyan_plan_problem *problem,
                          banyan_plan *out, banyan_error *err)
{
    if (config->algorithm && strcmp(config->algorithm, "auto") != 0)
        return banyan_plan_choose_named(config->algorithm, &problem->problem, problem->effort, out, err);
    return search(config, problem, out, err);
}

banyan_status banyan_plan_create(const banyan_topology *topology, const banyan_plan_config *config,
                                 banyan_plan **out, banyan_error *err)
{
    banyan_plan_config own = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_plan_problem problem;
    banyan_plan *plan;
    banyan_status status;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!topology)
        return banyan_fail_null("topology", err);
    status = banyan_read_plan_config(config, &own, err);
    if (!status)
        status = banyan_plan_problem_init(topology, &own, &problem, err);
    if (status)
        return status;
    plan = banyan_alloc(1, sizeof *plan);
    status = plan ? make(&own, &problem, plan, err) : banyan_fail_memory(err);
    banyan_plan_problem_fini(&problem);
    if (status) {
        banyan_free(plan);
        return status;
    }
    *out = plan;
    return BANYAN_SUCCESS;
}

void banyan_plan_destroy(banyan_plan *plan)
{
    if (plan)
        banyan_plan_fini(plan);
    banyan_free(plan);
}

const banyan_schedule *banyan_plan_schedule(const banyan_plan *plan)
{
    return plan ? plan->schedule : NULL;
}

banyan_status banyan_plan_get_info(const banyan_plan *plan, banyan_plan_info *info, banyan_error *err)
{
    banyan_plan_info own = {0};

    if (!plan)
        return banyan_fail_null("plan", err);
    own.algorithm = plan->algorithm->name;
    own.variant_key = plan->variant.key;
    own.variant_value = plan->variant.value;
    own.explanation = plan->explanation;
    own.bytes = plan->bytes;
    own.predicted_s = plan->predicted_s;
    own.network_s = plan->network_s;
    own.model = plan->model;
    own.bytes_per_s = plan->limits.bytes_per_s;
    own.bottleneck = plan->limits.bottleneck;
    own.depth = plan->limits.depth;
    own.volume = plan->limits.volume;
    own.planning_s = plan->planning_s;
    own.lp_solves = plan->work.calls[BANYAN_WORK_LP];
    own.tree_searches = plan->work.calls[BANYAN_WORK_TREE];
    own.max_flows = plan->work.calls[BANYAN_WORK_FLOW];
    own.solver_visits = plan->work.visits;
    own.why_not = plan->schedule ? NULL : plan->why_not.text;
    return banyan_sized_write(&own, sizeof own, info, "banyan_plan_info", err);
}

const char *banyan_algorithm_name(int i)
{
    return i >= 0 && i < banyan_algorithm_count() ? banyan_algorithm_at(i)->name : NULL;
}

int banyan_algorithm_takes(const char *algorithm, const char *parameter)
{
    const banyan_algorithm *found = algorithm && parameter ? banyan_algorithm_find(algorithm) : NULL;
    const banyan_parameter asked = {parameter, ""};
    const banyan_problem problem = {.parameters = &asked, .parameter_count = 1};

    return found && banyan_plan_takes_parameters(found, &problem);
}
