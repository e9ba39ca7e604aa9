/* SPDX-License-Identifier: Apache-2.0 */
/* transport/socket.h: addresses, interfaces and sockets: what TCP needs of the system. */
#ifndef BANYAN_TRANSPORT_SOCKET_H
#define BANYAN_TRANSPORT_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

typedef struct {
    int family; /* AF_INET or AF_INET6; 0: none */
    uint16_t port;
    uint32_t scope; /* IPv6 link-local only */
    unsigned char bytes[16];
} banyan_address;

#define BANYAN_ADDRESS_TEXT 72

/* '10.0.0.1:4000' or '[fe80::1%2]:4000'; returns the buffer. */
const char *banyan_address_format(const banyan_address *address, char buffer[BANYAN_ADDRESS_TEXT]);

/* Reads 'HOST:PORT', where an IPv6 number stands in brackets; names are looked up. family 0: any. */
banyan_status banyan_address_parse(const char *text, int family, banyan_address *out, banyan_error *err);

#define BANYAN_INTERFACES 4 /* that one process uses together */

typedef struct {
    banyan_address address;
    int network_bits; /* how much of the address is its network's; 0: unknown */
    char name[16];    /* the system's, such as eth0 */
} banyan_interface;

/* Whether the address lies in the interface's network: it is reached without a router. */
int banyan_interface_leads_to(const banyan_interface *interface, const banyan_address *to);

/* Fills in the network and the name of the interface that has this address; where none has, they stay
 * unknown. */
void banyan_interface_complete(banyan_interface *interface);

/* Which addresses others should reach us at. wish is NCCL's grammar: 'eth' (names that begin so),
 * '=eth0,eth1' (exactly these), '^docker,lo' (all but names that begin so), or an address or network such as
 * '10.1.0.0/16'. Empty: the first interface that is up and neither loopback nor docker, else loopback. Where
 * several fit, each gives its first address of the family that the first one has, up to `most`. */
banyan_status banyan_interface_choose(const char *wish, int family, int most, banyan_interface *out,
                                      int *count, banyan_error *err);

/* Listens on this address alone; port 0 takes one from low..high (0: the kernel's choice). *bound says what
 * it became. Sockets are non-blocking and close on exec. */
banyan_status banyan_socket_listen(const banyan_address *address, int low, int high, int *out,
                                   banyan_address *bound, banyan_error *err);

/* Connections that the kernel keeps until they are accepted: as many as a group may have members, since all
 * of them may come to rank 0 at once. A system may allow fewer (net.core.somaxconn); who finds no room tries
 * again. */
#define BANYAN_SOCKET_BACKLOG 4096

/* The next connection at a listening socket, non-blocking and close on exec, and where it comes from; -1 and
 * errno. */
int banyan_socket_accept(int listening, banyan_address *from);

/* Whether this errno means that the system, or this process's limit, has run out of descriptors or memory. */
int banyan_socket_is_shortage(int error);

/* What to do about a shortage, to stand behind the system's words for it; "" for other errors. */
const char *banyan_socket_advice(int error);

/* Begins to connect, through this interface where one is named (NULL: the system's choice); the socket
 * becomes writable when it is done. */
banyan_status banyan_socket_connect(const banyan_address *to, const banyan_interface *through, int *out,
                                    banyan_error *err);

/* Whether a connection that was begun has been made. PEER_LOST: it was, and has been reset since. */
banyan_status banyan_socket_connected(int socket, const banyan_address *to, banyan_error *err);

/* No waiting for more bytes, keep-alive, and an end to connections whose peer answers no more. buffer_bytes 0
 * leaves the kernel to size the buffers, which fills most links better than any fixed size. */
void banyan_socket_tune(int socket, size_t buffer_bytes);

/* From now on the kernel sends at most that many bytes a second, headers included, evenly (it needs no
 * queueing discipline for that); 0: as many as congestion control allows. */
void banyan_socket_pace(int socket, double bytes_per_s);

/* Bytes on an Ethernet wire for each byte of a connection, where its segments are full. */
double banyan_socket_wire_bytes(int socket);

/* Our own end of a connection, and the other one. */
int banyan_socket_local(int socket, banyan_address *out);
int banyan_socket_peer(int socket, banyan_address *out);

/* Waits for poll(2) events until the deadline; 0: it has passed. */
int banyan_socket_wait(int socket, short events, int64_t deadline_ns);

#endif
