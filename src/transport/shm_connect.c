/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm_connect.c: streams are made in two halves, each end its own, and nobody waits for the other.
 * An end maps the other's half when it first needs it; until both have, the sender's offers find no room. The
 * receiver's half says that it has mapped the sender's, so that a sender may send, finish and exit, and what
 * it left in slots stays readable. Whether the receiver can read the sender's process, and fast, is tried
 * here, once. */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "transport/shm_endpoint.h"

#define PROBES 5

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int read_from(const shm_peer *peer, uint64_t address, void *into, size_t bytes)
{
    struct iovec here = {into, bytes}, there = {(void *)(uintptr_t)address, bytes};

    return process_vm_readv(peer->segment.pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* Reading spares the sender's copy, but the kernel looks up every page: which is faster depends on the
 * machine. Best of a few, so that a busy moment does not decide. Only speed depends on this, never a
 * result. */
static int does_reading_pay(shm_endpoint *e, const shm_peer *peer)
{
    int64_t read_ns = INT64_MAX, copy_ns = INT64_MAX;
    char *from = banyan_alloc(SHM_LOOK_BYTES, 1);
    int pays = 1;

    for (int i = 0; from && i < PROBES; i++) {
        int64_t start_ns = banyan_clock_ns(), between_ns;

        pays = pays && read_from(peer, peer->segment.header->look_address, e->look, SHM_LOOK_BYTES);
        between_ns = banyan_clock_ns();
        memcpy(from, e->look, SHM_LOOK_BYTES);
        copy_ns = least(copy_ns, banyan_clock_ns() - between_ns);
        read_ns = least(read_ns, between_ns - start_ns);
    }
    pays = pays && from && read_ns <= copy_ns + copy_ns / 4;
    banyan_free(from);
    return pays;
}

/* The probe: a number that only the right process has at that address. */
static void try_reading(shm_endpoint *e, shm_peer *peer)
{
    uint64_t found = 0;

    if (e->way == BANYAN_SHM_ONLY_SLOTS || peer->reads_process || peer->read_problem)
        return;
    if (!read_from(peer, peer->segment.header->probe_address, &found, sizeof found))
        peer->read_problem = errno ? errno : EFAULT;
    else if (found != peer->segment.header->nonce)
        peer->read_problem = EFAULT;
    else if (e->way == BANYAN_SHM_BEST && !e->reading_pays)
        e->reading_pays = does_reading_pay(e, peer) ? 1 : -1;
    peer->reads_process = !peer->read_problem && (e->way == BANYAN_SHM_READ_PROCESS || e->reading_pays > 0);
}

static uint32_t next_chunk(int have, int wanted)
{
    int grown = have ? 2 * have : SHM_FIRST_CHUNK;

    while (grown < wanted)
        grown *= 2;
    return (uint32_t)(grown - have);
}

static uint32_t chunk_count(const shm_segment *segment, int way, int peer)
{
    return atomic_load_explicit(&banyan_shm_lane(segment, way, peer)->chunk_count, memory_order_acquire);
}

/* Where the slots begin in a chunk of that many outgoing halves. */
static size_t slots_offset(uint32_t count)
{
    return (count * sizeof(shm_outgoing) + SHM_PAGE - 1) / SHM_PAGE * SHM_PAGE;
}

static banyan_status add_senders(shm_endpoint *e, int member, int wanted, banyan_error *err)
{
    shm_peer *peer = &e->peers[member];
    uint32_t chunk = chunk_count(&e->own, SHM_OUTGOING, member), count = next_chunk(peer->to_count, wanted);
    shm_mapping *mapping = &peer->chunks->own[SHM_OUTGOING][chunk < SHM_CHUNKS ? chunk : 0];
    shm_sender *grown = banyan_realloc(peer->to, (size_t)peer->to_count + count, sizeof *grown);
    banyan_status status;

    if (!grown)
        return banyan_fail_memory(err);
    peer->to = grown;
    status = banyan_shm_chunk_add(&e->own, SHM_OUTGOING, member, count, mapping, err);
    if (status)
        return status;
    for (uint32_t i = 0; i < count; i++)
        grown[(uint32_t)peer->to_count + i] =
            (shm_sender){.mine = (shm_outgoing *)(void *)mapping->memory + i,
                         .slots = mapping->memory + slots_offset(count) + i * e->own.header->slot_bytes,
                         .slot_bytes = (size_t)e->own.header->slot_bytes};
    peer->to_count += (int)count;
    banyan_shm_chunk_publish(&e->own, SHM_OUTGOING, member);
    return BANYAN_SUCCESS;
}

static banyan_status add_receivers(shm_endpoint *e, int member, int wanted, banyan_error *err)
{
    shm_peer *peer = &e->peers[member];
    uint32_t chunk = chunk_count(&e->own, SHM_INCOMING, member), count = next_chunk(peer->from_count, wanted);
    shm_mapping *mapping = &peer->chunks->own[SHM_INCOMING][chunk < SHM_CHUNKS ? chunk : 0];
    shm_receiver *grown = banyan_realloc(peer->from, (size_t)peer->from_count + count, sizeof *grown);
    banyan_status status;

    if (!grown)
        return banyan_fail_memory(err);
    peer->from = grown;
    e->look_stream = NULL; /* it may have moved */
    status = banyan_shm_chunk_add(&e->own, SHM_INCOMING, member, count, mapping, err);
    if (status)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        shm_incoming *half = (shm_incoming *)(void *)mapping->memory + i;

        half->reads_process = (uint32_t)peer->reads_process;
        grown[(uint32_t)peer->from_count + i] =
            (shm_receiver){.mine = half, .slot_bytes = (size_t)peer->segment.header->slot_bytes};
    }
    peer->from_count += (int)count;
    banyan_shm_chunk_publish(&e->own, SHM_INCOMING, member);
    return BANYAN_SUCCESS;
}

banyan_status banyan_shm_connect(banyan_endpoint *base, int peer, int to_peer, int from_peer,
                                 int64_t deadline_ns, banyan_error *err)
{
    shm_endpoint *e = (shm_endpoint *)base;
    banyan_status status = BANYAN_SUCCESS;

    (void)deadline_ns;
    if (peer < 0 || peer >= base->member_count || peer == base->member)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "member %d has no peer %d", base->member, peer);
    if (!e->peers[peer].segment.header)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "member %d cannot reach member %d through shared memory",
                           base->member, peer);
    if (to_peer > BANYAN_TRANSPORT_MAX_STREAMS || from_peer > BANYAN_TRANSPORT_MAX_STREAMS)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "more than %d streams between members %d and %d",
                           BANYAN_TRANSPORT_MAX_STREAMS, base->member, peer);
    status = banyan_shm_watch(e, peer, err);
    if (status)
        return status;
    if (!e->peers[peer].chunks)
        e->peers[peer].chunks = banyan_alloc(1, sizeof *e->peers[peer].chunks);
    if (!e->peers[peer].chunks)
        return banyan_fail_memory(err);
    try_reading(e, &e->peers[peer]);
    if (to_peer > e->peers[peer].to_count)
        status = add_senders(e, peer, to_peer, err);
    if (!status && from_peer > e->peers[peer].from_count)
        status = add_receivers(e, peer, from_peer, err);
    banyan_shm_wake(e, peer);
    return status;
}

