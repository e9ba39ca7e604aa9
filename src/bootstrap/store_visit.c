/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/store_visit.c: a rank's visit to the store where ranks meet (store.c): it brings its record,
 * waits for everybody's with the store or with the parent that the store names, and hands on to its own
 * children what it hears. A connection that is lost before is made again, beginning with the store. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bootstrap/clients.h"
#include "bootstrap/join_tree.h"
#include "bootstrap/store_internal.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "transport/bytes.h"
#include "transport/dial.h"

#define RETRY_NS 20000000 /* before a lost connection is made again */

/* A parent that has said nothing when only one of that many parts of the time is left is taken for silent:
 * the store, which says what there is to say after seven eighths of it, is asked instead. */
#define LAST_PART 16

typedef struct {
    banyan_store_visit *given;
    banyan_rank_record *records;
    int size, rank;
    int64_t deadline_ns;
    int number;         /* of this visit to the store */
    int is_with_parent; /* up leads to a parent; else to the store */
    banyan_channel up;
    banyan_clients children;
    unsigned char *table; /* RECORDS for children; NULL: they have not come, or there are no children */
    size_t table_bytes;
    int wanted, got_count; /* children that are to get them, and that have */
} visitor;

/* ---- Children. */

static banyan_status ask(void *context, const banyan_hello *hello)
{
    const visitor *v = context;

    return hello->size == v->size && hello->from >= 0 && hello->from < v->size && hello->from != v->rank
               ? BANYAN_SUCCESS
               : BANYAN_INVALID_ARGUMENT;
}

static void say_lost(visitor *v, const unsigned char body[PAIR_MESSAGE])
{
    if (v->up.fd >= 0 && !v->table && !banyan_channel_put(&v->up, LOST, body, PAIR_MESSAGE, NULL))
        banyan_channel_flush(&v->up, NULL);
}

static void tell_child(visitor *v, banyan_client *child)
{
    if (!v->table || !child->visit || child->is_told)
        return;
    banyan_clients_send(&v->children, child, RECORDS, v->table, v->table_bytes);
    child->is_told = 1;
}

/* A child that was sent to an earlier visit of this rank is not known to the store any more. */
static void attach(visitor *v, banyan_client *child, const unsigned char *body)
{
    if ((int)banyan_get32(body) != v->number || child->visit) {
        banyan_channel_fini(&child->channel);
        return;
    }
    child->visit = (int)(banyan_get32(body + 4) & INT32_MAX);
    tell_child(v, child);
}

static void hear(void *context, banyan_client *child, int type, const unsigned char *body, size_t bytes)
{
    visitor *v = context;

    if (type == ATTACH && bytes == PAIR_MESSAGE) {
        attach(v, child, body);
    } else if (type == LOST && bytes == PAIR_MESSAGE) {
        say_lost(v, body);
    } else if (type == GOT && child->is_told) {
        v->got_count += !child->has_got;
        child->has_got = 1;
    } else {
        banyan_channel_fini(&child->channel);
    }
}

static void lose(void *context, const banyan_client *child)
{
    unsigned char body[PAIR_MESSAGE];

    banyan_put32(body, (uint32_t)child->rank);
    banyan_put32(body + 4, (uint32_t)child->visit);
    if (child->visit)
        say_lost(context, body);
}

/* Rank 0 takes no children: its process mostly serves the store. Nor does a rank that cannot listen; it says
 * so by port 0. */
static void open_children(visitor *v, const banyan_rank_record *mine)
{
    banyan_client_handler handler = {v, ask, NULL, hear, lose};
    banyan_address address = mine->address;

    if (v->size <= BANYAN_JOIN_CHILDREN || v->rank == 0 || !address.family)
        return;
    address.port = 0;
    if (!banyan_clients_open(&v->children, &address, v->given->low_port, v->given->high_port,
                             v->given->secret, v->given->timeout_ms, &handler, NULL) &&
        banyan_clients_reserve(&v->children, BANYAN_JOIN_CHILDREN, "", NULL))
        banyan_clients_close(&v->children);
}

/* ---- The way up. */

/* The next message from the store or the parent; children are served meanwhile. */
static banyan_status await(visitor *v, int64_t until_ns, int *type, const unsigned char **body, size_t *bytes,
                           banyan_error *err)
{
    while (!banyan_channel_next(&v->up, type, body, bytes)) {
        struct pollfd up = {.fd = v->up.fd, .events = POLLIN};
        banyan_status status = BANYAN_SUCCESS;

        if (banyan_channel_has_unsent(&v->up))
            up.events |= POLLOUT;
        if (banyan_clock_ns() >= until_ns)
            return banyan_fail(err, BANYAN_TIMEOUT, "no answer came in time");
        if (!banyan_clients_attend(&v->children, &up, until_ns))
            return banyan_fail_memory(err);
        if (up.revents)
            status = banyan_channel_flush(&v->up, err);
        if (up.revents && !status)
            status = banyan_channel_fill(&v->up, err);
        if (status)
            return status;
    }
    return BANYAN_SUCCESS;
}

