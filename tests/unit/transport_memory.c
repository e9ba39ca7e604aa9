/* SPDX-License-Identifier: Apache-2.0 */
/* The memory transport: order, zero copy, refusal when full, waking, time-outs, aborts, withdrawal. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/random.h"
#include "transport/memory.h"

static const banyan_transport *const memory_transport = &banyan_transport_memory;

typedef struct {
    banyan_memory_hub *hub;
    banyan_endpoint *ends[3];
} group;

static void make_group(group *g)
{
    assert_int_equal(banyan_memory_hub_create(3, &g->hub, NULL), BANYAN_SUCCESS);
    for (int i = 0; i < 3; i++) {
        banyan_opening opening = {i, 3, g->hub};

        assert_int_equal(memory_transport->open(&opening, &g->ends[i], NULL), BANYAN_SUCCESS);
    }
    for (int i = 0; i < 3; i++)
        for (int peer = 0; peer < 3; peer++)
            if (peer != i)
                assert_int_equal(memory_transport->connect(g->ends[i], peer, 2, 2, 0, NULL), BANYAN_SUCCESS);
}

static void drop_group(group *g)
{
    for (int i = 0; i < 3; i++)
        memory_transport->close(g->ends[i]);
    banyan_memory_hub_destroy(g->hub);
}

static int64_t soon(void)
{
    return banyan_clock_ns() + 20000000;
}

static void the_receiver_sees_the_senders_own_memory(void **state)
{
    group g;
    const void *seen = NULL;
    char data[10] = "abcdefghi";

    (void)state;
    make_group(&g);
    assert_int_equal(memory_transport->peek(g.ends[1], 0, 0, &seen), 0);
    assert_int_equal(memory_transport->offer(g.ends[0], 1, 0, data, 10), 10);
    assert_int_equal(memory_transport->peek(g.ends[1], 0, 0, &seen), 10);
    assert_ptr_equal(seen, data);
    memory_transport->consume(g.ends[1], 0, 0, 4);
    assert_int_equal(memory_transport->sent(g.ends[0], 1, 0), 4);
    assert_int_equal(memory_transport->peek(g.ends[1], 0, 0, &seen), 6);
    assert_ptr_equal(seen, data + 4);
    memory_transport->consume(g.ends[1], 0, 0, 6);
    assert_int_equal(memory_transport->sent(g.ends[0], 1, 0), 10);
    assert_int_equal(memory_transport->peek(g.ends[1], 0, 0, &seen), 0);
    drop_group(&g);
}

static void streams_do_not_mix(void **state)
{
    group g;
    const void *seen = NULL;
    char a = 'a', b = 'b', c = 'c';

    (void)state;
    make_group(&g);
    memory_transport->offer(g.ends[0], 1, 0, &a, 1);
    memory_transport->offer(g.ends[0], 1, 1, &b, 1);
    memory_transport->offer(g.ends[2], 1, 0, &c, 1);
    assert_int_equal(memory_transport->peek(g.ends[1], 0, 1, &seen), 1);
    assert_ptr_equal(seen, &b);
    memory_transport->consume(g.ends[1], 0, 1, 1);
    assert_int_equal(memory_transport->peek(g.ends[1], 2, 0, &seen), 1);
    assert_ptr_equal(seen, &c);
    memory_transport->consume(g.ends[1], 2, 0, 0);
    assert_int_equal(memory_transport->sent(g.ends[0], 1, 0), 0);
    assert_int_equal(memory_transport->sent(g.ends[2], 1, 0), 0);
    drop_group(&g);
}

static void a_full_queue_refuses_and_takes_again_after_a_consume(void **state)
{
    group g;
    const void *seen = NULL;
    char data[100];
    size_t taken = 0;

    (void)state;
    make_group(&g);
    while (taken < 100 && memory_transport->offer(g.ends[0], 1, 0, data + taken, 1))
        taken++;
    assert_in_range(taken, 1, 99);
    assert_int_equal(memory_transport->peek(g.ends[1], 0, 0, &seen), 1);
    memory_transport->consume(g.ends[1], 0, 0, 1);
    assert_int_equal(memory_transport->offer(g.ends[0], 1, 0, data + taken, 1), 1);
    assert_int_equal(memory_transport->offer(g.ends[0], 1, 0, data + taken, 1), 0);
    drop_group(&g);
}

static void waiting_ends_at_the_deadline_and_at_once_after_news(void **state)
{
    group g;
    char data = 'x';

    (void)state;
    make_group(&g);
    assert_int_equal(memory_transport->wait(g.ends[1], soon(), NULL), BANYAN_TIMEOUT);
    memory_transport->offer(g.ends[0], 1, 0, &data, 1);
    assert_int_equal(memory_transport->wait(g.ends[1], 0, NULL), BANYAN_SUCCESS);
    assert_int_equal(memory_transport->wait(g.ends[1], soon(), NULL), BANYAN_TIMEOUT);
    drop_group(&g);
}

static void an_abort_reaches_everybody_and_the_first_one_counts(void **state)
{
    group g;
    banyan_error err = {""};

    (void)state;
    make_group(&g);
    assert_int_equal(memory_transport->failure(g.ends[1], &err), BANYAN_SUCCESS);
    memory_transport->abort(g.ends[2], BANYAN_REMOTE_ERROR, "rank 2 had enough");
    memory_transport->abort(g.ends[0], BANYAN_MISMATCH, "too late");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(memory_transport->wait(g.ends[i], 0, &err), BANYAN_REMOTE_ERROR);
        assert_string_equal(err.text, "rank 2 had enough");
        assert_int_equal(memory_transport->failure(g.ends[i], &err), BANYAN_REMOTE_ERROR);
    }
    drop_group(&g);
}

static void what_is_withdrawn_is_not_shown(void **state)
{
    group g;
    const void *seen = NULL;
    char data = 'x';

    (void)state;
    make_group(&g);
    memory_transport->offer(g.ends[0], 1, 0, &data, 1);
    memory_transport->withdraw(g.ends[0]);
    assert_int_equal(memory_transport->peek(g.ends[1], 0, 0, &seen), 0);
    drop_group(&g);
}

static void bad_members_and_peers_are_refused(void **state)
{
    group g;
    banyan_error err = {""};
    banyan_memory_hub *hub = NULL;
    banyan_endpoint *end = NULL;

    (void)state;
    make_group(&g);
    assert_int_equal(memory_transport->connect(g.ends[0], 3, 1, 1, 0, &err), BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "member 0 has no peer 3");
    assert_int_equal(memory_transport->connect(g.ends[0], 0, 1, 1, 0, &err), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(memory_transport->connect(g.ends[0], 1, 4097, 1, 0, &err), BANYAN_UNSUPPORTED);
    assert_int_equal(banyan_memory_hub_create(0, &hub, &err), BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "a group has 1 to 16384 members, not 0");
    assert_int_equal(memory_transport->open(&(banyan_opening){3, 3, g.hub}, &end, &err),
                     BANYAN_INVALID_ARGUMENT);
    assert_null(end);
    drop_group(&g);
}

/* Two threads, random sizes on both sides: every byte arrives once, in order. */

