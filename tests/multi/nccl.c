/* SPDX-License-Identifier: Apache-2.0 */
/* The NCCL plugin, with a host that does what NCCL does: processes, host memory, streams of calls with eight
 * in flight, all versions of the tables, and faults. */
#include "multi/jobs.h"
#include "multi/nccl_host.h"

enum { FLIGHT = 8 }; /* calls that NCCL has under way */

typedef struct {
    job_rank *self;
    nccl_plugin plugin;
    void *comm;
} node;

/* Waits for a request as NCCL does, by asking again and again. -1: an error; -2: not in time. */
static int await(nccl_plugin *p, nccl_result (*test)(nccl_plugin *, void *, int *, int *), void *request,
                 double seconds)
{
    struct timespec pause = {.tv_nsec = 50000};
    double until_s = banyan_clock_s() + seconds;
    int is_done = 0, bytes = 0;

    while (!is_done) {
        if (test(p, request, &is_done, &bytes))
            return -1;
        if (!is_done && banyan_clock_s() > until_s)
            return -2;
        if (!is_done)
            nanosleep(&pause, NULL); /* ranks share few cores here */
    }
    return bytes;
}

static int load(job_rank *self, int version, nccl_plugin *p)
{
    int count = 0;

    nccl_said[0] = '\0';
    EXPECT(nccl_load(NCCL_PLUGIN, version, p), "no plugin");
    EXPECT(!nccl_net_init(p) && !nccl_coll_init(p), "version %d: init: %s", version, nccl_said);
    EXPECT(!nccl_net_devices(p, &count) && count == 1, "version %d: %d net devices", version, count);
    EXPECT(!nccl_coll_devices(p, &count) && count == 1, "version %d: %d collnet devices", version, count);
    return 0;
}

static nccl_result meet(node *n, int size)
{
    char handle[NCCL_HANDLE_BYTES], all[MOST_RANKS][NCCL_HANDLE_BYTES];
    void *handles[MOST_RANKS], *listening = NULL;
    nccl_result result = nccl_coll_listen(&n->plugin, handle, &listening);

    if (result)
        return result;
    job_exchange(n->self, handle, sizeof handle, all);
    for (int i = 0; i < size; i++)
        handles[i] = all[i];
    result = nccl_coll_connect(&n->plugin, handles, size, n->self->rank, listening, &n->comm);
    nccl_coll_close_listen(&n->plugin, listening);
    return result;
}

static int open_node(job_rank *self, int version, node *n)
{
    *n = (node){.self = self};
    if (load(self, version, &n->plugin))
        return 1;
    EXPECT(!meet(n, self->memory->size), "version %d: connect: %s", version, nccl_said);
    return 0;
}

/* ---- Right results. */

static float value(int rank, size_t call, size_t i)
{
    return (float)((size_t)rank * 3 + call * 7 + i % 11);
}

/* A stream of calls, FLIGHT of them under way, in slots of one buffer that is registered once. */
static int stream_of_calls(job_rank *self, node *n, size_t calls, size_t count)
{
    size_t slot = count * sizeof(float);
    float *send = malloc(FLIGHT * slot), *recv = malloc(FLIGHT * slot);
    void *requests[FLIGHT] = {NULL}, *memory = NULL;
    int size = self->memory->size;

    EXPECT(!nccl_coll_register(&n->plugin, n->comm, send, FLIGHT * slot, NCCL_MEMORY_HOST, &memory) && memory,
           "register");
    for (size_t begun = 0, done = 0; done < calls;) {
        if (begun < calls && begun < done + FLIGHT) {
            float *from = send + begun % FLIGHT * count;

            for (size_t i = 0; i < count; i++)
                from[i] = value(self->rank, begun, i);
            EXPECT(!nccl_coll_allreduce(&n->plugin, n->comm, from, recv + begun % FLIGHT * count, count,
                                        BANYAN_FLOAT32, BANYAN_SUM, &requests[begun % FLIGHT]),
                   "allreduce: %s", nccl_said);
            begun += requests[begun % FLIGHT] != NULL;
            continue;
        }
        EXPECT(await(&n->plugin, nccl_coll_test, requests[done % FLIGHT], 60) == (int)slot, "call %zu: %s",
               done, nccl_said);
        for (size_t i = 0; i < count; i++) {
            float sum = 0;

            for (int r = 0; r < size; r++)
                sum += value(r, done, i);
            EXPECT(recv[done % FLIGHT * count + i] == sum, "call %zu, element %zu: %g, not %g", done, i,
                   (double)recv[done % FLIGHT * count + i], (double)sum);
        }
        requests[done++ % FLIGHT] = NULL;
    }
    EXPECT(!nccl_coll_deregister(&n->plugin, n->comm, memory), "deregister");
    free(send);
    free(recv);
    return 0;
}

