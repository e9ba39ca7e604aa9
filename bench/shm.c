/* SPDX-License-Identifier: Apache-2.0 */
/* bench/shm.c: all-reduce between processes of this machine, held against the speed of a plain copy.
 *
 *   bench_shm [--registered|--slots|--read|--regions] [--out-of-place] [--used] [--algo NAME]
 *             [--iterations N]
 *             [--bytes SIZE] [RANKS...]
 *
 * For 2, 4 and 8 ranks and 1, 16 and 64 MiB (or SIZE) of float32: the median and the least time of a call at
 * the slowest rank, and the median's ratio to p n / copy bandwidth: the time in which one core copies all
 * ranks' vectors once. The copy is measured between the runs, on vectors that are as cold. Calls are in place
 * unless --out-of-place. Without a way (--slots, --read, --regions) ranks work in workspaces, as they do for
 * banyan.h; with --registered and --regions vectors lie in shared memory. With --used each rank writes its
 * input before each call and reads its result after it, as programs do: then they are in that core's cache,
 * and in no other's. Results are checked. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/value.h"
#include "execute/run.h"
#include "transport/shared.h"
#include "transport/shm.h"

enum { MOST_RANKS = 64, MOST_ITERATIONS = 4096 };

typedef struct {
    const char *algorithm;
    int ranks, iterations;
    size_t bytes;
    banyan_shm_way way;
    int is_shared, is_apart, is_used;
} job;

/* Where the processes meet and leave their times. */
typedef struct {
    pthread_barrier_t barrier;
    char blobs[MOST_RANKS][256];
    double seconds[MOST_ITERATIONS]; /* of the slowest rank */
} table;

typedef struct {
    table *table;
    int rank, ranks;
} participant;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench_shm: %s\n", what);
    exit(1);
}

static banyan_status allgather(void *context, const void *mine, size_t bytes, void *all, int64_t deadline_ns,
                               banyan_error *err)
{
    const participant *s = context;

    (void)deadline_ns;
    (void)err;
    memcpy(s->table->blobs[s->rank], mine, bytes);
    pthread_barrier_wait(&s->table->barrier);
    for (int i = 0; i < s->ranks; i++)
        memcpy((char *)all + (size_t)i * bytes, s->table->blobs[i], bytes);
    pthread_barrier_wait(&s->table->barrier);
    return BANYAN_SUCCESS;
}

static banyan_schedule *plan(const job *j)
{
    banyan_problem problem = {.collective = BANYAN_COLLECTIVE_ALLREDUCE, .bytes = j->bytes};
    const banyan_algorithm *algorithm = banyan_algorithm_find(j->algorithm);
    banyan_schedule *schedule;
    banyan_topology *topology;
    char spec[32];
    int *active;
    banyan_error err = {"no such algorithm"};

    snprintf(spec, sizeof spec, "full:%d", j->ranks);
    if (!algorithm || banyan_topology_load(spec, &topology, &err))
        fail(err.text);
    if (banyan_topology_parse_active(topology, NULL, &active, &problem.active_count, &err))
        fail(err.text);
    problem.topology = topology;
    problem.active = active;
    if (banyan_algorithm_build(algorithm, &problem, &schedule, &err))
        fail(err.text);
    banyan_free(active);
    banyan_topology_destroy(topology);
    return schedule;
}

static void fill(float *buffer, size_t count, int rank)
{
    for (size_t i = 0; i < count; i++)
        buffer[i] = (float)(i % 100 + (size_t)rank);
}

static void check(const float *buffer, size_t count, int ranks)
{
    for (size_t i = 0; i < count; i++)
        if (buffer[i] != (float)(i % 100 * (size_t)ranks + (size_t)(ranks * (ranks - 1) / 2)))
            fail("a wrong sum");
}

