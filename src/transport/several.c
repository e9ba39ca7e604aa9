/* SPDX-License-Identifier: Apache-2.0 */
/* transport/several.c: every pair of members takes the better way that both have. Waiting is the only thing
 * that concerns both at once: each is asked without waiting, then one sleeps on both descriptors. */
#include "transport/several.h"

#include <poll.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "transport/yields.h"

#define LONGEST_SLEEP_MS 100 /* as transport.h asks for */

typedef struct {
    banyan_endpoint base;
    banyan_endpoint *near_one, *far_one;
    int near_count, far_count; /* peers that are connected each way */
    char *is_connected;        /* by peer */
    int yields;
} endpoint;

static const banyan_transport banyan_transport_several;

static endpoint *own(banyan_endpoint *base)
{
    return (endpoint *)base;
}

static int is_near(const endpoint *e, int peer)
{
    const banyan_transport *transport = e->near_one->transport;

    return !transport->reaches || transport->reaches(e->near_one, peer);
}

static banyan_endpoint *way_to(const endpoint *e, int peer)
{
    return is_near(e, peer) ? e->near_one : e->far_one;
}

banyan_status banyan_several_create(banyan_endpoint *near_one, banyan_endpoint *far_one,
                                    banyan_endpoint **out, banyan_error *err)
{
    endpoint *e = banyan_alloc(1, sizeof *e);

    *out = NULL;
    if (e)
        e->is_connected = banyan_alloc((size_t)far_one->member_count, 1);
    if (!e || !e->is_connected) {
        banyan_free(e);
        return banyan_fail_memory(err);
    }
    e->base = (banyan_endpoint){&banyan_transport_several, far_one->member, far_one->member_count};
    e->near_one = near_one;
    e->far_one = far_one;
    e->yields = banyan_transport_yields();
    *out = &e->base;
    return BANYAN_SUCCESS;
}

static banyan_status connect_peer(banyan_endpoint *base, int peer, int to_peer, int from_peer,
                                  int64_t deadline_ns, banyan_error *err)
{
    endpoint *e = own(base);
    banyan_endpoint *way;
    banyan_status status;

    if (peer < 0 || peer >= base->member_count || peer == base->member)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "member %d has no peer %d", base->member, peer);
    way = way_to(e, peer);
    status = way->transport->connect(way, peer, to_peer, from_peer, deadline_ns, err);
    if (!status && !e->is_connected[peer]) {
        e->is_connected[peer] = 1;
        *(way == e->near_one ? &e->near_count : &e->far_count) += 1;
    }
    return status;
}

static size_t offer(banyan_endpoint *base, int peer, int stream, const void *memory, size_t bytes)
{
    banyan_endpoint *way = way_to(own(base), peer);

    return way->transport->offer(way, peer, stream, memory, bytes);
}

static uint64_t sent(banyan_endpoint *base, int peer, int stream)
{
    banyan_endpoint *way = way_to(own(base), peer);

    return way->transport->sent(way, peer, stream);
}

static size_t peek(banyan_endpoint *base, int peer, int stream, const void **memory)
{
    banyan_endpoint *way = way_to(own(base), peer);

    return way->transport->peek(way, peer, stream, memory);
}

static void consume(banyan_endpoint *base, int peer, int stream, size_t bytes)
{
    banyan_endpoint *way = way_to(own(base), peer);

    way->transport->consume(way, peer, stream, bytes);
}

static size_t read_into(banyan_endpoint *base, int peer, int stream, void *into, size_t bytes, size_t unit)
{
    banyan_endpoint *way = way_to(own(base), peer);

    return way->transport->read ? way->transport->read(way, peer, stream, into, bytes, unit) : 0;
}

static void abort_group(banyan_endpoint *base, banyan_status status, const char *sentence)
{
    endpoint *e = own(base);

    e->far_one->transport->abort(e->far_one, status, sentence);
    e->near_one->transport->abort(e->near_one, status, sentence);
}

/* The far one's reason is the whole group's. */
static banyan_status failure(banyan_endpoint *base, banyan_error *err)
{
    endpoint *e = own(base);
    banyan_status status = e->far_one->transport->failure(e->far_one, err);

    return status ? status : e->near_one->transport->failure(e->near_one, err);
}

static banyan_status tell_all(endpoint *e, banyan_error *err)
{
    banyan_error why = {""};
    banyan_status status = e->near_one->transport->failure(e->near_one, &why);

    if (status)
        e->far_one->transport->abort(e->far_one, status, why.text);
    return failure(&e->base, err);
}

/* Sleeps on both. Returns at once when either has news. */
static void sleep_on_both(endpoint *e, int64_t left_ns)
{
    struct pollfd both[2] = {{.fd = e->near_one->transport->sleep_fd(e->near_one), .events = POLLIN},
                             {.fd = e->far_one->transport->sleep_fd(e->far_one), .events = POLLIN}};
    int64_t left_ms = left_ns / 1000000 + 1;

    if (both[0].fd >= 0 && both[1].fd >= 0)
        poll(both, 2, left_ms < LONGEST_SLEEP_MS ? (int)left_ms : LONGEST_SLEEP_MS);
}