static int reduce_in_every_version(job_rank *self)
{
    uint64_t counts[6] = {0};
    uint64_t done = 0;

    for (int version = NCCL_FIRST_VERSION; version <= NCCL_LAST_VERSION; version++) {
        node n;

        if (open_node(self, version, &n) || stream_of_calls(self, &n, 20, 8192) ||
            stream_of_calls(self, &n, 9, 32768) || stream_of_calls(self, &n, 3, 1))
            return 1;
        done += 32;
        n.plugin.get_counts(counts);
        EXPECT(counts[0] == done && counts[4] == 0, "version %d: %llu calls counted, not %llu", version,
               (unsigned long long)counts[0], (unsigned long long)done);
        EXPECT(!nccl_coll_close(&n.plugin, n.comm), "close");
        EXPECT(strstr(nccl_said, "served 32 calls"), "%s", nccl_said);
    }
    return 0;
}

TEST(streams_of_calls_are_reduced_in_every_version)
{
    job_run(3, reduce_in_every_version);
}

static int reduce_every_type(job_rank *self)
{
    enum { COUNT = 1000 };
    int size = self->memory->size, is_supported = 1;
    node n;

    if (open_node(self, NCCL_LAST_VERSION, &n))
        return 1;
    for (int type = BANYAN_INT8; type <= BANYAN_BFLOAT16; type++)
        for (int op = BANYAN_SUM; op <= BANYAN_MIN; op++) {
            size_t bytes = COUNT * banyan_datatype_bytes((banyan_datatype)type);
            unsigned char *send = calloc(1, bytes), *recv = malloc(bytes), *expected = calloc(1, bytes);
            void *request = NULL;

            EXPECT(!nccl_coll_supports(&n.plugin, type, op, &is_supported) && is_supported, "type %d, op %d",
                   type, op);
            EXPECT(!nccl_coll_allreduce(&n.plugin, n.comm, send, recv, COUNT, type, op, &request), "call");
            EXPECT(await(&n.plugin, nccl_coll_test, request, 60) == (int)bytes, "%s", nccl_said);
            EXPECT(!memcmp(recv, expected, bytes), "type %d, op %d of %d zeros", type, op, size);
            free(send);
            free(recv);
            free(expected);
        }
    EXPECT(!nccl_coll_supports(&n.plugin, 10, BANYAN_SUM, &is_supported) && !is_supported, "float8");
    EXPECT(!nccl_coll_supports(&n.plugin, BANYAN_FLOAT32, 5, &is_supported) && !is_supported, "op 5");
    EXPECT(nccl_coll_register(&n.plugin, n.comm, &n, sizeof n, 2, &n.comm) == NCCL_INVALID_USAGE,
           "GPU memory");
    return nccl_coll_close(&n.plugin, n.comm);
}

TEST(every_type_and_op_is_taken_and_others_are_not)
{
    job_run(2, reduce_every_type);
}

