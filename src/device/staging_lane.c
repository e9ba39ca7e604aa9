/* SPDX-License-Identifier: Apache-2.0 */
/* device/staging_lane.c: one lane's chunks of a call: every so-manieth. Copies of all lanes share two
 * streams. A fetch waits on its stream until the slot has been stored, which was put on the other stream
 * before: no copy waits for one that is yet to be put there. */
#include <string.h>
#include <time.h>

#include "core/relax.h"
#include "device/staging_internal.h"

enum { LOOKS = 2000 };

typedef banyan_staging_pass pass;

static size_t elements_of(const pass *p, size_t chunk)
{
    size_t begin = chunk * p->elements, left = p->call->count - begin;

    return left < p->elements ? left : p->elements;
}

/* The lane's chunks have every slot in turn. */
static banyan_staging_slot *slot_of(banyan_staging_lane *lane, const pass *p, size_t chunk)
{
    return &lane->slots[((size_t)p->first_slot + chunk / p->stride) % BANYAN_STAGING_SLOTS];
}

/* Where results are in a slot: behind what is sent, or in its place. */
static char *results_of(const banyan_staging_slot *slot, const pass *p)
{
    size_t part = p->elements * banyan_datatype_bytes(p->call->type);

    return p->call->slot_parts == 1 ? slot->memory : slot->memory + (size_t)p->call->send_parts * part;
}

static banyan_status copy(banyan_staging *staged, void *stream, void *into, const void *from, size_t bytes,
                          banyan_error *err)
{
    if (staged->device)
        return staged->table->copy(staged->device, stream, into, from, bytes, err);
    memcpy(into, from, bytes);
    return BANYAN_SUCCESS;
}

static banyan_status fetch_parts(banyan_staging *staged, const pass *p, size_t chunk, char *into,
                                 banyan_error *err)
{
    size_t width = banyan_datatype_bytes(p->call->type), at = chunk * p->elements * width,
           part = p->call->count * width, bytes = elements_of(p, chunk) * width;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < p->call->send_parts && !status; i++)
        status = copy(staged, staged->fetching, into + (size_t)i * bytes,
                      (const char *)p->call->send + (size_t)i * part + at, bytes, err);
    return status;
}

static banyan_status store_parts(banyan_staging *staged, const pass *p, size_t chunk, const char *from,
                                 banyan_error *err)
{
    size_t width = banyan_datatype_bytes(p->call->type), at = chunk * p->elements * width,
           part = p->call->count * width, bytes = elements_of(p, chunk) * width;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < p->call->recv_parts && !status; i++)
        status = copy(staged, staged->storing, (char *)p->call->recv + (size_t)i * part + at,
                      from + (size_t)i * bytes, bytes, err);
    return status;
}

void banyan_staging_lane_begin(banyan_staging_lane *lane, const banyan_staging_call *call)
{
    size_t elements = banyan_staging_chunk_elements(lane->staged, call);

    lane->pass = (pass){.call = call,
                        .elements = elements,
                        .chunk_count = (call->count + elements - 1) / elements,
                        .stride = (size_t)banyan_staging_lanes_of(lane->staged, call),
                        .fetched = (size_t)lane->number,
                        .first_slot = lane->next_slot};
    lane->next_slot = (int)(((size_t)lane->next_slot +
                             (lane->pass.chunk_count + lane->pass.stride - 1) / lane->pass.stride) %
                            BANYAN_STAGING_SLOTS);
}

banyan_status banyan_staging_lane_fetch(banyan_staging_lane *lane, banyan_error *err)
{
    banyan_staging *staged = lane->staged;
    pass *p = &lane->pass;
    banyan_staging_slot *slot = slot_of(lane, p, p->fetched);
    banyan_status status = BANYAN_SUCCESS;

    if (!staged->device || p->fetched >= p->chunk_count)
        return BANYAN_SUCCESS;
    if (slot->is_used)
        status = staged->table->wait_event(staged->device, staged->fetching, slot->stored, err);
    slot->is_used = 1;
    if (!status)
        status = fetch_parts(staged, p, p->fetched, slot->memory, err);
    if (!status)
        status = staged->table->record(staged->device, staged->fetching, slot->fetched, err);
    p->fetched += p->stride;
    return status;
}

