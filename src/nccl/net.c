/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/net.c: one TCP connection for each sending and receiving pair, over which messages follow one another,
 * each behind a header with its length:
 *
 *     | bytes 8 | data ... | bytes 8 | data ... |
 *
 * Where both ends can, messages go through a ring in memory (nccl/ring.h) or an engine such as UCX
 * (net_engine.c) instead, which net_meet.c chooses, and the connection is there to tell that the other end is
 * gone.
 *
 * Over TCP data goes straight from and into NCCL's buffers. Nothing runs in the background: NCCL's proxy
 * thread asks for every request again and again (test), and each time as much is moved as the socket or ring
 * takes.
 * The connection is made with the handshake of the other transports: both ends prove that they have the
 * secret that the handle carries, together with BANYAN_SECRET where that is set. */
#include "nccl/net.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bootstrap/launch.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "nccl/device.h"
#include "nccl/log.h"
#include "nccl/net_internal.h"
#include "transport/bytes.h"
#include "transport/handshake.h"
#include "transport/listener.h"

enum { MAX_WAITING = 8 }; /* accepted connections that NCCL has not asked for yet */

#define LOOK_NS 1000000 /* between looks whether the other end is still there */

typedef banyan_nccl_stream stream;
typedef banyan_nccl_request request;

/* ---- Handles: magic 0, family 8, port 12, scope 16, address 20, secret 36; and, at the connecting end, the
 * attempt that is under way 72. */

enum { ATTEMPT_AT = 72 };

static const char handle_magic[8] = "bnynet3";

static void write_handle(const banyan_address *address, const banyan_secret *secret, unsigned char *out)
{
    memset(out, 0, NCCL_HANDLE_BYTES);
    memcpy(out, handle_magic, sizeof handle_magic);
    banyan_put32(out + 8, (uint32_t)(address->family == AF_INET ? 4 : 6));
    banyan_put32(out + 12, address->port);
    banyan_put32(out + 16, address->scope);
    memcpy(out + 20, address->bytes, sizeof address->bytes);
    memcpy(out + 36, secret->bytes, sizeof secret->bytes);
}

static banyan_status read_handle(const unsigned char *handle, banyan_address *address, banyan_secret *secret,
                                 banyan_error *err)
{
    if (memcmp(handle, handle_magic, sizeof handle_magic) != 0)
        return banyan_fail(
            err, BANYAN_MISMATCH,
            "the other rank's handle is not one of this plugin: NCCL_NET_PLUGIN has to name it "
            "on all ranks, in the same version");
    *address = (banyan_address){.family = banyan_get32(handle + 8) == 4 ? AF_INET : AF_INET6,
                                .port = (uint16_t)banyan_get32(handle + 12),
                                .scope = banyan_get32(handle + 16)};
    memcpy(address->bytes, handle + 20, sizeof address->bytes);
    memcpy(secret->bytes, handle + 36, sizeof secret->bytes);
    return banyan_launch_bind_secret(secret, err);
}

/* ---- Meeting. */

static stream *make_stream(int fd, int is_sender, const banyan_address *other)
{
    stream *s = banyan_alloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->fd = fd;
    s->is_sender = is_sender;
    banyan_address_format(other, s->other);
    banyan_socket_tune(fd, 0);
    return s;
}

typedef struct {
    banyan_listener *listener;
    int waiting[MAX_WAITING], waiting_count;
} listening_end;

static banyan_status ask(void *context, const banyan_hello *hello)
{
    const listening_end *end = context;

    return hello->purpose == BANYAN_HELLO_NET && end->waiting_count < MAX_WAITING ? BANYAN_SUCCESS
                                                                                  : BANYAN_INVALID_ARGUMENT;
}

static void take(void *context, const banyan_hello *hello, int socket)
{
    listening_end *end = context;

    (void)hello;
    if (end->waiting_count < MAX_WAITING)
        end->waiting[end->waiting_count++] = socket;
    else
        close(socket);
}

static nccl_result complain(banyan_status status, const banyan_error *err)
{
    banyan_nccl_warn("%s", *err->text ? err->text : banyan_status_string(status));
    return status == BANYAN_PEER_LOST || status == BANYAN_REMOTE_ERROR ? NCCL_REMOTE_ERROR
                                                                       : NCCL_SYSTEM_ERROR;
}

nccl_result banyan_nccl_net_init(nccl_logger logger)
{
    banyan_error err = {""};

    banyan_nccl_log_use(logger);
    if (banyan_nccl_device_get(&err))
        return NCCL_SUCCESS;
    return complain(BANYAN_INVALID_ARGUMENT, &err);
}

