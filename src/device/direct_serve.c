/* SPDX-License-Identifier: Apache-2.0 */
/* device/direct_serve.c: the thread of a rank. At a leader it lets the stream go once all have arrived; at
 * every rank it looks now and then whether a stream has waited too long or the group is over, and then frees
 * the streams that wait: they go on with results that hold anything, and the group's failure says why.
 *
 * The thread looks without a pause while something has just happened, then with short pauses, and sleeps when
 * no call is under way and no graph holds one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/relax.h"
#include "device/direct_internal.h"

#define SPIN_NS 2000000    /* since something happened */
#define PAUSE_NS 20000     /* between looks after that */
#define WATCH_NS 5000000   /* between looks at time-outs and failures */
#define SLEEP_NS 100000000 /* with nothing under way */

static uint32_t generation_of(const banyan_direct *direct, int slot)
{
    return atomic_load_explicit(&direct->local[slot].generation, memory_order_acquire);
}

static int has_come(const banyan_direct *direct, int rank, int slot, uint32_t generation)
{
    const banyan_direct_slot *s = banyan_direct_slot_of(direct, rank, slot);

    return atomic_load_explicit(&s->generation, memory_order_acquire) == generation &&
           atomic_load_explicit(&s->arrived[direct->number], memory_order_acquire) == 1;
}

/* ---- Where everybody's memory is. */

static char *find_mapping(banyan_direct *direct, int rank, const banyan_device_share *share,
                          banyan_error *err)
{
    banyan_direct_mapping *m;
    void *mapped;

    if (rank == direct->options.rank)
        return (char *)(uintptr_t)share->base;
    if (share->block_count)
        return direct->table->map_blocks(direct->device, &direct->regions, share, &mapped, err) ? NULL
                                                                                                : mapped;
    for (int i = 0; i < direct->mapping_count; i++) {
        m = &direct->mappings[i];
        if (m->rank == rank && m->base == share->base && m->allocation == share->allocation)
            return m->mapped;
    }
    if (direct->mapping_count == BANYAN_DIRECT_KNOWN) {
        banyan_fail(err, BANYAN_UNSUPPORTED,
                    "more than %d allocations of GPU memory have been used with this communicator",
                    BANYAN_DIRECT_KNOWN);
        return NULL;
    }
    if (direct->table->map(direct->device, share, &mapped, err))
        return NULL;
    m = &direct->mappings[direct->mapping_count++];
    *m = (banyan_direct_mapping){rank, share->base, share->allocation, mapped};
    return mapped;
}

static int is_same_call(const banyan_direct_slot *a, const banyan_direct_slot *b)
{
    return a->type == b->type && a->op == b->op && a->count == b->count && a->digest == b->digest;
}

static banyan_status compare(const banyan_direct *direct, int slot, int rank, banyan_error *err)
{
    const banyan_direct_slot *own = banyan_direct_slot_of(direct, direct->options.rank, slot),
                             *other = banyan_direct_slot_of(direct, rank, slot);

    if (is_same_call(own, other))
        return BANYAN_SUCCESS;
    return banyan_fail(
        err, BANYAN_MISMATCH,
        "call %llu differs: rank %d calls allreduce(count %llu, %s, %s), rank %d calls "
        "allreduce(count %llu, %s, %s)%s",
        (unsigned long long)own->number, direct->options.rank, (unsigned long long)own->count,
        banyan_datatype_string((banyan_datatype)own->type), banyan_op_string((banyan_op)own->op), rank,
        (unsigned long long)other->count, banyan_datatype_string((banyan_datatype)other->type),
        banyan_op_string((banyan_op)other->op), own->digest == other->digest ? "" : " with another plan");
}

static banyan_status write_reduction(banyan_direct *direct, int slot, banyan_error *err)
{
    banyan_direct_slot *own = banyan_direct_slot_of(direct, direct->options.rank, slot);
    banyan_device_reduction *r = &own->reduction;
    size_t leaders = (size_t)direct->leader_count, number = (size_t)direct->number, count = own->count;

    for (int rank = 0; rank < direct->options.size; rank++) {
        const banyan_direct_slot *s = banyan_direct_slot_of(direct, rank, slot);
        banyan_status status = compare(direct, slot, rank, err);
        char *send, *recv;

        if (status)
            return status;
        send = find_mapping(direct, rank, &s->send, err);
        recv = send ? find_mapping(direct, rank, &s->recv, err) : NULL;
        if (!recv)
            return BANYAN_UNHANDLED_CUDA_ERROR;
        r->inputs[rank] = (uint64_t)(uintptr_t)send + s->send_offset;
        r->outputs[rank] = (uint64_t)(uintptr_t)recv + s->recv_offset;
    }
    r->op = own->op == BANYAN_AVG ? BANYAN_SUM : own->op;
    r->divisor = own->op == BANYAN_AVG ? (uint32_t)direct->options.size : 1;
    banyan_device_order_bind(direct->local[slot].order, direct->local[slot].schedule, count,
                             count / leaders * number + count % leaders * number / leaders,
                             count / leaders * (number + 1) + count % leaders * (number + 1) / leaders, r);
    return BANYAN_SUCCESS;
}

