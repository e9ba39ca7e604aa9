/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm.h: where the processes of one host meet.
 *
 * Members tell each other their names through a banyan_exchange; opening calls it twice, in every member.
 * Those on other hosts, in other containers, or in no process are not reached: connect says so, and `reaches`
 * tells. Either opening succeeds for every member, or it fails for every member that takes part. */
#ifndef BANYAN_TRANSPORT_SHM_H
#define BANYAN_TRANSPORT_SHM_H

#include "transport/transport.h"

extern const banyan_transport banyan_transport_shm;

/* How what is not in a region travels. */
typedef enum {
    BANYAN_SHM_BEST,         /* what is permitted and turns out faster; alone here there are workspaces */
    BANYAN_SHM_READ_PROCESS, /* the receiver reads the sender's process where that is permitted, else slots */
    BANYAN_SHM_ONLY_SLOTS
} banyan_shm_way;

/* What an opening's meeting points to; read by open only. */
typedef struct {
    banyan_exchange exchange;
    int64_t deadline_ns; /* for the exchanges */
    const int *ranks;    /* by member: the rank to name it by, -1 for a relay; NULL: the member's number */
    size_t slot_bytes;   /* what may be on its way in slots of a stream, from 64 up; 0: the default */
    banyan_shm_way way;
} banyan_shm_meeting;

/* That many pieces of shared memory (transport/shared.h), of those that live at a time, can be read in
 * place by
 * the members of the host; what is offered from them is never copied on the way. Further ones are treated as
 * any other memory. */
#define BANYAN_SHM_MAX_REGIONS 64

#endif
