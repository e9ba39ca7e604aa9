/* SPDX-License-Identifier: Apache-2.0 */
/* The public interface as a program meets it: <banyan/banyan.h>, threads, and nothing else (but for the
 * allocator, which is made to fail). */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <banyan/banyan.h>
#include <cmocka.h>

#include "core/alloc.h"

enum { MOST = 8, COUNT = 1003 };

/* One rank in its thread: does `work`, keeps what came of it. */
typedef struct rank_thread rank_thread;
struct rank_thread {
    banyan_comm *comm;
    int rank, size;
    void (*work)(rank_thread *self);
    banyan_status status;
    char text[512];
    int wrong;
};

static void *run_rank(void *argument)
{
    rank_thread *self = argument;

    self->work(self);
    return NULL;
}

static void make_comms(banyan_comm **comms, int size, const banyan_config *config)
{
    if (banyan_comm_init_all(comms, size, config))
        fail_msg("init failed: %s", config && config->error ? config->error : "?");
}

static void destroy_comms(banyan_comm **comms, int size)
{
    for (int i = 0; i < size; i++)
        assert_int_equal(banyan_comm_destroy(comms[i]), BANYAN_SUCCESS);
}

/* Everybody does the work at once; works may differ by rank. */
static void run_all(banyan_comm **comms, int size, void (*work)(rank_thread *), rank_thread *threads)
{
    pthread_t ids[MOST];

    for (int i = 0; i < size; i++) {
        threads[i] = (rank_thread){.comm = comms[i], .rank = i, .size = size, .work = work};
        pthread_create(&ids[i], NULL, run_rank, &threads[i]);
    }
    for (int i = 0; i < size; i++)
        pthread_join(ids[i], NULL);
}

static void run_and_expect_success(int size, const banyan_config *config, void (*work)(rank_thread *))
{
    banyan_comm *comms[MOST];
    rank_thread threads[MOST];

    make_comms(comms, size, config);
    run_all(comms, size, work, threads);
    for (int i = 0; i < size; i++)
        if (threads[i].status || threads[i].wrong)
            fail_msg("rank %d of %d: %s, %d wrong: %s", i, size, banyan_status_string(threads[i].status),
                     threads[i].wrong, banyan_last_error(comms[i]));
    destroy_comms(comms, size);
}

static void note(rank_thread *self, banyan_status status)
{
    if (!self->status && status) {
        self->status = status;
        strncpy(self->text, banyan_last_error(self->comm), sizeof self->text - 1);
    }
}

/* Rank r holds 100 r + i mod 50: small enough to be exact in float32. */
static float input(int rank, size_t i)
{
    return (float)(100 * rank + (int)(i % 50));
}

static float sum(int size, size_t i)
{
    return (float)(100 * size * (size - 1) / 2 + size * (int)(i % 50));
}

static void do_allreduce(rank_thread *self)
{
    float *send = malloc(COUNT * sizeof *send), *recv = malloc(COUNT * sizeof *recv);

    for (int in_place = 0; in_place < 2; in_place++) {
        float *from = in_place ? recv : send;

        for (size_t i = 0; i < COUNT; i++)
            from[i] = input(self->rank, i);
        note(self, banyan_allreduce(from, recv, COUNT, BANYAN_FLOAT32, BANYAN_SUM, self->comm));
        for (size_t i = 0; i < COUNT; i++)
            self->wrong += recv[i] != sum(self->size, i) || (!in_place && send[i] != input(self->rank, i));
    }
    note(self, banyan_allreduce(send, recv, COUNT, BANYAN_FLOAT32, BANYAN_AVG, self->comm));
    for (size_t i = 0; i < COUNT; i++)
        self->wrong += recv[i] != sum(self->size, i) / (float)self->size;
    note(self, banyan_allreduce(send, recv, COUNT, BANYAN_FLOAT32, BANYAN_MAX, self->comm));
    for (size_t i = 0; i < COUNT; i++)
        self->wrong += recv[i] != input(self->size - 1, i);
    note(self, banyan_allreduce(NULL, NULL, 0, BANYAN_FLOAT32, BANYAN_SUM, self->comm));
    note(self, banyan_allreduce(send, recv, 1, BANYAN_FLOAT32, BANYAN_MIN, self->comm));
    self->wrong += recv[0] != input(0, 0);
    free(send);
    free(recv);
}

