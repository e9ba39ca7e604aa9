/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench.c: banyan bench: a real collective on real buffers, checked and timed, with nccl-tests' flags and
 * columns, through the public interface. Ranks are threads of this process, processes that it forks, or what a
 * launcher has started. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_bound.h"
#include "bench_processes.h"
#include "bench_values.h"
#include "cli.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/settings.h"
#include "core/value.h"

enum { MOST_RANKS = 512 };

static const cli_option options[] = {
    {"ranks", 'n', "N", "how many ranks (default: the workers of --topo, else 4)"},
    {"topo", 't', "SPEC",
     "plan for this network, or probe to measure it (default: BANYAN_TOPO, else all on one switch)"},
    {"algo", 'a', "NAME", "algorithm, or auto (default: auto)"},
    {"collective", 0, "NAME",
     "allreduce, reducescatter, allgather, broadcast or reduce (default: allreduce)"},
    {"minbytes", 'b', "SIZE", "smallest size (default: 1MiB)"},
    {"maxbytes", 'e', "SIZE", "largest size (default: 16MiB)"},
    {"stepbytes", 'i', "SIZE", "step from size to size"},
    {"stepfactor", 'f', "N", "factor from size to size (default: 4)"},
    {"iters", 0, "N", "calls that are timed (default: 20)"},
    {"warmup_iters", 'w', "N", "calls before (default: 2)"},
    {"check", 'c', "0|1", "check the results (default: 1)"},
    {"datatype", 'd', "TYPE", "float32, int8, bfloat16, ... (default: float32)"},
    {"op", 'o', "OP", "sum, prod, max, min or avg (default: sum)"},
    {"root", 'r', "RANK", "root of broadcast and reduce (default: 0)"},
    {"transport", 0, "NAME",
     "memory: ranks are threads (default); shm, tcp, ucx, mpi or auto: they are processes of this machine"},
    {"timeout", 'T', "TIME", "no call takes longer (default: 30s)"},
    {NULL, 0, NULL, NULL}};

typedef struct {
    bench_task task;
    int iterations, warmups, is_checked;
    size_t smallest, largest, step, factor;
    double timeout_s;
    const char *transport; /* «memory»: ranks are threads of this process */
    banyan_comm *own;      /* NULL: ranks are threads; else this process's rank */
    int rank;
} settings;

typedef struct {
    double seconds; /* mean over iterations, of the slowest rank */
    long wrong;
} measurement;

/* What the ranks share, and what each of them is told. */
typedef struct {
    const settings *set;
    size_t bytes; /* of the whole vector, as nccl-tests counts */
    int in_place;
    pthread_barrier_t *start;
} job;

typedef struct {
    const job *job;
    banyan_comm *comm;
    int rank;
    double seconds;
    long wrong;
    banyan_status status;
    banyan_error err;
} worker;

static void name_option(const char *name, banyan_error *err)
{
    char option[32];

    snprintf(option, sizeof option, "--%s", name);
    banyan_error_prefix(err, option);
}

static banyan_status read_size(const cli_arguments *arguments, const char *name, size_t fallback, size_t *out,
                               banyan_error *err)
{
    const char *text = cli_get(arguments, name);
    int64_t value = (int64_t)fallback;
    banyan_status status = text ? banyan_value_bytes(text, &value, err) : BANYAN_SUCCESS;

    if (status)
        name_option(name, err);
    *out = (size_t)value;
    return status;
}

static banyan_status read_int(const cli_arguments *arguments, const char *name, int low, int high,
                              int fallback, int *out, banyan_error *err)
{
    const char *text = cli_get(arguments, name);
    int64_t value = fallback;
    banyan_status status = text ? banyan_value_integer(text, low, high, &value, err) : BANYAN_SUCCESS;

    if (status)
        name_option(name, err);
    *out = (int)value;
    return status;
}

/* nccl-tests says «float», «half», «double»; so may you. */
static int find_datatype(const char *name)
{
    static const struct {
        const char *name;
        int type;
    } known[] = {{"float", BANYAN_FLOAT32},
                 {"half", BANYAN_FLOAT16},
                 {"double", BANYAN_FLOAT64},
#define ENTRY(id, number, text, bytes) {text, number},
                 BANYAN_DATATYPE_MAP(ENTRY)
#undef ENTRY
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name))
            return known[i].type;
    return -1;
}

