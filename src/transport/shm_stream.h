/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm_stream.h: one stream between two processes, seen from either end. */
#ifndef BANYAN_TRANSPORT_SHM_STREAM_H
#define BANYAN_TRANSPORT_SHM_STREAM_H

#include <stddef.h>

#include "transport/shm_layout.h"

typedef struct {
    shm_outgoing *mine;   /* NULL: not connected */
    shm_incoming *theirs; /* NULL: the peer is not there yet */
    char *slots;
    size_t slot_bytes;
    uint64_t offered;  /* bytes ever */
    uint64_t sent;     /* of these, as far as the last look found */
    uint64_t borrowed; /* offered up to here from memory that is not ours: the peer must have consumed it */
    uint64_t written, freed;     /* bytes of slots, ever */
    uint32_t taken[SHM_ENTRIES]; /* bytes of slots that an entry holds */
    uint32_t filled, emptied;
} shm_sender;

typedef struct {
    shm_incoming *mine;
    const shm_outgoing *theirs; /* NULL: the peer is not there yet */
    const char *slots;
    size_t slot_bytes;
    uint64_t total;
    uint64_t used; /* bytes of the first entry that are consumed already */
    uint32_t emptied;
} shm_receiver;

/* Where memory that is offered lies, as far as the peer can know. */
typedef struct {
    uint32_t kind; /* SHM_IN_PROCESS, or SHM_IN_REGION: */
    uint32_t region;
    uint64_t generation, offset;
} shm_place;

/* The bytes taken; 0 when there is no room now. */
size_t banyan_shm_stream_offer(shm_sender *stream, const void *memory, size_t bytes, const shm_place *place);
uint64_t banyan_shm_stream_sent(shm_sender *stream);

/* The first entry and how much of it is left; NULL when there is none. */
const shm_entry *banyan_shm_stream_first(const shm_receiver *stream, uint64_t *left);
const char *banyan_shm_stream_slots(const shm_receiver *stream, const shm_entry *entry); /* NULL: nonsense */
/* Returns whether the sender should hear of it. */
int banyan_shm_stream_drop(shm_receiver *stream, size_t bytes);

#endif
