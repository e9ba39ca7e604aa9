/* SPDX-License-Identifier: Apache-2.0 */
/* transport/channel.h: short messages over a connection that has proven itself: {bytes, type} and a body.
 * Non-blocking; what the socket does not take yet is kept. A message above the limit, or more unsent bytes
 * than the limit, is a failure. One thread uses it. */
#ifndef BANYAN_TRANSPORT_CHANNEL_H
#define BANYAN_TRANSPORT_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

#define BANYAN_CHANNEL_HEADER 8
#define BANYAN_CHANNEL_LIMIT ((size_t)512 << 20) /* of one message */

typedef struct {
    int fd; /* -1: closed */
    size_t limit;
    unsigned char *in;
    size_t in_count, in_capacity, in_used; /* in_used: bytes of messages that were given out */
    unsigned char *out;
    size_t out_begin, out_count, out_capacity;
    uint64_t in_total, out_total; /* bytes that have come, and that were sent */
} banyan_channel;

void banyan_channel_init(banyan_channel *channel, int fd, size_t limit);
void banyan_channel_fini(banyan_channel *channel); /* closes */

/* Puts a message behind what is unsent; flush sends. */
banyan_status banyan_channel_put(banyan_channel *channel, int type, const void *body, size_t bytes,
                                 banyan_error *err);

/* Sends what the socket takes. PEER_LOST when the connection is gone. */
banyan_status banyan_channel_flush(banyan_channel *channel, banyan_error *err);
int banyan_channel_has_unsent(const banyan_channel *channel);

/* Reads what is there. PEER_LOST at the end of the stream, REMOTE_ERROR when a message is too long. */
banyan_status banyan_channel_fill(banyan_channel *channel, banyan_error *err);

/* The next whole message, valid until the next fill; 0: none. */
int banyan_channel_next(banyan_channel *channel, int *type, const unsigned char **body, size_t *bytes);

/* Waits for one message or sends all, until the deadline. */
banyan_status banyan_channel_wait_message(banyan_channel *channel, int64_t deadline_ns, int *type,
                                          const unsigned char **body, size_t *bytes, banyan_error *err);
banyan_status banyan_channel_send_all(banyan_channel *channel, int64_t deadline_ns, banyan_error *err);

#endif
