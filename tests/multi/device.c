/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/device.c: calls on vectors that lie on a device. On a machine without a GPU the device is an
 * emulated one; scripts/gpu-suite.sh runs the same tests with BANYAN_GPU=cuda.
 *
 *     test_multi_device [PATTERN]     those whose names match, with * and ? */
#include "core/random.h"
#include "device/emulated.h"
#include "jobs.h"

enum { MOST_COUNT = 70001, SIDES = 2, STREAMS = 2 };

/* What a rank works with. */
typedef struct {
    banyan_comm *comm, *host_comm; /* the second one is for what the first one's results are compared with */
    banyan_device *device;
    void *streams[STREAMS];
    char *memory[SIDES]; /* on the device */
    char *host[SIDES];
    size_t bytes; /* of each */
} fixture;

static int is_emulated(void)
{
    return !strcmp(getenv("BANYAN_GPU"), "emulated");
}

static int open_fixture(job_rank *self, fixture *f, int ordinal, int timeout_ms)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_error err = {""};

    memset(f, 0, sizeof *f);
    config.timeout_ms = timeout_ms;
    f->bytes = (MOST_COUNT + 64) * 8;
    EXPECT(!banyan_device_open(ordinal, &f->device, &err), "open: %s", err.text);
    EXPECT(!banyan_comm_init_exchange(&f->comm, self->memory->size, self->rank, job_exchange, self, &config),
           "init");
    EXPECT(!banyan_comm_init_exchange(&f->host_comm, self->memory->size, self->rank, job_exchange, self,
                                      &config),
           "init");
    for (int i = 0; i < STREAMS; i++)
        EXPECT(!f->device->table->stream_create(f->device, &f->streams[i], &err), "stream: %s", err.text);
    for (int i = 0; i < SIDES; i++) {
        void *memory;

        EXPECT(!banyan_mem_alloc_on(&memory, f->bytes, ordinal), "no memory");
        f->memory[i] = memory;
        f->host[i] = calloc(1, f->bytes);
    }
    return 0;
}

static void close_fixture(fixture *f)
{
    banyan_comm_destroy(f->comm);
    banyan_comm_destroy(f->host_comm);
    for (int i = 0; i < STREAMS; i++) {
        f->device->table->synchronize(f->device, f->streams[i], NULL);
        f->device->table->stream_destroy(f->device, f->streams[i]);
    }
    for (int i = 0; i < SIDES; i++) {
        banyan_mem_free_on(f->memory[i], f->device->ordinal);
        free(f->host[i]);
    }
}

/* On the stream, and waited for. */
static banyan_status move(fixture *f, int stream, void *into, const void *from, size_t bytes,
                          banyan_error *err)
{
    banyan_status status = f->device->table->copy(f->device, f->streams[stream], into, from, bytes, err);

    return status ? status : f->device->table->synchronize(f->device, f->streams[stream], err);
}

/* Floats of all sizes, with infinities and NaN among them; integers of any bits. */
static void fill(banyan_random *random, banyan_datatype type, size_t count, int is_exact, char *into)
{
    size_t width = banyan_datatype_bytes(type);

    for (size_t i = 0; i < count; i++) {
        uint64_t bits = (uint64_t)banyan_random_below(random, 1 << 30) << 34 ^
                        (uint64_t)banyan_random_below(random, 1 << 30) << 12 ^
                        (uint64_t)banyan_random_below(random, 1 << 12);
        double number = (double)banyan_random_below(random, 17) - 8;
        float single = (float)number;

        if (is_exact && type == BANYAN_FLOAT32)
            memcpy(&bits, &single, sizeof single);
        else if (is_exact && type == BANYAN_FLOAT64)
            memcpy(&bits, &number, sizeof number);
        else if (type == BANYAN_FLOAT32 && bits % 8) { /* mostly of similar size, so that order counts */
            single = (float)(int64_t)bits * 0x1p-40f;
            memcpy(&bits, &single, sizeof single);
        }
        memcpy(into + i * width, &bits, width);
    }
}

/* ---- The same bits as in the host's memory. */

typedef struct {
    banyan_datatype type;
    banyan_op op;
    size_t count, send_at, recv_at; /* elements */
    int in_place, stream;
} random_call;