enum { STREAM_BYTES = 200000 };

typedef struct {
    banyan_endpoint *end;
    int peer;
    unsigned char *data;
    size_t wrong;
} pump;

static void *send_all(void *argument)
{
    pump *p = argument;
    banyan_random random = {1};
    size_t offered = 0;

    while (memory_transport->sent(p->end, p->peer, 0) < STREAM_BYTES) {
        size_t bytes = (size_t)banyan_random_below(&random, 999) + 1;

        bytes = bytes < STREAM_BYTES - offered ? bytes : STREAM_BYTES - offered;
        bytes = memory_transport->offer(p->end, p->peer, 0, p->data + offered, bytes);
        offered += bytes;
        if (!bytes)
            memory_transport->wait(p->end, banyan_clock_ns() + 1000000000, NULL);
    }
    memset(p->data, 0xff, STREAM_BYTES); /* ours again: a race here is a bug that TSan sees */
    return NULL;
}

static void *receive_all(void *argument)
{
    pump *p = argument;
    banyan_random random = {2};
    size_t got = 0;
    const void *seen;

    while (got < STREAM_BYTES) {
        size_t there = memory_transport->peek(p->end, p->peer, 0, &seen);
        size_t part = (size_t)banyan_random_below(&random, 700);

        if (!there) {
            memory_transport->wait(p->end, banyan_clock_ns() + 1000000000, NULL);
            continue;
        }
        part = part < there ? part : there;
        for (size_t i = 0; i < part; i++, got++)
            p->wrong += ((const unsigned char *)seen)[i] != (unsigned char)(got * 7 % 251);
        memory_transport->consume(p->end, p->peer, 0, part);
    }
    return NULL;
}