/* Each rank cuts the same vector in its own way: segments of 1, 0, r, 2r, ... elements, some in place. */
static size_t cut(int rank, float *send, float *recv, banyan_segment *out)
{
    size_t made = 0, at = 0;

    for (size_t next = 1; at < COUNT; next = next == 1 ? 0 : next == 0 ? (size_t)rank + 2 : next * 2) {
        size_t count = next < COUNT - at ? next : COUNT - at;

        out[made] = (banyan_segment){made % 3 == 2 ? recv + at : send + at, recv + at, count};
        if (made % 3 == 2 && count)
            memcpy(recv + at, send + at, count * sizeof *send);
        at += count;
        made++;
    }
    return made;
}

static void do_segments(rank_thread *self)
{
    float *send = malloc(COUNT * sizeof *send), *recv = malloc(2 * COUNT * sizeof *recv);
    banyan_segment segments[2][64];
    banyan_request *requests[2] = {NULL, NULL};
    size_t counts[2];

    for (size_t i = 0; i < COUNT; i++)
        send[i] = input(self->rank, i);
    for (int k = 0; k < 2; k++)
        counts[k] = cut(self->rank + k, send, recv + k * COUNT, segments[k]);
    note(self, banyan_allreduce_segments(segments[0], counts[0], BANYAN_FLOAT32, BANYAN_SUM, self->comm));
    for (size_t i = 0; i < COUNT; i++)
        self->wrong += recv[i] != sum(self->size, i) || send[i] != input(self->rank, i);
    note(self, banyan_allreduce_segments(NULL, 0, BANYAN_FLOAT32, BANYAN_SUM, self->comm));
    memset(recv, 0, 2 * COUNT * sizeof *recv);
    for (int k = 0; k < 2; k++) { /* both in flight; the lists need not live on */
        counts[k] = cut(self->rank + k, send, recv + k * COUNT, segments[k]);
        note(self, banyan_allreduce_segments_async(segments[k], counts[k], BANYAN_FLOAT32, BANYAN_SUM,
                                                   self->comm, &requests[k]));
        memset(segments[k], 0, sizeof segments[k]);
    }
    for (int k = 0; k < 2; k++) {
        note(self, banyan_request_wait(requests[k], -1));
        banyan_request_free(requests[k]);
    }
    for (size_t i = 0; i < 2 * COUNT; i++)
        self->wrong += recv[i] != sum(self->size, i % COUNT);
    free(send);
    free(recv);
}

static void do_reduce_scatter(rank_thread *self)
{
    size_t whole = (size_t)self->size * COUNT, mine = (size_t)self->rank * COUNT;
    float *send = malloc(whole * sizeof *send), *recv = malloc(COUNT * sizeof *recv);

    for (size_t i = 0; i < whole; i++)
        send[i] = input(self->rank, i);
    note(self, banyan_reduce_scatter(send, recv, COUNT, BANYAN_FLOAT32, BANYAN_SUM, self->comm));
    for (size_t i = 0; i < COUNT; i++)
        self->wrong += recv[i] != sum(self->size, mine + i);
    note(self, banyan_reduce_scatter(send, send + mine, COUNT, BANYAN_FLOAT32, BANYAN_AVG, self->comm));
    for (size_t i = 0; i < whole; i++)
        self->wrong +=
            send[i] != (i - mine < COUNT ? sum(self->size, i) / (float)self->size : input(self->rank, i));
    note(self, banyan_reduce_scatter(NULL, NULL, 0, BANYAN_FLOAT32, BANYAN_SUM, self->comm));
    free(send);
    free(recv);
}

