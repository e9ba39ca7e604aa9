/* SPDX-License-Identifier: Apache-2.0 */
/* calls/tune.c: runs the best candidates of the planner on the real network and keeps the fastest of each
 * size as wisdom.
 *
 *     size ─> what auto takes, then others, sorted by prediction ─> the first K, each run some
 *     times ─> the fastest ─> wisdom
 *
 * Rank 0 plans and decides. What is timed is agreed by the group as any plan is; between candidates all ranks
 * forget the plans they have. */
#include <stdio.h>
#include <string.h>

#include "calls/comm.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/sized.h"
#include "core/sort.h"
#include "planner/wisdom.h"

enum { MAX_CANDIDATES = 64, MIN_RUNS = 3, MAX_RUNS = 1000 };

#define MAX_BYTES ((size_t)1 << 36)

typedef struct {
    const banyan_tune_config *config;
    banyan_comm *comm;
    banyan_group *group;
    banyan_wisdom wisdom; /* rank 0's */
} tuning;

/* What was timed: medians of the slowest rank. */
typedef struct {
    banyan_wisdom_entry entry;
    char digest[17]; /* of the schedule */
    double predicted_s, measured_s;
} candidate;

/* The largest of all ranks' numbers; also a barrier. */
static banyan_status largest_of(const tuning *t, double mine, double *out)
{
    const banyan_setup *setup = &t->group->setup;
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)setup->timeout_ms * 1000000;
    double *all = banyan_alloc((size_t)setup->size, sizeof *all);
    banyan_status status = all ? banyan_control_gather(banyan_world_control(t->group->world), &mine,
                                                       sizeof mine, all, deadline_ns, &t->comm->err)
                               : banyan_fail_memory(&t->comm->err);

    *out = mine;
    for (int i = 0; i < setup->size && !status; i++)
        *out = all[i] > *out ? all[i] : *out;
    banyan_free(all);
    return status;
}

/* Puts it at the end of the list, unless the same plan is there already or no process serves it. */
static void add_candidate(const tuning *t, const banyan_plan *plan, candidate *list, int *count)
{
    candidate *c = &list[*count];

    if (*count == t->config->candidate_count || !banyan_group_is_usable(&t->group->setup, plan->schedule))
        return;
    *c = (candidate){.predicted_s = plan->predicted_s};
    banyan_schedule_digest(plan->schedule, c->digest);
    for (int i = 0; i < *count; i++)
        if (!strcmp(list[i].digest, c->digest))
            return;
    snprintf(c->entry.algorithm, sizeof c->entry.algorithm, "%s", plan->algorithm->name);
    if (plan->variant.key) {
        snprintf(c->entry.key, sizeof c->entry.key, "%s", plan->variant.key);
        snprintf(c->entry.value, sizeof c->entry.value, "%s", plan->variant.value);
    }
    ++*count;
}

/* What runs where nobody has tuned: the first candidate. */
static banyan_status add_choice(const tuning *t, const banyan_problem *problem, candidate *list, int *count)
{
    banyan_plan *plans = NULL;
    int all = 0, best;
    banyan_status status =
        banyan_plan_candidates(problem, banyan_plan_default_effort(problem), &plans, &all, &t->comm->err);

    if (status)
        return status;
    best = banyan_plan_best(problem, plans, all, banyan_group_is_usable, &t->group->setup);
    if (best < all)
        add_candidate(t, &plans[best], list, count);
    banyan_plans_destroy(plans, all);
    return BANYAN_SUCCESS;
}

/* At rank 0: auto's choice, then the others by what they are expected to take, variants among them. */
static banyan_status list_candidates(const tuning *t, const banyan_problem *problem, candidate *out,
                                     int *count)
{
    banyan_plan *plans = NULL;
    int all = 0;
    banyan_status status = add_choice(t, problem, out, count);

    if (!status)
        status = banyan_plan_candidates(problem, BANYAN_EFFORT_PATIENT, &plans, &all, &t->comm->err);
    for (int i = 0; !status && i < all; i++)
        add_candidate(t, &plans[i], out, count);
    banyan_plans_destroy(plans, all);
    return status;
}

/* Everybody runs the same number of times, which the first run decides. */
static banyan_status time_one(const tuning *t, const candidate *c, void *vector, size_t count, double *out)
{
    banyan_buffers buffers = {.send = vector, .recv = vector};
    banyan_call call = {
        .collective = BANYAN_COLLECTIVE_ALLREDUCE, .count = count, .type = t->config->type, .op = BANYAN_MAX};
    double times[MAX_RUNS], slowest;
    int runs = MIN_RUNS;
    banyan_status status;

    banyan_group_plans_destroy(t->group->plans);
    t->group->plans = NULL;
    t->group->setup.forced = c ? &c->entry : NULL;
    status = largest_of(t, 0, &slowest);
    for (int i = -1; i < runs && !status; i++) {
        double begin_s = banyan_clock_s();

        status = banyan_comm_allreduce(&buffers, &call, t->comm);
        if (i >= 0)
            times[i] = banyan_clock_s() - begin_s;
        if (i == 0 && !status) {
            status = largest_of(t, times[0], &slowest);
            slowest = t->config->budget_s / (slowest + 1e-9);
            runs = slowest < MIN_RUNS ? MIN_RUNS : slowest > MAX_RUNS ? MAX_RUNS : (int)slowest;
        }
    }
    t->group->setup.forced = NULL;
    if (status)
        return status;
    banyan_sort_doubles(times, (size_t)runs);
    return largest_of(t, times[runs / 2], out);
}

