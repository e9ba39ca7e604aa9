/* SPDX-License-Identifier: Apache-2.0 */
/* cli/tune.c: banyan tune: runs the best candidates of the planner on the real network and keeps the fastest
 * of each size as wisdom.
 *
 *     size ─> what auto takes, then others, sorted by prediction ─> the first K, each run some
 *     times ─> the fastest ─> wisdom
 *
 * Rank 0 plans and decides. What is timed is agreed by the group as any plan is; between candidates all ranks
 * forget the plans they have. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "bench_processes.h"
#include "calls/comm.h"
#include "cli.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/progress.h"
#include "core/sort.h"
#include "core/value.h"
#include "schedule/schedule.h"

enum { DEFAULT_RANKS = 4, MOST_RANKS = 1024, MOST_CANDIDATES = 64, MOST_TIMES = 1000 };

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
    const char *path;
    int64_t least, largest, candidate_count;
    double budget_s;
    banyan_datatype type;
    banyan_comm *comm;
    int rank, size;
    banyan_wisdom wisdom; /* rank 0's */
    banyan_text json;
    int row_count;
} tuning;

/* What was timed: medians of the slowest rank. */
typedef struct {
    banyan_wisdom_entry entry;
    char digest[17]; /* of the schedule */
    double predicted_s, measured_s;
} candidate;

static banyan_status share(const tuning *t, const void *mine, size_t bytes, void *all, banyan_error *err)
{
    banyan_world *world = t->comm->group->world;
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)t->comm->group->setup.timeout_ms * 1000000;

    return banyan_control_gather(banyan_world_control(world), mine, bytes, all, deadline_ns, err);
}

/* The largest of all ranks' numbers; also a barrier. */
static banyan_status largest_of(const tuning *t, double mine, double *out, banyan_error *err)
{
    double *all = banyan_alloc((size_t)t->size, sizeof *all);
    banyan_status status = all ? share(t, &mine, sizeof mine, all, err) : banyan_fail_memory(err);

    *out = mine;
    for (int i = 0; i < t->size && !status; i++)
        *out = all[i] > *out ? all[i] : *out;
    banyan_free(all);
    return status;
}

static banyan_problem problem_of(const tuning *t, size_t bytes)
{
    const banyan_setup *setup = &t->comm->group->setup;

    return banyan_group_problem(setup, BANYAN_COLLECTIVE_ALLREDUCE, 0, bytes);
}