static void threads_see_every_byte_once_and_in_order(void **state)
{
    group g;
    pump from = {0}, to = {0};
    pthread_t threads[2];

    (void)state;
    make_group(&g);
    from = (pump){.end = g.ends[0], .peer = 1, .data = malloc(STREAM_BYTES)};
    to = (pump){.end = g.ends[1], .peer = 0};
    for (size_t i = 0; i < STREAM_BYTES; i++)
        from.data[i] = (unsigned char)(i * 7 % 251);
    pthread_create(&threads[0], NULL, send_all, &from);
    pthread_create(&threads[1], NULL, receive_all, &to);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert_int_equal(to.wrong, 0);
    free(from.data);
    drop_group(&g);
}

static void *read_until_withdrawn(void *argument)
{
    pump *p = argument;
    const void *seen;

    while (!memory_transport->failure(p->end, NULL)) {
        size_t there = memory_transport->peek(p->end, p->peer, 0, &seen);

        if (!there)
            continue;
        for (size_t i = 0; i < there; i++)
            p->wrong += ((const unsigned char *)seen)[i] != 5;
        memory_transport->consume(p->end, p->peer, 0, 0);
    }
    return NULL;
}

static void memory_may_be_freed_after_withdraw_while_a_peer_reads(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        group g;
        pthread_t thread;
        pump reader;
        unsigned char *data = malloc(4096);

        make_group(&g);
        memset(data, 5, 4096);
        reader = (pump){.end = g.ends[1], .peer = 0};
        memory_transport->offer(g.ends[0], 1, 0, data, 4096);
        pthread_create(&thread, NULL, read_until_withdrawn, &reader);
        memory_transport->wait(g.ends[0], banyan_clock_ns() + 1000000, NULL);
        memory_transport->withdraw(g.ends[0]);
        memset(data, 6, 4096);
        free(data);
        memory_transport->abort(g.ends[0], BANYAN_REMOTE_ERROR, "over");
        pthread_join(thread, NULL);
        assert_int_equal(reader.wrong, 0);
        drop_group(&g);
    }
}

static void survives_the_failure_of_each_allocation(void **state)
{
    int done = 0;

    (void)state;
    for (long calls = 0; !done; calls++) {
        banyan_memory_hub *hub = NULL;
        banyan_endpoint *end = NULL;
        banyan_error err = {""};
        banyan_status status;

        banyan_alloc_fail_after(calls);
        status = banyan_memory_hub_create(2, &hub, &err);
        if (!status)
            status = memory_transport->open(&(banyan_opening){0, 2, hub}, &end, &err);
        if (!status)
            status = memory_transport->connect(end, 1, 3, 2, 0, &err);
        done = !status;
        if (status)
            assert_string_equal(err.text, "out of memory");
        banyan_alloc_fail_after(-1);
        memory_transport->close(end);
        banyan_memory_hub_destroy(hub);
    }
}

static void every_transport_is_found_by_its_name(void **state)
{
    (void)state;
    assert_true(banyan_transport_count() >= 1);
    for (int i = 0; i < banyan_transport_count(); i++)
        assert_ptr_equal(banyan_transport_find(banyan_transport_at(i)->name), banyan_transport_at(i));
    assert_null(banyan_transport_find("pigeon"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_receiver_sees_the_senders_own_memory),
        cmocka_unit_test(streams_do_not_mix),
        cmocka_unit_test(a_full_queue_refuses_and_takes_again_after_a_consume),
        cmocka_unit_test(waiting_ends_at_the_deadline_and_at_once_after_news),
        cmocka_unit_test(an_abort_reaches_everybody_and_the_first_one_counts),
        cmocka_unit_test(what_is_withdrawn_is_not_shown),
        cmocka_unit_test(bad_members_and_peers_are_refused),
        cmocka_unit_test(threads_see_every_byte_once_and_in_order),
        cmocka_unit_test(memory_may_be_freed_after_withdraw_while_a_peer_reads),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
        cmocka_unit_test(every_transport_is_found_by_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