static random_call draw(banyan_random *random, int is_exact)
{
    static const size_t counts[] = {1, 2, 3, 17, 64, 1000, 4099, 33333, MOST_COUNT};
    random_call c = {.type = is_exact ? BANYAN_FLOAT32 : (banyan_datatype)banyan_random_below(random, 10),
                     .op = is_exact ? BANYAN_SUM : (banyan_op)banyan_random_below(random, 5),
                     .count = counts[banyan_random_below(random, 9)],
                     .send_at = (size_t)banyan_random_below(random, 4),
                     .recv_at = (size_t)banyan_random_below(random, 4),
                     .in_place = (int)banyan_random_below(random, 2),
                     .stream = (int)banyan_random_below(random, STREAMS)};

    if (banyan_random_below(random, 2))
        c.recv_at = c.send_at;
    return c;
}

/* device: where this rank's vectors are. */
static int call_and_compare(job_rank *self, fixture *f, const random_call *c, int device, const char *what)
{
    size_t width = banyan_datatype_bytes(c->type), bytes = c->count * width;
    char *send = (device == BANYAN_HOST ? f->host[0] : f->memory[0]) + c->send_at * width,
         *recv = (device == BANYAN_HOST ? f->host[1] : f->memory[1]) + c->recv_at * width,
         *expected = malloc(bytes), *result = malloc(bytes);
    banyan_error err = {""};
    banyan_status status;

    if (c->in_place)
        recv = send;
    memcpy(result, f->host[0] + c->send_at * width, bytes);
    status = banyan_allreduce(result, expected, c->count, c->type, c->op, f->host_comm);
    EXPECT(!status, "%s", banyan_last_error(f->host_comm));
    if (device != BANYAN_HOST)
        EXPECT(!move(f, c->stream, f->memory[0], f->host[0], f->bytes, &err), "%s", err.text);
    status =
        banyan_allreduce_on(send, recv, c->count, c->type, c->op, f->comm, device, f->streams[c->stream]);
    EXPECT(!status, "%s: %s", what, banyan_last_error(f->comm));
    if (device != BANYAN_HOST)
        EXPECT(!move(f, c->stream, result, recv, bytes, &err), "%s", err.text);
    else
        memcpy(result, recv, bytes);
    for (size_t i = 0; i < bytes; i++)
        EXPECT(result[i] == expected[i],
               "%s, %s %s, count %zu, offsets %zu and %zu, %s: byte %zu is %02x, not %02x", what,
               banyan_datatype_string(c->type), banyan_op_string(c->op), c->count, c->send_at, c->recv_at,
               c->in_place ? "in place" : "out of place", i, (unsigned char)result[i],
               (unsigned char)expected[i]);
    free(expected);
    free(result);
    return 0;
}

static int compare_many_in(job_rank *self, fixture *f, int data_device, int is_exact, const char *what)
{
    banyan_random common = {.state = 7}, own = {.state = 1000 + (unsigned)self->rank};

    for (int i = 0; i < 60; i++) {
        random_call c = draw(&common, is_exact);

        fill(&own, c.type, MOST_COUNT + 8, is_exact, f->host[0]);
        if (call_and_compare(self, f, &c, data_device, what))
            return 1;
    }
    close_fixture(f);
    return 0;
}

static int compare_many(job_rank *self, int device, int data_device, int is_exact, const char *what)
{
    fixture f;

    return open_fixture(self, &f, device, CALL_MS) || compare_many_in(self, &f, data_device, is_exact, what);
}

static int all_on_one_device(job_rank *self)
{
    return compare_many(self, 0, 0, 0, "one device");
}

TEST(ranks_that_share_a_device_get_the_bits_of_the_host)
{
    job_run(2, all_on_one_device);
    job_run(3, all_on_one_device);
    job_run(5, all_on_one_device);
}

static int on_two_devices(job_rank *self)
{
    return compare_many(self, self->rank % 2, self->rank % 2, 0, "two devices");
}

/* Asked in a process of its own: a driver that has been asked does not survive a fork. */
static int count_devices(void)
{
    pid_t process = fork();
    int how = 0;

    if (!process)
        _exit(banyan_device_count());
    waitpid(process, &how, 0);
    return WEXITSTATUS(how);
}

TEST(ranks_on_several_devices_share_the_work_and_get_the_bits_of_the_host)
{
    if (count_devices() < 2)
        skip();
    job_run(4, on_two_devices);
}

static int in_order_of_recursive_doubling(job_rank *self)
{
    setenv("BANYAN_ALGO", "recursive-doubling", 1);
    return compare_many(self, 0, 0, 0, "recursive doubling");
}

TEST(an_order_that_is_no_chain_gives_the_bits_of_the_host)
{
    job_run(4, in_order_of_recursive_doubling);
}

/* Rank 1's vectors come from a memory pool; what Banyan allocates itself can be shared. */
static int open_fixture_of_a_pool(job_rank *self, fixture *f)
{
    int is_wrong;

    banyan_emulated_set_shareable(self->rank != 1);
    is_wrong = open_fixture(self, f, 0, CALL_MS);
    banyan_emulated_set_shareable(1);
    return is_wrong;
}

