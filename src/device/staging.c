/* SPDX-License-Identifier: Apache-2.0 */
/* device/staging.c: what is around the lanes: slots and streams, the caller's side, and handing a call to all
 * lanes. Slots lie in memory that the ranks of a host reach in place (transport/shared.h), so that nothing is
 * copied between processes.
 *
 * The caller's stream waits for a word of each lane that is written behind the lane's last copy. Where the
 * device has no words, the call waits for the copies itself, and whoever began it waits for the call. */
#include "device/staging.h"

#include <string.h>
#include <time.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "device/staging_internal.h"
#include "transport/shared.h"

#define WATCH_NS 10000000 /* between looks whether the group is over, while lanes are waited for */

size_t banyan_staging_chunk_elements(const banyan_staging *staged, const banyan_staging_call *call)
{
    size_t width = banyan_datatype_bytes(call->type), parts = (size_t)call->slot_parts, line = 64 / width,
           fit = staged->options.chunk_bytes / parts / width;

    return fit > line ? fit / line * line : fit;
}

int banyan_staging_lanes_of(const banyan_staging *staged, const banyan_staging_call *call)
{
    size_t elements = banyan_staging_chunk_elements(staged, call),
           chunks = (call->count + elements - 1) / elements, lanes = (size_t)staged->options.lane_count;

    return (int)(chunks < lanes ? chunks : lanes);
}

/* ---- Making it. */

static banyan_status create_events(banyan_staging *staged, banyan_staging_lane *lane, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < BANYAN_STAGING_SLOTS && !status; i++) {
        status = staged->table->event_create(staged->device, &lane->slots[i].fetched, err);
        if (!status)
            status = staged->table->event_create(staged->device, &lane->slots[i].stored, err);
    }
    return status;
}

static banyan_status create_streams(banyan_staging *staged, banyan_error *err)
{
    banyan_status status = staged->table->stream_create(staged->device, &staged->fetching, err);

    if (!status)
        status = staged->table->stream_create(staged->device, &staged->storing, err);
    for (int i = 0; i < staged->options.lane_count && !status; i++)
        status = create_events(staged, &staged->lanes[i], err);
    for (int i = 0; i < BANYAN_STAGING_TICKETS && !status; i++)
        status = staged->table->event_create(staged->device, &staged->begun[i], err);
    return status;
}

static banyan_status create_memory(banyan_staging *staged, banyan_error *err)
{
    size_t chunk = staged->options.chunk_bytes,
           slots = chunk * BANYAN_STAGING_SLOTS * (size_t)staged->options.lane_count,
           bytes = slots + BANYAN_STAGING_TICKETS * BANYAN_STAGING_MAX_LANES * sizeof *staged->words;
    uint64_t address = 0;
    void *memory;
    banyan_status status = banyan_shared_memory_alloc(bytes, &memory, err);

    if (status)
        return status;
    staged->memory = memory;
    if (staged->device)
        status = staged->table->register_memory(staged->device, memory, bytes, &address, err);
    if (status)
        return status;
    staged->is_registered = staged->device != NULL;
    for (int i = 0; i < staged->options.lane_count * BANYAN_STAGING_SLOTS; i++)
        staged->lanes[i / BANYAN_STAGING_SLOTS].slots[i % BANYAN_STAGING_SLOTS].memory =
            staged->memory + (size_t)i * chunk;
    staged->words = (_Atomic uint32_t *)(void *)(staged->memory + slots);
    staged->word_address = address + slots;
    return BANYAN_SUCCESS;
}

/* ---- The threads of lanes. */

static void *work(void *argument)
{
    banyan_staging_lane *lane = argument;
    banyan_staging *staged = lane->staged;

    pthread_mutex_lock(&staged->lock);
    while (!staged->is_ending) {
        banyan_error err = lane->err;
        banyan_status status = lane->status;

        if (!lane->call) {
            pthread_cond_wait(&staged->changed, &staged->lock);
            continue;
        }
        pthread_mutex_unlock(&staged->lock);
        status = banyan_staging_lane_run(lane, status, &err);
        pthread_mutex_lock(&staged->lock);
        lane->status = status;
        lane->err = err;
        lane->call = NULL;
        pthread_cond_broadcast(&staged->changed);
    }
    pthread_mutex_unlock(&staged->lock);
    return NULL;
}

