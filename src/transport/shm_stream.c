/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm_stream.c: entries in a bounded ring; one producer, one consumer, no lock.
 *
 *     sender's half            receiver's half
 *     filled ───────────────>  sees entries
 *     entries                  emptied, consumed ──> the sender may reuse, and knows what is sent
 *     slots: | a a | b | . . . . |     short offers, or all of them where nothing else is possible
 *
 * A short offer is copied into slots: it is sent at once, and the receiver finds it in its cache. A long one
 * stays where it is when the receiver can read it there. With slots alone a long offer goes in parts of half
 * the slots, so that one end writes while the other reads.
 *
 * Sender and receiver wake each other seldom: what lies in slots is sent already, so the sender hears of its
 * end only when it waits for room, and then when half of the slots are free. */
#include "transport/shm_stream.h"

#include <string.h>

#define SHORT_BYTES 8192u /* what is copied although the peer could read it itself */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Learns what the receiver is done with. */
static void reclaim(shm_sender *stream)
{
    uint32_t emptied = atomic_load_explicit(&stream->theirs->emptied, memory_order_acquire);

    while (stream->emptied != emptied && stream->emptied != stream->filled) {
        stream->freed += stream->taken[stream->emptied % SHM_ENTRIES];
        stream->emptied++;
    }
}

static void publish(shm_sender *stream, shm_entry entry, size_t taken)
{
    stream->mine->entries[stream->filled % SHM_ENTRIES] = entry;
    stream->taken[stream->filled % SHM_ENTRIES] = (uint32_t)taken;
    stream->filled++;
    stream->offered += entry.bytes;
    atomic_store_explicit(&stream->mine->filled, stream->filled, memory_order_release);
}

/* Copies up to `bytes` into one run of slots; with is_whole all of them or nothing. */
static size_t copy_in(shm_sender *stream, const void *memory, size_t bytes, int is_whole)
{
    size_t free = stream->slot_bytes - (size_t)(stream->written - stream->freed);
    size_t at = (size_t)(stream->written % stream->slot_bytes);
    size_t until_end = stream->slot_bytes - at;
    size_t skipped = 0;

    if (least(free, until_end) < bytes && free > until_end && free - until_end >= bytes)
        skipped = until_end; /* it fits in one piece at the beginning */
    else
        free = least(free, until_end);
    free -= skipped;
    if (!free || (is_whole && free < bytes))
        return 0;
    bytes = least(bytes, free);
    at = skipped ? 0 : at;
    memcpy(stream->slots + at, memory, bytes);
    stream->written += skipped + bytes;
    publish(stream, (shm_entry){.where = at, .bytes = bytes, .kind = SHM_IN_SLOTS}, skipped + bytes);
    return bytes;
}

/* Up to where the stream must be consumed for half of what is in use to be free. */
static uint64_t half_way(const shm_sender *stream)
{
    uint64_t position = stream->offered, in_use = stream->written - stream->freed, freed = 0;
    uint32_t i = stream->filled;

    while (i != stream->emptied)
        position -= stream->mine->entries[--i % SHM_ENTRIES].bytes;
    for (; i != stream->filled; i++) {
        position += stream->mine->entries[i % SHM_ENTRIES].bytes;
        freed += stream->taken[i % SHM_ENTRIES];
        if (2 * freed >= in_use)
            break;
    }
    return position;
}

/* There is no room: asks to be told when there is much. Returns whether there is some already: either the
 * receiver sees the wish, or we see what it has emptied. */
static int wait_for_room(shm_sender *stream)
{
    uint32_t emptied = stream->emptied;

    atomic_store(&stream->mine->wanted, half_way(stream));
    atomic_thread_fence(memory_order_seq_cst);
    reclaim(stream);
    return stream->emptied != emptied;
}

static int has_entry(const shm_sender *stream)
{
    return stream->filled - stream->emptied < SHM_ENTRIES;
}

/* With slots alone. */
static size_t offer_copy(shm_sender *stream, const void *memory, size_t bytes)
{
    size_t part = least(bytes, (stream->slot_bytes + 1) / 2), taken = 0;

    do
        taken = has_entry(stream) ? copy_in(stream, memory, part, 0) : 0;
    while (!taken && wait_for_room(stream));
    return taken;
}

size_t banyan_shm_stream_offer(shm_sender *stream, const void *memory, size_t bytes, const shm_place *place)
{
    int is_readable = place->kind == SHM_IN_REGION || stream->theirs->reads_process;

    reclaim(stream);
    if (!bytes)
        return 0;
    if (!is_readable)
        return offer_copy(stream, memory, bytes);
    if (!has_entry(stream) && !wait_for_room(stream))
        return 0;
    if (bytes <= SHORT_BYTES && copy_in(stream, memory, bytes, 1))
        return bytes;
    stream->borrowed = stream->offered + bytes;
    publish(stream,
            (shm_entry){.where = place->kind == SHM_IN_REGION ? place->offset : (uint64_t)(uintptr_t)memory,
                        .bytes = bytes,
                        .kind = place->kind,
                        .region = place->region,
                        .generation = place->generation},
            0);
    return bytes;
}

/* Never less than before: what lies in slots is sent although the peer has not consumed it. */
uint64_t banyan_shm_stream_sent(shm_sender *stream)
{
    uint64_t consumed;

    if (!stream->theirs)
        return 0;
    consumed = atomic_load_explicit(&stream->theirs->consumed, memory_order_acquire);
    if (consumed >= stream->borrowed)
        stream->sent = stream->offered;
    else if (consumed > stream->sent)
        stream->sent = consumed;
    return stream->sent;
}

const shm_entry *banyan_shm_stream_first(const shm_receiver *stream, uint64_t *left)
{
    const shm_entry *entry = &stream->theirs->entries[stream->emptied % SHM_ENTRIES];

    if (atomic_load_explicit(&stream->theirs->filled, memory_order_acquire) == stream->emptied)
        return NULL;
    *left = entry->bytes - stream->used;
    return entry;
}

const char *banyan_shm_stream_slots(const shm_receiver *stream, const shm_entry *entry)
{
    if (entry->bytes > stream->slot_bytes || entry->where > stream->slot_bytes - entry->bytes)
        return NULL;
    return stream->slots + entry->where + stream->used;
}

int banyan_shm_stream_drop(shm_receiver *stream, size_t bytes)
{
    const shm_entry *entry = &stream->theirs->entries[stream->emptied % SHM_ENTRIES];
    uint64_t before = stream->total, wanted;
    int is_borrowed = entry->kind != SHM_IN_SLOTS;

    stream->used += bytes;
    stream->total += bytes;
    if (stream->used == entry->bytes) {
        stream->used = 0;
        stream->emptied++;
        atomic_store_explicit(&stream->mine->emptied, stream->emptied, memory_order_release);
    }
    atomic_store(&stream->mine->consumed, stream->total);
    if (is_borrowed)
        return 1;
    atomic_thread_fence(memory_order_seq_cst);
    wanted = atomic_load(&stream->theirs->wanted);
    return wanted > before && wanted <= stream->total;
}
