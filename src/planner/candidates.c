/* SPDX-License-Identifier: Apache-2.0 */
/* planner/candidates.c: every algorithm, and its variants: all of them, or those that the choice is among.
 *
 * To choose, most need not be predicted. All candidates are built; then they are looked at in the order of
 * the least time that they can take, which is first the cost of their messages alone and then that with the
 * bytes on the fullest link, and what cannot come near the best prediction so far is out. Building is cheap;
 * to prove and to simulate what has many messages is not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "planner/steps.h"
#include "topology/scale.h"

/* What rounding may take from a prediction that equals its bound, relative to it. */
#define BOUND_ROUNDING 1e-6

int banyan_plan_order(const void *a, const void *b)
{
    const banyan_plan *x = a, *y = b;

    if (!x->schedule != !y->schedule)
        return x->schedule ? -1 : 1;
    if (x->schedule && x->predicted_s != y->predicted_s)
        return x->predicted_s < y->predicted_s ? -1 : 1;
    return strcmp(x->algorithm->name, y->algorithm->name);
}

int banyan_plan_takes_parameters(const banyan_algorithm *algorithm, const banyan_problem *problem)
{
    for (int i = 0; i < problem->parameter_count; i++) {
        const banyan_algorithm_option *option = algorithm->options;

        while (option && option->key && strcmp(option->key, problem->parameters[i].key) != 0)
            option++;
        if (!option || !option->key)
            return 0;
    }
    return 1;
}

typedef banyan_status make_plan(const banyan_algorithm *algorithm, const banyan_problem *problem,
                                banyan_effort effort, banyan_plan *out, banyan_error *err);

/* What could not be made because of its kind or size is no candidate; all else that went wrong ends the
 * search. */
static banyan_status leave_out(banyan_plan *plan, banyan_status status, const banyan_error *why_not,
                               banyan_error *err)
{
    plan->why_not = *why_not;
    plan->is_left_out = status == BANYAN_UNSUPPORTED;
    if (!plan->is_left_out && err)
        *err = *why_not;
    return plan->is_left_out ? BANYAN_SUCCESS : status;
}

/* One algorithm with its defaults or one variant; what does not apply is told in why_not. */
static banyan_status make_candidate(const banyan_algorithm *algorithm, const banyan_parameter *variant,
                                    const banyan_problem *problem, banyan_effort effort, make_plan *how,
                                    banyan_plan *out, banyan_error *err)
{
    banyan_problem own = *problem;
    banyan_error why_not;
    banyan_status status;
    int applies;

    if (!banyan_plan_takes_parameters(algorithm, problem))
        own.parameter_count = 0;
    if (variant) {
        own.parameters = variant;
        own.parameter_count = 1;
    }
    status = banyan_algorithm_applies(algorithm, &own, &why_not);
    applies = !status;
    if (applies)
        status = how(algorithm, &own, effort, out, &why_not);
    if (status)
        status = leave_out(out, status, &why_not, err);
    out->is_left_out = out->is_left_out && applies;
    out->algorithm = algorithm;
    if (variant)
        out->variant = *variant;
    return status;
}

/* The user's own parameters leave nothing to vary. */
static int has_variants(const banyan_algorithm *algorithm, const banyan_problem *problem,
                        banyan_effort effort)
{
    return effort == BANYAN_EFFORT_PATIENT && algorithm->variants && !problem->parameter_count;
}

static const banyan_algorithm *algorithm_at(const banyan_algorithm *const *algorithms, int i)
{
    return algorithms ? algorithms[i] : banyan_algorithm_at(i);
}

static int count_candidates(const banyan_problem *problem, banyan_effort effort,
                            const banyan_algorithm *const *algorithms, int algorithm_count)
{
    int count = algorithm_count;

    for (int i = 0; i < algorithm_count; i++)
        if (has_variants(algorithm_at(algorithms, i), problem, effort))
            for (const banyan_parameter *v = algorithm_at(algorithms, i)->variants; v->key; v++)
                count++;
    return count;
}

static void tell(const banyan_problem *problem, int done, int all)
{
    if (problem->watch)
        problem->watch(problem->watch_context, done, all);
}

