/* SPDX-License-Identifier: Apache-2.0 */
/* cli/question.c: reads the options that planning verbs share. */
#include "question.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/value.h"

static banyan_status read_numbers(const cli_arguments *arguments, banyan_plan_config *out, banyan_error *err)
{
    const char *root = cli_get(arguments, "root"), *bytes = cli_get(arguments, "bytes");
    banyan_status status = BANYAN_SUCCESS;
    int64_t number;

    if (root) {
        status = cli_check_root(cli_get(arguments, "collective"), err);
        if (status)
            return status;
        status = banyan_value_integer(root, 0, INT_MAX, &number, err);
        if (status)
            cli_blame("root", err);
        else
            out->root = (int)number;
    }
    if (!status && bytes) {
        status = banyan_value_bytes(bytes, &number, err);
        if (!status && !number)
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a vector has at least one byte");
        if (status)
            cli_blame("bytes", err);
        else
            out->bytes = (size_t)number;
    }
    return status;
}

static int is_among(const cli_option *options, const char *name)
{
    while (options && options->name && strcmp(options->name, name) != 0)
        options++;
    return options && options->name;
}

/* Every option that is not in the verb's own tables is an algorithm's: the parser let no others through. */
static void read_parameters(const cli_arguments *arguments, cli_question *out)
{
    int count = 0;

    for (int i = 0; i < arguments->option_count; i++)
        if (!is_among(arguments->verb->options, arguments->names[i]) &&
            !is_among(cli_common_options, arguments->names[i])) {
            out->parameters[count++] = arguments->names[i];
            out->parameters[count++] = arguments->values[i];
        }
    out->parameters[count] = NULL;
    out->config.parameters = out->parameters;
}

banyan_status cli_question_replace(cli_question *question, banyan_topology *topology, banyan_error *err)
{
    banyan_topology_destroy(question->topology);
    question->topology = topology;
    question->network = (banyan_topology_info){.size = sizeof question->network};
    return banyan_topology_get_info(topology, &question->network, err);
}

banyan_status cli_question_load(const cli_arguments *arguments, const char *spec, cli_question *out,
                                banyan_error *err)
{
    banyan_topology *topology;
    banyan_status status;

    *out = (cli_question){.config = BANYAN_PLAN_CONFIG_INITIALIZER};
    status = banyan_topology_load(spec, &topology, err);
    if (!status)
        status = cli_question_replace(out, topology, err);
    if (!status)
        status = read_numbers(arguments, &out->config, err);
    if (status) {
        cli_question_fini(out);
        return status;
    }
    out->config.active = cli_get(arguments, "active");
    out->config.collective = cli_get(arguments, "collective");
    out->config.effort = cli_get(arguments, "effort");
    read_parameters(arguments, out);
    return BANYAN_SUCCESS;
}

void cli_question_fini(cli_question *question)
{
    banyan_topology_destroy(question->topology);
    question->topology = NULL;
}

/* What idle workers do in the plan, they do in the bound. */
static const char *find_parameter(const cli_question *question, const char *key)
{
    for (const char *const *p = question->parameters; *p; p += 2)
        if (!strcmp(*p, key))
            return p[1];
    return NULL;
}

static banyan_status find_bound(const cli_question *question, const char *collective, banyan_bounds_info *out,
                                banyan_error *err)
{
    banyan_bounds_config config = BANYAN_BOUNDS_CONFIG_INITIALIZER;
    banyan_bounds *bounds;
    banyan_status status;

    config.active = question->config.active;
    config.effort = question->config.effort;
    config.bytes = question->config.bytes;
    config.relays = find_parameter(question, "relays");
    config.collective = !strcmp(collective, "allreduce") ? collective : NULL;
    status = banyan_bounds_create(question->topology, &config, &bounds, err);
    if (status)
        return status;
    status = banyan_bounds_get_info(bounds, out, err);
    banyan_bounds_destroy(bounds);
    return status;
}

static int has_bound(const char *collective)
{
    return !strcmp(collective, "allreduce") || !strcmp(collective, "allgather") ||
           !strcmp(collective, "reducescatter");
}

banyan_status cli_question_bound(const cli_question *question, const banyan_schedule *schedule,
                                 double *bytes_per_s, banyan_error *err)
{
    banyan_schedule_info plan = {.size = sizeof plan};
    banyan_bounds_info bound = {.size = sizeof bound};
    banyan_status status = banyan_schedule_get_info(schedule, &plan, err);

    *bytes_per_s = NAN;
    if (status || plan.active_count > CLI_BOUND_WORKERS || !has_bound(plan.collective))
        return status;
    status = find_bound(question, plan.collective, &bound, err);
    if (status == BANYAN_UNSUPPORTED) /* too large, or the solver is missing: a plan does without */
        return BANYAN_SUCCESS;
    if (!status)
        *bytes_per_s = !strcmp(plan.collective, "allreduce")   ? bound.allreduce_bytes_per_s
                       : !strcmp(plan.collective, "allgather") ? bound.allgather_bytes_per_s
                                                               : bound.reducescatter_bytes_per_s;
    return status;
}
