/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/algorithms.c: the list of all algorithms, and the functions through which each is asked and run.
 *
 * What every algorithm would otherwise check by itself is checked here once: the ranks, the root, the
 * options, that the active workers reach one another, and that a lone worker has nothing to send. */
#include "algorithms/algorithms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/near.h"
#include "topology/scale.h"

#define X(name) extern const banyan_algorithm banyan_algorithm_##name;
#include "algorithms/list.h"
#undef X

static const banyan_algorithm *const all[] = {
#define X(name) &banyan_algorithm_##name,
#include "algorithms/list.h"
#undef X
};

#define MAX_OPTIONS 16

int banyan_algorithm_count(void)
{
    return (int)(sizeof all / sizeof *all);
}

const banyan_algorithm *banyan_algorithm_at(int i)
{
    return i >= 0 && i < banyan_algorithm_count() ? all[i] : NULL;
}

const banyan_algorithm *banyan_algorithm_find(const char *name)
{
    for (int i = 0; i < banyan_algorithm_count(); i++)
        if (!strcmp(all[i]->name, name))
            return all[i];
    return NULL;
}

static banyan_status check_worker(const banyan_problem *problem, int rank, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    int node = problem->active[rank];

    if (node < 0 || node >= topology->node_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "rank %d is node %d, but %s has nodes 0 to %d", rank,
                           node, topology->name, topology->node_count - 1);
    if (topology->nodes[node].kind != BANYAN_NODE_WORKER)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "rank %d is %s, which is a switch and holds no data",
                           rank, banyan_topology_node_name(topology, node));
    if (rank > 0 && node <= problem->active[rank - 1])
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "active workers must ascend, but rank %d is node %d after node %d", rank, node,
                           problem->active[rank - 1]);
    return BANYAN_SUCCESS;
}

static banyan_status check_ranks(const banyan_problem *problem, banyan_error *err)
{
    if (problem->active_count < 1)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "there must be at least one active worker");
    for (int rank = 0; rank < problem->active_count; rank++) {
        banyan_status status = check_worker(problem, rank, err);

        if (status)
            return status;
    }
    if (problem->root < 0 || problem->root >= problem->active_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "root is rank %d, but ranks are 0 to %d",
                           problem->root, problem->active_count - 1);
    return BANYAN_SUCCESS;
}

static banyan_status refuse_parameter(const banyan_algorithm *algorithm, const char *key, banyan_error *err)
{
    const char *known[MAX_OPTIONS];
    int count = 0, near, length = 0;
    char listed[256] = "";

    for (const banyan_algorithm_option *option = algorithm->options;
         option && option->key && count < MAX_OPTIONS; option++)
        known[count++] = option->key;
    if (count == 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s has no option '%s': it takes none",
                           algorithm->name, key);
    near = banyan_near_find(key, known, count);
    if (near >= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s has no option '%s'; did you mean '%s'?",
                           algorithm->name, key, known[near]);
    for (int i = 0; i < count && length < (int)sizeof listed; i++)
        length += snprintf(listed + length, sizeof listed - (size_t)length, i ? ", %s" : "%s", known[i]);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s has no option '%s' (it has: %s)", algorithm->name,
                       key, listed);
}

static int has_option(const banyan_algorithm *algorithm, const char *key)
{
    for (const banyan_algorithm_option *option = algorithm->options; option && option->key; option++)
        if (!strcmp(option->key, key))
            return 1;
    return 0;
}

static banyan_status check_parameters(const banyan_algorithm *algorithm, const banyan_problem *problem,
                                      banyan_error *err)
{
    for (int i = 0; i < problem->parameter_count; i++)
        if (!has_option(algorithm, problem->parameters[i].key))
            return refuse_parameter(algorithm, problem->parameters[i].key, err);
    return BANYAN_SUCCESS;
}

