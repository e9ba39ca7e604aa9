/* SPDX-License-Identifier: Apache-2.0 */
/* plan/problem.c: reads a banyan_plan_config. */
#include "plan/problem.h"

#include <string.h>

#include "core/alloc.h"
#include "core/sized.h"
#include "core/value.h"

banyan_status banyan_check_vector_bytes(size_t bytes, banyan_error *err)
{
    if (bytes > BANYAN_PLAN_MAX_BYTES)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a vector of %zu bytes is too large: at most %zu",
                           bytes, BANYAN_PLAN_MAX_BYTES);
    return BANYAN_SUCCESS;
}

banyan_status banyan_read_plan_config(const banyan_plan_config *config, banyan_plan_config *out,
                                      banyan_error *err)
{
    banyan_status status = banyan_sized_read(config, out, "banyan_plan_config", err);

    if (!status && out->timeout_ms < 0)
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a time-out of %d ms is negative", out->timeout_ms);
    return status;
}

static banyan_status read_collective(const char *name, int root, banyan_problem *out, banyan_error *err)
{
    int found = name ? banyan_collective_find(name) : BANYAN_COLLECTIVE_ALLREDUCE;

    if (found < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the collective '%.40s' is not allreduce, reducescatter, allgather, broadcast, "
                           "reduce, gather, scatter or alltoall",
                           name);
    if (root < 0 || root >= out->active_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the root %d is not a rank from 0 to %d", root,
                           out->active_count - 1);
    out->collective = (banyan_collective)found;
    out->root = root;
    return BANYAN_SUCCESS;
}

/* MSCCL's runtimes cut pieces themselves and hold few steps; network interfaces send transfers whole. */
static banyan_status read_executor(const char *name, banyan_problem *out, banyan_error *err)
{
    int choice = 0;

    if (name && banyan_value_choice(name, "banyan|msccl|interface", &choice, NULL))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the executor '%.40s' is not banyan, msccl or interface", name);
    out->is_size_open |= choice == 1;
    out->is_streamed = choice != 2;
    return BANYAN_SUCCESS;
}

/* Algorithms that do not have a parameter do without it, but some must have it. */
static int is_known(const char *key)
{
    const banyan_parameter asked = {key, ""};
    const banyan_problem problem = {.parameters = &asked, .parameter_count = 1};

    for (int i = 0; i < banyan_algorithm_count(); i++)
        if (banyan_plan_takes_parameters(banyan_algorithm_at(i), &problem))
            return 1;
    return 0;
}

static banyan_status read_parameters(const char *const *list, banyan_plan_problem *out, banyan_error *err)
{
    int count = 0;

    while (list && list[count])
        count++;
    if (count % 2)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the parameter '%.40s' has no value",
                           list[count - 1]);
    out->parameters = banyan_alloc((size_t)count / 2, sizeof *out->parameters);
    if (!out->parameters)
        return banyan_fail_memory(err);
    for (int i = 0; i < count / 2; i++) {
        out->parameters[i] = (banyan_parameter){list[2 * i], list[2 * i + 1]};
        if (!is_known(list[2 * i]))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no algorithm has a parameter '%.40s'",
                               list[2 * i]);
    }
    out->problem.parameters = out->parameters;
    out->problem.parameter_count = count / 2;
    return BANYAN_SUCCESS;
}

static banyan_status read(const banyan_plan_config *config, banyan_plan_problem *out, banyan_error *err)
{
    banyan_problem *problem = &out->problem;
    banyan_status status = banyan_check_vector_bytes(config->bytes, err);

    problem->bytes = config->bytes ? config->bytes : BANYAN_PLAN_DEFAULT_BYTES;
    problem->is_size_open = !config->bytes;
    problem->watch = config->progress;
    problem->begins = config->begins;
    problem->watch_context = config->context;
    if (!status)
        status = banyan_topology_parse_active(problem->topology, config->active, &out->active,
                                              &problem->active_count, err);
    problem->active = out->active;
    if (!status)
        status = read_collective(config->collective, config->root, problem, err);
    if (!status)
        status = read_executor(config->executor, problem, err);
    if (!status)
        status = read_parameters(config->parameters, out, err);
    if (!status)
        status = banyan_plan_read_effort(config->effort, problem, &out->effort, err);
    return status;
}

banyan_status banyan_plan_problem_init(const banyan_topology *topology, const banyan_plan_config *config,
                                       banyan_plan_problem *out, banyan_error *err)
{
    banyan_status status;

    *out = (banyan_plan_problem){.problem = {.topology = topology}};
    status = read(config, out, err);
    if (status)
        banyan_plan_problem_fini(out);
    return status;
}

void banyan_plan_problem_fini(banyan_plan_problem *problem)
{
    banyan_free(problem->active);
    banyan_free(problem->parameters);
    *problem = (banyan_plan_problem){0};
}
