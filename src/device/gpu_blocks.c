/* SPDX-License-Identifier: Apache-2.0 */
/* device/gpu_blocks.c: memory of CUDA's virtual memory calls (cuMemCreate, cuMemMap), which is what PyTorch's
 * expandable segments are made of. It has no handle for cuIpcOpenMemHandle; each physical block has a file
 * descriptor, which other processes fetch with pidfd_getfd(2).
 *
 *     owner's addresses    ..[ block 7 ][ block 9 ][ block 4 ]..     a vector may lie in several
 *                                | fd 31    | fd 32    | fd 33       exported once, while it is mapped there
 *     here, in a region    ..[ block 7 ][ block 9 ][ block 4 ]..     at the same distances
 *
 * A region is reserved for each stretch of an owner's addresses, and blocks are mapped into it when they are
 * first needed, each once, whatever vectors lie in them. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/alloc.h"
#include "device/gpu_internal.h"

/* Numbers of CUDA's attributes of addresses. */
enum { HANDLE_TYPES = 14, MAPPING_BYTES = 18, MAPPING_BEGIN = 19, BLOCK_NUMBER = 20 };

enum {
    REGION_BITS = 38,    /* 256 GiB, more than a device has; only addresses are reserved */
    MAX_EXPORTED = 1024, /* each holds a file descriptor open */
    PIDFD_OPEN = 434,
    PIDFD_GETFD = 438
};

#define REGION_BYTES ((uint64_t)1 << REGION_BITS)
#define GRANULE ((size_t)2 << 20) /* a multiple of what CUDA maps memory by */

typedef struct {
    uint64_t process, number; /* the stretch's, among the owner's addresses */
    uint64_t address;
} region;

typedef struct {
    uint64_t process, base, bytes, number;
    uint64_t address;
} mapped;

struct banyan_device_regions {
    region *regions;
    size_t region_count, region_capacity;
    mapped *blocks;
    size_t block_count, block_capacity;
};

static int can_share(const gpu *g)
{
    const banyan_driver *d = g->driver;

    return d->pointer_attributes && d->block_retain && d->block_export && d->block_release;
}

static int can_map(const gpu *g)
{
    const banyan_driver *d = g->driver;

    return d->block_import && d->block_map && d->block_unmap && d->block_access && d->block_release &&
           d->reserve && d->unreserve;
}

static banyan_status refuse(banyan_error *err)
{
    return banyan_fail(err, BANYAN_UNSUPPORTED, "that memory was allocated in a way that cannot be shared");
}

/* ---- The owner. */

/* The block at an address. 0: there is none that can be shared. */
static int ask(const gpu *g, uint64_t address, uint64_t *begin, uint64_t *bytes, uint64_t *number)
{
    int attributes[] = {HANDLE_TYPES, MAPPING_BEGIN, MAPPING_BYTES, BLOCK_NUMBER};
    uint64_t types = 0;
    size_t length = 0;
    void *values[] = {&types, begin, &length, number};

    *begin = *number = 0;
    if (g->driver->pointer_attributes(4, attributes, values, address))
        return 0;
    *bytes = length;
    return (types & BANYAN_DRIVER_FILE_DESCRIPTOR) && *begin && *bytes && *number;
}

/* Blocks that are no longer where they were have been given back by the program: nobody is told of them any
 * more, and their memory is free only when the descriptor is. */
static void forget_unmapped(gpu *g)
{
    size_t kept = 0;

    for (size_t i = 0; i < g->exported_count; i++) {
        const banyan_gpu_exported *e = &g->exported[i];
        uint64_t begin, bytes, number;

        if (ask(g, e->base, &begin, &bytes, &number) && number == e->number)
            g->exported[kept++] = *e;
        else
            close(e->fd);
    }
    g->exported_count = kept;
}

/* The block's descriptor, or -1. */
static int export_block(gpu *g, uint64_t base, uint64_t number)
{
    void *grown = g->exported;
    uint64_t block = 0;
    int fd = -1;

    for (size_t i = 0; i < g->exported_count; i++)
        if (g->exported[i].number == number && g->exported[i].base == base)
            return g->exported[i].fd;
    forget_unmapped(g);
    if (g->exported_count == MAX_EXPORTED ||
        !banyan_grow(&grown, g->exported_count, &g->exported_capacity, sizeof *g->exported))
        return -1;
    g->exported = grown;
    if (g->driver->block_retain(&block, (void *)(uintptr_t)base))
        return -1;
    if (g->driver->block_export(&fd, block, BANYAN_DRIVER_FILE_DESCRIPTOR, 0))
        fd = -1;
    g->driver->block_release(block);
    if (fd >= 0)
        g->exported[g->exported_count++] = (banyan_gpu_exported){base, number, fd};
    return fd;
}

