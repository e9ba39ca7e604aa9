/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sim_request.c: reads what is to be simulated, how, and at which sizes. */
#include <stdio.h>
#include <string.h>

#include "core/value.h"
#include "sim.h"

/* Copies the next of 'A,B,C' and moves on; 0 at the end. */
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
        if (s->size_count == SIM_MAX_SIZES)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--bytes has more than %d sizes", SIM_MAX_SIZES);
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
    for (int i = 0; s->takes_all && i < SIM_MAX_ALGORITHMS && banyan_algorithm_name(i); i++)
        snprintf(s->algorithms[s->algorithm_count++], sizeof *s->algorithms, "%s", banyan_algorithm_name(i));
    while (!s->takes_all && next_item(&list, item, sizeof item)) {
        if (s->algorithm_count == SIM_MAX_ALGORITHMS)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--algo has more than %d names",
                               SIM_MAX_ALGORITHMS);
        snprintf(s->algorithms[s->algorithm_count++], sizeof *s->algorithms, "%s", item);
    }
    return s->algorithm_count ? BANYAN_SUCCESS
                              : banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--algo names no algorithm");
}

/* '128GB' or '128GB/s'. */
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

static banyan_status read_slice(const char *text, size_t *out, banyan_error *err)
{
    int64_t number;
    banyan_status status;

    if (!strcmp(text, "whole")) {
        *out = (size_t)1 << 62; /* larger than any vector */
        return BANYAN_SUCCESS;
    }
    status = banyan_value_bytes(text, &number, err);
    if (!status && !number)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a slice has at least one byte");
    if (!status)
        *out = (size_t)number;
    return status;
}

static banyan_status read_settings(sim_request *s, banyan_error *err)
{
    const char *slice = cli_get(s->arguments, "slice"), *overhead = cli_get(s->arguments, "overhead");
    const char *speed = cli_get(s->arguments, "reduce-speed"), *model = cli_get(s->arguments, "model");
    banyan_status status = BANYAN_SUCCESS;
    const char *option = "slice";

    s->config.model = model ? model : "fluid";
    s->config.service = cli_get(s->arguments, "service");
    s->config.is_lockstep = cli_has(s->arguments, "lockstep");
    s->config.flow = cli_get(s->arguments, "flow");
    s->config.flit = cli_get(s->arguments, "flit");
    if (slice)
        status = read_slice(slice, &s->config.slice_bytes, err);
    if (!status && overhead) {
        option = "overhead";
        status = banyan_value_seconds(overhead, 1, &s->config.overhead_s, err);
    }
    if (!status && speed) {
        option = "reduce-speed";
        status = read_rate(speed, &s->config.reduce_bytes_per_s, err);
    }
    if (status)
        cli_blame(option, err);
    if (!status && cli_has(s->arguments, "tables") && !sim_request_is_flit(s))
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--tables is for --model flit");
    return status;
}

int sim_request_is_flit(const sim_request *request)
{
    return !strcmp(request->config.model, "flit");
}

static banyan_status read_schedule(sim_request *s, banyan_error *err)
{
    const char *path = cli_get(s->arguments, "schedule");

    return path ? banyan_schedule_load_on(path, s->question.topology, &s->given, err) : BANYAN_SUCCESS;
}

/* The sizes are a list of our own, so the question is asked without them. */
static banyan_status load_question(sim_request *s, banyan_error *err)
{
    cli_arguments plain = *s->arguments;

    for (int i = 0; i < plain.option_count; i++)
        if (!strcmp(plain.names[i], "bytes"))
            plain.values[i] = "1";
    return cli_question_load(&plain, plain.words[0], &s->question, err);
}

static banyan_status read_all(sim_request *s, banyan_error *err)
{
    banyan_status status = read_sizes(s, err);

    if (!status)
        status = read_settings(s, err);
    if (!status)
        status = load_question(s, err);
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
    out->config = (banyan_predict_config)BANYAN_PREDICT_CONFIG_INITIALIZER;
    status = read_all(out, err);
    if (status)
        sim_request_fini(out);
    return status;
}

void sim_request_fini(sim_request *request)
{
    banyan_schedule_destroy(request->given);
    cli_question_fini(&request->question);
    request->given = NULL;
}
