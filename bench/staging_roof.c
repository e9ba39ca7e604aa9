/* SPDX-License-Identifier: Apache-2.0 */
/* bench/staging_roof.c: how fast an all-reduce by way of the host can be where processes share a GPU: its
 * copies alone, and nothing added up. Each rank copies a vector of 64 MiB to the host in chunks and back, and
 * a chunk may go back once it has come from all ranks.
 *
 *     put      all copies are put on two streams at once, and a third one says which have ended, as
 *              device/staging.h does; streams wait for words in the host's memory, and at most so many chunks
 *              are between the two streams
 *     issued   the host issues a copy when it may begin, one rank after the other, with two under way: no
 *              stream waits. A library cannot do so: while one thread loads a kernel, the driver's calls
 *              stand still in all threads until the streams have ended, and these would wait for the copies
 *
 * Prints the median time of each way, chunk and limit, the best rate of each way, and those of one direction
 * alone, all ranks at a time.
 *
 *     bench_staging_roof RANKS [MIB...]     chunks of 1, 2, 4 and 8 MiB where none are given */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/relax.h"
#include "device/driver.h"

enum { MAX_RANKS = 16, MAX_CHUNKS = 64, TIMES = 9, WARM = 2, UNDER_WAY = 2 };

#define BYTES ((size_t)64 << 20)

typedef struct {
    _Alignas(64) _Atomic uint32_t value; /* the number of the call that was last here */
} word;

/* In memory of all processes, which all of them have registered. */
typedef struct {
    word fetched[MAX_RANKS][MAX_CHUNKS], ready[MAX_RANKS][MAX_CHUNKS], stored[MAX_RANKS][MAX_CHUNKS];
    _Atomic int arrived, rounds;
    _Atomic int failed;
} shared_state;

enum { PUT, ISSUED, WAYS };

static const char *const names[WAYS] = {"put", "issued"};

typedef struct {
    int kind;
    size_t chunk;
    int limit; /* of chunks that have been fetched and not stored */
} way;

static const banyan_driver *driver;
static shared_state *shared;
static char *host;
static uint64_t host_address, shared_address, sent, received;
static void *fetching, *telling, *storing, *copied[MAX_CHUNKS], *stored[MAX_CHUNKS];
static int ranks, rank, chunks;
static uint32_t call;

static void must(int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "rank %d: %s failed with error %d\n", rank, what, error);
    atomic_store(&shared->failed, 1);
    exit(1);
}

static void wait_or_end(void)
{
    if (atomic_load(&shared->failed))
        exit(1);
    banyan_relax();
}

static void meet(void)
{
    int round = atomic_load(&shared->rounds);

    if (atomic_fetch_add(&shared->arrived, 1) == ranks - 1) {
        atomic_store(&shared->arrived, 0);
        atomic_fetch_add(&shared->rounds, 1);
    }
    while (atomic_load(&shared->rounds) == round)
        wait_or_end();
}

static int has_come(const word *at)
{
    return (int32_t)(atomic_load_explicit(&at->value, memory_order_acquire) - call) >= 0;
}

static int has_come_from_all(int chunk)
{
    for (int i = 0; i < ranks; i++)
        if (!has_come(&shared->fetched[i][chunk]))
            return 0;
    return 1;
}

/* Without flags a wait ends when the word has reached the value. */
static void put_word(void *stream, uint32_t operation, const word *at)
{
    uint64_t offset = (uint64_t)((const char *)at - (const char *)shared);
    banyan_driver_word step = {.operation = operation, .address = shared_address + offset, .value = call};

    must(driver->words(stream, 1, &step, 0), "a word in a stream");
}

static uint64_t slot(const way *w, int chunk)
{
    return host_address + (size_t)rank * BYTES + (size_t)chunk * w->chunk;
}

static void fetch(const way *w, int chunk)
{
    must(driver->copy(slot(w, chunk), sent + (size_t)chunk * w->chunk, w->chunk, fetching), "a copy");
    must(driver->event_record(copied[chunk], fetching), "an event");
    must(driver->stream_wait(telling, copied[chunk], 0), "a wait for an event");
    put_word(telling, BANYAN_DRIVER_WRITE, &shared->fetched[rank][chunk]);
}

static void store(const way *w, int chunk)
{
    must(driver->copy(received + (size_t)chunk * w->chunk, slot(w, chunk), w->chunk, storing), "a copy");
    put_word(storing, BANYAN_DRIVER_WRITE, &shared->stored[rank][chunk]);
}

static void put_all(const way *w)
{
    for (int i = 0; i < w->limit && i < chunks; i++)
        fetch(w, i);
    for (int i = 0; i < chunks; i++) {
        put_word(storing, BANYAN_DRIVER_WAIT, &shared->ready[rank][i]);
        store(w, i);
        if (i + w->limit >= chunks)
            continue;
        must(driver->event_record(stored[i], storing), "an event");
        must(driver->stream_wait(fetching, stored[i], 0), "a wait for an event");
        fetch(w, i + w->limit);
    }
    for (int i = 0; i < chunks; i++) {
        while (!has_come_from_all(i))
            wait_or_end();
        atomic_store_explicit(&shared->ready[rank][i].value, call, memory_order_release);
    }
}

/* Rank r's copy of a chunk is number chunk * ranks + r: it begins when all but the last ones before it have
 * ended. */
static int is_next(word (*done)[MAX_CHUNKS], int chunk)
{
    int before = chunk * ranks + rank - UNDER_WAY;

    return before < 0 || has_come(&done[before % ranks][before / ranks]);
}