/* With the lock held, in the context. 0: it cannot be shared. */
static int find_blocks(gpu *g, uint64_t from, uint64_t end, banyan_device_share *out)
{
    uint64_t at = from;

    while (at < end) {
        banyan_device_block *block = &out->blocks[out->block_count];
        uint64_t begin;

        if (out->block_count == BANYAN_DEVICE_MAX_BLOCKS ||
            !ask(g, at, &begin, &block->bytes, &block->number) || (out->block_count && begin != at))
            return 0;
        block->fd = export_block(g, begin, block->number);
        if (block->fd < 0)
            return 0;
        if (!out->block_count)
            out->base = begin;
        out->block_count++;
        out->bytes += block->bytes;
        at = begin + block->bytes;
    }
    return out->base >> REGION_BITS == (at - 1) >> REGION_BITS;
}

banyan_status banyan_gpu_share_blocks(gpu *g, const void *memory, size_t bytes, banyan_device_share *out,
                                      banyan_error *err)
{
    uint64_t from = (uint64_t)(uintptr_t)memory;
    banyan_status status = can_share(g) ? banyan_gpu_enter(g, err) : refuse(err);
    int is_found, mode;

    if (status)
        return status;
    *out = (banyan_device_share){.process = (uint64_t)getpid()};
    pthread_mutex_lock(&g->lock);
    mode = banyan_gpu_relax(g);
    is_found = find_blocks(g, from, from + (bytes ? bytes : 1), out);
    banyan_gpu_restore(g, mode);
    pthread_mutex_unlock(&g->lock);
    banyan_gpu_leave(g);
    return is_found ? BANYAN_SUCCESS : refuse(err);
}

/* ---- Blocks of our own. */

static int give_access(const gpu *g, uint64_t address, size_t bytes)
{
    banyan_driver_access access = {{BANYAN_DRIVER_ON_DEVICE, g->device}, BANYAN_DRIVER_READ_WRITE};

    return g->driver->block_access(address, bytes, &access, 1);
}

/* Also gives up the block: what is mapped stays until it is unmapped. */
static int map_at(const gpu *g, uint64_t address, size_t bytes, uint64_t block)
{
    int error = g->driver->block_map(address, bytes, 0, block, 0);

    g->driver->block_release(block);
    if (!error) {
        error = give_access(g, address, bytes);
        if (error)
            g->driver->block_unmap(address, bytes);
    }
    return error;
}

static int alloc_block(const gpu *g, size_t bytes, uint64_t *address)
{
    banyan_driver_block properties = {.type = BANYAN_DRIVER_PINNED,
                                      .handle_types = BANYAN_DRIVER_FILE_DESCRIPTOR,
                                      .place = {BANYAN_DRIVER_ON_DEVICE, g->device}};
    uint64_t block;
    int error = g->driver->reserve(address, bytes, 0, 0, 0);

    if (error)
        return error;
    error = g->driver->block_create(&block, bytes, &properties, 0);
    if (!error)
        error = map_at(g, *address, bytes, block);
    if (error)
        g->driver->unreserve(*address, bytes);
    return error;
}

banyan_status banyan_gpu_alloc_block(banyan_device *device, size_t bytes, void **out, banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);
    uint64_t address = 0;
    banyan_status status;
    int error, mode;

    *out = NULL;
    if (!can_map(g) || !g->driver->block_create)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "the driver has no virtual memory");
    status = banyan_gpu_enter(g, err);
    if (status)
        return status;
    mode = banyan_gpu_relax(g);
    error = alloc_block(g, (bytes / GRANULE + 1) * GRANULE, &address);
    banyan_gpu_restore(g, mode);
    banyan_gpu_leave(g);
    if (error)
        return banyan_gpu_fail(g, error, "allocating a block of memory", err);
    *out = (void *)(uintptr_t)address;
    return BANYAN_SUCCESS;
}

void banyan_gpu_free_block(banyan_device *device, void *memory)
{
    gpu *g = banyan_gpu_of(device);
    uint64_t begin, bytes, number;

    if (!memory || banyan_gpu_enter(g, NULL))
        return;
    if (ask(g, (uint64_t)(uintptr_t)memory, &begin, &bytes, &number)) {
        g->driver->block_unmap(begin, (size_t)bytes);
        g->driver->unreserve(begin, (size_t)bytes);
    }
    banyan_gpu_leave(g);
}

/* ---- The others. */

/* Who else has the descriptor may fetch it under the same conditions as he may read that process' memory. */
static int fetch_descriptor(uint64_t process, int theirs)
{
    int pidfd = (int)syscall(PIDFD_OPEN, (pid_t)process, 0), fd;

    if (pidfd < 0)
        return -1;
    fd = (int)syscall(PIDFD_GETFD, pidfd, theirs, 0);
    close(pidfd);
    return fd;
}

