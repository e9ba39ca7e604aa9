/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/collectives.c: ranks that are processes compute, whatever carries the bytes, the very bits that
 * threads of one process compute. */
#include "algorithms/algorithms.h"
#include "bits.h"
#include "calls/comm.h"
#include "group/group.h"
#include "jobs.h"

static int check_algorithm(job_rank *self, const char *algorithm, const char *topology, int connections)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    char sentence[512] = "", number[8];
    banyan_comm *comm = NULL;
    double expected[COUNT], data[COUNT];
    banyan_status status;

    config.algorithm = algorithm;
    config.topology = topology;
    config.timeout_ms = CALL_MS;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    snprintf(number, sizeof number, "%d", connections);
    setenv("BANYAN_TCP_CONNECTIONS", number, 1);
    status = banyan_comm_init_exchange(&comm, self->memory->size, self->rank, job_exchange, self, &config);
    EXPECT(!status, "%s: %s", algorithm, sentence);
    for (int t = 0; t < TYPES; t++) {
        size_t bytes = COUNT * banyan_datatype_bytes(types[t]);

        if (!expect_bits(algorithm, topology, self->memory->size, types[t], expected))
            break;
        fill(self->rank, types[t], data);
        status = banyan_allreduce(data, data, COUNT, types[t], BANYAN_SUM, comm);
        if (status == BANYAN_UNSUPPORTED) /* it needs relays */
            break;
        EXPECT(!status, "%s: %s", algorithm, banyan_last_error(comm));
        EXPECT(!memcmp(data, expected, bytes), "%s on %s: other bits for %s", algorithm, topology,
               banyan_datatype_string(types[t]));
        atomic_fetch_add(&self->memory->counted, 1);
    }
    banyan_comm_destroy(comm);
    return 0;
}

static int check_all_algorithms(job_rank *self)
{
    for (int i = 0; i < banyan_algorithm_count(); i++)
        if (check_algorithm(self, banyan_algorithm_at(i)->name, "hosts:2+3", 1))
            return 1;
    return check_algorithm(self, "auto", "hosts:2+3", 3);
}

TEST(every_algorithm_computes_the_same_bits_as_in_one_process)
{
    job j = job_start(5, check_all_algorithms);
    job_memory *memory = j.memory;
    int failed = 0;

    for (int i = 0; i < 5; i++)
        failed += job_end_rank(&j, i, 200) != 0;
    assert_int_equal(failed, 0);
    assert_true(atomic_load(&memory->counted) > 5 * 10 * TYPES); /* most algorithms apply */
    job_free(&j);
}

static int check_sizes(job_rank *self, int connections, const char *window)
{
    static const size_t counts[] = {0, 1, 2, 3, 7, 1000, 65536, 1 << 20, 3000001};
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    char sentence[512] = "", number[8];
    banyan_comm *comm = NULL;
    float *data = malloc(sizeof(float) * 3000001);

    config.timeout_ms = CALL_MS;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    snprintf(number, sizeof number, "%d", connections);
    setenv("BANYAN_TCP_CONNECTIONS", number, 1);
    setenv("BANYAN_TCP_WINDOW", window, 1);
    EXPECT(!banyan_comm_init_exchange(&comm, self->memory->size, self->rank, job_exchange, self, &config),
           "%s", sentence);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        size_t count = counts[c];

        for (size_t i = 0; i < count; i++)
            data[i] = (float)(self->rank + (int)(i % 1000));
        EXPECT(!banyan_allreduce(data, data, count, BANYAN_FLOAT32, BANYAN_SUM, comm), "%s",
               banyan_last_error(comm));
        for (size_t i = 0; i < count; i++)
            EXPECT(data[i] == (float)(6 + 4 * (int)(i % 1000)), "count %zu, element %zu: %g", count, i,
                   (double)data[i]);
    }
    EXPECT(!banyan_barrier(comm), "%s", banyan_last_error(comm));
    banyan_comm_destroy(comm);
    free(data);
    return 0;
}

static int one_connection(job_rank *self)
{
    return check_sizes(self, 1, "1MiB");
}

static int four_connections(job_rank *self)
{
    return check_sizes(self, 4, "1MiB");
}

static int tiny_windows(job_rank *self)
{
    return check_sizes(self, 2, "4096");
}

TEST(all_sizes_come_through_one_connection)
{
    job_run(4, one_connection);
}

TEST(all_sizes_come_through_four_connections)
{
    job_run(4, four_connections);
}

TEST(a_window_smaller_than_a_slice_only_slows_down)
{
    job_run(4, tiny_windows);
}