/* A vector of PER_RANK bytes per rank, done in windows that begin and end anywhere. */
static int gather_and_scatter(job_rank *self)
{
    enum { PER_RANK = 40000, WINDOW = 16384 };
    int size = self->memory->size, rank = self->rank;
    size_t whole = (size_t)size * PER_RANK;

    for (int version = NCCL_FIRST_WITH_GATHER; version <= NCCL_LAST_VERSION; version++) {
        unsigned char *own = malloc(PER_RANK), *all = malloc(whole);
        int32_t *sums = malloc(PER_RANK);
        node n;

        if (open_node(self, version, &n))
            return 1;
        memset(own, rank + 1, PER_RANK);
        for (size_t offset = 0; offset < whole; offset += WINDOW) {
            size_t bytes = whole - offset < WINDOW ? whole - offset : WINDOW, mine = (size_t)rank * PER_RANK;
            size_t at = offset > mine && offset < mine + PER_RANK ? offset - mine : 0;
            void *requests[2] = {NULL, NULL};

            EXPECT(!nccl_coll_gather(&n.plugin, n.comm, own + at, all + offset, PER_RANK, offset, bytes,
                                     &requests[0]),
                   "gather");
            EXPECT(await(&n.plugin, nccl_coll_test, requests[0], 60) == (int)bytes, "%s", nccl_said);
            for (size_t i = offset; i < offset + bytes; i++)
                EXPECT(all[i] == i / PER_RANK + 1, "version %d: byte %zu is %d", version, i, all[i]);
            for (size_t i = offset / 4; i < (offset + bytes) / 4; i++)
                memcpy(all + 4 * i, &(int32_t){(int32_t)i * (rank + 1)}, 4);
            EXPECT(!nccl_coll_scatter(&n.plugin, n.comm, all + offset, (char *)sums + at, PER_RANK, offset,
                                      bytes, BANYAN_INT32, BANYAN_SUM, &requests[1]),
                   "scatter");
            EXPECT(await(&n.plugin, nccl_coll_test, requests[1], 60) == (int)bytes, "%s", nccl_said);
        }
        for (int32_t i = 0; i < PER_RANK / 4; i++)
            EXPECT(sums[i] == (rank * (PER_RANK / 4) + i) * size * (size + 1) / 2, "version %d: sum %d is %d",
                   version, i, sums[i]);
        EXPECT(!nccl_coll_close(&n.plugin, n.comm), "close");
        free(own);
        free(all);
        free(sums);
    }
    return 0;
}

TEST(windows_are_gathered_and_scattered)
{
    job_run(3, gather_and_scatter);
}

/* Two communicators of NCCL in one process, whose calls alternate. */
static int use_two_groups(job_rank *self)
{
    node a, b;

    if (open_node(self, 11, &a) || open_node(self, 11, &b))
        return 1;
    for (int i = 0; i < 3; i++)
        if (stream_of_calls(self, &a, 10, 4096) || stream_of_calls(self, &b, 10, 5000))
            return 1;
    EXPECT(!nccl_coll_close(&a.plugin, a.comm), "close");
    if (stream_of_calls(self, &b, 10, 100))
        return 1;
    return nccl_coll_close(&b.plugin, b.comm);
}

TEST(a_process_has_several_groups)
{
    job_run(2, use_two_groups);
}

/* Rank 1 begins when rank 0 has had all its calls taken: nobody was made to wait for the network. */
static int post_before_the_others(job_rank *self)
{
    static float send[FLIGHT][1024], recv[FLIGHT][1024];
    void *requests[FLIGHT];
    int is_done = 0;
    node n;

    if (open_node(self, 11, &n))
        return 1;
    if (self->rank)
        job_wait_step(self->memory, 1);
    for (int i = 0; i < FLIGHT; i++)
        EXPECT(!nccl_coll_allreduce(&n.plugin, n.comm, send[i], recv[i], 1024, BANYAN_FLOAT32, BANYAN_SUM,
                                    &requests[i]) &&
                   requests[i],
               "call %d was not taken", i);
    if (!self->rank) {
        EXPECT(!nccl_coll_test(&n.plugin, requests[0], &is_done, NULL) && !is_done,
               "done without the others");
        atomic_store(&self->memory->step, 1);
    }
    for (int i = 0; i < FLIGHT; i++)
        EXPECT(await(&n.plugin, nccl_coll_test, requests[i], 60) == 4096, "%s", nccl_said);
    return nccl_coll_close(&n.plugin, n.comm);
}

TEST(calls_are_taken_before_the_others_come)
{
    job_run(2, post_before_the_others);
}

/* ---- Sends and receives. */

typedef struct {
    void *sending, *receiving;
} ring;