static banyan_status wait_on_both(endpoint *e, int64_t deadline_ns, banyan_error *err)
{
    for (int yields = 0;; yields++) {
        int64_t now_ns;
        banyan_status status = e->near_one->transport->wait(e->near_one, 0, err);

        if (status && !(status == BANYAN_TIMEOUT && !e->near_one->transport->failure(e->near_one, NULL)))
            return tell_all(e, err);
        if (!status) {
            /* The far one must not starve while the near one is busy. */
            e->far_one->transport->wait(e->far_one, 0, NULL);
            return failure(&e->base, err);
        }
        status = e->far_one->transport->wait(e->far_one, 0, err);
        if (status != BANYAN_TIMEOUT)
            return status;
        status = e->far_one->transport->failure(e->far_one, err);
        if (status) /* since that look */
            return status;
        now_ns = banyan_clock_ns();
        if (now_ns >= deadline_ns)
            return BANYAN_TIMEOUT;
        if (yields < e->yields)
            sched_yield();
        else
            sleep_on_both(e, deadline_ns - now_ns);
    }
}

static banyan_status wait_for_news(banyan_endpoint *base, int64_t deadline_ns, banyan_error *err)
{
    endpoint *e = own(base);
    banyan_status status;

    if (e->near_count && e->far_count)
        return wait_on_both(e, deadline_ns, err);
    if (!e->near_count)
        return e->far_one->transport->wait(e->far_one, deadline_ns, err);
    status = e->near_one->transport->wait(e->near_one, deadline_ns, err);
    if (!status || (status == BANYAN_TIMEOUT && !e->near_one->transport->failure(e->near_one, NULL)))
        return status;
    return tell_all(e, err);
}

static banyan_status flush(banyan_endpoint *base, int64_t deadline_ns, banyan_error *err)
{
    banyan_endpoint *const both[] = {own(base)->near_one, own(base)->far_one};
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < 2 && !status; i++)
        if (both[i]->transport->flush)
            status = both[i]->transport->flush(both[i], deadline_ns, err);
    return status;
}

static void withdraw(banyan_endpoint *base)
{
    endpoint *e = own(base);

    e->near_one->transport->withdraw(e->near_one);
    e->far_one->transport->withdraw(e->far_one);
}

static void close_endpoint(banyan_endpoint *base)
{
    endpoint *e = own(base);

    if (!e)
        return;
    e->near_one->transport->close(e->near_one);
    e->far_one->transport->close(e->far_one);
    banyan_free(e->is_connected);
    banyan_free(e);
}

/* Where all are near. */
static banyan_status get_workspaces(banyan_endpoint *base, const int *members, int count,
                                    banyan_workspaces **out, banyan_error *err)
{
    banyan_endpoint *near_one = own(base)->near_one;

    *out = NULL;
    return near_one->transport->workspaces
               ? near_one->transport->workspaces(near_one, members, count, out, err)
               : BANYAN_SUCCESS;
}

static void wake(banyan_endpoint *base, int member)
{
    banyan_endpoint *near_one = own(base)->near_one;

    near_one->transport->wake(near_one, member);
}

static int locate(banyan_endpoint *base, const void *memory, size_t bytes, banyan_place *out)
{
    banyan_endpoint *near_one = own(base)->near_one;

    return near_one->transport->locate && near_one->transport->locate(near_one, memory, bytes, out);
}

static char *map(banyan_endpoint *base, int member, const banyan_place *place, size_t bytes)
{
    banyan_endpoint *near_one = own(base)->near_one;

    return near_one->transport->map(near_one, member, place, bytes);
}

static void confirm(banyan_endpoint *base, const banyan_place *place, int is_mapped)
{
    banyan_endpoint *near_one = own(base)->near_one;

    near_one->transport->confirm(near_one, place, is_mapped);
}

static void pace(banyan_endpoint *base, int peer, double bytes_per_s)
{
    banyan_endpoint *way = way_to(own(base), peer);

    if (way->transport->pace)
        way->transport->pace(way, peer, bytes_per_s);
}

static double wire_bytes(banyan_endpoint *base, int peer)
{
    banyan_endpoint *way = way_to(own(base), peer);

    return way->transport->wire_bytes ? way->transport->wire_bytes(way, peer) : 1;
}

static const char *describe(const banyan_endpoint *base, int peer, char *buffer, size_t size)
{
    const endpoint *e = (const endpoint *)base;
    const banyan_endpoint *way = way_to(e, peer);

    return way->transport->describe ? way->transport->describe(way, peer, buffer, size)
                                    : way->transport->name;
}

static const banyan_transport banyan_transport_several = {
    .name = "several",
    .summary = "the better way that both members of a pair have",
    .reach = BANYAN_REACH_NETWORK,
    .open = NULL, /* it is made of two that are open */
    .connect = connect_peer,
    .offer = offer,
    .sent = sent,
    .peek = peek,
    .consume = consume,
    .wait = wait_for_news,
    .abort = abort_group,
    .failure = failure,
    .withdraw = withdraw,
    .close = close_endpoint,
    .flush = flush,
    .read = read_into,
    .pace = pace,
    .wire_bytes = wire_bytes,
    .describe = describe,
    .workspaces = get_workspaces,
    .wake = wake,
    .locate = locate,
    .map = map,
    .confirm = confirm,
};
