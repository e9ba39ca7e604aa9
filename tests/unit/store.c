/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/store.c: many ranks, here threads, meet at one store: all get all records, and the store sends
 * them to few and holds few connections. */
#include "bootstrap/store.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/clients.h"
#include "bootstrap/join_tree.h"
#include "bootstrap/store_internal.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "transport/bytes.h"
#include "transport/channel.h"
#include "transport/dial.h"
#include "unit/test.h"

enum { RANKS = 150, TIMEOUT_MS = 60000 };

static banyan_secret secret = {{1, 2, 3}};
static const banyan_address loopback = {.family = AF_INET, .bytes = {127, 0, 0, 1}};

typedef struct {
    pthread_t thread;
    banyan_address address;
    banyan_rank_record mine, *records;
    int timeout_ms;
    banyan_status status;
    banyan_error err;
} visitor;

static banyan_rank_record make_record(int rank, int size)
{
    banyan_rank_record record = {
        .protocol = BANYAN_PROTOCOL, .size = size, .rank = rank, .process = 1000 + rank, .address = loopback};

    snprintf(record.host, sizeof record.host, "host%d", rank);
    return record;
}

static void *come(void *argument)
{
    visitor *v = argument;
    banyan_store_visit visit = {.address = v->address, .secret = &secret, .timeout_ms = v->timeout_ms};

    v->status = banyan_store_exchange(&visit, &v->mine, v->records, &v->err);
    return NULL;
}

static void start_within(visitor *v, const banyan_store *store, int rank, int size, int timeout_ms)
{
    *v = (visitor){.address = *banyan_store_address(store),
                   .mine = make_record(rank, size),
                   .timeout_ms = timeout_ms,
                   .records = banyan_alloc((size_t)size, sizeof *v->records)};
    assert_non_null(v->records);
    assert_int_equal(pthread_create(&v->thread, NULL, come, v), 0);
}

static void start(visitor *v, const banyan_store *store, int rank, int size)
{
    start_within(v, store, rank, size, TIMEOUT_MS);
}

static void finish(visitor *v, int size)
{
    pthread_join(v->thread, NULL);
    if (v->status)
        fail_msg("rank %d: %s", v->mine.rank, v->err.text);
    for (int r = 0; r < size; r++) {
        assert_int_equal(v->records[r].rank, r);
        assert_int_equal(v->records[r].process, 1000 + r);
    }
    banyan_free(v->records);
}

static banyan_store *open_store(void)
{
    banyan_store *store;
    banyan_error err;

    if (banyan_store_start(&loopback, 0, 0, &secret, TIMEOUT_MS, TIMEOUT_MS, &store, &err))
        fail_msg("%s", err.text);
    return store;
}

/* All records to 16 ranks, and a parent's record to each of the others. */
TEST(the_store_sends_all_records_to_few_ranks_who_hand_them_on)
{
    static const int sizes[] = {1, 2, BANYAN_JOIN_CHILDREN, BANYAN_JOIN_CHILDREN + 1, RANKS};
    visitor v[RANKS];

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int size = sizes[i], direct = size < BANYAN_JOIN_CHILDREN ? size : BANYAN_JOIN_CHILDREN;
        banyan_store *store = open_store();

        for (int r = 0; r < size; r++)
            start(&v[r], store, r, size);
        for (int r = 0; r < size; r++)
            finish(&v[r], size);
        assert_int_equal(banyan_store_sent_bytes(store),
                         direct * size * RECORDS_PER_RANK + (size - direct) * PARENT_MESSAGE);
        assert_in_range(banyan_store_most_connections(store), direct, BANYAN_MAX_CLIENTS);
        banyan_store_stop(store);
    }
}

static int64_t deadline(void)
{
    return banyan_clock_ns() + (int64_t)TIMEOUT_MS * 1000000;
}

static void dial(const banyan_address *address, int rank, int size, banyan_channel *channel)
{
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_STORE, rank, size, 0, 1};
    int fd;

    assert_int_equal(banyan_dial(address, &secret, &hello, "the other", deadline(), &fd, NULL), 0);
    banyan_channel_init(channel, fd, (size_t)1 << 20);
}

