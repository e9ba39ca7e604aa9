/* SPDX-License-Identifier: Apache-2.0 */
/* transport/memory.c: members are threads of one process; the receiver reads the sender's memory.
 *
 *     sender                      queue (one stream)                     receiver
 *     offer ── {memory, bytes} ──> slot slot slot . . . ──> peek: memory + what is consumed of it
 *     sent  <─────────────────────── consumed bytes <────── consume
 *
 * One producer, one consumer: `filled` is only written by the one, `emptied` and `consumed` only by the
 * other. A release store of filled publishes the slot and all that the sender wrote to the memory before; a
 * release store of consumed says that the receiver has read it. Nothing is copied and no lock is taken on the
 * way.
 *
 * Taking memory back (withdraw) must not race with a receiver that is just reading it. Both raise a flag and
 * then look at the other's, so at least one sees the other: the receiver turns away, or the sender waits
 * until the look is over, which is one slice of work. */
#include "transport/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "core/alloc.h"
#include "transport/eventcount.h"

#define SLOTS 16u     /* a power of two */
#define CACHE_LINE 64 /* what two threads write should not share one */

typedef struct {
    const char *memory;
    size_t bytes;
} slot;

typedef struct {
    slot slots[SLOTS];
    /* The sender writes these, the receiver reads them. */
    _Atomic uint32_t filled;
    _Atomic int is_withdrawn;
    char padding[CACHE_LINE];
    /* The receiver writes these, the sender reads them. */
    _Atomic uint32_t emptied;
    _Atomic uint64_t consumed;
    _Atomic int is_looking;
    /* The receiver's own. */
    uint64_t total;
    size_t used; /* bytes of the first slot that are consumed already */
} queue;

typedef struct {
    banyan_eventcount event;
    char padding[CACHE_LINE - sizeof(banyan_eventcount)];
} padded_eventcount;

/* The streams from one member to another. */
typedef struct {
    queue **queues;
    int count;
} lane;

struct banyan_memory_hub {
    int member_count;
    pthread_mutex_t lock; /* guards lanes; held for connecting only */
    lane **lanes;         /* by src, then dst; a row is made when first needed */
    padded_eventcount *events;
    _Atomic int failure; /* 0: none, 1: being written, 2: status and sentence can be read */
    banyan_status status;
    banyan_error reason;
};

typedef struct {
    banyan_endpoint base;
    banyan_memory_hub *hub;
    lane *to, *from; /* by peer: the hub's queues, so that no lock is needed to find them */
    uint32_t heard;
} endpoint;

banyan_status banyan_memory_hub_create(int member_count, banyan_memory_hub **out, banyan_error *err)
{
    banyan_memory_hub *hub;

    *out = NULL;
    if (member_count < 1 || member_count > BANYAN_TRANSPORT_MAX_MEMBERS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a group has 1 to %d members, not %d",
                           BANYAN_TRANSPORT_MAX_MEMBERS, member_count);
    hub = banyan_alloc(1, sizeof *hub);
    if (!hub)
        return banyan_fail_memory(err);
    hub->member_count = member_count;
    hub->lanes = banyan_alloc((size_t)member_count, sizeof(lane *));
    hub->events = banyan_alloc((size_t)member_count, sizeof *hub->events);
    if (!hub->lanes || !hub->events || pthread_mutex_init(&hub->lock, NULL)) {
        banyan_free(hub->lanes);
        banyan_free(hub->events);
        banyan_free(hub);
        return banyan_fail_memory(err);
    }
    *out = hub;
    return BANYAN_SUCCESS;
}

static void free_lane(lane *old)
{
    for (int i = 0; i < old->count; i++)
        banyan_free(old->queues[i]);
    banyan_free(old->queues);
}

void banyan_memory_hub_destroy(banyan_memory_hub *hub)
{
    if (!hub)
        return;
    for (int src = 0; src < hub->member_count; src++) {
        for (int dst = 0; hub->lanes[src] && dst < hub->member_count; dst++)
            free_lane(&hub->lanes[src][dst]);
        banyan_free(hub->lanes[src]);
    }
    banyan_free(hub->lanes);
    banyan_free(hub->events);
    pthread_mutex_destroy(&hub->lock);
    banyan_free(hub);
}