banyan_status banyan_algorithm_applies(const banyan_algorithm *algorithm, const banyan_problem *problem,
                                       banyan_error *err)
{
    if (!(algorithm->collectives & (1u << problem->collective)))
        return banyan_fail(err, BANYAN_UNSUPPORTED, "%s cannot do %s", algorithm->name,
                           banyan_collective_name(problem->collective));
    if (!algorithm->applies || problem->active_count == 1)
        return BANYAN_SUCCESS;
    return algorithm->applies(problem, err);
}

static banyan_status build_alone(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;

    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, 1);
    return banyan_builder_finish(&builder, out, err);
}

static banyan_status label(banyan_schedule *schedule, const char *algorithm, const char *topology,
                           banyan_error *err)
{
    char *by = banyan_strdup(algorithm), *on = banyan_strdup(topology ? topology : "");

    if (!by || !on) {
        banyan_free(by);
        banyan_free(on);
        return banyan_fail_memory(err);
    }
    banyan_free(schedule->algorithm);
    banyan_free(schedule->topology);
    schedule->algorithm = by;
    schedule->topology = on;
    return BANYAN_SUCCESS;
}

banyan_status banyan_algorithm_build(const banyan_algorithm *algorithm, const banyan_problem *problem,
                                     banyan_schedule **out, banyan_error *err)
{
    banyan_schedule *schedule = NULL;
    banyan_status status = banyan_scale_check(problem->topology, err);

    *out = NULL;
    if (!status)
        status = check_ranks(problem, err);
    if (!status)
        status = check_parameters(algorithm, problem, err);
    if (!status)
        status =
            banyan_topology_check_connected(problem->topology, problem->active, problem->active_count, err);
    if (!status)
        status = banyan_algorithm_applies(algorithm, problem, err);
    if (!status && problem->active_count == 1)
        status = build_alone(problem, &schedule, err);
    else if (!status)
        status = algorithm->build(problem, &schedule, err);
    if (!status)
        status = label(schedule, algorithm->name, problem->topology->name, err);
    if (status) {
        banyan_schedule_destroy(schedule);
        return status;
    }
    *out = schedule;
    return BANYAN_SUCCESS;
}

const char *banyan_problem_parameter(const banyan_problem *problem, const char *key, const char *fallback)
{
    for (int i = 0; i < problem->parameter_count; i++)
        if (!strcmp(problem->parameters[i].key, key))
            return problem->parameters[i].value;
    return fallback;
}

banyan_status banyan_problem_integer(const banyan_problem *problem, const char *key, int fallback, int low,
                                     int high, int *out, banyan_error *err)
{
    const char *text = banyan_problem_parameter(problem, key, NULL);
    char *end;
    long value;

    if (!text) {
        *out = fallback;
        return BANYAN_SUCCESS;
    }
    errno = 0;
    value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < low || value > high)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "option '%s' must be a whole number from %d to %d, not '%s'", key, low, high,
                           text);
    *out = (int)value;
    return BANYAN_SUCCESS;
}

banyan_status banyan_problem_check_transfers(const banyan_problem *problem, const char *name,
                                             double transfers, banyan_error *err)
{
    double most = banyan_scale_is_large(problem->topology) ? BANYAN_SCALE_MAX_MOVES : BANYAN_MAX_TRANSFERS;

    if (transfers > most)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "%s on %d workers would take %.0f transfers, and %.0f is the most", name,
                           problem->active_count, transfers, most);
    return BANYAN_SUCCESS;
}

banyan_status banyan_problem_check_moves(const banyan_problem *problem, const char *name, double moves,
                                         banyan_error *err)
{
    if (banyan_scale_is_large(problem->topology) && moves > BANYAN_SCALE_MAX_MOVES)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "%s on %d workers would move at least %.0f pieces, and %d is the most", name,
                           problem->active_count, moves, BANYAN_SCALE_MAX_MOVES);
    return BANYAN_SUCCESS;
}

void banyan_problem_begin(const banyan_problem *problem, banyan_builder *builder)
{
    banyan_builder_init(builder, problem->collective, problem->root, problem->topology->node_count,
                        problem->active, problem->active_count);
    if (banyan_scale_is_large(problem->topology))
        banyan_builder_limit_moves(builder, BANYAN_SCALE_MAX_MOVES);
}
