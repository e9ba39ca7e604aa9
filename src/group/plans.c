/* SPDX-License-Identifier: Apache-2.0 */
/* group/plans.c: the planner chooses and proves; here the result is kept by collective, root and, where the
 * choice may depend on them, size and type. Sizes are rounded up to a power of four, so that there are few of
 * them. */
#include "group/plans.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/text.h"
#include "group/pacing.h"
#include "group/plausible.h"
#include "planner/wisdom.h"
#include "simulate/paces.h"

#define GUESS_BYTES ((size_t)64 << 10) /* shorter calls depend on latencies, which are the same everywhere */
#define GUESS_RANKS 64                 /* above, trying candidates on several networks takes too long */
#define SAFER 1.02                     /* that much less behind, at worst, a safer plan must be */

size_t banyan_group_plan_class(const banyan_setup *setup, banyan_collective collective, size_t bytes)
{
    size_t class = 1024;

    if (setup->choices[collective].is_binding)
        return 0;
    while (class < bytes && class <= SIZE_MAX / 8)
        class *= 4;
    return class;
}

/* Part r of the public collectives with parts is the r-th equal part of the vector, or of an all-to-all's
 * row. */
static banyan_status check_parts(const banyan_schedule *schedule, banyan_error *err)
{
    __extension__ typedef __int128 wide;
    wide parts = (wide)banyan_collective_parts(schedule->collective, schedule->active_count);
    int is_row = schedule->collective == BANYAN_COLLECTIVE_ALLTOALL;

    for (int i = 0; schedule->owner && i < schedule->piece_count; i++) {
        wide row = is_row ? banyan_schedule_source(schedule, i) : 0;
        wide part = row * schedule->active_count + schedule->owner[i];

        if (schedule->cut[i] * parts < part * schedule->whole ||
            schedule->cut[i + 1] * parts > (part + 1) * schedule->whole)
            return banyan_fail(err, BANYAN_UNSUPPORTED,
                               "algorithm %s does not give each rank an equal part: piece %d is not within "
                               "part %d",
                               schedule->algorithm ? schedule->algorithm : "?", i, (int)part);
    }
    return BANYAN_SUCCESS;
}

/* A scatter's root and an all-to-all have no memory for what others pass on (calls/collectives.c). */
static banyan_status check_memory(const banyan_schedule *schedule, banyan_error *err)
{
    int is_scatter = schedule->collective == BANYAN_COLLECTIVE_SCATTER;
    int root = schedule->active[schedule->root];

    if (!is_scatter && schedule->collective != BANYAN_COLLECTIVE_ALLTOALL)
        return BANYAN_SUCCESS;
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        int is_passed_on = is_scatter && t->dst == root;

        for (int k = 0; !is_scatter && k < t->piece_count; k++)
            is_passed_on |=
                t->src != schedule->active[banyan_schedule_source(schedule, t->first_piece + k)] ||
                t->dst != schedule->active[schedule->owner[t->first_piece + k]];
        if (is_passed_on)
            return banyan_fail(
                err, BANYAN_UNSUPPORTED,
                "algorithm %s passes parts of %s on through ranks that have no memory for them",
                schedule->algorithm ? schedule->algorithm : "?",
                banyan_collective_name(schedule->collective));
    }
    return BANYAN_SUCCESS;
}

static void destroy_plan(banyan_group_plan *plan)
{
    if (!plan)
        return;
    for (int i = 0; plan->schedule && i < plan->schedule->node_count; i++) {
        if (plan->runners)
            banyan_runner_destroy(plan->runners[i]);
        if (plan->programs)
            banyan_program_destroy(plan->programs[i]);
        if (plan->pacings)
            banyan_pacing_destroy(plan->pacings[i]);
    }
    banyan_free(plan->pacings);
    banyan_free(plan->runners);
    banyan_free(plan->programs);
    banyan_dependencies_destroy(plan->dependencies);
    banyan_schedule_destroy(plan->schedule);
    banyan_free(plan);
}

static int is_served(const banyan_setup *setup, const banyan_schedule *schedule, int node)
{
    for (int i = 0; i < setup->relay_count; i++)
        if (setup->relays[i] == node)
            return 1;
    return banyan_schedule_rank(schedule, node) >= 0;
}

