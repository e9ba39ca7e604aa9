/* SPDX-License-Identifier: Apache-2.0 */
/* planner/planner.c: candidates -> verify -> predict -> choose. */
#include "planner/planner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/near.h"
#include "planner/messages.h"
#include "planner/predict.h"
#include "topology/scale.h"
#include "verify/verify.h"

/* As much as an engine has under way: more, smaller slices are predicted no better and take longer to
 * predict. */
#define MAX_SLICES 512
#define MIN_SLICE_BYTES ((size_t)512)

/* Messages of a schedule for a large network, about: the fluid simulator then stays within its own limit of
 * work (planner/predict.c) on most networks, and plans are judged by the same model. */
#define LARGE_NETWORK_MESSAGES (BANYAN_SCALE_MOST_MOVES / 2)

/* Predicting twice takes twice as long: that is not worth it for more ranks. */
#define MAX_PACED_RANKS 64

/* Times what unpaced connections take by a model in which they share links at once and lose nothing: pacing
 * costs the pipeline a little while it fills, and saves what no model sees. */
#define PACING_COST 1.03

/* What rounding may take from a prediction that equals its bound, relative to it. */
#define BOUND_ROUNDING 1e-6

static banyan_status prove(const banyan_plan *plan, const banyan_problem *problem, banyan_error *err)
{
    banyan_verdict verdict;
    banyan_status status = banyan_verify(plan->schedule, problem->topology, &verdict, err);

    if (!status)
        status = banyan_verdict_status(&verdict, err);
    /* What we plan ourselves leaves the same bits on all ranks. */
    if (!status && verdict.orders_differ)
        status = banyan_fail(err, BANYAN_PLAN_INVALID, "%s", verdict.note);
    if (status == BANYAN_PLAN_INVALID)
        banyan_error_prefix(err, plan->algorithm->name);
    return status;
}

/* How much of the vector is sent, each time counted. */
static double volume_of(const banyan_schedule *schedule)
{
    double volume = 0;

    for (size_t i = 0; i < schedule->transfer_count; i++)
        volume += banyan_schedule_share(schedule, schedule->transfers[i].first_piece,
                                        schedule->transfers[i].piece_count);
    return volume;
}

/* Elements flow as they come: what is predicted for large slices would be too slow for plans with large
 * pieces. On large networks the number of messages decides. */
static size_t slice_of(const banyan_plan *plan, const banyan_problem *problem)
{
    size_t slice_bytes = problem->bytes / MAX_SLICES;

    if (problem->slice_bytes)
        return problem->slice_bytes;
    if (banyan_scale_is_large(problem->topology)) {
        double least = volume_of(plan->schedule) * (double)problem->bytes / LARGE_NETWORK_MESSAGES;

        slice_bytes = least > (double)slice_bytes ? (size_t)least : slice_bytes;
    }
    return slice_bytes < MIN_SLICE_BYTES ? MIN_SLICE_BYTES : slice_bytes;
}

/* Links and cores are busy at the same time. The same for threads and processes: bits must not depend on
 * where ranks live. */
static double with_messages(double network_s, const banyan_message_costs *costs)
{
    return costs->last_s + fmax(network_s + costs->headers_s, costs->busy_s);
}

/* Where connections meet on full links, they are paced unless that takes longer. */
static banyan_status try_pacing(banyan_plan *plan, const banyan_problem *problem, banyan_error *err)
{
    double paced_s;
    banyan_status status;

    if (problem->is_unpaced || plan->limits.crowd <= plan->limits.full_links ||
        problem->topology->host_count < 2 || problem->active_count > MAX_PACED_RANKS ||
        strcmp(plan->model, "fluid") != 0)
        return BANYAN_SUCCESS;
    status = banyan_predict_paced(plan->schedule, problem->topology, problem->bytes, slice_of(plan, problem),
                                  &paced_s, err);
    if (status)
        return status == BANYAN_UNSUPPORTED ? BANYAN_SUCCESS : status;
    plan->is_paced = paced_s < PACING_COST * plan->network_s;
    if (plan->is_paced)
        plan->network_s = paced_s;
    return BANYAN_SUCCESS;
}

/* No model of time predicts less. Not all of them keep the two sides of a barrier apart; the longer side takes
 * half of the limit at least. */
