/* SPDX-License-Identifier: Apache-2.0 */
/* device/staging_copy.c: how a call is cut into chunks, and their copies. All of them are put on the streams
 * by the caller, in an order in which each waits for earlier ones only:
 *
 *     fetch 0 ... fetch 5,   store 0, fetch 6,   store 1, fetch 7,   ...          with six slots in all
 *
 *     a fetch    waits until its slot has been stored; copies; another stream says 'fetched', so that the
 *                next copy need not wait for the word to be written
 *     a store    waits for 'reduced'; copies; is recorded as the slot's */
#include <string.h>

#include "device/staging_internal.h"

static size_t round_to_lines(size_t elements, size_t line)
{
    return elements > line ? elements / line * line : elements;
}

/* Nothing is copied beside the first chunks, and nothing comes beside the last ones: both are half as long,
 * one for every lane at each end, where the vector has room for them. */
banyan_staging_cut banyan_staging_cut_call(const banyan_staging *staged, const banyan_staging_call *call)
{
    banyan_staging_cut cut = {.call = call, .width = banyan_datatype_bytes(call->type)};
    size_t line = 64 / cut.width, lanes = (size_t)staged->options.lane_count, middle;

    cut.elements = round_to_lines(staged->options.chunk_bytes / (size_t)call->slot_parts / cut.width, line);
    if (!cut.elements)
        return cut;
    cut.edge = round_to_lines(cut.elements / 2, line);
    cut.edge_count = cut.edge ? call->count / cut.edge / 2 : 0;
    cut.edge_count = cut.edge_count < lanes ? cut.edge_count : lanes;
    middle = call->count - 2 * cut.edge_count * cut.edge;
    cut.chunk_count = 2 * cut.edge_count + (middle + cut.elements - 1) / cut.elements;
    cut.lane_count = (int)(cut.chunk_count < lanes ? cut.chunk_count : lanes);
    return cut;
}

banyan_staging_slot *banyan_staging_slot_of(banyan_staging *staged, const banyan_staging_cut *cut,
                                            size_t chunk)
{
    size_t lanes = (size_t)cut->lane_count, first = (size_t)staged->tickets[cut->call->ticket].first_slot;

    return &staged->lanes[chunk % lanes].slots[(first + chunk / lanes) % BANYAN_STAGING_SLOTS];
}

size_t banyan_staging_first(const banyan_staging_cut *cut, size_t chunk)
{
    if (chunk <= cut->edge_count)
        return chunk * cut->edge;
    if (chunk + cut->edge_count >= cut->chunk_count)
        return cut->call->count - (cut->chunk_count - chunk) * cut->edge;
    return cut->edge_count * cut->edge + (chunk - cut->edge_count) * cut->elements;
}

size_t banyan_staging_elements(const banyan_staging_cut *cut, size_t chunk)
{
    return banyan_staging_first(cut, chunk + 1) - banyan_staging_first(cut, chunk);
}

char *banyan_staging_results(const banyan_staging_cut *cut, const banyan_staging_slot *slot)
{
    size_t sent = (size_t)cut->call->send_parts * cut->elements * cut->width;

    return cut->call->slot_parts == 1 ? slot->memory : slot->memory + sent;
}

static banyan_status copy(banyan_staging *staged, void *stream, void *into, const void *from, size_t bytes,
                          banyan_error *err)
{
    if (staged->device)
        return staged->table->copy(staged->device, stream, into, from, bytes, err);
    memcpy(into, from, bytes);
    return BANYAN_SUCCESS;
}

banyan_status banyan_staging_fetch(banyan_staging *staged, const banyan_staging_cut *cut, size_t chunk,
                                   banyan_error *err)
{
    const banyan_staging_call *call = cut->call;
    char *into = banyan_staging_slot_of(staged, cut, chunk)->memory;
    const char *from = (const char *)call->send + banyan_staging_first(cut, chunk) * cut->width;
    size_t bytes = banyan_staging_elements(cut, chunk) * cut->width;
    banyan_status status = BANYAN_SUCCESS;

    for (size_t i = 0; i < (size_t)call->send_parts && !status; i++)
        status =
            copy(staged, staged->fetching, into + i * bytes, from + i * call->count * cut->width, bytes, err);
    return status;
}