static int open_ring(job_rank *self, nccl_plugin *p, ring *out)
{
    char handle[NCCL_HANDLE_BYTES], all[MOST_RANKS][NCCL_HANDLE_BYTES];
    void *listening = NULL;
    double until_s = banyan_clock_s() + 60;

    *out = (ring){NULL, NULL};
    EXPECT(!nccl_net_listen(p, handle, &listening), "listen: %s", nccl_said);
    job_exchange(self, handle, sizeof handle, all);
    while ((!out->sending || !out->receiving) && banyan_clock_s() < until_s) {
        if (!out->sending)
            EXPECT(!nccl_net_connect(p, all[(self->rank + 1) % self->memory->size], &out->sending),
                   "connect: %s", nccl_said);
        if (!out->receiving)
            EXPECT(!nccl_net_accept(p, listening, &out->receiving), "accept: %s", nccl_said);
    }
    EXPECT(out->sending && out->receiving, "no connection within 60 s");
    return nccl_net_close_listen(p, listening);
}

/* In turn, as NCCL's proxy thread does: what is sent moves on only while it is asked for. */
static int await_all(job_rank *self, nccl_plugin *p, void **sends, void **receives, size_t expected)
{
    struct timespec pause = {.tv_nsec = 50000};
    double until_s = banyan_clock_s() + 60;
    int left = 2 * FLIGHT;

    while (left) {
        int before = left;

        for (int k = 0; k < 2 * FLIGHT; k++) {
            void **request = k < FLIGHT ? &sends[k] : &receives[k - FLIGHT];
            int is_done = 0, bytes = 0;

            if (!*request)
                continue;
            EXPECT(!nccl_net_test(p, *request, &is_done, &bytes), "%s", nccl_said);
            EXPECT(!is_done || bytes == (int)expected, "%d bytes, not %zu", bytes, expected);
            left -= is_done;
            *request = is_done ? NULL : *request;
        }
        if (left == before)
            nanosleep(&pause, NULL);
        EXPECT(banyan_clock_s() < until_s, "%d messages are not through after 60 s", left);
    }
    return 0;
}

static int send_round(job_rank *self)
{
    static const size_t sizes[] = {0, 1, 100, 65536, 1 << 20, 5000001};
    int left = (self->rank + self->memory->size - 1) % self->memory->size;
    char *out = malloc(5000001), *in = malloc(5000001);

    for (int version = NCCL_FIRST_VERSION; version <= NCCL_LAST_VERSION; version++) {
        nccl_properties_v12 properties;
        nccl_plugin p;
        void *memory = NULL;
        ring r;

        if (load(self, version, &p) || open_ring(self, &p, &r))
            return 1;
        EXPECT(!nccl_net_properties(&p, &properties) && properties.memory_kinds == NCCL_MEMORY_HOST, "kinds");
        EXPECT(!nccl_net_register(&p, r.sending, out, 5000001, &memory) && memory, "register");
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            void *sends[FLIGHT], *receives[FLIGHT];

            memset(out, self->rank + 'a', sizes[i]);
            for (int k = 0; k < FLIGHT; k++) { /* the receiver may offer more room than is sent */
                EXPECT(!nccl_net_receive(&p, r.receiving, in,
                                         sizes[i] + (size_t)(k < 1 ? 0 : sizes[i] < 5000001), &receives[k]) &&
                           receives[k],
                       "receive");
                EXPECT(!nccl_net_send(&p, r.sending, out, sizes[i], &sends[k]) && sends[k], "send");
            }
            if (await_all(self, &p, sends, receives, sizes[i]))
                return 1;
            for (size_t b = 0; b < sizes[i]; b += 4093)
                EXPECT(in[b] == left + 'a', "byte %zu", b);
        }
        EXPECT(!nccl_net_close(&p, r.sending, 1) && !nccl_net_close(&p, r.receiving, 0), "close");
    }
    free(out);
    free(in);
    return 0;
}

TEST(messages_arrive_in_every_version)
{
    job_run(3, send_round);
}

static int send_round_over_tcp(job_rank *self)
{
    setenv("BANYAN_TRANSPORT", "tcp", 1);
    return send_round(self);
}

TEST(messages_arrive_without_memory_of_the_host)
{
    job_run(3, send_round_over_tcp);
}

/* One end may use memory and the other one not. */
static int send_round_mixed(job_rank *self)
{
    if (self->rank == 1)
        setenv("BANYAN_TRANSPORT", "tcp", 1);
    return send_round(self);
}

TEST(messages_arrive_where_one_rank_does_without_memory_of_the_host)
{
    job_run(3, send_round_mixed);
}