static double find_least(const banyan_plan *plan, const banyan_problem *problem)
{
    double rate = plan->limits.bytes_per_s * (plan->schedule->barrier > 0 ? 2 : 1);

    return with_messages(plan->has_limits ? (double)problem->bytes / rate : 0, &plan->costs);
}

static void weigh(banyan_plan *plan, const banyan_problem *problem)
{
    plan->costs = banyan_message_costs_of(plan->schedule, problem->topology);
    plan->least_s = find_least(plan, problem);
}

static banyan_status limit(banyan_plan *plan, const banyan_problem *problem, banyan_error *err)
{
    banyan_status status = banyan_bandwidth_limit(plan->schedule, problem->topology, &plan->limits, err);

    plan->has_limits = !status;
    if (!status)
        plan->least_s = find_least(plan, problem);
    return status;
}

static banyan_status predict(banyan_plan *plan, const banyan_problem *problem, banyan_effort effort,
                             banyan_error *err)
{
    banyan_timeline *timeline;
    banyan_status status;

    if (effort == BANYAN_EFFORT_ESTIMATE) {
        plan->model = "walk";
        status = banyan_walk(plan->schedule, problem->topology, problem->bytes, slice_of(plan, problem),
                             &timeline, err);
    } else {
        status = banyan_predict(plan->schedule, problem->topology, problem->bytes, slice_of(plan, problem),
                                &timeline, &plan->model, err);
    }
    if (status)
        return status;
    plan->network_s = timeline->total_s;
    plan->bytes = problem->bytes;
    banyan_timeline_destroy(timeline);
    status = try_pacing(plan, problem, err);
    if (status)
        return status;
    plan->predicted_s = with_messages(plan->network_s, &plan->costs);
    return BANYAN_SUCCESS;
}

banyan_status banyan_plan_predict(const banyan_problem *problem, const banyan_schedule *schedule,
                                  double *seconds, banyan_error *err)
{
    banyan_transfer *routeless = banyan_alloc(schedule->transfer_count + 1, sizeof *routeless);
    banyan_schedule bare = *schedule; /* borrows all but the transfers */
    banyan_plan plan = {.schedule = &bare};
    banyan_status status;

    if (!routeless)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        routeless[i] = schedule->transfers[i];
        routeless[i].route = -1;
    }
    bare.transfers = routeless;
    bare.route_count = 0;
    bare.node_count = problem->topology->node_count; /* workers come first, in both */
    weigh(&plan, problem);
    status = limit(&plan, problem, err);
    if (!status)
        status = predict(&plan, problem, BANYAN_EFFORT_MEASURE, err);
    banyan_free(routeless);
    if (!status)
        *seconds = plan.predicted_s;
    return status;
}

/* The schedule and what building it took; not proven yet. */
static banyan_status build(const banyan_algorithm *algorithm, const banyan_problem *problem,
                           banyan_effort effort, banyan_plan *out, banyan_error *err)
{
    banyan_plan plan = {.algorithm = algorithm, .work = banyan_work_now(), .limits = {.bottleneck = -1}};
    double begin_s = banyan_clock_cpu_s();
    banyan_problem own = *problem;
    banyan_status status;

    own.budget = banyan_effort_budget(effort);
    status = banyan_algorithm_build(algorithm, &own, &plan.schedule, err);
    plan.planning_s = banyan_clock_cpu_s() - begin_s;
    plan.work = banyan_work_since(&plan.work);
    memset(out, 0, sizeof *out);
    if (!status)
        *out = plan;
    return status;
}

static banyan_status prove_timed(banyan_plan *plan, const banyan_problem *problem, banyan_error *err)
{
    double begin_s = banyan_clock_cpu_s();
    banyan_status status = prove(plan, problem, err);

    plan->planning_s += banyan_clock_cpu_s() - begin_s;
    return status;
}

static banyan_status make(const banyan_algorithm *algorithm, const banyan_problem *problem,
                          banyan_effort effort, banyan_plan *out, banyan_error *err)
{
    banyan_status status = build(algorithm, problem, effort, out, err);

    if (!status)
        status = prove_timed(out, problem, err);
    if (!status)
        status = limit(out, problem, err);
    if (!status) {
        weigh(out, problem);
        status = predict(out, problem, effort, err);
    }
    if (status) {
        banyan_plan_fini(out);
        memset(out, 0, sizeof *out);
    }
    return status;
}

