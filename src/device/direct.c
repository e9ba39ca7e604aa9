/* SPDX-License-Identifier: Apache-2.0 */
/* device/direct.c: what a call puts on the caller's stream. Live calls use the slots 0..31 in turn; a call
 * that is captured in a graph gets one of the others for good, since the graph may be launched at any
 * time. */
#include "device/direct.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "device/direct_internal.h"

banyan_status banyan_direct_create(const banyan_direct_options *options, banyan_direct **out,
                                   banyan_error *err)
{
    banyan_direct *direct;
    pthread_condattr_t attributes;
    banyan_status status;
    int is_ready = 0;

    *out = NULL;
    if (options->size < 2 || options->size > BANYAN_DEVICE_MAX_RANKS)
        return BANYAN_SUCCESS;
    direct = banyan_alloc(1, sizeof *direct);
    if (!direct)
        return banyan_fail_memory(err);
    direct->options = *options;
    direct->device = options->device;
    direct->table = options->device ? options->device->table : NULL;
    direct->fd = -1;
    direct->number = -1;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&direct->lock, NULL);
    pthread_cond_init(&direct->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    status = banyan_direct_meet(direct, &is_ready, err);
    if (!status && is_ready) {
        direct->has_thread = pthread_create(&direct->thread, NULL, banyan_direct_serve, direct) == 0;
        if (!direct->has_thread)
            status = banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot start a thread for calls on a GPU");
    }
    if (status || !is_ready)
        banyan_direct_destroy(direct);
    else
        *out = direct;
    return status;
}

/* ---- Ends. */

static void free_window_memory(banyan_direct *direct, void *memory)
{
    (direct->maps_handles ? direct->table->free : direct->table->free_block)(direct->device, memory);
}

static uint32_t live_generation(uint32_t call)
{
    return call / BANYAN_DIRECT_LIVE + 1;
}

static int has_passed(const banyan_direct *direct, uint32_t call)
{
    const banyan_direct_slot *own =
        banyan_direct_slot_of(direct, direct->options.rank, (int)(call % BANYAN_DIRECT_LIVE));

    return atomic_load(&own->passed) == live_generation(call);
}

/* 0: it has not within the time-out. */
static int wait_until_passed(const banyan_direct *direct, uint32_t call)
{
    struct timespec pause = {.tv_nsec = 20000};
    int64_t deadline_ns = banyan_clock_ns() + ((int64_t)*direct->options.timeout_ms + 1000) * 1000000;

    while (!has_passed(direct, call)) {
        if (banyan_clock_ns() > deadline_ns)
            return 0;
        nanosleep(&pause, NULL);
    }
    return 1;
}

static int drain(const banyan_direct *direct)
{
    uint32_t live = atomic_load(&direct->live_count),
             first = live > BANYAN_DIRECT_LIVE ? live - BANYAN_DIRECT_LIVE : 0;

    for (uint32_t call = first; call != live; call++)
        if (!wait_until_passed(direct, call))
            return 0;
    return 1;
}

void banyan_direct_destroy(banyan_direct *direct)
{
    int is_drained = 1;

    if (!direct)
        return;
    if (direct->has_thread) {
        is_drained = drain(direct);
        pthread_mutex_lock(&direct->lock);
        atomic_store(&direct->is_stopping, 1);
        pthread_cond_broadcast(&direct->changed);
        pthread_mutex_unlock(&direct->lock);
        pthread_join(direct->thread, NULL);
    }
    if (is_drained) /* else the device may still use what it has been given */
        banyan_direct_part(direct);
    while (direct->windows) {
        banyan_direct_window *next = direct->windows->next;

        if (is_drained)
            free_window_memory(direct, direct->windows->memory);
        direct->table->event_destroy(direct->device, direct->windows->free_again);
        banyan_free(direct->windows);
        direct->windows = next;
    }
    while (direct->plans) {
        banyan_direct_plan *next = direct->plans->next;

        banyan_free(direct->plans);
        direct->plans = next;
    }
    pthread_cond_destroy(&direct->changed);
    pthread_mutex_destroy(&direct->lock);
    banyan_free(direct);
}