static void do_all_gather(rank_thread *self)
{
    size_t whole = (size_t)self->size * COUNT, mine = (size_t)self->rank * COUNT;
    float *recv = malloc(whole * sizeof *recv), *send = malloc(COUNT * sizeof *send);

    for (size_t i = 0; i < COUNT; i++)
        send[i] = input(self->rank, i);
    for (int in_place = 0; in_place < 2; in_place++) {
        memset(recv, 0, whole * sizeof *recv);
        memcpy(recv + mine, send, in_place ? COUNT * sizeof *send : 0);
        note(self, banyan_all_gather(in_place ? recv + mine : send, recv, COUNT, BANYAN_FLOAT32, self->comm));
        for (size_t i = 0; i < whole; i++)
            self->wrong += recv[i] != input((int)(i / COUNT), i % COUNT);
    }
    free(send);
    free(recv);
}

static void do_broadcast(rank_thread *self)
{
    float *send = malloc(COUNT * sizeof *send), *recv = malloc(COUNT * sizeof *recv);

    for (int root = 0; root < self->size; root++) {
        int is_root = self->rank == root;

        for (size_t i = 0; i < COUNT; i++)
            send[i] = input(self->rank, i);
        memset(recv, 0, COUNT * sizeof *recv);
        note(self, banyan_broadcast(is_root ? send : NULL, recv, COUNT, BANYAN_FLOAT32, root, self->comm));
        for (size_t i = 0; i < COUNT; i++)
            self->wrong += recv[i] != input(root, i);
        note(self, banyan_broadcast(send, send, COUNT, BANYAN_FLOAT32, root, self->comm));
        for (size_t i = 0; i < COUNT; i++)
            self->wrong += send[i] != input(root, i);
    }
    free(send);
    free(recv);
}

static void do_reduce(rank_thread *self)
{
    float *send = malloc(COUNT * sizeof *send), *recv = malloc(COUNT * sizeof *recv);

    for (int root = 0; root < self->size; root++) {
        int is_root = self->rank == root;

        for (size_t i = 0; i < COUNT; i++)
            send[i] = input(self->rank, i);
        note(self,
             banyan_reduce(send, is_root ? recv : NULL, COUNT, BANYAN_FLOAT32, BANYAN_SUM, root, self->comm));
        for (size_t i = 0; i < COUNT; i++)
            self->wrong += (is_root && recv[i] != sum(self->size, i)) || send[i] != input(self->rank, i);
        note(self, banyan_reduce(send, send, COUNT, BANYAN_FLOAT32, BANYAN_AVG, root, self->comm));
        for (size_t i = 0; i < COUNT; i++)
            self->wrong +=
                send[i] != (is_root ? sum(self->size, i) / (float)self->size : input(self->rank, i));
    }
    free(send);
    free(recv);
}

static void do_everything(rank_thread *self)
{
    do_allreduce(self);
    do_segments(self);
    note(self, banyan_barrier(self->comm));
    do_reduce_scatter(self);
    do_all_gather(self);
    do_broadcast(self);
    do_reduce(self);
}

static void every_collective_works_on_one_to_eight_ranks(void **state)
{
    (void)state;
    for (int size = 1; size <= MOST; size++)
        run_and_expect_success(size, NULL, do_everything);
}

static void every_collective_works_with_small_slices(void **state)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;

    (void)state;
    config.slice_bytes = 60;
    run_and_expect_success(5, &config, do_everything);
}

static void ring_works_for_what_it_can_do(void **state)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;

    (void)state;
    config.algorithm = "ring";
    run_and_expect_success(5, &config, do_allreduce);
    run_and_expect_success(5, &config, do_reduce_scatter);
    run_and_expect_success(5, &config, do_all_gather);
}

static int arrivals;
static pthread_mutex_t arrivals_lock = PTHREAD_MUTEX_INITIALIZER;