/* What was sent is there also when the sender asks for it no more, and has closed its end. */
static int send_and_leave(job_rank *self)
{
    enum { BYTES = 3000, MESSAGES = 20 };
    static char out[BYTES], in[BYTES];
    nccl_plugin p;
    ring r;

    if (load(self, 11, &p) || open_ring(self, &p, &r))
        return 1;
    for (int i = 0; i < MESSAGES; i++) {
        void *send = NULL, *receive = NULL;
        int is_sent = 0, is_come = 0, bytes = 0;

        EXPECT(!nccl_net_receive(&p, r.receiving, in, BYTES, &receive) && receive, "receive");
        EXPECT(!nccl_net_send(&p, r.sending, out, BYTES, &send) && send, "send");
        while (!is_sent || !is_come) {
            if (!is_sent)
                EXPECT(!nccl_net_test(&p, send, &is_sent, &bytes), "%s", nccl_said);
            if (!is_come)
                EXPECT(!nccl_net_test(&p, receive, &is_come, &bytes), "%s", nccl_said);
        }
    }
    EXPECT(!nccl_net_close(&p, r.sending, 1), "close");
    return nccl_net_close(&p, r.receiving, 0);
}

TEST(a_sender_may_leave_when_its_sends_are_done)
{
    job_run(2, send_and_leave);
}

/* ---- Faults. */

/* Asks until the request has failed: 0, and how long that took does not matter to the time-out of the job. */
static int await_failure(nccl_plugin *p, nccl_result (*test)(nccl_plugin *, void *, int *, int *),
                         void *request)
{
    return await(p, test, request, 60) == -1 ? 0 : 1;
}

static int lose_a_rank(job_rank *self)
{
    static float send[FLIGHT][65536], recv[FLIGHT][65536];
    void *requests[FLIGHT];
    double since_s;
    node n;

    if (open_node(self, 11, &n) || stream_of_calls(self, &n, 10, 65536))
        return 1;
    pthread_barrier_wait(&self->memory->barrier); /* all have what they called for */
    if (self->rank == 1)
        raise(SIGKILL);
    for (int i = 0; i < FLIGHT; i++)
        EXPECT(!nccl_coll_allreduce(&n.plugin, n.comm, send[i], recv[i], 65536, BANYAN_FLOAT32, BANYAN_SUM,
                                    &requests[i]),
               "call");
    for (int i = 0; i < FLIGHT; i++)
        EXPECT(!await_failure(&n.plugin, nccl_coll_test, requests[i]), "call %d did not fail", i);
    EXPECT(strstr(nccl_said, "rank 1"), "the log does not name rank 1: %s", nccl_said);
    since_s = banyan_clock_s();
    EXPECT(!nccl_coll_close(&n.plugin, n.comm), "close");
    EXPECT(banyan_clock_s() - since_s < 30, "closing took %.1f s", banyan_clock_s() - since_s);
    return 0;
}

static void finish_with_one_lost(job *j, int lost)
{
    int failed = 0;

    for (int i = 0; i < j->memory->size; i++) {
        int how = job_end_rank(j, i, JOB_SECONDS);

        failed += i == lost ? how != 1000 + SIGKILL : how != 0;
    }
    job_free(j);
    assert_int_equal(failed, 0);
}

TEST(a_killed_rank_is_named_and_ends_all_calls)
{
    job j = job_start(3, lose_a_rank);

    finish_with_one_lost(&j, 1);
}

static int lose_a_sender(job_rank *self)
{
    nccl_plugin p;
    char in[1000];
    void *request;
    ring r;

    if (load(self, 11, &p) || open_ring(self, &p, &r))
        return 1;
    if (self->rank == 1)
        raise(SIGKILL);
    EXPECT(!nccl_net_receive(&p, r.receiving, in, sizeof in, &request) && request, "receive");
    EXPECT(!await_failure(&p, nccl_net_test, request), "the receive did not fail");
    EXPECT(strstr(nccl_said, "ended"), "%s", nccl_said);
    return nccl_net_close(&p, r.sending, 1) || nccl_net_close(&p, r.receiving, 0);
}

TEST(a_receive_from_a_killed_rank_fails)
{
    job j = job_start(2, lose_a_sender);

    finish_with_one_lost(&j, 1);
}

