/* SPDX-License-Identifier: Apache-2.0 */
/* transport/channel.c: two growing buffers around a socket. */
#include "transport/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/alloc.h"
#include "transport/bytes.h"
#include "transport/socket.h"

#define READ_BYTES ((size_t)64 << 10)
#define KEPT_BYTES READ_BYTES /* a larger buffer goes when all of it is sent: plans are long and rare */

void banyan_channel_init(banyan_channel *channel, int fd, size_t limit)
{
    *channel = (banyan_channel){.fd = fd, .limit = limit};
}

void banyan_channel_fini(banyan_channel *channel)
{
    if (channel->fd >= 0)
        close(channel->fd);
    banyan_free(channel->in);
    banyan_free(channel->out);
    *channel = (banyan_channel){.fd = -1};
}

static int make_room(unsigned char **buffer, size_t *capacity, size_t wanted)
{
    size_t larger = *capacity ? *capacity : 256;
    unsigned char *grown;

    if (wanted <= *capacity)
        return 1;
    while (larger < wanted)
        larger *= 2;
    grown = banyan_realloc(*buffer, larger, 1);
    if (!grown)
        return 0;
    *buffer = grown;
    *capacity = larger;
    return 1;
}

banyan_status banyan_channel_put(banyan_channel *channel, int type, const void *body, size_t bytes,
                                 banyan_error *err)
{
    unsigned char *to;

    if (bytes > channel->limit || channel->out_count - channel->out_begin > 2 * channel->limit)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "the other side does not take its messages");
    if (channel->out_begin == channel->out_count)
        channel->out_begin = channel->out_count = 0;
    if (!make_room(&channel->out, &channel->out_capacity, channel->out_count + BANYAN_CHANNEL_HEADER + bytes))
        return banyan_fail_memory(err);
    to = channel->out + channel->out_count;
    banyan_put32(to, (uint32_t)bytes);
    banyan_put32(to + 4, (uint32_t)type);
    if (bytes)
        memcpy(to + BANYAN_CHANNEL_HEADER, body, bytes);
    channel->out_count += BANYAN_CHANNEL_HEADER + bytes;
    return BANYAN_SUCCESS;
}

static void drop_sent(banyan_channel *channel)
{
    if (channel->out_begin < channel->out_count || channel->out_capacity <= KEPT_BYTES)
        return;
    banyan_free(channel->out);
    channel->out = NULL;
    channel->out_begin = channel->out_count = channel->out_capacity = 0;
}

banyan_status banyan_channel_flush(banyan_channel *channel, banyan_error *err)
{
    while (channel->out_begin < channel->out_count) {
        ssize_t count = send(channel->fd, channel->out + channel->out_begin,
                             channel->out_count - channel->out_begin, MSG_NOSIGNAL);

        if (count > 0) {
            channel->out_begin += (size_t)count;
            channel->out_total += (uint64_t)count;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            return banyan_fail(err, BANYAN_PEER_LOST, "the connection was lost: %s", strerror(errno));
        }
    }
    drop_sent(channel);
    return BANYAN_SUCCESS;
}

int banyan_channel_has_unsent(const banyan_channel *channel)
{
    return channel->out_begin < channel->out_count;
}

static void drop_used(banyan_channel *channel)
{
    if (!channel->in_used)
        return;
    memmove(channel->in, channel->in + channel->in_used, channel->in_count - channel->in_used);
    channel->in_count -= channel->in_used;
    channel->in_used = 0;
}

static banyan_status check_header(const banyan_channel *channel, banyan_error *err)
{
    size_t bytes;

    if (channel->in_count < BANYAN_CHANNEL_HEADER)
        return BANYAN_SUCCESS;
    bytes = banyan_get32(channel->in);
    if (bytes > channel->limit)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "a message of %zu bytes is longer than the limit of %zu",
                           bytes, channel->limit);
    return BANYAN_SUCCESS;
}

banyan_status banyan_channel_fill(banyan_channel *channel, banyan_error *err)
{
    banyan_status status;
    ssize_t count;

    drop_used(channel);
    status = check_header(channel, err);
    if (status)
        return status;
    if (!make_room(&channel->in, &channel->in_capacity, channel->in_count + READ_BYTES))
        return banyan_fail_memory(err);
    count = recv(channel->fd, channel->in + channel->in_count, channel->in_capacity - channel->in_count, 0);
    if (count > 0) {
        channel->in_count += (size_t)count;
        channel->in_total += (uint64_t)count;
    } else if (count == 0) {
        return banyan_fail(err, BANYAN_PEER_LOST, "the connection was closed");
    } else if (errno != EAGAIN && errno != EINTR) {
        return banyan_fail(err, BANYAN_PEER_LOST, "the connection was lost: %s", strerror(errno));
    }
    return check_header(channel, err);
}

int banyan_channel_next(banyan_channel *channel, int *type, const unsigned char **body, size_t *bytes)
{
    const unsigned char *header = channel->in + channel->in_used;
    size_t there = channel->in_count - channel->in_used;

    if (there < BANYAN_CHANNEL_HEADER || there - BANYAN_CHANNEL_HEADER < banyan_get32(header))
        return 0;
    *bytes = banyan_get32(header);
    *type = (int)banyan_get32(header + 4);
    *body = header + BANYAN_CHANNEL_HEADER;
    channel->in_used += BANYAN_CHANNEL_HEADER + *bytes;
    return 1;
}

banyan_status banyan_channel_wait_message(banyan_channel *channel, int64_t deadline_ns, int *type,
                                          const unsigned char **body, size_t *bytes, banyan_error *err)
{
    while (!banyan_channel_next(channel, type, body, bytes)) {
        banyan_status status;

        if (!banyan_socket_wait(channel->fd, POLLIN, deadline_ns))
            return banyan_fail(err, BANYAN_TIMEOUT, "no answer came in time");
        status = banyan_channel_fill(channel, err);
        if (status)
            return status;
    }
    return BANYAN_SUCCESS;
}

banyan_status banyan_channel_send_all(banyan_channel *channel, int64_t deadline_ns, banyan_error *err)
{
    banyan_status status;

    while (!(status = banyan_channel_flush(channel, err)) && banyan_channel_has_unsent(channel))
        if (!banyan_socket_wait(channel->fd, POLLOUT, deadline_ns))
            return banyan_fail(err, BANYAN_TIMEOUT, "the other side does not take a message");
    return status;
}
