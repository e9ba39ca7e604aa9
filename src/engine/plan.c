/* SPDX-License-Identifier: Apache-2.0 */
/* engine/plan.c: plans of a training engine.
 *
 *     medians of every rank ── MAX ──> the slowest rank's ready times, the same on all; costs are
 *                                      corrected by what the iterations before took
 *     rank 0: policy ── the grouping's text ──> all ── digests ──> the same everywhere, or MISMATCH
 *
 * After the policy's first plan the groups of ddp are tried as long, and whatever took less time stays.
 *
 * Before anything is known, gradients are taken to become ready in the reverse of rank 0's order of
 * registration, as layers usually are, in groups of 1 and 25 MiB, one after the other. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/digest.h"
#include "engine/engine.h"

enum { MAX_TEXT_BYTES = 64 << 20 };

#define MIN_SCALE 0.25
#define MAX_SCALE 8.0

void banyan_engine_plan_destroy(banyan_engine_plan *plan)
{
    if (!plan)
        return;
    banyan_model_destroy(plan->model);
    banyan_grouping_destroy(plan->grouping);
    banyan_free(plan->tensor_of);
    banyan_free(plan->place_of);
    banyan_free(plan->first_part);
    banyan_free(plan->group_of);
    banyan_free(plan->local_ready_s);
    banyan_free(plan->flight_s);
    banyan_observations_fini(&plan->flights);
    banyan_free(plan);
}

/* ---- The model: gradients that have elements, numbered by readiness. */

typedef struct {
    const char **names;
    size_t *bytes;
    double *ready_s;
    int *common, *order;
} profile;

static void profile_fini(profile *p)
{
    banyan_free(p->names);
    banyan_free(p->bytes);
    banyan_free(p->ready_s);
    banyan_free(p->common);
    banyan_free(p->order);
}

static banyan_status profile_init(profile *p, size_t count, banyan_error *err)
{
    p->names = banyan_alloc(count, sizeof *p->names);
    p->bytes = banyan_alloc(count, sizeof *p->bytes);
    p->ready_s = banyan_alloc(count, sizeof *p->ready_s);
    p->common = banyan_alloc(count, sizeof *p->common);
    p->order = banyan_alloc(count, sizeof *p->order);
    if (p->names && p->bytes && p->ready_s && p->common && p->order)
        return BANYAN_SUCCESS;
    profile_fini(p);
    return banyan_fail_memory(err);
}

/* ready_s by rank 0's numbers. */
static banyan_status make_model(const banyan_train *train, const double *ready_s, double other_s,
                                banyan_engine_plan *plan, banyan_error *err)
{
    size_t room = (size_t)train->tensor_count;
    double backward_s = 0;
    profile p = {0};
    int count = 0;
    banyan_status status = profile_init(&p, room, err);

    if (status)
        return status;
    for (int i = 0; i < train->tensor_count; i++) {
        const banyan_engine_tensor *tensor = &train->tensors[train->local_of[i]];

        if (!tensor->count)
            continue;
        p.names[count] = tensor->name;
        p.bytes[count] = tensor->count * banyan_datatype_bytes(tensor->type);
        p.ready_s[count] = ready_s[i];
        p.common[count++] = i;
        backward_s = ready_s[i] > backward_s ? ready_s[i] : backward_s;
    }
    if (!count)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no gradient is registered that has elements");
    if (!status)
        status = banyan_model_create("training", count, p.names, p.bytes, p.ready_s, other_s, backward_s,
                                     p.order, &plan->model, err);
    plan->tensor_of = banyan_alloc(room, sizeof *plan->tensor_of);
    plan->place_of = banyan_alloc(room, sizeof *plan->place_of);
    if (!status && (!plan->tensor_of || !plan->place_of))
        status = banyan_fail_memory(err);
    for (int i = 0; i < train->tensor_count && !status; i++)
        plan->place_of[i] = -1;
    for (int i = 0; i < count && !status; i++) {
        plan->tensor_of[i] = train->local_of[p.common[p.order[i]]];
        plan->place_of[plan->tensor_of[i]] = i;
    }
    profile_fini(&p);
    return status;
}

/* ---- What running it needs. */

