/* SPDX-License-Identifier: Apache-2.0 */
/* device/staging_internal.h: what the staging*.c files share: the slots of each lane, and how a call is cut
 * into chunks. Chunk c is lane c % lanes's; a lane's chunks have its slots in turn. */
#ifndef BANYAN_DEVICE_STAGING_INTERNAL_H
#define BANYAN_DEVICE_STAGING_INTERNAL_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "device/staging.h"

enum {
    BANYAN_STAGING_SLOTS = 3, /* of a lane: on the way in, being added up, on the way out */
    BANYAN_STAGING_TICKETS = 32
};

/* Where a slot's chunk is, for the streams and the lane: each sets the other's word, which takes it back. */
typedef struct {
    alignas(64) _Atomic uint32_t fetched; /* 1, by the stream: it has come; 0, by the lane */
    alignas(64) _Atomic uint32_t reduced; /* 1, by the lane: it may go; 0, by the stream */
} banyan_staging_words;

typedef struct {
    char *memory;
    banyan_staging_words *words;
    uint64_t words_address;      /* as the device calls it */
    banyan_device_event *copied; /* behind the copy to the host */
    banyan_device_event *stored; /* behind the copy to the device */
    int is_used;                 /* it has been recorded */
} banyan_staging_slot;

typedef struct {
    banyan_staging *staged;
    int number;
    banyan_staging_slot slots[BANYAN_STAGING_SLOTS];
    pthread_t thread; /* of all lanes but the first, which is the caller's of run */
    int has_thread;
    /* guarded by the lock of staged: */
    const banyan_staging_call *call; /* NULL: nothing to do */
    banyan_status status;            /* of the last call */
    banyan_error err;
} banyan_staging_lane;

typedef struct {
    banyan_device_event *begun, *done; /* on the caller's stream, and behind the last copy */
    int first_slot;                    /* of each lane */
} banyan_staging_ticket;

struct banyan_staging {
    banyan_staging_options options;
    banyan_device *device;
    const banyan_device_table *table;
    void *fetching, *telling, *storing; /* streams */
    char *memory;                       /* of all slots, and behind them the words */
    int is_registered;
    banyan_staging_lane lanes[BANYAN_STAGING_MAX_LANES];
    banyan_staging_ticket tickets[BANYAN_STAGING_TICKETS];
    uint32_t tickets_given;
    int next_slot;
    _Atomic uint32_t free_tickets;
    _Atomic int is_broken; /* a call could not be put on the streams: there is nothing to wait for */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_ending; /* guarded by lock */
};

/* How a call is cut. */
typedef struct {
    const banyan_staging_call *call;
    size_t width;      /* bytes of an element */
    size_t elements;   /* of each part in a chunk; 0: not one fits */
    size_t edge;       /* the same of the first and last chunks */
    size_t edge_count; /* how many of these there are at each end */
    size_t chunk_count;
    int lane_count; /* that have a chunk: the first ones */
} banyan_staging_cut;

banyan_staging_cut banyan_staging_cut_call(const banyan_staging *staged, const banyan_staging_call *call);
banyan_staging_slot *banyan_staging_slot_of(banyan_staging *staged, const banyan_staging_cut *cut,
                                            size_t chunk);

/* The chunk's elements of each part, the first of them, and where results are in its slot: behind what is
 * sent, or there. */
size_t banyan_staging_elements(const banyan_staging_cut *cut, size_t chunk);
size_t banyan_staging_first(const banyan_staging_cut *cut, size_t chunk);
char *banyan_staging_results(const banyan_staging_cut *cut, const banyan_staging_slot *slot);

/* Copies of the chunk on a stream, or at once where the rank has no device. */
banyan_status banyan_staging_fetch(banyan_staging *staged, const banyan_staging_cut *cut, size_t chunk,
                                   banyan_error *err);
banyan_status banyan_staging_store(banyan_staging *staged, const banyan_staging_cut *cut, size_t chunk,
                                   banyan_error *err);

/* staging_lane.c: the lane's chunks. */
banyan_status banyan_staging_lane_run(banyan_staging_lane *lane, const banyan_staging_call *call,
                                      banyan_error *err);

#endif
