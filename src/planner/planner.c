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

static banyan_status predict(banyan_plan *plan, const banyan_problem *problem, banyan_effort effort,
                             banyan_error *err)
{
    banyan_message_costs costs;
    banyan_timeline *timeline;
    banyan_status status = banyan_bandwidth_limit(plan->schedule, problem->topology, &plan->limits, err);

    if (!status && effort == BANYAN_EFFORT_ESTIMATE) {
        plan->model = "walk";
        status = banyan_walk(plan->schedule, problem->topology, problem->bytes, slice_of(plan, problem),
                             &timeline, err);
    } else if (!status) {
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
    costs = banyan_message_costs_of(plan->schedule, problem->topology);
    plan->predicted_s = with_messages(plan->network_s, &costs);
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
    status = predict(&plan, problem, BANYAN_EFFORT_MEASURE, err);
    banyan_free(routeless);
    if (!status)
        *seconds = plan.predicted_s;
    return status;
}

/* A plan that is about to be built: it keeps the clock and the counters as they stand now, until finish(). */
static banyan_plan begin(const banyan_algorithm *algorithm)
{
    return (banyan_plan){
        .algorithm = algorithm, .planning_s = banyan_clock_cpu_s(), .work = banyan_work_now()};
}

/* Proves and predicts what was built since begin(); status is how that went. */
static banyan_status finish(banyan_plan plan, const banyan_problem *problem, banyan_effort effort,
                            banyan_status status, banyan_plan *out, banyan_error *err)
{
    memset(out, 0, sizeof *out);
    if (!status)
        status = prove(&plan, problem, err);
    plan.planning_s = banyan_clock_cpu_s() - plan.planning_s;
    plan.work = banyan_work_since(&plan.work);
    if (!status)
        status = predict(&plan, problem, effort, err);
    if (status) {
        banyan_plan_fini(&plan);
        return status;
    }
    *out = plan;
    return BANYAN_SUCCESS;
}

static banyan_status make(const banyan_algorithm *algorithm, const banyan_problem *problem,
                          banyan_effort effort, banyan_plan *out, banyan_error *err)
{
    banyan_plan plan = begin(algorithm);
    banyan_problem own = *problem;
    banyan_status status;

    own.budget = banyan_effort_budget(effort);
    status = banyan_algorithm_build(algorithm, &own, &plan.schedule, err);
    return finish(plan, &own, effort, status, out, err);
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

/* One algorithm with its defaults or one variant; what does not apply is told in why_not. */
static banyan_status make_candidate(const banyan_algorithm *algorithm, const banyan_parameter *variant,
                                    const banyan_problem *problem, banyan_effort effort, banyan_plan *out,
                                    banyan_error *err)
{
    banyan_problem own = *problem;
    banyan_status status;

    if (!banyan_plan_takes_parameters(algorithm, problem))
        own.parameter_count = 0;
    if (variant) {
        own.parameters = variant;
        own.parameter_count = 1;
    }
    out->algorithm = algorithm;
    status = banyan_algorithm_applies(algorithm, &own, &out->why_not);
    if (!status) {
        banyan_error why_not;

        status = make(algorithm, &own, effort, out, &why_not);
        out->is_left_out = status == BANYAN_UNSUPPORTED;
        if (status)
            out->why_not = why_not;
    }
    out->algorithm = algorithm;
    if (variant)
        out->variant = *variant;
    if (status == BANYAN_UNSUPPORTED)
        return BANYAN_SUCCESS;
    if (status && err)
        *err = out->why_not;
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

static banyan_status make_candidates(const banyan_problem *problem, banyan_effort effort,
                                     const banyan_algorithm *const *algorithms, int algorithm_count,
                                     int64_t deadline_ns, banyan_plan *plans, int all, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int next = 0;

    for (int i = 0; !status && i < algorithm_count; i++) {
        const banyan_algorithm *algorithm = algorithm_at(algorithms, i);

        status = make_candidate(algorithm, NULL, problem, effort, &plans[next++], err);
        tell(problem, next, all);
        if (!status)
            status = check_deadline(deadline_ns, next, all, err);
        if (!has_variants(algorithm, problem, effort))
            continue;
        for (const banyan_parameter *v = algorithm->variants; !status && v->key; v++) {
            status = make_candidate(algorithm, v, problem, effort, &plans[next++], err);
            tell(problem, next, all);
            if (!status)
                status = check_deadline(deadline_ns, next, all, err);
        }
    }
    return status;
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
    int all = count_candidates(problem, effort, algorithms, algorithm_count);
    banyan_plan *plans = banyan_alloc((size_t)all, sizeof *plans);
    banyan_status status = plans ? BANYAN_SUCCESS : banyan_fail_memory(err);

    *out = NULL;
    if (!status)
        status = banyan_scale_check(problem->topology, err);
    if (!status)
        status =
            banyan_topology_check_connected(problem->topology, problem->active, problem->active_count, err);
    if (!status)
        status = make_candidates(problem, effort, algorithms, algorithm_count, deadline_ns, plans, all, err);
    if (status) {
        banyan_plans_destroy(plans, plans ? all : 0);
        return status;
    }
    qsort(plans, (size_t)all, sizeof *plans, banyan_plan_order);
    *out = plans;
    *count = all;
    return BANYAN_SUCCESS;
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