/* ---- Plans. */

static banyan_status find_plan(banyan_direct *direct, const banyan_schedule *schedule,
                               const banyan_direct_plan **out, banyan_error *err)
{
    banyan_direct_plan *plan = direct->plans;
    banyan_sums *sums = NULL;
    banyan_status status;

    while (plan && plan->schedule != schedule)
        plan = plan->next;
    *out = plan;
    if (plan)
        return BANYAN_SUCCESS;
    plan = banyan_alloc(1, sizeof *plan);
    if (!plan)
        return banyan_fail_memory(err);
    status = banyan_sums_derive(schedule, &sums, err);
    if (status) {
        banyan_free(plan);
        return status;
    }
    plan->schedule = schedule;
    plan->can_run = sums && banyan_device_order_derive(sums, &plan->order);
    banyan_sums_destroy(sums);
    plan->next = direct->plans;
    *out = direct->plans = plan;
    return BANYAN_SUCCESS;
}

banyan_status banyan_direct_can_run(banyan_direct *direct, const banyan_schedule *schedule, int *can_run,
                                    banyan_error *err)
{
    const banyan_direct_plan *plan;
    banyan_status status = find_plan(direct, schedule, &plan, err);

    *can_run = !status && plan->can_run;
    return status;
}

/* ---- Memory that cannot be shared. */

static banyan_status make_window(banyan_direct *direct, size_t bytes, int is_kept, banyan_direct_window **out,
                                 banyan_error *err)
{
    banyan_direct_window *window = banyan_alloc(1, sizeof *window);
    void *memory = NULL;
    banyan_status status = window ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status)
        status = (direct->maps_handles ? direct->table->alloc
                                       : direct->table->alloc_block)(direct->device, 2 * bytes, &memory, err);
    if (!status)
        status = direct->table->event_create(direct->device, &window->free_again, err);
    if (status) {
        free_window_memory(direct, memory);
        banyan_free(window);
        return status;
    }
    window->memory = memory;
    window->bytes = bytes;
    window->is_kept = is_kept;
    window->next = direct->windows;
    *out = direct->windows = window;
    return BANYAN_SUCCESS;
}

/* The largest window serves all live calls, one after the other; what is too small stays until the end. */
static banyan_status find_window(banyan_direct *direct, size_t bytes, int is_graph,
                                 banyan_direct_window **out, banyan_error *err)
{
    size_t wanted = (bytes + 255) / 256 * 256;

    for (banyan_direct_window *w = direct->windows; w && !is_graph; w = w->next)
        if (!w->is_kept && w->bytes >= bytes) {
            *out = w;
            return BANYAN_SUCCESS;
        }
    return make_window(direct, is_graph ? wanted : 2 * wanted, is_graph, out, err);
}

/* ---- Calls. */

typedef struct {
    int slot;
    uint32_t generation;
    int is_graph;
    banyan_direct_window *window; /* NULL: both vectors are shared where they are */
    const banyan_direct_plan *plan;
} posting;

static banyan_status choose_slot(banyan_direct *direct, void *stream, posting *p, banyan_error *err)
{
    uint32_t live = atomic_load(&direct->live_count), graphs = atomic_load(&direct->graph_count);

    p->is_graph = direct->table->is_capturing && direct->table->is_capturing(direct->device, stream);
    if (p->is_graph) {
        if (graphs == BANYAN_DIRECT_GRAPH)
            return banyan_fail(err, BANYAN_UNSUPPORTED, "graphs hold %d calls of this communicator already",
                               BANYAN_DIRECT_GRAPH);
        p->slot = BANYAN_DIRECT_LIVE + (int)graphs;
        p->generation = 1;
        return BANYAN_SUCCESS;
    }
    p->slot = (int)(live % BANYAN_DIRECT_LIVE);
    p->generation = live_generation(live);
    if (live >= BANYAN_DIRECT_LIVE && !wait_until_passed(direct, live - BANYAN_DIRECT_LIVE))
        return banyan_fail(err, BANYAN_TIMEOUT,
                           "rank %d: its stream has not done what it was given %d calls ago",
                           direct->options.rank, BANYAN_DIRECT_LIVE);
    return BANYAN_SUCCESS;
}

