/* SPDX-License-Identifier: Apache-2.0 */
/* plan/comparison.c: all plans that 'auto' chooses from, for users of the library. */
#include "core/alloc.h"
#include "core/clock.h"
#include "core/sized.h"
#include "plan/problem.h"

struct banyan_comparison {
    banyan_plan *plans;
    banyan_comparison_info info;
};

static banyan_status choose(const banyan_problem *problem, banyan_comparison *out, banyan_error *err)
{
    banyan_comparison_info *info = &out->info;
    int best = banyan_plan_best(problem, out->plans, info->plan_count, NULL, NULL);

    while (info->applicable_count < info->plan_count && out->plans[info->applicable_count].schedule)
        info->applicable_count++;
    info->chosen = best < info->plan_count ? best : -1;
    return info->chosen < 0 ? BANYAN_SUCCESS
                            : banyan_plan_explain(problem, out->plans, info->plan_count, best,
                                                  &out->plans[best].explanation, err);
}

static banyan_status make(const banyan_topology *topology, const banyan_plan_config *config,
                          banyan_comparison *out, banyan_error *err)
{
    int64_t deadline_ns = config->timeout_ms ? banyan_clock_ns() + (int64_t)config->timeout_ms * 1000000 : 0;
    banyan_plan_problem problem;
    const banyan_algorithm **algorithms = NULL;
    int count = 0;
    banyan_status status = banyan_plan_problem_init(topology, config, &problem, err);

    if (status)
        return status;
    status = banyan_plan_select(config->algorithm, &algorithms, &count, err);
    if (!status)
        status = banyan_plan_candidates_of(&problem.problem, problem.effort, algorithms, count, deadline_ns,
                                           &out->plans, &out->info.plan_count, err);
    if (!status)
        status = choose(&problem.problem, out, err);
    banyan_free(algorithms);
    banyan_plan_problem_fini(&problem);
    return status;
}

banyan_status banyan_comparison_create(const banyan_topology *topology, const banyan_plan_config *config,
                                       banyan_comparison **out, banyan_error *err)
{
    banyan_plan_config own = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_comparison *comparison;
    banyan_status status;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!topology)
        return banyan_fail_null("topology", err);
    status = banyan_read_plan_config(config, &own, err);
    if (status)
        return status;
    comparison = banyan_alloc(1, sizeof *comparison);
    status = comparison ? make(topology, &own, comparison, err) : banyan_fail_memory(err);
    if (status) {
        banyan_comparison_destroy(comparison);
        return status;
    }
    *out = comparison;
    return BANYAN_SUCCESS;
}

void banyan_comparison_destroy(banyan_comparison *comparison)
{
    if (comparison)
        banyan_plans_destroy(comparison->plans, comparison->plans ? comparison->info.plan_count : 0);
    banyan_free(comparison);
}

banyan_status banyan_comparison_get_info(const banyan_comparison *comparison, banyan_comparison_info *info,
                                         banyan_error *err)
{
    if (!comparison)
        return banyan_fail_null("comparison", err);
    return banyan_sized_write(&comparison->info, sizeof comparison->info, info, "banyan_comparison_info",
                              err);
}

const banyan_plan *banyan_comparison_plan(const banyan_comparison *comparison, int i)
{
    return comparison && i >= 0 && i < comparison->info.plan_count ? &comparison->plans[i] : NULL;
}