static endpoint *own(banyan_endpoint *base)
{
    return (endpoint *)base;
}

static void close_endpoint(banyan_endpoint *base)
{
    endpoint *e = own(base);

    if (!e)
        return;
    for (int i = 0; e->to && i < base->member_count; i++)
        banyan_free(e->to[i].queues);
    for (int i = 0; e->from && i < base->member_count; i++)
        banyan_free(e->from[i].queues);
    banyan_free(e->to);
    banyan_free(e->from);
    banyan_free(e);
}

static banyan_status open_endpoint(const banyan_opening *opening, banyan_endpoint **out, banyan_error *err)
{
    banyan_memory_hub *hub = opening->meeting;
    endpoint *e;

    *out = NULL;
    if (!hub || opening->member_count != hub->member_count || opening->member < 0 ||
        opening->member >= hub->member_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "member %d of %d does not belong to this group",
                           opening->member, opening->member_count);
    e = banyan_alloc(1, sizeof *e);
    if (!e)
        return banyan_fail_memory(err);
    e->base = (banyan_endpoint){&banyan_transport_memory, opening->member, opening->member_count};
    e->hub = hub;
    e->to = banyan_alloc((size_t)hub->member_count, sizeof *e->to);
    e->from = banyan_alloc((size_t)hub->member_count, sizeof *e->from);
    if (!e->to || !e->from) {
        close_endpoint(&e->base);
        return banyan_fail_memory(err);
    }
    *out = &e->base;
    return BANYAN_SUCCESS;
}

/* Makes the hub's lane at least so wide; with the lock held. Returns 0 when memory ran out. */
static int widen_lane(banyan_memory_hub *hub, int src, int dst, int count)
{
    lane *wide;

    if (!hub->lanes[src])
        hub->lanes[src] = banyan_alloc((size_t)hub->member_count, sizeof(lane));
    if (!hub->lanes[src])
        return 0;
    wide = &hub->lanes[src][dst];
    if (wide->count < count) {
        queue **queues = banyan_realloc(wide->queues, (size_t)count, sizeof(queue *));

        if (!queues)
            return 0;
        wide->queues = queues;
    }
    while (wide->count < count) {
        queue *fresh = banyan_alloc(1, sizeof *fresh);

        if (!fresh)
            return 0;
        wide->queues[wide->count++] = fresh;
    }
    return 1;
}

/* Makes the endpoint's own list of the hub's queues at least so long; with the lock held. */
static int learn_lane(endpoint *e, lane *known, int src, int dst, int count)
{
    queue **queues;

    if (known->count >= count)
        return 1;
    if (!widen_lane(e->hub, src, dst, count))
        return 0;
    queues = banyan_realloc(known->queues, (size_t)count, sizeof(queue *));
    if (!queues)
        return 0;
    known->queues = queues;
    for (int i = known->count; i < count; i++)
        queues[i] = e->hub->lanes[src][dst].queues[i];
    known->count = count;
    return 1;
}

static banyan_status connect_peer(banyan_endpoint *base, int peer, int to_peer, int from_peer,
                                  int64_t deadline_ns, banyan_error *err)
{
    endpoint *e = own(base);
    int fits;

    (void)deadline_ns; /* everybody is here already */
    if (peer < 0 || peer >= base->member_count || peer == base->member)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "member %d has no peer %d", base->member, peer);
    if (to_peer > BANYAN_TRANSPORT_MAX_STREAMS || from_peer > BANYAN_TRANSPORT_MAX_STREAMS)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "more than %d streams between members %d and %d",
                           BANYAN_TRANSPORT_MAX_STREAMS, base->member, peer);
    pthread_mutex_lock(&e->hub->lock);
    fits = learn_lane(e, &e->to[peer], base->member, peer, to_peer) &&
           learn_lane(e, &e->from[peer], peer, base->member, from_peer);
    pthread_mutex_unlock(&e->hub->lock);
    return fits ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static size_t offer(banyan_endpoint *base, int peer, int stream, const void *memory, size_t bytes)
{
    endpoint *e = own(base);
    queue *q = e->to[peer].queues[stream];
    uint32_t filled = atomic_load_explicit(&q->filled, memory_order_relaxed);

    if (!bytes || filled - atomic_load_explicit(&q->emptied, memory_order_acquire) == SLOTS)
        return 0;
    q->slots[filled % SLOTS] = (slot){memory, bytes};
    atomic_store_explicit(&q->filled, filled + 1, memory_order_release);
    banyan_eventcount_signal(&e->hub->events[peer].event);
    return bytes;
}