/* Nodes that are neither ranks nor relays have no process that serves them. */
static int leads_outside(const banyan_setup *setup, const banyan_schedule *schedule)
{
    for (size_t i = 0; i < schedule->transfer_count; i++)
        if (!is_served(setup, schedule, schedule->transfers[i].src) ||
            !is_served(setup, schedule, schedule->transfers[i].dst))
            return 1;
    return 0;
}

int banyan_group_is_usable(const void *context, const banyan_schedule *schedule)
{
    const banyan_setup *setup = context;

    return schedule && (!setup->has_no_relays || !leads_outside(setup, schedule));
}

/* Idle workers add only where a process serves each of them. */
banyan_problem banyan_group_problem(const banyan_setup *setup, banyan_collective collective, int root,
                                    size_t bytes)
{
    int idle_count = setup->topology->worker_count - setup->size;

    return (banyan_problem){.topology = setup->topology,
                            .active = setup->active,
                            .active_count = setup->size,
                            .collective = collective,
                            .root = root,
                            .bytes = bytes,
                            .is_streamed = 1,
                            .relays =
                                setup->has_no_relays && setup->relay_count < idle_count ? "forward" : "add"};
}

/* How much worse than the best candidate each one is on a network: the highest ratio so far stays. */
static banyan_status note_regrets(const banyan_setup *setup, const banyan_problem *problem,
                                  const banyan_plan *all, int count, double *seconds, double *regrets,
                                  banyan_error *err)
{
    double least_s = HUGE_VAL;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < count && !status; i++) {
        if (!banyan_group_is_usable(setup, all[i].schedule))
            continue;
        status = banyan_plan_predict(problem, all[i].schedule, &seconds[i], err);
        least_s = !status && seconds[i] < least_s ? seconds[i] : least_s;
    }
    for (int i = 0; i < count && !status; i++)
        if (banyan_group_is_usable(setup, all[i].schedule))
            regrets[i] = fmax(regrets[i], seconds[i] / least_s);
    return status;
}

/* Where nobody knows the network, the candidate that is at worst least behind the best one, over networks
 * that these hosts may be on. */
static banyan_status choose_safest(const banyan_setup *setup, const banyan_problem *problem,
                                   const banyan_plan *all, int count, int *best, banyan_error *err)
{
    double *seconds = banyan_alloc((size_t)count, sizeof *seconds);
    double *regrets = banyan_alloc((size_t)count, sizeof *regrets);
    banyan_status status = seconds && regrets ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int k = 0; k < BANYAN_PLAUSIBLE_COUNT && !status; k++) {
        banyan_problem other = *problem;
        banyan_topology *topology = NULL;

        status = banyan_plausible_create(setup->topology, k, &topology, err);
        other.topology = topology;
        if (!status && topology)
            status = note_regrets(setup, &other, all, count, seconds, regrets, err);
        banyan_topology_destroy(topology);
    }
    for (int i = 0; i < count && !status; i++)
        if (regrets[i] > 0 && regrets[i] < regrets[*best] / SAFER)
            *best = i;
    banyan_free(seconds);
    banyan_free(regrets);
    return status;
}

static int is_guessed(const banyan_setup *setup, const banyan_problem *problem)
{
    return setup->is_default_topology && !setup->is_measured && setup->topology->host_count > 1 &&
           problem->collective == BANYAN_COLLECTIVE_ALLREDUCE && problem->bytes > GUESS_BYTES &&
           problem->active_count <= GUESS_RANKS;
}

typedef struct {
    banyan_schedule *schedule;
    int is_paced;
} chosen_schedule;

static void take(chosen_schedule *out, banyan_plan *from)
{
    *out = (chosen_schedule){from->schedule, from->is_paced};
    from->schedule = NULL; /* ours now */
}

/* The best prediction among those that can run here; *why (the caller frees it) says so where a log wants
 * it. */
static banyan_status choose_best(const banyan_setup *setup, const banyan_problem *problem,
                                 chosen_schedule *out, char **why, banyan_error *err)
{
    banyan_effort effort = banyan_plan_default_effort(problem);
    banyan_plan *all = NULL;
    int count = 0, best;
    banyan_status status;

    if (is_guessed(setup, problem)) /* where the network is another, others may be the best */
        status = banyan_plan_candidates(problem, effort, &all, &count, err);
    else
        status = banyan_plan_contenders(problem, effort, 0, banyan_group_is_usable, setup, &all, &count, err);
    if (status)
        return status;
    best = banyan_plan_best(problem, all, count, banyan_group_is_usable, setup);
    if (best < count && is_guessed(setup, problem))
        status = choose_safest(setup, problem, all, count, &best, err);
    if (!status && best == count)
        status = banyan_fail(err, BANYAN_UNSUPPORTED, "no algorithm applies: %.200s",
                             !count            ? "there is none"
                             : all[0].schedule ? "all lead through nodes that no process serves"
                                               : all[0].why_not.text);
    else if (!status && banyan_log_is_on(setup->log, BANYAN_LOG_INFO, BANYAN_LOG_TUNING))
        status = banyan_plan_explain(problem, all, count, best, why, err);
    if (!status)
        take(out, &all[best]);
    banyan_plans_destroy(all, count);
    return status;
}

