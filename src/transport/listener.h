/* SPDX-License-Identifier: Apache-2.0 */
/* transport/listener.h: accepts connections, has each prove that it belongs to the job, and hands on those
 * that do.
 *
 * Who has proven nothing must not keep the job's own ranks out. At most BANYAN_LISTENER_UNPROVEN connections
 * are unproven at once, none for longer than the time-out. When more wait, the oldest of the address that has
 * most of them is closed, once it has had its tenure: a time that is long for a handshake, and so short that
 * a rank behind a kernel's queue full of strangers has its turn within half of the time-out. A rank that
 * loses its turn tries again (transport/dial.h). Where the system has no descriptors or memory for a
 * connection, the same ones make room, and accepting pauses instead of spinning. One thread uses it; the
 * counts of strangers may be read from any. */
#ifndef BANYAN_TRANSPORT_LISTENER_H
#define BANYAN_TRANSPORT_LISTENER_H

#include "transport/handshake.h"
#include "transport/socket.h"

/* Enough that a tenure is a thirty-second of the time-out: some round trips of the slowest networks. */
#define BANYAN_LISTENER_UNPROVEN 256

typedef struct banyan_listener banyan_listener;

typedef struct {
    void *context;
    /* Whether somebody who says this may come in: SUCCESS, or the verdict to send. */
    banyan_status (*ask)(void *context, const banyan_hello *hello);
    /* The connection is the handler's now. */
    void (*take)(void *context, const banyan_hello *hello, int socket);
    /* Whether nobody can be taken now: connections wait. NULL: never. */
    int (*is_full)(void *context);
} banyan_listener_handler;

/* A handshake may take up to timeout_ms. */
banyan_status banyan_listener_create(const banyan_address *address, int low_port, int high_port,
                                     const banyan_secret *secret, int timeout_ms,
                                     const banyan_listener_handler *handler, banyan_listener **out,
                                     banyan_error *err);
void banyan_listener_destroy(banyan_listener *listener); /* accepts NULL */

/* One more socket, on another interface; its index is 1, 2, ... At most BANYAN_INTERFACES in
 * all. */
banyan_status banyan_listener_add(banyan_listener *listener, const banyan_address *address, int low_port,
                                  int high_port, banyan_error *err);

/* For those who learn the secret only after they have told their address; before the first progress. */
void banyan_listener_set_secret(banyan_listener *listener, const banyan_secret *secret);

/* For those who learn the time-out only from the first rank that comes. */
void banyan_listener_set_timeout(banyan_listener *listener, int timeout_ms);

/* Where descriptors are few, fewer than BANYAN_LISTENER_UNPROVEN may be unproven at once; at least one. */
void banyan_listener_set_unproven(banyan_listener *listener, int most);

/* The first socket's. */
const banyan_address *banyan_listener_address(const banyan_listener *listener);

/* NULL: there is no such socket. */
const banyan_address *banyan_listener_address_of(const banyan_listener *listener, int index);

/* Readable when there is something to do; -1: listener is NULL. */
int banyan_listener_descriptor(const banyan_listener *listener);

/* Does what can be done without waiting; call it also when the deadline has passed (INT64_MAX: none). */
void banyan_listener_progress(banyan_listener *listener);
int64_t banyan_listener_deadline_ns(const banyan_listener *listener);

#define BANYAN_STRANGERS_TEXT 300

/* Who was not let in, to stand behind a sentence: '; 1 connection came with another secret; 437 connections
 * proved nothing and were turned away; 256 are open that have proven nothing', or "". */
const char *banyan_listener_describe_strangers(const banyan_listener *listener,
                                               char buffer[BANYAN_STRANGERS_TEXT]);

#endif
