/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/comm_overlap.c: buffers that share memory are refused with a sentence, unless the call works in
 * place; a rank that was refused may call again, and nobody's result is hurt. */
#include "unit/test.h"

#include <banyan/banyan.h>
#include <pthread.h>
#include <stdint.h>

#include "core/alloc.h"
#include "core/random.h"

enum { RANKS = 3, COUNT = 4, ROOM = 64 };

typedef enum { ALLREDUCE, ASYNC, SEGMENTS, REDUCE_SCATTER, ALL_GATHER, BROADCAST, REDUCE, KINDS } call_kind;

static banyan_status call(call_kind kind, const float *send, float *recv, size_t count, int root,
                          banyan_comm *comm)
{
    banyan_segment segment = {send, recv, count};
    banyan_request *request;
    banyan_status status;

    switch (kind) {
    case ALLREDUCE:
        return banyan_allreduce(send, recv, count, BANYAN_FLOAT32, BANYAN_SUM, comm);
    case ASYNC:
        status = banyan_allreduce_async(send, recv, count, BANYAN_FLOAT32, BANYAN_SUM, comm, &request);
        if (status)
            return status;
        status = banyan_request_wait(request, -1);
        banyan_request_free(request);
        return status;
    case SEGMENTS:
        return banyan_allreduce_segments(&segment, 1, BANYAN_FLOAT32, BANYAN_SUM, comm);
    case REDUCE_SCATTER:
        return banyan_reduce_scatter(send, recv, count, BANYAN_FLOAT32, BANYAN_SUM, comm);
    case ALL_GATHER:
        return banyan_all_gather(send, recv, count, BANYAN_FLOAT32, comm);
    case BROADCAST:
        return banyan_broadcast(send, recv, count, BANYAN_FLOAT32, root, comm);
    default:
        return banyan_reduce(send, recv, count, BANYAN_FLOAT32, BANYAN_SUM, root, comm);
    }
}

/* What the manual says: recv begins so many elements after send. */
static int is_allowed(call_kind kind, int rank, int root, int offset)
{
    int send = kind == REDUCE_SCATTER ? RANKS * COUNT : COUNT,
        recv = kind == ALL_GATHER ? RANKS * COUNT : COUNT;
    int in_place = kind == REDUCE_SCATTER ? rank * COUNT : kind == ALL_GATHER ? -rank * COUNT : 0;

    if ((kind == BROADCAST || kind == REDUCE) && rank != root) /* one of the buffers is not looked at */
        return 1;
    return offset == in_place || offset >= send || -offset >= recv;
}

typedef struct {
    banyan_comm *comm;
    int rank, wrong;
    char problem[256];
} worker;

static void complain(worker *w, const char *what, int kind, int root, int offset)
{
    if (!w->wrong++)
        snprintf(w->problem, sizeof w->problem, "%s: call %d, root %d, offset %d: %.120s", what, kind, root,
                 offset, banyan_last_error(w->comm));
}

static void check_result(worker *w, call_kind kind, int root, int offset, const float *recv)
{
    for (int i = 0; i < (kind == ALL_GATHER ? RANKS * COUNT : COUNT); i++) {
        float expected = 6; /* 1 + 2 + 3 */

        if (kind == REDUCE && w->rank != root)
            return;
        if (kind == ALL_GATHER)
            expected = (float)(i / COUNT + 1);
        if (kind == BROADCAST)
            expected = (float)(root + 1);
        if (recv[i] != expected)
            complain(w, "wrong result", (int)kind, root, offset);
    }
}

/* Every offset between the two buffers; who is refused makes the same call with buffers that lie apart. */
static void *try_all(void *argument)
{
    worker *w = argument;
    float memory[ROOM], apart[ROOM], *send = memory + ROOM / 2;

    for (int k = 0; k < KINDS * RANKS * 31; k++) {
        call_kind kind = (call_kind)(k % KINDS);
        int root = k / KINDS % RANKS, offset = k / KINDS / RANKS - 15;
        float *recv = send + offset;
        banyan_status status;

        for (int i = 0; i < ROOM; i++)
            memory[i] = apart[i] = (float)(w->rank + 1);
        status = call(kind, send, recv, COUNT, root, w->comm);
        if (is_allowed(kind, w->rank, root, offset) != !status)
            complain(w, status ? "refused" : "accepted", (int)kind, root, offset);
        if (!status) {
            check_result(w, kind, root, offset, recv);
            continue;
        }
        if (status != BANYAN_INVALID_ARGUMENT || !strstr(banyan_last_error(w->comm), "share"))
            complain(w, "said", (int)kind, root, offset);
        for (int i = 0; i < ROOM; i++)
            if (memory[i] != (float)(w->rank + 1))
                complain(w, "changed", (int)kind, root, offset);
        if (call(kind, send, apart, COUNT, root, w->comm))
            complain(w, "second call", (int)kind, root, offset);
        check_result(w, kind, root, offset, apart);
    }
    return NULL;
}

