/* SPDX-License-Identifier: Apache-2.0 */
/* transport/workspaces.h: shared memory of members that compute side by side.
 *
 * Streams lead from one member to one other. Here every member has a workspace that all can read: slots for
 * data, and counters that only grow and say how far it has come. A workspace is written by its owner alone,
 * but for the counter from which all take work.
 *
 *     workspace of 0   staged summed copied | slot | slot      others look at the counters,
 *     workspace of 1   staged summed copied | slot | slot      and read slots that the counters vouch for
 *
 * A member that waits writes down for whom and then sleeps as in transport->wait; a member that counts up
 * wakes those who wait for it. What a workspace holds is the owner's own copy: when a call fails nobody reads
 * or writes a user's buffer. The exception is memory that its owner has registered for the call: a slot then
 * says where it is. A member that writes into registered memory of others says so in its workspace, and stops
 * when a workspace says that its owner has withdrawn; a member whose call fails withdraws and waits for the
 * writers. */
#ifndef BANYAN_TRANSPORT_WORKSPACES_H
#define BANYAN_TRANSPORT_WORKSPACES_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define BANYAN_WORKSPACE_SLOTS 4u
#define BANYAN_WORKSPACE_SLOT_BYTES ((size_t)1 << 20)
#define BANYAN_WORKSPACE_LABEL_BYTES 48
#define BANYAN_WORKSPACE_MAX_MEMBERS 64
#define BANYAN_WORKSPACE_LINE 64 /* of the cache */

/* Where others find a member's memory; see transport->locate. */
typedef struct {
    uint32_t region;
    uint32_t is_new; /* not all members have it mapped yet */
    uint64_t generation, offset;
} banyan_place;

typedef struct {
    alignas(BANYAN_WORKSPACE_LINE) char label
        [BANYAN_WORKSPACE_LABEL_BYTES]; /* of the call that the slot belongs to */
    uint32_t phase;                     /* where in a line of the cache the data begin */
    uint32_t is_registered;             /* there are no data: the vector is where its owner has it, */
    alignas(BANYAN_WORKSPACE_LINE) banyan_place input, result; /* namely here */
    alignas(
        BANYAN_WORKSPACE_LINE) _Atomic uint64_t next; /* in place 0's: the element with which work goes on */
    alignas(BANYAN_WORKSPACE_LINE) char data[BANYAN_WORKSPACE_SLOT_BYTES];
} banyan_workspace_slot;

/* All zeros at first. */
typedef struct {
    alignas(BANYAN_WORKSPACE_LINE) _Atomic uint64_t staged; /* how many slots have been filled, ever, */
    _Atomic uint64_t copied; /* and up to which one the others' slots are done with */
    alignas(BANYAN_WORKSPACE_LINE) _Atomic uint64_t summed;
    alignas(BANYAN_WORKSPACE_LINE) _Atomic uint32_t waits_for; /* a place, plus 1 */
    _Atomic uint32_t writes;                                   /* into registered memory of others */
    /* The last call that does not use workspaces: a member that waits here for one that does something else
     * can tell. */
    alignas(BANYAN_WORKSPACE_LINE) _Atomic uint64_t elsewhere; /* its number among all calls, plus 1 */
    _Atomic uint64_t elsewhere_label[BANYAN_WORKSPACE_LABEL_BYTES / sizeof(uint64_t)];
    alignas(BANYAN_WORKSPACE_LINE) _Atomic uint32_t core; /* where it last waited, plus 1; 0: it never did */
    alignas(BANYAN_WORKSPACE_LINE) _Atomic uint32_t
        has_withdrawn; /* for ever: nobody writes into its memory */
    banyan_workspace_slot slots[BANYAN_WORKSPACE_SLOTS];
} banyan_workspace;

/* One member's view; its calls come one after the other. */
typedef struct {
    int place, count;
    int members[BANYAN_WORKSPACE_MAX_MEMBERS]; /* by place */
    banyan_workspace *of[BANYAN_WORKSPACE_MAX_MEMBERS];
    uint64_t filled;  /* slots, by each member */
    uint64_t taken;   /* up to here the others' slots are done with */
    uint64_t calls;   /* with or without workspaces */
    int spins;        /* looks before a wait sleeps */
    int yields;       /* and after those, looks with the core given away: where members share cores */
    void *registered; /* where others write while a call goes on; NULL: nowhere */
    size_t registered_bytes;
} banyan_workspaces;

#endif