static void do_barriers(rank_thread *self)
{
    for (int round = 1; round <= 20; round++) {
        pthread_mutex_lock(&arrivals_lock);
        arrivals++;
        pthread_mutex_unlock(&arrivals_lock);
        note(self, banyan_barrier(self->comm));
        pthread_mutex_lock(&arrivals_lock);
        self->wrong += arrivals < round * self->size;
        pthread_mutex_unlock(&arrivals_lock);
    }
}

static void a_barrier_holds_everybody_until_all_have_come(void **state)
{
    (void)state;
    arrivals = 0;
    run_and_expect_success(6, NULL, do_barriers);
}

static void handles_know_their_rank_and_size(void **state)
{
    banyan_comm *comms[3];
    int rank = -1, size = -1;
    banyan_status async = BANYAN_TIMEOUT;

    (void)state;
    make_comms(comms, 3, NULL);
    assert_int_equal(banyan_comm_rank(comms[2], &rank), BANYAN_SUCCESS);
    assert_int_equal(banyan_comm_size(comms[2], &size), BANYAN_SUCCESS);
    assert_int_equal(banyan_comm_get_async_error(comms[2], &async), BANYAN_SUCCESS);
    assert_true(rank == 2 && size == 3 && async == BANYAN_SUCCESS);
    assert_string_equal(banyan_last_error(comms[2]), "");
    assert_int_equal(banyan_comm_rank(NULL, &rank), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_comm_size(comms[0], NULL), BANYAN_INVALID_ARGUMENT);
    destroy_comms(comms, 3);
}

static void bad_arguments_have_no_effect_and_are_named(void **state)
{
    banyan_comm *comms[1];
    float x = 3, y = 0;

    (void)state;
    make_comms(comms, 1, NULL);
    assert_int_equal(banyan_allreduce(&x, &y, 1, (banyan_datatype)77, BANYAN_SUM, comms[0]),
                     BANYAN_INVALID_ARGUMENT);
    assert_string_equal(banyan_last_error(comms[0]), "there is no datatype 77");
    assert_int_equal(banyan_allreduce(&x, &y, 1, BANYAN_FLOAT32, (banyan_op)9, comms[0]),
                     BANYAN_INVALID_ARGUMENT);
    assert_string_equal(banyan_last_error(comms[0]), "there is no op 9");
    assert_int_equal(banyan_allreduce(NULL, &y, 1, BANYAN_FLOAT32, BANYAN_SUM, comms[0]),
                     BANYAN_INVALID_ARGUMENT);
    assert_string_equal(banyan_last_error(comms[0]), "the send buffer is NULL");
    assert_int_equal(banyan_allreduce(&x, NULL, 1, BANYAN_FLOAT32, BANYAN_SUM, comms[0]),
                     BANYAN_INVALID_ARGUMENT);
    assert_string_equal(banyan_last_error(comms[0]), "the recv buffer is NULL");
    assert_int_equal(
        banyan_allreduce_segments(&(banyan_segment){&x, NULL, 1}, 1, BANYAN_FLOAT32, BANYAN_SUM, comms[0]),
        BANYAN_INVALID_ARGUMENT);
    assert_string_equal(banyan_last_error(comms[0]), "the recv buffer of segment 0 is NULL");
    assert_int_equal(banyan_broadcast(&x, &y, 1, BANYAN_FLOAT32, 1, comms[0]), BANYAN_INVALID_ARGUMENT);
    assert_string_equal(banyan_last_error(comms[0]), "root 1 is not a rank from 0 to 0");
    assert_int_equal(banyan_allreduce(&x, &y, SIZE_MAX / 2, BANYAN_FLOAT32, BANYAN_SUM, comms[0]),
                     BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_allreduce(&x, &y, 1, BANYAN_FLOAT32, BANYAN_SUM, NULL), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_barrier(NULL), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_allreduce(&x, &y, 1, BANYAN_FLOAT32, BANYAN_SUM, comms[0]), BANYAN_SUCCESS);
    assert_true(y == 3);
    destroy_comms(comms, 1);
}