static banyan_status choose_named(const banyan_setup *setup, const banyan_problem *problem,
                                  chosen_schedule *out, banyan_error *err)
{
    banyan_plan chosen;
    const char *name = setup->choices[problem->collective].algorithm->name;
    banyan_status status = banyan_plan_choose(name, problem, &chosen, err);

    if (status)
        return status;
    status = check_parts(chosen.schedule, err);
    if (!status && !banyan_group_is_usable(setup, chosen.schedule))
        status = banyan_fail(
            err, BANYAN_UNSUPPORTED,
            "algorithm %s leads through nodes that are not ranks, and no process serves them", name);
    if (!status)
        take(out, &chosen);
    banyan_plan_fini(&chosen);
    return status;
}

/* The algorithm that was named, or, where it is no more than a preference and cannot serve this, the best
 * prediction. */
static banyan_status choose_preferred(const banyan_setup *setup, const banyan_problem *problem,
                                      chosen_schedule *out, char **why, banyan_error *err)
{
    banyan_error reason = {""};
    banyan_status status = choose_named(setup, problem, out, &reason);

    if (status == BANYAN_UNSUPPORTED && !setup->choices[problem->collective].is_binding) {
        BANYAN_INFO(setup->log, TUNING, "%s: not by %s: %s", banyan_collective_name(problem->collective),
                    setup->choices[problem->collective].algorithm->name, reason.text);
        return choose_best(setup, problem, out, why, err);
    }
    return status ? banyan_fail(err, status, "%s", reason.text) : BANYAN_SUCCESS;
}

/* What wisdom, or whoever forces a plan, says; *out stays empty where that is of no use here. */
static banyan_status recall(const banyan_setup *setup, const banyan_wisdom_entry *entry,
                            const banyan_problem *problem, chosen_schedule *out, char **why,
                            banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_plan plan = {0};
    banyan_status status = banyan_wisdom_recall(entry, problem, &plan, err);

    if (status == BANYAN_UNSUPPORTED && !setup->forced)
        return BANYAN_SUCCESS;
    if (status)
        return status;
    if (banyan_group_is_usable(setup, plan.schedule)) {
        take(out, &plan);
        banyan_text_add(&text, "%s%s%s%s%s", entry->key, *entry->key ? "=" : "", entry->value,
                        *entry->key ? ", " : "", setup->forced ? "being timed" : "known from wisdom");
        if (!setup->forced)
            banyan_text_add(&text, " (%s%s%s, %.3g s)", banyan_effort_name(entry->effort),
                            *entry->type ? " with " : "", entry->type, entry->predicted_s);
        status = banyan_text_take(&text, why, err);
    }
    banyan_plan_fini(&plan);
    return status;
}

/* *type stays as it is where wisdom tells types apart. */
static banyan_status ask_wisdom(const banyan_setup *setup, const banyan_problem *problem, int *type,
                                chosen_schedule *out, char **why, banyan_error *err)
{
    const banyan_wisdom_entry *entry;
    banyan_wisdom wisdom;
    char *text = NULL;
    size_t length = 0;
    banyan_status status = banyan_file_load(setup->wisdom_file, &text, &length, err);

    if (!status)
        status = banyan_wisdom_parse(text, length, &wisdom, err);
    banyan_free(text);
    if (status) {
        banyan_error_prefix(err, "BANYAN_WISDOM_FILE");
        return status;
    }
    entry = banyan_wisdom_find(&wisdom, problem, banyan_datatype_string((banyan_datatype)*type),
                               BANYAN_EFFORT_ESTIMATE);
    if (entry)
        status = recall(setup, entry, problem, out, why, err);
    if (!banyan_wisdom_is_typed(&wisdom, problem))
        *type = BANYAN_GROUP_ANY_TYPE;
    banyan_wisdom_fini(&wisdom);
    return status;
}