static int with_a_rank_that_cannot_share(job_rank *self)
{
    fixture f;

    if (open_fixture_of_a_pool(self, &f))
        return 1;
    return compare_many_in(self, &f, 0, 0, "windows");
}

TEST(memory_that_cannot_be_shared_goes_through_a_window)
{
    if (!is_emulated())
        skip();
    job_run(3, with_a_rank_that_cannot_share);
}

static int staged(job_rank *self)
{
    setenv("BANYAN_GPU_PATH", "staged", 1);
    setenv("BANYAN_GPU_CHUNK", "64KiB", 1);
    return compare_many(self, 0, 0, 1, "staged");
}

TEST(staged_calls_are_correct)
{
    for (int ranks = 2; ranks < 6; ranks++)
        job_run(ranks, staged);
}

static int staged_in_lanes(job_rank *self)
{
    setenv("BANYAN_GPU_PATH", "staged", 1);
    setenv("BANYAN_GPU_CHUNK", "64KiB", 1);
    setenv("BANYAN_GPU_LANES", "3", 1);
    return compare_many(self, 0, 0, 1, "lanes");
}

TEST(chunks_that_are_added_up_at_the_same_time_are_correct)
{
    job_run(3, staged_in_lanes);
}

static int with_a_rank_on_the_host(job_rank *self)
{
    setenv("BANYAN_GPU_CHUNK", "64KiB", 1);
    return compare_many(self, 0, self->rank == 1 ? BANYAN_HOST : 0, 1, "mixed");
}

TEST(a_rank_whose_vectors_are_the_hosts_takes_part)
{
    job_run(3, with_a_rank_on_the_host);
}

/* ---- The other collectives. */

enum { COLLECTIVES = 7 };

/* With the host's calls, or in the order of the stream; returns its name. */
static const char *call_any(int which, const void *send, void *recv, size_t count, int root, fixture *f,
                            int device, banyan_status *status)
{
    banyan_comm *comm = device == -2 ? f->host_comm : f->comm;
    void *stream = f->streams[which % STREAMS];
    banyan_datatype type = BANYAN_INT32;

    switch (which) {
    case 0:
        *status = device == -2 ? banyan_broadcast(send, recv, count, type, root, comm)
                               : banyan_broadcast_on(send, recv, count, type, root, comm, device, stream);
        return "broadcast";
    case 1:
        *status = device == -2
                      ? banyan_reduce(send, recv, count, type, BANYAN_SUM, root, comm)
                      : banyan_reduce_on(send, recv, count, type, BANYAN_SUM, root, comm, device, stream);
        return "reduce";
    case 2:
        *status = device == -2
                      ? banyan_reduce_scatter(send, recv, count, type, BANYAN_MAX, comm)
                      : banyan_reduce_scatter_on(send, recv, count, type, BANYAN_MAX, comm, device, stream);
        return "reduce-scatter";
    case 3:
        *status = device == -2 ? banyan_all_gather(send, recv, count, type, comm)
                               : banyan_all_gather_on(send, recv, count, type, comm, device, stream);
        return "all-gather";
    case 4:
        *status = device == -2 ? banyan_gather(send, recv, count, type, root, comm)
                               : banyan_gather_on(send, recv, count, type, root, comm, device, stream);
        return "gather";
    case 5:
        *status = device == -2 ? banyan_scatter(send, recv, count, type, root, comm)
                               : banyan_scatter_on(send, recv, count, type, root, comm, device, stream);
        return "scatter";
    default:
        *status = device == -2 ? banyan_all_to_all(send, recv, count, type, comm)
                               : banyan_all_to_all_on(send, recv, count, type, comm, device, stream);
        return "all-to-all";
    }
}

