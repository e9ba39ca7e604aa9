/* SPDX-License-Identifier: Apache-2.0 */
/* transport/messages_internal.h: streams made of messages, for the messages*.c files.
 *
 *     offer ──> message n in slot n mod SLOTS ── tag: the stream ──> receive n in slot n mod SLOTS ──> peek
 *                       ^                                                   │
 *                       └──── credit: how many messages may come in all <── consume
 *
 * A receiver has SLOTS receives of message_bytes posted for each stream, so every message finds its place and
 * is never put down in between. Credits travel as messages of the peer's control tag. */
#ifndef BANYAN_TRANSPORT_MESSAGES_INTERNAL_H
#define BANYAN_TRANSPORT_MESSAGES_INTERNAL_H

#include "transport/first_failure.h"
#include "transport/messages.h"

#define BANYAN_MESSAGES_SLOTS 8u     /* of a stream; a power of two */
#define BANYAN_MESSAGES_SHORT 4096u  /* what is no longer is copied, and waits for more until the next wait */
#define BANYAN_MESSAGES_CONTROL 4096 /* the tag of credits */
#define BANYAN_MESSAGES_CONTROL_SLOTS 2 /* receives for them */
#define BANYAN_MESSAGES_PAUSE_NS 10000  /* the first, where an engine has no descriptor */
#define BANYAN_MESSAGES_NOTES 32        /* in one control message */
#define BANYAN_MESSAGES_NOTE 12         /* bytes: stream, credit */
#define BANYAN_MESSAGES_BYE 0xffffffffu /* a stream's number that means goodbye */

typedef struct {
    banyan_ticket ticket;
    size_t bytes;
} banyan_message;

typedef struct {
    banyan_message messages[BANYAN_MESSAGES_SLOTS];
    char *copies;      /* SLOTS times copy_bytes: what is short, or cannot be taken back */
    size_t open_bytes; /* of the message that is being filled: the one after `posted` */
    uint64_t posted,
        finished;    /* messages that were given to the engine, and that it has done with, in order */
    uint64_t credit; /* messages that may be posted */
    uint64_t sent_bytes;
} banyan_message_out;

typedef struct {
    banyan_ticket tickets[BANYAN_MESSAGES_SLOTS];
    char *memory;            /* SLOTS times message_bytes */
    uint64_t taken, granted; /* messages that are consumed, and how many of those the sender knows of */
    size_t used;             /* bytes of the first message that are consumed */
    int is_due;
} banyan_message_in;

typedef struct {
    int member;
    int out_count, in_count;
    banyan_message_out **out;
    banyan_message_in **in;
    int notes_due; /* streams whose credit should be told */
    int says_bye, said_bye, heard_bye;
    banyan_ticket control_out;
    int has_control_out;
    int wants_push; /* messages were sent since the last control message that pushes them out */
    unsigned char notes_out[BANYAN_MESSAGES_NOTES * BANYAN_MESSAGES_NOTE];
    banyan_ticket control_in[BANYAN_MESSAGES_CONTROL_SLOTS];
    unsigned char notes_in[BANYAN_MESSAGES_CONTROL_SLOTS][BANYAN_MESSAGES_NOTES * BANYAN_MESSAGES_NOTE];
    unsigned control_next;
} banyan_message_peer;

typedef struct {
    banyan_endpoint base;
    const banyan_message_engine *engine;
    banyan_port *port;
    size_t message_bytes, copy_bytes;
    void *context;
    const char *(*name)(void *context, int member, char *buffer, size_t size);
    void (*spread)(void *context, banyan_status status, const char *sentence);
    banyan_message_peer **peers; /* by member; NULL until needed */
    int *connected;              /* the members among them */
    int connected_count;
    int epoll, wake, timer;
    int64_t pause_ns; /* the next sleep of an engine without a descriptor */
    int has_changed;
    int has_open; /* a message is being filled */
    int is_withdrawn;
    int suspect; /* -1: none */
    int64_t suspect_since_ns;
    char why_suspect[BANYAN_MESSAGE_ENGINE_SENTENCE];
    banyan_first_failure failure;
} banyan_messages_endpoint;

/* messages.c: gives the engine what waits; one look at it, whether there was news; sleeps until the next. */
void banyan_messages_flush_all(banyan_messages_endpoint *e);
int banyan_messages_look(banyan_messages_endpoint *e);
void banyan_messages_doze(banyan_messages_endpoint *e, int64_t now_ns, int64_t deadline_ns);

/* messages_open.c */
banyan_status banyan_messages_open_endpoint(const banyan_opening *opening, const banyan_transport *transport,
                                            banyan_endpoint **out, banyan_error *err);
void banyan_messages_close_endpoint(banyan_endpoint *base);

/* messages_stream.c: a failure's sentence is the engine's, or our own without the peer's name. */
banyan_message_peer *banyan_messages_make_peer(banyan_messages_endpoint *e, int member);
banyan_status banyan_messages_begin_control(banyan_messages_endpoint *e, banyan_message_peer *peer,
                                            char *why);
banyan_status banyan_messages_widen(banyan_messages_endpoint *e, banyan_message_peer *peer, int to_peer,
                                    int from_peer, char *why);
void banyan_messages_destroy_peer(banyan_message_peer *peer, int keeps_memory);
banyan_status banyan_messages_offer(banyan_messages_endpoint *e, banyan_message_peer *peer, int stream,
                                    const void *memory, size_t bytes, size_t *taken, char *why);
banyan_status banyan_messages_flush(banyan_messages_endpoint *e, banyan_message_peer *peer, char *why);
/* An empty control message after all that was sent; IN_PROGRESS until it is done. */
banyan_status banyan_messages_push(banyan_messages_endpoint *e, banyan_message_peer *peer, char *why);
uint64_t banyan_messages_sent(banyan_message_out *out);
banyan_status banyan_messages_consume(banyan_messages_endpoint *e, banyan_message_peer *peer, int stream,
                                      size_t bytes, char *why);
banyan_status banyan_messages_serve_control(banyan_messages_endpoint *e, banyan_message_peer *peer,
                                            char *why);

/* messages_meet.c: outcome and why are what came of opening the engine here. */
banyan_status banyan_messages_introduce(banyan_messages_endpoint *e, const banyan_messages_meeting *meeting,
                                        banyan_status outcome, const banyan_error *why, banyan_error *err);

#endif
