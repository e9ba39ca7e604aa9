/* SPDX-License-Identifier: Apache-2.0 */
/* transport/handshake.h: what happens on a connection before anything else is read from it.
 *
 *     who connects                                who accepts
 *                      <── magic, nonce A ──
 *        magic, nonce B, proof(connect, A, B) ──>           wrong: refused with zeros, and closed
 *                      <── proof(accept, A, B) ──           wrong: the connector leaves
 *                       hello ──>
 *                      <── verdict ──
 *                confirmation ──>
 *
 * Only a wrong proof says that the secrets differ. A connection that ends or stays silent says nothing about
 * them: it may be tried again. The acceptor takes a connection when it is confirmed, so one that the
 * connector has given up before is never taken for a member.
 *
 * Every message has a fixed size. Nothing that comes from the other side is looked at, except the proof,
 * before the proof is right; magics differ between versions that cannot even talk about it. A proof holds for
 * one connection: both nonces are fresh. What follows is not encrypted. */
#ifndef BANYAN_TRANSPORT_HANDSHAKE_H
#define BANYAN_TRANSPORT_HANDSHAKE_H

#include "core/auth.h"
#include "core/status.h"

#define BANYAN_PROTOCOL 10

typedef enum {
    BANYAN_HELLO_STORE = 1, /* to a store, with a record */
    BANYAN_HELLO_CONTROL,   /* to a rank that is higher in the control tree */
    BANYAN_HELLO_DATA,      /* streams between two members */
    BANYAN_HELLO_JOIN,      /* survivors of a group meet */
    BANYAN_HELLO_NET        /* NCCL's sends and receives (nccl/net.h) */
} banyan_purpose;

typedef struct {
    int protocol;
    int purpose;
    int from;         /* rank; member for data */
    int size;         /* of the group */
    int index, count; /* data: which of how many connections of the pair */
} banyan_hello;

#define BANYAN_HELLO_BYTES 24
#define BANYAN_HANDSHAKE_LARGEST 80

typedef struct {
    int is_acceptor, step;
    banyan_secret secret;
    unsigned char own_nonce[BANYAN_AUTH_BYTES], other_nonce[BANYAN_AUTH_BYTES];
    unsigned char in[BANYAN_HANDSHAKE_LARGEST], out[BANYAN_HANDSHAKE_LARGEST];
    size_t in_count, in_wanted;
    size_t out_begin, out_end;
    banyan_hello hello; /* the connector's */
    banyan_status verdict;
    int other_protocol;
} banyan_handshake;

banyan_status banyan_handshake_accept(banyan_handshake *h, const banyan_secret *secret, banyan_error *err);
banyan_status banyan_handshake_connect(banyan_handshake *h, const banyan_secret *secret,
                                       const banyan_hello *hello, banyan_error *err);

/* Takes bytes that have come, at most in_wanted - in_count of them. A failure ends the connection. */
banyan_status banyan_handshake_take(banyan_handshake *h, const void *bytes, size_t count, banyan_error *err);

/* The acceptor has the hello and must give its verdict; before that, what it has of the other side is
 * unproven. */
int banyan_handshake_awaits_verdict(const banyan_handshake *h);
void banyan_handshake_give_verdict(banyan_handshake *h, banyan_status verdict);

/* The acceptor knows that the other side holds the secret. */
int banyan_handshake_is_proven(const banyan_handshake *h);
int banyan_handshake_is_complete(const banyan_handshake *h);

/* How far a connector has come; each is a step further. */
typedef enum {
    BANYAN_REACHED_NOTHING, /* no connection */
    BANYAN_REACHED_PORT,    /* a connection, but no greeting */
    BANYAN_REACHED_BANYAN,  /* a greeting, but no answer to our proof */
    BANYAN_REACHED_PEER,    /* proven on both sides, but no verdict */
    BANYAN_REACHED_COUNT
} banyan_handshake_reach;

banyan_handshake_reach banyan_handshake_reached(const banyan_handshake *h);

/* Goes as far as the non-blocking socket lets it. SUCCESS: complete, or the acceptor's verdict is due, after
 * which this is called again. IN_PROGRESS: needs the socket again; else the connection is of no use:
 * PEER_LOST where it ended, MISMATCH where a proof was wrong. other is how to call the other side in a
 * sentence. */
banyan_status banyan_handshake_step(banyan_handshake *h, int socket, const char *other, banyan_error *err);
int banyan_handshake_wants_write(const banyan_handshake *h);

#endif
