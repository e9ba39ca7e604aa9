/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench_measure.c: the calls themselves: filled, checked once, warmed up, timed. Ranks are threads of
 * this process, or this process is one of them. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/settings.h"
#include "device/roofs.h"
#include "execute/copy.h"
#include "execute/copy_wide.h"
#include "schedule/schedule.h"

#define ROOF_BYTES ((size_t)256 << 20) /* of what is copied to find the roof */
#define MEMORY_BLOCK_BYTES ((size_t)4 << 10)
#define MEMORY_COPIES 5

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
    banyan_device *device; /* NULL: vectors are the host's */
    void *stream;
    double seconds;
    long wrong;
    banyan_status status;
    banyan_error err;
} worker;

/* ---- Vectors on devices. */

banyan_status bench_open_device(bench_settings *set, banyan_error *err)
{
    const char *local = banyan_environment("BANYAN_LOCAL_RANK");
    int count = banyan_device_count(), rank = local && *local ? atoi(local) : set->rank;
    banyan_device *device;

    set->device = count ? rank % count : 0;
    return banyan_device_open(set->device, &device, err);
}

static banyan_status measure_alone(const bench_settings *set, banyan_device *device, bench_roofs *out,
                                   banyan_error *err)
{
    int is_real = strcmp(device->table->name, "emulated") != 0;
    banyan_device_roofs roofs = {0};
    banyan_status status = BANYAN_SUCCESS;

    if (set->rank == 0)
        status = banyan_device_measure_roofs(device, is_real ? ROOF_BYTES : ROOF_BYTES / 64, &roofs, err);
    if (!status && set->rank == 0)
        status = banyan_device_measure_launch(device, is_real ? 2000 : 200, &out->launch_s, err);
    out->copy_bytes_per_s = roofs.copy_bytes_per_s;
    out->host_bytes_per_s = roofs.host_bytes_per_s;
    return status;
}

/* Each rank's vector is read and written once: by its device's memory, or over its device's way to the
 * host. */
static double roof_of(const bench_settings *set, const bench_roofs *r)
{
    double sharers = (double)set->task.ranks / r->device_count;

    return set->is_staged ? r->host_bytes_per_s / sharers : r->copy_bytes_per_s / (2 * sharers);
}

banyan_status bench_measure_roofs(const bench_settings *set, bench_roofs *out, banyan_error *err)
{
    banyan_device *device;
    double launch_s = 0;
    int64_t highest = set->device;
    banyan_status status = banyan_device_open(set->device, &device, err);

    *out = (bench_roofs){.device_count = 1};
    if (status)
        return status;
    memcpy(out->name, device->name, sizeof out->name);
    status = measure_alone(set, device, out, err);
    if (!status)
        status = banyan_barrier(set->own);
    if (!status)
        status = banyan_device_measure_launch(device, 500, &launch_s, err);
    if (!status)
        status = banyan_allreduce(&launch_s, &launch_s, 1, BANYAN_FLOAT64, BANYAN_MAX, set->own);
    if (!status)
        status = banyan_allreduce(&highest, &highest, 1, BANYAN_INT64, BANYAN_MAX, set->own);
    out->launch_all_s = launch_s;
    out->device_count = (int)highest + 1;
    out->roof_bytes_per_s = roof_of(set, out);
    return status;
}

/* Drivers wait without pause, on a core of their own each. Staged calls need those cores to add up what
 * passes through the host, as they would in a program that does something else meanwhile. */
static banyan_status wait_for_stream(worker *w)
{
    const banyan_device_table *table = w->device->table;
    struct timespec pause = {.tv_nsec = 20000};
    banyan_device_event *reached = NULL;
    banyan_status status = BANYAN_SUCCESS;

    if (w->job->set->is_staged) {
        status = table->event_create(w->device, &reached, &w->err);
        if (!status)
            status = table->record(w->device, w->stream, reached, &w->err);
        if (!status)
            while ((status = table->is_ready(w->device, reached, &w->err)) == BANYAN_IN_PROGRESS)
                nanosleep(&pause, NULL);
        table->event_destroy(w->device, reached);
    }
    return status ? status : table->synchronize(w->device, w->stream, &w->err);
}

static banyan_status copy_and_wait(worker *w, void *into, const void *from, size_t bytes)
{
    banyan_status status = w->device->table->copy(w->device, w->stream, into, from, bytes, &w->err);

    return status ? status : w->device->table->synchronize(w->device, w->stream, &w->err);
}

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
        if (w->device)
            return banyan_allreduce_on(send, recv, count, set->task.type, set->task.op, w->comm, set->device,
                                       w->stream);
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

static void fill(worker *w, char *vector, char *host, size_t count)
{
    const bench_task *task = &w->job->set->task;

    bench_fill(task, w->rank, w->device ? host : vector, count);
    if (w->device)
        w->status = copy_and_wait(w, vector, host, count * banyan_datatype_bytes(task->type));
}

static long count_wrong(worker *w, char *recv, char *host, size_t count)
{
    const bench_task *task = &w->job->set->task;

    if (w->device)
        w->status = copy_and_wait(w, host, recv, count * banyan_datatype_bytes(task->type));
    return w->status ? 0 : bench_count_wrong(task, w->rank, w->device ? host : recv, count);
}