static int find_op(const char *name)
{
    for (int i = BANYAN_SUM; i <= BANYAN_AVG; i++)
        if (!strcmp(banyan_op_string((banyan_op)i), name))
            return i;
    return -1;
}

static banyan_status read_names(const cli_arguments *arguments, settings *out, banyan_error *err)
{
    const char *type = cli_get(arguments, "datatype"), *op = cli_get(arguments, "op");
    const char *collective = cli_get(arguments, "collective");
    int found_type = type ? find_datatype(type) : BANYAN_FLOAT32, found_op = op ? find_op(op) : BANYAN_SUM;

    out->task.collective = collective ? banyan_collective_find(collective) : BANYAN_COLLECTIVE_ALLREDUCE;
    if (found_type < 0)
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT,
            "--datatype %.40s is not float32, float64, float16, bfloat16, int8, uint8, int32, uint32, "
            "int64 or uint64",
            type);
    if (found_op < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--op %.40s is not sum, prod, max, min or avg", op);
    if (out->task.collective < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--collective %.40s is not a collective",
                           collective);
    out->task.type = (banyan_datatype)found_type;
    out->task.op = (banyan_op)found_op;
    return BANYAN_SUCCESS;
}

static banyan_status read_settings(const cli_arguments *arguments, int workers, settings *out,
                                   banyan_error *err)
{
    const char *timeout = cli_get(arguments, "timeout");
    banyan_status status = read_names(arguments, out, err);
    int factor = 4;

    out->timeout_s = 30;
    if (!status)
        status = read_int(arguments, "ranks", 1, MOST_RANKS, workers ? workers : 4, &out->task.ranks, err);
    if (!status)
        status = read_int(arguments, "iters", 1, 1000000, 20, &out->iterations, err);
    if (!status)
        status = read_int(arguments, "warmup_iters", 0, 1000000, 2, &out->warmups, err);
    if (!status)
        status = read_int(arguments, "check", 0, 1, 1, &out->is_checked, err);
    if (!status)
        status = read_int(arguments, "root", 0, out->task.ranks - 1, 0, &out->task.root, err);
    if (!status)
        status = read_int(arguments, "stepfactor", 2, 1 << 20, 4, &factor, err);
    if (!status)
        status = read_size(arguments, "minbytes", 1 << 20, &out->smallest, err);
    if (!status)
        status = read_size(arguments, "maxbytes", out->smallest > 16 << 20 ? out->smallest : 16 << 20,
                           &out->largest, err);
    if (!status)
        status = read_size(arguments, "stepbytes", 0, &out->step, err);
    if (!status && timeout)
        status = banyan_value_seconds(timeout, 1, &out->timeout_s, err);
    out->factor = (size_t)factor;
    if (!status && out->smallest > out->largest)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--minbytes is above --maxbytes");
    return status;
}

static banyan_status call(const worker *w, const void *send, void *recv, size_t count)
{
    const settings *set = w->job->set;
    size_t share = count / (size_t)set->task.ranks;

    switch (set->task.collective) {
    case BANYAN_COLLECTIVE_REDUCE_SCATTER:
        return banyan_reduce_scatter(send, recv, share, set->task.type, set->task.op, w->comm);
    case BANYAN_COLLECTIVE_ALLGATHER:
        return banyan_all_gather(send, recv, share, set->task.type, w->comm);
    case BANYAN_COLLECTIVE_BROADCAST:
        return banyan_broadcast(send, recv, count, set->task.type, set->task.root, w->comm);
    case BANYAN_COLLECTIVE_REDUCE:
        return banyan_reduce(send, recv, count, set->task.type, set->task.op, set->task.root, w->comm);
    default:
        return banyan_allreduce(send, recv, count, set->task.type, set->task.op, w->comm);
    }
}

/* Where a call in place reads and writes: one's own part where the collective has parts. */
static void place(const worker *w, char *vector, size_t share_bytes, char **send, char **recv)
{
    const int collective = w->job->set->task.collective;
    char *own = vector + share_bytes * (size_t)w->rank;

    *send = collective == BANYAN_COLLECTIVE_ALLGATHER ? own : vector;
    *recv = collective == BANYAN_COLLECTIVE_REDUCE_SCATTER ? own : vector;
}