static int check_other_collectives(job_rank *self)
{
    enum { N = 1237 };
    int size = self->memory->size;
    banyan_comm *comm = NULL;
    int32_t send[N * 4], recv[N * 4];

    EXPECT(!banyan_comm_init_rank(&comm, size, job_id(self), self->rank, NULL), "init");
    for (int i = 0; i < N * size; i++)
        send[i] = (self->rank + 1) * (i + 1);
    EXPECT(!banyan_reduce_scatter(send, recv, N, BANYAN_INT32, BANYAN_SUM, comm), "%s",
           banyan_last_error(comm));
    for (int i = 0; i < N; i++)
        EXPECT(recv[i] == 10 * (self->rank * N + i + 1), "reduce-scatter %d", i);
    EXPECT(!banyan_all_gather(send, recv, N, BANYAN_INT32, comm), "%s", banyan_last_error(comm));
    for (int i = 0; i < N * size; i++)
        EXPECT(recv[i] == (i / N + 1) * (i % N + 1), "all-gather %d", i);
    EXPECT(!banyan_broadcast(send, recv, N, BANYAN_INT32, 2, comm), "%s", banyan_last_error(comm));
    for (int i = 0; i < N; i++)
        EXPECT(recv[i] == 3 * (i + 1), "broadcast %d", i);
    EXPECT(!banyan_reduce(send, recv, N, BANYAN_INT32, BANYAN_MAX, 1, comm), "%s", banyan_last_error(comm));
    for (int i = 0; i < N && self->rank == 1; i++)
        EXPECT(recv[i] == 4 * (i + 1), "reduce %d", i);
    EXPECT(!banyan_gather(send, recv, N, BANYAN_INT32, 3, comm), "%s", banyan_last_error(comm));
    for (int i = 0; i < N * size && self->rank == 3; i++)
        EXPECT(recv[i] == (i / N + 1) * (i % N + 1), "gather %d", i);
    EXPECT(!banyan_scatter(send, recv, N, BANYAN_INT32, 2, comm), "%s", banyan_last_error(comm));
    for (int i = 0; i < N; i++)
        EXPECT(recv[i] == 3 * (self->rank * N + i + 1), "scatter %d", i);
    EXPECT(!banyan_all_to_all(send, recv, N, BANYAN_INT32, comm), "%s", banyan_last_error(comm));
    for (int i = 0; i < N * size; i++)
        EXPECT(recv[i] == (i / N + 1) * (self->rank * N + i % N + 1), "all-to-all %d", i);
    banyan_comm_destroy(comm);
    return 0;
}

TEST(the_other_collectives_work_between_processes)
{
    job_run(4, check_other_collectives);
}

static int alone(job_rank *self)
{
    banyan_comm *comm = NULL;
    float one = 1;

    EXPECT(!banyan_comm_init_rank(&comm, 1, job_id(self), 0, NULL), "init");
    EXPECT(!banyan_allreduce(&one, &one, 1, BANYAN_FLOAT32, BANYAN_SUM, comm), "%s", banyan_last_error(comm));
    EXPECT(one == 1, "%g", (double)one);
    banyan_comm_destroy(comm);
    return 0;
}

TEST(one_rank_is_a_group_too)
{
    job_run(1, alone);
}

/* What carries the bytes of a pair: shared memory within a host where it may be used, else what was asked
 * for. */
static int check_ways(job_rank *self)
{
    const char *wish = getenv("BANYAN_TRANSPORT"), *plus = strchr(wish, '+');
    banyan_comm *comm = NULL;
    char words[120];

    EXPECT(!banyan_comm_init_rank(&comm, self->memory->size, job_id(self), self->rank, NULL), "init");
    for (int peer = 0; peer < self->memory->size; peer++) {
        int is_near = !strcmp(wish, "auto") || (plus && (peer < 2) == (self->rank < 2));
        const banyan_transport *way = comm->endpoint->transport;
        const char *told = way->describe ? way->describe(comm->endpoint, comm->group->setup.active[peer],
                                                         words, sizeof words)
                                         : way->name;

        EXPECT(peer == self->rank || (is_near ? strstr(told, "slots") || strstr(told, "process")
                                              : !strcmp(told, plus ? plus + 1 : wish)),
               "rank %d is reached so over %s: %s", peer, wish, told);
    }
    banyan_comm_destroy(comm);
    return 0;
}

TEST(each_pair_uses_the_best_that_both_have)
{
    job_run(4, check_ways);
}

/* The last rank comes late, and those that are done wait for it elsewhere: what they have sent must arrive
 * without their help, however little the network takes at once. */
static int broadcast_and_leave(job_rank *self)
{
    static const size_t sizes[] = {1, 1000, 3000, 5000, 20000};
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    int size = self->memory->size;
    char data[20000];
    banyan_comm *comm = NULL;

    config.timeout_ms = CALL_MS;
    setenv("UCX_TCP_SNDBUF", "1k", 1);
    setenv("UCX_TCP_RCVBUF", "1k", 1);
    EXPECT(!banyan_comm_init_rank(&comm, size, job_id(self), self->rank, &config), "init");
    for (int round = 0; round < 20; round++) {
        size_t bytes = sizes[(size_t)round % (sizeof sizes / sizeof *sizes)];
        int root = round % (size - 1);

        memset(data, self->rank == root ? round : -1, bytes);
        if (self->rank == size - 1)
            usleep(20000);
        EXPECT(!banyan_broadcast(data, data, bytes, BANYAN_INT8, root, comm), "round %d of %zu bytes: %s",
               round, bytes, banyan_last_error(comm));
        EXPECT(data[0] == round && data[bytes - 1] == round, "round %d: %d", round, data[0]);
        pthread_barrier_wait(&self->memory->barrier);
    }
    banyan_comm_destroy(comm);
    return 0;
}

TEST(a_rank_that_is_done_does_not_hold_up_the_others)
{
    job_run(3, broadcast_and_leave);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_is_a_group_too),
        cmocka_unit_test(each_pair_uses_the_best_that_both_have),
        cmocka_unit_test(the_other_collectives_work_between_processes),
        cmocka_unit_test(a_rank_that_is_done_does_not_hold_up_the_others),
        cmocka_unit_test(all_sizes_come_through_one_connection),
        cmocka_unit_test(all_sizes_come_through_four_connections),
        cmocka_unit_test(a_window_smaller_than_a_slice_only_slows_down),
        cmocka_unit_test(every_algorithm_computes_the_same_bits_as_in_one_process),
    };

    return RUN_OVER_TRANSPORTS(tests, count, words);
}