static banyan_status start_lanes(banyan_staging *staged, banyan_error *err)
{
    for (int i = 0; i < staged->options.lane_count; i++) {
        banyan_staging_lane *lane = &staged->lanes[i];

        lane->staged = staged;
        lane->number = i;
        if (i && pthread_create(&lane->thread, NULL, work, lane))
            return banyan_fail(err, BANYAN_SYSTEM_ERROR, "rank %d cannot start a thread for staged calls",
                               staged->options.rank);
        lane->has_thread = i > 0;
    }
    return BANYAN_SUCCESS;
}

static void stop_lanes(banyan_staging *staged)
{
    pthread_mutex_lock(&staged->lock);
    staged->is_ending = 1;
    pthread_cond_broadcast(&staged->changed);
    pthread_mutex_unlock(&staged->lock);
    for (int i = 0; i < staged->options.lane_count; i++)
        if (staged->lanes[i].has_thread)
            pthread_join(staged->lanes[i].thread, NULL);
}

banyan_status banyan_staging_create(const banyan_staging_options *options, banyan_staging **out,
                                    banyan_error *err)
{
    banyan_staging *staged = banyan_alloc(1, sizeof *staged);
    pthread_condattr_t attributes;
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (!staged)
        return banyan_fail_memory(err);
    staged->options = *options;
    staged->device = options->device;
    staged->table = options->device ? options->device->table : NULL;
    atomic_store(&staged->free_tickets, BANYAN_STAGING_TICKETS);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&staged->lock, NULL);
    pthread_cond_init(&staged->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (staged->device)
        status = create_streams(staged, err);
    if (!status)
        status = create_memory(staged, err);
    if (!status)
        status = start_lanes(staged, err);
    if (status)
        banyan_staging_destroy(staged);
    else
        *out = staged;
    return status;
}

static void destroy_streams(banyan_staging *staged)
{
    for (int i = 0; i < staged->options.lane_count * BANYAN_STAGING_SLOTS; i++) {
        banyan_staging_slot *slot = &staged->lanes[i / BANYAN_STAGING_SLOTS].slots[i % BANYAN_STAGING_SLOTS];

        staged->table->event_destroy(staged->device, slot->fetched);
        staged->table->event_destroy(staged->device, slot->stored);
    }
    for (int i = 0; i < BANYAN_STAGING_TICKETS; i++)
        staged->table->event_destroy(staged->device, staged->begun[i]);
    staged->table->stream_destroy(staged->device, staged->fetching);
    staged->table->stream_destroy(staged->device, staged->storing);
}

static int has_passed(const banyan_staging *staged, uint32_t ticket)
{
    for (int lane = 0; lane < staged->options.lane_count; lane++)
        if (atomic_load(&staged->words[banyan_staging_word((int)ticket, lane)]))
            return 0;
    return 1;
}

/* Until streams that have not looked yet have: they write to the words. */
static void drain(const banyan_staging *staged)
{
    struct timespec pause = {.tv_nsec = 50000};
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)staged->options.timeout_ms * 1000000;

    for (uint32_t i = 0; i < BANYAN_STAGING_TICKETS; i++)
        while (!has_passed(staged, i) && banyan_clock_ns() < deadline_ns)
            nanosleep(&pause, NULL);
}

void banyan_staging_destroy(banyan_staging *staged)
{
    if (!staged)
        return;
    stop_lanes(staged);
    if (staged->storing) /* what the caller's stream waits for is behind the last copy */
        staged->table->synchronize(staged->device, staged->storing, NULL);
    if (staged->device)
        destroy_streams(staged);
    if (staged->words)
        drain(staged);
    if (staged->is_registered)
        staged->table->unregister_memory(staged->device, staged->memory);
    banyan_shared_memory_free(staged->memory, NULL);
    pthread_cond_destroy(&staged->changed);
    pthread_mutex_destroy(&staged->lock);
    banyan_free(staged);
}

/* ---- The caller's side. */

static banyan_status wait_for_ticket(banyan_staging *staged, banyan_error *err)
{
    struct timespec pause = {.tv_nsec = 50000};
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)staged->options.timeout_ms * 1000000;

    while (!atomic_load(&staged->free_tickets) ||
           !has_passed(staged, staged->tickets_given % BANYAN_STAGING_TICKETS)) {
        if (banyan_clock_ns() > deadline_ns)
            return banyan_fail(err, BANYAN_TIMEOUT, "rank %d is %d staged calls ahead of its stream",
                               staged->options.rank, BANYAN_STAGING_TICKETS);
        nanosleep(&pause, NULL);
    }
    atomic_fetch_sub(&staged->free_tickets, 1);
    return BANYAN_SUCCESS;
}

