/* SPDX-License-Identifier: Apache-2.0 */
/* cli/problem.c: reads the options that planning verbs share. */
#include "problem.h"

#include <string.h>

#include "core/alloc.h"
#include "core/value.h"

static banyan_status read_numbers(const cli_arguments *arguments, cli_problem *out, banyan_error *err)
{
    const char *collective = cli_get(arguments, "collective"), *root = cli_get(arguments, "root");
    const char *bytes = cli_get(arguments, "bytes");
    int64_t number;
    banyan_status status = BANYAN_SUCCESS;

    if (collective) {
        int found = banyan_collective_find(collective);

        if (found < 0)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "--collective %.40s is not allreduce, reducescatter, allgather, broadcast, "
                               "reduce, gather, scatter or alltoall",
                               collective);
        out->problem.collective = (banyan_collective)found;
    }
    if (root) {
        status = cli_check_root(collective, err);
        if (status)
            return status;
        status = banyan_value_integer(root, 0, out->problem.active_count - 1, &number, err);
        if (status) {
            banyan_error_prefix(err, "--root");
            return status;
        }
        out->problem.root = (int)number;
    }
    out->problem.bytes = (size_t)64 << 20;
    out->problem.is_size_open = !bytes;
    out->problem.is_streamed = 1;
    if (bytes) {
        status = banyan_value_bytes(bytes, &number, err);
        if (!status && !number)
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a vector has at least one byte");
        if (status) {
            banyan_error_prefix(err, "--bytes");
            return status;
        }
        out->problem.bytes = (size_t)number;
    }
    return BANYAN_SUCCESS;
}

/* Every option that is not in the verb's own tables is an algorithm's: the parser let no others through. */
static void read_parameters(const cli_arguments *arguments, cli_problem *out)
{
    for (int i = 0; i < arguments->option_count; i++) {
        const cli_option *own = arguments->verb->options, *common = cli_common_options;

        while (own && own->name && strcmp(own->name, arguments->names[i]) != 0)
            own++;
        while (common->name && strcmp(common->name, arguments->names[i]) != 0)
            common++;
        if ((!own || !own->name) && !common->name)
            out->parameters[out->problem.parameter_count++] =
                (banyan_parameter){arguments->names[i], arguments->values[i]};
    }
    out->problem.parameters = out->parameters;
}

banyan_status cli_problem_load(const cli_arguments *arguments, const char *spec, cli_problem *out,
                               banyan_error *err)
{
    banyan_status status;

    memset(out, 0, sizeof *out);
    status = banyan_topology_load(spec, &out->topology, err);
    if (!status)
        status = banyan_topology_parse_active(out->topology, cli_get(arguments, "active"), &out->active,
                                              &out->problem.active_count, err);
    out->problem.topology = out->topology;
    out->problem.active = out->active;
    if (!status)
        status = read_numbers(arguments, out, err);
    if (!status)
        status = banyan_plan_read_effort(cli_get(arguments, "effort"), &out->problem, &out->effort, err);
    if (status) {
        cli_problem_fini(out);
        return status;
    }
    read_parameters(arguments, out);
    return BANYAN_SUCCESS;
}

void cli_problem_fini(cli_problem *problem)
{
    banyan_topology_destroy(problem->topology);
    banyan_free(problem->active);
    memset(problem, 0, sizeof *problem);
}