static void find_digest(banyan_engine_plan *plan)
{
    const banyan_grouping *g = plan->grouping;
    banyan_digest digest;

    banyan_digest_init(&digest);
    for (int i = 0; i < plan->model->tensor_count; i++)
        banyan_digest_add_string(&digest, plan->model->tensors[i].name);
    for (int i = 0; i < g->part_count; i++) {
        banyan_digest_add_integer(&digest, g->parts[i].tensor);
        banyan_digest_add_integer(&digest, (int64_t)g->parts[i].offset_bytes);
    }
    for (int i = 0; i < g->group_count; i++) {
        banyan_digest_add_integer(&digest, g->groups[i].part_count);
        banyan_digest_add_integer(&digest, g->groups[i].level);
        banyan_digest_add_integer(&digest, g->groups[i].stream);
    }
    plan->digest = digest.value;
}

static banyan_status complete(const banyan_train *train, banyan_engine_plan *plan,
                              const double *local_ready_s, banyan_error *err)
{
    const banyan_grouping *g = plan->grouping;
    int tensors = plan->model->tensor_count;

    plan->first_part = banyan_alloc((size_t)tensors + 1, sizeof *plan->first_part);
    plan->group_of = banyan_alloc((size_t)g->part_count, sizeof *plan->group_of);
    plan->local_ready_s = banyan_alloc((size_t)tensors, sizeof *plan->local_ready_s);
    plan->flight_s = banyan_alloc(2 * (size_t)g->group_count, sizeof *plan->flight_s);
    if (!plan->first_part || !plan->group_of || !plan->local_ready_s || !plan->flight_s)
        return banyan_fail_memory(err);
    for (int i = g->part_count - 1; i >= 0; i--)
        plan->first_part[g->parts[i].tensor] = i;
    plan->first_part[tensors] = g->part_count;
    for (int k = 0; k < g->group_count; k++)
        for (int i = 0; i < g->groups[k].part_count; i++)
            plan->group_of[g->groups[k].first_part + i] = k;
    for (int i = 0; i < tensors && local_ready_s; i++)
        plan->local_ready_s[i] = local_ready_s[plan->tensor_of[i]];
    find_digest(plan);
    if (g->streams > train->stream_count)
        return banyan_fail(err, BANYAN_INTERNAL_ERROR, "a plan of %d streams for %d", g->streams,
                           train->stream_count);
    return banyan_observations_init(&plan->flights, 2 * g->group_count, train->observed.window, err);
}

banyan_status banyan_engine_plan_first(banyan_train *train, banyan_engine_plan **out, banyan_error *err)
{
    banyan_engine_plan *plan = banyan_alloc(1, sizeof *plan);
    double *ready_s = banyan_alloc((size_t)train->tensor_count, sizeof *ready_s);
    banyan_train_problem problem = {.cost = &train->cost, .streams = 1};
    banyan_status status = plan && ready_s ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; i < train->tensor_count && !status; i++)
        ready_s[i] = (train->tensor_count - i) * 1e-6;
    if (!status)
        status = make_model(train, ready_s, 0, plan, err);
    if (!status) {
        problem.model = plan->model;
        status = banyan_policy_plan(banyan_policy_find("ddp"), &problem, &plan->grouping, err);
    }
    if (!status)
        status = complete(train, plan, NULL, err);
    banyan_free(ready_s);
    if (status)
        banyan_engine_plan_destroy(plan);
    else
        *out = plan;
    return status;
}

/* ---- Together with the others, on stream 0. */

static banyan_status told(banyan_comm *comm, banyan_status status, banyan_error *err)
{
    return status ? banyan_fail(err, status, "%s", banyan_last_error(comm)) : BANYAN_SUCCESS;
}

static banyan_status plan_here(banyan_train *train, banyan_engine_plan *plan, char **text, banyan_error *err)
{
    banyan_train_problem problem = {.model = plan->model,
                                    .cost = &train->cost,
                                    .streams = train->is_declined ? 1 : train->policy_streams,
                                    .most_streams = train->stream_count};
    const banyan_policy *policy = train->is_declined ? banyan_policy_find("ddp") : train->policy;
    banyan_status status = banyan_policy_plan(policy, &problem, &plan->grouping, err);

    return status ? status : banyan_grouping_format(plan->grouping, text, err);
}

