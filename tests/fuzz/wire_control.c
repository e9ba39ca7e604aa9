/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/wire_control.c: messages of the control tree as a rank in its middle hears them from its parent,
 * its children and a rank that it has taken in, one of which may have gone mad:
 *
 *     {whose connection, word, length, body}, again and again
 *
 * Whatever comes, the rank keeps its books in order, and only ranks that exist are in them. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "group/control_internal.h"
#include "transport/bytes.h"

enum { SIZE = 12, FANOUT = 2, LINKS = 4, HEAD = 6 };

/* By rank: a parent, children, and one that was taken in. */
static const int neighbours[][LINKS] = {{1, 2, 5, 11}, {0, 3, 4, 11}};

static void hear_fail(void *context, banyan_status status, const char *sentence)
{
    (void)context;
    if (!status || strlen(sentence) >= sizeof((banyan_error *)0)->text)
        abort();
}

static void hear_left(void *context, int rank, uint64_t calls)
{
    (void)context;
    (void)calls;
    if (rank < 0 || rank >= SIZE)
        abort();
}

static void hear_body(void *context, const unsigned char *body, size_t bytes)
{
    (void)context;
    for (size_t i = 0; i < bytes; i++)
        (void)*(const volatile unsigned char *)(body + i);
}

static void hear_want(void *context, int rank, const unsigned char *body, size_t bytes)
{
    (void)rank;
    hear_body(context, body, bytes);
}

static void begin(banyan_control *control, banyan_rank_record *records, int rank, int ends[LINKS])
{
    const int *others = neighbours[rank];

    control->rank = rank;
    control->size = SIZE;
    control->parent = banyan_tree_parent(FANOUT, rank);
    banyan_control_set_fanout(control, FANOUT);
    control->records = records;
    control->beat_ns = control->timeout_ms = 1000000000;
    control->awake_ns = banyan_clock_ns();
    control->handler = (banyan_control_handler){
        .fail = hear_fail, .left = hear_left, .want = hear_want, .plan = hear_body, .call = hear_body};
    for (int i = 0; i < LINKS; i++) {
        int pair[2];

        ends[i] = -1;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
            continue;
        banyan_control_link(control, others[i], pair[0]);
        ends[i] = pair[1];
    }
}

/* As the thread does it. */
static void hear_all(banyan_control *control, const uint8_t *data, size_t size)
{
    while (size >= HEAD) {
        int from = neighbours[control->rank][data[0] % LINKS];
        size_t bytes = data[5] < size - HEAD ? data[5] : size - HEAD;

        if (banyan_control_is_linked(control, from) &&
            !banyan_control_hear(control, from, banyan_get32(data + 1), data + HEAD, bytes) &&
            banyan_control_is_linked(control, from))
            banyan_control_lose_member(control, from, BANYAN_REMOTE_ERROR, "a message");
        data += HEAD + bytes;
        size -= HEAD + bytes;
    }
}

static void run(const uint8_t *data, size_t size, int rank)
{
    static banyan_rank_record records[SIZE];
    banyan_address local = {.family = AF_INET, .bytes = {127, 0, 0, 1}};
    banyan_control *control = NULL;
    int ends[LINKS];

    if (banyan_control_create(SIZE, 1000, &local, 0, 0, &control, NULL))
        return;
    begin(control, records, rank, ends);
    hear_all(control, data, size);
    banyan_control_check_suspicion(control, INT64_MAX);
    if (control->link_count > LINKS || control->joined_count < 0 || control->joined_count >= SIZE)
        abort();
    for (int i = 0; i < LINKS; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    banyan_control_destroy(control);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run(data, size, 0);
    run(data, size, 1);
    return 0;
}