/* No deadline: before it is ready comes what the caller has given his stream, which may take as long as it
 * takes; the group's failure ends the wait elsewhere, in the collective. */
static banyan_status wait_for(banyan_staging *staged, banyan_device_event *event, banyan_error *err)
{
    struct timespec pause = {.tv_nsec = 20000};
    banyan_status status;

    for (int looks = 0; (status = staged->table->is_ready(staged->device, event, err)) == BANYAN_IN_PROGRESS;
         looks++) {
        if (looks < LOOKS)
            banyan_relax();
        else
            nanosleep(&pause, NULL);
    }
    return status;
}

static banyan_status run_chunk(banyan_staging_lane *lane, const pass *p, size_t chunk, banyan_error *err)
{
    banyan_staging *staged = lane->staged;
    const banyan_staging_options *o = &staged->options;
    banyan_staging_slot *slot = slot_of(lane, p, chunk);
    banyan_status status = wait_for(staged, slot->fetched, err);

    if (!status)
        status = o->run(o->lanes[lane->number], p->call, slot->memory, results_of(slot, p),
                        elements_of(p, chunk), err);
    if (!status)
        status = store_parts(staged, p, chunk, results_of(slot, p), err);
    if (!status)
        status = staged->table->record(staged->device, staged->storing, slot->stored, err);
    return status;
}

static banyan_status run_chunks(banyan_staging_lane *lane, banyan_error *err)
{
    const pass *p = &lane->pass;
    size_t ahead = BANYAN_STAGING_AHEAD * p->stride;
    banyan_status status = BANYAN_SUCCESS;

    for (size_t chunk = (size_t)lane->number; chunk < p->chunk_count && !status; chunk += p->stride) {
        if (p->fetched < chunk + ahead)
            status = banyan_staging_lane_fetch(lane, err);
        if (!status)
            status = run_chunk(lane, p, chunk, err);
    }
    return status;
}

/* A rank without a device: where the vector has one part, the collective works on it where it lies. */
static banyan_status run_on_host(banyan_staging_lane *lane, const pass *p, banyan_error *err)
{
    const banyan_staging_call *call = p->call;
    const banyan_staging_options *o = &lane->staged->options;
    banyan_staging_slot *slot = &lane->slots[0];
    banyan_status status = BANYAN_SUCCESS;

    for (size_t chunk = (size_t)lane->number; chunk < p->chunk_count && !status; chunk += p->stride) {
        size_t at = chunk * p->elements * banyan_datatype_bytes(call->type);
        const char *send = slot->memory;
        char *recv = results_of(slot, p);

        if (call->slot_parts == 1) {
            send = call->send_parts ? (const char *)call->send + at : NULL;
            recv = call->recv_parts ? (char *)call->recv + at : NULL;
        } else {
            status = fetch_parts(lane->staged, p, chunk, slot->memory, err);
        }
        if (!status)
            status = o->run(o->lanes[lane->number], call, send, recv, elements_of(p, chunk), err);
        if (!status && call->slot_parts != 1)
            status = store_parts(lane->staged, p, chunk, recv, err);
    }
    return status;
}

/* Behind the last copy, or at once when there was a failure. */
static banyan_status free_stream(banyan_staging_lane *lane, int ticket, banyan_status status,
                                 banyan_error *err)
{
    banyan_staging *staged = lane->staged;
    banyan_device_word word = {0, banyan_staging_word_address(staged, ticket, lane->number), 1};

    if (!staged->table->words)
        return status ? status : staged->table->synchronize(staged->device, staged->storing, err);
    if (!status)
        status = staged->table->words(staged->device, staged->storing, &word, 1, err);
    if (status)
        atomic_store(&staged->words[banyan_staging_word(ticket, lane->number)], 1);
    return status;
}

banyan_status banyan_staging_lane_run(banyan_staging_lane *lane, banyan_status status, banyan_error *err)
{
    banyan_staging *staged = lane->staged;

    if (!status)
        status = staged->device ? run_chunks(lane, err) : run_on_host(lane, &lane->pass, err);
    if (staged->device)
        status = free_stream(lane, lane->pass.call->ticket, status, err);
    if (status)
        staged->options.end(staged->options.context, status, err->text);
    return status;
}