banyan_status banyan_staging_store(banyan_staging *staged, const banyan_staging_cut *cut, size_t chunk,
                                   banyan_error *err)
{
    const banyan_staging_call *call = cut->call;
    const char *from = banyan_staging_results(cut, banyan_staging_slot_of(staged, cut, chunk));
    char *into = (char *)call->recv + banyan_staging_first(cut, chunk) * cut->width;
    size_t bytes = banyan_staging_elements(cut, chunk) * cut->width;
    banyan_status status = BANYAN_SUCCESS;

    for (size_t i = 0; i < (size_t)call->recv_parts && !status; i++)
        status =
            copy(staged, staged->storing, into + i * call->count * cut->width, from + i * bytes, bytes, err);
    return status;
}

/* ---- On the streams. */

static banyan_device_word make_word(int is_wait, const banyan_staging_slot *slot, size_t offset,
                                    uint32_t value)
{
    return (banyan_device_word){is_wait, slot->words_address + offset, value};
}

static banyan_status put_fetch(banyan_staging *staged, const banyan_staging_cut *cut, size_t chunk,
                               banyan_error *err)
{
    const banyan_staging_slot *slot = banyan_staging_slot_of(staged, cut, chunk);
    banyan_device_word word = make_word(0, slot, offsetof(banyan_staging_words, fetched), 1);
    banyan_status status = BANYAN_SUCCESS;

    if (slot->is_used)
        status = staged->table->wait_event(staged->device, staged->fetching, slot->stored, err);
    if (!status)
        status = banyan_staging_fetch(staged, cut, chunk, err);
    if (!status)
        status = staged->table->record(staged->device, staged->fetching, slot->copied, err);
    if (!status)
        status = staged->table->wait_event(staged->device, staged->telling, slot->copied, err);
    return status ? status : staged->table->words(staged->device, staged->telling, &word, 1, err);
}

static banyan_status put_store(banyan_staging *staged, const banyan_staging_cut *cut, size_t chunk,
                               banyan_error *err)
{
    banyan_staging_slot *slot = banyan_staging_slot_of(staged, cut, chunk);
    size_t reduced = offsetof(banyan_staging_words, reduced);
    banyan_device_word words[] = {make_word(1, slot, reduced, 1), make_word(0, slot, reduced, 0)};
    banyan_status status = staged->table->words(staged->device, staged->storing, words, 2, err);

    if (!status)
        status = banyan_staging_store(staged, cut, chunk, err);
    if (!status)
        status = staged->table->record(staged->device, staged->storing, slot->stored, err);
    slot->is_used = 1;
    return status;
}

static banyan_status put_chunks(banyan_staging *staged, const banyan_staging_cut *cut, banyan_error *err)
{
    size_t ahead = (size_t)cut->lane_count * BANYAN_STAGING_SLOTS;
    banyan_status status = BANYAN_SUCCESS;

    for (size_t chunk = 0; chunk < cut->chunk_count && chunk < ahead && !status; chunk++)
        status = put_fetch(staged, cut, chunk, err);
    for (size_t chunk = 0; chunk < cut->chunk_count && !status; chunk++) {
        status = put_store(staged, cut, chunk, err);
        if (!status && chunk + ahead < cut->chunk_count)
            status = put_fetch(staged, cut, chunk + ahead, err);
    }
    return status;
}

banyan_status banyan_staging_put(banyan_staging *staged, const banyan_staging_call *call, void *stream,
                                 banyan_error *err)
{
    banyan_staging_cut cut = banyan_staging_cut_call(staged, call);
    const banyan_staging_ticket *ticket = &staged->tickets[call->ticket];
    const banyan_device_table *table = staged->table;
    banyan_status status;

    if (!staged->device || !table->words)
        return BANYAN_SUCCESS;
    status = table->record(staged->device, stream, ticket->begun, err);
    if (!status)
        status = table->wait_event(staged->device, staged->fetching, ticket->begun, err);
    if (!status)
        status = put_chunks(staged, &cut, err);
    if (!status)
        status = table->record(staged->device, staged->storing, ticket->done, err);
    if (!status)
        status = table->wait_event(staged->device, stream, ticket->done, err);
    if (status)
        atomic_store(&staged->is_broken, 1);
    return status;
}