/* The receiver has begun to take messages when it is killed; no size is small enough for all to be sent. */
static int lose_a_receiver(job_rank *self)
{
    enum { BYTES = 4 << 20 };
    char *data = calloc(FLIGHT, BYTES);
    void *sends[FLIGHT], *receive = NULL;
    int is_done = 0, bytes = 0;
    nccl_plugin p;
    ring r;

    if (load(self, 11, &p) || open_ring(self, &p, &r))
        return 1;
    if (self->rank == 1) {
        EXPECT(!nccl_net_receive(&p, r.receiving, data, BYTES, &receive) && receive, "receive");
        while (!is_done)
            EXPECT(!nccl_net_test(&p, receive, &is_done, &bytes), "%s", nccl_said);
        raise(SIGKILL);
    }
    for (int i = 0; i < FLIGHT; i++)
        EXPECT(!nccl_net_send(&p, r.sending, data + (size_t)i * BYTES, BYTES, &sends[i]) && sends[i], "send");
    EXPECT(!await_failure(&p, nccl_net_test, sends[FLIGHT - 1]), "the send did not fail");
    EXPECT(strstr(nccl_said, "ended"), "%s", nccl_said);
    EXPECT(!nccl_net_close(&p, r.sending, 1) && !nccl_net_close(&p, r.receiving, 0), "close");
    free(data);
    return 0;
}

TEST(sends_to_a_killed_rank_fail)
{
    job j = job_start(2, lose_a_receiver);

    finish_with_one_lost(&j, 1);
}

/* As ncclCommAbort does: requests are left, in both directions. */
static int close_messages_while_busy(job_rank *self)
{
    enum { BYTES = 4 << 20 };
    char *data = calloc(FLIGHT, BYTES);
    double since_s;
    nccl_plugin p;
    void *request;
    ring r;

    if (load(self, 11, &p) || open_ring(self, &p, &r))
        return 1;
    for (int i = 0; i < FLIGHT; i++) {
        char *part = data + (size_t)i * BYTES;

        EXPECT(!nccl_net_receive(&p, r.receiving, part, BYTES, &request) && request, "receive");
        if (self->rank)
            EXPECT(!nccl_net_send(&p, r.sending, part, BYTES, &request) && request, "send");
    }
    for (int i = 0, is_done, bytes; i < 100; i++)
        EXPECT(!nccl_net_test(&p, request, &is_done, &bytes), "%s", nccl_said);
    pthread_barrier_wait(&self->memory->barrier);
    since_s = banyan_clock_s();
    EXPECT(!nccl_net_close(&p, r.sending, 1) && !nccl_net_close(&p, r.receiving, 0), "close");
    EXPECT(banyan_clock_s() - since_s < 30, "closing took %.1f s", banyan_clock_s() - since_s);
    free(data);
    return 0;
}

TEST(connections_are_closed_while_messages_are_under_way)
{
    job_run(2, close_messages_while_busy);
}

/* Longer than the receive: told, by UCX in its own word, and nothing is written behind the memory. */
static int send_too_much(job_rank *self)
{
    static char out[1000], in[1000];
    void *send = NULL, *receive = NULL;
    double until_s = banyan_clock_s() + 60;
    int is_done = 0, is_sent = 0, bytes, is_ucx = !strcmp(getenv("BANYAN_TRANSPORT"), "ucx");
    nccl_plugin p;
    ring r;

    if (load(self, 11, &p) || open_ring(self, &p, &r))
        return 1;
    memset(out, 1, sizeof out);
    EXPECT(!nccl_net_receive(&p, r.receiving, in, 500, &receive) && receive, "receive");
    EXPECT(!nccl_net_send(&p, r.sending, out, sizeof out, &send) && send, "send");
    while (!nccl_net_test(&p, receive, &is_done, &bytes) && banyan_clock_s() < until_s) {
        EXPECT(!is_done, "the receive did not fail");
        if (!is_sent) /* how it ends is not said */
            is_sent = nccl_net_test(&p, send, &is_done, &bytes) || is_done;
    }
    EXPECT(strstr(nccl_said, is_ucx ? "truncated" : "where 500 were asked for"), "%s", nccl_said);
    EXPECT(!in[500], "the byte behind the receiver's memory has changed");
    return nccl_net_close(&p, r.sending, 1) || nccl_net_close(&p, r.receiving, 0);
}

