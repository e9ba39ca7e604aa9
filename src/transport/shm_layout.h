/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm_layout.h: what lies in memory that processes share.
 *
 * Every member has one segment. It begins with a header, and chunks follow as streams are asked for:
 *
 *     header | lanes: by way and peer, which chunks hold its streams | workspace | chunk | chunk | ...
 *     chunk of outgoing halves:  half half half half | slots slots slots slots
 *     chunk of incoming halves:  half half half half
 *
 * Each end of a stream writes its own half only, in its own segment, and reads the other's. Nothing here is a
 * pointer into shared memory: offsets are from the segment's beginning. */
#ifndef BANYAN_TRANSPORT_SHM_LAYOUT_H
#define BANYAN_TRANSPORT_SHM_LAYOUT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/status.h"
#include "transport/eventcount.h"
#include "transport/shm.h"
#include "transport/workspaces.h"

#define SHM_ENTRIES 16u   /* on offer at a time in one stream; a power of two */
#define SHM_CHUNKS 12     /* each doubles the streams, from 4 to 4096 and beyond */
#define SHM_FIRST_CHUNK 4 /* streams */
#define SHM_CACHE_LINE 64
#define SHM_PAGE 4096u
#define SHM_LOOK_BYTES ((size_t)128 << 10) /* one read of a peer's process: it stays in the cache */

enum { SHM_OUTGOING, SHM_INCOMING, SHM_WAYS };

/* Where the bytes of one offer lie. */
enum {
    SHM_IN_SLOTS,   /* where: offset in the stream's slots */
    SHM_IN_PROCESS, /* where: address in the sender's process */
    SHM_IN_REGION   /* where: offset in one of the sender's regions */
};

typedef struct {
    uint64_t where, bytes;
    uint32_t kind;
    uint32_t region;     /* index */
    uint64_t generation; /* of the region */
} shm_entry;

/* Written by the sender. */
typedef struct {
    alignas(SHM_CACHE_LINE) _Atomic uint32_t filled; /* entries ever */
    _Atomic uint32_t is_withdrawn;
    _Atomic uint64_t wanted; /* bytes ever: the sender waits until that many are consumed; 0: for nothing */
    shm_entry entries[SHM_ENTRIES];
} shm_outgoing;

/* Written by the receiver. */
typedef struct {
    alignas(SHM_CACHE_LINE) _Atomic uint32_t emptied; /* entries ever */
    _Atomic uint32_t is_attached; /* it has mapped the sender's half: offers will be seen */
    _Atomic uint32_t is_looking;  /* it reads a region at this moment */
    uint32_t reads_process;       /* it can read the sender's process */
    _Atomic uint64_t consumed;    /* bytes ever */
} shm_incoming;

typedef struct {
    uint64_t offset;
    uint32_t first, count; /* streams */
} shm_chunk;

typedef struct {
    _Atomic uint32_t chunk_count; /* a release store publishes the chunk */
    shm_chunk chunks[SHM_CHUNKS];
} shm_lane;

typedef struct {
    _Atomic uint64_t generation; /* 0: never used */
    int32_t fd;
    uint64_t bytes, device, inode;
} shm_region;

typedef struct {
    uint64_t magic, nonce;
    int32_t member, member_count;
    uint64_t slot_bytes;
    uint64_t probe_address; /* of the nonce in its own memory: who can read it there can read anything */
    uint64_t look_address;  /* of SHM_LOOK_BYTES there that may be read to see how fast it goes */
    int32_t knock_fd;       /* the writing end of a pipe, for a member that sleeps in poll */
    _Atomic uint32_t is_closed;
    alignas(SHM_CACHE_LINE) banyan_eventcount event;
    _Atomic uint32_t polls; /* it sleeps in poll, or is about to */
    alignas(SHM_CACHE_LINE) _Atomic uint32_t
        first_failure;      /* in the first member's: who aborted first, plus 1 */
    int32_t failure_status; /* this member's own abort */
    char failure_text[sizeof((banyan_error *)0)->text];
    shm_region regions[BANYAN_SHM_MAX_REGIONS];
    shm_lane lanes[]; /* by way, then peer */
} shm_header;

#endif