static banyan_status choose(const banyan_setup *setup, banyan_group_plan *plan, banyan_error *err)
{
    chosen_schedule chosen = {NULL, 0};
    banyan_problem problem = banyan_group_problem(setup, plan->collective, plan->root, plan->size_class);
    int is_auto = !setup->choices[plan->collective].algorithm;
    char *why = NULL;
    int asks_wisdom = !setup->forced && is_auto && setup->wisdom_file && *setup->wisdom_file;
    banyan_status status = BANYAN_SUCCESS;

    if (asks_wisdom)
        status = ask_wisdom(setup, &problem, &plan->type, &chosen, &why, err);
    else
        plan->type = BANYAN_GROUP_ANY_TYPE;
    if (setup->forced)
        status = recall(setup, setup->forced, &problem, &chosen, &why, err);
    if (!status && !chosen.schedule && is_auto)
        status = choose_best(setup, &problem, &chosen, &why, err);
    else if (!status && !chosen.schedule)
        status = choose_preferred(setup, &problem, &chosen, &why, err);
    if (!status)
        BANYAN_INFO(setup->log, TUNING, "%s: up to %zu bytes -> %s; %s",
                    banyan_collective_name(plan->collective), plan->size_class,
                    chosen.schedule->algorithm ? chosen.schedule->algorithm : "?",
                    why ? why : "asked for by name");
    plan->schedule = chosen.schedule;
    plan->is_paced = chosen.is_paced;
    banyan_free(why);
    return status;
}