static banyan_status send_up(visitor *v, int type, const void *body, size_t bytes, banyan_error *err)
{
    banyan_status status = banyan_channel_put(&v->up, type, body, bytes, err);

    return status ? status : banyan_channel_send_all(&v->up, v->deadline_ns, err);
}

static banyan_status send_record(visitor *v, const banyan_rank_record *mine, banyan_error *err)
{
    int64_t left_ms = (v->deadline_ns - banyan_clock_ns()) / 1000000;
    unsigned char message[RECORD_MESSAGE];

    banyan_put32(message, (uint32_t)v->given->timeout_ms);
    banyan_put32(message + 4, left_ms > 0 ? (uint32_t)left_ms : 0);
    banyan_put32(message + 8, v->children.listener ? banyan_listener_address(v->children.listener)->port : 0);
    banyan_put32(message + 12, (uint32_t)v->number);
    banyan_rank_record_write(mine, message + RECORD_HEAD);
    return send_up(v, RECORD, message, sizeof message, err);
}

static banyan_status dial(visitor *v, const banyan_address *to, const char *other, int is_again,
                          int64_t until_ns, banyan_error *err)
{
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_STORE, v->rank, v->size, 0, 1};
    banyan_status status;
    int fd;

    status = is_again ? banyan_dial_again(to, v->given->secret, &hello, other, until_ns, &fd, err)
                      : banyan_dial(to, v->given->secret, &hello, other, until_ns, &fd, err);
    if (!status)
        banyan_channel_init(&v->up, fd, MAX_MESSAGE);
    return status;
}

/* From the store to the parent that it names. */
static banyan_status go_to_parent(visitor *v, const unsigned char *body, size_t bytes, int *parent_rank,
                                  banyan_error *err)
{
    unsigned char attachment[PAIR_MESSAGE];
    int64_t now_ns = banyan_clock_ns();
    banyan_rank_record parent;
    banyan_status status;

    if (bytes != PARENT_MESSAGE || banyan_rank_record_read(body + PARENT_HEAD, &parent, err))
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "it names no parent");
    parent.address.port = (uint16_t)banyan_get32(body);
    *parent_rank = parent.rank;
    memcpy(attachment, body + 4, 4);
    banyan_put32(attachment + 4, (uint32_t)v->number);
    banyan_channel_fini(&v->up);
    status = dial(v, &parent.address, "a parent", 1, now_ns + (v->deadline_ns - now_ns) / 2, err);
    v->is_with_parent = 1;
    return status ? status : send_up(v, ATTACH, attachment, sizeof attachment, err);
}

/* Whatever goes wrong with a parent is a reason to come to the store again. */
static banyan_status wait_with_parent(visitor *v, int *type, const unsigned char **body, size_t *bytes,
                                      banyan_error *err)
{
    int64_t until_ns = v->deadline_ns - (int64_t)v->given->timeout_ms * 1000000 / LAST_PART;
    banyan_error why = {""};
    int parent = -1;
    banyan_status status = go_to_parent(v, *body, *bytes, &parent, &why);

    if (!status)
        status = await(v, until_ns, type, body, bytes, &why);
    return status ? banyan_fail(err, BANYAN_PEER_LOST, "rank %d, with which this rank waited for all: %s",
                                parent, why.text)
                  : BANYAN_SUCCESS;
}

/* ---- What comes down. */

/* All records, of which a copy goes to the children. */
static banyan_status take_records(visitor *v, const unsigned char *body, size_t bytes, banyan_error *err)
{
    size_t of_records = (size_t)v->size * BANYAN_RANK_RECORD_BYTES,
           fixed = (size_t)v->size * RECORDS_PER_RANK;
    banyan_status status = BANYAN_SUCCESS;

    if (bytes < fixed || bytes - fixed >= BANYAN_STRANGERS_TEXT)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "the place where ranks meet sent %zu bytes of records",
                           bytes);
    for (int i = 0; i < v->size && !status; i++)
        status = banyan_rank_record_read(body + (size_t)i * BANYAN_RANK_RECORD_BYTES, &v->records[i], err);
    memcpy(v->given->strangers, body + fixed, bytes - fixed);
    v->given->strangers[bytes - fixed] = '\0';
    v->wanted = body[of_records + (size_t)v->rank];
    if (status || !v->wanted)
        return status;
    v->table = banyan_alloc(bytes, 1);
    if (!v->table)
        return banyan_fail_memory(err);
    memcpy(v->table, body, bytes);
    v->table_bytes = bytes;
    for (size_t i = 0; i < v->children.count; i++)
        tell_child(v, &v->children.list[i]);
    return BANYAN_SUCCESS;
}

static banyan_status take_failure(visitor *v, const unsigned char *body, size_t bytes, banyan_error *err)
{
    for (size_t i = 0; i < v->children.count; i++)
        banyan_clients_send(&v->children, &v->children.list[i], FAILED, body, bytes);
    return banyan_fail(err, (banyan_status)(banyan_get32(body) & 0xff), "%.*s", (int)(bytes - FAILED_HEAD),
                       (const char *)body + FAILED_HEAD);
}

