/* SPDX-License-Identifier: Apache-2.0 */
/* device/turns.c: how ranks that share a device find each other's words. Each makes a page of shared memory
 * for its own word and maps that of the rank that it gives the turn to. If that fails for one of them, they
 * all copy as they come. */
#include "device/turns.h"

#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "transport/shm_segment.h"

/* What a rank says of itself. */
typedef struct {
    uint64_t host, process;
    banyan_shared_memory memory; /* with its word; without bytes: it has none */
    unsigned char gpu[16];
} card;

static int shares(const card *a, const card *b)
{
    return b->memory.bytes && a->host == b->host && !memcmp(a->gpu, b->gpu, sizeof a->gpu);
}

/* Without it this rank takes no turns. */
static void make_own(banyan_turns *turns, card *mine)
{
    void *memory;

    if (!turns->device || !turns->device->table->words ||
        banyan_shared_memory_alloc(sizeof *turns->own, &memory, NULL))
        return;
    if (turns->device->table->register_memory(turns->device, memory, sizeof *turns->own, &turns->own_address,
                                              NULL) ||
        !banyan_shared_memory_find(memory, sizeof *turns->own, &mine->memory)) {
        banyan_shared_memory_free(memory, NULL);
        return;
    }
    turns->own = memory;
    mine->memory.begin = NULL; /* nobody else's business */
}

/* Returns the rank that gets the turn from this one, or -1: there is none to take turns with. */
static int find_place(banyan_turns *turns, const card *cards, int rank, int size)
{
    int next = -1, at = 0;

    for (int i = 0; i < size; i++) {
        if (!shares(&cards[rank], &cards[i]))
            continue;
        if (i != rank && cards[i].process == cards[rank].process)
            return -1;
        turns->index = i == rank ? turns->count : turns->index;
        turns->count++;
    }
    for (int i = 0; i < size; i++)
        if (shares(&cards[rank], &cards[i]) && at++ == banyan_turns_next(turns))
            next = i;
    return turns->count > 1 ? next : -1;
}

static int reach_next(banyan_turns *turns, const card *theirs)
{
    banyan_turn_word *next = banyan_shared_memory_map(theirs->process, &theirs->memory);

    if (!next)
        return 0;
    if (turns->device->table->register_memory(turns->device, next, sizeof *next, &turns->next_address,
                                              NULL)) {
        banyan_shared_memory_unmap(next, sizeof *next);
        return 0;
    }
    turns->next = next;
    return 1;
}

/* Returns whether this rank can take turns. */
static int find_next(banyan_turns *turns, const card *cards, const banyan_turns_options *o)
{
    int next = turns->own ? find_place(turns, cards, o->rank, o->size) : -1;

    if (next != o->rank)
        return next >= 0 && reach_next(turns, &cards[next]);
    turns->next = turns->own;
    turns->next_address = turns->own_address;
    return 1;
}

banyan_status banyan_turns_create(const banyan_turns_options *options, banyan_turns **out, banyan_error *err)
{
    const banyan_turns_options *o = options;
    banyan_turns *turns = banyan_alloc(1, sizeof *turns);
    card mine = {.host = banyan_shm_host(), .process = (uint64_t)getpid()}, *cards;
    unsigned char can = 0, *all;
    banyan_status status;

    *out = NULL;
    cards = banyan_alloc((size_t)o->size, sizeof *cards);
    all = banyan_alloc((size_t)o->size, sizeof *all);
    status = turns && cards && all ? BANYAN_SUCCESS : banyan_fail_memory(err);
    if (status)
        goto out;
    turns->device = o->device;
    if (o->device)
        memcpy(mine.gpu, o->device->uuid, sizeof mine.gpu);
    make_own(turns, &mine);
    status = o->gather(o->context, &mine, sizeof mine, cards, err);
    if (status)
        goto out;
    can = (unsigned char)find_next(turns, cards, o);
    status = o->gather(o->context, &can, sizeof can, all, err);
    if (status)
        goto out;
    for (int i = 0; i < o->size; i++)
        if (shares(&mine, &cards[i]))
            can = can && all[i];
    if (can) {
        *out = turns;
        turns = NULL;
    }
out:
    banyan_turns_destroy(turns);
    banyan_free(cards);
    banyan_free(all);
    return status;
}

void banyan_turns_destroy(banyan_turns *turns)
{
    if (!turns)
        return;
    if (turns->next && turns->next != turns->own) {
        turns->device->table->unregister_memory(turns->device, turns->next);
        banyan_shared_memory_unmap(turns->next, sizeof *turns->next);
    }
    if (turns->own) {
        turns->device->table->unregister_memory(turns->device, turns->own);
        banyan_shared_memory_free(turns->own, NULL);
    }
    banyan_free(turns);
}

/* The last ones of each row give it back to the first. */
static int is_last(const banyan_turns *turns)
{
    return turns->index + 2 >= turns->count;
}

int banyan_turns_next(const banyan_turns *turns)
{
    return is_last(turns) ? turns->index % 2 : turns->index + 2;
}

int banyan_turns_waits(const banyan_turns *turns, size_t chunk)
{
    return turns && chunk > 0;
}

/* A chunk's first copy of a row waits for the last one of the chunk before. */
int banyan_turns_passes(const banyan_turns *turns, size_t chunk, size_t chunk_count)
{
    size_t next = turns ? chunk + (size_t)is_last(turns) : 0;

    return next > 0 && next < chunk_count;
}

void banyan_turns_let_go(banyan_turns *turns)
{
    atomic_store(&turns->own->value, 1);
}