static void say(banyan_channel *channel, int type, const void *body, size_t bytes)
{
    assert_int_equal(banyan_channel_put(channel, type, body, bytes, NULL), 0);
    assert_int_equal(banyan_channel_send_all(channel, deadline(), NULL), 0);
}

/* A rank that says that it takes children at this port, and reads nothing. */
static void come_with_port(const banyan_store *store, int rank, int size, int port, int process,
                           banyan_channel *channel)
{
    unsigned char message[RECORD_MESSAGE];
    banyan_rank_record record = make_record(rank, size);

    record.process = process;
    banyan_put32(message, TIMEOUT_MS);
    banyan_put32(message + 4, TIMEOUT_MS);
    banyan_put32(message + 8, (uint32_t)port);
    banyan_put32(message + 12, 1);
    banyan_rank_record_write(&record, message + RECORD_HEAD);
    dial(banyan_store_address(store), rank, size, channel);
    say(channel, RECORD, message, sizeof message);
}

enum { DEAD_PORT = 1 }; /* nobody listens there */

TEST(a_rank_whose_parent_cannot_be_reached_asks_the_store)
{
    visitor v[RANKS];
    banyan_store *store = open_store();
    banyan_channel dead;

    come_with_port(store, 1, RANKS, DEAD_PORT, 1001, &dead);
    for (int r = 0; r < RANKS; r++)
        if (r != 1)
            start(&v[r], store, r, RANKS);
    for (int r = 0; r < RANKS; r++)
        if (r != 1)
            finish(&v[r], RANKS);
    assert_in_range(banyan_store_most_connections(store), 1, BANYAN_MAX_CLIENTS);
    banyan_channel_fini(&dead);
    banyan_store_stop(store);
}

/* Comes until it is sent to wait with a parent, and does so. */
static void attach_to_parent(const banyan_store *store, int rank, int size, int process,
                             banyan_channel *channel)
{
    unsigned char attachment[PAIR_MESSAGE];
    const unsigned char *body;
    banyan_rank_record parent;
    size_t bytes;
    int type;

    come_with_port(store, rank, size, 0, process, channel);
    while (banyan_channel_wait_message(channel, banyan_clock_ns() + 500000000, &type, &body, &bytes, NULL)) {
        banyan_channel_fini(channel);
        usleep(100000);
        come_with_port(store, rank, size, 0, process, channel);
    }
    assert_true(type == PARENT && bytes == PARENT_MESSAGE);
    assert_int_equal(banyan_rank_record_read(body + PARENT_HEAD, &parent, NULL), 0);
    parent.address.port = (uint16_t)banyan_get32(body);
    memcpy(attachment, body + 4, 4);
    banyan_put32(attachment + 4, 1);
    banyan_channel_fini(channel);
    dial(&parent.address, rank, size, channel);
    say(channel, ATTACH, attachment, sizeof attachment);
}

/* The store has no connection to those who wait with a parent; the parent tells it that one has gone. Here
 * the parent is rank 1, since no other takes children. */
TEST(another_process_may_come_in_place_of_one_that_went_from_its_parent)
{
    enum { SIZE = BANYAN_JOIN_CHILDREN + 2, LAST = SIZE - 1 };
    visitor v[SIZE];
    banyan_store *store = open_store();
    banyan_channel leaves[SIZE], channel;

    start(&v[1], store, 1, SIZE);
    for (int r = 0; r < BANYAN_JOIN_CHILDREN; r++)
        if (r != 1)
            come_with_port(store, r, SIZE, 0, 1000 + r, &leaves[r]);
    attach_to_parent(store, LAST, SIZE, 7, &channel);
    usleep(100000);
    banyan_channel_fini(&channel);
    usleep(2000000); /* what the parent says of it has come to the store */
    start(&v[LAST], store, LAST, SIZE);
    start(&v[LAST - 1], store, LAST - 1, SIZE);
    finish(&v[1], SIZE);
    finish(&v[LAST - 1], SIZE);
    finish(&v[LAST], SIZE);
    for (int r = 0; r < BANYAN_JOIN_CHILDREN; r++)
        if (r != 1)
            banyan_channel_fini(&leaves[r]);
    banyan_store_stop(store);
}