/* The peer's chunk that holds the stream, mapped; NULL when the peer has not made it yet. */
static shm_mapping *find_chunk(shm_endpoint *e, int member, int way, int stream, uint32_t *index,
                               uint32_t *count)
{
    shm_peer *peer = &e->peers[member];
    const shm_lane *lane = banyan_shm_lane(&peer->segment, way, e->base.member);
    uint32_t chunks = chunk_count(&peer->segment, way, e->base.member);

    for (uint32_t i = 0; i < chunks && i < SHM_CHUNKS; i++) {
        const shm_chunk *chunk = &lane->chunks[i];
        shm_mapping *mapping = &peer->chunks->theirs[way][i];

        if ((uint32_t)stream < chunk->first || (uint32_t)stream - chunk->first >= chunk->count)
            continue;
        if (!mapping->memory && !banyan_shm_chunk_map(&peer->segment, way, e->base.member, i, mapping))
            return NULL;
        *index = (uint32_t)stream - chunk->first;
        *count = chunk->count;
        return mapping;
    }
    return NULL;
}

int banyan_shm_attach_sender(shm_endpoint *endpoint, int peer, int stream)
{
    shm_sender *s = &endpoint->peers[peer].to[stream];
    uint32_t index, count;

    if (!s->theirs) {
        shm_mapping *chunk = find_chunk(endpoint, peer, SHM_INCOMING, stream, &index, &count);

        if (!chunk)
            return 0;
        s->theirs = (shm_incoming *)(void *)chunk->memory + index;
    }
    return (int)atomic_load_explicit(&s->theirs->is_attached, memory_order_acquire);
}

static int attach_one(shm_endpoint *e, int peer, int stream)
{
    shm_receiver *r = &e->peers[peer].from[stream];
    uint32_t index, count;
    shm_mapping *chunk = find_chunk(e, peer, SHM_OUTGOING, stream, &index, &count);

    if (!chunk)
        return 0;
    r->theirs = (const shm_outgoing *)(const void *)chunk->memory + index;
    r->slots = chunk->memory + slots_offset(count) + index * r->slot_bytes;
    atomic_store_explicit(&r->mine->is_attached, 1, memory_order_release);
    return 1;
}

/* With one stream the peer's others are attached as well: it may wait for any of them. */
int banyan_shm_attach_receiver(shm_endpoint *endpoint, int peer, int stream)
{
    const shm_peer *p = &endpoint->peers[peer];
    int attached = 0;

    if (p->from[stream].theirs)
        return 1;
    for (int i = 0; i < p->from_count; i++)
        if (!p->from[i].theirs)
            attached += attach_one(endpoint, peer, i);
    if (attached)
        banyan_shm_wake(endpoint, peer);
    return p->from[stream].theirs != NULL;
}