/* Puts it at the end of the list, unless the same plan is there already or no process serves it. */
static void add_candidate(const tuning *t, const banyan_plan *plan, candidate *list, int *count)
{
    const banyan_setup *setup = &t->comm->group->setup;
    candidate *c = &list[*count];

    if (*count == t->candidate_count || !banyan_group_is_usable(setup, plan->schedule))
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
static banyan_status add_choice(const tuning *t, const banyan_problem *problem, candidate *list, int *count,
                                banyan_error *err)
{
    banyan_plan *plans = NULL;
    int all = 0, best;
    banyan_status status =
        banyan_plan_candidates(problem, banyan_plan_default_effort(problem), &plans, &all, err);

    if (status)
        return status;
    best = banyan_plan_best(problem, plans, all, banyan_group_is_usable, &t->comm->group->setup);
    if (best < all)
        add_candidate(t, &plans[best], list, count);
    banyan_plans_destroy(plans, all);
    return BANYAN_SUCCESS;
}

/* At rank 0: auto's choice, then the others by what they are expected to take, variants among them. */
static banyan_status list_candidates(const tuning *t, size_t bytes, candidate *out, int *count,
                                     banyan_error *err)
{
    banyan_problem problem = problem_of(t, bytes);
    banyan_plan *plans = NULL;
    int all = 0;
    banyan_status status = add_choice(t, &problem, out, count, err);

    if (!status)
        status = banyan_plan_candidates(&problem, BANYAN_EFFORT_PATIENT, &plans, &all, err);
    for (int i = 0; !status && i < all; i++)
        add_candidate(t, &plans[i], out, count);
    banyan_plans_destroy(plans, all);
    return status;
}

/* Everybody runs the same number of times, which the first run decides. */
static banyan_status time_one(tuning *t, const candidate *c, void *vector, size_t count, double *out,
                              banyan_error *err)
{
    banyan_group *group = t->comm->group;
    double times[MOST_TIMES], slowest;
    int runs = 3;
    banyan_status status;

    banyan_group_plans_destroy(group->plans);
    group->plans = NULL;
    group->setup.forced = c ? &c->entry : NULL;
    status = largest_of(t, 0, &slowest, err);
    for (int i = -1; i < runs && !status; i++) {
        double begin_s = banyan_clock_s();

        status = banyan_allreduce(vector, vector, count, t->type, BANYAN_MAX, t->comm);
        if (status)
            banyan_fail(err, status, "%s", banyan_last_error(t->comm));
        if (i >= 0)
            times[i] = banyan_clock_s() - begin_s;
        if (i == 0 && !status) {
            status = largest_of(t, times[0], &slowest, err);
            runs = (int)(t->budget_s / (slowest + 1e-9));
            runs = runs < 3 ? 3 : runs > MOST_TIMES ? MOST_TIMES : runs;
        }
    }
    group->setup.forced = NULL;
    if (status)
        return status;
    banyan_sort_doubles(times, (size_t)runs);
    return largest_of(t, times[runs / 2], out, err);
}

static void add_row(tuning *t, size_t bytes, const candidate *candidates, int count, int best)
{
    for (int i = 0; i < count && t->rank == 0; i++) {
        const candidate *c = &candidates[i];
        const char *sign = i == best ? "*" : "";
        char name[128], predicted[32], measured[32];

        snprintf(name, sizeof name, "%s%s%s%s%s", c->entry.algorithm, *c->entry.key ? " " : "", c->entry.key,
                 *c->entry.key ? "=" : "", c->entry.value);
        if (cli_has(t->arguments, "json")) {
            banyan_text_add(
                &t->json,
                "%s\n{\"bytes\":%zu,\"type\":\"%s\",\"algorithm\":\"%s\",\"key\":\"%s\",\"value\":\"%s\",",
                t->row_count++ ? "," : "", bytes, banyan_datatype_string(t->type), c->entry.algorithm,
                c->entry.key, c->entry.value);
            cli_json_number(&t->json, "predicted_s", c->predicted_s);
            banyan_text_add(&t->json, ",");
            cli_json_number(&t->json, "measured_s", c->measured_s);
            banyan_text_add(&t->json, ",\"chosen\":%s,\"auto\":%s}", i == best ? "true" : "false",
                            i ? "false" : "true");
        } else if (!cli_has(t->arguments, "quiet")) {
            printf("%12zu  %-40s %12s %12s  %-4s %s\n", bytes, name,
                   banyan_show_seconds(c->predicted_s, predicted, sizeof predicted),
                   banyan_show_seconds(c->measured_s, measured, sizeof measured), i ? "" : "auto", sign);
        }
    }
    fflush(stdout);
}

static banyan_status keep(tuning *t, size_t bytes, const candidate *best, banyan_error *err)
{
    banyan_problem problem = problem_of(t, bytes);
    banyan_plan plan = {.algorithm = banyan_algorithm_find(best->entry.algorithm),
                        .predicted_s = best->measured_s};

    if (t->rank)
        return BANYAN_SUCCESS;
    if (*best->entry.key)
        plan.variant = (banyan_parameter){best->entry.key, best->entry.value};
    return banyan_wisdom_remember(&t->wisdom, &problem, banyan_datatype_string(t->type), &plan,
                                  BANYAN_EFFORT_TIMED, err);
}

static banyan_status tune_size(tuning *t, size_t bytes, banyan_error *err)
{
    candidate *candidates = banyan_alloc(MOST_CANDIDATES, sizeof *candidates);
    size_t elements = bytes / banyan_datatype_bytes(t->type);
    void *vector = banyan_alloc(bytes, 1);
    int count = 0, best = 0;
    double agreed = 0;
    banyan_status status = candidates && vector ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status && t->rank == 0)
        status = list_candidates(t, bytes, candidates, &count, err);
    if (!status)
        status = largest_of(t, count, &agreed, err);
    for (int i = 0; i < (int)agreed && !status; i++) {
        status =
            time_one(t, t->rank ? NULL : &candidates[i], vector, elements, &candidates[i].measured_s, err);
        best = candidates[i].measured_s < candidates[best].measured_s ? i : best;
    }
    if (!status && agreed > 0)
        status = keep(t, bytes, &candidates[best], err);
    if (!status)
        add_row(t, bytes, candidates, (int)agreed, best);
    banyan_free(vector);
    banyan_free(candidates);
    return status;
}

