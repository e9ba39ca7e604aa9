/* SPDX-License-Identifier: Apache-2.0 */
/* device/direct_internal.h: what the direct*.c files share: the memory in which streams and processors of all
 * ranks hand over, and one rank's view of it. */
#ifndef BANYAN_DEVICE_DIRECT_INTERNAL_H
#define BANYAN_DEVICE_DIRECT_INTERNAL_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "device/direct.h"
#include "device/order.h"

enum {
    BANYAN_DIRECT_LIVE = 32,   /* calls that a rank may be ahead of its streams */
    BANYAN_DIRECT_GRAPH = 224, /* calls that graphs may hold, of one communicator */
    BANYAN_DIRECT_SLOTS = BANYAN_DIRECT_LIVE + BANYAN_DIRECT_GRAPH,
    BANYAN_DIRECT_KNOWN = 256 /* allocations of all ranks that a leader has mapped */
};

/* One rank's part in one call. Words by leader are indexed by the leader's number, not its rank. */
typedef struct {
    /* 1: the rank's stream has arrived; taken back by that leader's host. */
    alignas(64) _Atomic uint32_t arrived[BANYAN_DEVICE_MAX_RANKS];
    /* 1: that leader's stream has written the results; taken back by the rank's stream. */
    alignas(64) _Atomic uint32_t done[BANYAN_DEVICE_MAX_RANKS];
    /* At a leader. 1: by its host, all have arrived; taken back by its stream. */
    alignas(64) _Atomic uint32_t go;
    _Atomic uint32_t served; /* how often that has happened */
    /* The rank's stream is behind the call of this generation; graphs do not write it. */
    _Atomic uint32_t passed;
    /* In a rank's first slot: 1 + the number of its last call that was on the host's memory. */
    _Atomic uint64_t host_call;
    /* What follows is written, for the slot's n-th call: n. */
    alignas(64) _Atomic uint32_t generation;
    uint32_t type, op;
    uint64_t number, digest, count;
    uint64_t send_offset, recv_offset; /* within the allocations */
    banyan_device_share send, recv;
    alignas(64) banyan_device_reduction reduction; /* at a leader: for its kernel */
} banyan_direct_slot;

/* What only the rank itself knows of a slot. */
typedef struct {
    const banyan_device_order *order;
    const banyan_schedule *schedule;
    _Atomic uint32_t generation; /* of the call that has been put on a stream; 0: none yet */
    uint32_t prepared;           /* of the call that the reduction is written for */
    uint32_t finished;           /* live calls, at a leader: of the last that was let go */
    int64_t waiting_since_ns;    /* the stream has been seen waiting from then on; 0: it has not, */
    uint32_t waiting_served;     /* when the leader had served that many */
} banyan_direct_local;

typedef struct {
    int rank; /* whose */
    uint64_t base, allocation;
    char *mapped;
} banyan_direct_mapping;

typedef struct banyan_direct_plan banyan_direct_plan;
struct banyan_direct_plan {
    banyan_direct_plan *next;
    const banyan_schedule *schedule;
    int can_run;
    banyan_device_order order;
};

/* Memory of our own for vectors that cannot be shared: copied there and back on the call's stream. */
typedef struct banyan_direct_window banyan_direct_window;
struct banyan_direct_window {
    banyan_direct_window *next;
    char *memory; /* room for an input and a result; a block where allocations have no handles */
    size_t bytes; /* of one of them */
    int is_kept;  /* a graph's own */
    banyan_device_event *free_again;
    int is_used;
};

struct banyan_direct {
    banyan_direct_options options;
    banyan_device *device;
    const banyan_device_table *table;
    int leader_count, leaders[BANYAN_DEVICE_MAX_RANKS]; /* ranks */
    int number;                                         /* among the leaders, or -1 */
    int fd;
    banyan_direct_slot *slots[BANYAN_DEVICE_MAX_RANKS]; /* by rank, BANYAN_DIRECT_SLOTS each */
    uint64_t addresses[BANYAN_DEVICE_MAX_RANKS];        /* by rank: the same as the device calls it */
    int is_registered[BANYAN_DEVICE_MAX_RANKS];
    int maps_handles, maps_blocks; /* leaders map memory that is shared so; the same on all ranks */
    banyan_direct_local local[BANYAN_DIRECT_SLOTS];
    banyan_direct_plan *plans;
    banyan_direct_window *windows;
    void *
        scratch; /* on the device, a reduction for each slot; others have it mapped to see whether they can */
    _Atomic uint32_t live_count, graph_count; /* calls made */
    _Atomic int is_dead, is_stopping;
    pthread_t thread;
    int has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* the thread's own: */
    uint32_t oldest; /* live call that may not have been let go */
    banyan_direct_mapping mappings[BANYAN_DIRECT_KNOWN];
    int mapping_count;
    banyan_device_regions *regions; /* blocks of all ranks that a leader has mapped */
};

/* direct_meet.c: finds the others' memory. *is_ready is the same on all ranks. */
banyan_status banyan_direct_meet(banyan_direct *direct, int *is_ready, banyan_error *err);
void banyan_direct_part(banyan_direct *direct);

/* direct_serve.c: the thread. */
void *banyan_direct_serve(void *direct);

static inline banyan_direct_slot *banyan_direct_slot_of(const banyan_direct *direct, int rank, int slot)
{
    return &direct->slots[rank][slot];
}

/* What the device calls a word of a slot. */
static inline uint64_t banyan_direct_address(const banyan_direct *direct, int rank, const void *word)
{
    return direct->addresses[rank] + (uint64_t)((const char *)word - (const char *)direct->slots[rank]);
}

#endif