static banyan_status share(banyan_direct *direct, const void *memory, size_t bytes, banyan_device_share *out,
                           banyan_error *err)
{
    banyan_status status = direct->table->share(direct->device, memory, bytes, out, err);

    if (!status && !(out->block_count ? direct->maps_blocks : direct->maps_handles))
        status = banyan_fail(err, BANYAN_UNSUPPORTED, "other ranks cannot map that memory");
    return status;
}

/* Where the others find the two vectors: where they are, or in a window. */
static banyan_status locate(banyan_direct *direct, const banyan_direct_call *call, posting *p,
                            banyan_error *err)
{
    banyan_direct_slot *own = banyan_direct_slot_of(direct, direct->options.rank, p->slot);
    size_t bytes = call->count * banyan_datatype_bytes(call->type);
    banyan_status status = share(direct, call->send, bytes, &own->send, err);

    if (!status && call->recv == call->send)
        own->recv = own->send;
    else if (!status)
        status = share(direct, call->recv, bytes, &own->recv, err);
    own->send_offset = (uint64_t)(uintptr_t)call->send - own->send.base;
    own->recv_offset = (uint64_t)(uintptr_t)call->recv - own->recv.base;
    if (status != BANYAN_UNSUPPORTED)
        return status;
    status = find_window(direct, bytes, p->is_graph, &p->window, err);
    if (!status)
        status = share(direct, p->window->memory, 2 * p->window->bytes, &own->send, err);
    if (status)
        return status;
    own->recv = own->send;
    own->send_offset = (uint64_t)(uintptr_t)p->window->memory - own->send.base;
    own->recv_offset = own->send_offset + p->window->bytes;
    return BANYAN_SUCCESS;
}

static banyan_status copy_in(banyan_direct *direct, const banyan_direct_call *call, const posting *p,
                             void *stream, banyan_error *err)
{
    banyan_direct_window *w = p->window;
    banyan_status status = BANYAN_SUCCESS;

    if (!w)
        return status;
    if (w->is_used && !p->is_graph)
        status = direct->table->wait_event(direct->device, stream, w->free_again, err);
    if (!status)
        status = direct->table->copy(direct->device, stream, w->memory, call->send,
                                     call->count * banyan_datatype_bytes(call->type), err);
    return status;
}

static banyan_status copy_out(banyan_direct *direct, const banyan_direct_call *call, const posting *p,
                              void *stream, banyan_error *err)
{
    banyan_direct_window *w = p->window;
    banyan_status status;

    if (!w)
        return BANYAN_SUCCESS;
    status = direct->table->copy(direct->device, stream, call->recv, w->memory + w->bytes,
                                 call->count * banyan_datatype_bytes(call->type), err);
    if (!status && !p->is_graph)
        status = direct->table->record(direct->device, stream, w->free_again, err);
    w->is_used = 1;
    return status;
}

static int add_word(const banyan_direct *direct, banyan_device_word *list, int at, int is_wait, int rank,
                    const void *word, uint32_t value)
{
    list[at] = (banyan_device_word){is_wait, banyan_direct_address(direct, rank, word), value};
    return at + 1;
}

static int add_arrival(const banyan_direct *direct, const banyan_direct_slot *own, banyan_device_word *list)
{
    int count = 0;

    for (int i = 0; i < direct->leader_count; i++)
        count = add_word(direct, list, count, 0, direct->options.rank, &own->arrived[i], 1);
    return count;
}

/* Waits for the leaders but ourselves, and takes their words back. */
static int add_end(const banyan_direct *direct, const banyan_direct_slot *own, const posting *p,
                   banyan_device_word *list, int count)
{
    int rank = direct->options.rank;

    for (int i = 0; i < direct->leader_count; i++)
        if (i != direct->number) {
            count = add_word(direct, list, count, 1, rank, &own->done[i], 1);
            count = add_word(direct, list, count, 0, rank, &own->done[i], 0);
        }
    return p->is_graph ? count : add_word(direct, list, count, 0, rank, &own->passed, p->generation);
}