static void measure_rank(worker *w, char *vector, char *result, size_t count)
{
    const settings *set = w->job->set;
    size_t share_bytes = count / (size_t)set->task.ranks * banyan_datatype_bytes(set->task.type);
    char *send, *recv;
    double begin_s;

    place(w, vector, share_bytes, &send, &recv);
    if (!w->job->in_place)
        recv = result;
    bench_fill(&set->task, w->rank, vector, count);
    if (w->job->start)
        pthread_barrier_wait(w->job->start);
    if (set->is_checked) {
        w->status = call(w, send, recv, count);
        w->wrong = w->status ? 0 : bench_count_wrong(&set->task, w->rank, recv, count);
    }
    for (int i = 0; !w->status && i < set->warmups; i++)
        w->status = call(w, send, recv, count);
    if (!w->status)
        w->status = banyan_barrier(w->comm);
    begin_s = banyan_clock_s();
    for (int i = 0; !w->status && i < set->iterations; i++)
        w->status = call(w, send, recv, count);
    w->seconds = (banyan_clock_s() - begin_s) / set->iterations;
}

static void *run_rank(void *context)
{
    worker *w = context;
    const settings *set = w->job->set;
    size_t width = banyan_datatype_bytes(set->task.type), count = w->job->bytes / width;
    char *vector = banyan_alloc(count + 1, width), *result = banyan_alloc(count + 1, width);

    if (!vector || !result) {
        w->status = banyan_fail(&w->err, BANYAN_SYSTEM_ERROR,
                                "rank %d: no memory for two buffers of %zu bytes", w->rank, w->job->bytes);
        if (w->job->start)
            pthread_barrier_wait(w->job->start);
        banyan_comm_abort(w->comm);
    } else {
        measure_rank(w, vector, result, count);
        if (w->status)
            banyan_fail(&w->err, w->status, "%s", banyan_last_error(w->comm));
    }
    banyan_free(vector);
    banyan_free(result);
    return NULL;
}

/* The first failure that is not only the echo of another rank's. */
static banyan_status first_failure(const worker *workers, int count, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int r = 0; r < count; r++)
        if (workers[r].status &&
            (!status || (status == BANYAN_REMOTE_ERROR && workers[r].status != BANYAN_REMOTE_ERROR))) {
            status = workers[r].status;
            *err = workers[r].err;
        }
    return status;
}

/* Of the slowest rank, and wrong ones of all. */
static banyan_status combine(worker *w)
{
    double seconds = w->seconds;
    int64_t wrong = w->wrong;
    banyan_status status = banyan_allreduce(&seconds, &seconds, 1, BANYAN_FLOAT64, BANYAN_MAX, w->comm);

    if (!status)
        status = banyan_allreduce(&wrong, &wrong, 1, BANYAN_INT64, BANYAN_SUM, w->comm);
    w->seconds = seconds;
    w->wrong = (long)wrong;
    return status;
}

static banyan_status measure_process(const settings *set, size_t bytes, int in_place, measurement *out,
                                     banyan_error *err)
{
    job shared = {.set = set, .bytes = bytes, .in_place = in_place};
    worker w = {.job = &shared, .comm = set->own, .rank = set->rank};

    run_rank(&w);
    if (!w.status) {
        w.status = combine(&w);
        if (w.status)
            banyan_fail(&w.err, w.status, "%s", banyan_last_error(w.comm));
    }
    *out = (measurement){w.seconds, w.wrong};
    *err = w.err;
    return w.status;
}

static banyan_status measure(const settings *set, banyan_comm **comms, size_t bytes, int in_place,
                             measurement *out, banyan_error *err)
{
    pthread_barrier_t start;
    job shared = {.set = set, .bytes = bytes, .in_place = in_place, .start = &start};
    worker *workers = banyan_alloc((size_t)set->task.ranks, sizeof *workers);
    pthread_t threads[MOST_RANKS];
    banyan_status status = BANYAN_SUCCESS;
    int made = 0;

    if (!workers)
        return banyan_fail_memory(err);
    pthread_barrier_init(&start, NULL, (unsigned)set->task.ranks);
    for (; made < set->task.ranks && !status; made++) {
        workers[made] = (worker){.job = &shared, .comm = comms[made], .rank = made};
        if (pthread_create(&threads[made], NULL, run_rank, &workers[made]) != 0)
            status = banyan_fail(err, BANYAN_SYSTEM_ERROR, "thread %d of %d cannot be started", made,
                                 set->task.ranks);
    }
    if (status) {
        /* Those that run wait at the barrier for ever: there is no way on but out. */
        banyan_free(workers);
        return status;
    }
    *out = (measurement){0};
    for (int r = 0; r < set->task.ranks; r++) {
        pthread_join(threads[r], NULL);
        out->seconds = workers[r].seconds > out->seconds ? workers[r].seconds : out->seconds;
        out->wrong += workers[r].wrong;
    }
    status = first_failure(workers, set->task.ranks, err);
    pthread_barrier_destroy(&start);
    banyan_free(workers);
    return status;
}