static void check_init_fails(banyan_config *config, int size, banyan_status expected, const char *part)
{
    banyan_comm *comms[MOST] = {NULL};
    char text[300] = "";

    config->error = text;
    config->error_bytes = sizeof text;
    assert_int_equal(banyan_comm_init_all(comms, size, config), expected);
    if (!strstr(text, part))
        fail_msg("'%s' does not say '%s'", text, part);
    assert_null(comms[0]);
}

static void a_bad_config_is_one_sentence(void **state)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;

    (void)state;
    check_init_fails(&config, 0, BANYAN_INVALID_ARGUMENT, "a group has 1 to 4096 ranks, not 0");
    config.algorithm = "rign";
    check_init_fails(&config, 2, BANYAN_INVALID_ARGUMENT, "no algorithm is named rign (did you mean ring?)");
    config.algorithm = NULL;
    config.timeout_ms = -5;
    check_init_fails(&config, 2, BANYAN_INVALID_ARGUMENT, "-5 ms is negative");
    config.timeout_ms = 0;
    config.topology = "/there/is/no/such/file.json";
    check_init_fails(&config, 2, BANYAN_INVALID_ARGUMENT, "/there/is/no/such/file.json");
    config.topology = NULL;
    config.active = "0";
    check_init_fails(&config, 2, BANYAN_INVALID_ARGUMENT, "1 workers are active, but there are 2 ranks");
    config.active = NULL;
    config.magic = 0;
    assert_int_equal(banyan_comm_init_all((banyan_comm *[2]){0}, 2, &config), BANYAN_INVALID_ARGUMENT);
    config.magic = BANYAN_CONFIG_MAGIC;
    config.size += 8;
    check_init_fails(&config, 2, BANYAN_VERSION_MISMATCH, "this library");
    assert_int_equal(banyan_comm_init_all(NULL, 2, NULL), BANYAN_INVALID_ARGUMENT);
}

static void a_config_from_an_older_header_works(void **state)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_comm *comms[2];

    (void)state;
    config.size = offsetof(banyan_config, slice_bytes);
    config.slice_bytes = 1; /* beyond the struct: not looked at */
    assert_int_equal(banyan_comm_init_all(comms, 2, &config), BANYAN_SUCCESS);
    destroy_comms(comms, 2);
}

static void call_different_counts(rank_thread *self)
{
    float data[20] = {0};

    note(self,
         banyan_allreduce(data, data, self->rank == 1 ? 12 : 10, BANYAN_FLOAT32, BANYAN_SUM, self->comm));
}

static void different_calls_are_a_mismatch_that_names_both(void **state)
{
    banyan_comm *comms[3];
    rank_thread threads[3];

    (void)state;
    make_comms(comms, 3, NULL);
    run_all(comms, 3, call_different_counts, threads);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(threads[i].status, BANYAN_MISMATCH);
        assert_non_null(strstr(threads[i].text, "call 0 differs"));
        assert_non_null(strstr(threads[i].text, "rank 1 calls allreduce(count 12, float32, sum)"));
        assert_non_null(strstr(threads[i].text, "calls allreduce(count 10, float32, sum)"));
    }
    destroy_comms(comms, 3);
}

static void call_unless_rank_0(rank_thread *self)
{
    float data[20] = {0};

    if (self->rank)
        note(self, banyan_allreduce(data, data, 20, BANYAN_FLOAT32, BANYAN_SUM, self->comm));
}

