/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm_segment.c: segments are memfds: they have no name in any file system, so nothing is left when
 * a process dies, and nobody can be there first. A peer opens one through /proc/PID/fd, which the kernel
 * allows to those who may inspect the process (the same user), and makes sure by device, inode and a random
 * number that it is the one that was named. The seal against shrinking keeps a reader from touching what is
 * gone. */
#include "transport/shm_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/digest.h"

#define MAGIC UINT64_C(0x34006d68736e7962) /* changes with the layout */

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + SHM_PAGE - 1) / SHM_PAGE * SHM_PAGE;
}

static size_t header_bytes(int member_count)
{
    return (size_t)whole_pages(sizeof(shm_header) + SHM_WAYS * (size_t)member_count * sizeof(shm_lane));
}

static size_t workspace_bytes(void)
{
    return (size_t)whole_pages(sizeof(banyan_workspace));
}

static size_t chunk_bytes(const shm_header *header, int way, uint32_t count)
{
    if (way == SHM_INCOMING)
        return (size_t)whole_pages(count * sizeof(shm_incoming));
    return (size_t)(whole_pages(count * sizeof(shm_outgoing)) + whole_pages(count * header->slot_bytes));
}

static void add_file(banyan_digest *digest, const char *path)
{
    struct stat facts;

    if (!stat(path, &facts)) {
        banyan_digest_add_integer(digest, (int64_t)facts.st_dev);
        banyan_digest_add_integer(digest, (int64_t)facts.st_ino);
    }
}

/* The same running kernel, the same process numbers, and the same place in the network: ranks that a test
 * network keeps apart shall not meet behind its back. */
uint64_t banyan_shm_host(void)
{
    banyan_digest digest;
    char text[256] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    banyan_digest_init(&digest);
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0)
            text[0] = 0;
        close(fd);
    }
    banyan_digest_add_string(&digest, text);
    if (!gethostname(text, sizeof text - 1))
        banyan_digest_add_string(&digest, text);
    add_file(&digest, "/proc/self/ns/pid");
    add_file(&digest, "/proc/self/ns/net");
    return digest.value;
}

int banyan_shm_memory_file(const char *name, uint64_t bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int problem;

    if (fd < 0)
        return -1;
    if (!fchmod(fd, 0600) && !ftruncate(fd, (off_t)bytes) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
        return fd;
    problem = errno;
    close(fd);
    errno = problem;
    return -1;
}

static char *map(int fd, uint64_t offset, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

    return memory == MAP_FAILED ? NULL : memory;
}

static banyan_status fail_system(banyan_error *err, const char *what)
{
    return banyan_fail(err, BANYAN_SYSTEM_ERROR, "shared memory: %s: %s", what, strerror(errno));
}

static banyan_status fill_name(const shm_segment *segment, shm_name *name, banyan_error *err)
{
    struct stat facts;

    if (fstat(segment->fd, &facts))
        return fail_system(err, "fstat");
    *name = (shm_name){.magic = MAGIC,
                       .host = banyan_shm_host(),
                       .nonce = segment->header->nonce,
                       .device = (uint64_t)facts.st_dev,
                       .inode = (uint64_t)facts.st_ino,
                       .pid = (int32_t)getpid(),
                       .fd = segment->fd};
    return BANYAN_SUCCESS;
}

banyan_status banyan_shm_segment_create(int member, int member_count, size_t slot_bytes, shm_segment *out,
                                        shm_name *name, banyan_error *err)
{
    shm_segment segment = {.header_bytes = header_bytes(member_count), .pid = getpid()};
    banyan_status status;

    segment.end = segment.header_bytes + workspace_bytes(); /* untouched pages cost nothing */
    segment.fd = banyan_shm_memory_file("banyan", segment.end);
    if (segment.fd < 0)
        return fail_system(err, "memfd_create");
    segment.header = (shm_header *)(void *)map(segment.fd, 0, segment.header_bytes);
    if (!segment.header) {
        status = fail_system(err, "mmap");
        close(segment.fd);
        return status;
    }
    segment.header->magic = MAGIC;
    segment.header->member = member;
    segment.header->member_count = member_count;
    segment.header->slot_bytes = slot_bytes;
    segment.header->knock_fd = -1;
    if (getrandom(&segment.header->nonce, sizeof segment.header->nonce, 0) != sizeof segment.header->nonce)
        status = fail_system(err, "getrandom");
    else
        status = fill_name(&segment, name, err);
    if (status)
        banyan_shm_segment_fini(&segment);
    else
        *out = segment;
    return status;
}

int banyan_shm_open_descriptor(pid_t pid, int fd, int flags)
{
    char path[48];

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    return open(path, flags | O_CLOEXEC);
}

/* Whether the file is the one that the name speaks of, and as large as it must be. */
static int is_named(int fd, const shm_name *name, size_t bytes)
{
    struct stat facts;
    int seals = fcntl(fd, F_GET_SEALS);

    return !fstat(fd, &facts) && (uint64_t)facts.st_dev == name->device &&
           (uint64_t)facts.st_ino == name->inode && (uint64_t)facts.st_size >= bytes && seals >= 0 &&
           (seals & F_SEAL_SHRINK);
}

banyan_status banyan_shm_segment_attach(const shm_name *name, int member, int member_count, shm_segment *out,
                                        banyan_error *err)
{
    shm_segment segment = {.header_bytes = header_bytes(member_count),
                           .fd = -1,
                           .peer_fd = name->fd,
                           .pid = name->pid,
                           .device = name->device,
                           .inode = name->inode};
    int fd = banyan_shm_open_descriptor(name->pid, name->fd, O_RDWR);

    if (fd < 0)
        return fail_system(err, "open");
    if (is_named(fd, name, segment.header_bytes + workspace_bytes()))
        segment.header = (shm_header *)(void *)map(fd, 0, segment.header_bytes);
    close(fd);
    if (!segment.header)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "shared memory: descriptor %d of process %d is another",
                           (int)name->fd, (int)name->pid);
    if (segment.header->magic != MAGIC || segment.header->nonce != name->nonce ||
        segment.header->member != member || segment.header->member_count != member_count ||
        segment.header->slot_bytes > PTRDIFF_MAX / BANYAN_TRANSPORT_MAX_STREAMS / 2) {
        banyan_shm_segment_fini(&segment);
        return banyan_fail(err, BANYAN_MISMATCH,
                           "shared memory: the segment of process %d is of another group", (int)name->pid);
    }
    *out = segment;
    return BANYAN_SUCCESS;
}