static void tell_name(const banyan_problem *problem, const banyan_algorithm *algorithm)
{
    if (problem->begins)
        problem->begins(problem->watch_context, algorithm->name);
}

/* Whether there is time for the next candidate. */
static banyan_status check_deadline(int64_t deadline_ns, int done, int all, banyan_error *err)
{
    if (!deadline_ns || done == all || banyan_clock_ns() < deadline_ns)
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_TIMEOUT,
                       "time was up after %d of %d candidates: allow more, or name an algorithm", done, all);
}

/* Of a search: whose choice the candidates are for, and how far it is. */
typedef struct {
    const banyan_problem *problem;
    banyan_effort effort;
    const banyan_algorithm *const *algorithms; /* NULL: all */
    int algorithm_count;
    int64_t deadline_ns;
    int contenders_only;
    banyan_plan_usable *usable; /* of contenders */
    const void *context;
    banyan_plan *plans;
    int all, built, decided; /* contenders are all built before any of them is predicted or out */
    int told;
} search;

static banyan_status go_on(search *s, banyan_error *err)
{
    int done = (s->built + s->decided + 1) / 2;

    if (done > s->told)
        tell(s->problem, done, s->all);
    s->told = done;
    return check_deadline(s->deadline_ns, done, s->all, err);
}

static banyan_status make_one(search *s, const banyan_algorithm *algorithm, const banyan_parameter *variant,
                              make_plan *how, banyan_error *err)
{
    banyan_plan *plan = &s->plans[s->built++];
    banyan_status status;

    tell_name(s->problem, algorithm);
    status = make_candidate(algorithm, variant, s->problem, s->effort, how, plan, err);
    s->decided += how == banyan_plan_make_with || !plan->schedule;
    return status ? status : go_on(s, err);
}

static banyan_status make_each(search *s, make_plan *how, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < s->algorithm_count; i++) {
        const banyan_algorithm *algorithm = algorithm_at(s->algorithms, i);

        status = make_one(s, algorithm, NULL, how, err);
        if (!has_variants(algorithm, s->problem, s->effort))
            continue;
        for (const banyan_parameter *v = algorithm->variants; !status && v->key; v++)
            status = make_one(s, algorithm, v, how, err);
    }
    return status;
}

static banyan_status build_and_weigh(const banyan_algorithm *algorithm, const banyan_problem *problem,
                                     banyan_effort effort, banyan_plan *out, banyan_error *err)
{
    banyan_status status = banyan_plan_build(algorithm, problem, effort, out, err);

    if (!status)
        banyan_plan_weigh(out, problem);
    return status;
}

static int is_weighed_only(const banyan_plan *plan)
{
    return plan->schedule && !plan->model;
}

static banyan_plan *next_by_bound(search *s)
{
    banyan_plan *next = NULL;

    for (int i = 0; i < s->all; i++)
        if (is_weighed_only(&s->plans[i]) && (!next || s->plans[i].least_s < next->least_s))
            next = &s->plans[i];
    return next;
}

static int is_too_slow(const banyan_plan *plan, const banyan_problem *problem, double best_s)
{
    return plan->least_s * (1 - BOUND_ROUNDING) > banyan_plan_highest_s(best_s) &&
           !banyan_plan_has_few_messages(plan, problem);
}

static void outrun(banyan_plan *plan)
{
    plan->is_outrun = 1;
    banyan_fail(&plan->why_not, BANYAN_UNSUPPORTED,
                "its messages and its fullest link alone take longer than others: %g s at least",
                plan->least_s);
    banyan_schedule_destroy(plan->schedule);
    plan->schedule = NULL;
}

static banyan_status prove_and_predict(banyan_plan *plan, const banyan_problem *problem, banyan_effort effort,
                                       banyan_error *err)
{
    banyan_status status = banyan_plan_prove(plan, problem, err);

    return status ? status : banyan_plan_judge(plan, problem, effort, err);
}

/* One step on the way of the plan with the lowest bound: it is out, it gets a better bound, or a prediction.
 * */
