/* SPDX-License-Identifier: Apache-2.0 */
/* cli/tune.c: banyan tune: times the planner's best candidates on the real network (banyan_comm_tune) and
 * prints them. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "bench_processes.h"
#include "cli.h"
#include "core/settings.h"
#include "core/value.h"

enum { DEFAULT_RANKS = 4, MAX_RANKS = 1024, MAX_CANDIDATES = 64 };

static const cli_option options[] = {
    {"ranks", 'n', "N", "how many ranks to start here (default: 4; none under a launcher)"},
    {"topo", 't', "SPEC", "plan for this network, or probe to measure it (default: BANYAN_TOPO)"},
    {"wisdom", 'w', "FILE", "keep the choices there (default: BANYAN_WISDOM_FILE, else banyan.wisdom)"},
    {"min", 'b', "SIZE", "the smallest size (default: 1KiB)"},
    {"max", 'e', "SIZE", "the largest size (default: 64MiB)"},
    {"candidates", 'k', "N", "how many candidates of each size to time (default: 4)"},
    {"budget", 'B', "TIME", "time per candidate, up to twice that (default: 0.5s)"},
    {"datatype", 'd', "TYPE", "time and keep them for elements of this type (default: float32)"},
    {"transport", 0, "NAME", "shm, tcp or auto (default: auto)"},
    {NULL, 0, NULL, NULL}};

typedef struct {
    const cli_arguments *arguments;
    banyan_tune_config config;
    int64_t least, largest;
    banyan_comm *comm;
    int rank, size;
    banyan_text json;
    int row_count;
} tuning;

static void add_json(tuning *t, const banyan_tune_result *r)
{
    banyan_text_add(
        &t->json, "%s\n{\"bytes\":%zu,\"type\":\"%s\",\"algorithm\":\"%s\",\"key\":\"%s\",\"value\":\"%s\",",
        t->row_count++ ? "," : "", r->bytes, banyan_datatype_string(t->config.type), r->algorithm,
        r->variant_key ? r->variant_key : "", r->variant_key ? r->variant_value : "");
    cli_json_number(&t->json, "predicted_s", r->predicted_s);
    banyan_text_add(&t->json, ",");
    cli_json_number(&t->json, "measured_s", r->measured_s);
    banyan_text_add(&t->json, ",\"chosen\":%s,\"auto\":%s}", r->is_chosen ? "true" : "false",
                    r->is_auto ? "true" : "false");
}

static void show(void *context, const banyan_tune_result *r)
{
    tuning *t = context;
    char name[128], predicted[32], measured[32];

    if (cli_has(t->arguments, "json")) {
        add_json(t, r);
        return;
    }
    if (cli_has(t->arguments, "quiet"))
        return;
    snprintf(name, sizeof name, "%s%s%s%s%s", r->algorithm, r->variant_key ? " " : "",
             r->variant_key ? r->variant_key : "", r->variant_key ? "=" : "",
             r->variant_key ? r->variant_value : "");
    printf("%12zu  %-40s %12s %12s  %-4s %s\n", r->bytes, name,
           banyan_show_seconds(r->predicted_s, predicted, sizeof predicted),
           banyan_show_seconds(r->measured_s, measured, sizeof measured), r->is_auto ? "auto" : "",
           r->is_chosen ? "*" : "");
    fflush(stdout);
}

static banyan_status print_end(tuning *t, banyan_error *err)
{
    banyan_text all = BANYAN_TEXT_EMPTY;

    if (!cli_has(t->arguments, "json")) {
        if (!cli_has(t->arguments, "quiet"))
            printf("# kept in %s; use it with BANYAN_WISDOM_FILE=%s\n", t->config.wisdom, t->config.wisdom);
        return BANYAN_SUCCESS;
    }
    banyan_text_add(&all, "{\"ranks\":%d,\"wisdom\":", t->size);
    banyan_text_add_json_string(&all, t->config.wisdom);
    banyan_text_add(&all, ",\"results\":[%s]}", t->json.length ? t->json.bytes : "");
    all.failed |= t->json.failed;
    return cli_print(&all, err);
}

static banyan_status tune(tuning *t, banyan_error *err)
{
    banyan_status status;

    if (t->rank == 0 && !cli_has(t->arguments, "json") && !cli_has(t->arguments, "quiet"))
        printf("# %10s  %-40s %12s %12s\n", "bytes", "candidate", "predicted", "measured");
    t->config.result = show;
    t->config.context = t;
    status = banyan_comm_tune(t->comm, &t->config);
    if (status)
        banyan_fail(err, status, "%s", banyan_last_error(t->comm));
    else if (t->rank == 0)
        status = print_end(t, err);
    banyan_text_fini(&t->json);
    return status;
}

/* *out stays as it is where the option is not given. */
static banyan_status read_count(const cli_arguments *arguments, const char *option, int most, int64_t *out,
                                banyan_error *err)
{
    const char *text = cli_get(arguments, option);
    banyan_status status = text ? banyan_value_integer(text, 1, most, out, err) : BANYAN_SUCCESS;

    if (status)
        cli_blame(option, err);
    return status;
}

