/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/comm_moves.c: gather, scatter and all-to-all as a program meets them, between threads. */
#include <pthread.h>
#include <stdlib.h>

#include <banyan/banyan.h>

#include "unit/test.h"

enum { MOST = 7, MOST_COUNT = 40000 };

typedef struct {
    banyan_comm *comm;
    int rank, size, in_place;
    size_t count;
    char text[400];
} member;

/* What rank `from` has for rank `to`, at this element. */
static int32_t value(int from, int to, size_t i)
{
    return (int32_t)(from * 1000003 + to * 10007 + (int)i);
}

#define EXPECT(condition, ...)                                                                               \
    if (!(condition)) {                                                                                      \
        snprintf(m->text, sizeof m->text, __VA_ARGS__);                                                      \
        goto out;                                                                                            \
    }

static void gather(member *m, int root, int32_t *send, int32_t *recv)
{
    size_t n = m->count;
    int32_t *own = m->in_place && m->rank == root ? recv + (size_t)m->rank * n : send;

    for (size_t i = 0; i < n; i++)
        own[i] = value(m->rank, root, i);
    EXPECT(!banyan_gather(own, recv, n, BANYAN_INT32, root, m->comm), "gather: %s",
           banyan_last_error(m->comm));
    for (size_t i = 0; m->rank == root && i < n * (size_t)m->size; i++)
        EXPECT(recv[i] == value((int)(i / n), root, i % n), "gather to %d: element %zu", root, i);
    for (size_t i = 0; own == send && i < n; i++)
        EXPECT(send[i] == value(m->rank, root, i), "gather to %d changes what rank %d gave", root, m->rank);
out:;
}

static void scatter(member *m, int root, int32_t *send, int32_t *recv)
{
    size_t n = m->count;
    int32_t *own = m->in_place && m->rank == root ? send + (size_t)m->rank * n : recv;

    for (size_t i = 0; i < n * (size_t)m->size; i++)
        send[i] = m->rank == root ? value(root, (int)(i / n), i % n) : -1;
    EXPECT(!banyan_scatter(send, own, n, BANYAN_INT32, root, m->comm), "scatter: %s",
           banyan_last_error(m->comm));
    for (size_t i = 0; i < n; i++)
        EXPECT(own[i] == value(root, m->rank, i), "scatter from %d: element %zu", root, i);
    for (size_t i = 0; i < n * (size_t)m->size; i++)
        EXPECT(send[i] == (m->rank == root ? value(root, (int)(i / n), i % n) : -1),
               "scatter from %d changes what rank %d gave", root, m->rank);
out:;
}

static void exchange(member *m, int32_t *send, int32_t *recv)
{
    size_t n = m->count;

    for (size_t i = 0; i < n * (size_t)m->size; i++)
        send[i] = value(m->rank, (int)(i / n), i % n);
    EXPECT(!banyan_all_to_all(send, recv, n, BANYAN_INT32, m->comm), "all-to-all: %s",
           banyan_last_error(m->comm));
    for (size_t i = 0; i < n * (size_t)m->size; i++)
        EXPECT(recv[i] == value((int)(i / n), m->rank, i % n), "all-to-all: element %zu", i);
    for (size_t i = 0; i < n * (size_t)m->size; i++)
        EXPECT(send[i] == value(m->rank, (int)(i / n), i % n), "all-to-all changes what rank %d gave",
               m->rank);
out:;
}

static void *work(void *argument)
{
    member *m = argument;
    size_t bytes = (m->count ? m->count : 1) * (size_t)m->size * sizeof(int32_t);
    int32_t *send = malloc(bytes), *recv = malloc(bytes);

    for (int root = 0; root < m->size && !*m->text; root++) {
        gather(m, root, send, recv);
        if (!*m->text)
            scatter(m, root, send, recv);
    }
    if (!*m->text)
        exchange(m, send, recv);
    free(send);
    free(recv);
    return NULL;
}

static void run(int size, const char *topology, const char *algorithm, size_t count, int in_place)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_comm *comms[MOST];
    member members[MOST];
    pthread_t ids[MOST];
    char sentence[400] = "";

    config.topology = topology;
    config.algorithm = algorithm;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    if (banyan_comm_init_all(comms, size, &config))
        fail_msg("%s", sentence);
    for (int i = 0; i < size; i++) {
        members[i] =
            (member){.comm = comms[i], .rank = i, .size = size, .count = count, .in_place = in_place};
        pthread_create(&ids[i], NULL, work, &members[i]);
    }
    for (int i = 0; i < size; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < size; i++) {
        if (*members[i].text)
            fail_msg("%d ranks, %s, %zu elements, rank %d: %s", size, algorithm, count, i, members[i].text);
        banyan_comm_destroy(comms[i]);
    }
}

static const char *const algorithms[] = {"auto", "direct", "gather:binomial,scatter:binomial"};
static const size_t counts[] = {0, 1, 1000, MOST_COUNT};

TEST(parts_come_to_whom_they_are_meant_for)
{
    for (int size = 1; size <= MOST; size++)
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 4; c++)
                run(size, NULL, algorithms[a], counts[c], c % 2);
}

TEST(parts_come_also_between_uneven_hosts)
{
    for (int a = 0; a < 3; a++)
        for (int c = 0; c < 4; c++)
            run(5, "hosts:2+3,gbps=1", algorithms[a], counts[c], 0);
}

TEST(what_overlaps_is_refused_by_name)
{
    int32_t memory[4] = {0};
    banyan_comm *comm;

    assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
    assert_int_equal(banyan_all_to_all(memory, memory, 2, BANYAN_INT32, comm), BANYAN_INVALID_ARGUMENT);
    assert_non_null(strstr(banyan_last_error(comm), "must not overlap"));
    assert_int_equal(banyan_gather(memory, memory + 1, 2, BANYAN_INT32, 0, comm), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_gather(memory, NULL, 2, BANYAN_INT32, 0, comm), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_scatter(memory, memory, 2, BANYAN_INT32, 1, comm), BANYAN_INVALID_ARGUMENT);
    banyan_comm_destroy(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_come_to_whom_they_are_meant_for),
        cmocka_unit_test(parts_come_also_between_uneven_hosts),
        cmocka_unit_test(what_overlaps_is_refused_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