TEST(a_failure_reaches_all_ranks_of_the_tree)
{
    visitor v[RANKS];
    banyan_store *store = open_store();

    for (int r = 0; r < RANKS - 1; r++)
        start(&v[r], store, r, RANKS);
    start(&v[RANKS - 1], store, RANKS - 1, RANKS + 1);
    for (int r = 0; r < RANKS; r++) {
        pthread_join(v[r].thread, NULL);
        assert_int_equal(v[r].status, BANYAN_MISMATCH);
        CHECK_SAYS(v[r].err, "the number of ranks differs: rank ");
        banyan_free(v[r].records);
    }
    banyan_store_stop(store);
}

/* A port where connections are made and nobody says a word. */
TEST(a_rank_whose_parent_is_silent_asks_the_store)
{
    enum { SIZE = BANYAN_JOIN_CHILDREN + 4, SHORT_MS = 6000 };
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    banyan_store *store = open_store();
    banyan_channel silent;
    visitor v[SIZE];

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    come_with_port(store, 1, SIZE, ntohs(at.sin_port), 1001, &silent);
    for (int r = 0; r < SIZE; r++)
        if (r != 1)
            start_within(&v[r], store, r, SIZE, SHORT_MS);
    for (int r = 0; r < SIZE; r++)
        if (r != 1)
            finish(&v[r], SIZE);
    banyan_channel_fini(&silent);
    banyan_store_stop(store);
    close(fd);
}

/* Of the store's thread and of the rank's: the visit ends in time, with a sentence or with all records. */
TEST(every_allocation_may_fail)
{
    enum { SHORT_MS = 300 };
    int is_done = 0;

    for (int calls = 0; !is_done; calls++) {
        banyan_store *store = open_store();
        visitor v;

        banyan_alloc_fail_after(calls);
        v = (visitor){
            .address = *banyan_store_address(store), .mine = make_record(0, 1), .timeout_ms = SHORT_MS};
        v.records = calloc(1, sizeof *v.records);
        come(&v);
        is_done = !v.status;
        banyan_alloc_fail_after(-1);
        assert_true(is_done || v.err.text[0]);
        banyan_store_stop(store);
        free(v.records);
        assert_true(calls < 200);
    }
}

/* A network of this process alone, in which the system keeps few bytes that are not read. */
static int has_small_buffers(void)
{
    FILE *file = unshare(CLONE_NEWNET) ? NULL : fopen("/proc/sys/net/ipv4/tcp_wmem", "w");
    int is_done = file && fputs("4096 8192 8192", file) >= 0;

    if (file && fclose(file))
        is_done = 0;
    return is_done && !system("ip link set lo up"); /* NOLINT(cert-env33-c) */
}

/* The table of 1,000 ranks is more than the system keeps for those who are stopped. */
TEST(ranks_that_do_not_read_hold_up_nobody)
{
    enum { MANY = 1000, AWAKE = 6 };
    int64_t begun_ns = banyan_clock_ns();
    banyan_channel *stopped;
    banyan_store *store;
    visitor awake;

    if (!has_small_buffers()) {
        print_message("left out: a network of its own needs root\n");
        skip();
    }
    stopped = banyan_alloc(MANY, sizeof *stopped);
    store = open_store();
    for (int r = 0; r < MANY; r++)
        if (r != AWAKE)
            come_with_port(store, r, MANY, DEAD_PORT, 1000 + r, &stopped[r]);
    start(&awake, store, AWAKE, MANY);
    finish(&awake, MANY);
    assert_true(banyan_clock_ns() - begun_ns < (int64_t)TIMEOUT_MS * 1000000 * 3 / 4);
    for (int r = 0; r < MANY; r++)
        if (r != AWAKE)
            banyan_channel_fini(&stopped[r]);
    banyan_store_stop(store);
    banyan_free(stopped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_store_sends_all_records_to_few_ranks_who_hand_them_on),
        cmocka_unit_test(a_rank_whose_parent_cannot_be_reached_asks_the_store),
        cmocka_unit_test(a_rank_whose_parent_is_silent_asks_the_store),
        cmocka_unit_test(another_process_may_come_in_place_of_one_that_went_from_its_parent),
        cmocka_unit_test(a_failure_reaches_all_ranks_of_the_tree),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(ranks_that_do_not_read_hold_up_nobody), /* the last: it leaves the network */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
