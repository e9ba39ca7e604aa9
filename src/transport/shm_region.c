/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm_region.c: shared memory of a member's process (transport/shared.h) that its peers map as
 * well, so that they add straight out of it and, with workspaces, write straight into it.
 *
 * A piece of it becomes a region of the endpoint when it is first met: it gets a place in the header of the
 * member's segment, where peers find which file to map. Places are used again when their memory has been
 * freed. They count generations, so that a peer which still has an older one mapped there notices and maps
 * anew. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "transport/shm_endpoint.h"

/* ---- Our own. */

static int find_own(const shm_endpoint *e, uint64_t serial)
{
    for (int i = 0; i < e->region_count; i++)
        if (e->own_regions[i].serial == serial)
            return i;
    return -1;
}

/* -1: there are too many already. */
static int add_own(shm_endpoint *e, const banyan_shared_memory *shared)
{
    shm_own_region *region = NULL;
    shm_region *facts;
    int i = 0;

    while (i < e->region_count && banyan_shared_memory_is_alive(e->own_regions[i].serial))
        i++;
    if (i == BANYAN_SHM_MAX_REGIONS)
        return -1;
    if (i == e->region_count)
        e->region_count++;
    region = &e->own_regions[i];
    *region = (shm_own_region){.serial = shared->serial, .generation = region->generation + 1};
    facts = &e->own.header->regions[i];
    facts->fd = shared->fd;
    facts->bytes = shared->bytes;
    facts->device = shared->device;
    facts->inode = shared->inode;
    atomic_store_explicit(&facts->generation, region->generation, memory_order_release);
    return i;
}

shm_place banyan_shm_place(shm_endpoint *endpoint, const void *memory, size_t bytes)
{
    banyan_shared_memory shared;
    int i;

    if (!banyan_shared_memory_find(memory, bytes, &shared))
        return (shm_place){.kind = SHM_IN_PROCESS};
    i = find_own(endpoint, shared.serial);
    if (i < 0)
        i = add_own(endpoint, &shared);
    if (i < 0)
        return (shm_place){.kind = SHM_IN_PROCESS};
    return (shm_place){SHM_IN_REGION, (uint32_t)i, endpoint->own_regions[i].generation,
                       (uint64_t)((const char *)memory - shared.begin)};
}

/* ---- The peers'. */

/* Whether the file is the one that its owner spoke of, and cannot become smaller. */
static int is_region(int fd, const shm_region *facts)
{
    struct stat found;
    int seals = fcntl(fd, F_GET_SEALS);

    return !fstat(fd, &found) && (uint64_t)found.st_dev == facts->device &&
           (uint64_t)found.st_ino == facts->inode && (uint64_t)found.st_size == facts->bytes && seals >= 0 &&
           (seals & F_SEAL_SHRINK);
}

static int map_region(shm_peer *peer, uint32_t i, uint64_t generation)
{
    const shm_region *facts = &peer->segment.header->regions[i];
    shm_area *area = &peer->regions[i];
    void *memory = MAP_FAILED;
    int fd;

    banyan_shm_unmap(&area->mapping);
    if (atomic_load_explicit(&facts->generation, memory_order_acquire) != generation)
        return 0;
    fd = banyan_shm_open_descriptor(peer->segment.pid, facts->fd, O_RDWR);
    if (fd < 0)
        return 0;
    if (is_region(fd, facts))
        memory = mmap(NULL, (size_t)facts->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        return 0;
    area->mapping = (shm_mapping){memory, (size_t)facts->bytes};
    area->generation = generation;
    return 1;
}

char *banyan_shm_region_at(shm_peer *peer, uint32_t region, uint64_t generation, uint64_t offset,
                           uint64_t bytes)
{
    uint32_t i = region % BANYAN_SHM_MAX_REGIONS;
    shm_area *area;

    if (!peer->regions)
        peer->regions = banyan_alloc(BANYAN_SHM_MAX_REGIONS, sizeof *peer->regions);
    if (!peer->regions)
        return NULL;
    area = &peer->regions[i];
    if ((!area->mapping.memory || area->generation != generation) && !map_region(peer, i, generation))
        return NULL;
    if (bytes > area->mapping.bytes || offset > area->mapping.bytes - bytes)
        return NULL;
    return area->mapping.memory + offset;
}

void banyan_shm_peer_regions_fini(shm_peer *peer)
{
    for (int i = 0; peer->regions && i < BANYAN_SHM_MAX_REGIONS; i++)
        banyan_shm_unmap(&peer->regions[i].mapping);
    banyan_free(peer->regions);
    peer->regions = NULL;
}

/* ---- With workspaces. */

int banyan_shm_locate(banyan_endpoint *base, const void *memory, size_t bytes, banyan_place *out)
{
    shm_endpoint *e = (shm_endpoint *)base;
    shm_place place = banyan_shm_place(e, memory, bytes);

    if (place.kind != SHM_IN_REGION || e->own_regions[place.region].is_refused)
        return 0;
    *out = (banyan_place){.region = place.region,
                          .is_new = !e->own_regions[place.region].is_confirmed,
                          .generation = place.generation,
                          .offset = place.offset};
    return 1;
}

void banyan_shm_confirm(banyan_endpoint *base, const banyan_place *place, int is_mapped)
{
    shm_own_region *region = &((shm_endpoint *)base)->own_regions[place->region];

    region->is_confirmed = is_mapped;
    region->is_refused = !is_mapped;
}

char *banyan_shm_map(banyan_endpoint *base, int member, const banyan_place *place, size_t bytes)
{
    return banyan_shm_region_at(&((shm_endpoint *)base)->peers[member], place->region, place->generation,
                                place->offset, bytes);
}