banyan_status banyan_plan_make(const banyan_algorithm *algorithm, const banyan_problem *problem,
                               banyan_plan *out, banyan_error *err)
{
    return make(algorithm, problem, BANYAN_EFFORT_MEASURE, out, err);
}

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
    int all, done;
} search;

static banyan_status go_on(search *s, banyan_error *err)
{
    tell(s->problem, s->done, s->all);
    return check_deadline(s->deadline_ns, s->done, s->all, err);
}

static banyan_status make_one(search *s, const banyan_algorithm *algorithm, const banyan_parameter *variant,
                              make_plan *how, int *next, banyan_error *err)
{
    banyan_plan *plan = &s->plans[(*next)++];
    banyan_status status = make_candidate(algorithm, variant, s->problem, s->effort, how, plan, err);

    s->done += how == make || !plan->schedule;
    return status ? status : go_on(s, err);
}

static banyan_status make_each(search *s, make_plan *how, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int next = 0;

    for (int i = 0; !status && i < s->algorithm_count; i++) {
        const banyan_algorithm *algorithm = algorithm_at(s->algorithms, i);

        status = make_one(s, algorithm, NULL, how, &next, err);
        if (!has_variants(algorithm, s->problem, s->effort))
            continue;
        for (const banyan_parameter *v = algorithm->variants; !status && v->key; v++)
            status = make_one(s, algorithm, v, how, &next, err);
    }
    return status;
}

static banyan_status build_and_weigh(const banyan_algorithm *algorithm, const banyan_problem *problem,
                                     banyan_effort effort, banyan_plan *out, banyan_error *err)
{
    banyan_status status = build(algorithm, problem, effort, out, err);

    if (!status)
        weigh(out, problem);
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
    banyan_status status = prove_timed(plan, problem, err);

    return status ? status : predict(plan, problem, effort, err);
}

/* One step on the way of the plan with the lowest bound: it is out, it gets a better bound, or a prediction. */
static banyan_status advance(search *s, banyan_plan *plan, double *best_s, banyan_error *err)
{
    banyan_error why_not;
    banyan_status status;

    if (plan->least_s * (1 - BOUND_ROUNDING) > banyan_plan_highest_s(*best_s)) {
        outrun(plan);
        s->done++;
        return go_on(s, err);
    }
    if (!plan->has_limits) {
        status = limit(plan, s->problem, &why_not);
        if (!status)
            return BANYAN_SUCCESS;
    } else {
        status = prove_and_predict(plan, s->problem, s->effort, &why_not);
    }
    s->done++;
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
        status = s->contenders_only ? make_contenders(s, err) : make_each(s, make, err);
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

static banyan_status unknown(const char *name, banyan_error *err)
{
    const char *names[256];
    int count = banyan_algorithm_count(), near;

    for (int i = 0; i < count && i < 255; i++)
        names[i] = banyan_algorithm_at(i)->name;
    names[count < 255 ? count : 255] = "auto";
    near = strcmp(name, "auto") ? banyan_near_find(name, names, (count < 255 ? count : 255) + 1) : -1;
    if (!strcmp(name, "auto"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "auto is a choice, not an algorithm: name some of 'banyan list algorithms'");
    if (near >= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no algorithm is named %.60s (did you mean %s?)",
                           name, names[near]);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "no algorithm is named %.60s; 'banyan list' shows them all", name);
}

banyan_status banyan_plan_find(const char *name, const banyan_algorithm **out, banyan_error *err)
{
    *out = banyan_algorithm_find(name);
    return *out ? BANYAN_SUCCESS : unknown(name, err);
}

banyan_status banyan_plan_choose_named(const char *algorithm, const banyan_problem *problem,
                                       banyan_effort effort, banyan_plan *out, banyan_error *err)
{
    const banyan_algorithm *found;
    banyan_status status;

    memset(out, 0, sizeof *out);
    status = banyan_plan_find(algorithm, &found, err);
    if (!status)
        status = banyan_scale_check(problem->topology, err);
    if (!status)
        status = banyan_algorithm_applies(found, problem, err);
    return status ? status : make(found, problem, effort, out, err);
}

void banyan_plan_fini(banyan_plan *plan)
{
    banyan_schedule_destroy(plan->schedule);
    banyan_free(plan->explanation);
    plan->schedule = NULL;
    plan->explanation = NULL;
}

void banyan_plans_destroy(banyan_plan *plans, int count)
{
    for (int i = 0; i < count; i++)
        banyan_plan_fini(&plans[i]);
    banyan_free(plans);
}
