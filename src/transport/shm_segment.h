/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm_segment.h: a member's segment: making one, finding another's, mapping its chunks. */
#ifndef BANYAN_TRANSPORT_SHM_SEGMENT_H
#define BANYAN_TRANSPORT_SHM_SEGMENT_H

#include <stddef.h>
#include <sys/types.h>

#include "transport/shm_layout.h"

/* What members exchange: where a segment is found, and on which host. Zeros: in no process. */
typedef struct {
    uint64_t magic;
    uint64_t host; /* digest of what must be equal for two processes to meet */
    uint64_t nonce;
    uint64_t device, inode;
    int32_t pid, fd;
    int32_t is_broken; /* it could not make its segment: nobody's opening succeeds */
    int32_t reserved;
} shm_name;

/* A segment as one process sees it: its own or a peer's. */
typedef struct {
    shm_header *header; /* NULL: not there */
    size_t header_bytes;
    uint64_t end; /* own: the segment's size */
    int fd;       /* own: the segment; -1 for a peer's */
    int peer_fd;  /* a peer's: its number there; opened for the moment of mapping */
    pid_t pid;
    uint64_t device, inode; /* a peer's */
} shm_segment;

/* One mapped chunk. */
typedef struct {
    char *memory; /* NULL: not mapped */
    size_t bytes;
} shm_mapping;

uint64_t banyan_shm_host(void);

banyan_status banyan_shm_segment_create(int member, int member_count, size_t slot_bytes, shm_segment *out,
                                        shm_name *name, banyan_error *err);
banyan_status banyan_shm_segment_attach(const shm_name *name, int member, int member_count, shm_segment *out,
                                        banyan_error *err);
void banyan_shm_segment_fini(shm_segment *segment);

/* Whether the peer's process still holds the segment: one that has ended does not, nor another that has got
 * its number. */
int banyan_shm_segment_is_held(const shm_segment *segment);

shm_lane *banyan_shm_lane(const shm_segment *segment, int way, int peer);

/* Adds a chunk of that many halves to the own segment, zeroed but not yet published: see publish. */
banyan_status banyan_shm_chunk_add(shm_segment *own, int way, int peer, uint32_t count, shm_mapping *out,
                                   banyan_error *err);
void banyan_shm_chunk_publish(shm_segment *own, int way, int peer);

/* Maps a published chunk of a peer. Returns 0 when that cannot be done. */
int banyan_shm_chunk_map(const shm_segment *segment, int way, int peer, uint32_t chunk, shm_mapping *out);
void banyan_shm_unmap(shm_mapping *mapping);

/* Maps the workspace of its member (transport/workspaces.h), which every segment has. */
banyan_status banyan_shm_workspace_map(const shm_segment *segment, shm_mapping *out, banyan_error *err);

/* A memfd that only its owner and whoever may look into the owner's /proc can open; -1 and errno. */
int banyan_shm_memory_file(const char *name, uint64_t bytes);

/* Opens a peer's descriptor anew: -1 and errno. */
int banyan_shm_open_descriptor(pid_t pid, int fd, int flags);

#endif