/* host: as long as the vector, where that lies on a device. */
static void measure_rank(worker *w, char *vector, char *result, char *host, size_t count)
{
    const bench_settings *set = w->job->set;
    size_t share_bytes = count / (size_t)set->task.ranks * banyan_datatype_bytes(set->task.type);
    char *send, *recv;
    double begin_s;

    place(w, vector, share_bytes, &send, &recv);
    if (!w->job->in_place)
        recv = result;
    fill(w, vector, host, count);
    if (w->job->start)
        pthread_barrier_wait(w->job->start);
    if (set->is_checked && !w->status) {
        w->status = call(w, send, recv, count);
        w->wrong = w->status ? 0 : count_wrong(w, recv, host, count);
    }
    for (int i = 0; !w->status && i < set->warmups; i++)
        w->status = call(w, send, recv, count);
    if (!w->status && w->device)
        w->status = wait_for_stream(w);
    if (!w->status)
        w->status = banyan_barrier(w->comm);
    begin_s = banyan_clock_s();
    for (int i = 0; !w->status && i < set->iterations; i++)
        w->status = call(w, send, recv, count);
    if (!w->status && w->device)
        w->status = wait_for_stream(w);
    if (!w->status && w->device)
        banyan_comm_get_async_error(w->comm, &w->status);
    w->seconds = (banyan_clock_s() - begin_s) / set->iterations;
}

static char *allocate(const bench_settings *set, size_t count, size_t width)
{
    void *memory = NULL;

    if (set->gpu)
        return banyan_mem_alloc_on(&memory, count * width, set->device) ? NULL : memory;
    if (!set->is_shared)
        return banyan_alloc(count, width);
    return banyan_mem_alloc(&memory, count * width) ? NULL : memory;
}

static void give_back(const bench_settings *set, char *memory)
{
    if (set->gpu)
        banyan_mem_free_on(memory, set->device);
    else if (set->is_shared)
        banyan_mem_free(memory);
    else
        banyan_free(memory);
}

static banyan_status open_stream(worker *w)
{
    banyan_status status = banyan_device_open(w->job->set->device, &w->device, &w->err);

    return status ? status : w->device->table->stream_create(w->device, &w->stream, &w->err);
}

static void *run_rank(void *context)
{
    worker *w = context;
    const bench_settings *set = w->job->set;
    size_t width = banyan_datatype_bytes(set->task.type), count = w->job->bytes / width;
    char *vector = allocate(set, count + 1, width), *result = allocate(set, count + 1, width),
         *host = set->gpu ? banyan_alloc(count + 1, width) : NULL;

    if (set->gpu)
        w->status = open_stream(w);
    if (!vector || !result || (set->gpu && !host) || w->status) {
        w->status = banyan_fail(&w->err, BANYAN_SYSTEM_ERROR,
                                "rank %d: no memory for two buffers of %zu bytes", w->rank, w->job->bytes);
        if (w->job->start)
            pthread_barrier_wait(w->job->start);
        banyan_comm_abort(w->comm);
    } else {
        measure_rank(w, vector, result, host, count);
        if (w->status && *banyan_last_error(w->comm))
            banyan_fail(&w->err, w->status, "%s", banyan_last_error(w->comm));
    }
    if (w->device)
        w->device->table->stream_destroy(w->device, w->stream);
    banyan_free(host);
    give_back(set, vector);
    give_back(set, result);
    return NULL;
}

/* ---- What memory can do. */

/* By blocks that stay in the first cache, as the library adds up. */
static void copy_vector(banyan_copy copy, char *into, const char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += MEMORY_BLOCK_BYTES)
        copy(into + at, from + at, bytes - at < MEMORY_BLOCK_BYTES ? bytes - at : MEMORY_BLOCK_BYTES);
    banyan_copy_settle();
}

/* Of the slowest rank. */
static banyan_status time_copy(const bench_settings *set, banyan_copy copy, char *into, const char *from,
                               double *seconds)
{
    banyan_status status = banyan_barrier(set->own);
    double begin_s = banyan_clock_s();

    copy_vector(copy, into, from, set->largest);
    *seconds = banyan_clock_s() - begin_s;
    return status ? status : banyan_allreduce(seconds, seconds, 1, BANYAN_FLOAT64, BANYAN_MAX, set->own);
}

/* The fastest of several, with either kind of stores; the first ones touch the pages. */
static banyan_status time_copies(const bench_settings *set, char *into, const char *from, double *least)
{
    banyan_copies copies = banyan_copies_best();
    banyan_status status = BANYAN_SUCCESS;
    double seconds;

    *least = INFINITY;
    for (int i = 0; i < 2 * MEMORY_COPIES && !status; i++) {
        status = time_copy(set, i % 2 ? copies.past_cache : copies.plainly, into, from, &seconds);
        if (!status && i > 1 && seconds < *least)
            *least = seconds;
    }
    return status;
}

banyan_status bench_measure_memory(const bench_settings *set, bench_memory *out, banyan_error *err)
{
    char *from = allocate(set, set->largest, 1), *into = allocate(set, set->largest, 1);
    double apart = 0, in_place = 0;
    banyan_status status = BANYAN_SUCCESS;

    if (from && into) {
        memset(from, 1, set->largest);
        status = time_copies(set, into, from, &apart);
        if (!status)
            status = time_copies(set, from, from, &in_place);
        if (status)
            banyan_fail(err, status, "%s", banyan_last_error(set->own));
    } else {
        status = banyan_fail(err, BANYAN_SYSTEM_ERROR, "rank %d: no memory for two buffers of %zu bytes",
                             set->rank, set->largest);
        banyan_comm_abort(set->own);
    }
    give_back(set, from);
    give_back(set, into);
    *out = (bench_memory){(double)set->largest / apart, (double)set->largest / in_place};
    return status;
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
    pthread_t threads[BENCH_MAX_RANKS];
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