TEST(a_message_that_is_too_long_is_refused)
{
    job_run(1, send_too_much);
}

static int lack_the_engine(job_rank *self)
{
    nccl_plugin p;

    setenv("BANYAN_TRANSPORT", "shm+ucx", 1);
    setenv("BANYAN_PLUGIN_FOLDER", "/nowhere", 1);
    nccl_said[0] = '\0';
    EXPECT(nccl_load(NCCL_PLUGIN, 11, &p), "no plugin");
    EXPECT(nccl_net_init(&p), "init succeeded");
    EXPECT(strstr(nccl_said, "banyan-transport-ucx.so"), "%s", nccl_said);
    return 0;
}

TEST(ucx_that_is_not_there_leaves_everything_to_nccl)
{
    job_run(1, lack_the_engine);
}

/* As ncclCommAbort does: the other rank never comes to the call. */
static int close_while_busy(job_rank *self)
{
    static float send[1024], recv[1024];
    void *request = NULL;
    node n;

    if (open_node(self, 11, &n))
        return 1;
    if (self->rank == 0)
        EXPECT(
            !nccl_coll_allreduce(&n.plugin, n.comm, send, recv, 1024, BANYAN_FLOAT32, BANYAN_SUM, &request),
            "call");
    pthread_barrier_wait(&self->memory->barrier);
    if (self->rank == 0) {
        EXPECT(!nccl_coll_close(&n.plugin, n.comm), "close");
        atomic_store(&self->memory->step, 1);
        return 0;
    }
    job_wait_step(self->memory, 1);
    EXPECT(!nccl_coll_allreduce(&n.plugin, n.comm, send, recv, 1024, BANYAN_FLOAT32, BANYAN_SUM, &request),
           "call");
    EXPECT(!await_failure(&n.plugin, nccl_coll_test, request), "the call did not fail");
    return nccl_coll_close(&n.plugin, n.comm);
}

TEST(a_group_is_closed_while_calls_wait)
{
    job_run(2, close_while_busy);
}

enum { FIRST_TIMEOUT_MS = 3000 };

static void set_timeout(void)
{
    char text[16];

    snprintf(text, sizeof text, "%d", job_timeout_ms);
    setenv("BANYAN_TIMEOUT_MS", text, 1);
}

static int refuse(job_rank *self, const char *words)
{
    node n = {.self = self};

    if (load(self, 11, &n.plugin))
        return 1;
    EXPECT(meet(&n, self->memory->size) && !n.comm, "the ranks met");
    if (job_is_too_short(strstr(nccl_said, words) != NULL))
        return JOB_TOO_SHORT;
    EXPECT(strstr(nccl_said, "WARN") && strstr(nccl_said, words), "no word of '%s': %s", words, nccl_said);
    return 0;
}

static int bring_another_secret(job_rank *self)
{
    set_timeout();
    setenv("BANYAN_SECRET", self->rank ? "one" : "another", 1);
    return refuse(self, "secret");
}

TEST(ranks_with_different_secrets_do_not_meet)
{
    job_run_in_time(2, bring_another_secret, FIRST_TIMEOUT_MS);
}

static int bring_the_same_secret(job_rank *self)
{
    node n;

    setenv("BANYAN_SECRET", "one", 1);
    if (open_node(self, 11, &n) || stream_of_calls(self, &n, 9, 1000))
        return 1;
    return nccl_coll_close(&n.plugin, n.comm);
}

TEST(ranks_with_the_same_secret_meet)
{
    job_run(2, bring_the_same_secret);
}

static int bring_another_setting(job_rank *self)
{
    setenv("BANYAN_NCCL_LANES", self->rank ? "2" : "3", 1);
    return refuse(self, "rank 1 has BANYAN_NCCL_LANES=2, rank 0 has 3");
}

TEST(ranks_with_different_lanes_are_told)
{
    job_run(2, bring_another_setting);
}

static int bring_another_network(job_rank *self)
{
    if (self->rank)
        setenv("BANYAN_TOPO", "hosts:1+1", 1);
    return refuse(self, "BANYAN_TOPO");
}

TEST(ranks_with_different_networks_are_told)
{
    job_run(2, bring_another_network);
}

