/* SPDX-License-Identifier: Apache-2.0 */
/* planner/planner.c: one algorithm's plan: built, weighed, proven, predicted. */
#include "planner/steps.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/near.h"
#include "planner/messages.h"
#include "planner/predict.h"
#include "simulate/paces.h"
#include "topology/scale.h"
#include "verify/verify.h"

/* As much as an engine has under way: more, smaller slices are predicted no better and take longer to
 * predict. */
#define MAX_SLICES 512
#define MIN_SLICE_BYTES ((size_t)512)

/* Messages of a schedule for a large network, about: the fluid simulator then stays within its own limit of
 * work (planner/predict.c) on most networks, and plans are judged by the same model. */
#define LARGE_NETWORK_MESSAGES (BANYAN_SCALE_MAX_MOVES / 2)

/* Predicting twice takes twice as long: that is not worth it for more ranks. */
#define MAX_PACED_RANKS 64

/* Times what unpaced connections take by a model in which they share links at once and lose nothing: pacing
 * costs the pipeline a little while it fills, and saves what no model sees. */
#define PACING_COST 1.03

/* A plan for any size is judged by a long vector: short ones do not fill links. */
#define PACING_BYTES ((size_t)64 << 20)

/* What has fewer messages is predicted in some milliseconds, and then an explanation can say how much slower
 * it is. */
#define MAX_FLUID_MESSAGES 10000

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
size_t banyan_plan_slice(const banyan_plan *plan, const banyan_problem *problem)
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
double banyan_plan_with_messages(double network_s, const banyan_message_costs *costs)
{
    return banyan_message_walk_time(&costs->walk, network_s + costs->headers_s);
}

static banyan_status time_unpaced(const banyan_plan *plan, const banyan_problem *problem, double *seconds,
                                  const char **model, banyan_error *err)
{
    banyan_timeline *timeline;
    banyan_status status = banyan_predict(plan->schedule, problem->topology, problem->bytes,
                                          banyan_plan_slice(plan, problem), &timeline, model, err);

    if (!status) {
        *seconds = timeline->total_s;
        banyan_timeline_destroy(timeline);
    }
    return status;
}

/* Where connections are to get less than their links carry, they are paced unless that takes longer. */
static banyan_status try_pacing(banyan_plan *plan, const banyan_problem *problem, banyan_error *err)
{
    banyan_problem sized = *problem;
    const char *model = plan->model;
    double paced_s, unpaced_s = plan->network_s;
    int matters = 0;
    banyan_status status;

    if (problem->is_unpaced || problem->topology->host_count < 2 || problem->active_count > MAX_PACED_RANKS)
        return BANYAN_SUCCESS;
    status = banyan_paces_matter(plan->schedule, problem->topology, &matters, err);
    if (status || !matters)
        return status;
    if (!problem->bytes) {
        sized.bytes = PACING_BYTES;
        status = time_unpaced(plan, &sized, &unpaced_s, &model, err);
    }
    if (status || strcmp(model, "fluid") != 0)
        return status;
    status = banyan_predict_paced(plan->schedule, sized.topology, sized.bytes,
                                  banyan_plan_slice(plan, &sized), &paced_s, err);
    if (status)
        return status == BANYAN_UNSUPPORTED ? BANYAN_SUCCESS : status;
    plan->is_paced = paced_s < PACING_COST * unpaced_s;
    if (plan->is_paced && problem->bytes)
        plan->network_s = paced_s;
    return BANYAN_SUCCESS;
}

/* No model of time predicts less. Not all of them keep the two sides of a barrier apart; the longer side
 * takes half of the limit at least. */
static double find_least(const banyan_plan *plan, const banyan_problem *problem)
{
    double rate = plan->limits.bytes_per_s * (plan->schedule->barrier > 0 ? 2 : 1);

    return banyan_plan_with_messages(plan->has_limits ? (double)problem->bytes / rate : 0, &plan->costs);
}

void banyan_plan_weigh(banyan_plan *plan, const banyan_problem *problem)
{
    plan->costs = banyan_message_costs_of(plan->schedule, problem->topology);
    plan->least_s = find_least(plan, problem);
}

banyan_status banyan_plan_limit(banyan_plan *plan, const banyan_problem *problem, banyan_error *err)
{
    banyan_status status = banyan_bandwidth_limit(plan->schedule, problem->topology, &plan->limits, err);

    plan->has_limits = !status;
    if (!status)
        plan->least_s = find_least(plan, problem);
    return status;
}

banyan_status banyan_plan_judge(banyan_plan *plan, const banyan_problem *problem, banyan_effort effort,
                                banyan_error *err)
{
    banyan_timeline *timeline;
    banyan_status status;

    if (effort == BANYAN_EFFORT_ESTIMATE) {
        plan->model = "walk";
        status = banyan_walk(plan->schedule, problem->topology, problem->bytes,
                             banyan_plan_slice(plan, problem), &timeline, err);
    } else {
        status = banyan_predict(plan->schedule, problem->topology, problem->bytes,
                                banyan_plan_slice(plan, problem), &timeline, &plan->model, err);
    }
    if (status)
        return status;
    plan->network_s = timeline->total_s;
    plan->bytes = problem->bytes;
    banyan_timeline_destroy(timeline);
    status = try_pacing(plan, problem, err);
    if (status)
        return status;
    plan->predicted_s = banyan_plan_with_messages(plan->network_s, &plan->costs);
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
    banyan_plan_weigh(&plan, problem);
    status = banyan_plan_limit(&plan, problem, err);
    if (!status)
        status = banyan_plan_judge(&plan, problem, BANYAN_EFFORT_MEASURE, err);
    banyan_free(routeless);
    if (!status)
        *seconds = plan.predicted_s;
    return status;
}

/* The schedule and what building it took; not proven yet. */
banyan_status banyan_plan_build(const banyan_algorithm *algorithm, const banyan_problem *problem,
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

banyan_status banyan_plan_prove(banyan_plan *plan, const banyan_problem *problem, banyan_error *err)
{
    double begin_s = banyan_clock_cpu_s();
    banyan_status status = prove(plan, problem, err);

    plan->planning_s += banyan_clock_cpu_s() - begin_s;
    return status;
}

banyan_status banyan_plan_make_with(const banyan_algorithm *algorithm, const banyan_problem *problem,
                                    banyan_effort effort, banyan_plan *out, banyan_error *err)
{
    banyan_status status = banyan_plan_build(algorithm, problem, effort, out, err);

    if (!status)
        status = banyan_plan_prove(out, problem, err);
    if (!status)
        status = banyan_plan_limit(out, problem, err);
    if (!status) {
        banyan_plan_weigh(out, problem);
        status = banyan_plan_judge(out, problem, effort, err);
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
    return banyan_plan_make_with(algorithm, problem, BANYAN_EFFORT_MEASURE, out, err);
}

int banyan_plan_has_few_messages(const banyan_plan *plan, const banyan_problem *problem)
{
    double slices =
        volume_of(plan->schedule) * (double)problem->bytes / (double)banyan_plan_slice(plan, problem);

    return (double)plan->schedule->transfer_count + slices < MAX_FLUID_MESSAGES;
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
    return status ? status : banyan_plan_make_with(found, problem, effort, out, err);
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