void banyan_shm_segment_fini(shm_segment *segment)
{
    if (!segment->header)
        return;
    munmap(segment->header, segment->header_bytes);
    if (segment->fd >= 0)
        close(segment->fd);
    segment->header = NULL;
}

int banyan_shm_segment_is_held(const shm_segment *segment)
{
    struct stat facts;
    char path[48];

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)segment->pid, segment->peer_fd);
    return !stat(path, &facts) && (uint64_t)facts.st_dev == segment->device &&
           (uint64_t)facts.st_ino == segment->inode;
}

shm_lane *banyan_shm_lane(const shm_segment *segment, int way, int peer)
{
    return &segment->header->lanes[way * segment->header->member_count + peer];
}

banyan_status banyan_shm_chunk_add(shm_segment *own, int way, int peer, uint32_t count, shm_mapping *out,
                                   banyan_error *err)
{
    shm_lane *lane = banyan_shm_lane(own, way, peer);
    uint32_t chunks = atomic_load_explicit(&lane->chunk_count, memory_order_relaxed);
    size_t bytes = chunk_bytes(own->header, way, count);
    shm_chunk *last = chunks ? &lane->chunks[chunks - 1] : NULL;

    if (chunks == SHM_CHUNKS)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "shared memory: too many streams to one peer");
    if (ftruncate(own->fd, (off_t)(own->end + bytes)))
        return fail_system(err, "ftruncate");
    out->memory = map(own->fd, own->end, bytes);
    if (!out->memory)
        return fail_system(err, "mmap");
    out->bytes = bytes;
    lane->chunks[chunks] = (shm_chunk){own->end, last ? last->first + last->count : 0, count};
    own->end += bytes;
    return BANYAN_SUCCESS;
}

void banyan_shm_chunk_publish(shm_segment *own, int way, int peer)
{
    shm_lane *lane = banyan_shm_lane(own, way, peer);
    uint32_t chunks = atomic_load_explicit(&lane->chunk_count, memory_order_relaxed);

    atomic_store_explicit(&lane->chunk_count, chunks + 1, memory_order_release);
}

int banyan_shm_chunk_map(const shm_segment *segment, int way, int peer, uint32_t chunk, shm_mapping *out)
{
    const shm_chunk *facts = &banyan_shm_lane(segment, way, peer)->chunks[chunk];
    int fd;

    if (facts->count > BANYAN_TRANSPORT_MAX_STREAMS)
        return 0;
    out->bytes = chunk_bytes(segment->header, way, facts->count);
    fd = banyan_shm_open_descriptor(segment->pid, segment->peer_fd, O_RDWR);
    if (fd < 0)
        return 0;
    out->memory = map(fd, facts->offset, out->bytes);
    close(fd);
    return out->memory != NULL;
}

banyan_status banyan_shm_workspace_map(const shm_segment *segment, shm_mapping *out, banyan_error *err)
{
    int is_own = segment->fd >= 0;
    int fd = is_own ? segment->fd : banyan_shm_open_descriptor(segment->pid, segment->peer_fd, O_RDWR);

    banyan_status status = BANYAN_SUCCESS;

    if (fd < 0)
        return fail_system(err, "open");
    out->bytes = workspace_bytes();
    out->memory = map(fd, segment->header_bytes, out->bytes);
    if (!out->memory)
        status = fail_system(err, "mmap");
    if (!is_own)
        close(fd);
    return status;
}

void banyan_shm_unmap(shm_mapping *mapping)
{
    if (mapping->memory)
        munmap(mapping->memory, mapping->bytes);
    mapping->memory = NULL;
}
