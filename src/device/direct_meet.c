/* SPDX-License-Identifier: Apache-2.0 */
/* device/direct_meet.c: how the ranks of a host find each other's words and memory.
 *
 * Each rank makes its slots in a memfd, says which process and descriptor that is, and shares a little of its
 * device's memory for a trial, once by a handle and once as a block. Leaders map everything of everybody,
 * others only their own. If anything else fails anywhere, or both trials, all ranks hear of it and there is
 * no direct way. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "device/direct_internal.h"

/* What a rank says of itself. */
typedef struct {
    uint32_t is_able;
    int32_t fd;
    uint64_t process, device, inode;
    unsigned char uuid[16];
    banyan_device_share trial, block_trial; /* without bytes where there is none */
} record;

enum { REACHED = 1, HANDLES = 2, BLOCKS = 4 }; /* what a rank has found to work */

static size_t region_bytes(void)
{
    return BANYAN_DIRECT_SLOTS * sizeof(banyan_direct_slot);
}

static banyan_direct_slot *map_region(int fd)
{
    void *memory = mmap(NULL, region_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

/* 0: this rank cannot take part. The caller frees the block, if there is one, when all have tried. */
static int make_own(banyan_direct *direct, record *mine, void **trial_block)
{
    size_t scratch = BANYAN_DIRECT_SLOTS * sizeof(banyan_device_reduction);
    int rank = direct->options.rank;
    struct stat facts;

    if (!direct->device || !banyan_device_is_direct(direct->device))
        return 0;
    direct->fd = memfd_create("banyan device words", MFD_CLOEXEC);
    if (direct->fd < 0 || ftruncate(direct->fd, (off_t)region_bytes()) || fstat(direct->fd, &facts))
        return 0;
    direct->slots[rank] = map_region(direct->fd);
    if (!direct->slots[rank] ||
        direct->table->register_memory(direct->device, direct->slots[rank], region_bytes(),
                                       &direct->addresses[rank], NULL))
        return 0;
    direct->is_registered[rank] = 1;
    if (direct->table->alloc(direct->device, scratch, &direct->scratch, NULL))
        return 0;
    if (direct->table->share(direct->device, direct->scratch, scratch, &mine->trial, NULL))
        mine->trial.bytes = 0;
    *trial_block = NULL;
    if (!direct->table->alloc_block || direct->table->alloc_block(direct->device, 1, trial_block, NULL) ||
        direct->table->share(direct->device, *trial_block, 1, &mine->block_trial, NULL))
        mine->block_trial.bytes = 0;
    mine->fd = direct->fd;
    mine->process = (uint64_t)getpid();
    mine->device = (uint64_t)facts.st_dev;
    mine->inode = (uint64_t)facts.st_ino;
    memcpy(mine->uuid, direct->device->uuid, sizeof mine->uuid);
    return 1;
}

/* The number of a process on another host may be that of one here: the memory's own number tells. */
static banyan_direct_slot *map_theirs(const record *theirs)
{
    banyan_direct_slot *slots = NULL;
    struct stat facts;
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%llu/fd/%d", (unsigned long long)theirs->process, theirs->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (!fstat(fd, &facts) && (uint64_t)facts.st_dev == theirs->device &&
        (uint64_t)facts.st_ino == theirs->inode)
        slots = map_region(fd);
    close(fd);
    return slots;
}

/* How a leader can map the other's memory. */
static unsigned try_to_map(banyan_direct *direct, const record *theirs)
{
    unsigned found = 0;
    void *trial;

    if (theirs->trial.bytes && !direct->table->map(direct->device, &theirs->trial, &trial, NULL)) {
        direct->table->unmap(direct->device, trial);
        found |= HANDLES;
    }
    if (theirs->block_trial.bytes && direct->table->map_blocks &&
        !direct->table->map_blocks(direct->device, &direct->regions, &theirs->block_trial, &trial, NULL))
        found |= BLOCKS;
    return found;
}

static unsigned reach(banyan_direct *direct, int rank, const record *theirs)
{
    unsigned offered = (theirs->trial.bytes ? HANDLES : 0u) | (theirs->block_trial.bytes ? BLOCKS : 0u);

    if (rank == direct->options.rank)
        return REACHED | offered;
    direct->slots[rank] = map_theirs(theirs);
    if (!direct->slots[rank])
        return 0;
    if (direct->number < 0)
        return REACHED | offered;
    if (direct->table->register_memory(direct->device, direct->slots[rank], region_bytes(),
                                       &direct->addresses[rank], NULL))
        return 0;
    direct->is_registered[rank] = 1;
    return REACHED | try_to_map(direct, theirs);
}

/* The lowest rank of each device. */
static void choose_leaders(banyan_direct *direct, const record *records)
{
    direct->number = -1;
    for (int rank = 0; rank < direct->options.size; rank++) {
        int is_first = 1;

        for (int other = 0; other < rank; other++)
            is_first =
                is_first && memcmp(records[other].uuid, records[rank].uuid, sizeof records[rank].uuid) != 0;
        if (!is_first)
            continue;
        if (rank == direct->options.rank)
            direct->number = direct->leader_count;
        direct->leaders[direct->leader_count++] = rank;
    }
}

banyan_status banyan_direct_meet(banyan_direct *direct, int *is_ready, banyan_error *err)
{
    const banyan_direct_options *o = &direct->options;
    record mine = {.is_able = 0}, *records = banyan_alloc((size_t)o->size, sizeof *records);
    unsigned char said, all[BANYAN_DEVICE_MAX_RANKS] = {0};
    unsigned found = REACHED | HANDLES | BLOCKS;
    void *trial_block = NULL;
    banyan_status status;

    *is_ready = 0;
    if (!records)
        return banyan_fail_memory(err);
    mine.is_able = (uint32_t)make_own(direct, &mine, &trial_block);
    status = o->gather(o->context, &mine, sizeof mine, records, err);
    for (int i = 0; i < o->size && !status; i++)
        found = records[i].is_able ? found : 0;
    if (!status && found) {
        choose_leaders(direct, records);
        for (int i = 0; i < o->size && found; i++)
            found &= reach(direct, i, &records[i]);
    }
    said = (unsigned char)found;
    if (!status)
        status = o->gather(o->context, &said, 1, all, err);
    for (int i = 0; i < o->size; i++)
        found &= all[i];
    direct->maps_handles = !status && (found & HANDLES);
    direct->maps_blocks = !status && (found & BLOCKS);
    *is_ready = !status && (found & REACHED) && (direct->maps_handles || direct->maps_blocks);
    if (trial_block)
        direct->table->free_block(direct->device, trial_block);
    banyan_free(records);
    return status;
}

void banyan_direct_part(banyan_direct *direct)
{
    for (int i = 0; i < direct->mapping_count; i++)
        direct->table->unmap(direct->device, direct->mappings[i].mapped);
    if (direct->regions)
        direct->table->unmap_blocks(direct->device, direct->regions);
    for (int i = 0; i < direct->options.size; i++) {
        if (direct->is_registered[i])
            direct->table->unregister_memory(direct->device, direct->slots[i]);
        if (direct->slots[i])
            munmap(direct->slots[i], region_bytes());
    }
    if (direct->device)
        direct->table->free(direct->device, direct->scratch);
    if (direct->fd >= 0)
        close(direct->fd);
}
