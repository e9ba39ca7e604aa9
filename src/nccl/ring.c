/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/ring.c: a ring of bytes in a memfd, which the reader opens by the writer's process and descriptor.
 *
 * Each end counts its own bytes and publishes the count; what the other end publishes is only compared with
 * it, and limited to what a ring can hold. The file cannot shrink (a seal), so neither end can make the other
 * one read beyond it.
 *
 * Cost: each byte is copied in and out. */
#include "nccl/ring.h"

#include <fcntl.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "transport/bytes.h"
#include "transport/shm_segment.h"

#define RING_BYTES ((size_t)1 << 20) /* two of the steps of 512 KiB that NCCL cuts its buffers into */

typedef struct {
    alignas(64) _Atomic uint64_t written;
    alignas(64) _Atomic uint64_t read;
    alignas(64) char data[RING_BYTES];
} region;

struct banyan_nccl_ring {
    region *shared;
    uint64_t moved; /* by this end */
    int fd;         /* the writer's, for the reader to open */
};

static banyan_nccl_ring *map_ring(int fd)
{
    void *memory = mmap(NULL, sizeof(region), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    banyan_nccl_ring *ring = memory == MAP_FAILED ? NULL : banyan_alloc(1, sizeof *ring);

    if (ring)
        *ring = (banyan_nccl_ring){.shared = memory, .fd = -1};
    else if (memory != MAP_FAILED)
        munmap(memory, sizeof(region));
    return ring;
}

/* Host 0, process 8, descriptor 16, device 24, inode 32. */
banyan_nccl_ring *banyan_nccl_ring_create(unsigned char offer[BANYAN_NCCL_OFFER_BYTES])
{
    int fd = banyan_shm_memory_file("banyan nccl ring", sizeof(region));
    banyan_nccl_ring *ring = fd < 0 ? NULL : map_ring(fd);
    struct stat facts;

    memset(offer, 0, BANYAN_NCCL_OFFER_BYTES);
    if (!ring || fstat(fd, &facts)) {
        banyan_nccl_ring_destroy(ring);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    ring->fd = fd;
    banyan_put64(offer, banyan_shm_host());
    banyan_put64(offer + 8, (uint64_t)getpid());
    banyan_put64(offer + 16, (uint64_t)fd);
    banyan_put64(offer + 24, (uint64_t)facts.st_dev);
    banyan_put64(offer + 32, (uint64_t)facts.st_ino);
    return ring;
}

/* Whether the descriptor is what was offered: a number may be another process's by now. */
static int is_offered(int fd, const unsigned char *offer)
{
    struct stat facts;

    return !fstat(fd, &facts) && (uint64_t)facts.st_dev == banyan_get64(offer + 24) &&
           (uint64_t)facts.st_ino == banyan_get64(offer + 32) && facts.st_size >= (off_t)sizeof(region) &&
           fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK;
}

banyan_nccl_ring *banyan_nccl_ring_join(const unsigned char offer[BANYAN_NCCL_OFFER_BYTES])
{
    banyan_nccl_ring *ring = NULL;
    char path[64];
    int fd;

    if (!banyan_get64(offer + 8) || banyan_get64(offer) != banyan_shm_host())
        return NULL;
    snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)banyan_get64(offer + 8),
             (unsigned long long)banyan_get64(offer + 16));
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (is_offered(fd, offer))
        ring = map_ring(fd);
    close(fd);
    return ring;
}

void banyan_nccl_ring_destroy(banyan_nccl_ring *ring)
{
    if (!ring)
        return;
    munmap(ring->shared, sizeof *ring->shared);
    if (ring->fd >= 0)
        close(ring->fd);
    banyan_free(ring);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t banyan_nccl_ring_write(banyan_nccl_ring *ring, const void *from, size_t bytes)
{
    uint64_t waiting = ring->moved - atomic_load_explicit(&ring->shared->read, memory_order_acquire);
    size_t at = (size_t)(ring->moved % RING_BYTES), room, first;

    room = waiting < RING_BYTES ? RING_BYTES - (size_t)waiting : 0;
    bytes = least(bytes, room);
    first = least(bytes, RING_BYTES - at);
    memcpy(ring->shared->data + at, from, first);
    memcpy(ring->shared->data, (const char *)from + first, bytes - first);
    ring->moved += bytes;
    atomic_store_explicit(&ring->shared->written, ring->moved, memory_order_release);
    return bytes;
}

size_t banyan_nccl_ring_read(banyan_nccl_ring *ring, void *into, size_t bytes)
{
    uint64_t come = atomic_load_explicit(&ring->shared->written, memory_order_acquire) - ring->moved;
    size_t at = (size_t)(ring->moved % RING_BYTES), first;

    bytes = least(bytes, come < RING_BYTES ? (size_t)come : RING_BYTES);
    first = least(bytes, RING_BYTES - at);
    memcpy(into, ring->shared->data + at, first);
    memcpy((char *)into + first, ring->shared->data, bytes - first);
    ring->moved += bytes;
    atomic_store_explicit(&ring->shared->read, ring->moved, memory_order_release);
    return bytes;
}