/* Whether the slot's call was let go now. */
static int try_slot(banyan_direct *direct, int slot)
{
    banyan_direct_slot *own = banyan_direct_slot_of(direct, direct->options.rank, slot);
    banyan_direct_local *local = &direct->local[slot];
    uint32_t generation = generation_of(direct, slot);
    banyan_error err = {""};
    banyan_status status = BANYAN_SUCCESS;

    if (!generation || (slot < BANYAN_DIRECT_LIVE && local->finished == generation))
        return 0;
    for (int rank = 0; rank < direct->options.size; rank++)
        if (!has_come(direct, rank, slot, generation))
            return 0;
    if (local->prepared != generation)
        status = write_reduction(direct, slot, &err);
    if (status) {
        direct->options.abort(direct->options.context, status, err.text);
        return 0;
    }
    local->prepared = local->finished = generation;
    for (int rank = 0; rank < direct->options.size; rank++)
        atomic_store(&banyan_direct_slot_of(direct, rank, slot)->arrived[direct->number], 0);
    atomic_fetch_add(&own->served, 1);
    atomic_store(&own->go, 1);
    return 1;
}

static int serve_all(banyan_direct *direct)
{
    uint32_t live = atomic_load(&direct->live_count), graphs = atomic_load(&direct->graph_count);
    int moved = 0;

    for (uint32_t i = direct->oldest; i != live; i++)
        moved |= try_slot(direct, (int)(i % BANYAN_DIRECT_LIVE));
    while (direct->oldest != live && direct->local[direct->oldest % BANYAN_DIRECT_LIVE].finished ==
                                         direct->oldest / BANYAN_DIRECT_LIVE + 1)
        direct->oldest++;
    for (uint32_t i = 0; i < graphs; i++)
        moved |= try_slot(direct, BANYAN_DIRECT_LIVE + (int)i);
    return moved;
}

/* ---- Watching. */

/* The first rank that is not there, for the sentence. */
static void time_out(const banyan_direct *direct, int slot)
{
    const banyan_direct_options *o = &direct->options;
    const banyan_direct_slot *own = banyan_direct_slot_of(direct, o->rank, slot);
    char sentence[256];
    int late = direct->leaders[0];
    const char *how = "finish it";

    for (int rank = o->size - 1; rank >= 0; rank--) {
        const banyan_direct_slot *s = banyan_direct_slot_of(direct, rank, slot);

        if (atomic_load(&s->generation) != atomic_load(&own->generation)) {
            late = rank;
            how = "make that call";
        } else if (!atomic_load(&s->arrived[0])) {
            late = rank;
            how = "reach it on its stream";
        }
    }
    snprintf(
        sentence, sizeof sentence,
        "rank %d waited %d ms on its stream in call %llu, allreduce(count %llu, %s, %s), for rank %d to %s",
        o->rank, *o->timeout_ms, (unsigned long long)own->number, (unsigned long long)own->count,
        banyan_datatype_string((banyan_datatype)own->type), banyan_op_string((banyan_op)own->op), late, how);
    o->abort(o->context, BANYAN_TIMEOUT, sentence);
}

/* Whether a rank has made, or makes, the call of this slot on the host's memory, instead of putting it on a
 * stream: then nobody will ever let it go. A graph's slot has the number of the call that was captured. */
static int is_host_call_of(const banyan_direct *direct, int slot, int rank)
{
    const banyan_direct_slot *own = banyan_direct_slot_of(direct, direct->options.rank, slot);
    uint32_t generation = atomic_load(&own->generation);
    uint64_t number = own->number, last = atomic_load(&banyan_direct_slot_of(direct, rank, 0)->host_call);

    if (last <= number + 1)
        return last == number + 1;
    return atomic_load(&banyan_direct_slot_of(direct, rank, slot)->generation) != generation &&
           atomic_load(&own->arrived[0]) && atomic_load(&own->generation) == generation; /* still that call */
}

