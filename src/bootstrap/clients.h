/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/clients.h: the ranks that are connected to a node of the join tree (bootstrap/join_tree.h), and
 * what they say. One thread uses it. */
#ifndef BANYAN_BOOTSTRAP_CLIENTS_H
#define BANYAN_BOOTSTRAP_CLIENTS_H

#include "transport/channel.h"
#include "transport/listener.h"

/* Of the 64 connections that a rank may hold, two are left for what the process of rank 0 does beside the
 * store. Further ranks wait in the listener's queue. */
#define BANYAN_MAX_CLIENTS 62

typedef struct {
    banyan_channel channel; /* its fd is -1: the connection has ended */
    int rank;
    int visit;        /* of this rank; 0: it has not said which */
    int is_told;      /* it has been sent what it waits for, */
    int has_got;      /* and has said that it has it */
    int is_dismissed; /* the connection is closed when everything is sent */
} banyan_client;

typedef struct {
    void *context;
    banyan_status (*ask)(void *context, const banyan_hello *hello);
    void (*take)(void *context, const banyan_hello *hello); /* NULL: nobody wants to know */
    /* What a client says; whoever says what it should not is closed with banyan_channel_fini. */
    void (*hear)(void *context, banyan_client *client, int type, const unsigned char *body, size_t bytes);
    /* Its connection has ended, and it was not dismissed. */
    void (*lose)(void *context, const banyan_client *client);
} banyan_client_handler;

typedef struct {
    banyan_listener *listener; /* NULL: nobody can come */
    banyan_client_handler handler;
    banyan_client *list;
    size_t count, capacity;
    _Atomic size_t most;       /* there have been at once; from any thread */
    _Atomic size_t sent_bytes; /* without headers; from any thread */
} banyan_clients;

/* The clients must not move in memory until banyan_clients_close, which accepts what was never opened. */
banyan_status banyan_clients_open(banyan_clients *clients, const banyan_address *address, int low_port,
                                  int high_port, const banyan_secret *secret, int timeout_ms,
                                  const banyan_client_handler *handler, banyan_error *err);
void banyan_clients_close(banyan_clients *clients);

/* Makes sure that there are descriptors for count of them. */
banyan_status banyan_clients_reserve(banyan_clients *clients, int count, const char *what, banyan_error *err);

/* Closes all connections; new ones may come. */
void banyan_clients_drop(banyan_clients *clients);

/* Waits until there is something to do with a client or the other descriptor (fd -1: none), at most until the
 * deadline or for half a second, and does it. One that does not read holds up no other. 0: no memory. */
struct pollfd;
int banyan_clients_attend(banyan_clients *clients, struct pollfd *other, int64_t deadline_ns);

void banyan_clients_send(banyan_clients *clients, banyan_client *client, int type, const void *body,
                         size_t bytes);

/* Waits until everything is sent, for each client no longer than until the deadline. */
void banyan_clients_send_rest(banyan_clients *clients, int64_t deadline_ns);

#endif