/* The bytes that this rank has behind the call, in the vectors' whole length: nothing else may change. */
static int compare_any(job_rank *self, fixture *f, int which, size_t count, int root, int device)
{
    char *expected = malloc(f->bytes), *result = malloc(f->bytes), *send = f->host[0], *recv = f->host[1];
    banyan_status status;
    banyan_error err = {""};
    const char *what;

    memcpy(expected, f->host[1], f->bytes);
    what = call_any(which, f->host[0], expected, count, root, f, -2, &status);
    EXPECT(!status, "%s: %s", what, banyan_last_error(f->host_comm));
    if (device != BANYAN_HOST) {
        send = f->memory[0];
        recv = f->memory[1];
        EXPECT(!move(f, which % STREAMS, send, f->host[0], f->bytes, &err), "%s", err.text);
        EXPECT(!move(f, which % STREAMS, recv, f->host[1], f->bytes, &err), "%s", err.text);
    }
    call_any(which, send, recv, count, root, f, device, &status);
    EXPECT(!status, "%s of %zu: %s", what, count, banyan_last_error(f->comm));
    if (device != BANYAN_HOST)
        EXPECT(!move(f, which % STREAMS, result, recv, f->bytes, &err), "%s", err.text);
    else
        memcpy(result, recv, f->bytes);
    for (size_t i = 0; i < f->bytes; i++)
        EXPECT(result[i] == expected[i], "%s of %zu from rank %d: byte %zu is %02x, not %02x", what, count,
               root, i, (unsigned char)result[i], (unsigned char)expected[i]);
    free(expected);
    free(result);
    return 0;
}

static int compare_all_collectives(job_rank *self, int device)
{
    static const size_t counts[] = {1, 3, 1000, 20011};
    banyan_random own = {.state = 2000 + (unsigned)self->rank};
    fixture f;

    setenv("BANYAN_GPU_CHUNK", "64KiB", 1);
    setenv("BANYAN_GPU_LANES", "2", 1);
    if (open_fixture(self, &f, 0, CALL_MS))
        return 1;
    for (int which = 0; which < COLLECTIVES; which++)
        for (int i = 0; i < 4; i++) {
            fill(&own, BANYAN_INT32, f.bytes / 4, 0, f.host[0]);
            fill(&own, BANYAN_INT32, f.bytes / 4, 0, f.host[1]);
            if (compare_any(self, &f, which, counts[i], i % self->memory->size, device))
                return 1;
        }
    close_fixture(&f);
    return 0;
}

static int all_collectives(job_rank *self)
{
    return compare_all_collectives(self, 0);
}

TEST(every_collective_in_the_order_of_a_stream_is_that_of_the_host)
{
    job_run(3, all_collectives);
}

static int all_collectives_with_one_on_the_host(job_rank *self)
{
    return compare_all_collectives(self, self->rank == 2 ? BANYAN_HOST : 0);
}

TEST(every_collective_takes_ranks_whose_vectors_are_the_hosts)
{
    job_run(3, all_collectives_with_one_on_the_host);
}

/* ---- Many at a time. */

/* The ranks meet for the first call on a device when each has done another number of the host's. */
static int first_behind_the_hosts(job_rank *self)
{
    enum { CALLS = 30, COUNT = 5000 };
    banyan_request *requests[CALLS];
    int32_t *host = NULL;
    banyan_error err = {""};
    fixture f;

    if (open_fixture(self, &f, 0, CALL_MS))
        return 1;
    host = calloc((size_t)CALLS * COUNT, sizeof *host);
    EXPECT(host, "no memory");
    for (int i = 0; i < CALLS * COUNT; i++)
        host[i] = i * (self->rank + 1);
    EXPECT(!move(&f, 0, f.memory[0], host, COUNT * sizeof *host, &err), "%s", err.text);
    for (int i = 0; i < CALLS; i++)
        EXPECT(!banyan_allreduce_async(host + i * COUNT, host + i * COUNT, COUNT, BANYAN_INT32, BANYAN_SUM,
                                       f.comm, &requests[i]),
               "call %d: %s", i, banyan_last_error(f.comm));
    usleep((useconds_t)self->rank * 500);
    EXPECT(!banyan_allreduce_on(f.memory[0], f.memory[1], COUNT, BANYAN_INT32, BANYAN_SUM, f.comm, 0,
                                f.streams[0]),
           "on the device: %s", banyan_last_error(f.comm));
    for (int i = 0; i < CALLS; i++) {
        EXPECT(!banyan_request_wait(requests[i], -1), "call %d: %s", i, banyan_last_error(f.comm));
        banyan_request_free(requests[i]);
    }
    for (int i = 0; i < CALLS * COUNT; i++)
        EXPECT(host[i] == i * 6, "element %d is %d", i, host[i]);
    EXPECT(!move(&f, 0, host, f.memory[1], COUNT * sizeof *host, &err), "%s", err.text);
    for (int i = 0; i < COUNT; i++)
        EXPECT(host[i] == i * 6, "element %d of the device's is %d", i, host[i]);
    free(host);
    close_fixture(&f);
    return 0;
}

TEST(the_first_call_on_a_device_comes_behind_the_hosts_that_are_under_way)
{
    job_run(3, first_behind_the_hosts);
}

