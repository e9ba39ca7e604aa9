/* SPDX-License-Identifier: Apache-2.0 */
/* transport/dial.h: connects to a listener (transport/listener.h) and shakes hands with it. */
#ifndef BANYAN_TRANSPORT_DIAL_H
#define BANYAN_TRANSPORT_DIAL_H

#include "transport/handshake.h"
#include "transport/socket.h"

/* One try, until the deadline: connects, shakes hands as the connector, and gives the socket. SYSTEM_ERROR:
 * the connection was refused; PEER_LOST: it ended during the handshake; TIMEOUT: the other side was
 * silent. */
banyan_status banyan_dial_once(const banyan_address *to, const banyan_secret *secret,
                               const banyan_hello *hello, const char *other, int64_t deadline_ns, int *out,
                               banyan_error *err);

/* Tries until the deadline: a connection that is refused, ends or stays silent is tried again, since the
 * other side may be slow, crowded or not there yet. An answer that rules the connection out (a wrong proof,
 * another version, a refusal) ends it when it has come twice: one may have been damaged on its way. A
 * TIMEOUT's sentence says how many tries were made and how far they got. */
banyan_status banyan_dial(const banyan_address *to, const banyan_secret *secret, const banyan_hello *hello,
                          const char *other, int64_t deadline_ns, int *out, banyan_error *err);

/* The same where somebody has listened before: if nobody does any more, that is the end (SYSTEM_ERROR). */
banyan_status banyan_dial_again(const banyan_address *to, const banyan_secret *secret,
                                const banyan_hello *hello, const char *other, int64_t deadline_ns, int *out,
                                banyan_error *err);

#endif
