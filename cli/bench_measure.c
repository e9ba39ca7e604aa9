/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench_measure.c: the calls themselves: filled, checked once, warmed up, timed. Ranks are threads of
 * this process, or this process is one of them. */
#include <pthread.h>

#include "bench.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "schedule/schedule.h"

/* What the ranks share, and what each of them is told. */
typedef struct {
    const bench_settings *set;
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

static banyan_status call(const worker *w, const void *send, void *recv, size_t count)
{
    const bench_settings *set = w->job->set;
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
    const bench_settings *set = w->job->set;
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

static char *allocate(const bench_settings *set, size_t count, size_t width)
{
    void *memory = NULL;

    if (!set->is_shared)
        return banyan_alloc(count, width);
    return banyan_mem_alloc(&memory, count * width) ? NULL : memory;
}

static void give_back(const bench_settings *set, char *memory)
{
    if (set->is_shared)
        banyan_mem_free(memory);
    else
        banyan_free(memory);
}

static void *run_rank(void *context)
{
    worker *w = context;
    const bench_settings *set = w->job->set;
    size_t width = banyan_datatype_bytes(set->task.type), count = w->job->bytes / width;
    char *vector = allocate(set, count + 1, width), *result = allocate(set, count + 1, width);

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
    give_back(set, vector);
    give_back(set, result);
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

static banyan_status measure_process(const bench_settings *set, size_t bytes, int in_place,
                                     bench_measurement *out, banyan_error *err)
{
    job shared = {.set = set, .bytes = bytes, .in_place = in_place};
    worker w = {.job = &shared, .comm = set->own, .rank = set->rank};

    run_rank(&w);
    if (!w.status) {
        w.status = combine(&w);
        if (w.status)
            banyan_fail(&w.err, w.status, "%s", banyan_last_error(w.comm));
    }
    *out = (bench_measurement){w.seconds, w.wrong};
    *err = w.err;
    return w.status;
}

static banyan_status measure_threads(const bench_settings *set, banyan_comm **comms, size_t bytes,
                                     int in_place, bench_measurement *out, banyan_error *err)
{
    pthread_barrier_t start;
    job shared = {.set = set, .bytes = bytes, .in_place = in_place, .start = &start};
    worker *workers = banyan_alloc((size_t)set->task.ranks, sizeof *workers);
    pthread_t threads[BENCH_MOST_RANKS];
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
    *out = (bench_measurement){0};
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

banyan_status bench_measure(const bench_settings *set, banyan_comm **comms, size_t bytes, int in_place,
                            bench_measurement *out, banyan_error *err)
{
    return set->own ? measure_process(set, bytes, in_place, out, err)
                    : measure_threads(set, comms, bytes, in_place, out, err);
}