/* Rank 0's grouping becomes everybody's. Where planning fails, all hear why. */
static banyan_status share_grouping(banyan_train *train, banyan_engine_plan *plan, banyan_error *err)
{
    banyan_comm *comm = train->streams[0].comm;
    int64_t head[2] = {0, 0}; /* outcome, bytes of what follows */
    banyan_status outcome = BANYAN_SUCCESS, status;
    double planning_s = 0;
    char *text = NULL;

    if (train->rank == 0) {
        outcome = plan_here(train, plan, &text, err);
        if (outcome)
            text = banyan_strdup(err->text);
        head[0] = outcome;
        head[1] = text ? (int64_t)strlen(text) : 0;
        planning_s = plan->grouping ? plan->grouping->planning_s : 0;
    }
    status = told(comm, banyan_broadcast(head, head, 2, BANYAN_INT64, 0, comm), err);
    if (!status)
        status = told(comm, banyan_broadcast(&planning_s, &planning_s, 1, BANYAN_FLOAT64, 0, comm), err);
    if (!status && (head[1] < 1 || head[1] > MAX_TEXT_BYTES))
        status = banyan_fail(err, BANYAN_SYSTEM_ERROR, "rank 0 has no memory for its plan");
    if (!status && train->rank && !(text = banyan_alloc((size_t)head[1] + 1, 1)))
        status = banyan_fail_memory(err);
    if (!status)
        status = told(comm, banyan_broadcast(text, text, (size_t)head[1], BANYAN_UINT8, 0, comm), err);
    if (!status && head[0])
        status = banyan_fail(err, (banyan_status)head[0], "rank 0 cannot plan: %.400s", text);
    if (!status && train->rank)
        status =
            banyan_grouping_parse(text, (size_t)head[1], plan->model, &train->cost, &plan->grouping, err);
    if (!status)
        plan->grouping->planning_s = planning_s;
    banyan_free(text);
    return status;
}

/* The largest digest and the largest complement are our own if all are the same. */
static banyan_status compare_digests(banyan_train *train, const banyan_engine_plan *plan, banyan_error *err)
{
    uint64_t both[2] = {plan->digest, ~plan->digest};
    banyan_comm *comm = train->streams[0].comm;
    banyan_status status = told(comm, banyan_allreduce(both, both, 2, BANYAN_UINT64, BANYAN_MAX, comm), err);

    if (status)
        return status;
    if (both[0] != plan->digest || both[1] != ~plan->digest)
        return banyan_fail(err, BANYAN_MISMATCH, "rank %d has training plan %016llx, others have %016llx",
                           train->rank, (unsigned long long)plan->digest,
                           (unsigned long long)(both[0] != plan->digest ? both[0] : ~both[1]));
    return BANYAN_SUCCESS;
}

/* The plan's model, as this rank saw it or sees it now: only ready times differ. Fails where memory ran
 * out. */
static int look(const banyan_engine_plan *plan, const double *ready_s, const int *tensor_of,
                banyan_model *out)
{
    int count = plan->model->tensor_count;

    *out = *plan->model;
    out->tensors = banyan_alloc((size_t)count, sizeof *out->tensors);
    out->backward_s = 0;
    for (int i = 0; i < count && out->tensors; i++) {
        out->tensors[i] = plan->model->tensors[i];
        out->tensors[i].ready_s = ready_s[tensor_of ? tensor_of[i] : i];
        if (out->tensors[i].ready_s > out->backward_s)
            out->backward_s = out->tensors[i].ready_s;
    }
    return out->tensors != NULL;
}

/* The plan as it would run with these ready times, by rank 0's numbers; the caller frees its groups, and
 * nothing else. Fails where memory ran out. */
static int play(const banyan_train *train, const banyan_engine_plan *plan, const double *ready_s,
                banyan_grouping *out)
{
    double *local_s = banyan_alloc((size_t)train->tensor_count, sizeof *local_s);
    banyan_model model = {0};
    int is_played = 0;

    *out = *plan->grouping;
    out->groups = banyan_alloc((size_t)out->group_count, sizeof *out->groups);
    if (local_s && out->groups) {
        memcpy(out->groups, plan->grouping->groups, (size_t)out->group_count * sizeof *out->groups);
        for (int i = 0; i < train->tensor_count; i++)
            local_s[train->local_of[i]] = ready_s[i];
        is_played = look(plan, local_s, plan->tensor_of, &model) &&
                    !banyan_grouping_judge(out, &model, &train->cost, NULL);
    }
    banyan_free(model.tensors);
    banyan_free(local_s);
    if (!is_played)
        banyan_free(out->groups);
    return is_played;
}

/* How long something is in flight when the current plan runs with these ready times; 0: memory ran out. */
static double predict_busy(const banyan_train *train, const double *ready_s)
{
    double busy_s = 0, until_s = 0;
    banyan_grouping played;

    if (!play(train, train->plan, ready_s, &played))
        return 0;
    for (int g = 0; g < played.group_count; g++) {
        double from_s = fmax(played.groups[g].start_s, until_s);

        until_s = fmax(played.groups[g].end_s, until_s);
        busy_s += until_s - from_s;
    }
    banyan_free(played.groups);
    return busy_s;
}