static banyan_status put_on_stream(banyan_staging *staged, int lanes, int ticket, void *stream,
                                   banyan_error *err)
{
    banyan_device_word list[2 * BANYAN_STAGING_MAX_LANES];
    banyan_status status = staged->table->record(staged->device, stream, staged->begun[ticket], err);

    if (status || !staged->table->words)
        return status;
    for (int i = 0; i < lanes; i++) {
        uint64_t word = banyan_staging_word_address(staged, ticket, i);

        list[2 * i] = (banyan_device_word){1, word, 1};
        list[2 * i + 1] = (banyan_device_word){0, word, 0};
    }
    return staged->table->words(staged->device, stream, list, 2 * lanes, err);
}

banyan_status banyan_staging_begin(banyan_staging *staged, const banyan_staging_call *call, void *stream,
                                   int *ticket, banyan_error *err)
{
    banyan_status status;

    *ticket = 0;
    if (!banyan_staging_chunk_elements(staged, call))
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "a chunk of %zu bytes (BANYAN_GPU_CHUNK) has no room for an element of each of %d "
                           "parts",
                           staged->options.chunk_bytes, call->slot_parts);
    if (!staged->device)
        return BANYAN_SUCCESS;
    if (staged->table->is_capturing && staged->table->is_capturing(staged->device, stream))
        return banyan_fail(err, BANYAN_INVALID_USAGE,
                           "a call that goes by way of the host cannot be captured in a graph");
    status = wait_for_ticket(staged, err);
    if (status)
        return status;
    *ticket = (int)(staged->tickets_given % BANYAN_STAGING_TICKETS);
    status = put_on_stream(staged, banyan_staging_lanes_of(staged, call), *ticket, stream, err);
    if (status)
        atomic_fetch_add(&staged->free_tickets, 1);
    else
        staged->tickets_given++;
    return status;
}

/* ---- All lanes. */

/* The first chunks are put on their way by one thread, so that they come in the order in which they are wanted
 * and no lane's second before another one's first. */
static banyan_status fetch_first(banyan_staging *staged, const banyan_staging_call *call, int lanes,
                                 banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < lanes; i++)
        banyan_staging_lane_begin(&staged->lanes[i], call);
    if (staged->device)
        status =
            staged->table->wait_event(staged->device, staged->fetching, staged->begun[call->ticket], err);
    for (int i = 0; i < lanes * BANYAN_STAGING_AHEAD && !status; i++)
        status = banyan_staging_lane_fetch(&staged->lanes[i % lanes], err);
    return status;
}

static void hand_out(banyan_staging *staged, const banyan_staging_call *call, int lanes, banyan_status status,
                     const banyan_error *err)
{
    pthread_mutex_lock(&staged->lock);
    for (int i = 1; i < lanes; i++) {
        staged->lanes[i].call = call;
        staged->lanes[i].status = status;
        staged->lanes[i].err = *err;
    }
    pthread_cond_broadcast(&staged->changed);
    pthread_mutex_unlock(&staged->lock);
}

/* The group may end by something that only its first communicator hears of: then the other lanes are told. */
static void wait_for_lane(banyan_staging *staged, const banyan_staging_lane *lane)
{
    const banyan_staging_options *o = &staged->options;

    while (lane->call) {
        int64_t until_ns = banyan_clock_ns() + WATCH_NS;
        struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
        banyan_status failure = o->failure(o->context);

        if (failure) {
            pthread_mutex_unlock(&staged->lock);
            o->end(o->context, failure, banyan_status_string(failure));
            pthread_mutex_lock(&staged->lock);
        }
        if (lane->call)
            pthread_cond_timedwait(&staged->changed, &staged->lock, &until);
    }
}

banyan_status banyan_staging_run(banyan_staging *staged, const banyan_staging_call *call, banyan_error *err)
{
    int lanes = banyan_staging_lanes_of(staged, call);
    banyan_status status = fetch_first(staged, call, lanes, err);

    if (lanes > 1)
        hand_out(staged, call, lanes, status, err);
    status = banyan_staging_lane_run(&staged->lanes[0], status, err);
    pthread_mutex_lock(&staged->lock);
    for (int i = 1; i < lanes; i++) {
        const banyan_staging_lane *lane = &staged->lanes[i];

        wait_for_lane(staged, lane);
        if (!status && lane->status) {
            status = lane->status;
            *err = lane->err;
        }
    }
    pthread_mutex_unlock(&staged->lock);
    if (staged->device)
        atomic_fetch_add(&staged->free_tickets, 1);
    return status;
}