static int run_ahead(job_rank *self)
{
    enum { CALLS = 150, COUNT = 1000 };
    float *host = NULL;
    banyan_error err = {""};
    fixture f;

    if (open_fixture(self, &f, 0, CALL_MS))
        return 1;
    host = (float *)(void *)f.host[0];
    for (int i = 0; i < COUNT; i++)
        host[i] = 1;
    EXPECT(!move(&f, 0, f.memory[0], host, COUNT * sizeof *host, &err), "%s", err.text);
    for (int i = 0; i < CALLS; i++) /* averages of what is the same everywhere do not change it */
        EXPECT(!banyan_allreduce_on(f.memory[0], f.memory[0], COUNT, BANYAN_FLOAT32,
                                    i == CALLS / 2 ? BANYAN_SUM : BANYAN_AVG, f.comm, 0, f.streams[0]),
               "%s", banyan_last_error(f.comm));
    EXPECT(!move(&f, 0, host, f.memory[0], COUNT * sizeof *host, &err), "%s", err.text);
    for (int i = 0; i < COUNT; i++)
        EXPECT(host[i] == (float)self->memory->size, "element %d is %g", i, (double)host[i]);
    close_fixture(&f);
    return 0;
}

TEST(calls_are_done_in_order_however_far_ahead_they_are_made)
{
    job_run(3, run_ahead);
}

static int run_ahead_staged(job_rank *self)
{
    setenv("BANYAN_GPU_PATH", "staged", 1);
    return run_ahead(self);
}

TEST(staged_calls_are_done_in_order_however_far_ahead_they_are_made)
{
    job_run(3, run_ahead_staged);
}

static int launch_graphs(job_rank *self)
{
    enum { COUNT = 5000, TIMES = 40 };
    banyan_emulated_graph *graph;
    banyan_error err = {""};
    float *host, *result;
    fixture f;

    if (open_fixture(self, &f, 0, CALL_MS))
        return 1;
    host = (float *)(void *)f.host[0];
    result = (float *)(void *)f.host[1];
    banyan_emulated_capture_begin(f.streams[0]);
    for (int i = 0; i < 2; i++) /* the sum, and the sum of sums */
        EXPECT(!banyan_allreduce_on(f.memory[i], f.memory[1], COUNT, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                    f.streams[0]),
               "%s", banyan_last_error(f.comm));
    graph = banyan_emulated_capture_end(f.streams[0]);
    for (int time = 0; time < TIMES; time++) {
        for (int i = 0; i < COUNT; i++)
            host[i] = (float)(time + i + self->rank);
        EXPECT(!move(&f, 0, f.memory[0], host, COUNT * sizeof *host, &err), "%s", err.text);
        EXPECT(!banyan_emulated_launch(graph, f.streams[0], &err), "%s", err.text);
        if (time % 5 == 0) /* calls outside of the graph go on beside it */
            EXPECT(!banyan_allreduce_on(f.memory[1], f.memory[1], COUNT, BANYAN_FLOAT32, BANYAN_AVG, f.comm,
                                        0, f.streams[0]),
                   "%s", banyan_last_error(f.comm));
        EXPECT(!move(&f, 0, result, f.memory[1], COUNT * sizeof *result, &err), "%s", err.text);
        for (int i = 0; i < COUNT; i++)
            EXPECT(result[i] == (float)(9 * (time + i) + 9), "time %d, element %d is %g", time, i,
                   (double)result[i]);
    }
    banyan_emulated_graph_destroy(graph);
    close_fixture(&f);
    return 0;
}

TEST(a_graph_that_holds_calls_is_launched_many_times)
{
    if (!is_emulated())
        skip();
    job_run(3, launch_graphs);
}

/* ---- Failures. */

static banyan_status wait_for_failure(const fixture *f)
{
    struct timespec pause = {.tv_nsec = 2000000};
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < 60000 && !status; i++) {
        banyan_comm_get_async_error(f->comm, &status);
        nanosleep(&pause, NULL);
    }
    return status;
}

static int lose_rank_1(job_rank *self)
{
    banyan_error err = {""};
    banyan_status status;
    fixture f;

    if (open_fixture(self, &f, 0, CALL_MS))
        return 1;
    for (int i = 0; i < 3; i++)
        EXPECT(!banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                    f.streams[0]),
               "%s", banyan_last_error(f.comm));
    EXPECT(!f.device->table->synchronize(f.device, f.streams[0], &err), "%s", err.text);
    if (self->rank == 1)
        kill(getpid(), SIGKILL);
    status = banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                 f.streams[0]);
    EXPECT(!status || status == BANYAN_PEER_LOST, "%s", banyan_last_error(f.comm));
    EXPECT(wait_for_failure(&f) == BANYAN_PEER_LOST, "not lost");
    EXPECT(!f.device->table->synchronize(f.device, f.streams[0], &err), "%s",
           err.text); /* nothing waits for ever */
    status = banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                 f.streams[0]);
    EXPECT(status == BANYAN_PEER_LOST && strstr(banyan_last_error(f.comm), "rank 1"), "%s",
           banyan_last_error(f.comm));
    close_fixture(&f);
    return 0;
}