static void *allocate(const job *j)
{
    banyan_error err;
    void *memory;

    if (!j->is_shared)
        return malloc(j->bytes);
    if (banyan_shared_memory_alloc(j->bytes, &memory, &err))
        fail(err.text);
    return memory;
}

/* Keeps the slowest rank's time. */
static void note(participant *s, int iteration, double seconds)
{
    pthread_barrier_wait(&s->table->barrier);
    for (int rank = 0; rank < s->ranks; rank++) {
        if (rank == s->rank && seconds > s->table->seconds[iteration])
            s->table->seconds[iteration] = seconds;
        pthread_barrier_wait(&s->table->barrier);
    }
}

static void use(const job *j, const banyan_run_request *request, int rank)
{
    void *input = (void *)(uintptr_t)(request->input ? request->input : request->buffer);
    const float *result = request->buffer;
    volatile float kept;
    float sum = 0;

    for (size_t i = 0; i < request->count && j->is_used; i++)
        sum += result[i];
    kept = sum; /* so that the loop is not left out */
    (void)kept;
    if (j->is_used)
        fill(input, request->count, rank);
}

static void work(const job *j, const banyan_schedule *schedule, participant *s)
{
    banyan_shm_meeting meeting = {.exchange = {allgather, s}, .deadline_ns = INT64_MAX, .way = j->way};
    banyan_opening opening = {s->rank, schedule->node_count, &meeting};
    banyan_run_request request = {
        .count = j->bytes / sizeof(float), .type = BANYAN_FLOAT32, .op = BANYAN_SUM, .timeout_ms = 60000};
    banyan_dependencies *dependencies;
    banyan_endpoint *endpoint;
    banyan_program *program;
    banyan_runner *runner;
    banyan_error err;

    if (banyan_transport_shm.open(&opening, &endpoint, &err) ||
        banyan_dependencies_derive(schedule, &dependencies, &err) ||
        banyan_program_compile(schedule, dependencies, s->rank, &program, &err) ||
        banyan_runner_create(program, endpoint, 0, 60000, &runner, &err))
        fail(err.text);
    request.buffer = allocate(j);
    fill(request.buffer, request.count, s->rank);
    if (j->is_apart) {
        request.input = request.buffer;
        request.buffer = allocate(j);
        memset(request.buffer, 1, j->bytes);
    }
    for (int i = -1; i < j->iterations; i++) { /* the first one warms up */
        double start_s;

        if (i >= 0)
            use(j, &request, s->rank);
        pthread_barrier_wait(&s->table->barrier);
        start_s = banyan_clock_s();
        if (banyan_runner_run(runner, &request, &err))
            fail(err.text);
        if (i < 0) {
            check(request.buffer, request.count, s->ranks);
            memset(request.buffer, 0, j->bytes);
        } else {
            note(s, i, banyan_clock_s() - start_s);
        }
    }
    pthread_barrier_wait(&s->table->barrier);
    banyan_transport_shm.close(endpoint);
    _exit(0);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median of a call at the slowest rank, and the least. */
static double measure(const job *j, double *least_s)
{
    banyan_schedule *schedule = plan(j);
    table *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t shared;
    double median_s;
    int end, failed = 0;

    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&t->barrier, &shared, (unsigned)j->ranks);
    fflush(NULL);
    for (int rank = 0; rank < j->ranks; rank++)
        if (!fork())
            work(j, schedule, &(participant){t, rank, j->ranks});
    while (wait(&end) > 0)
        failed |= end;
    if (failed)
        fail("a rank failed");
    qsort(t->seconds, (size_t)j->iterations, sizeof *t->seconds, by_size);
    median_s = t->seconds[j->iterations / 2];
    *least_s = t->seconds[0];
    munmap(t, sizeof *t);
    banyan_schedule_destroy(schedule);
    return median_s;
}

