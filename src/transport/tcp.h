/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp.h: how members of a group on several hosts meet. */
#ifndef BANYAN_TRANSPORT_TCP_H
#define BANYAN_TRANSPORT_TCP_H

#include "transport/handshake.h"
#include "transport/socket.h"
#include "transport/transport.h"

#define BANYAN_TCP_MAX_CONNECTIONS 16 /* of one pair */

extern const banyan_transport banyan_transport_tcp;

/* Give it to each member's opening; what it points to must outlive the endpoint. Connections are made when a
 * pair is first connected, by the member with the smaller number; those that come in are accepted elsewhere
 * (transport/listener.h) and handed over. */
typedef struct {
    const banyan_secret *secret;
    const banyan_address *addresses;    /* by member; family 0: nobody there */
    const banyan_address *others;       /* BANYAN_INTERFACES - 1 more of each member, in a row; NULL: none */
    const banyan_interface *interfaces; /* our own, in the order of our addresses */
    int interface_count;
    int connections;     /* of a pair, over each interface, 1..16; the same everywhere */
    size_t window_bytes; /* what a stream may have under way before its receiver takes it */
    size_t buffer_bytes; /* of a socket; 0: the kernel's choice */
    int is_paced;        /* pace is obeyed */
    int timeout_ms;      /* for so long a connection whose handshake is cut short is begun again */
    void *context;
    /* 'rank 3'; into the buffer or elsewhere. */
    const char *(*name)(void *context, int member, char *buffer, size_t size);
    /* Tells the other members that the group is over; from any thread. */
    void (*spread)(void *context, banyan_status status, const char *sentence);
    /* Something worth knowing has happened that ends nothing; NULL: nobody wants to know. */
    void (*note)(void *context, const char *sentence);
} banyan_tcp_meeting;

/* A connection that another member has made; from any thread. */
void banyan_tcp_hand_over(banyan_endpoint *endpoint, const banyan_hello *hello, int socket);

/* What streams may have under way from now on, up to what they were made with; from the caller's thread. */
void banyan_tcp_set_window(banyan_endpoint *endpoint, size_t bytes);

/* To be called now and then, from a thread that is not the caller's: sends again what was lost with one of
 * several connections, if the caller has not waited for a while. Does not block. */
void banyan_tcp_tend(banyan_endpoint *endpoint);

/* What abort does, but the others know already; from any thread. */
void banyan_tcp_fail(banyan_endpoint *endpoint, banyan_status status, const char *sentence);

#endif