static banyan_status load_wisdom(tuning *t, banyan_error *err)
{
    char *text = NULL;
    size_t length = 0;
    banyan_status status = BANYAN_SUCCESS;

    banyan_wisdom_init(&t->wisdom);
    if (t->rank || !banyan_file_exists(t->path))
        return BANYAN_SUCCESS;
    status = banyan_file_load(t->path, &text, &length, err);
    if (!status)
        status = banyan_wisdom_parse(text, length, &t->wisdom, err);
    if (status)
        banyan_error_prefix(err, t->path);
    banyan_free(text);
    return status;
}

static banyan_status save_wisdom(const tuning *t, banyan_error *err)
{
    char *text = NULL;
    banyan_status status = banyan_wisdom_format(&t->wisdom, &text, err);

    if (!status)
        status = banyan_file_save(t->path, text, strlen(text), err);
    banyan_free(text);
    return status;
}

static banyan_status print_end(tuning *t, banyan_error *err)
{
    banyan_text all = BANYAN_TEXT_EMPTY;
    char *rows = NULL, *text = NULL;
    banyan_status status;

    if (!cli_has(t->arguments, "json")) {
        if (!cli_has(t->arguments, "quiet"))
            printf("# kept in %s; use it with BANYAN_WISDOM_FILE=%s\n", t->path, t->path);
        return BANYAN_SUCCESS;
    }
    banyan_text_add(&all, "{\"ranks\":%d,\"wisdom\":", t->size);
    banyan_text_add_json_string(&all, t->path);
    banyan_text_add(&t->json, "%s", "");
    status = banyan_text_take(&t->json, &rows, err);
    if (!status) {
        banyan_text_add(&all, ",\"results\":[%s]}", rows);
        status = banyan_text_take(&all, &text, err);
    }
    if (!status)
        printf("%s\n", text);
    banyan_text_fini(&all);
    banyan_free(rows);
    banyan_free(text);
    return status;
}

static banyan_status tune(tuning *t, banyan_error *err)
{
    banyan_status status = load_wisdom(t, err);

    if (!status && t->rank == 0 && !cli_has(t->arguments, "json") && !cli_has(t->arguments, "quiet"))
        printf("# %10s  %-40s %12s %12s\n", "bytes", "candidate", "predicted", "measured");
    for (size_t bytes = 1024; !status && bytes <= (size_t)t->largest; bytes *= 4)
        if (bytes >= (size_t)t->least)
            status = tune_size(t, bytes, err);
    if (!status && t->rank == 0)
        status = save_wisdom(t, err);
    if (!status && t->rank == 0)
        status = print_end(t, err);
    banyan_wisdom_fini(&t->wisdom);
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
    int64_t number = DEFAULT_RANKS;
    int choice;
    banyan_status status = read_size(a, "min", 1024, &t->least, err);

    if (!status)
        status = read_size(a, "max", 64 << 20, &t->largest, err);
    if (!status)
        status = check_sizes(t, err);
    if (!status)
        status = read_count(a, "ranks", MOST_RANKS, &number, err);
    t->candidate_count = 4;
    if (!status)
        status = read_count(a, "candidates", MOST_CANDIDATES, &t->candidate_count, err);
    t->budget_s = 0.5;
    if (!status && budget) {
        status = banyan_value_seconds(budget, 1, &t->budget_s, err);
        if (status)
            cli_blame("budget", err);
    }
    if (!status && transport) {
        status = banyan_value_choice(transport, "auto|shm|tcp", &choice, err);
        if (status)
            cli_blame("transport", err);
    }
    if (!status)
        status = bench_read_datatype(a, &t->type, err);
    *ranks = (int)number;
    t->path = cli_get(a, "wisdom") ? cli_get(a, "wisdom") : file && *file ? file : "banyan.wisdom";
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
    tuning t = {.arguments = arguments, .json = BANYAN_TEXT_EMPTY};
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
    if (status && t.comm)
        banyan_comm_abort(t.comm); /* nobody must wait for us */
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