static double copy_bytes_per_s(void)
{
    size_t bytes = (size_t)64 << 20;
    char *from = malloc(bytes), *to = malloc(bytes);
    double best_s = 1e9;

    memset(from, 1, bytes);
    memset(to, 2, bytes);
    for (int i = 0; i < 5; i++) {
        double start_s = banyan_clock_s(), took_s;

        memcpy(to, from, bytes);
        __asm__ volatile("" ::"r"(to) : "memory");
        took_s = banyan_clock_s() - start_s;
        best_s = took_s < best_s ? took_s : best_s;
    }
    free(from);
    free(to);
    return (double)bytes / best_s;
}

static void measure_ranks(job j)
{
    static const size_t sizes[] = {(size_t)1 << 20, (size_t)16 << 20, (size_t)64 << 20};
    int count = j.bytes ? 1 : 3;

    for (int i = 0; i < count; i++) {
        double copy, seconds, least_s, bound_s;

        j.bytes = count == 1 ? j.bytes : sizes[i];
        copy = copy_bytes_per_s();
        seconds = measure(&j, &least_s);
        bound_s = j.ranks * (double)j.bytes / copy;
        printf("%6d %10zu %12.4f %12.4f %12.4f %8.2f %10.2f\n", j.ranks, j.bytes, 1e3 * seconds,
               1e3 * least_s, 1e3 * bound_s, seconds / bound_s, copy * 1e-9);
        fflush(stdout);
    }
}

static size_t read_bytes(const char *text)
{
    int64_t bytes;
    banyan_error err;

    if (banyan_value_bytes(text, &bytes, &err))
        fail(err.text);
    if (bytes < (int64_t)sizeof(float) || bytes > (int64_t)4 << 30)
        fail("from 4 bytes to 4 GiB");
    return (size_t)bytes;
}

int main(int count, char **words)
{
    static const char *const ways[] = {"workspaces", "read across processes", "slots"};
    job j = {.algorithm = "direct", .iterations = 10};
    int ranks[MOST_RANKS] = {2, 4, 8}, rank_counts = 0;

    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "--slots"))
            j.way = BANYAN_SHM_ONLY_SLOTS;
        else if (!strcmp(words[i], "--read"))
            j.way = BANYAN_SHM_READ_PROCESS;
        else if (!strcmp(words[i], "--regions")) {
            j.way = BANYAN_SHM_READ_PROCESS;
            j.is_shared = 1;
        } else if (!strcmp(words[i], "--registered"))
            j.is_shared = 1;
        else if (!strcmp(words[i], "--used"))
            j.is_used = 1;
        else if (!strcmp(words[i], "--out-of-place"))
            j.is_apart = 1;
        else if (!strcmp(words[i], "--algo") && i + 1 < count)
            j.algorithm = words[++i];
        else if (!strcmp(words[i], "--iterations") && i + 1 < count)
            j.iterations = atoi(words[++i]);
        else if (!strcmp(words[i], "--bytes") && i + 1 < count)
            j.bytes = read_bytes(words[++i]);
        else if (atoi(words[i]) >= 1 && atoi(words[i]) <= MOST_RANKS && rank_counts < MOST_RANKS)
            ranks[rank_counts++] = atoi(words[i]);
        else
            fail("usage: bench_shm [--registered|--slots|--read|--regions] [--out-of-place] [--used] [--algo "
                 "NAME] "
                 "[--iterations N] [--bytes SIZE] [RANKS...]");
    }
    if (j.iterations < 1 || j.iterations > MOST_ITERATIONS)
        fail("from 1 to 4096 iterations");
    printf("# %s, %s%s, %s%s\n# ranks    bytes    median ms     least ms  p n/copy ms    ratio  copy GB/s\n",
           j.algorithm, ways[j.way], j.is_shared ? ", shared memory" : "", j.is_apart ? "apart" : "in place",
           j.is_used ? ", used in between" : "");
    for (int i = 0; i < (rank_counts ? rank_counts : 3); i++) {
        j.ranks = ranks[i];
        measure_ranks(j);
    }
    return 0;
}
