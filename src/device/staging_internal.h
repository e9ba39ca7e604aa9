/* SPDX-License-Identifier: Apache-2.0 */
/* device/staging_internal.h: what the staging*.c files share: the slots of each lane, and the words that the
 * caller's streams wait for. */
#ifndef BANYAN_DEVICE_STAGING_INTERNAL_H
#define BANYAN_DEVICE_STAGING_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/staging.h"

enum {
    BANYAN_STAGING_SLOTS = 4, /* of a lane: on the way in, being added up, on the way out, one to spare */
    BANYAN_STAGING_AHEAD = BANYAN_STAGING_SLOTS - 1, /* chunks that are on their way in or have come */
    BANYAN_STAGING_TICKETS = 32                      /* calls that a rank may be ahead of its streams */
};

typedef struct {
    char *memory;
    banyan_device_event *fetched, *stored;
    int is_used;
} banyan_staging_slot;

/* How far a lane is with its chunks of a call: every so-manieth. */
typedef struct {
    const banyan_staging_call *call;
    size_t elements; /* of each part in a chunk */
    size_t chunk_count, stride;
    size_t fetched; /* the first chunk that has not been put on the stream */
    int first_slot;
} banyan_staging_pass;

typedef struct {
    banyan_staging *staged;
    int number;
    banyan_staging_pass pass;
    banyan_staging_slot slots[BANYAN_STAGING_SLOTS];
    int next_slot;    /* of the next chunk */
    pthread_t thread; /* of all lanes but the first, which is the caller's of run */
    int has_thread;
    /* guarded by the lock of staged: */
    const banyan_staging_call *call; /* NULL: nothing to do */
    banyan_status status;            /* before the call: it cannot be done; after it: how it went */
    banyan_error err;
} banyan_staging_lane;

struct banyan_staging {
    banyan_staging_options options;
    banyan_device *device;
    const banyan_device_table *table;
    void *fetching, *storing; /* streams */
    char *memory;             /* of all slots, and behind them the words */
    int is_registered;
    banyan_staging_lane lanes[BANYAN_STAGING_MAX_LANES];
    _Atomic uint32_t *words; /* by ticket and lane. 1: the stream may go on; it takes that back */
    uint64_t word_address;
    banyan_device_event *begun[BANYAN_STAGING_TICKETS];
    _Atomic uint32_t free_tickets;
    uint32_t tickets_given;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_ending; /* guarded by lock */
};

static inline int banyan_staging_word(int ticket, int lane)
{
    return ticket * BANYAN_STAGING_MAX_LANES + lane;
}

static inline uint64_t banyan_staging_word_address(const banyan_staging *staged, int ticket, int lane)
{
    return staged->word_address + (uint64_t)banyan_staging_word(ticket, lane) * sizeof *staged->words;
}

/* Elements of each part that a chunk holds; 0: not one fits. */
size_t banyan_staging_chunk_elements(const banyan_staging *staged, const banyan_staging_call *call);

/* Lanes that have a chunk of the call: the first ones. */
int banyan_staging_lanes_of(const banyan_staging *staged, const banyan_staging_call *call);

/* staging_lane.c: the next chunk of the lane's pass is put on its way to the host; none is left: nothing. */
void banyan_staging_lane_begin(banyan_staging_lane *lane, const banyan_staging_call *call);
banyan_status banyan_staging_lane_fetch(banyan_staging_lane *lane, banyan_error *err);

/* staging_lane.c: the lane's chunks, unless they cannot be done; frees the stream in any case. */
banyan_status banyan_staging_lane_run(banyan_staging_lane *lane, banyan_status status, banyan_error *err);

#endif
