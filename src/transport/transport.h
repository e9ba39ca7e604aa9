/* SPDX-License-Identifier: Apache-2.0 */
/* transport/transport.h: what carries bytes between the members of a group, and the list of all that can.
 *
 * A transport gives ordered byte streams. A stream leads from one member to another and is known by (peer,
 * number) at both ends. Both ends derive from the schedule and the count what travels and in which order, so
 * streams carry payload alone: no tags, no headers, no sizes.
 *
 *      offer ──> [ the transport's: sent() has not passed it ] ──> peek, consume
 *
 * Memory that is offered belongs to the transport until sent() has passed it: the sender may read it, but
 * must not change it. What peek shows may be that very memory, so a receiver can add straight out of the
 * sender's buffer. An endpoint is one member's end of everything; it belongs to one thread, but abort may be
 * called from any. Nothing here blocks except connect and wait, and those have a deadline.
 *
 * A transport is one file with one const banyan_transport and one line in transport/list.h. */
#ifndef BANYAN_TRANSPORT_H
#define BANYAN_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "transport/workspaces.h"

#define BANYAN_TRANSPORT_MAX_MEMBERS 16384 /* members are nodes: ranks, relays and switches */
#define BANYAN_TRANSPORT_MAX_STREAMS 4096  /* from one member to another */

typedef enum {
    BANYAN_REACH_PROCESS, /* threads of one process */
    BANYAN_REACH_HOST,    /* processes of one host */
    BANYAN_REACH_NETWORK  /* hosts that reach each other */
} banyan_reach;

/* How members tell each other their names before they can talk; any bootstrap can serve. all gets bytes from
 * each of the member_count members, in their order; a member that is in no process (a switch) leaves zeros.
 * Everybody calls it equally often and with the same bytes. */
typedef struct {
    banyan_status (*allgather)(void *context, const void *mine, size_t bytes, void *all, int64_t deadline_ns,
                               banyan_error *err);
    void *context;
} banyan_exchange;

/* How an endpoint finds the others. */
typedef struct {
    int member, member_count;
    void *meeting; /* what the transport's own header says; for `memory` a banyan_memory_hub */
} banyan_opening;

typedef struct banyan_transport banyan_transport;

/* The head of every transport's own endpoint. */
typedef struct {
    const banyan_transport *transport;
    int member, member_count;
} banyan_endpoint;

struct banyan_transport {
    const char *name;
    const char *summary; /* one line */
    banyan_reach reach;
    int reads_in_place; /* peek shows the sender's memory: nothing is copied on the way */

    banyan_status (*open)(const banyan_opening *opening, banyan_endpoint **out, banyan_error *err);

    /* Makes streams 0..to_peer-1 towards the peer and 0..from_peer-1 from it usable; more can be asked for
     * later. All that may allocate or wait on the way to the first byte happens here. */
    banyan_status (*connect)(banyan_endpoint *endpoint, int peer, int to_peer, int from_peer,
                             int64_t deadline_ns, banyan_error *err);

    /* Takes the memory, or a first part of it; returns the bytes taken, 0 when there is no room now. */
    size_t (*offer)(banyan_endpoint *endpoint, int peer, int stream, const void *memory, size_t bytes);

    /* How many bytes of this stream, ever, the transport no longer needs. */
    uint64_t (*sent)(banyan_endpoint *endpoint, int peer, int stream);

    /* Shows contiguous bytes that have arrived and returns how many; 0: none now. When it shows some, consume
     * must follow (with 0 if need be) before the next look at any stream: it ends the look and drops the
     * first bytes. Bytes may be split anywhere, also inside an element. */
    size_t (*peek)(banyan_endpoint *endpoint, int peer, int stream, const void **memory);
    void (*consume)(banyan_endpoint *endpoint, int peer, int stream, size_t bytes);

    /* Returns when something may have changed since the last wait returned: at once if so, else after a short
     * spin and a sleep. TIMEOUT without a sentence (only the caller knows whom it waited for) when the
     * deadline passes; the reason when the group has been aborted or a peer is lost. */
    banyan_status (*wait)(banyan_endpoint *endpoint, int64_t deadline_ns, banyan_error *err);

    /* Ends all work of the group: every member's wait returns status and the sentence. The first abort
     * counts, later ones do nothing. From any thread. */
    void (*abort)(banyan_endpoint *endpoint, banyan_status status, const char *sentence);

    /* The status and sentence of the abort, or SUCCESS. From any thread. */
    banyan_status (*failure)(banyan_endpoint *endpoint, banyan_error *err);

    /* Takes back all that was offered, or registered for workspaces; when it returns nobody reads or writes
     * the caller's memory any more. The streams are of no use afterwards: only after a failure. */
    void (*withdraw)(banyan_endpoint *endpoint);

    void (*close)(banyan_endpoint *endpoint); /* accepts NULL */

    /* What follows may be NULL. */

    /* Returns when all that sent counts reaches the peers without this member's help, who may do something
     * else for long; fails as wait does. NULL: it always does. */
    banyan_status (*flush)(banyan_endpoint *endpoint, int64_t deadline_ns, banyan_error *err);

    /* Peek, copy and consume in one, without memory in between where the transport can: takes whole units, at
     * most bytes; 0 when no whole unit can be had in one piece now (then peek shows what there is). */
    size_t (*read)(banyan_endpoint *endpoint, int peer, int stream, void *into, size_t bytes, size_t unit);

    /* For those who wait for other things as well: says that the caller is about to sleep and returns a
     * descriptor that becomes readable at the next news; -1: do not sleep, there is news already. Whenever
     * the sleep is over, wait (with any deadline) must follow; sleep for 100 ms at the most, since wait is
     * what finds lost peers. */
    int (*sleep_fd)(banyan_endpoint *endpoint);

    /* Whether connect can lead to that peer at all: how a pair picks the best that both have. NULL:
     * always. */
    int (*reaches)(const banyan_endpoint *endpoint, int peer);

    /* From now on at most that many bytes a second leave for the peer, on the wire, headers included; 0: as
     * many as will. */
    void (*pace)(banyan_endpoint *endpoint, int peer, double bytes_per_s);

    /* Bytes on the wire for each byte between the two, since frames have headers. NULL: 1. */
    double (*wire_bytes)(banyan_endpoint *endpoint, int peer);

    /* How bytes from that peer come, in a few words for the log. Returns the buffer. */
    const char *(*describe)(const banyan_endpoint *endpoint, int peer, char *buffer, size_t size);

    /* Workspaces (transport/workspaces.h) for all ranks of the group, ascending; they are the endpoint's.
     * *out is NULL where there can be none, and then it is for all of them. */
    banyan_status (*workspaces)(banyan_endpoint *endpoint, const int *members, int count,
                                banyan_workspaces **out, banyan_error *err);

    /* Ends that member's wait. */
    void (*wake)(banyan_endpoint *endpoint, int member);

    /* Of members with workspaces: where the others find this memory (0: they cannot), and a member's memory
     * as it lies here (NULL: it cannot be had). Once everybody has tried to map a place that is_new, its
     * owner is told whether all could; otherwise it is not to be had again. */
    int (*locate)(banyan_endpoint *endpoint, const void *memory, size_t bytes, banyan_place *out);
    char *(*map)(banyan_endpoint *endpoint, int member, const banyan_place *place, size_t bytes);
    void (*confirm)(banyan_endpoint *endpoint, const banyan_place *place, int is_mapped);
};

int banyan_transport_count(void);
const banyan_transport *banyan_transport_at(int i);
const banyan_transport *banyan_transport_find(const char *name); /* NULL: none */

#endif
