/* SPDX-License-Identifier: Apache-2.0 */
/* planner/search.c: the plan that a problem gets: what wisdom knows, or the choice among all candidates. */
#include <string.h>

#include "core/alloc.h"
#include "core/text.h"
#include "planner/wisdom.h"

static banyan_status explain_recall(const banyan_problem *problem, const banyan_plan *plan, char **out,
                                    banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    char *why;
    banyan_status status = banyan_plan_explain(problem, plan, 1, 0, &why, err);

    if (status)
        return status;
    banyan_text_add(&text, "%s; known from wisdom", why);
    banyan_free(why);
    return banyan_text_take(&text, out, err);
}

static banyan_status search_all(const banyan_problem *problem, banyan_effort effort, int64_t deadline_ns,
                                banyan_wisdom *wisdom, banyan_plan *out, char **explanation,
                                banyan_error *err)
{
    banyan_plan *plans;
    int count, best;
    banyan_status status =
        banyan_plan_contenders(problem, effort, deadline_ns, NULL, NULL, &plans, &count, err);

    if (status)
        return status;
    best = banyan_plan_best(problem, plans, count, NULL, NULL);
    if (best == count)
        status = banyan_fail(err, BANYAN_UNSUPPORTED, "no algorithm applies: %.200s", plans[0].why_not.text);
    if (!status && explanation)
        status = banyan_plan_explain(problem, plans, count, best, explanation, err);
    if (!status && wisdom && !problem->parameter_count)
        status = banyan_wisdom_remember(wisdom, problem, "", &plans[best], effort, err);
    if (!status) {
        *out = plans[best];
        plans[best].schedule = NULL; /* given away */
    } else if (explanation) {
        banyan_free(*explanation);
        *explanation = NULL;
    }
    banyan_plans_destroy(plans, count);
    return status;
}

banyan_status banyan_plan_search(const banyan_problem *problem, banyan_effort effort, banyan_wisdom *wisdom,
                                 banyan_plan *out, char **explanation, banyan_error *err)
{
    return banyan_plan_search_until(problem, effort, 0, wisdom, out, explanation, err);
}

banyan_status banyan_plan_search_until(const banyan_problem *problem, banyan_effort effort,
                                       int64_t deadline_ns, banyan_wisdom *wisdom, banyan_plan *out,
                                       char **explanation, banyan_error *err)
{
    const banyan_wisdom_entry *known =
        wisdom && !problem->parameter_count ? banyan_wisdom_find(wisdom, problem, "", effort) : NULL;
    banyan_status status = BANYAN_UNSUPPORTED;

    memset(out, 0, sizeof *out);
    if (explanation)
        *explanation = NULL;
    if (known)
        status = banyan_wisdom_recall(known, problem, out, err);
    if (!status && explanation) {
        status = explain_recall(problem, out, explanation, err);
        if (status)
            banyan_plan_fini(out);
    }
    return status == BANYAN_UNSUPPORTED
               ? search_all(problem, effort, deadline_ns, wisdom, out, explanation, err)
               : status;
}

banyan_status banyan_plan_choose(const char *algorithm, const banyan_problem *problem, banyan_plan *out,
                                 banyan_error *err)
{
    if (strcmp(algorithm, "auto") != 0)
        return banyan_plan_choose_named(algorithm, problem, BANYAN_EFFORT_MEASURE, out, err);
    return banyan_plan_search(problem, banyan_plan_default_effort(problem), NULL, out, NULL, err);
}