static int bring_a_wrong_setting(job_rank *self)
{
    nccl_plugin p;

    setenv("BANYAN_SOCKET_IFNAME", "=nowhere0", 1);
    nccl_said[0] = '\0';
    EXPECT(nccl_load(NCCL_PLUGIN, 11, &p), "no plugin");
    EXPECT(nccl_net_init(&p) && nccl_coll_init(&p), "init succeeded");
    EXPECT(strstr(nccl_said, "nowhere0"), "%s", nccl_said);
    return 0;
}

TEST(a_wrong_setting_leaves_everything_to_nccl)
{
    job_run(1, bring_a_wrong_setting);
}

static int bring_a_foreign_handle(job_rank *self)
{
    char handle[NCCL_HANDLE_BYTES] = "something else";
    void *sending = NULL;
    nccl_plugin p;

    if (load(self, 11, &p))
        return 1;
    EXPECT(nccl_net_connect(&p, handle, &sending) && !sending, "connected");
    EXPECT(strstr(nccl_said, "NCCL_NET_PLUGIN"), "%s", nccl_said);
    return 0;
}

TEST(a_handle_of_another_plugin_is_refused)
{
    job_run(1, bring_a_foreign_handle);
}

/* A rank that does not come: the others are told its number within the time-out. */
static int miss_a_rank(job_rank *self)
{
    node n = {.self = self};
    void *handles[MOST_RANKS], *listening = NULL;
    char handle[NCCL_HANDLE_BYTES], all[MOST_RANKS][NCCL_HANDLE_BYTES];

    set_timeout();
    if (load(self, 11, &n.plugin))
        return 1;
    EXPECT(!nccl_coll_listen(&n.plugin, handle, &listening), "listen");
    job_exchange(self, handle, sizeof handle, all);
    for (int i = 0; i < self->memory->size; i++)
        handles[i] = all[i];
    if (self->rank != 2) {
        EXPECT(nccl_coll_connect(&n.plugin, handles, self->memory->size, self->rank, listening, &n.comm),
               "connected");
        if (job_is_too_short(strstr(nccl_said, "rank 2") != NULL))
            return JOB_TOO_SHORT;
        EXPECT(strstr(nccl_said, "rank 2"), "%s", nccl_said);
    }
    return nccl_coll_close_listen(&n.plugin, listening);
}

TEST(a_rank_that_does_not_come_is_named)
{
    job_run_in_time(3, miss_a_rank, FIRST_TIMEOUT_MS);
}

int main(int word_count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_of_calls_are_reduced_in_every_version),
        cmocka_unit_test(every_type_and_op_is_taken_and_others_are_not),
        cmocka_unit_test(windows_are_gathered_and_scattered),
        cmocka_unit_test(a_process_has_several_groups),
        cmocka_unit_test(calls_are_taken_before_the_others_come),
        cmocka_unit_test(messages_arrive_in_every_version),
        cmocka_unit_test(messages_arrive_without_memory_of_the_host),
        cmocka_unit_test(messages_arrive_where_one_rank_does_without_memory_of_the_host),
        cmocka_unit_test(a_sender_may_leave_when_its_sends_are_done),
        cmocka_unit_test(a_killed_rank_is_named_and_ends_all_calls),
        cmocka_unit_test(a_receive_from_a_killed_rank_fails),
        cmocka_unit_test(sends_to_a_killed_rank_fail),
        cmocka_unit_test(connections_are_closed_while_messages_are_under_way),
        cmocka_unit_test(a_message_that_is_too_long_is_refused),
        cmocka_unit_test(ucx_that_is_not_there_leaves_everything_to_nccl),
        cmocka_unit_test(a_group_is_closed_while_calls_wait),
        cmocka_unit_test(ranks_with_different_secrets_do_not_meet),
        cmocka_unit_test(ranks_with_the_same_secret_meet),
        cmocka_unit_test(ranks_with_different_lanes_are_told),
        cmocka_unit_test(ranks_with_different_networks_are_told),
        cmocka_unit_test(a_wrong_setting_leaves_everything_to_nccl),
        cmocka_unit_test(a_handle_of_another_plugin_is_refused),
        cmocka_unit_test(a_rank_that_does_not_come_is_named),
    };

    return RUN_OVER_TRANSPORTS(tests, word_count, words);
}