static uint64_t sent(banyan_endpoint *base, int peer, int stream)
{
    return atomic_load_explicit(&own(base)->to[peer].queues[stream]->consumed, memory_order_acquire);
}

static size_t peek(banyan_endpoint *base, int peer, int stream, const void **memory)
{
    queue *q = own(base)->from[peer].queues[stream];
    uint32_t emptied = atomic_load_explicit(&q->emptied, memory_order_relaxed);

    if (atomic_load_explicit(&q->filled, memory_order_acquire) == emptied)
        return 0;
    atomic_store(&q->is_looking, 1);
    if (atomic_load(&q->is_withdrawn)) {
        atomic_store(&q->is_looking, 0);
        return 0;
    }
    *memory = q->slots[emptied % SLOTS].memory + q->used;
    return q->slots[emptied % SLOTS].bytes - q->used;
}

static void consume(banyan_endpoint *base, int peer, int stream, size_t bytes)
{
    endpoint *e = own(base);
    queue *q = e->from[peer].queues[stream];
    uint32_t emptied = atomic_load_explicit(&q->emptied, memory_order_relaxed);

    if (bytes) {
        q->used += bytes;
        q->total += bytes;
        if (q->used == q->slots[emptied % SLOTS].bytes) {
            q->used = 0;
            atomic_store_explicit(&q->emptied, emptied + 1, memory_order_release);
        }
        atomic_store_explicit(&q->consumed, q->total, memory_order_release);
    }
    atomic_store_explicit(&q->is_looking, 0, memory_order_release);
    if (bytes)
        banyan_eventcount_signal(&e->hub->events[peer].event);
}

static banyan_status failure(banyan_endpoint *base, banyan_error *err)
{
    banyan_memory_hub *hub = own(base)->hub;

    if (atomic_load_explicit(&hub->failure, memory_order_acquire) != 2)
        return BANYAN_SUCCESS;
    return banyan_fail(err, hub->status, "%s", hub->reason.text);
}

static banyan_status wait_for_news(banyan_endpoint *base, int64_t deadline_ns, banyan_error *err)
{
    endpoint *e = own(base);
    int is_signalled = banyan_eventcount_wait(&e->hub->events[base->member].event, &e->heard, deadline_ns);
    banyan_status status = failure(base, err);

    if (status)
        return status;
    return is_signalled ? BANYAN_SUCCESS : BANYAN_TIMEOUT;
}

static void abort_group(banyan_endpoint *base, banyan_status status, const char *sentence)
{
    banyan_memory_hub *hub = own(base)->hub;
    int none = 0;

    if (!atomic_compare_exchange_strong(&hub->failure, &none, 1))
        return;
    hub->status = status;
    snprintf(hub->reason.text, sizeof hub->reason.text, "%s", sentence);
    atomic_store_explicit(&hub->failure, 2, memory_order_release);
    for (int i = 0; i < hub->member_count; i++)
        banyan_eventcount_signal(&hub->events[i].event);
}

static void withdraw(banyan_endpoint *base)
{
    endpoint *e = own(base);

    for (int peer = 0; peer < base->member_count; peer++)
        for (int i = 0; i < e->to[peer].count; i++) {
            queue *q = e->to[peer].queues[i];

            atomic_store(&q->is_withdrawn, 1);
            while (atomic_load(&q->is_looking))
                sched_yield();
        }
}

const banyan_transport banyan_transport_memory = {
    .name = "memory",
    .summary = "threads of one process; the receiver reads the sender's memory",
    .reach = BANYAN_REACH_PROCESS,
    .reads_in_place = 1,
    .open = open_endpoint,
    .connect = connect_peer,
    .offer = offer,
    .sent = sent,
    .peek = peek,
    .consume = consume,
    .wait = wait_for_news,
    .abort = abort_group,
    .failure = failure,
    .withdraw = withdraw,
    .close = close_endpoint,
};