static banyan_status advance(search *s, banyan_plan *plan, double *best_s, banyan_error *err)
{
    banyan_error why_not;
    banyan_status status;

    if (is_too_slow(plan, s->problem, *best_s)) {
        outrun(plan);
        s->decided++;
        return go_on(s, err);
    }
    if (!plan->has_limits) {
        status = banyan_plan_limit(plan, s->problem, &why_not);
        if (!status)
            return BANYAN_SUCCESS;
    } else {
        tell_name(s->problem, plan->algorithm);
        status = prove_and_predict(plan, s->problem, s->effort, &why_not);
    }
    s->decided++;
    if (status) {
        banyan_schedule_destroy(plan->schedule);
        plan->schedule = NULL;
        status = leave_out(plan, status, &why_not, err);
    } else if (!s->usable || s->usable(s->context, plan->schedule)) {
        *best_s = fmin(*best_s, plan->predicted_s);
    }
    return status ? status : go_on(s, err);
}

static banyan_status make_contenders(search *s, banyan_error *err)
{
    banyan_status status = make_each(s, build_and_weigh, err);
    double best_s = HUGE_VAL;

    for (banyan_plan *plan; !status && (plan = next_by_bound(s)) != NULL;)
        status = advance(s, plan, &best_s, err);
    return status;
}

static banyan_status run_search(search *s, banyan_plan **out, int *count, banyan_error *err)
{
    const banyan_problem *problem = s->problem;
    banyan_status status;

    *out = NULL;
    s->all = count_candidates(problem, s->effort, s->algorithms, s->algorithm_count);
    s->plans = banyan_alloc((size_t)s->all, sizeof *s->plans);
    status = s->plans ? banyan_scale_check(problem->topology, err) : banyan_fail_memory(err);
    if (!status)
        status =
            banyan_topology_check_connected(problem->topology, problem->active, problem->active_count, err);
    if (!status)
        status = s->contenders_only ? make_contenders(s, err) : make_each(s, banyan_plan_make_with, err);
    if (status) {
        banyan_plans_destroy(s->plans, s->plans ? s->all : 0);
        return status;
    }
    qsort(s->plans, (size_t)s->all, sizeof *s->plans, banyan_plan_order);
    *out = s->plans;
    *count = s->all;
    return BANYAN_SUCCESS;
}

banyan_status banyan_plan_candidates(const banyan_problem *problem, banyan_effort effort, banyan_plan **out,
                                     int *count, banyan_error *err)
{
    return banyan_plan_candidates_until(problem, effort, 0, out, count, err);
}

banyan_status banyan_plan_candidates_until(const banyan_problem *problem, banyan_effort effort,
                                           int64_t deadline_ns, banyan_plan **out, int *count,
                                           banyan_error *err)
{
    return banyan_plan_candidates_of(problem, effort, NULL, banyan_algorithm_count(), deadline_ns, out, count,
                                     err);
}

banyan_status banyan_plan_candidates_of(const banyan_problem *problem, banyan_effort effort,
                                        const banyan_algorithm *const *algorithms, int algorithm_count,
                                        int64_t deadline_ns, banyan_plan **out, int *count, banyan_error *err)
{
    search s = {.problem = problem,
                .effort = effort,
                .algorithms = algorithms,
                .algorithm_count = algorithm_count,
                .deadline_ns = deadline_ns};

    return run_search(&s, out, count, err);
}

banyan_status banyan_plan_contenders(const banyan_problem *problem, banyan_effort effort, int64_t deadline_ns,
                                     banyan_plan_usable *usable, const void *context, banyan_plan **out,
                                     int *count, banyan_error *err)
{
    search s = {.problem = problem,
                .effort = effort,
                .algorithm_count = banyan_algorithm_count(),
                .deadline_ns = deadline_ns,
                .contenders_only = 1,
                .usable = usable,
                .context = context};

    return run_search(&s, out, count, err);
}

banyan_status banyan_plan_all(const banyan_problem *problem, banyan_plan **out, int *count, banyan_error *err)
{
    return banyan_plan_candidates(problem, BANYAN_EFFORT_MEASURE, out, count, err);
}
