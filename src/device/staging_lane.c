/* SPDX-License-Identifier: Apache-2.0 */
/* device/staging_lane.c: one lane's chunks of a call. Between the streams, which copy, it only looks at words
 * and calls the collective. After a failure it goes through the remaining chunks without that, so that the
 * streams come to their end. */
#include <time.h>

#include "core/clock.h"
#include "core/relax.h"
#include "device/staging_internal.h"

enum { LOOKS = 2000 };

/* No deadline: before the chunk comes what the caller has given his stream, which may take as long as it
 * takes; the group's failure ends the wait elsewhere, in the collective. 0: it will not come. */
static int wait_until_fetched(const banyan_staging *staged, banyan_staging_slot *slot)
{
    struct timespec pause = {.tv_nsec = 20000};

    for (int looks = 0; !atomic_load_explicit(&slot->words->fetched, memory_order_acquire); looks++) {
        if (atomic_load(&staged->is_broken))
            return 0;
        if (looks < LOOKS)
            banyan_relax();
        else
            nanosleep(&pause, NULL);
    }
    atomic_store(&slot->words->fetched, 0);
    return 1;
}

static banyan_status run_chunk(banyan_staging_lane *lane, const banyan_staging_cut *cut, size_t chunk,
                               banyan_error *err)
{
    const banyan_staging_options *o = &lane->staged->options;
    const banyan_staging_slot *slot = banyan_staging_slot_of(lane->staged, cut, chunk);

    return o->run(o->lanes[lane->number], cut->call, slot->memory, banyan_staging_results(cut, slot),
                  banyan_staging_elements(cut, chunk), err);
}

static banyan_status run_between_streams(banyan_staging_lane *lane, const banyan_staging_cut *cut,
                                         banyan_error *err)
{
    banyan_staging *staged = lane->staged;
    banyan_status status = BANYAN_SUCCESS;

    for (size_t chunk = (size_t)lane->number; chunk < cut->chunk_count; chunk += (size_t)cut->lane_count) {
        banyan_staging_slot *slot = banyan_staging_slot_of(staged, cut, chunk);

        if (!wait_until_fetched(staged, slot) && !status)
            status = banyan_fail(err, BANYAN_UNHANDLED_CUDA_ERROR,
                                 "rank %d: its driver has refused a part of the call", staged->options.rank);
        if (!status) {
            status = run_chunk(lane, cut, chunk, err);
            if (status) /* the other lanes, and ranks, shall not wait for us meanwhile */
                staged->options.end(staged->options.context, status, err->text);
        }
        atomic_store_explicit(&slot->words->reduced, 1, memory_order_release);
    }
    return status;
}

/* Where the device has no words: one chunk after the other, each waited for. */
static banyan_status run_waiting(banyan_staging_lane *lane, const banyan_staging_cut *cut, banyan_error *err)
{
    banyan_staging *staged = lane->staged;
    const banyan_device_table *table = staged->table;
    banyan_status status =
        table->wait_event(staged->device, staged->fetching, staged->tickets[cut->call->ticket].begun, err);

    for (size_t chunk = (size_t)lane->number; chunk < cut->chunk_count && !status;
         chunk += (size_t)cut->lane_count) {
        status = banyan_staging_fetch(staged, cut, chunk, err);
        if (!status)
            status = table->synchronize(staged->device, staged->fetching, err);
        if (!status)
            status = run_chunk(lane, cut, chunk, err);
        if (!status)
            status = banyan_staging_store(staged, cut, chunk, err);
        if (!status)
            status = table->synchronize(staged->device, staged->storing, err);
    }
    return status;
}

/* A rank without a device: where the vector has one part, the collective works on it where it lies. */
static banyan_status run_on_host(banyan_staging_lane *lane, const banyan_staging_cut *cut, banyan_error *err)
{
    const banyan_staging_call *call = cut->call;
    const banyan_staging_options *o = &lane->staged->options;
    banyan_status status = BANYAN_SUCCESS;

    for (size_t chunk = (size_t)lane->number; chunk < cut->chunk_count && !status;
         chunk += (size_t)cut->lane_count) {
        size_t at = banyan_staging_first(cut, chunk) * cut->width;

        if (call->slot_parts == 1) {
            status = o->run(
                o->lanes[lane->number], call, call->send_parts ? (const char *)call->send + at : NULL,
                call->recv_parts ? (char *)call->recv + at : NULL, banyan_staging_elements(cut, chunk), err);
            continue;
        }
        status = banyan_staging_fetch(lane->staged, cut, chunk, err);
        if (!status)
            status = run_chunk(lane, cut, chunk, err);
        if (!status)
            status = banyan_staging_store(lane->staged, cut, chunk, err);
    }
    return status;
}

banyan_status banyan_staging_lane_run(banyan_staging_lane *lane, const banyan_staging_call *call,
                                      banyan_error *err)
{
    banyan_staging *staged = lane->staged;
    banyan_staging_cut cut = banyan_staging_cut_call(staged, call);
    banyan_status status;

    if (!staged->device)
        status = run_on_host(lane, &cut, err);
    else if (staged->table->words)
        status = run_between_streams(lane, &cut, err);
    else
        status = run_waiting(lane, &cut, err);
    if (status)
        staged->options.end(staged->options.context, status, err->text);
    return status;
}