static void issue_all(const way *w)
{
    int fetches = 0, stores = 0;

    while (stores < chunks) {
        if (fetches < chunks && is_next(shared->fetched, fetches))
            fetch(w, fetches++);
        if (has_come_from_all(stores) && is_next(shared->stored, stores))
            store(w, stores++);
        wait_or_end();
    }
}

static double run_once(const way *w)
{
    double begin_s;

    call++;
    meet();
    begin_s = banyan_clock_s();
    if (w->kind == ISSUED)
        issue_all(w);
    else
        put_all(w);
    must(driver->stream_synchronize(storing), "waiting for a stream");
    meet();
    return banyan_clock_s() - begin_s;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double measure(const way *w)
{
    double seconds[TIMES];

    chunks = (int)(BYTES / w->chunk);
    for (int i = -WARM; i < TIMES; i++) {
        double one_s = run_once(w);

        if (i >= 0)
            seconds[i] = one_s;
    }
    qsort(seconds, TIMES, sizeof *seconds, compare);
    if (rank == 0)
        printf("%d ranks, %s, chunks of %zu MiB, limit %d: %.3f ms, %.2f GB/s\n", ranks, names[w->kind],
               w->chunk >> 20, w->limit, 1e3 * seconds[TIMES / 2], (double)BYTES / seconds[TIMES / 2] / 1e9);
    return seconds[TIMES / 2];
}

static void set_up(size_t host_bytes)
{
    void *context;

    driver = banyan_driver_cuda();
    if (!driver->library || driver->init(0)) {
        fprintf(stderr, "skipped: there is no GPU here: %s\n", driver->problem);
        atomic_store(&shared->failed, 1);
        exit(77);
    }
    must(driver->context_retain(&context, 0), "opening the device");
    must(driver->context_push(context), "entering its context");
    must(driver->alloc(&sent, BYTES), "an allocation");
    must(driver->alloc(&received, BYTES), "an allocation");
    must(driver->host_register(host, host_bytes, 3), "page-locking");
    must(driver->host_address(&host_address, host, 0), "finding an address");
    must(driver->host_register(shared, sizeof *shared, 3), "page-locking");
    must(driver->host_address(&shared_address, shared, 0), "finding an address");
    must(driver->stream_create(&fetching, 1, 0), "a stream");
    must(driver->stream_create(&telling, 1, 0), "a stream");
    must(driver->stream_create(&storing, 1, 0), "a stream");
    for (int i = 0; i < MAX_CHUNKS; i++) {
        must(driver->event_create(&copied[i], 2), "an event");
        must(driver->event_create(&stored[i], 2), "an event");
    }
}

/* All ranks at a time, in one go each. */
static void measure_direction(int is_fetch)
{
    double seconds[TIMES];

    for (int i = -WARM; i < TIMES; i++) {
        uint64_t here = host_address + (size_t)rank * BYTES;
        double begin_s;

        meet();
        begin_s = banyan_clock_s();
        must(driver->copy(is_fetch ? here : received, is_fetch ? sent : here, BYTES, fetching), "a copy");
        must(driver->stream_synchronize(fetching), "waiting for a stream");
        meet();
        if (i >= 0)
            seconds[i] = banyan_clock_s() - begin_s;
    }
    qsort(seconds, TIMES, sizeof *seconds, compare);
    if (rank == 0)
        printf("# %d ranks, only to the %s: %.2f GB/s\n", ranks, is_fetch ? "host" : "device",
               (double)BYTES / seconds[TIMES / 2] / 1e9);
}

static void measure_all(int size_count, char **sizes)
{
    static char *const usual[] = {"1", "2", "4", "8"};
    const int limits[] = {1, 2, 3, 4, 5, 6, 8, MAX_CHUNKS};
    double best_s[WAYS] = {1e9, 1e9};

    measure_direction(1);
    measure_direction(0);
    for (int i = 0; i < (size_count ? size_count : (int)(sizeof usual / sizeof *usual)); i++)
        for (int kind = 0; kind < WAYS; kind++)
            for (size_t j = 0; j < sizeof limits / sizeof *limits; j++) {
                way w = {kind, (size_t)atoi(size_count ? sizes[i] : usual[i]) << 20, limits[j]};
                double seconds = kind == ISSUED && limits[j] < MAX_CHUNKS ? 1e9 : measure(&w);

                best_s[kind] = seconds < best_s[kind] ? seconds : best_s[kind];
            }
    for (int kind = 0; kind < WAYS && rank == 0; kind++)
        printf("# roof of %d ranks, %s: %.2f GB/s\n", ranks, names[kind], (double)BYTES / best_s[kind] / 1e9);
}

int main(int argc, char **argv)
{
    size_t host_bytes;
    int status = 0, worst = 0;

    ranks = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 2; i < argc; i++)
        if (atoi(argv[i]) < 1 || atoi(argv[i]) > (int)(BYTES >> 20) || (BYTES >> 20) % (size_t)atoi(argv[i]))
            ranks = 0;
    if (ranks < 1 || ranks > MAX_RANKS) {
        fprintf(stderr, "usage: %s RANKS (1 to %d) [MIB...] (that divide %zu)\n", argv[0], MAX_RANKS,
                BYTES >> 20);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    host_bytes = (size_t)ranks * BYTES;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    host = mmap(NULL, host_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || host == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    memset(host, 0, host_bytes);
    for (rank = ranks - 1; rank > 0; rank--)
        if (!fork())
            break;
    set_up(host_bytes);
    measure_all(argc - 2, argv + 2);
    if (rank)
        return 0;
    while (wait(&status) > 0)
        worst = worst > WEXITSTATUS(status) ? worst : WEXITSTATUS(status);
    return worst;
}
