/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/net_meet.c: what carries the messages of a connection: a ring in memory where both ends are on one
 * host, else an engine where both have one, else the connection itself. The sender says what it has, and the
 * receiver chooses:
 *
 *     sender    offer of a ring 0 (nccl/ring.h; zeros: none), whether it has an engine 40   ──>
 *               <──  choice 0, bytes of an address 1, the address of its engine 5     receiver */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "core/alloc.h"
#include "nccl/device.h"
#include "nccl/net_internal.h"
#include "transport/bytes.h"

enum { BY_CONNECTION, BY_RING, BY_ENGINE };
enum { ANSWER_BYTES = 5, LONGEST_ADDRESS = 65536 };

typedef banyan_nccl_stream stream;

/* 1: all has been moved; 0: the socket takes or has no more now, or the stream has failed. */
static int move(stream *s, int is_send, unsigned char *data, size_t bytes, size_t *moved)
{
    while (*moved < bytes) {
        ssize_t now = is_send ? send(s->fd, data + *moved, bytes - *moved, MSG_NOSIGNAL | MSG_DONTWAIT)
                              : recv(s->fd, data + *moved, bytes - *moved, MSG_DONTWAIT);

        if (now < 0 && banyan_nccl_socket_is_full())
            return 0;
        if (now <= 0) {
            banyan_nccl_stream_lose(s, now ? strerror(errno) : "it was closed");
            return 0;
        }
        *moved += (size_t)now;
    }
    return 1;
}

static void introduce(stream *s, const banyan_nccl_device *device)
{
    if (s->introduction_moved)
        return;
    banyan_nccl_ring_destroy(s->ring);
    s->ring = device->uses_memory ? banyan_nccl_ring_create(s->introduction) : NULL;
    s->introduction[BANYAN_NCCL_OFFER_BYTES] = device->engine != NULL;
}

static banyan_status take_answer(stream *s, banyan_error *err)
{
    if (s->answer[0] != BY_RING) {
        banyan_nccl_ring_destroy(s->ring);
        s->ring = NULL;
    }
    if (s->answer[0] != BY_ENGINE)
        return BANYAN_SUCCESS;
    return banyan_nccl_stream_dial(s, s->answer + ANSWER_BYTES, s->answer_bytes - ANSWER_BYTES, err);
}

static banyan_status meet_as_sender(stream *s, const banyan_nccl_device *device, banyan_error *err)
{
    banyan_status status;

    introduce(s, device);
    if (!s->answer)
        s->answer = banyan_alloc(1, ANSWER_BYTES + LONGEST_ADDRESS);
    if (!s->answer)
        return banyan_fail_memory(err);
    if (!move(s, 1, s->introduction, sizeof s->introduction, &s->introduction_moved) ||
        !move(s, 0, s->answer, ANSWER_BYTES, &s->answer_moved))
        return s->status;
    s->answer_bytes = ANSWER_BYTES + banyan_get32(s->answer + 1);
    if (s->answer_bytes > ANSWER_BYTES + LONGEST_ADDRESS)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "the rank at %s has an address of %zu bytes", s->other,
                           s->answer_bytes - ANSWER_BYTES);
    if (!move(s, 0, s->answer, s->answer_bytes, &s->answer_moved))
        return s->status;
    status = take_answer(s, err);
    s->is_met = !status;
    return status;
}

static banyan_status choose(stream *s, const banyan_nccl_device *device, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int choice;

    if (device->uses_memory)
        s->ring = banyan_nccl_ring_join(s->introduction);
    choice = s->ring                                                      ? BY_RING
             : device->engine && s->introduction[BANYAN_NCCL_OFFER_BYTES] ? BY_ENGINE
                                                                          : BY_CONNECTION;
    if (choice == BY_ENGINE)
        status = banyan_nccl_stream_engage(s, ANSWER_BYTES, err);
    else
        s->answer = banyan_alloc(1, s->answer_bytes = ANSWER_BYTES);
    if (status || !s->answer)
        return status ? status : banyan_fail_memory(err);
    s->answer[0] = (unsigned char)choice;
    banyan_put32(s->answer + 1, (uint32_t)(s->answer_bytes - ANSWER_BYTES));
    return BANYAN_SUCCESS;
}

static banyan_status meet_as_receiver(stream *s, const banyan_nccl_device *device, banyan_error *err)
{
    banyan_status status;

    if (!move(s, 0, s->introduction, sizeof s->introduction, &s->introduction_moved))
        return s->status;
    status = s->answer ? BANYAN_SUCCESS : choose(s, device, err);
    if (!status)
        s->is_met = move(s, 1, s->answer, s->answer_bytes, &s->answer_moved);
    return status ? status : s->status;
}

void banyan_nccl_stream_meet(stream *s)
{
    const banyan_nccl_device *device = banyan_nccl_device_get(&s->err);
    banyan_status status = !device        ? BANYAN_INVALID_USAGE
                           : s->is_sender ? meet_as_sender(s, device, &s->err)
                                          : meet_as_receiver(s, device, &s->err);

    s->status = status;
    if (s->is_met) {
        banyan_free(s->answer);
        s->answer = NULL;
    }
}