/* At a leader: the kernel, once all are there. */
static banyan_status put_kernel(banyan_direct *direct, const banyan_direct_call *call, const posting *p,
                                void *stream, banyan_device_word *list, int count, banyan_error *err)
{
    const banyan_direct_slot *own = banyan_direct_slot_of(direct, direct->options.rank, p->slot);
    int rank = direct->options.rank;
    banyan_device_task task = {.type = call->type,
                               .rank_count = direct->options.size,
                               .most_pieces = p->plan->order.interval_count,
                               .elements = call->count / (size_t)direct->leader_count + 1,
                               .reduction = banyan_direct_address(direct, rank, &own->reduction),
                               .scratch = (banyan_device_reduction *)direct->scratch + p->slot};
    banyan_status status;

    count = add_word(direct, list, count, 1, rank, &own->go, 1);
    status = direct->table->words(direct->device, stream, list, count, err);
    return status ? status : direct->table->reduce(direct->device, stream, &task, err);
}

static int add_results(const banyan_direct *direct, const banyan_direct_slot *own, const posting *p,
                       banyan_device_word *list)
{
    int rank = direct->options.rank, count = 0;

    for (int i = 0; i < direct->options.size; i++)
        if (i != rank)
            count = add_word(direct, list, count, 0, i,
                             &banyan_direct_slot_of(direct, i, p->slot)->done[direct->number], 1);
    return add_word(direct, list, count, 0, rank, &own->go, 0);
}

static banyan_status put_on_stream(banyan_direct *direct, const banyan_direct_call *call, const posting *p,
                                   void *stream, banyan_error *err)
{
    const banyan_direct_slot *own = banyan_direct_slot_of(direct, direct->options.rank, p->slot);
    banyan_device_word list[4 * BANYAN_DEVICE_MAX_RANKS];
    banyan_status status = copy_in(direct, call, p, stream, err);
    int count = add_arrival(direct, own, list);

    if (!status && direct->number >= 0) {
        status = put_kernel(direct, call, p, stream, list, count, err);
        count = add_results(direct, own, p, list);
    }
    count = add_end(direct, own, p, list, count);
    if (!status && count)
        status = direct->table->words(direct->device, stream, list, count, err);
    return status ? status : copy_out(direct, call, p, stream, err);
}

void banyan_direct_note_host_call(banyan_direct *direct, uint64_t number)
{
    atomic_store(&banyan_direct_slot_of(direct, direct->options.rank, 0)->host_call, number + 1);
}

static void show(banyan_direct *direct, const banyan_direct_call *call, const posting *p)
{
    banyan_direct_slot *own = banyan_direct_slot_of(direct, direct->options.rank, p->slot);

    own->number = call->number;
    own->digest = call->digest;
    own->count = call->count;
    own->type = (uint32_t)call->type;
    own->op = (uint32_t)call->op;
    direct->local[p->slot].order = &p->plan->order;
    direct->local[p->slot].schedule = call->schedule;
    atomic_store_explicit(&own->generation, p->generation, memory_order_release);
    atomic_store_explicit(&direct->local[p->slot].generation, p->generation, memory_order_release);
}

banyan_status banyan_direct_post(banyan_direct *direct, const banyan_direct_call *call, void *stream,
                                 banyan_error *err)
{
    posting p = {.window = NULL};
    banyan_status status = find_plan(direct, call->schedule, &p.plan, err);

    if (!status && direct->number >= 0)
        status = direct->table->prepare(direct->device, call->type, err);
    if (!status)
        status = choose_slot(direct, stream, &p, err);
    if (!status)
        status = locate(direct, call, &p, err);
    if (status)
        return status;
    show(direct, call, &p);
    status = put_on_stream(direct, call, &p, stream, err);
    if (status)
        return status;
    pthread_mutex_lock(&direct->lock);
    atomic_fetch_add(p.is_graph ? &direct->graph_count : &direct->live_count, 1);
    if (direct->number >= 0)
        pthread_cond_signal(&direct->changed);
    pthread_mutex_unlock(&direct->lock);
    return BANYAN_SUCCESS;
}