static double bus_factor(const settings *set)
{
    return cli_bus_factor((banyan_collective)set->task.collective, set->task.ranks);
}

typedef struct {
    const settings *set;
    banyan_text *json;
    double bus_sum;
    double bound;      /* bytes a second; NaN: not known */
    double best_share; /* of it, and at which size */
    size_t best_bytes;
    int row_count;
    long wrong;
} table;

static void print_side(const settings *set, size_t bytes, const measurement *m)
{
    double rate = (double)bytes / m->seconds / 1e9;
    char wrong[24] = "N/A";

    if (set->is_checked)
        snprintf(wrong, sizeof wrong, "%ld", m->wrong);
    printf(" %8.1f %7.3f %7.3f %6s", m->seconds * 1e6, rate, rate * bus_factor(set), wrong);
}

static void json_side(banyan_text *json, const char *name, const table *t, size_t bytes, const measurement *m)
{
    double rate = (double)bytes / m->seconds / 1e9;

    banyan_text_add(json, ",\"%s\":{", name);
    cli_json_number(json, "time", m->seconds * 1e6);
    banyan_text_add(json, ",");
    cli_json_number(json, "alg_bw", rate);
    banyan_text_add(json, ",");
    cli_json_number(json, "bus_bw", rate * bus_factor(t->set));
    banyan_text_add(json, ",");
    cli_json_number(json, "share_of_bound", rate * 1e9 / t->bound);
    banyan_text_add(json, ",\"nwrong\":%ld}", m->wrong);
}

static void note_share(table *t, size_t bytes, double seconds)
{
    double share = (double)bytes / seconds / t->bound;

    if (isfinite(share) && share > t->best_share) {
        t->best_share = share;
        t->best_bytes = bytes;
    }
}

static void print_share(const table *t)
{
    char size[32], rate[32];

    if (t->best_share > 0)
        printf("# Share of the bound   : %.1f %% at %s (no algorithm can do better than %s here)\n",
               100 * t->best_share, banyan_show_bytes((double)t->best_bytes, size, sizeof size),
               banyan_show_rate(t->bound, rate, sizeof rate));
}

static void add_row(table *t, size_t bytes, const measurement *out_of_place, const measurement *in_place)
{
    const settings *set = t->set;
    size_t count = bytes / banyan_datatype_bytes(set->task.type);
    int is_rooted = set->task.collective == BANYAN_COLLECTIVE_BROADCAST ||
                    set->task.collective == BANYAN_COLLECTIVE_REDUCE;
    int moves_only = set->task.collective == BANYAN_COLLECTIVE_BROADCAST ||
                     set->task.collective == BANYAN_COLLECTIVE_ALLGATHER;
    const char *op = moves_only ? "none" : banyan_op_string(set->task.op);

    t->bus_sum +=
        ((double)bytes / out_of_place->seconds + (double)bytes / in_place->seconds) / 2e9 * bus_factor(set);
    t->wrong += out_of_place->wrong + in_place->wrong;
    note_share(t, bytes, fmin(out_of_place->seconds, in_place->seconds));
    if (set->rank > 0) {
        t->row_count++;
        return; /* rank 0 speaks for all */
    }
    if (t->json) {
        banyan_text_add(t->json,
                        "%s\n{\"size\":%zu,\"count\":%zu,\"type\":\"%s\",\"redop\":\"%s\",\"root\":%d",
                        t->row_count ? "," : "", bytes, count, banyan_datatype_string(set->task.type), op,
                        is_rooted ? set->task.root : -1);
        json_side(t->json, "out_of_place", t, bytes, out_of_place);
        json_side(t->json, "in_place", t, bytes, in_place);
        banyan_text_add(t->json, "}");
    } else {
        printf("%12zu %12zu %8s %6s %6d", bytes, count, banyan_datatype_string(set->task.type), op,
               is_rooted ? set->task.root : -1);
        print_side(set, bytes, out_of_place);
        print_side(set, bytes, in_place);
        printf("\n");
        fflush(stdout);
    }
    t->row_count++;
}