/* What the plan promises this rank: it is played with the ready times of each iteration that was seen, and
 * what came of it is averaged. The other way round, ranks that take turns in being late would seem never to
 * wait for each other. */
static banyan_status foretell(const banyan_train *train, const banyan_engine_times *times,
                              banyan_engine_plan *plan, banyan_error *err)
{
    double *step_s = banyan_alloc(3 * (size_t)times->rows, sizeof *step_s);
    double *exposed_s, *bound_s;
    banyan_status status = BANYAN_SUCCESS;

    if (!step_s)
        return banyan_fail_memory(err);
    exposed_s = step_s + times->rows;
    bound_s = exposed_s + times->rows;
    for (int row = 0; row < times->rows && !status; row++) {
        banyan_grouping played;

        if (!play(train, plan, times->row_ready_s + (size_t)row * (size_t)train->tensor_count, &played)) {
            status = banyan_fail_memory(err);
            break;
        }
        step_s[row] = fmax(0, played.iteration_s - played.forward_s - times->row_late_s[row]);
        exposed_s[row] = fmax(0, played.iteration_s - played.forward_s - times->row_last_s[row]);
        bound_s[row] = fmax(0, played.bound_s - played.forward_s - times->row_late_s[row]);
        banyan_free(played.groups);
    }
    if (!status) {
        plan->step_s = banyan_median(step_s, times->rows);
        plan->exposed_s = banyan_mean(exposed_s, times->rows);
        plan->bound_s = banyan_median(bound_s, times->rows);
    }
    banyan_free(step_s);
    return status;
}

/* Between iterations the network rests, and backward wants the processors, too: so all-reduces take another
 * time than when they were measured. What the last iterations took in all, against what they should have,
 * goes for all sizes. Every rank computes the same from the same numbers. */
static void calibrate(banyan_train *train, const banyan_engine_times *shared)
{
    double predicted_s = shared->busy_s > 0 ? predict_busy(train, shared->ready_s) : 0;
    double scale = predicted_s > 0 ? train->scale * shared->busy_s / predicted_s : train->scale;

    if (*train->cost_text)
        return; /* the program knows better */
    scale = scale < MIN_SCALE ? MIN_SCALE : scale > MAX_SCALE ? MAX_SCALE : scale;
    pthread_mutex_lock(&train->lock);
    banyan_cost_scale(&train->cost, scale / train->scale);
    train->scale = scale;
    pthread_mutex_unlock(&train->lock);
}

/* A policy that the program names is kept. */
int banyan_engine_tries_both(const banyan_train *train)
{
    return !train->config.policy && !*train->cost_text && train->config.drift >= 0;
}

/* Whether plans are worth it. What communicates slows down what computes, which no policy knows: where ranks
 * have fewer processors than threads, groups that hide more may take longer in all. What came before the
 * first plan was cold, and does not count. */
static void compare(banyan_train *train, const banyan_engine_times *times)
{
    if (!banyan_engine_tries_both(train))
        return;
    if (train->plan_number == 1) {
        train->planned_s = times->iteration_s;
        train->is_declined = 1;
    } else if (train->plan_number == 2) {
        train->is_declined = times->iteration_s <= train->planned_s;
    }
}

banyan_status banyan_engine_plan_again(banyan_train *train, banyan_engine_plan **out, banyan_error *err)
{
    banyan_engine_plan *plan = banyan_alloc(1, sizeof *plan);
    banyan_engine_times times = {0};
    banyan_status status = plan ? banyan_engine_times_share(train, &times, err) : banyan_fail_memory(err);

    if (!status) {
        calibrate(train, &times);
        compare(train, &times);
        status = make_model(train, times.ready_s, times.begin_s, plan, err);
    }
    if (!status)
        status = share_grouping(train, plan, err);
    if (!status)
        status = complete(train, plan, times.local_ready_s, err);
    if (!status)
        status = foretell(train, &times, plan, err);
    if (!status)
        status = compare_digests(train, plan, err);
    banyan_engine_times_fini(&times);
    if (status)
        banyan_engine_plan_destroy(plan);
    else
        *out = plan;
    return status;
}

double banyan_engine_plan_drift(const banyan_engine_plan *plan, const double *ready_s)
{
    banyan_model planned = {0}, observed = {0};
    double drift = 0;

    if (look(plan, plan->local_ready_s, NULL, &planned) && look(plan, ready_s, plan->tensor_of, &observed))
        drift = banyan_grouping_drift(plan->grouping, &planned, &observed);
    banyan_free(planned.tensors);
    banyan_free(observed.tensors);
    return drift;
}
