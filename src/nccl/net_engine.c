/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/net_engine.c: messages by an engine (transport/engine.h), straight from and into NCCL's buffers. Each
 * end has a port of its own, in which the sender is member 0 and the receiver member 1; messages and receives
 * meet in their order.
 *
 * An engine moves bytes only while it is called, and what it calls sent may lie in a buffer of its own. NCCL
 * does not call for a connection that has nothing under way. So the receiver confirms each message by a byte
 * over the connection, which the kernel carries, and a send is done when that has come: until then NCCL asks
 * for it, and when the connection is closed nothing is under way. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "core/alloc.h"
#include "nccl/device.h"
#include "nccl/net_internal.h"

enum { SENDER, RECEIVER, MEMBERS };

typedef banyan_nccl_stream stream;
typedef banyan_nccl_request request;

static banyan_status open_port(stream *s, const void *address, size_t bytes, banyan_error *err)
{
    const void *addresses[MEMBERS] = {[RECEIVER] = address};
    const size_t sizes[MEMBERS] = {[RECEIVER] = bytes};
    const banyan_nccl_device *device = banyan_nccl_device_get(err);
    char why[BANYAN_MESSAGE_ENGINE_SENTENCE] = "";
    banyan_status status;

    if (!device || !device->engine)
        return banyan_fail(err, BANYAN_INVALID_USAGE, "BANYAN_TRANSPORT differs from that of the rank at %s",
                           s->other);
    s->engine = device->engine;
    status = s->engine->open(s->is_sender ? SENDER : RECEIVER, MEMBERS, &s->port, why);
    if (!status)
        status = s->engine->meet(s->port, addresses, sizes, device->timeout_ms, why);
    if (!status && s->is_sender)
        status = s->engine->connect(s->port, RECEIVER, why);
    return status ? banyan_fail(err, status, "%s: %s", s->engine->name, why) : BANYAN_SUCCESS;
}

banyan_status banyan_nccl_stream_engage(stream *s, size_t before, banyan_error *err)
{
    banyan_status status = open_port(s, NULL, 0, err);
    const void *address;
    size_t bytes;

    if (status)
        return status;
    address = s->engine->address(s->port, &bytes);
    s->answer = banyan_alloc(1, before + bytes);
    if (!s->answer)
        return banyan_fail_memory(err);
    memcpy(s->answer + before, address, bytes);
    s->answer_bytes = before + bytes;
    return BANYAN_SUCCESS;
}

banyan_status banyan_nccl_stream_dial(stream *s, const void *address, size_t bytes, banyan_error *err)
{
    return open_port(s, address, bytes, err);
}

static request *request_at(stream *s, uint64_t number)
{
    return &s->requests[number % BANYAN_NCCL_REQUESTS];
}

static banyan_status post(stream *s)
{
    char why[BANYAN_MESSAGE_ENGINE_SENTENCE] = "";

    for (; s->posted != s->next; s->posted++) {
        request *r = request_at(s, s->posted);
        banyan_status status =
            s->is_sender ? s->engine->send(s->port, RECEIVER, 0, r->data, r->bytes, &r->ticket, why)
                         : s->engine->receive(s->port, SENDER, 0, r->data, r->bytes, &r->ticket, why);

        if (status)
            return banyan_nccl_stream_lose(s, why);
    }
    return BANYAN_SUCCESS;
}

static banyan_status hear_confirmations(stream *s)
{
    char bytes[BANYAN_NCCL_REQUESTS];
    ssize_t got = recv(s->fd, bytes, sizeof bytes, MSG_DONTWAIT);

    if (got < 0 && banyan_nccl_socket_is_full())
        return BANYAN_SUCCESS;
    if (got <= 0)
        return banyan_nccl_stream_lose(s, got ? strerror(errno) : "it was closed");
    if ((uint64_t)got > s->posted - s->confirmed)
        return banyan_nccl_stream_lose(s, "it confirmed more messages than were sent");
    s->confirmed += (uint64_t)got;
    return BANYAN_SUCCESS;
}

static banyan_status finish_sends(stream *s)
{
    banyan_status status = hear_confirmations(s);

    for (; s->first != s->confirmed && request_at(s, s->first)->ticket.is_done; s->first++)
        request_at(s, s->first)->is_done = 1;
    return status;
}

/* A message that has come is the caller's, also where nobody is left to hear of it. */
static banyan_status finish_receives(stream *s)
{
    const char *end;

    for (; s->first != s->posted && request_at(s, s->first)->ticket.is_done; s->first++) {
        request *r = request_at(s, s->first);

        if (send(s->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && banyan_nccl_socket_is_full())
            return BANYAN_SUCCESS;
        r->bytes = r->ticket.bytes;
        r->is_done = 1;
    }
    end = s->first == s->posted ? NULL : banyan_nccl_stream_find_end(s);
    return end ? banyan_nccl_stream_lose(s, end) : BANYAN_SUCCESS;
}

banyan_status banyan_nccl_stream_exchange(stream *s)
{
    char why[BANYAN_MESSAGE_ENGINE_SENTENCE] = "";
    banyan_status status = post(s);
    int lost = -1;

    if (status)
        return status;
    if (s->engine->progress(s->port, &lost, why) < 0)
        return banyan_nccl_stream_lose(s, why);
    status = s->is_sender ? finish_sends(s) : finish_receives(s);
    return !status && lost >= 0 && s->first != s->next ? banyan_nccl_stream_lose(s, why) : status;
}

int banyan_nccl_stream_disengage(stream *s)
{
    int is_clean = !s->status && s->first == s->posted;

    return s->port ? s->engine->close(s->port, is_clean) : 0;
}