static void print_head(const settings *set, const char *topology, const char *algorithm)
{
    printf("# banyan %d.%d.%d %s: %d ranks as %s%s, network %s, algorithm %s\n", BANYAN_VERSION_MAJOR,
           BANYAN_VERSION_MINOR, BANYAN_VERSION_PATCH,
           banyan_collective_name((banyan_collective)set->task.collective), set->task.ranks,
           set->own ? "processes, transport " : "threads of one process", set->own ? set->transport : "",
           topology, algorithm);
    printf("#\n# %65s %41s\n", "out-of-place", "in-place");
    printf("# %10s %12s %8s %6s %6s %8s %7s %7s %6s %8s %7s %7s %6s\n", "size", "count", "type", "redop",
           "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong");
    printf("# %10s %12s %8s %6s %6s %8s %7s %7s %6s %8s %7s %7s %6s\n", "(B)", "(elements)", "", "", "",
           "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
}

static banyan_status run_sizes(table *t, banyan_comm **comms, banyan_error *err)
{
    const settings *set = t->set;
    size_t unit = banyan_datatype_bytes(set->task.type) * (size_t)set->task.ranks;
    banyan_status status = BANYAN_SUCCESS;

    for (size_t bytes = set->smallest; !status && bytes <= set->largest;) {
        int has_parts = set->task.collective == BANYAN_COLLECTIVE_REDUCE_SCATTER ||
                        set->task.collective == BANYAN_COLLECTIVE_ALLGATHER;
        size_t rounded =
            has_parts ? bytes / unit * unit
                      : bytes / banyan_datatype_bytes(set->task.type) * banyan_datatype_bytes(set->task.type);
        measurement sides[2];

        for (int in_place = 0; in_place < 2 && !status; in_place++)
            status = set->own ? measure_process(set, rounded, in_place, &sides[in_place], err)
                              : measure(set, comms, rounded, in_place, &sides[in_place], err);
        if (!status)
            add_row(t, rounded, &sides[0], &sides[1]);
        if (!bytes && !set->step)
            bytes = 1;
        else if (bytes > SIZE_MAX / 2 / set->factor)
            break;
        else
            bytes = set->step ? bytes + set->step : bytes * set->factor;
    }
    return status;
}

static banyan_status finish(table *t, const char *topology, const char *algorithm, const char *began,
                            banyan_error *err)
{
    double average = t->row_count ? t->bus_sum / t->row_count : 0;
    banyan_status status;
    char *text;

    if (!t->json) {
        printf("# Out of bounds values : %ld %s\n# Avg bus bandwidth    : %g\n", t->wrong,
               t->wrong ? "FAILED" : "OK", average);
        print_share(t);
        printf("# Collective test concluded: %s\n",
               banyan_collective_name((banyan_collective)t->set->task.collective));
        return BANYAN_SUCCESS;
    }
    status = banyan_text_take(t->json, &text, err);
    if (status)
        return status;
    printf("{\"version\":\"%d.%d.%d\",\"start_time\":\"%s\",\"config\":{\"ranks\":%d,\"transport\":"
           "\"%s\",\"topology\":\"%s\","
           "\"algorithm\":\"%s\"},\"results\":[%s],\n\"out_of_bounds\":{\"count\":%ld,\"okay\":%s},"
           "\"average_bus_bandwidth\":{\"bandwidth\":%.6g,\"okay\":true}}\n",
           BANYAN_VERSION_MAJOR, BANYAN_VERSION_MINOR, BANYAN_VERSION_PATCH, began, t->set->task.ranks,
           t->set->transport, topology, algorithm, text, t->wrong, t->wrong ? "false" : "true", average);
    banyan_free(text);
    return BANYAN_SUCCESS;
}

static banyan_status count_workers(const char *spec, int *out, banyan_error *err)
{
    banyan_topology *topology;
    banyan_status status;

    *out = 0;
    if (!spec || !strcmp(spec, "probe"))
        return BANYAN_SUCCESS;
    status = banyan_topology_load(spec, &topology, err);
    if (status)
        return status;
    *out = topology->worker_count;
    banyan_topology_destroy(topology);
    return BANYAN_SUCCESS;
}

/* How many ranks there are and where they live; size is what a launcher says, or 0. */
static banyan_status choose_transport(const cli_arguments *arguments, settings *set, int is_launched,
                                      banyan_error *err)
{
    const char *name = cli_get(arguments, "transport");
    int choice;

    set->transport = name ? name : is_launched ? "auto" : "memory";
    if (strcmp(set->transport, "memory") &&
        banyan_value_choice(set->transport, banyan_setting_at(BANYAN_SETTING_TRANSPORT)->form, &choice, NULL))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--transport %.40s is not memory, %s", name,
                           "shm, tcp, ucx, mpi, shm+ucx, shm+mpi or auto");
    return BANYAN_SUCCESS;
}