static banyan_status open_listener(listening_end *end, unsigned char *handle, banyan_error *err)
{
    const banyan_nccl_device *device = banyan_nccl_device_get(err);
    banyan_listener_handler handler = {.context = end, .ask = ask, .take = take};
    banyan_secret told = {{0}}, secret;
    banyan_status status =
        device ? banyan_auth_random(told.bytes, sizeof told.bytes, err) : BANYAN_INVALID_USAGE;

    if (status)
        return status;
    secret = told;
    status = banyan_launch_bind_secret(&secret, err);
    if (!status)
        status = banyan_listener_create(&device->interface.address, device->low_port, device->high_port,
                                        &secret, device->timeout_ms, &handler, &end->listener, err);
    if (!status)
        write_handle(banyan_listener_address(end->listener), &told, handle);
    banyan_auth_forget(&told, sizeof told);
    banyan_auth_forget(&secret, sizeof secret);
    return status;
}

nccl_result banyan_nccl_net_listen(int device, void *handle, void **listening)
{
    listening_end *end = banyan_alloc(1, sizeof *end);
    banyan_error err = {""};
    banyan_status status;

    *listening = NULL;
    if (!end || device != 0) {
        banyan_free(end);
        return end ? NCCL_INVALID_ARGUMENT : NCCL_SYSTEM_ERROR;
    }
    status = open_listener(end, handle, &err);
    if (status) {
        banyan_free(end);
        return complain(status, &err);
    }
    *listening = end;
    return NCCL_SUCCESS;
}

nccl_result banyan_nccl_net_accept(void *listening, void **receiving)
{
    listening_end *end = listening;
    banyan_address from = {0};
    int fd;

    *receiving = NULL;
    banyan_listener_progress(end->listener);
    if (!end->waiting_count)
        return NCCL_SUCCESS;
    fd = end->waiting[0];
    memmove(end->waiting, end->waiting + 1, (size_t)--end->waiting_count * sizeof *end->waiting);
    banyan_socket_peer(fd, &from);
    *receiving = make_stream(fd, 0, &from);
    if (!*receiving) {
        close(fd);
        return NCCL_SYSTEM_ERROR;
    }
    return NCCL_SUCCESS;
}

nccl_result banyan_nccl_net_close_listen(void *listening)
{
    listening_end *end = listening;

    if (!end)
        return NCCL_SUCCESS;
    for (int i = 0; i < end->waiting_count; i++)
        close(end->waiting[i]);
    banyan_listener_destroy(end->listener);
    banyan_free(end);
    return NCCL_SUCCESS;
}

/* An attempt to connect, between two calls of connect. */
typedef struct {
    int fd, is_connected;
    banyan_address to;
    int64_t deadline_ns;
    banyan_handshake handshake;
} attempt;

static void end_attempt(attempt *a)
{
    if (!a)
        return;
    if (a->fd >= 0)
        close(a->fd);
    banyan_auth_forget(a, sizeof *a);
    banyan_free(a);
}

static banyan_status begin_attempt(const unsigned char *handle, attempt **out, banyan_error *err)
{
    const banyan_nccl_device *device = banyan_nccl_device_get(err);
    banyan_hello hello = {.protocol = BANYAN_PROTOCOL, .purpose = BANYAN_HELLO_NET, .size = 2, .count = 1};
    attempt *a = device ? banyan_alloc(1, sizeof *a) : NULL;
    banyan_secret secret;
    banyan_status status;

    if (!a)
        return device ? banyan_fail_memory(err) : BANYAN_INVALID_USAGE;
    a->fd = -1;
    a->deadline_ns = banyan_clock_ns() + (int64_t)device->timeout_ms * 1000000;
    status = read_handle(handle, &a->to, &secret, err);
    if (!status)
        status = banyan_handshake_connect(&a->handshake, &secret, &hello, err);
    banyan_auth_forget(&secret, sizeof secret);
    if (!status)
        status = banyan_socket_connect(&a->to, NULL, &a->fd, err);
    if (status)
        end_attempt(a);
    else
        *out = a;
    return status;
}

/* IN_PROGRESS: call again. */
static banyan_status step_attempt(attempt *a, banyan_error *err)
{
    char text[BANYAN_ADDRESS_TEXT], other[BANYAN_ADDRESS_TEXT + 32];
    banyan_status status;

    snprintf(other, sizeof other, "the rank that listens at %s", banyan_address_format(&a->to, text));
    if (!a->is_connected && !banyan_socket_wait(a->fd, POLLOUT, 0))
        status = BANYAN_IN_PROGRESS;
    else
        status = a->is_connected ? BANYAN_SUCCESS : banyan_socket_connected(a->fd, &a->to, err);
    if (!status) {
        a->is_connected = 1;
        status = banyan_handshake_step(&a->handshake, a->fd, other, err);
    }
    if (status == BANYAN_IN_PROGRESS && banyan_clock_ns() > a->deadline_ns)
        return banyan_fail(err, BANYAN_TIMEOUT, "%s has not answered before BANYAN_TIMEOUT_MS had passed",
                           other);
    return status;
}

