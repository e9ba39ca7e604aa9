/* SPDX-License-Identifier: Apache-2.0 */
/* transport/messages_open.c: an endpoint over an engine, from its opening, which all members do together, to
 * the goodbyes at its end: what an engine still carries must arrive before it is closed. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "transport/messages_internal.h"
#include "transport/plugin.h"

#define FAREWELL_NS 500000000 /* closing waits so long for the others' goodbyes */

typedef banyan_messages_endpoint endpoint;

static int is_quiet(const banyan_message_peer *peer)
{
    for (int i = 0; i < peer->out_count; i++) {
        banyan_messages_sent(peer->out[i]);
        if (peer->out[i]->finished < peer->out[i]->posted)
            return 0;
    }
    return peer->said_bye && peer->control_out.is_done && peer->heard_bye;
}

/* Whether everybody has said that nothing more comes. */
static int say_goodbye(endpoint *e)
{
    int64_t deadline_ns = banyan_clock_ns() + FAREWELL_NS;
    int waiting = e->connected_count;

    for (int i = 0; i < e->connected_count; i++)
        e->peers[e->connected[i]]->says_bye = 1;
    while (waiting && !banyan_first_failure_is_there(&e->failure)) {
        int64_t now_ns = banyan_clock_ns();

        banyan_messages_flush_all(e);
        if (!banyan_messages_look(e)) {
            if (now_ns >= deadline_ns)
                return 0;
            banyan_messages_doze(e, now_ns, deadline_ns);
        }
        waiting = 0;
        for (int i = 0; i < e->connected_count; i++)
            waiting += !is_quiet(e->peers[e->connected[i]]);
    }
    return !waiting;
}

void banyan_messages_close_endpoint(banyan_endpoint *base)
{
    endpoint *e = (endpoint *)base;
    int keeps_memory = 0;

    if (!e)
        return;
    if (e->port && e->peers)
        keeps_memory = e->engine->close(
            e->port, !e->is_withdrawn && !banyan_first_failure_is_there(&e->failure) && say_goodbye(e));
    for (int i = 0; e->peers && e->connected && i < e->connected_count; i++)
        banyan_messages_destroy_peer(e->peers[e->connected[i]], keeps_memory);
    banyan_free(e->peers);
    banyan_free(e->connected);
    if (e->epoll >= 0)
        close(e->epoll);
    if (e->wake >= 0)
        close(e->wake);
    if (e->timer >= 0)
        close(e->timer);
    banyan_first_failure_fini(&e->failure);
    banyan_free(e);
}

static int watch(const endpoint *e, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return fd >= 0 && epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static banyan_status create(const banyan_opening *opening, const banyan_transport *transport, endpoint **out,
                            banyan_error *err)
{
    const banyan_messages_meeting *meeting = opening->meeting;
    endpoint *e = banyan_alloc(1, sizeof *e);

    *out = e;
    if (!e)
        return banyan_fail_memory(err);
    e->base = (banyan_endpoint){transport, opening->member, opening->member_count};
    e->message_bytes = meeting->message_bytes;
    e->context = meeting->context;
    e->name = meeting->name;
    e->spread = meeting->spread;
    e->suspect = e->timer = -1;
    e->pause_ns = BANYAN_MESSAGES_PAUSE_NS;
    banyan_first_failure_init(&e->failure);
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    e->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->peers = banyan_alloc((size_t)opening->member_count, sizeof *e->peers);
    e->connected = banyan_alloc((size_t)opening->member_count, sizeof *e->connected);
    if (!e->peers || !e->connected)
        return banyan_fail_memory(err);
    return e->epoll >= 0 && watch(e, e->wake)
               ? BANYAN_SUCCESS
               : banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot watch a descriptor: %s", strerror(errno));
}

static banyan_status watch_engine(endpoint *e, banyan_error *err)
{
    int fd;

    if (!e->engine->descriptor)
        e->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    fd = e->engine->descriptor ? e->engine->descriptor(e->port) : e->timer;
    e->copy_bytes = e->engine->keeps_memory ? e->message_bytes : BANYAN_MESSAGES_SHORT;
    return watch(e, fd) ? BANYAN_SUCCESS
                        : banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot watch %s: %s",
                                      e->base.transport->name, strerror(errno));
}

static banyan_status start_engine(endpoint *e, const banyan_messages_meeting *meeting, banyan_error *err)
{
    const char *name = e->base.transport == &banyan_transport_ucx
                           ? "ucx"
                           : banyan_plugin_which_mpi(meeting->mpi, meeting->folder);
    char why[BANYAN_MESSAGE_ENGINE_SENTENCE] = "";
    banyan_status status = banyan_plugin_load(name, meeting->folder, &e->engine, err);

    if (status)
        return status;
    status = e->engine->open(e->base.member, e->base.member_count, &e->port, why);
    return status ? banyan_fail(err, status, "%s", why) : watch_engine(e, err);
}

banyan_status banyan_messages_open_endpoint(const banyan_opening *opening, const banyan_transport *transport,
                                            banyan_endpoint **out, banyan_error *err)
{
    endpoint *e = NULL;
    banyan_error why = {""};
    banyan_status status = create(opening, transport, &e, err);

    *out = NULL;
    if (!status) {
        /* Who cannot, tells the others before it gives up. */
        status = start_engine(e, opening->meeting, &why);
        status = banyan_messages_introduce(e, opening->meeting, status, &why, err);
    }
    if (status)
        banyan_messages_close_endpoint(e ? &e->base : NULL);
    else
        *out = &e->base;
    return status;
}