static void a_missing_rank_is_a_time_out_for_the_others(void **state)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_comm *comms[4];
    rank_thread threads[4];
    banyan_status async = BANYAN_SUCCESS;
    float data[20] = {0};

    (void)state;
    config.timeout_ms = 50;
    config.algorithm = "parameter-server";
    make_comms(comms, 4, &config);
    run_all(comms, 4, call_unless_rank_0, threads);
    for (int i = 1; i < 4; i++) {
        assert_int_equal(threads[i].status, BANYAN_TIMEOUT);
        assert_non_null(strstr(threads[i].text, "waited 50 ms for rank 0"));
    }
    assert_int_equal(banyan_comm_get_async_error(comms[0], &async), BANYAN_SUCCESS);
    assert_int_equal(async, BANYAN_TIMEOUT);
    assert_int_equal(banyan_allreduce(data, data, 20, BANYAN_FLOAT32, BANYAN_SUM, comms[0]), BANYAN_TIMEOUT);
    destroy_comms(comms, 4);
}

static void a_time_out_can_be_changed(void **state)
{
    banyan_comm *comms[2];
    rank_thread threads[2];

    (void)state;
    make_comms(comms, 2, NULL);
    run_all(comms, 2, do_everything, threads);
    assert_int_equal(banyan_comm_set_timeout(NULL, 50), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_comm_set_timeout(comms[1], 0), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_comm_set_timeout(comms[1], 50), BANYAN_SUCCESS);
    run_all(comms, 2, call_unless_rank_0, threads);
    assert_int_equal(threads[1].status, BANYAN_TIMEOUT);
    assert_non_null(strstr(threads[1].text, "waited 50 ms for rank 0"));
    destroy_comms(comms, 2);
}

static void abort_or_wait(rank_thread *self)
{
    if (self->rank == 2)
        banyan_comm_abort(self->comm);
    else
        note(self, banyan_barrier(self->comm));
}

static void an_abort_ends_everybodys_call(void **state)
{
    banyan_comm *comms[4];
    rank_thread threads[4];

    (void)state;
    make_comms(comms, 4, NULL);
    run_all(comms, 4, abort_or_wait, threads);
    for (int i = 0; i < 4; i++)
        if (i != 2) {
            assert_int_equal(threads[i].status, BANYAN_REMOTE_ERROR);
            assert_string_equal(threads[i].text, "rank 2 aborted the communicator");
        }
    destroy_comms(comms, 4);
}

static void leave_or_wait(rank_thread *self)
{
    if (self->rank == 1)
        banyan_comm_destroy(self->comm);
    else
        note(self, banyan_barrier(self->comm));
}

static void a_destroyed_handle_is_a_lost_peer(void **state)
{
    banyan_comm *comms[3];
    rank_thread threads[3];

    (void)state;
    make_comms(comms, 3, NULL);
    run_all(comms, 3, leave_or_wait, threads);
    for (int i = 0; i < 3; i += 2) {
        assert_int_equal(threads[i].status, BANYAN_PEER_LOST);
        assert_non_null(strstr(threads[i].text, "rank 1 has destroyed its communicator"));
        banyan_comm_destroy(comms[i]);
    }
}

static void do_many_small(rank_thread *self)
{
    for (int i = 0; i < 300; i++) {
        int64_t value = self->rank + i;
        int64_t expected = (int64_t)self->size * (self->size - 1) / 2 + (int64_t)self->size * i;

        note(self, banyan_allreduce(&value, &value, 1, BANYAN_INT64, BANYAN_SUM, self->comm));
        self->wrong += value != expected;
        note(self, banyan_broadcast(&value, &value, 1, BANYAN_INT64, i % self->size, self->comm));
        self->wrong += value != expected;
    }
}

static void many_small_calls_keep_their_order(void **state)
{
    (void)state;
    run_and_expect_success(4, NULL, do_many_small);
}