static void lose_and_check(rank_function function)
{
    job j = job_start(3, function);
    int wrong = 0;

    for (int i = 0; i < 3; i++) {
        int how = job_end_rank(&j, i, JOB_SECONDS);

        wrong += how != (i == 1 ? 1000 + SIGKILL : 0);
    }
    job_free(&j);
    assert_int_equal(wrong, 0);
}

static int lose_rank_1_staged(job_rank *self)
{
    setenv("BANYAN_GPU_PATH", "staged", 1);
    return lose_rank_1(self);
}

/* Of many chunks, so that every lane is in the middle of some. */
static int lose_rank_1_in_lanes(job_rank *self)
{
    banyan_error err = {""};
    banyan_status status = BANYAN_SUCCESS;
    fixture f;

    setenv("BANYAN_GPU_PATH", "staged", 1);
    setenv("BANYAN_GPU_CHUNK", "64KiB", 1);
    setenv("BANYAN_GPU_LANES", "3", 1);
    if (open_fixture(self, &f, 0, CALL_MS))
        return 1;
    for (int i = 0; i < 40 && !status; i++) {
        if (self->rank == 1 && i == 10)
            kill(getpid(), SIGKILL);
        status = banyan_allreduce_on(f.memory[0], f.memory[1], MOST_COUNT, BANYAN_FLOAT64, BANYAN_SUM, f.comm,
                                     0, f.streams[0]);
    }
    EXPECT(!status || status == BANYAN_PEER_LOST, "%s", banyan_last_error(f.comm));
    EXPECT(wait_for_failure(&f) == BANYAN_PEER_LOST, "not lost");
    EXPECT(!f.device->table->synchronize(f.device, f.streams[0], &err), "%s", err.text);
    close_fixture(&f);
    return 0;
}

TEST(a_killed_rank_stops_every_lane)
{
    lose_and_check(lose_rank_1_in_lanes);
}

TEST(a_killed_rank_is_named_and_no_stream_waits_for_it)
{
    lose_and_check(lose_rank_1);
    lose_and_check(lose_rank_1_staged);
}

static int come_late(job_rank *self)
{
    banyan_error err = {""};
    banyan_status status = BANYAN_SUCCESS;
    fixture f;

    if (open_fixture(self, &f, 0, 1500))
        return 1;
    EXPECT(!banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                f.streams[0]),
           "%s", banyan_last_error(f.comm));
    EXPECT(!f.device->table->synchronize(f.device, f.streams[0], &err), "%s", err.text);
    if (self->rank != 2)
        status = banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                     f.streams[0]);
    EXPECT(!status, "%s", banyan_last_error(f.comm));
    EXPECT(wait_for_failure(&f) == BANYAN_TIMEOUT, "no time-out");
    EXPECT(!f.device->table->synchronize(f.device, f.streams[0], &err), "%s", err.text);
    status = banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                 f.streams[0]);
    EXPECT(status == BANYAN_TIMEOUT && strstr(banyan_last_error(f.comm), "for rank 2 to make that call"),
           "%s", banyan_last_error(f.comm));
    close_fixture(&f);
    return 0;
}

TEST(a_rank_that_does_not_come_is_named_after_the_time_out)
{
    job_run(3, come_late);
}

static int differ(job_rank *self)
{
    size_t count = self->rank == 2 ? 900 : 1000;
    banyan_error err = {""};
    banyan_status status;
    fixture f;

    if (open_fixture(self, &f, 0, CALL_MS))
        return 1;
    EXPECT(!banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                f.streams[0]),
           "%s", banyan_last_error(f.comm));
    status = banyan_allreduce_on(f.memory[0], f.memory[1], count, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                 f.streams[0]);
    EXPECT(!status || status == BANYAN_MISMATCH, "%s", banyan_last_error(f.comm));
    EXPECT(wait_for_failure(&f) == BANYAN_MISMATCH, "no mismatch");
    EXPECT(!f.device->table->synchronize(f.device, f.streams[0], &err), "%s", err.text);
    status = banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                 f.streams[0]);
    EXPECT(status == BANYAN_MISMATCH && strstr(banyan_last_error(f.comm), "rank 2 calls allreduce(count 900"),
           "%s", banyan_last_error(f.comm));
    close_fixture(&f);
    return 0;
}

