/* SPDX-License-Identifier: Apache-2.0 */
/* device/turns.h: processes that share a device copy to the host in turns.
 *
 * A device copies for one process until that has nothing more to copy. A chunk can be added up only when it
 * has come from all ranks, so copies of several processes should come in the order of chunks:
 *
 *     as they come    rank 0: 0 1 2   rank 1: 0 1 2   rank 2: 0 1 2   ...     nothing goes back meanwhile
 *     in turns        0 of all ranks, 1 of all ranks, 2 of all ranks, ...
 *
 * Ranks with even and with odd numbers among them take turns separately: so one copy is under way, and for
 * the next one streams hand over meanwhile. The turn is a word of the host's memory in which streams of two
 * processes meet: the one that has copied sets it, the one that waits for it takes it back.
 *
 * No rank has a turn for its first chunk of a call: so a rank that does not make the call holds no copy of
 * others up, and is missed where chunks are added up. Whoever has put its first chunk on a stream has put the
 * others there as well.
 */
#ifndef BANYAN_DEVICE_TURNS_H
#define BANYAN_DEVICE_TURNS_H

#include <stdatomic.h>

#include "device/device.h"
#include "transport/shared.h"

typedef struct {
    _Alignas(64) _Atomic uint32_t value; /* 1: its rank may copy */
} banyan_turn_word;

typedef struct {
    banyan_device *device;
    int index, count;                   /* this rank's among those that share the device */
    banyan_turn_word *own, *next;       /* next: of the rank that gets the turn from us; may be our own */
    uint64_t own_address, next_address; /* as the device calls them */
} banyan_turns;

typedef struct {
    int rank, size;
    banyan_device *device; /* NULL: this rank's vectors are the host's */
    void *context;
    /* Of all ranks, in the order of ranks. */
    banyan_status (*gather)(void *context, const void *mine, size_t bytes, void *all, banyan_error *err);
} banyan_turns_options;

/* By all ranks. *out is NULL where this rank shares its device with no other process of this host, or those
 * that do cannot reach each other's memory, or are threads of one process. */
banyan_status banyan_turns_create(const banyan_turns_options *options, banyan_turns **out, banyan_error *err);
void banyan_turns_destroy(banyan_turns *turns); /* accepts NULL */

/* The index of the rank that gets the turn from this one. */
int banyan_turns_next(const banyan_turns *turns);

/* Whether this rank's copy of a chunk waits for its turn, and whether it gives the turn to another one. */
int banyan_turns_waits(const banyan_turns *turns, size_t chunk);
int banyan_turns_passes(const banyan_turns *turns, size_t chunk, size_t chunk_count);

/* After the group has failed, again and again until the copy has been made: nobody will give us the turn. */
void banyan_turns_let_go(banyan_turns *turns);

#endif