static banyan_status talk(visitor *v, const banyan_rank_record *mine, banyan_error *err)
{
    const unsigned char *body = NULL;
    size_t bytes = 0;
    int type = 0;
    banyan_status status = send_record(v, mine, err);

    if (!status)
        status = await(v, v->deadline_ns, &type, &body, &bytes, err);
    if (status) {
        banyan_error_prefix(err, "the place where ranks meet");
        return status;
    }
    if (type == PARENT)
        status = wait_with_parent(v, &type, &body, &bytes, err);
    if (status)
        return status;
    if (type == RECORDS)
        return take_records(v, body, bytes, err);
    if (type == FAILED && bytes >= FAILED_HEAD)
        return take_failure(v, body, bytes, err);
    return banyan_fail(err, BANYAN_REMOTE_ERROR, "the place where ranks meet sent rubbish");
}

/* ---- The visit. */

static banyan_status visit_once(visitor *v, banyan_rank_record *mine, banyan_error *err)
{
    banyan_store_visit *given = v->given;
    char text[BANYAN_ADDRESS_TEXT], other[BANYAN_ADDRESS_TEXT + 40];
    banyan_address local = {0};
    banyan_status status;

    snprintf(other, sizeof other, "the meeting place at %s", banyan_address_format(&given->address, text));
    status = dial(v, &given->address, other, v->number > 0, v->deadline_ns, err);
    if (status)
        return status;
    v->is_with_parent = 0;
    banyan_socket_local(v->up.fd, &local);
    if (v->number++ == 0) {
        if (given->prepare)
            status = given->prepare(given->context, &local, mine, err);
        if (!status)
            open_children(v, mine);
    }
    return status ? status : talk(v, mine, err);
}

static banyan_status visit(visitor *v, banyan_rank_record *mine, banyan_error *err)
{
    struct timespec pause = {.tv_nsec = RETRY_NS};
    banyan_status status = BANYAN_PEER_LOST, lost = BANYAN_SUCCESS;
    banyan_error why = {""};

    while (status == BANYAN_PEER_LOST && (!lost || banyan_clock_ns() + RETRY_NS < v->deadline_ns)) {
        int has_lost_parent = v->is_with_parent;

        if (lost) {
            banyan_channel_fini(&v->up);
            banyan_clients_drop(&v->children);
            nanosleep(&pause, NULL);
        }
        status = visit_once(v, mine, &why);
        /* Where we have been before and are refused now, nobody is any more: that the store was lost is what
         * there is to tell, not that a parent was. */
        if (lost && status == BANYAN_SYSTEM_ERROR)
            return has_lost_parent
                       ? banyan_fail(err, lost, "the place where ranks meet is gone: %s", why.text)
                       : lost;
        if (status)
            banyan_fail(err, status, "%s", why.text);
        lost = status;
    }
    return status;
}

static void destroy(visitor *v)
{
    banyan_channel_fini(&v->up);
    banyan_clients_close(&v->children);
    banyan_free(v->table);
    banyan_free(v);
}

/* Where it does not arrive, the store stays longer than it has to, and nothing else. */
static void leave(visitor *v)
{
    if (!banyan_channel_put(&v->up, GOT, NULL, 0, NULL))
        banyan_channel_flush(&v->up, NULL);
    destroy(v);
}

/* Children take the records while we go on. */
static void *serve_children(void *argument)
{
    visitor *v = argument;
    struct pollfd none = {.fd = -1};

    while (v->got_count < v->wanted && banyan_clock_ns() < v->deadline_ns &&
           banyan_clients_attend(&v->children, &none, v->deadline_ns))
        continue;
    if (v->got_count < v->wanted)
        destroy(v);
    else
        leave(v);
    return NULL;
}

static void start_to_serve(visitor *v)
{
    pthread_t thread;

    v->deadline_ns = banyan_clock_ns() + (int64_t)v->given->timeout_ms * 1000000;
    v->given = NULL; /* the caller's */
    v->records = NULL;
    if (pthread_create(&thread, NULL, serve_children, v))
        destroy(v); /* they ask the store */
    else
        pthread_detach(thread);
}

banyan_status banyan_store_exchange(banyan_store_visit *given, banyan_rank_record *mine,
                                    banyan_rank_record *records, banyan_error *err)
{
    visitor *v = banyan_alloc(1, sizeof *v);
    banyan_status status;

    if (!v)
        return banyan_fail_memory(err);
    *v = (visitor){.given = given,
                   .records = records,
                   .size = mine->size,
                   .rank = mine->rank,
                   .up = {.fd = -1},
                   .deadline_ns = banyan_clock_ns() + (int64_t)given->timeout_ms * 1000000};
    status = visit(v, mine, err);
    if (status)
        destroy(v);
    else if (v->wanted)
        start_to_serve(v);
    else
        leave(v);
    return status;
}
