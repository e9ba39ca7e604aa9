/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm_region.c: memory of a member that its peers map as well, so that they add straight out of it.
 * A region is a memfd of its own. Its place in the header counts generations, so that a peer which still has
 * an older one mapped there notices and maps anew. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/shm_endpoint.h"

banyan_status banyan_shm_region_create(banyan_endpoint *endpoint, size_t bytes, void **out, banyan_error *err)
{
    shm_endpoint *e = (shm_endpoint *)endpoint;
    int i = 0, fd;
    void *memory;

    *out = NULL;
    while (i < BANYAN_SHM_MAX_REGIONS && e->regions[i].mapping.memory)
        i++;
    if (i == BANYAN_SHM_MAX_REGIONS || !bytes || bytes > PTRDIFF_MAX)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "shared memory: %zu bytes, or more than %d regions at a time", bytes,
                           BANYAN_SHM_MAX_REGIONS);
    fd = banyan_shm_memory_file("banyan-region", bytes);
    if (fd < 0)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "shared memory: %zu bytes: %s", bytes, strerror(errno));
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        close(fd);
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "shared memory: %zu bytes cannot be mapped", bytes);
    }
    e->regions[i].mapping = (shm_mapping){memory, bytes};
    e->regions[i].fd = fd;
    e->regions[i].generation += 1; /* odd */
    e->own.header->regions[i].fd = fd;
    e->own.header->regions[i].bytes = bytes;
    atomic_store_explicit(&e->own.header->regions[i].generation, e->regions[i].generation,
                          memory_order_release);
    if (e->region_count <= i)
        e->region_count = i + 1;
    *out = memory;
    return BANYAN_SUCCESS;
}

static void drop_region(shm_endpoint *e, int i)
{
    atomic_store_explicit(&e->own.header->regions[i].generation, ++e->regions[i].generation,
                          memory_order_release);
    banyan_shm_unmap(&e->regions[i].mapping);
    close(e->regions[i].fd);
}

void banyan_shm_region_destroy(banyan_endpoint *endpoint, void *memory)
{
    shm_endpoint *e = (shm_endpoint *)endpoint;

    for (int i = 0; memory && i < e->region_count; i++)
        if (e->regions[i].mapping.memory == memory)
            drop_region(e, i);
}

shm_place banyan_shm_place(const shm_endpoint *endpoint, const void *memory, size_t bytes)
{
    for (int i = 0; i < endpoint->region_count; i++) {
        const shm_area *area = &endpoint->regions[i];
        uintptr_t begin = (uintptr_t)area->mapping.memory, at = (uintptr_t)memory;

        if (begin && at >= begin && at - begin < area->mapping.bytes &&
            bytes <= area->mapping.bytes - (at - begin))
            return (shm_place){SHM_IN_REGION, (uint32_t)i, area->generation, at - begin};
    }
    return (shm_place){.kind = SHM_IN_PROCESS};
}

static int map_region(shm_peer *peer, uint32_t i, uint64_t generation)
{
    const shm_region *facts = &peer->segment.header->regions[i];
    shm_area *area = &peer->regions[i];
    struct stat size;
    int fd;
    void *memory = MAP_FAILED;

    banyan_shm_unmap(&area->mapping);
    fd = banyan_shm_open_descriptor(peer->segment.pid, facts->fd, O_RDONLY);
    if (fd < 0)
        return 0;
    if (!fstat(fd, &size) && (uint64_t)size.st_size == facts->bytes)
        memory = mmap(NULL, (size_t)facts->bytes, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        return 0;
    area->mapping = (shm_mapping){memory, (size_t)facts->bytes};
    area->generation = generation;
    return 1;
}

const char *banyan_shm_region_at(shm_peer *peer, const shm_entry *entry)
{
    shm_area *area = &peer->regions[entry->region % BANYAN_SHM_MAX_REGIONS];

    if ((!area->mapping.memory || area->generation != entry->generation) &&
        !map_region(peer, entry->region % BANYAN_SHM_MAX_REGIONS, entry->generation))
        return NULL;
    if (entry->bytes > area->mapping.bytes || entry->where > area->mapping.bytes - entry->bytes)
        return NULL;
    return area->mapping.memory + entry->where;
}

void banyan_shm_regions_fini(shm_endpoint *endpoint)
{
    for (int i = 0; i < endpoint->region_count; i++)
        if (endpoint->regions[i].mapping.memory)
            drop_region(endpoint, i);
}