static void show(const tuning *t, size_t bytes, const candidate *candidates, int count, int best)
{
    for (int i = 0; i < count && !t->comm->rank && t->config->result; i++) {
        const banyan_wisdom_entry *entry = &candidates[i].entry;
        banyan_tune_result result = {.size = sizeof result,
                                     .bytes = bytes,
                                     .algorithm = entry->algorithm,
                                     .variant_key = *entry->key ? entry->key : NULL,
                                     .variant_value = *entry->key ? entry->value : NULL,
                                     .predicted_s = candidates[i].predicted_s,
                                     .measured_s = candidates[i].measured_s,
                                     .is_auto = i == 0,
                                     .is_chosen = i == best};

        t->config->result(t->config->context, &result);
    }
}

static banyan_status keep(tuning *t, const banyan_problem *problem, const candidate *best)
{
    banyan_plan plan = {.predicted_s = best->measured_s};
    banyan_status status;

    if (t->comm->rank)
        return BANYAN_SUCCESS;
    status = banyan_plan_find(best->entry.algorithm, &plan.algorithm, &t->comm->err);
    if (status)
        return status;
    if (*best->entry.key)
        plan.variant = (banyan_parameter){best->entry.key, best->entry.value};
    return banyan_wisdom_remember(&t->wisdom, problem, banyan_datatype_string(t->config->type), &plan,
                                  BANYAN_EFFORT_TIMED, &t->comm->err);
}

static banyan_status tune_size(tuning *t, size_t bytes)
{
    banyan_problem problem = banyan_group_problem(&t->group->setup, BANYAN_COLLECTIVE_ALLREDUCE, 0, bytes);
    candidate *candidates = banyan_alloc(MAX_CANDIDATES, sizeof *candidates);
    size_t elements = bytes / banyan_datatype_bytes(t->config->type);
    void *vector = banyan_alloc(bytes, 1);
    int count = 0, best = 0;
    double agreed = 0;
    banyan_status status = candidates && vector ? BANYAN_SUCCESS : banyan_fail_memory(&t->comm->err);

    if (!status && t->comm->rank == 0)
        status = list_candidates(t, &problem, candidates, &count);
    if (!status)
        status = largest_of(t, count, &agreed);
    for (int i = 0; i < (int)agreed && !status; i++) {
        status =
            time_one(t, t->comm->rank ? NULL : &candidates[i], vector, elements, &candidates[i].measured_s);
        best = candidates[i].measured_s < candidates[best].measured_s ? i : best;
    }
    if (!status && agreed > 0)
        status = keep(t, &problem, &candidates[best]);
    if (!status)
        show(t, bytes, candidates, (int)agreed, best);
    banyan_free(vector);
    banyan_free(candidates);
    return status;
}

static banyan_status tune(tuning *t)
{
    const banyan_tune_config *config = t->config;
    int is_first = t->comm->rank == 0;
    banyan_status status =
        is_first ? banyan_wisdom_load(config->wisdom, &t->wisdom, &t->comm->err) : BANYAN_SUCCESS;

    for (size_t bytes = 1024; !status && bytes <= config->max_bytes; bytes *= 4)
        if (bytes >= config->min_bytes)
            status = tune_size(t, bytes);
    if (!status && is_first)
        status = banyan_wisdom_save(&t->wisdom, config->wisdom, &t->comm->err);
    return status;
}

static banyan_status check_sizes(const banyan_tune_config *config, banyan_error *err)
{
    if (config->max_bytes > MAX_BYTES)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%zu bytes are more than 64 GiB", config->max_bytes);
    for (size_t bytes = 1024; bytes <= config->max_bytes; bytes *= 4)
        if (bytes >= config->min_bytes)
            return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "no size from %zu to %zu bytes is 1 KiB times a power of four", config->min_bytes,
                       config->max_bytes);
}

/* The caller's config with defaults filled in. */
static banyan_status read_config(const banyan_tune_config *given, banyan_tune_config *out, banyan_error *err)
{
    banyan_status status = banyan_sized_read(given, out, "banyan_tune_config", err);

    if (status)
        return status;
    out->min_bytes = out->min_bytes ? out->min_bytes : 1024;
    out->max_bytes = out->max_bytes ? out->max_bytes : (size_t)64 << 20;
    out->candidate_count = out->candidate_count ? out->candidate_count : 4;
    out->budget_s = out->budget_s != 0 ? out->budget_s : 0.5;
    if (!out->wisdom)
        return banyan_fail_null("wisdom", err);
    if (out->candidate_count < 1 || out->candidate_count > MAX_CANDIDATES)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%d candidates are not from 1 to %d",
                           out->candidate_count, (int)MAX_CANDIDATES);
    if (!(out->budget_s > 0))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a budget of %g s is not a time", out->budget_s);
    if (!banyan_datatype_bytes(out->type))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%d is not a type of elements", (int)out->type);
    return check_sizes(out, err);
}

banyan_status banyan_comm_tune(banyan_comm *comm, const banyan_tune_config *config)
{
    banyan_tune_config own = BANYAN_TUNE_CONFIG_INITIALIZER;
    tuning t = {.config = &own, .comm = comm};
    banyan_status status;

    if (!comm)
        return BANYAN_INVALID_ARGUMENT;
    status = read_config(config, &own, &comm->err);
    if (status)
        return status;
    t.group = comm->group;
    if (!t.group->world)
        return banyan_fail(&comm->err, BANYAN_UNSUPPORTED, "only ranks that are processes can tune");
    banyan_wisdom_init(&t.wisdom);
    banyan_comm_lock_in_turn(comm);
    status = tune(&t);
    pthread_mutex_unlock(&comm->lock);
    banyan_wisdom_fini(&t.wisdom);
    if (status) { /* nobody must wait for us */
        banyan_control *control = banyan_world_control(t.group->world);

        banyan_control_abort(control, status, comm->err.text);
        banyan_control_failure(control, &comm->err);
    }
    return status;
}
