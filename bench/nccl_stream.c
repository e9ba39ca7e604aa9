/* SPDX-License-Identifier: Apache-2.0 */
/* bench/nccl_stream.c: streams of calls as NCCL makes them, through the plugin, and a ring over the plugin's
 * own sends and receives as NCCL's would be, each beside the bound of the network that BANYAN_TOPO names:
 *
 *     banyan run --nccl --net SPEC bench_nccl_stream [-b BYTES] [-c CALL_BYTES] [-n TIMES]
 *
 * A vector of BYTES is cut into calls of CALL_BYTES, of which eight are in flight. The ring cuts it into
 * chunks of the same size per rank, and has eight sends and eight receives in flight. Rank 0 prints one line
 * of JSON: medians of rank 0's seconds, and their ratios to the bound. */
#include <banyan/banyan.h>
#include <banyan/plan.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "multi/nccl_host.h"

enum { FLIGHT = 8, MOST_RANKS = 64, MOST_TIMES = 100 };

typedef struct {
    banyan_comm *comm; /* to meet by */
    int rank, size;
    nccl_plugin plugin;
    void *coll, *sending, *receiving;
    size_t bytes, call_bytes;
    int times;
    char *send, *recv, *slots;
} stream;

static void stop(const char *what)
{
    fprintf(stderr, "bench_nccl_stream: %s\n%s", what, nccl_said);
    exit(1);
}

static void check(int result, const char *what)
{
    if (result)
        stop(what);
}

/* ---- Through the plugin's collectives. */

static void run_collnet(stream *s)
{
    size_t calls = (s->bytes + s->call_bytes - 1) / s->call_bytes, begun = 0, done = 0;
    void *requests[FLIGHT] = {NULL};

    while (done < calls) {
        int is_done = 0;

        if (begun < calls && begun < done + FLIGHT) {
            size_t at = begun * s->call_bytes,
                   bytes = s->bytes - at < s->call_bytes ? s->bytes - at : s->call_bytes;

            check(nccl_coll_allreduce(&s->plugin, s->coll, s->send + at, s->recv + at, bytes / sizeof(float),
                                      BANYAN_FLOAT32, BANYAN_SUM, &requests[begun % FLIGHT]),
                  "iallreduce");
            begun += requests[begun % FLIGHT] != NULL;
        }
        check(nccl_coll_test(&s->plugin, requests[done % FLIGHT], &is_done, NULL), "test");
        done += (size_t)is_done;
        if (!is_done)
            usleep(20); /* NCCL's proxy thread has a core of its own; here ranks share few */
    }
}

/* ---- A ring over its sends and receives: 2 (n - 1) steps for each round of n chunks, in the order of NCCL's
 * kernel, which waits for each receive and leaves sends to the proxy. */

typedef struct {
    void *sends[FLIGHT], *receives[FLIGHT];
    size_t sent, sends_done, posted, received;
} ring;

static void poll_sends(stream *s, ring *r)
{
    int is_done = 1;

    while (r->sends_done < r->sent && is_done) {
        check(nccl_net_test(&s->plugin, r->sends[r->sends_done % FLIGHT], &is_done, NULL), "test of a send");
        r->sends_done += (size_t)is_done;
    }
}

static void ring_send(stream *s, ring *r, char *data, size_t bytes)
{
    while (r->sent == r->sends_done + FLIGHT)
        poll_sends(s, r);
    check(nccl_net_send(&s->plugin, s->sending, data, bytes, &r->sends[r->sent % FLIGHT]), "isend");
    r->sent++;
}

static void post_receives(stream *s, ring *r, size_t total)
{
    while (r->posted < total && r->posted < r->received + FLIGHT) {
        check(nccl_net_receive(&s->plugin, s->receiving, s->slots + r->posted % FLIGHT * s->call_bytes,
                               s->call_bytes, &r->receives[r->posted % FLIGHT]),
              "irecv");
        r->posted++;
    }
}

