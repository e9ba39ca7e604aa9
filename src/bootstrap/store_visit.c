/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/store_visit.c: a rank's visit to the meeting place (store.c): it brings its card and comes back
 * with everybody's, from the store or from its parent, and hands them on to its children through a store of
 * its own. A connection that is lost is made again. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bootstrap/store_internal.h"
#include "bootstrap/tree.h"
#include "core/clock.h"
#include "transport/bytes.h"
#include "transport/channel.h"
#include "transport/dial.h"

#define RETRY_NS 20000000 /* before a lost connection is made again */

/* What a visit keeps over the connections that it makes. */
typedef struct {
    banyan_store_visit *visit;
    int64_t deadline_ns;
    int has_met;
    banyan_store *own; /* for this rank's children; NULL: it has none */
} journey;

static banyan_status read_cards(const unsigned char *body, size_t bytes, int size, banyan_card *cards,
                                char strangers[BANYAN_STRANGERS_TEXT], banyan_error *err)
{
    size_t of_cards = (size_t)size * BANYAN_CARD_BYTES;
    banyan_status status = BANYAN_SUCCESS;

    if (bytes < of_cards || bytes - of_cards >= BANYAN_STRANGERS_TEXT)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "the place where ranks meet sent %zu bytes of cards",
                           bytes);
    for (int i = 0; i < size && !status; i++)
        status = banyan_card_read(body + (size_t)i * BANYAN_CARD_BYTES, &cards[i], err);
    memcpy(strangers, body + of_cards, bytes - of_cards);
    strangers[bytes - of_cards] = '\0';
    return status;
}

/* Those of rank 0 get their cards from the store. */
static int count_children(const banyan_card *mine)
{
    return mine->rank ? banyan_tree_child_count(BANYAN_STORE_CHILDREN, mine->size, mine->rank) : 0;
}

/* A rank that cannot hand cards on says so by port 0, and its children get theirs from the store. */
static void open_own(journey *j, const banyan_card *mine, const banyan_address *local)
{
    banyan_address address = *local;

    address.port = 0;
    if (!j->own && count_children(mine) && local->family)
        banyan_store_start_parent(&address, j->visit->low_port, j->visit->high_port, j->visit->secret,
                                  count_children(mine), mine->size, j->visit->timeout_ms, &j->own, NULL);
}

/* Where it does not arrive, the store stays longer than it has to, and nothing else. */
static void say_got(banyan_channel *channel)
{
    if (!banyan_channel_put(channel, GOT, NULL, 0, NULL))
        banyan_channel_flush(channel, NULL);
}

static banyan_status take_cards(journey *j, const banyan_card *mine, const unsigned char *body, size_t bytes,
                                banyan_card *cards, banyan_error *err)
{
    banyan_status status = read_cards(body, bytes, mine->size, cards, j->visit->strangers, err);

    if (!status && j->own)
        banyan_store_fill(j->own, body, bytes);
    return status;
}

/* From the parent, which may have them only a little later. */
static banyan_status fetch(journey *j, const banyan_card *mine, const unsigned char *body, size_t bytes,
                           banyan_card *cards)
{
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_STORE, mine->rank, mine->size, 0, 1};
    int64_t now_ns = banyan_clock_ns(), until_ns = now_ns + (j->deadline_ns - now_ns) / 2;
    banyan_card parent;
    banyan_channel channel;
    banyan_status status;
    int fd, type = 0;

    if (bytes != PARENT_MESSAGE || banyan_card_read(body + 4, &parent, NULL))
        return BANYAN_REMOTE_ERROR;
    parent.address.port = (uint16_t)banyan_get32(body);
    status = banyan_dial_again(&parent.address, j->visit->secret, &hello, "a parent", until_ns, &fd, NULL);
    if (status)
        return status;
    banyan_channel_init(&channel, fd, MOST_MESSAGE);
    status = banyan_channel_put(&channel, FETCH, NULL, 0, NULL);
    if (!status)
        status = banyan_channel_send_all(&channel, until_ns, NULL);
    if (!status)
        status = banyan_channel_wait_message(&channel, until_ns, &type, &body, &bytes, NULL);
    if (!status)
        status = type == CARDS ? take_cards(j, mine, body, bytes, cards, NULL) : BANYAN_REMOTE_ERROR;
    if (!status)
        say_got(&channel);
    banyan_channel_fini(&channel);
    return status;
}

