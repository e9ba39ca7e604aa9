/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/net_internal.h: one end of a connection of ncclNet, for the net*.c files. */
#ifndef BANYAN_NCCL_NET_INTERNAL_H
#define BANYAN_NCCL_NET_INTERNAL_H

#include "nccl/ring.h"
#include "transport/engine.h"
#include "transport/socket.h"

enum { BANYAN_NCCL_HEADER_BYTES = 8 };
enum { BANYAN_NCCL_REQUESTS = 64 }; /* per connection; NCCL has up to 32 under way */
enum { BANYAN_NCCL_INTRODUCTION_BYTES = BANYAN_NCCL_OFFER_BYTES + 1 };

typedef struct banyan_nccl_stream banyan_nccl_stream;

typedef struct {
    banyan_nccl_stream *owner;
    char *data;
    size_t bytes, moved;
    unsigned char header[BANYAN_NCCL_HEADER_BYTES];
    size_t header_moved;
    banyan_ticket ticket; /* of the engine */
    int is_used, is_done;
} banyan_nccl_request;

struct banyan_nccl_stream {
    int fd, is_sender;
    banyan_status status;
    banyan_error err;
    int is_told; /* the failure stands in the log */
    char other[BANYAN_ADDRESS_TEXT];
    banyan_nccl_ring *ring;              /* NULL: messages do not go through memory */
    const banyan_message_engine *engine; /* of the port */
    banyan_port *port;                   /* NULL: no engine carries the messages */
    unsigned char introduction[BANYAN_NCCL_INTRODUCTION_BYTES], *answer;
    size_t introduction_moved, answer_bytes, answer_moved;
    int is_met;           /* both ends know what carries the messages */
    int64_t looked_ns;    /* when the connection was last looked at */
    uint64_t first, next; /* requests under way, by number */
    uint64_t posted;      /* the engine has been given the requests before this one */
    uint64_t confirmed;   /* a sender: the receiver has those before this one */
    banyan_nccl_request requests[BANYAN_NCCL_REQUESTS];
};

/* net.c: ends the stream with a sentence. */
banyan_status banyan_nccl_stream_lose(banyan_nccl_stream *s, const char *why);

/* Why the other end is gone, looked up now and then; NULL: it is there. For an end to which nothing is sent
 * over the connection until the other one closes it. */
const char *banyan_nccl_stream_find_end(banyan_nccl_stream *s);

/* Whether errno means that a socket takes or has no more now. */
int banyan_nccl_socket_is_full(void);

/* net_meet.c: a step of agreeing on what carries the messages; is_met when that is done. */
void banyan_nccl_stream_meet(banyan_nccl_stream *s);

/* net_engine.c: opens the receiver's port, and writes where it is found behind `before` bytes of a new
 * answer. INVALID_USAGE: this process has no engine. */
banyan_status banyan_nccl_stream_engage(banyan_nccl_stream *s, size_t before, banyan_error *err);
/* The sender's port, to a receiver at this address. */
banyan_status banyan_nccl_stream_dial(banyan_nccl_stream *s, const void *address, size_t bytes,
                                      banyan_error *err);
/* Moves requests on; a failure is the stream's. */
banyan_status banyan_nccl_stream_exchange(banyan_nccl_stream *s);
/* 1: the engine still uses the stream's memory, which must not be freed. */
int banyan_nccl_stream_disengage(banyan_nccl_stream *s);

#endif