/* All that running the plan's schedule needs. */
static banyan_status complete(banyan_group_plan *plan, banyan_error *err)
{
    banyan_status status = check_parts(plan->schedule, err);
    char digest[17];

    if (!status)
        status = check_memory(plan->schedule, err);

    banyan_schedule_digest(plan->schedule, digest);
    plan->digest = strtoull(digest, NULL, 16);

    if (!status)
        status = banyan_dependencies_derive(plan->schedule, &plan->dependencies, err);
    if (status)
        return status;
    plan->programs = banyan_alloc((size_t)plan->schedule->node_count, sizeof *plan->programs);
    plan->runners = banyan_alloc((size_t)plan->schedule->node_count, sizeof *plan->runners);
    plan->pacings = banyan_alloc((size_t)plan->schedule->node_count, sizeof *plan->pacings);
    return plan->programs && plan->runners && plan->pacings ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static banyan_status add_plan(banyan_group_plan **plans, banyan_group_plan *plan, banyan_status status,
                              banyan_group_plan **out)
{
    if (status) {
        destroy_plan(plan);
        return status;
    }
    plan->next = *plans;
    *plans = plan;
    *out = plan;
    return BANYAN_SUCCESS;
}

banyan_group_plan *banyan_group_plan_find(banyan_group_plan *plans, banyan_collective collective, int root,
                                          size_t size_class, banyan_datatype type)
{
    for (; plans; plans = plans->next)
        if (plans->collective == collective && plans->root == root && plans->size_class == size_class &&
            (plans->type == BANYAN_GROUP_ANY_TYPE || plans->type == (int)type))
            return plans;
    return NULL;
}

static banyan_group_plan *new_plan(banyan_collective collective, int root, size_t size_class, int type)
{
    banyan_group_plan *plan = banyan_alloc(1, sizeof *plan);

    if (plan) {
        plan->collective = collective;
        plan->root = root;
        plan->size_class = size_class;
        plan->type = type;
    }
    return plan;
}

banyan_status banyan_group_plan_get(banyan_group_plan **plans, const banyan_setup *setup,
                                    banyan_collective collective, int root, size_t bytes,
                                    banyan_datatype type, banyan_group_plan **out, banyan_error *err)
{
    size_t size_class = banyan_group_plan_class(setup, collective, bytes);
    banyan_group_plan *plan = banyan_group_plan_find(*plans, collective, root, size_class, type);
    banyan_status status;

    if (plan) {
        *out = plan;
        return BANYAN_SUCCESS;
    }
    plan = new_plan(collective, root, size_class, (int)type);
    if (!plan)
        return banyan_fail_memory(err);
    status = choose(setup, plan, err);
    if (!status)
        status = complete(plan, err);
    return add_plan(plans, plan, status, out);
}

/* Bytes of the vector per second at which the plan's connections are paced; HUGE_VAL: they are not. */
static double pace_of(const banyan_group_plan *plan)
{
    for (int i = 0; i < plan->schedule->node_count; i++)
        if (plan->pacings[i] && !plan->pacings[i]->is_over)
            return BANYAN_PACE_HEADROOM * plan->pacings[i]->limit;
    return HUGE_VAL;
}

banyan_status banyan_group_plan_anew(const banyan_setup *setup, banyan_topology *topology,
                                     const banyan_group_plan *old, banyan_group_plan **out, double *gain,
                                     banyan_error *err)
{
    banyan_setup other = *setup;
    banyan_group_plan *plan = new_plan(old->collective, old->root, old->size_class, old->type);
    banyan_problem problem;
    double old_s = 0, new_s = 1;
    banyan_status status;

    *out = NULL;
    if (!plan)
        return banyan_fail_memory(err);
    other.topology = topology;
    other.is_measured = 1;
    problem = banyan_group_problem(&other, old->collective, old->root, old->size_class);
    status = choose(&other, plan, err);
    if (!status)
        status = complete(plan, err);
    if (!status)
        status = banyan_plan_predict(&problem, plan->schedule, &new_s, err);
    problem.is_unpaced = setup->is_default_topology && !setup->is_measured;
    if (!status)
        status = banyan_plan_predict(&problem, old->schedule, &old_s, err);
    if (status) {
        destroy_plan(plan);
        return status;
    }
    old_s = fmax(old_s, (double)old->size_class / pace_of(old));
    *gain = old_s / new_s - 1;
    *out = plan;
    return BANYAN_SUCCESS;
}

banyan_status banyan_group_plan_predict(const banyan_setup *setup, const banyan_topology *topology,
                                        const banyan_group_plan *plan, size_t bytes, double *seconds,
                                        banyan_error *err)
{
    banyan_problem problem = banyan_group_problem(setup, plan->collective, plan->root, bytes);

    problem.topology = topology;
    problem.is_unpaced = setup->is_default_topology && !setup->is_measured;
    return banyan_plan_predict(&problem, plan->schedule, seconds, err);
}

void banyan_group_plan_move(banyan_group_plan **from, banyan_group_plan **to, banyan_collective collective,
                            int root, size_t size_class, banyan_datatype type)
{
    banyan_group_plan *plan = banyan_group_plan_find(*from, collective, root, size_class, type);

    while (plan && *from != plan)
        from = &(*from)->next;
    if (plan) {
        *from = plan->next;
        plan->next = *to;
        *to = plan;
    }
}

static banyan_status check_adopted(const banyan_setup *setup, const banyan_group_plan *plan,
                                   banyan_error *err)
{
    const banyan_schedule *schedule = plan->schedule;

    if (schedule->collective != plan->collective || schedule->root != plan->root ||
        schedule->node_count > setup->topology->node_count || schedule->active_count != setup->size ||
        memcmp(schedule->active, setup->active, (size_t)setup->size * sizeof *setup->active) != 0 ||
        leads_outside(setup, schedule))
        return banyan_fail(err, BANYAN_PLAN_INVALID, "the plan of rank 0 is not one for this group");
    return BANYAN_SUCCESS;
}

banyan_status banyan_group_plan_adopt(banyan_group_plan **plans, const banyan_setup *setup,
                                      banyan_collective collective, int root, size_t size_class, int type,
                                      int is_paced, banyan_schedule *schedule, banyan_group_plan **out,
                                      banyan_error *err)
{
    banyan_group_plan *plan = new_plan(collective, root, size_class, type);
    banyan_status status;

    if (!plan) {
        banyan_schedule_destroy(schedule);
        return banyan_fail_memory(err);
    }
    plan->schedule = schedule;
    plan->is_paced = is_paced;
    status = check_adopted(setup, plan, err);
    if (!status)
        status = complete(plan, err);
    if (!status)
        BANYAN_INFO(setup->log, TUNING, "%s: up to %zu bytes -> %s, as rank 0 plans",
                    banyan_collective_name(collective), size_class,
                    schedule->algorithm ? schedule->algorithm : "?");
    return add_plan(plans, plan, status, out);
}

void banyan_group_plans_destroy(banyan_group_plan *plans)
{
    while (plans) {
        banyan_group_plan *next = plans->next;

        destroy_plan(plans);
        plans = next;
    }
}

banyan_status banyan_group_plan_runner(const banyan_group_plan *plan, const banyan_setup *setup,
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
