/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sim_request.c: reads what is to be simulated, how, and at which sizes. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/value.h"
#include "planner/planner.h"
#include "sim.h"
#include "verify/verify.h"

/* Copies the next of «A,B,C» and moves on; 0 at the end. */
static int next_item(const char **list, char *item, size_t size)
{
    size_t length = strcspn(*list, ",");

    if (!**list)
        return 0;
    snprintf(item, size, "%.*s", (int)(length < size ? length : size - 1), *list);
    *list += length + ((*list)[length] == ',');
    return 1;
}

static banyan_status read_sizes(sim_request *s, banyan_error *err)
{
    const char *list = cli_get(s->arguments, "bytes");
    char item[64];
    int64_t number;

    list = list ? list : "64MiB";
    while (next_item(&list, item, sizeof item)) {
        banyan_status status = banyan_value_bytes(item, &number, err);

        if (status) {
            banyan_error_prefix(err, "--bytes");
            return status;
        }
        if (s->size_count == SIM_MOST_SIZES)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--bytes has more than %d sizes",
                               SIM_MOST_SIZES);
        s->sizes[s->size_count++] = (size_t)number;
    }
    return s->size_count ? BANYAN_SUCCESS
                         : banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--bytes names no size");
}

static banyan_status read_algorithms(sim_request *s, banyan_error *err)
{
    const char *list = cli_get(s->arguments, "algo");
    char item[64];

    if (s->given)
        return list ? banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--schedule and --algo exclude each other")
                    : BANYAN_SUCCESS;
    s->takes_all = !list || !strcmp(list, "all");
    for (int i = 0; s->takes_all && i < banyan_algorithm_count() && i < SIM_MOST_ALGORITHMS; i++)
        s->algorithms[s->algorithm_count++] = banyan_algorithm_at(i);
    while (!s->takes_all && next_item(&list, item, sizeof item)) {
        const banyan_algorithm *found;
        banyan_status status = banyan_plan_find(item, &found, err);

        if (status)
            return status;
        if (s->algorithm_count == SIM_MOST_ALGORITHMS)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--algo has more than %d names",
                               SIM_MOST_ALGORITHMS);
        s->algorithms[s->algorithm_count++] = found;
    }
    return s->algorithm_count ? BANYAN_SUCCESS
                              : banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--algo names no algorithm");
}

/* «128GB» or «128GB/s». */
static banyan_status read_rate(const char *text, double *out, banyan_error *err)
{
    size_t length = strlen(text);
    char plain[64];
    int64_t number;
    banyan_status status;

    if (length > 2 && !strcmp(text + length - 2, "/s"))
        length -= 2;
    snprintf(plain, sizeof plain, "%.*s", (int)(length < sizeof plain ? length : sizeof plain - 1), text);
    status = banyan_value_bytes(plain, &number, err);
    if (!status)
        *out = (double)number;
    return status;
}

static banyan_status read_service(const char *name, banyan_service *out, banyan_error *err)
{
    *out = BANYAN_SERVICE_AUTO;
    if (!name)
        return BANYAN_SUCCESS;
    if (strcmp(name, "shared") && strcmp(name, "turns"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "«%.40s» is neither shared nor turns", name);
    *out = strcmp(name, "turns") ? BANYAN_SERVICE_SHARED : BANYAN_SERVICE_TURNS;
    return BANYAN_SUCCESS;
}

static banyan_status read_settings(sim_request *s, banyan_error *err)
{
    const char *slice = cli_get(s->arguments, "slice"), *overhead = cli_get(s->arguments, "overhead");
    const char *speed = cli_get(s->arguments, "reduce-speed"), *model = cli_get(s->arguments, "model");
    banyan_status status = BANYAN_SUCCESS;
    const char *option = "--slice";
    int64_t number;

    s->settings.arguments = s->arguments;
    s->settings.fluid.lockstep = cli_has(s->arguments, "lockstep");
    s->engine = sim_engine_find(model ? model : sim_engines[0].name, err);
    if (!s->engine)
        return BANYAN_INVALID_ARGUMENT;
    if (slice && !strcmp(slice, "whole")) {
        s->settings.fluid.slice_bytes = (size_t)1 << 62;
    } else if (slice) {
        status = banyan_value_bytes(slice, &number, err);
        s->settings.fluid.slice_bytes = status ? 0 : (size_t)number;
        if (!status && !number)
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a slice has at least one byte");
    }
    if (!status) {
        option = "--service";
        status = read_service(cli_get(s->arguments, "service"), &s->settings.fluid.service, err);
    }
    if (!status && overhead) {
        option = "--overhead";
        status = banyan_value_seconds(overhead, 1, &s->settings.fluid.overhead_s, err);
    }
    if (!status && speed) {
        option = "--reduce-speed";
        status = read_rate(speed, &s->settings.fluid.reduce_bytes_per_s, err);
    }
    if (status)
        banyan_error_prefix(err, option);
    return status;
}

/* The file's schedule, proven: then the engines need not doubt it. */
static banyan_status read_schedule(sim_request *s, banyan_error *err)
{
    const char *path = cli_get(s->arguments, "schedule");
    banyan_verdict verdict;
    banyan_status status;
    size_t length;
    char *text;

    if (!path)
        return BANYAN_SUCCESS;
    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    status = banyan_schedule_parse(text, length, &s->given, err);
    banyan_free(text);
    if (!status && s->given->node_count != s->problem.topology->node_count)
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the schedule is for %d nodes, but %.60s has %d",
                        s->given->node_count, s->problem.topology->name, s->problem.topology->node_count);
    if (!status)
        status = banyan_verify(s->given, s->problem.topology, &verdict, err);
    if (!status)
        status = banyan_verdict_status(&verdict, err);
    if (status)
        banyan_error_prefix(err, path);
    return status;
}

/* The problem's own size is the first one: the list of sizes is ours. */
static banyan_status load_problem(sim_request *s, banyan_error *err)
{
    cli_arguments plain = *s->arguments;

    for (int i = 0; i < plain.option_count; i++)
        if (!strcmp(plain.names[i], "bytes"))
            plain.values[i] = "1";
    return cli_problem_load(&plain, plain.words[0], &s->problem, err);
}

static banyan_status read_all(sim_request *s, banyan_error *err)
{
    banyan_status status = read_sizes(s, err);

    if (!status)
        status = read_settings(s, err);
    if (!status)
        status = load_problem(s, err);
    if (!status)
        status = read_schedule(s, err);
    if (!status)
        status = read_algorithms(s, err);
    if (!status && cli_has(s->arguments, "trace") &&
        (s->size_count > 1 || s->algorithm_count + (s->given != NULL) != 1))
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--trace is for one algorithm at one size: name them");
    return status;
}

banyan_status sim_request_read(const cli_arguments *arguments, sim_request *out, banyan_error *err)
{
    banyan_status status;

    memset(out, 0, sizeof *out);
    out->arguments = arguments;
    status = read_all(out, err);
    if (status)
        sim_request_fini(out);
    return status;
}

void sim_request_fini(sim_request *request)
{
    banyan_schedule_destroy(request->given);
    cli_problem_fini(&request->problem);
    memset(request, 0, sizeof *request);
}