TEST(different_calls_are_told_with_both_ranks)
{
    job_run(3, differ);
}

/* Rank 2 turns to vectors of the host while the others go on with those of the device. */
static int leave_the_device(job_rank *self)
{
    banyan_error err = {""};
    banyan_status status;
    fixture f;

    if (open_fixture(self, &f, 0, CALL_MS))
        return 1;
    for (int turn = 0; turn < 2; turn++) {
        EXPECT(!banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                    f.streams[0]),
               "%s", banyan_last_error(f.comm));
        EXPECT(!banyan_barrier_before(f.comm, BANYAN_HOST), "%s", banyan_last_error(f.comm));
    }
    status = self->rank == 2 ? banyan_barrier_before(f.comm, BANYAN_HOST)
                             : banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM,
                                                   f.comm, 0, f.streams[0]);
    EXPECT(status == BANYAN_MISMATCH || (self->rank != 2 && !status), "%s", banyan_last_error(f.comm));
    EXPECT(wait_for_failure(&f) == BANYAN_MISMATCH, "no mismatch");
    EXPECT(!f.device->table->synchronize(f.device, f.streams[0], &err), "%s", err.text);
    status = banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                 f.streams[0]);
    EXPECT(status == BANYAN_MISMATCH && strstr(banyan_last_error(f.comm), "rank 2") &&
               strstr(banyan_last_error(f.comm), "on host memory"),
           "%s", banyan_last_error(f.comm));
    close_fixture(&f);
    return 0;
}

static int leave_the_device_staged(job_rank *self)
{
    setenv("BANYAN_GPU_PATH", "staged", 1);
    return leave_the_device(self);
}

/* Rank 0 turns to vectors of the device, on a communicator that has had none. */
static int turn_to_the_device(job_rank *self)
{
    char sentence[] = "rank 0 calls barrier(before calls on a GPU)";
    int32_t value = 1;
    banyan_status status;
    fixture f;

    if (open_fixture(self, &f, 0, CALL_MS))
        return 1;
    EXPECT(!banyan_barrier_before(f.comm, 0), "%s", banyan_last_error(f.comm));
    EXPECT(!banyan_allreduce(&value, &value, 1, BANYAN_INT32, BANYAN_SUM, f.comm), "%s",
           banyan_last_error(f.comm));
    status = self->rank == 0 ? banyan_barrier_before(f.comm, 0)
                             : banyan_allreduce(&value, &value, 1, BANYAN_INT32, BANYAN_SUM, f.comm);
    EXPECT(status == BANYAN_MISMATCH && strstr(banyan_last_error(f.comm), sentence), "%s",
           banyan_last_error(f.comm));
    close_fixture(&f);
    return 0;
}

/* Rank 2 sends what is in the host's memory and goes on, since the root of a short broadcast waits for
 * nobody. */
static int broadcast_meanwhile(job_rank *self)
{
    banyan_error err = {""};
    banyan_status status;
    int32_t value = 1;
    fixture f;

    if (open_fixture(self, &f, 0, CALL_MS))
        return 1;
    EXPECT(!banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                f.streams[0]),
           "%s", banyan_last_error(f.comm));
    EXPECT(!banyan_broadcast(&value, &value, 1, BANYAN_INT32, 2, f.comm), "%s", banyan_last_error(f.comm));
    if (self->rank == 2) {
        status = BANYAN_SUCCESS;
        for (int i = 0; i < 3 && !status; i++)
            status = banyan_broadcast(&value, &value, 1, BANYAN_INT32, 2, f.comm);
    } else {
        status = banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                     f.streams[0]);
    }
    EXPECT(!status || status == BANYAN_MISMATCH, "%s", banyan_last_error(f.comm));
    EXPECT(wait_for_failure(&f) == BANYAN_MISMATCH, "no mismatch");
    EXPECT(!f.device->table->synchronize(f.device, f.streams[0], &err), "%s", err.text);
    close_fixture(&f);
    return 0;
}

TEST(vectors_of_the_host_on_one_rank_and_of_a_device_on_another_are_told)
{
    job_run(3, leave_the_device);
    job_run(3, broadcast_meanwhile);
    job_run(3, leave_the_device_staged);
    job_run(3, turn_to_the_device);
}