nccl_result banyan_nccl_net_connect(int device, void *handle, void **sending)
{
    unsigned char *bytes = handle;
    banyan_error err = {""};
    banyan_status status = BANYAN_SUCCESS;
    attempt *a;

    (void)device;
    *sending = NULL;
    memcpy(&a, bytes + ATTEMPT_AT, sizeof a);
    if (!a)
        status = begin_attempt(bytes, &a, &err);
    if (!status)
        status = step_attempt(a, &err);
    if (!status) {
        *sending = make_stream(a->fd, 1, &a->to);
        a->fd = *sending ? -1 : a->fd;
        status = *sending ? BANYAN_SUCCESS : banyan_fail_memory(&err);
    }
    if (status != BANYAN_IN_PROGRESS) {
        end_attempt(a);
        a = NULL;
    }
    memcpy(bytes + ATTEMPT_AT, &a, sizeof a);
    return status && status != BANYAN_IN_PROGRESS ? complain(status, &err) : NCCL_SUCCESS;
}

/* ---- Memory: sockets need no registration. */

nccl_result banyan_nccl_net_register(void *comm, void *data, size_t bytes, int kind, void **handle)
{
    (void)data;
    (void)bytes;
    *handle = comm; /* NCCL takes NULL for none */
    return kind == NCCL_MEMORY_HOST ? NCCL_SUCCESS : NCCL_INVALID_USAGE;
}

nccl_result banyan_nccl_net_deregister(void *comm, void *handle)
{
    (void)comm;
    (void)handle;
    return NCCL_SUCCESS;
}

/* ---- Messages. */

static request *new_request(stream *s, void *data, size_t bytes)
{
    request *r = &s->requests[s->next % BANYAN_NCCL_REQUESTS];

    if (r->is_used)
        return NULL;
    *r = (request){.owner = s, .data = data, .bytes = bytes, .is_used = 1};
    s->next++;
    return r;
}

banyan_status banyan_nccl_stream_lose(stream *s, const char *why)
{
    s->status = banyan_fail(&s->err, BANYAN_PEER_LOST, "the connection %s the rank at %s ended: %s",
                            s->is_sender ? "to" : "from", s->other, why);
    return s->status;
}