/* Makes the communicators, runs all sizes and prints the table. */
static int run_table(const cli_arguments *arguments, settings *set, banyan_config *config, int is_launched,
                     const banyan_unique_id *id)
{
    const char *topology = config->topology ? config->topology : "one switch";
    const char *algorithm = config->algorithm ? config->algorithm : "auto";
    banyan_text json = BANYAN_TEXT_EMPTY;
    table t = {.set = set, .json = cli_has(arguments, "json") ? &json : NULL};
    banyan_comm *comms[MOST_RANKS];
    banyan_error err = {""};
    banyan_status status;
    time_t now = time(NULL);
    char began[40] = "";

    strftime(began, sizeof began, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    config->error = err.text;
    config->error_bytes = sizeof err.text;
    if (is_launched)
        status = banyan_comm_init_env(&set->own, config);
    else if (id)
        status = banyan_comm_init_rank(&set->own, set->task.ranks, *id, set->rank, config);
    else
        status = banyan_comm_init_all(comms, set->task.ranks, config);
    /* Ranks that are started here do not go through the network that they are planned for. */
    t.bound = is_launched && set->rank == 0
                  ? bench_bound(config->topology, set->task.ranks, (banyan_collective)set->task.collective)
                  : NAN;
    if (!status && !t.json && set->rank == 0)
        print_head(set, topology, algorithm);
    if (!status) {
        status = run_sizes(&t, comms, &err);
        for (int r = 0; r < set->task.ranks && !set->own; r++)
            banyan_comm_destroy(comms[r]);
        banyan_comm_destroy(set->own);
    }
    if (!status && set->rank == 0)
        status = finish(&t, topology, algorithm, began, &err);
    banyan_text_fini(&json);
    if (status && set->rank > 0 && set->own) /* what ended the group is told in the same words by rank 0 */
        return CLI_FAILED;
    if (status)
        return cli_fail(arguments, status, &err);
    return t.wrong ? CLI_FAILED : CLI_OK;
}

static const char *option_or_variable(const cli_arguments *arguments, const char *option,
                                      const char *variable)
{
    const char *value = cli_get(arguments, option), *fallback = banyan_environment(variable);

    return value || !fallback || !*fallback ? value : fallback;
}

static int run(const cli_arguments *arguments)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_unique_id id;
    banyan_error err = {""};
    settings set = {0};
    banyan_status status;
    int workers = 0, rank = 0, size = 0, is_launched = bench_is_launched(&rank, &size), code;

    config.topology = option_or_variable(arguments, "topo", "BANYAN_TOPO");
    config.algorithm = option_or_variable(arguments, "algo", "BANYAN_ALGO");
    status = choose_transport(arguments, &set, is_launched, &err);
    is_launched = is_launched && strcmp(set.transport, "memory") != 0;
    if (!status)
        status = count_workers(config.topology, &workers, &err);
    if (!status)
        status = read_settings(arguments, is_launched ? size : workers, &set, &err);
    if (!status && is_launched && set.task.ranks != size)
        status = banyan_fail(&err, BANYAN_INVALID_ARGUMENT, "--ranks %d, but the launcher started %d",
                             set.task.ranks, size);
    if (status)
        return cli_fail(arguments, status, &err);
    config.timeout_ms = (int)(set.timeout_s * 1e3) > 0 ? (int)(set.timeout_s * 1e3) : 1;
    set.rank = is_launched ? rank : 0;
    if (is_launched && cli_get(arguments, "transport"))
        setenv("BANYAN_TRANSPORT", set.transport, 1);
    if (is_launched || !strcmp(set.transport, "memory"))
        return run_table(arguments, &set, &config, is_launched, NULL);
    code = bench_fork(set.task.ranks, set.transport, &set.rank, &id);
    return code >= 0 ? code : run_table(arguments, &set, &config, 0, &id);
}

const cli_verb cli_verb_bench = {
    .name = "bench",
    .usage = "[-n RANKS] [--topo SPEC] [--algo NAME] [-b SIZE] [-e SIZE] [-f FACTOR] [-d TYPE] [-o OP]",
    .summary = "a real collective between threads or processes, checked and timed",
    .options = options,
    .run = run};
