/* SPDX-License-Identifier: Apache-2.0 */
/* group/control.h: how the ranks of a group watch over each other, beside the data.
 *
 *               0                 The ranks form a tree (bootstrap/tree.h): each is connected to its parent
 *          /    |    \            and to its children, and has one thread that sleeps on them. What one says
 *         1     2     3           goes up to rank 0, the root, which tells all: that the group is over and
 *       / | \   |                 why, that a rank is gone, plans. A connection that ends is a rank that is
 *      4  5  6  7                 lost; those below it are taken in by others (control_climb.c). A rank whose
 *                                 heartbeat is missing is silent: nothing ends for that, but the sentence of
 * a time-out names it.
 *
 * With up to BANYAN_CONTROL_FANOUT + 1 ranks the tree is a star. No rank holds more than
 * BANYAN_CONTROL_MAX_CONNECTIONS; a message crosses 2 log n connections at the most, log to the base of the
 * fan-out.
 *
 * The same thread keeps this rank's listener: data connections of other ranks are accepted and handed on. */
#ifndef BANYAN_GROUP_CONTROL_H
#define BANYAN_GROUP_CONTROL_H

#include "bootstrap/rank_record.h"
#include "core/text.h"
#include "transport/dial.h"
#include "transport/listener.h"

typedef struct banyan_control banyan_control;

#define BANYAN_CALL_TEXT 160
#define BANYAN_CONTROL_FANOUT 16 /* children of a rank; records travel in a tree of the same shape */
#define BANYAN_CONTROL_MAX_CONNECTIONS 64

/* What a rank is doing, for people who ask. */
typedef struct {
    uint64_t begun, done;        /* calls */
    double since_s;              /* the last one began or ended so long ago */
    char call[BANYAN_CALL_TEXT]; /* the last one that began; empty: none yet */
    int control_connections;     /* these are the control's own to say */
    uint64_t control_bytes_in, control_bytes_out;
} banyan_rank_state;

/* What the control thread tells and asks; want only at the root, plan and call only elsewhere. */
typedef struct {
    void *context;
    void (*fail)(void *context, banyan_status status, const char *sentence); /* the group is over */
    void (*data)(void *context, const banyan_hello *hello, int socket);      /* takes the socket */
    void (*left)(void *context, int rank, uint64_t calls); /* a rank has gone after that many calls */
    void (*want)(void *context, int rank, const unsigned char *body, size_t bytes);
    void (*plan)(void *context, const unsigned char *body, size_t bytes);
    void (*call)(void *context, const unsigned char *body, size_t bytes); /* to a relay */
    void (*state)(void *context, banyan_rank_state *out);                 /* NULL: nobody knows */
    void (*network)(void *context, banyan_text *text); /* adds what it is taken for; NULL likewise */
    void (*tend)(void *context); /* with each heartbeat; NULL: there is nothing to tend */
} banyan_control_handler;

/* The listener is made first, so that its address can stand on the record. Handshakes there may take up to
 * timeout_ms. */
banyan_status banyan_control_create(int most_ranks, int timeout_ms, const banyan_address *address,
                                    int low_port, int high_port, banyan_control **out, banyan_error *err);
const banyan_address *banyan_control_address(const banyan_control *control);

/* Listens on one more interface, for data; before the start. *bound says where. */
banyan_status banyan_control_listen_also(banyan_control *control, const banyan_address *address, int low_port,
                                         int high_port, banyan_address *bound, banyan_error *err);

/* How many connections that have proven nothing may be open at once, where descriptors are few; before the
 * start. */
void banyan_control_set_unproven(banyan_control *control, long most);

/* Who was not let in, as banyan_listener_describe_strangers; from any thread. */
const char *banyan_control_describe_strangers(const banyan_control *control,
                                              char buffer[BANYAN_STRANGERS_TEXT]);

/* Where people can ask about this rank (group/status.h), before it starts; empty or NULL: nowhere. */
void banyan_control_set_status_folder(banyan_control *control, const char *folder);

/* How many children a rank has at the most, from 2 on, the same on all ranks; before the start. */
void banyan_control_set_fanout(banyan_control *control, int fanout);

/* From this number on they are relays, for those who read sentences. */
void banyan_control_name_relays(banyan_control *control, int rank_count);

/* Connects the tree; returns when all ranks are there. The records must outlive the control. */
banyan_status banyan_control_start(banyan_control *control, int rank, int size,
                                   const banyan_rank_record *records, const banyan_secret *secret,
                                   int timeout_ms, const banyan_control_handler *handler, banyan_error *err);

/* Says goodbye and ends the thread; no callback comes afterwards. A rank with others below it stays for up to
 * two seconds until they have found another way to the root. Then free it. Both accept NULL. */
void banyan_control_stop(banyan_control *control, uint64_t calls);
void banyan_control_destroy(banyan_control *control);

/* From any thread. The first failure counts; it is told to all. Several ranks may find different ones at the
 * same time: the first that the root hears of is everybody's. */
void banyan_control_abort(banyan_control *control, banyan_status status, const char *sentence);
banyan_status banyan_control_failure(banyan_control *control, banyan_error *err);

/* The same for users: waits a moment for the root's words, which are those of all ranks. Not with a lock that
 * the handler takes. */
banyan_status banyan_control_verdict(banyan_control *control, banyan_error *err);

int banyan_control_is_lost(banyan_control *control, int rank);
/* Since when it has been silent, by CLOCK_MONOTONIC; 0: it is not, or nobody can know. */
int64_t banyan_control_silent_since_ns(banyan_control *control, int rank);

/* From the root to all others, or to one relay; from another rank to the root. */
banyan_status banyan_control_publish(banyan_control *control, const void *body, size_t bytes,
                                     banyan_error *err);
banyan_status banyan_control_tell(banyan_control *control, int relay, const void *body, size_t bytes,
                                  banyan_error *err);
banyan_status banyan_control_want(banyan_control *control, const void *body, size_t bytes, banyan_error *err);

/* Everybody's bytes to everybody, through the root; every rank calls it in the same order. */
banyan_status banyan_control_gather(banyan_control *control, const void *mine, size_t bytes, void *all,
                                    int64_t deadline_ns, banyan_error *err);

/* A survivor's connection (BANYAN_HELLO_JOIN), the next one until the deadline: its socket and rank, or
 * -1. The event is written to while one waits; -1: nobody wants to know. */
void banyan_control_announce_joiners(banyan_control *control, int event);
int banyan_control_next_joiner(banyan_control *control, int64_t deadline_ns, int *rank);

#endif
