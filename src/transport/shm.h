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
    BANYAN_SHM_BEST,         /* what is permitted and turns out faster; alone here there are boards */
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

/* Memory that all members of the host can read in place: what is offered from it is never copied on the way.
 * At most BANYAN_SHM_MAX_REGIONS at a time. Free it before the endpoint is closed, and not while any of it is
 * on offer. */
#define BANYAN_SHM_MAX_REGIONS 16
banyan_status banyan_shm_region_create(banyan_endpoint *endpoint, size_t bytes, void **out,
                                       banyan_error *err);
void banyan_shm_region_destroy(banyan_endpoint *endpoint, void *memory); /* accepts NULL */

#endif
