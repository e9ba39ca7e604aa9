/* SPDX-License-Identifier: Apache-2.0 */
/* device/staging.c: what is around the lanes: slots and streams, tickets, and handing a call to all lanes.
 * Slots lie in memory that the ranks of a host reach in place (transport/shared.h), so that nothing is copied
 * between processes. */
#include "device/staging.h"

#include <time.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "device/staging_internal.h"
#include "transport/shared.h"

#define WATCH_NS 10000000 /* between looks whether the group is over, while lanes are waited for */

/* ---- Making it. */

static banyan_staging_slot *slot_at(banyan_staging *staged, int i)
{
    return &staged->lanes[i / BANYAN_STAGING_SLOTS].slots[i % BANYAN_STAGING_SLOTS];
}

static int count_slots(const banyan_staging *staged)
{
    return staged->options.lane_count * BANYAN_STAGING_SLOTS;
}

static banyan_status create_streams(banyan_staging *staged, banyan_error *err)
{
    banyan_device *device = staged->device;
    banyan_status status = staged->table->stream_create(device, &staged->fetching, err);

    if (!status)
        status = staged->table->stream_create(device, &staged->telling, err);
    if (!status)
        status = staged->table->stream_create(device, &staged->storing, err);
    for (int i = 0; i < count_slots(staged) && !status; i++) {
        status = staged->table->event_create(device, &slot_at(staged, i)->copied, err);
        if (!status)
            status = staged->table->event_create(device, &slot_at(staged, i)->stored, err);
    }
    for (int i = 0; i < BANYAN_STAGING_TICKETS && !status; i++) {
        status = staged->table->event_create(device, &staged->tickets[i].begun, err);
        if (!status)
            status = staged->table->event_create(device, &staged->tickets[i].done, err);
    }
    return status;
}

static banyan_status create_memory(banyan_staging *staged, banyan_error *err)
{
    size_t chunk = staged->options.chunk_bytes, count = (size_t)count_slots(staged),
           bytes = count * (chunk + sizeof(banyan_staging_words));
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
    for (size_t i = 0; i < count; i++) {
        banyan_staging_slot *slot = slot_at(staged, (int)i);
        size_t words = count * chunk + i * sizeof *slot->words;

        slot->memory = staged->memory + i * chunk;
        slot->words = (banyan_staging_words *)(void *)(staged->memory + words);
        slot->words_address = address + words;
    }
    return BANYAN_SUCCESS;
}

/* ---- The threads of lanes. */

static void *work(void *argument)
{
    banyan_staging_lane *lane = argument;
    banyan_staging *staged = lane->staged;

    pthread_mutex_lock(&staged->lock);
    while (!staged->is_ending) {
        const banyan_staging_call *call = lane->call;
        banyan_error err = {""};
        banyan_status status;

        if (!call) {
            pthread_cond_wait(&staged->changed, &staged->lock);
            continue;
        }
        pthread_mutex_unlock(&staged->lock);
        status = banyan_staging_lane_run(lane, call, &err);
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
    if (staged->fetching)
        staged->table->synchronize(staged->device, staged->fetching, NULL);
    if (staged->telling)
        staged->table->synchronize(staged->device, staged->telling, NULL);
    if (staged->storing)
        staged->table->synchronize(staged->device, staged->storing, NULL);
    for (int i = 0; i < count_slots(staged); i++) {
        staged->table->event_destroy(staged->device, slot_at(staged, i)->copied);
        staged->table->event_destroy(staged->device, slot_at(staged, i)->stored);
    }
    for (int i = 0; i < BANYAN_STAGING_TICKETS; i++) {
        staged->table->event_destroy(staged->device, staged->tickets[i].begun);
        staged->table->event_destroy(staged->device, staged->tickets[i].done);
    }
    staged->table->stream_destroy(staged->device, staged->fetching);
    staged->table->stream_destroy(staged->device, staged->telling);
    staged->table->stream_destroy(staged->device, staged->storing);
}

void banyan_staging_destroy(banyan_staging *staged)
{
    if (!staged)
        return;
    stop_lanes(staged);
    if (staged->device)
        destroy_streams(staged);
    if (staged->is_registered)
        staged->table->unregister_memory(staged->device, staged->memory);
    banyan_shared_memory_free(staged->memory, NULL);
    pthread_cond_destroy(&staged->changed);
    pthread_mutex_destroy(&staged->lock);
    banyan_free(staged);
}

/* ---- Tickets. */

static banyan_status wait_for_ticket(banyan_staging *staged, banyan_error *err)
{
    struct timespec pause = {.tv_nsec = 50000};
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)*staged->options.timeout_ms * 1000000;

    while (!atomic_load(&staged->free_tickets)) {
        if (banyan_clock_ns() > deadline_ns)
            return banyan_fail(err, BANYAN_TIMEOUT, "rank %d is %d staged calls ahead of its stream",
                               staged->options.rank, BANYAN_STAGING_TICKETS);
        nanosleep(&pause, NULL);
    }
    return BANYAN_SUCCESS;
}

banyan_status banyan_staging_begin(banyan_staging *staged, const banyan_staging_call *call, void *stream,
                                   int *ticket, banyan_error *err)
{
    banyan_staging_cut cut = banyan_staging_cut_call(staged, call);
    banyan_status status;
    size_t rounds;

    *ticket = 0;
    if (!cut.elements)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "a chunk of %zu bytes (BANYAN_GPU_CHUNK) has no room for an element of each of %d "
                           "parts",
                           staged->options.chunk_bytes, call->slot_parts);
    if (staged->device && staged->table->is_capturing && staged->table->is_capturing(staged->device, stream))
        return banyan_fail(err, BANYAN_INVALID_USAGE,
                           "a call that goes by way of the host cannot be captured in a graph");
    status = wait_for_ticket(staged, err);
    if (status)
        return status;
    *ticket = (int)(staged->tickets_given % BANYAN_STAGING_TICKETS);
    if (staged->device && !staged->table->words)
        status = staged->table->record(staged->device, stream, staged->tickets[*ticket].begun, err);
    if (status)
        return status;
    rounds = (cut.chunk_count + (size_t)cut.lane_count - 1) / (size_t)cut.lane_count;
    staged->tickets[*ticket].first_slot = staged->next_slot;
    staged->next_slot = (int)(((size_t)staged->next_slot + rounds) % BANYAN_STAGING_SLOTS);
    staged->tickets_given++;
    atomic_fetch_sub(&staged->free_tickets, 1);
    return BANYAN_SUCCESS;
}

void banyan_staging_give_back(banyan_staging *staged)
{
    atomic_fetch_add(&staged->free_tickets, 1);
}

/* ---- All lanes. */

static void hand_out(banyan_staging *staged, const banyan_staging_call *call, int lanes)
{
    pthread_mutex_lock(&staged->lock);
    for (int i = 1; i < lanes; i++)
        staged->lanes[i].call = call;
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
    int lanes = banyan_staging_cut_call(staged, call).lane_count;
    banyan_status status;

    if (lanes > 1)
        hand_out(staged, call, lanes);
    status = banyan_staging_lane_run(&staged->lanes[0], call, err);
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
    banyan_staging_give_back(staged);
    return status;
}