static char *ring_receive(stream *s, ring *r, size_t total)
{
    int is_done = 0;

    post_receives(s, r, total);
    while (!is_done) {
        check(nccl_net_test(&s->plugin, r->receives[r->received % FLIGHT], &is_done, NULL),
              "test of a receive");
        poll_sends(s, r);
        if (!is_done)
            usleep(20);
    }
    return s->slots + r->received % FLIGHT * s->call_bytes;
}

/* Frees the slot: its data has been added or copied. */
static void ring_consume(stream *s, ring *r, size_t total)
{
    r->received++;
    post_receives(s, r, total);
}

static void add(float *to, const char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        float value;

        memcpy(&value, from + i * sizeof value, sizeof value);
        to[i] += value;
    }
}

static void ring_round(stream *s, ring *r, size_t at, size_t chunk, size_t total)
{
    int n = s->size;

    for (int step = 0; step < 2 * (n - 1) + 1; step++) {
        int piece = ((s->rank - step) % n + 2 * n) % n;
        char *data = s->recv + at + (size_t)piece * chunk;

        if (step > 0) {
            char *got = ring_receive(s, r, total);

            if (step < n)
                add((float *)(void *)data, got, chunk);
            else
                memcpy(data, got, chunk);
            ring_consume(s, r, total);
        }
        if (step < 2 * (n - 1))
            ring_send(s, r, data, chunk);
    }
}

/* In place in recv, whose values do not matter. */
static void run_ring(stream *s)
{
    size_t n = (size_t)s->size, most = s->call_bytes * n, rounds = (s->bytes + most - 1) / most;
    ring r = {.sent = 0};

    for (size_t i = 0; i < rounds; i++) {
        size_t at = i * most, left = s->bytes - at < most ? s->bytes - at : most;

        ring_round(s, &r, at, left / n / sizeof(float) * sizeof(float), rounds * 2 * (n - 1));
    }
    while (r.sends_done < r.sent)
        poll_sends(s, &r);
}

/* ---- Set-up and figures. */

static void open_coll(stream *s)
{
    char handle[NCCL_HANDLE_BYTES], all[MOST_RANKS][NCCL_HANDLE_BYTES];
    void *handles[MOST_RANKS], *listening;

    check(nccl_coll_listen(&s->plugin, handle, &listening), "listen");
    check((int)banyan_all_gather(handle, all, sizeof handle, BANYAN_INT8, s->comm), "exchange of handles");
    for (int i = 0; i < s->size; i++)
        handles[i] = all[i];
    check(nccl_coll_connect(&s->plugin, handles, s->size, s->rank, listening, &s->coll), "connect");
    nccl_coll_close_listen(&s->plugin, listening);
}