static banyan_status read_size(const cli_arguments *arguments, const char *option, int64_t fallback,
                               int64_t *out, banyan_error *err)
{
    const char *text = cli_get(arguments, option);
    banyan_status status = BANYAN_SUCCESS;

    *out = fallback;
    if (text)
        status = banyan_value_bytes(text, out, err);
    if (!status && *out > (int64_t)1 << 36)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s is more than 64 GiB", text);
    if (status)
        cli_blame(option, err);
    return status;
}

/* Sizes are those that communicators plan for: 1 KiB times a power of four. */
static banyan_status check_sizes(const tuning *t, banyan_error *err)
{
    for (int64_t bytes = 1024; bytes <= t->largest; bytes *= 4)
        if (bytes >= t->least)
            return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "no size from --min %lld to --max %lld is 1 KiB times a power of four",
                       (long long)t->least, (long long)t->largest);
}

static banyan_status read_options(tuning *t, int *ranks, banyan_error *err)
{
    const cli_arguments *a = t->arguments;
    const char *budget = cli_get(a, "budget"), *transport = cli_get(a, "transport");
    const char *file = banyan_environment("BANYAN_WISDOM_FILE");
    int64_t number = DEFAULT_RANKS, candidates = 4;
    int choice;
    banyan_status status = read_size(a, "min", 1024, &t->least, err);

    if (!status)
        status = read_size(a, "max", 64 << 20, &t->largest, err);
    if (!status)
        status = check_sizes(t, err);
    if (!status)
        status = read_count(a, "ranks", MAX_RANKS, &number, err);
    if (!status)
        status = read_count(a, "candidates", MAX_CANDIDATES, &candidates, err);
    if (!status && budget) {
        status = banyan_value_seconds(budget, 1, &t->config.budget_s, err);
        if (status)
            cli_blame("budget", err);
    }
    if (!status && transport) {
        status = banyan_value_choice(transport, "auto|shm|tcp", &choice, err);
        if (status)
            cli_blame("transport", err);
    }
    if (!status)
        status = bench_read_datatype(a, &t->config.type, err);
    *ranks = (int)number;
    t->config.min_bytes = (size_t)t->least;
    t->config.max_bytes = (size_t)t->largest;
    t->config.candidate_count = (int)candidates;
    t->config.wisdom = cli_get(a, "wisdom") ? cli_get(a, "wisdom") : file && *file ? file : "banyan.wisdom";
    return status;
}

static int finish(const tuning *t, banyan_status status, const banyan_error *err)
{
    if (!status)
        return CLI_OK;
    return t->rank ? CLI_FAILED : cli_fail(t->arguments, status, err); /* rank 0 speaks for all */
}

static int run(const cli_arguments *arguments)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    tuning t = {.arguments = arguments, .config = BANYAN_TUNE_CONFIG_INITIALIZER, .json = BANYAN_TEXT_EMPTY};
    const char *transport = cli_get(arguments, "transport");
    banyan_unique_id id;
    banyan_error err = {""};
    int ranks = 0, is_launched = bench_is_launched(&t.rank, &t.size), code;
    banyan_status status = read_options(&t, &ranks, &err);

    if (status)
        return cli_fail(arguments, status, &err);
    config.topology = cli_get(arguments, "topo");
    config.algorithm = "auto";
    config.transport = transport;
    config.error = err.text;
    config.error_bytes = sizeof err.text;
    if (is_launched) {
        status = banyan_comm_init_env(&t.comm, &config);
    } else {
        t.size = ranks;
        code = bench_fork(ranks, transport ? transport : "auto", &t.rank, &id);
        if (code >= 0)
            return code;
        status = banyan_comm_init_rank(&t.comm, ranks, id, t.rank, &config);
    }
    if (!status)
        status = tune(&t, &err);
    banyan_comm_destroy(t.comm);
    return finish(&t, status, &err);
}

const cli_verb cli_verb_tune = {.name = "tune",
                                .usage = "[-n RANKS] [--topo SPEC] [--wisdom FILE] [--min SIZE] [--max SIZE] "
                                         "[--candidates N] [--datatype TYPE]",
                                .summary =
                                    "times the best candidates on the real network and keeps the choice",
                                .options = options,
                                .run = run};