int banyan_nccl_socket_is_full(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* ---- The ring. */

const char *banyan_nccl_stream_find_end(stream *s)
{
    int64_t now_ns = banyan_clock_ns();
    char byte;
    ssize_t got;

    if (now_ns - s->looked_ns < LOOK_NS)
        return NULL;
    s->looked_ns = now_ns;
    got = recv(s->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0)
        return banyan_nccl_socket_is_full() ? NULL : strerror(errno);
    return "it was closed";
}

static banyan_status write_some(stream *s, request *r)
{
    const char *end;
    size_t moved;

    do {
        moved = banyan_nccl_ring_write(s->ring, r->header + r->header_moved,
                                       BANYAN_NCCL_HEADER_BYTES - r->header_moved);
        r->header_moved += moved;
        if (r->header_moved < BANYAN_NCCL_HEADER_BYTES)
            break;
        moved = banyan_nccl_ring_write(s->ring, r->data + r->moved, r->bytes - r->moved);
        r->moved += moved;
        r->is_done = r->moved == r->bytes;
    } while (!r->is_done && moved);
    end = r->is_done ? NULL : banyan_nccl_stream_find_end(s);
    return end ? banyan_nccl_stream_lose(s, end) : BANYAN_SUCCESS;
}

/* What the other end had written before it closed the connection is in the ring by then. */
static ssize_t read_some(stream *s, void *into, size_t bytes)
{
    size_t got = banyan_nccl_ring_read(s->ring, into, bytes);
    const char *end = got ? NULL : banyan_nccl_stream_find_end(s);

    if (end)
        got = banyan_nccl_ring_read(s->ring, into, bytes);
    if (end && !got)
        return 0;
    if (!got)
        errno = EAGAIN;
    return got ? (ssize_t)got : -1;
}

/* ---- Bytes. */

static banyan_status send_some(stream *s, request *r)
{
    while (!r->is_done) {
        struct iovec parts[2] = {{r->header + r->header_moved, BANYAN_NCCL_HEADER_BYTES - r->header_moved},
                                 {r->data + r->moved, r->bytes - r->moved}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t sent = sendmsg(s->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        size_t of_header;

        if (sent < 0)
            return banyan_nccl_socket_is_full() ? BANYAN_SUCCESS
                                                : banyan_nccl_stream_lose(s, strerror(errno));
        of_header = (size_t)sent < parts[0].iov_len ? (size_t)sent : parts[0].iov_len;
        r->header_moved += of_header;
        r->moved += (size_t)sent - of_header;
        r->is_done = r->header_moved == BANYAN_NCCL_HEADER_BYTES && r->moved == r->bytes;
    }
    return BANYAN_SUCCESS;
}

static banyan_status take_header(stream *s, request *r)
{
    uint64_t bytes;

    memcpy(&bytes, r->header, sizeof bytes);
    if (bytes > r->bytes) {
        s->status =
            banyan_fail(&s->err, BANYAN_MISMATCH, "the rank at %s sends %llu bytes where %zu were asked for",
                        s->other, (unsigned long long)bytes, r->bytes);
        return s->status;
    }
    r->bytes = (size_t)bytes;
    return BANYAN_SUCCESS;
}

static banyan_status receive_some(stream *s, request *r)
{
    while (!r->is_done) {
        int in_header = r->header_moved < BANYAN_NCCL_HEADER_BYTES;
        void *to = in_header ? (void *)(r->header + r->header_moved) : (void *)(r->data + r->moved);
        size_t room = in_header ? BANYAN_NCCL_HEADER_BYTES - r->header_moved : r->bytes - r->moved;
        ssize_t got = !room ? 0 : s->ring ? read_some(s, to, room) : recv(s->fd, to, room, MSG_DONTWAIT);

        if (got < 0)
            return banyan_nccl_socket_is_full() ? BANYAN_SUCCESS
                                                : banyan_nccl_stream_lose(s, strerror(errno));
        if (!got && room)
            return banyan_nccl_stream_lose(s, "it was closed");
        *(in_header ? &r->header_moved : &r->moved) += (size_t)got;
        if (in_header && r->header_moved == BANYAN_NCCL_HEADER_BYTES && take_header(s, r))
            return s->status;
        r->is_done = r->header_moved == BANYAN_NCCL_HEADER_BYTES && r->moved == r->bytes;
    }
    return BANYAN_SUCCESS;
}

static banyan_status move_some(stream *s, request *r)
{
    if (!s->is_sender)
        return receive_some(s, r);
    return s->ring ? write_some(s, r) : send_some(s, r);
}

static banyan_status progress(stream *s)
{
    if (!s->status && !s->is_met && s->first != s->next)
        banyan_nccl_stream_meet(s); /* a failure is the stream's */
    if (!s->is_met || s->status)
        return s->status;
    if (s->port)
        return banyan_nccl_stream_exchange(s);
    while (!s->status && s->first != s->next) {
        request *r = &s->requests[s->first % BANYAN_NCCL_REQUESTS];

        if (move_some(s, r))
            break;
        if (!r->is_done)
            break;
        s->first++;
    }
    return s->status;
}

nccl_result banyan_nccl_net_send(void *sending, void *data, size_t bytes, void **out)
{
    stream *s = sending;
    request *r = new_request(s, data, bytes);
    uint64_t header = bytes;

    *out = r;
    if (!r)
        return NCCL_SUCCESS;
    memcpy(r->header, &header, sizeof header);
    progress(s);
    return NCCL_SUCCESS;
}

nccl_result banyan_nccl_net_receive(void *receiving, int count, void *data, size_t bytes, void **out)
{
    *out = NULL;
    if (count != 1)
        return NCCL_INTERNAL_ERROR;
    *out = new_request(receiving, data, bytes);
    return NCCL_SUCCESS;
}

nccl_result banyan_nccl_net_test(void *given, int *is_done, int *bytes)
{
    request *r = given;
    stream *s = r->owner;

    *is_done = 0;
    if (!r->is_done && progress(s) && !r->is_done) {
        if (!s->is_told++)
            return complain(s->status, &s->err);
        return s->status == BANYAN_PEER_LOST ? NCCL_REMOTE_ERROR : NCCL_INTERNAL_ERROR;
    }
    if (!r->is_done)
        return NCCL_SUCCESS;
    *is_done = 1;
    if (bytes)
        *bytes = (int)r->bytes;
    r->is_used = 0;
    return NCCL_SUCCESS;
}

nccl_result banyan_nccl_net_close(void *comm)
{
    stream *s = comm;

    int is_in_use;

    if (!s)
        return NCCL_SUCCESS;
    is_in_use = banyan_nccl_stream_disengage(s);
    banyan_nccl_ring_destroy(s->ring);
    banyan_free(s->answer);
    close(s->fd);
    if (!is_in_use)
        banyan_free(s);
    return NCCL_SUCCESS;
}
