/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shared.c: each piece is a memfd, which has no name in any file system, so nothing is left when
 * the process ends, however it does. A table of all of them, ascending by address, is the one thing here that
 * the whole process has in common: addresses are, too. It is looked into by binary search under a lock that
 * is held for moments.
 *
 * Others may still have a piece mapped when it is freed (they notice at a later call). A hole is punched into
 * the file then, so the memory goes back to the system at once and only addresses stay behind at the
 * others. */
#include "transport/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "transport/shm_segment.h"

typedef struct {
    banyan_shared_memory facts;
    pid_t owner;
    int is_cut_off;
} piece;

static struct {
    pthread_mutex_t lock;
    piece *pieces; /* ascending by address */
    size_t count, capacity;
    uint64_t last_serial;
    _Atomic size_t hint; /* count, for those who look without the lock: most programs have none */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- The table, with the lock held. */

/* How many pieces begin at or below the address. */
static size_t count_up_to(const char *address)
{
    size_t low = 0, high = table.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((uintptr_t)table.pieces[middle].facts.begin <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static piece *find(const void *memory, size_t bytes)
{
    size_t below = count_up_to(memory);
    piece *p = below ? &table.pieces[below - 1] : NULL;
    size_t at = p ? (size_t)((const char *)memory - p->facts.begin) : 0;

    return p && at < p->facts.bytes && bytes <= p->facts.bytes - at ? p : NULL;
}

static banyan_status add(piece *new_one, banyan_error *err)
{
    size_t at = count_up_to(new_one->facts.begin);

    if (!banyan_grow((void **)&table.pieces, table.count, &table.capacity, sizeof *table.pieces))
        return banyan_fail_memory(err);
    memmove(table.pieces + at + 1, table.pieces + at, (table.count - at) * sizeof *table.pieces);
    new_one->facts.serial = ++table.last_serial;
    table.pieces[at] = *new_one;
    atomic_store(&table.hint, ++table.count);
    return BANYAN_SUCCESS;
}

static void take_out(piece *old_one)
{
    size_t at = (size_t)(old_one - table.pieces);

    memmove(old_one, old_one + 1, (table.count - at - 1) * sizeof *table.pieces);
    atomic_store(&table.hint, --table.count);
    if (!table.count) {
        banyan_free(table.pieces);
        table.pieces = NULL;
        table.capacity = 0;
    }
}

/* ---- Pieces. */

static void fini(const piece *p)
{
    munmap(p->facts.begin, p->facts.bytes);
    if (p->owner == getpid()) /* else a fork of the owner: the memory is not its to empty */
        (void)fallocate(p->facts.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)p->facts.bytes);
    close(p->facts.fd);
}

static banyan_status init(piece *p, size_t bytes, banyan_error *err)
{
    struct stat facts;
    int fd = banyan_shm_memory_file("banyan-shared", bytes);
    void *memory = MAP_FAILED;

    if (fd >= 0 && !fstat(fd, &facts))
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        banyan_fail(err, BANYAN_SYSTEM_ERROR, "shared memory: %zu bytes: %s", bytes, strerror(errno));
        if (fd >= 0)
            close(fd);
        return BANYAN_SYSTEM_ERROR;
    }
    *p = (piece){.facts = {.begin = memory,
                           .bytes = bytes,
                           .fd = fd,
                           .device = (uint64_t)facts.st_dev,
                           .inode = (uint64_t)facts.st_ino},
                 .owner = getpid()};
    return BANYAN_SUCCESS;
}

banyan_status banyan_shared_memory_alloc(size_t bytes, void **out, banyan_error *err)
{
    size_t page = page_bytes(), most = (size_t)sysconf(_SC_PHYS_PAGES);
    piece p;
    banyan_status status;

    *out = NULL;
    if (bytes / page >= most) /* the kernel would give out addresses, and kill whoever uses them */
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "shared memory: this machine does not have %zu bytes",
                           bytes);
    bytes = bytes ? (bytes + page - 1) / page * page : page;
    status = init(&p, bytes, err);
    if (status)
        return status;
    pthread_mutex_lock(&table.lock);
    status = add(&p, err);
    pthread_mutex_unlock(&table.lock);
    if (status)
        fini(&p);
    else
        *out = p.facts.begin;
    return status;
}

banyan_status banyan_shared_memory_free(void *memory, banyan_error *err)
{
    piece *found, old_one;

    if (!memory)
        return BANYAN_SUCCESS;
    pthread_mutex_lock(&table.lock);
    found = find(memory, 1);
    if (found && found->facts.begin == memory) {
        old_one = *found;
        take_out(found);
    } else {
        found = NULL;
    }
    pthread_mutex_unlock(&table.lock);
    if (!found)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "shared memory: this is not the beginning of what was allocated");
    fini(&old_one);
    return BANYAN_SUCCESS;
}

int banyan_shared_memory_find(const void *memory, size_t bytes, banyan_shared_memory *out)
{
    const piece *p;
    int is_found;

    if (!atomic_load_explicit(&table.hint, memory_order_relaxed))
        return 0;
    pthread_mutex_lock(&table.lock);
    p = find(memory, bytes);
    is_found = p && !p->is_cut_off;
    if (is_found)
        *out = p->facts;
    pthread_mutex_unlock(&table.lock);
    return is_found;
}

int banyan_shared_memory_is_alive(uint64_t serial)
{
    int is_alive = 0;

    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count && !is_alive; i++)
        is_alive = table.pieces[i].facts.serial == serial;
    pthread_mutex_unlock(&table.lock);
    return is_alive;
}

void banyan_shared_memory_cut_off(void *memory, size_t bytes)
{
    size_t page = page_bytes();
    char *begin = (char *)memory - (uintptr_t)memory % page;
    size_t length = (bytes + (size_t)((char *)memory - begin) + page - 1) / page * page;
    void *copy = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    piece *p;

    if (copy == MAP_FAILED)
        return; /* nothing is left that we could do */
    pthread_mutex_lock(&table.lock);
    p = find(memory, bytes);
    if (p) {
        p->is_cut_off = 1;
        memcpy(copy, begin, length);
        if (mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, begin) != MAP_FAILED)
            copy = NULL;
    }
    pthread_mutex_unlock(&table.lock);
    if (copy)
        munmap(copy, length);
}