static int is_host_call(const banyan_direct *direct, int slot, banyan_error *err)
{
    const banyan_direct_slot *own = banyan_direct_slot_of(direct, direct->options.rank, slot);

    for (int rank = 0; rank < direct->options.size && slot < BANYAN_DIRECT_LIVE; rank++)
        if (is_host_call_of(direct, slot, rank)) {
            banyan_fail(err, BANYAN_MISMATCH,
                        "call %llu differs: rank %d calls allreduce(count %llu, %s, %s) on a GPU, rank %d "
                        "makes a call on host memory",
                        (unsigned long long)own->number, direct->options.rank, (unsigned long long)own->count,
                        banyan_datatype_string((banyan_datatype)own->type),
                        banyan_op_string((banyan_op)own->op), rank);
            return 1;
        }
    return 0;
}

/* A stream that waits has arrived, and the leader has not served it since it was first seen so. */
static void watch_slot(banyan_direct *direct, int slot, int64_t now_ns)
{
    banyan_direct_slot *own = banyan_direct_slot_of(direct, direct->options.rank, slot);
    banyan_direct_local *local = &direct->local[slot];
    uint32_t served = atomic_load(&banyan_direct_slot_of(direct, direct->leaders[0], slot)->served);
    banyan_error err = {""};

    if (!generation_of(direct, slot) || !atomic_load(&own->arrived[0])) {
        local->waiting_since_ns = 0;
    } else if (!local->waiting_since_ns || local->waiting_served != served) {
        local->waiting_since_ns = now_ns;
        local->waiting_served = served;
    } else if (is_host_call(direct, slot, &err)) {
        direct->options.abort(direct->options.context, BANYAN_MISMATCH, err.text);
    } else if (now_ns - local->waiting_since_ns > (int64_t)*direct->options.timeout_ms * 1000000) {
        time_out(direct, slot);
    }
}

/* The group is over: kernels that start find nothing to do, and nobody waits. */
static void free_streams(banyan_direct *direct)
{
    for (int slot = 0; slot < BANYAN_DIRECT_SLOTS; slot++) {
        banyan_direct_slot *own = banyan_direct_slot_of(direct, direct->options.rank, slot);

        if (!generation_of(direct, slot))
            continue;
        own->reduction.piece_count = 0;
        atomic_store(&own->go, 1);
        for (int i = 0; i < direct->leader_count; i++)
            atomic_store(&own->done[i], 1);
    }
}

static void watch(banyan_direct *direct, int64_t now_ns)
{
    if (!atomic_load(&direct->is_dead)) {
        for (int slot = 0; slot < BANYAN_DIRECT_LIVE; slot++)
            watch_slot(direct, slot, now_ns);
        for (uint32_t i = 0; i < atomic_load(&direct->graph_count); i++)
            watch_slot(direct, BANYAN_DIRECT_LIVE + (int)i, now_ns);
        if (direct->options.failure(direct->options.context))
            atomic_store(&direct->is_dead, 1);
    }
    if (atomic_load(&direct->is_dead))
        free_streams(direct);
}

/* ---- The thread. */

static int is_under_way(const banyan_direct *direct)
{
    uint32_t live = atomic_load(&direct->live_count);
    const banyan_direct_slot *last;

    if (!live)
        return 0;
    last = banyan_direct_slot_of(direct, direct->options.rank, (int)((live - 1) % BANYAN_DIRECT_LIVE));
    return atomic_load(&last->passed) != (live - 1) / BANYAN_DIRECT_LIVE + 1;
}

static void sleep_for(banyan_direct *direct, int64_t ns)
{
    int64_t until_ns = banyan_clock_ns() + ns;
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};

    pthread_mutex_lock(&direct->lock);
    if (!atomic_load(&direct->is_stopping))
        pthread_cond_timedwait(&direct->changed, &direct->lock, &until);
    pthread_mutex_unlock(&direct->lock);
}

static void pause_between(banyan_direct *direct, int64_t idle_ns)
{
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    int is_busy = is_under_way(direct), has_graphs = atomic_load(&direct->graph_count) > 0;

    if (direct->number < 0 || atomic_load(&direct->is_dead))
        sleep_for(direct, is_busy || has_graphs ? WATCH_NS : SLEEP_NS);
    else if (!is_busy && !has_graphs)
        sleep_for(direct, SLEEP_NS);
    else if (idle_ns > SPIN_NS)
        nanosleep(&pause, NULL);
    else
        banyan_relax();
}

void *banyan_direct_serve(void *argument)
{
    banyan_direct *direct = argument;
    int64_t moved_ns = banyan_clock_ns(), watched_ns = moved_ns;

    while (!atomic_load(&direct->is_stopping)) {
        int64_t now_ns = banyan_clock_ns();

        if (direct->number >= 0 && !atomic_load(&direct->is_dead) && serve_all(direct))
            moved_ns = now_ns;
        if (now_ns - watched_ns >= WATCH_NS) {
            watch(direct, now_ns);
            watched_ns = now_ns;
        }
        pause_between(direct, now_ns - moved_ns);
    }
    return NULL;
}
