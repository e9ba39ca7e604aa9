/* SPDX-License-Identifier: Apache-2.0 */
/* transport/listener.h: a door: it accepts connections, has each prove that it belongs to the job, and hands
 * on those that do. Strangers get nothing: at most BANYAN_LISTENER_VISITORS of them stand at the door at
 * once, each for BANYAN_LISTENER_PATIENCE_MS at the most. One thread uses it. */
#ifndef BANYAN_TRANSPORT_LISTENER_H
#define BANYAN_TRANSPORT_LISTENER_H

#include "transport/handshake.h"
#include "transport/socket.h"

#define BANYAN_LISTENER_VISITORS 64
#define BANYAN_LISTENER_PATIENCE_MS 5000

typedef struct banyan_listener banyan_listener;

typedef struct {
    void *context;
    /* Whether somebody who says this may come in: SUCCESS, or the verdict to send. */
    banyan_status (*ask)(void *context, const banyan_hello *hello);
    /* The connection is the handler's now. */
    void (*take)(void *context, const banyan_hello *hello, int socket);
} banyan_door_handler;

banyan_status banyan_listener_create(const banyan_address *address, int low_port, int high_port,
                                     const banyan_secret *secret, const banyan_door_handler *handler,
                                     banyan_listener **out, banyan_error *err);
void banyan_listener_destroy(banyan_listener *listener); /* accepts NULL */

/* One more door, on another interface; its address becomes door 1, 2, ... At most BANYAN_INTERFACES in all. */
banyan_status banyan_listener_add(banyan_listener *listener, const banyan_address *address, int low_port,
                                  int high_port, banyan_error *err);

/* For those who learn the secret only after they have told their address; before the first progress. */
void banyan_listener_set_secret(banyan_listener *listener, const banyan_secret *secret);

/* The first door's. */
const banyan_address *banyan_listener_address(const banyan_listener *listener);

/* NULL: there is no such door. */
const banyan_address *banyan_listener_door(const banyan_listener *listener, int door);

/* Readable when there is something to do; -1: listener is NULL. */
int banyan_listener_descriptor(const banyan_listener *listener);

/* Does what can be done without waiting; call it also when the deadline has passed (INT64_MAX: none). */
void banyan_listener_progress(banyan_listener *listener);
int64_t banyan_listener_deadline_ns(const banyan_listener *listener);

/* How many were turned away for a wrong proof; for sentences. */
int banyan_listener_stranger_count(const banyan_listener *listener);

/* Connects, shakes hands as the connector, and gives the socket; waits until the deadline. once: a refused connection is
 * not tried again, but is SYSTEM_ERROR. */
banyan_status banyan_dial_once(const banyan_address *to, const banyan_secret *secret,
                               const banyan_hello *hello, const char *other, int64_t deadline_ns, int *out,
                               banyan_error *err);
banyan_status banyan_dial(const banyan_address *to, const banyan_secret *secret, const banyan_hello *hello,
                          const char *other, int64_t deadline_ns, int *out, banyan_error *err);

#endif