TEST(every_collective_refuses_what_overlaps_and_the_group_works_on)
{
    banyan_comm *comms[RANKS];
    pthread_t threads[RANKS];
    worker workers[RANKS];

    assert_int_equal(banyan_comm_init_all(comms, RANKS, NULL), 0);
    for (int r = 0; r < RANKS; r++) {
        workers[r] = (worker){.comm = comms[r], .rank = r};
        pthread_create(&threads[r], NULL, try_all, &workers[r]);
    }
    for (int r = 0; r < RANKS; r++)
        pthread_join(threads[r], NULL);
    for (int r = 0; r < RANKS; r++) {
        if (workers[r].wrong)
            fail_msg("rank %d: %d wrong, first: %s", r, workers[r].wrong, workers[r].problem);
        banyan_comm_destroy(comms[r]);
    }
}

TEST(the_sentence_names_the_call_the_overlap_and_what_is_allowed)
{
    banyan_comm *comm;
    float x[16] = {0};
    banyan_segment segments[] = {{x, x, 4}, {x + 8, x + 3, 2}};

    assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
    assert_int_equal(call(ALLREDUCE, x, x + 1, 4, 0, comm), BANYAN_INVALID_ARGUMENT);
    assert_string_equal(
        banyan_last_error(comm),
        "allreduce(count 4, float32, sum) on rank 0: recv begins 4 bytes after send and shares "
        "12 bytes with it; they must be in place (send == recv) or not overlap");
    assert_int_equal(call(REDUCE_SCATTER, x + 2, x, 4, 0, comm), BANYAN_INVALID_ARGUMENT);
    assert_non_null(strstr(banyan_last_error(comm), "recv begins 8 bytes before send and shares 8 bytes"));
    assert_non_null(strstr(banyan_last_error(comm), "in place (recv == send + rank * count elements)"));
    assert_int_equal(call(ALL_GATHER, x + 2, x, 4, 0, comm), BANYAN_INVALID_ARGUMENT);
    assert_non_null(strstr(banyan_last_error(comm), "in place (send == recv + rank * count elements)"));
    assert_int_equal(banyan_allreduce_segments(segments, 2, BANYAN_FLOAT32, BANYAN_SUM, comm),
                     BANYAN_INVALID_ARGUMENT);
    assert_string_equal(banyan_last_error(comm),
                        "allreduce(count 6, float32, sum) on rank 0: the recv of segment 0 and the recv of "
                        "segment 1 share 4 bytes; a recv may be its own segment's send or lie apart from all "
                        "others");
    banyan_comm_destroy(comm);
}

TEST(nothing_overlaps_nothing_and_addresses_do_not_wrap_around)
{
    banyan_comm *comm;
    char *last = (char *)(UINTPTR_MAX - 64); /* nobody looks there: the call is refused */
    char x[64] = {0};

    assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
    assert_int_equal(banyan_allreduce(x, x + 1, 0, BANYAN_INT8, BANYAN_SUM, comm), BANYAN_SUCCESS);
    assert_int_equal(banyan_allreduce_segments((banyan_segment[]){{x, x, 8}, {x + 1, x + 2, 0}}, 2,
                                               BANYAN_INT8, BANYAN_SUM, comm),
                     BANYAN_SUCCESS);
    assert_int_equal(banyan_allreduce(last, last + 32, 128, BANYAN_INT8, BANYAN_SUM, comm),
                     BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_allreduce(last + 32, last, 128, BANYAN_INT8, BANYAN_SUM, comm),
                     BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_allreduce_segments((banyan_segment[]){{last, last, 128}, {last + 9, last + 8, 1}},
                                               2, BANYAN_INT8, BANYAN_SUM, comm),
                     BANYAN_INVALID_ARGUMENT);
    banyan_comm_destroy(comm);
}

static int share(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes && a_bytes && b_bytes;
}

/* As the manual has it, pair by pair. */
static int are_apart(const banyan_segment *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            if (share(s[i].recv, s[i].count, s[j].send, s[j].count) && !(i == j && s[i].recv == s[i].send))
                return 0;
            if (i != j && share(s[i].recv, s[i].count, s[j].recv, s[j].count))
                return 0;
        }
    return 1;
}

TEST(segments_are_refused_just_when_two_of_them_share_what_is_written)
{
    banyan_random random = {1};
    banyan_comm *comm;
    int refused = 0, accepted = 0;

    assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
    for (int k = 0; k < 20000; k++) {
        char memory[256] = {0};
        banyan_segment segments[5];
        size_t count = 1 + (size_t)banyan_random_below(&random, 5);
        banyan_status status;

        for (size_t i = 0; i < count; i++) {
            char *send = memory + banyan_random_below(&random, 200),
                 *recv = memory + banyan_random_below(&random, 200);

            segments[i] = (banyan_segment){send, banyan_random_below(&random, 2) ? send : recv,
                                           (size_t)banyan_random_below(&random, 24)};
        }
        status = banyan_allreduce_segments(segments, count, BANYAN_INT8, BANYAN_SUM, comm);
        if (are_apart(segments, count) != !status)
            fail_msg("case %d: %s", k, status ? banyan_last_error(comm) : "accepted");
        *(status ? &refused : &accepted) += 1;
    }
    assert_true(refused > 1000 && accepted > 1000);
    banyan_comm_destroy(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_refuses_what_overlaps_and_the_group_works_on),
        cmocka_unit_test(the_sentence_names_the_call_the_overlap_and_what_is_allowed),
        cmocka_unit_test(nothing_overlaps_nothing_and_addresses_do_not_wrap_around),
        cmocka_unit_test(segments_are_refused_just_when_two_of_them_share_what_is_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
