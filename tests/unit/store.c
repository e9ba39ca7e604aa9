/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/store.c: many ranks, here threads, meet at one store: all get all cards, and the store sends
 * them to few. */
#include "bootstrap/store.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "transport/bytes.h"
#include "transport/channel.h"
#include "transport/dial.h"
#include "unit/test.h"

enum { RANKS = 60, TIMEOUT_MS = 60000, CARD_MESSAGE = 12 + BANYAN_CARD_BYTES };

static banyan_secret secret = {{1, 2, 3}};
static const banyan_address loopback = {.family = AF_INET, .bytes = {127, 0, 0, 1}};

typedef struct {
    pthread_t thread;
    banyan_address address;
    banyan_card mine, *cards;
    banyan_status status;
    banyan_error err;
} visitor;

static banyan_card make_card(int rank, int size)
{
    banyan_card card = {
        .protocol = BANYAN_PROTOCOL, .size = size, .rank = rank, .process = 1000 + rank, .address = loopback};

    snprintf(card.host, sizeof card.host, "host%d", rank);
    return card;
}

static void *come(void *argument)
{
    visitor *v = argument;
    banyan_store_visit visit = {.address = v->address, .secret = &secret, .timeout_ms = TIMEOUT_MS};

    v->status = banyan_store_exchange(&visit, &v->mine, v->cards, &v->err);
    return NULL;
}

static void start(visitor *v, const banyan_store *store, int rank, int size)
{
    *v = (visitor){.address = *banyan_store_address(store),
                   .mine = make_card(rank, size),
                   .cards = banyan_alloc((size_t)size, sizeof *v->cards)};
    assert_non_null(v->cards);
    assert_int_equal(pthread_create(&v->thread, NULL, come, v), 0);
}

static void finish(visitor *v, int size)
{
    pthread_join(v->thread, NULL);
    if (v->status)
        fail_msg("rank %d: %s", v->mine.rank, v->err.text);
    for (int r = 0; r < size; r++) {
        assert_int_equal(v->cards[r].rank, r);
        assert_int_equal(v->cards[r].process, 1000 + r);
    }
    banyan_free(v->cards);
}

static banyan_store *open_store(void)
{
    banyan_store *store;
    banyan_error err;

    if (banyan_store_start(&loopback, 0, 0, &secret, TIMEOUT_MS, TIMEOUT_MS, &store, &err))
        fail_msg("%s", err.text);
    return store;
}

/* 512 bytes a card to ranks 0 to 16, and a parent's card to each of the others. */
TEST(the_store_sends_all_cards_to_few_ranks_who_hand_them_on)
{
    static const int sizes[] = {1, 2, 17, 18, RANKS};
    visitor v[RANKS];

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int size = sizes[i], direct = size < 1 + BANYAN_STORE_CHILDREN ? size : 1 + BANYAN_STORE_CHILDREN;
        banyan_store *store = open_store();

        for (int r = 0; r < size; r++)
            start(&v[r], store, r, size);
        for (int r = 0; r < size; r++)
            finish(&v[r], size);
        assert_int_equal(banyan_store_sent_bytes(store),
                         direct * size * BANYAN_CARD_BYTES + (size - direct) * (4 + BANYAN_CARD_BYTES));
        banyan_store_stop(store);
    }
}

/* A rank that says that it hands cards on at a port where nobody listens, and reads nothing. */
static void come_with_a_dead_port(const banyan_store *store, int rank, int size, banyan_channel *channel)
{
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_STORE, rank, size, 0, 1};
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)TIMEOUT_MS * 1000000;
    unsigned char message[CARD_MESSAGE];
    banyan_card card = make_card(rank, size);
    int fd;

    banyan_put32(message, TIMEOUT_MS);
    banyan_put32(message + 4, TIMEOUT_MS);
    banyan_put32(message + 8, 1);
    banyan_card_write(&card, message + 12);
    assert_int_equal(
        banyan_dial(banyan_store_address(store), &secret, &hello, "the store", deadline_ns, &fd, NULL), 0);
    banyan_channel_init(channel, fd, (size_t)1 << 20);
    assert_int_equal(banyan_channel_put(channel, 1, message, sizeof message, NULL), 0);
    assert_int_equal(banyan_channel_send_all(channel, deadline_ns, NULL), 0);
}

TEST(a_rank_whose_parent_cannot_be_reached_asks_the_store)
{
    visitor v[RANKS];
    banyan_store *store = open_store();
    banyan_channel dead;

    come_with_a_dead_port(store, 1, RANKS, &dead);
    for (int r = 0; r < RANKS; r++)
        if (r != 1)
            start(&v[r], store, r, RANKS);
    for (int r = 0; r < RANKS; r++)
        if (r != 1)
            finish(&v[r], RANKS);
    banyan_channel_fini(&dead);
    banyan_store_stop(store);
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
            come_with_a_dead_port(store, r, MANY, &stopped[r]);
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
        cmocka_unit_test(the_store_sends_all_cards_to_few_ranks_who_hand_them_on),
        cmocka_unit_test(a_rank_whose_parent_cannot_be_reached_asks_the_store),
        cmocka_unit_test(ranks_that_do_not_read_hold_up_nobody), /* the last: it leaves the network */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