/* The window that rank 1 needs finds no memory. */
static int run_out_of_memory(job_rank *self)
{
    banyan_error err = {""};
    banyan_status status = BANYAN_SUCCESS;
    fixture f;

    if (open_fixture_of_a_pool(self, &f))
        return 1;
    for (size_t count = 100; count <= 10000 && !status; count *= 100) {
        status = banyan_allreduce_on(f.memory[0], f.memory[1], count, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                     f.streams[0]);
        EXPECT(!status || count > 100, "%s", banyan_last_error(f.comm));
        EXPECT(!f.device->table->synchronize(f.device, f.streams[0], &err), "%s", err.text);
        banyan_emulated_set_bytes_left(4096);
    }
    if (self->rank == 1)
        EXPECT(status == BANYAN_SYSTEM_ERROR && strstr(banyan_last_error(f.comm), "has no memory for"), "%s",
               banyan_last_error(f.comm));
    EXPECT(wait_for_failure(&f), "the others do not know");
    status = banyan_allreduce_on(f.memory[0], f.memory[1], 100, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                 f.streams[0]);
    EXPECT(status && strstr(banyan_last_error(f.comm), "has no memory for"), "%s", banyan_last_error(f.comm));
    close_fixture(&f);
    return 0;
}

TEST(a_device_that_is_out_of_memory_is_an_error_on_all_ranks)
{
    if (!is_emulated())
        skip();
    job_run(3, run_out_of_memory);
}

static int ask_for_too_much(job_rank *self)
{
    void *memory;
    banyan_error err = {""};
    fixture f;

    if (open_fixture(self, &f, 0, CALL_MS))
        return 1;
    EXPECT(banyan_mem_alloc_on(&memory, (size_t)1 << 50, 0) == BANYAN_SYSTEM_ERROR && !memory, "2^50 bytes?");
    EXPECT(banyan_mem_alloc_on(&memory, 100, 99) == BANYAN_UNSUPPORTED, "device 99?");
    EXPECT(!banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm, 0,
                                f.streams[0]),
           "%s", banyan_last_error(f.comm));
    EXPECT(banyan_allreduce_on(f.memory[0], f.memory[1], 1000, BANYAN_FLOAT32, BANYAN_SUM, f.comm,
                               BANYAN_HOST, NULL) == BANYAN_INVALID_ARGUMENT,
           "another device");
    EXPECT(banyan_allreduce_on(f.memory[0], f.memory[1], 1000, (banyan_datatype)77, BANYAN_SUM, f.comm, 0,
                               f.streams[0]) == BANYAN_INVALID_ARGUMENT,
           "type 77");
    EXPECT(!f.device->table->synchronize(f.device, f.streams[0], &err), "%s", err.text);
    close_fixture(&f);
    return 0;
}

TEST(what_cannot_be_is_refused_without_harm)
{
    job_run(2, ask_for_too_much);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_share_a_device_get_the_bits_of_the_host),
        cmocka_unit_test(ranks_on_several_devices_share_the_work_and_get_the_bits_of_the_host),
        cmocka_unit_test(an_order_that_is_no_chain_gives_the_bits_of_the_host),
        cmocka_unit_test(memory_that_cannot_be_shared_goes_through_a_window),
        cmocka_unit_test(staged_calls_are_correct),
        cmocka_unit_test(chunks_that_are_added_up_at_the_same_time_are_correct),
        cmocka_unit_test(a_rank_whose_vectors_are_the_hosts_takes_part),
        cmocka_unit_test(every_collective_in_the_order_of_a_stream_is_that_of_the_host),
        cmocka_unit_test(every_collective_takes_ranks_whose_vectors_are_the_hosts),
        cmocka_unit_test(the_first_call_on_a_device_comes_behind_the_hosts_that_are_under_way),
        cmocka_unit_test(calls_are_done_in_order_however_far_ahead_they_are_made),
        cmocka_unit_test(staged_calls_are_done_in_order_however_far_ahead_they_are_made),
        cmocka_unit_test(a_graph_that_holds_calls_is_launched_many_times),
        cmocka_unit_test(a_killed_rank_stops_every_lane),
        cmocka_unit_test(a_killed_rank_is_named_and_no_stream_waits_for_it),
        cmocka_unit_test(a_rank_that_does_not_come_is_named_after_the_time_out),
        cmocka_unit_test(different_calls_are_told_with_both_ranks),
        cmocka_unit_test(vectors_of_the_host_on_one_rank_and_of_a_device_on_another_are_told),
        cmocka_unit_test(a_device_that_is_out_of_memory_is_an_error_on_all_ranks),
        cmocka_unit_test(what_cannot_be_is_refused_without_harm),
    };

    setenv("BANYAN_GPU", "emulated", 0);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