static void open_net(stream *s)
{
    char handle[NCCL_HANDLE_BYTES], all[MOST_RANKS][NCCL_HANDLE_BYTES];
    void *listening;
    double until_s = banyan_clock_s() + 60;

    check(nccl_net_listen(&s->plugin, handle, &listening), "listen");
    check((int)banyan_all_gather(handle, all, sizeof handle, BANYAN_INT8, s->comm), "exchange of handles");
    while (!s->sending || !s->receiving) {
        if (!s->sending)
            check(nccl_net_connect(&s->plugin, all[(s->rank + 1) % s->size], &s->sending), "connect");
        if (!s->receiving)
            check(nccl_net_accept(&s->plugin, listening, &s->receiving), "accept");
        check(banyan_clock_s() > until_s, "no connection within 60 s");
    }
    nccl_net_close_listen(&s->plugin, listening);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double measure(stream *s, void (*function)(stream *))
{
    double seconds[MOST_TIMES];

    for (int i = -2; i < s->times; i++) { /* two to warm up: plans, connections, windows */
        double begin_s;

        check((int)banyan_barrier(s->comm), "barrier");
        begin_s = banyan_clock_s();
        function(s);
        check((int)banyan_barrier(s->comm), "barrier");
        if (i >= 0)
            seconds[i] = banyan_clock_s() - begin_s;
    }
    qsort(seconds, (size_t)s->times, sizeof *seconds, by_value);
    return seconds[s->times / 2];
}

static double bound_s(const stream *s, const char *network)
{
    banyan_bounds_config config = BANYAN_BOUNDS_CONFIG_INITIALIZER;
    banyan_bounds_info info = {.size = sizeof info};
    banyan_topology *topology = NULL;
    banyan_bounds *bounds = NULL;
    banyan_error err = {""};

    config.collective = "allreduce";
    if (!*network || banyan_topology_load(network, &topology, &err) ||
        banyan_bounds_create(topology, &config, &bounds, &err) || banyan_bounds_get_info(bounds, &info, &err))
        stop(*err.text ? err.text : "BANYAN_TOPO is not set");
    banyan_bounds_destroy(bounds);
    banyan_topology_destroy(topology);
    return (double)s->bytes / info.allreduce_bytes_per_s;
}

static void check_values(const stream *s)
{
    const float *got = (const float *)(const void *)s->recv;

    for (size_t i = 0; i < s->bytes / sizeof(float); i++)
        if (got[i] != (float)(s->size * (s->size + 1) / 2))
            stop("a sum is wrong");
}

static void read_options(int count, char **words, stream *s)
{
    int letter;

    *s = (stream){.bytes = 16 << 20, .call_bytes = 512 << 10, .times = 5};
    while ((letter = getopt(count, words, "b:c:n:")) != -1)
        if (letter == 'b')
            s->bytes = strtoul(optarg, NULL, 10);
        else if (letter == 'c')
            s->call_bytes = strtoul(optarg, NULL, 10);
        else if (letter == 'n')
            s->times = atoi(optarg);
        else
            exit(2);
    check(s->times < 1 || s->times > MOST_TIMES || s->call_bytes < 64 || s->bytes < s->call_bytes, "options");
}

int main(int count, char **words)
{
    const char *network = getenv("BANYAN_TOPO"), *plugin = getenv("NCCL_NET_PLUGIN");
    double ours_s, ring_s, least_s;
    stream s;

    read_options(count, words, &s);
    check((int)banyan_comm_init_env(&s.comm, NULL), "ranks do not meet: start them with banyan run --nccl");
    banyan_comm_rank(s.comm, &s.rank);
    banyan_comm_size(s.comm, &s.size);
    check(!plugin || !nccl_load(plugin, NCCL_LAST_VERSION, &s.plugin),
          "NCCL_NET_PLUGIN: banyan run --nccl sets it");
    check(nccl_net_init(&s.plugin) || nccl_coll_init(&s.plugin), "init");
    s.send = malloc(s.bytes);
    s.recv = malloc(s.bytes);
    s.slots = malloc(FLIGHT * s.call_bytes);
    check(!s.send || !s.recv || !s.slots, "memory");
    for (size_t i = 0; i < s.bytes / sizeof(float); i++)
        ((float *)(void *)s.send)[i] = (float)(s.rank + 1);
    open_coll(&s);
    open_net(&s);
    least_s = s.rank ? 0 : bound_s(&s, network ? network : "");
    ours_s = measure(&s, run_collnet);
    check_values(&s);
    ring_s = measure(&s, run_ring);
    if (s.rank == 0)
        printf("{\"network\":\"%s\",\"ranks\":%d,\"bytes\":%zu,\"call_bytes\":%zu,\"bound_s\":%.6f,\"banyan_"
               "s\":%.6f,"
               "\"ring_s\":%.6f,\"banyan_ratio\":%.3f,\"ring_ratio\":%.3f}\n",
               network, s.size, s.bytes, s.call_bytes, least_s, ours_s, ring_s, ours_s / least_s,
               ring_s / least_s);
    banyan_barrier(s.comm);
    nccl_coll_close(&s.plugin, s.coll);
    nccl_net_close(&s.plugin, s.sending, 1);
    nccl_net_close(&s.plugin, s.receiving, 0);
    banyan_comm_destroy(s.comm);
    free(s.send);
    free(s.recv);
    free(s.slots);
    return 0;
}
