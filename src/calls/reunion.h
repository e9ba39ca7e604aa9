/* SPDX-License-Identifier: Apache-2.0 */
/* calls/reunion.h: survivors of a group find each other along a tree (calls/shrink.c says who looks for
 * whom).
 *
 *             0                 Survivors are numbered anew, as each knows them, and the tree is that of
 *          /     \              bootstrap/tree.h: nobody has more than fan-out children, unless ranks
 *         1       2             differ in whom they know to be lost.
 *       /   \
 *      3     4                  rank r ── hello (JOIN) ──> parent ── WELCOME ──> rank r
 *
 *     rank r ── CHANGES: who has come below it, or has gone ──> parent, up to the leader
 *     leader ── MEMBERS ──> its children, who hand it on
 *     rank r ── RECORDS of itself and those below it ──> parent    or LOST: a rank, and all go round again
 *     leader ── TABLE: all records ──> its children, who hand it on
 *
 * A rank receives the table once and sends it to its children: with n survivors 512 n bytes in, and at most
 * fan-out times as many out. A rank that has to look for another parent keeps its children. */
#ifndef BANYAN_CALLS_REUNION_H
#define BANYAN_CALLS_REUNION_H

#include "bootstrap/rank_record.h"
#include "group/control.h"
#include "transport/channel.h"

typedef struct {
    banyan_control *control;
    int rank, size; /* in the old group */
    int64_t begun_ns, deadline_ns;
    char *is_out;             /* by old rank: excluded or found dead here */
    banyan_channel *channels; /* by old rank: our children's, and our parent's */
    int parent;               /* -1: we lead, or look for one */
    int *via;                 /* by old rank: the child through which it can be reached, -1: none */
    char *is_told;            /* by old rank: our parent has heard that it can be reached */
    struct pollfd *polled;
    int event;    /* tells that the listener has accepted a connection */
    int *members; /* old ranks */
    int count, own;
    uint64_t number; /* the leader's, for the new secret */
    size_t out_bytes;
} banyan_reunion;

/* The deadline is the caller's to set. fini accepts what init has left after a failure. */
banyan_status banyan_reunion_init(banyan_reunion *r, banyan_control *control, int rank, int size,
                                  banyan_error *err);
void banyan_reunion_fini(banyan_reunion *r);

int banyan_reunion_is_gone(const banyan_reunion *r, int rank);

/* Until when this rank may stay away: for that part of our time, or until it has been silent for as long as a
 * call may last. */
int64_t banyan_reunion_patience_ns(const banyan_reunion *r, int rank, double part);

/* Waits for the others, for that part of the time, and tells them who the members are. */
banyan_status banyan_reunion_lead(banyan_reunion *r, double part, banyan_error *err);

/* Takes over a connection to the parent, and returns with the members. TIMEOUT where the parent has not
 * taken part until welcome_ns. PEER_LOST and TIMEOUT leave our children with us. */
banyan_status banyan_reunion_follow(banyan_reunion *r, int parent, int fd, int64_t welcome_ns,
                                    banyan_error *err);

/* The members' records, count times BANYAN_RANK_RECORD_BYTES. PEER_LOST where one has fallen out. */
banyan_status banyan_reunion_exchange(banyan_reunion *r, const unsigned char mine[BANYAN_RANK_RECORD_BYTES],
                                      unsigned char *all, banyan_error *err);

/* Ends all connections, for another round or for good. Who is not a member and waits here is told that it was
 * left out, if the group has begun; if not, it may find another leader. */
void banyan_reunion_part(banyan_reunion *r);
void banyan_reunion_send_away(banyan_reunion *r, int has_begun);

#endif