static banyan_status send_card(banyan_channel *channel, const journey *j, const banyan_card *mine,
                               banyan_error *err)
{
    int64_t left_ms = (j->deadline_ns - banyan_clock_ns()) / 1000000;
    unsigned char message[CARD_MESSAGE];
    banyan_status status;

    banyan_put32(message, (uint32_t)j->visit->timeout_ms);
    banyan_put32(message + 4, left_ms > 0 ? (uint32_t)left_ms : 0);
    banyan_put32(message + 8, j->own ? banyan_store_address(j->own)->port : 0);
    banyan_card_write(mine, message + CARD_HEAD);
    status = banyan_channel_put(channel, CARD, message, sizeof message, err);
    return status ? status : banyan_channel_send_all(channel, j->deadline_ns, err);
}

static banyan_status talk(banyan_channel *channel, journey *j, const banyan_card *mine, banyan_card *cards,
                          banyan_error *err)
{
    const unsigned char *body = NULL;
    size_t bytes = 0;
    int type = 0;
    banyan_status status = send_card(channel, j, mine, err);

    if (!status)
        status = banyan_channel_wait_message(channel, j->deadline_ns, &type, &body, &bytes, err);
    if (!status && type == PARENT) {
        if (!fetch(j, mine, body, bytes, cards)) {
            say_got(channel);
            return BANYAN_SUCCESS;
        }
        status = banyan_channel_put(channel, FETCH, NULL, 0, err);
        if (!status)
            status = banyan_channel_send_all(channel, j->deadline_ns, err);
        if (!status)
            status = banyan_channel_wait_message(channel, j->deadline_ns, &type, &body, &bytes, err);
    }
    if (status) {
        banyan_error_prefix(err, "the place where ranks meet");
        return status;
    }
    if (type == CARDS) {
        status = take_cards(j, mine, body, bytes, cards, err);
        say_got(channel);
        return status;
    }
    if (type != FAILED || bytes < 4)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "the place where ranks meet sent rubbish");
    return banyan_fail(err, (banyan_status)(banyan_get32(body) & 0xff), "%.*s", (int)(bytes - 4),
                       (const char *)body + 4);
}

static banyan_status visit_once(journey *j, banyan_card *mine, banyan_card *cards, banyan_error *err)
{
    banyan_store_visit *visit = j->visit;
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_STORE, mine->rank, mine->size, 0, 1};
    char text[BANYAN_ADDRESS_TEXT], other[BANYAN_ADDRESS_TEXT + 40];
    banyan_address local = {0};
    banyan_channel channel;
    banyan_status status;
    int fd;

    snprintf(other, sizeof other, "the meeting place at %s", banyan_address_format(&visit->address, text));
    status = j->has_met
                 ? banyan_dial_again(&visit->address, visit->secret, &hello, other, j->deadline_ns, &fd, err)
                 : banyan_dial(&visit->address, visit->secret, &hello, other, j->deadline_ns, &fd, err);
    if (status)
        return status;
    banyan_socket_local(fd, &local);
    banyan_channel_init(&channel, fd, MOST_MESSAGE);
    if (!j->has_met && visit->prepare)
        status = visit->prepare(visit->context, &local, mine, err);
    if (!status)
        open_own(j, mine, mine->address.family ? &mine->address : &local);
    j->has_met = 1;
    if (!status)
        status = talk(&channel, j, mine, cards, err);
    banyan_channel_fini(&channel);
    return status;
}

static banyan_status visit(journey *j, banyan_card *mine, banyan_card *cards, banyan_error *err)
{
    struct timespec pause = {.tv_nsec = RETRY_NS};
    banyan_status status = BANYAN_PEER_LOST, lost = BANYAN_SUCCESS;
    banyan_error why = {""};

    while (status == BANYAN_PEER_LOST && (!lost || banyan_clock_ns() + RETRY_NS < j->deadline_ns)) {
        if (lost)
            nanosleep(&pause, NULL);
        status = visit_once(j, mine, cards, &why);
        /* Where we have been before and are refused now, nobody is any more: what was lost is what there is
         * to tell. */
        if (lost && status == BANYAN_SYSTEM_ERROR)
            return lost;
        if (status)
            banyan_fail(err, status, "%s", why.text);
        lost = status;
    }
    return status;
}

banyan_status banyan_store_exchange(banyan_store_visit *given, banyan_card *mine, banyan_card *cards,
                                    banyan_error *err)
{
    journey j = {.visit = given, .deadline_ns = banyan_clock_ns() + (int64_t)given->timeout_ms * 1000000};
    banyan_status status = visit(&j, mine, cards, err);

    if (status)
        banyan_store_stop(j.own);
    else if (j.own)
        banyan_store_leave(j.own); /* children fetch theirs while we go on */
    return status;
}