static void a_handle_may_be_used_from_two_threads(void **state)
{
    banyan_comm *comms[1];
    rank_thread threads[2];
    pthread_t ids[2];

    (void)state;
    make_comms(comms, 1, NULL);
    for (int i = 0; i < 2; i++) {
        threads[i] = (rank_thread){.comm = comms[0], .size = 1, .work = do_many_small};
        pthread_create(&ids[i], NULL, run_rank, &threads[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(ids[i], NULL);
        assert_true(!threads[i].status && !threads[i].wrong);
    }
    destroy_comms(comms, 1);
}

/* One rank alone needs no thread, so that the walk is the same each time. A ring is planned quickly; the
 * planner's own search among all algorithms is walked in tests/unit/planner.c. */
static void survives_the_failure_of_each_allocation(void **state)
{
    int done = 0;

    (void)state;
    for (long calls = 0; !done; calls++) {
        banyan_comm *comms[1] = {NULL};
        banyan_config config = BANYAN_CONFIG_INITIALIZER;
        char text[100] = "";
        float x[4] = {1, 2, 3, 4}, y[4];
        banyan_status status;

        config.algorithm = "ring";
        config.error = text;
        config.error_bytes = sizeof text;
        banyan_alloc_fail_after(calls);
        status = banyan_comm_init_all(comms, 1, &config);
        if (!status)
            status = banyan_allreduce(x, y, 4, BANYAN_FLOAT32, BANYAN_SUM, comms[0]);
        if (!status)
            status = banyan_reduce_scatter(x, y, 4, BANYAN_FLOAT32, BANYAN_SUM, comms[0]);
        if (!status)
            status = banyan_allreduce_segments(&(banyan_segment){x, y, 4}, 1, BANYAN_FLOAT32, BANYAN_SUM,
                                               comms[0]);
        banyan_alloc_fail_after(-1);
        done = !status;
        if (!done)
            assert_int_equal(status, BANYAN_SYSTEM_ERROR);
        banyan_comm_destroy(comms[0]);
    }
}

/* A program that meets a failure tells the others. */
static void call_and_abort_on_failure(rank_thread *self)
{
    float data[64] = {0}, part[8];

    note(self, banyan_allreduce(data, data, 64, BANYAN_FLOAT32, BANYAN_SUM, self->comm));
    if (!self->status)
        note(self, banyan_reduce_scatter(data, part, 8, BANYAN_FLOAT32, BANYAN_SUM, self->comm));
    if (self->status)
        banyan_comm_abort(self->comm);
}

static void no_failure_of_an_allocation_leaves_another_rank_waiting(void **state)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    int done = 0;

    (void)state;
    config.algorithm = "ring";
    for (long calls = 0; !done; calls++) {
        banyan_comm *comms[3];
        rank_thread threads[3];

        make_comms(comms, 3, &config);
        banyan_alloc_fail_after(calls);
        run_all(comms, 3, call_and_abort_on_failure, threads);
        banyan_alloc_fail_after(-1);
        done = 1;
        for (int i = 0; i < 3; i++) {
            done &= !threads[i].status;
            assert_true(threads[i].status == BANYAN_SUCCESS || threads[i].status == BANYAN_SYSTEM_ERROR ||
                        threads[i].status == BANYAN_REMOTE_ERROR);
        }
        destroy_comms(comms, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_works_on_one_to_eight_ranks),
        cmocka_unit_test(every_collective_works_with_small_slices),
        cmocka_unit_test(ring_works_for_what_it_can_do),
        cmocka_unit_test(a_barrier_holds_everybody_until_all_have_come),
        cmocka_unit_test(handles_know_their_rank_and_size),
        cmocka_unit_test(bad_arguments_have_no_effect_and_are_named),
        cmocka_unit_test(a_bad_config_is_one_sentence),
        cmocka_unit_test(a_config_from_an_older_header_works),
        cmocka_unit_test(different_calls_are_a_mismatch_that_names_both),
        cmocka_unit_test(a_missing_rank_is_a_time_out_for_the_others),
        cmocka_unit_test(a_time_out_can_be_changed),
        cmocka_unit_test(an_abort_ends_everybodys_call),
        cmocka_unit_test(a_destroyed_handle_is_a_lost_peer),
        cmocka_unit_test(many_small_calls_keep_their_order),
        cmocka_unit_test(a_handle_may_be_used_from_two_threads),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
        cmocka_unit_test(no_failure_of_an_allocation_leaves_another_rank_waiting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
