/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm_endpoint.h: one member's end of everything, for the files of the shm transport. */
#ifndef BANYAN_TRANSPORT_SHM_ENDPOINT_H
#define BANYAN_TRANSPORT_SHM_ENDPOINT_H

#include "transport/shared.h"
#include "transport/shm_segment.h"
#include "transport/shm_stream.h"

/* A peer's region that we have mapped. */
typedef struct {
    shm_mapping mapping;
    uint64_t generation;
} shm_area;

/* A region of ours. */
typedef struct {
    uint64_t serial; /* of the memory (transport/shared.h) */
    uint64_t generation;
    int is_confirmed; /* every member with a workspace has it mapped, */
    int is_refused;   /* or one could not */
} shm_own_region;

/* Where the streams of a peer are mapped. */
typedef struct {
    shm_mapping own[SHM_WAYS][SHM_CHUNKS], theirs[SHM_WAYS][SHM_CHUNKS];
} shm_chunks;

/* Every rank has one of each other, so it is small. */
typedef struct {
    shm_segment segment;  /* header NULL: not on this host, or in no process */
    int rank;             /* to name it by; -1: a relay */
    int pidfd;            /* of a peer that plans use; -1: not yet */
    int has_ended;        /* it had when we looked first */
    _Atomic int knock_fd; /* plus 1; 0: not opened yet */
    int reads_process;    /* we can read its memory; */
    int read_problem;     /* otherwise why not: errno, 0 when it was not wanted or does not pay */
    shm_sender *to;
    shm_receiver *from;
    int to_count, from_count;
    shm_chunks *chunks;    /* NULL: no plan uses this peer yet */
    shm_area *regions;     /* BANYAN_SHM_MAX_REGIONS; NULL: none is mapped yet */
    shm_mapping workspace; /* also in the own place */
} shm_peer;

typedef struct {
    banyan_endpoint base;
    uint64_t nonce; /* peers try to read this one */
    shm_segment own;
    shm_peer *peers;  /* by member; the own place has the rank only */
    int first_member; /* of this host; in its header stands who aborted first */
    int is_whole;     /* every process of the group is on this host */
    banyan_shm_way way;
    int reading_pays;              /* 0: not tried yet, 1: it does, -1: a copy is faster */
    int spins;                     /* looks before a sleep, */
    int team_yields;               /* and after them with the core given away: in teams */
    int wait_yields;               /* and in waits for streams */
    banyan_workspaces *workspaces; /* NULL: nobody has asked */
    uint32_t heard;
    int knock[2];   /* the pipe for sleeps in poll; made with the first */
    int is_polling; /* since the last sleep_fd there was no wait */
    int knocks_due; /* that others are about to make, or have made */
    int64_t next_check_ns;
    _Atomic int has_aborted;
    shm_own_region own_regions[BANYAN_SHM_MAX_REGIONS];
    int region_count; /* one past the last in use */
    /* What was last read from a peer's process, and from where: a look that is not used up need not be read
     * again. */
    char *look;
    const shm_receiver *look_stream;
    uint64_t look_position, look_bytes;
} shm_endpoint;

/* 'rank 3' or 'relay node 7', then the process. */
const char *banyan_shm_member_name(const shm_endpoint *endpoint, int member, char *buffer, size_t size);

/* That the processes of those on this host may use, all together. */
int banyan_shm_count_cores(const shm_name *names, int count, const shm_name *mine);

/* From now on we notice its end. Descriptors are for those who wait for each other: the peers of a plan. */
banyan_status banyan_shm_watch(shm_endpoint *endpoint, int member, banyan_error *err);

/* Whether its process, which we watch, has ended without closing its endpoint. */
int banyan_shm_is_lost(const shm_peer *peer);

/* Tells the peer that something has changed. */
void banyan_shm_wake(shm_endpoint *endpoint, int peer);

void banyan_shm_abort(banyan_endpoint *base, banyan_status status, const char *sentence);
banyan_status banyan_shm_failure(banyan_endpoint *base, banyan_error *err);
banyan_status banyan_shm_wait(banyan_endpoint *base, int64_t deadline_ns, banyan_error *err);
int banyan_shm_sleep_fd(banyan_endpoint *base);

banyan_status banyan_shm_connect(banyan_endpoint *base, int peer, int to_peer, int from_peer,
                                 int64_t deadline_ns, banyan_error *err);

/* Map the peer's half where it is there by now; 0: not yet. */
int banyan_shm_attach_sender(shm_endpoint *endpoint, int peer, int stream);
int banyan_shm_attach_receiver(shm_endpoint *endpoint, int peer, int stream);

banyan_status banyan_shm_workspaces(banyan_endpoint *base, const int *members, int count,
                                    banyan_workspaces **out, banyan_error *err);

/* Those who write into our memory from their workspaces have stopped, or write elsewhere. */
void banyan_shm_workspaces_withdraw(shm_endpoint *endpoint);

/* Where the peer finds this memory. */
shm_place banyan_shm_place(shm_endpoint *endpoint, const void *memory, size_t bytes);

/* A peer's memory as we see it; NULL when it cannot be mapped. */
char *banyan_shm_region_at(shm_peer *peer, uint32_t region, uint64_t generation, uint64_t offset,
                           uint64_t bytes);
void banyan_shm_peer_regions_fini(shm_peer *peer);

int banyan_shm_locate(banyan_endpoint *base, const void *memory, size_t bytes, banyan_place *out);
void banyan_shm_confirm(banyan_endpoint *base, const banyan_place *place, int is_mapped);
char *banyan_shm_map(banyan_endpoint *base, int member, const banyan_place *place, size_t bytes);

#endif