static region *find_region(gpu *g, banyan_device_regions *all, const banyan_device_share *share)
{
    uint64_t number = share->base >> REGION_BITS, address;
    void *grown = all->regions;

    for (size_t i = 0; i < all->region_count; i++)
        if (all->regions[i].process == share->process && all->regions[i].number == number)
            return &all->regions[i];
    if (!banyan_grow(&grown, all->region_count, &all->region_capacity, sizeof *all->regions))
        return NULL;
    all->regions = grown;
    if (g->driver->reserve(&address, (size_t)REGION_BYTES, 0, 0, 0))
        return NULL;
    all->regions[all->region_count] = (region){share->process, number, address};
    return &all->regions[all->region_count++];
}

/* Whether the block is there; what its owner had at its addresses before is unmapped. */
static int is_mapped(gpu *g, banyan_device_regions *all, uint64_t process, uint64_t base,
                     const banyan_device_block *block)
{
    size_t kept = 0;
    int is_there = 0;

    for (size_t i = 0; i < all->block_count; i++) {
        const mapped *m = &all->blocks[i];
        int meets = m->process == process && m->base < base + block->bytes && base < m->base + m->bytes;
        int is_same = meets && m->base == base && m->number == block->number;

        is_there |= is_same;
        if (meets && !is_same)
            g->driver->block_unmap(m->address, (size_t)m->bytes);
        else
            all->blocks[kept++] = *m;
    }
    all->block_count = kept;
    return is_there;
}

static banyan_status map_block(gpu *g, banyan_device_regions *all, uint64_t process, uint64_t base,
                               uint64_t address, const banyan_device_block *block, banyan_error *err)
{
    void *grown = all->blocks;
    uint64_t handle;
    int fd, error;

    if (is_mapped(g, all, process, base, block))
        return BANYAN_SUCCESS;
    if (!banyan_grow(&grown, all->block_count, &all->block_capacity, sizeof *all->blocks))
        return banyan_fail_memory(err);
    all->blocks = grown;
    fd = fetch_descriptor(process, block->fd);
    if (fd < 0)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot fetch descriptor %d of process %llu: %s",
                           block->fd, (unsigned long long)process, strerror(errno));
    error = g->driver->block_import(&handle, (void *)(intptr_t)fd, BANYAN_DRIVER_FILE_DESCRIPTOR);
    close(fd);
    if (!error)
        error = map_at(g, address, (size_t)block->bytes, handle);
    if (error)
        return banyan_gpu_fail(g, error, "mapping another process's memory", err);
    all->blocks[all->block_count++] = (mapped){process, base, block->bytes, block->number, address};
    return BANYAN_SUCCESS;
}

static banyan_status map_all(gpu *g, banyan_device_regions *all, const banyan_device_share *share, void **out,
                             banyan_error *err)
{
    const region *r = find_region(g, all, share);
    banyan_status status = BANYAN_SUCCESS;
    uint64_t base = share->base, begin;

    if (!r)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "no addresses are left for another process's memory");
    begin = r->address + base % REGION_BYTES;
    for (uint32_t i = 0; i < share->block_count && !status; i++) {
        status =
            map_block(g, all, share->process, base, r->address + base % REGION_BYTES, &share->blocks[i], err);
        base += share->blocks[i].bytes;
    }
    if (!status)
        *out = (void *)(uintptr_t)begin;
    return status;
}

banyan_status banyan_gpu_map_blocks(banyan_device *device, banyan_device_regions **regions,
                                    const banyan_device_share *share, void **out, banyan_error *err)
{
    gpu *g = banyan_gpu_of(device);
    banyan_status status;
    int mode;

    *out = NULL;
    if (!can_map(g))
        return banyan_fail(err, BANYAN_UNSUPPORTED, "the driver has no virtual memory");
    if (!*regions)
        *regions = banyan_alloc(1, sizeof **regions);
    status = *regions ? banyan_gpu_enter(g, err) : banyan_fail_memory(err);
    if (status)
        return status;
    mode = banyan_gpu_relax(g);
    status = map_all(g, *regions, share, out, err);
    banyan_gpu_restore(g, mode);
    banyan_gpu_leave(g);
    return status;
}

void banyan_gpu_unmap_blocks(banyan_device *device, banyan_device_regions *regions)
{
    gpu *g = banyan_gpu_of(device);

    if (!regions)
        return;
    if (!banyan_gpu_enter(g, NULL)) {
        for (size_t i = 0; i < regions->block_count; i++)
            g->driver->block_unmap(regions->blocks[i].address, (size_t)regions->blocks[i].bytes);
        for (size_t i = 0; i < regions->region_count; i++)
            g->driver->unreserve(regions->regions[i].address, (size_t)REGION_BYTES);
        banyan_gpu_leave(g);
    }
    banyan_free(regions->regions);
    banyan_free(regions->blocks);
    banyan_free(regions);
}
