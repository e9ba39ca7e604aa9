/* SPDX-License-Identifier: Apache-2.0 */
/* device/staging.c: chunks through page-locked slots, with one stream for each direction. Slots lie in memory
 * that the ranks of a host reach in place (transport/shared.h), so that nothing is copied between processes.
 *
 * The caller's stream waits for a word that is written behind the last copy. Where the device has no
 * words, the call waits for the copies itself, and whoever began it waits for the call. */
#include "device/staging.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/relax.h"
#include "transport/shared.h"

enum { SLOTS = 4, TICKETS = 32, LOOKS = 2000 };

typedef struct {
    char *memory;
    banyan_device_event *fetched, *stored;
    int is_used;
} chunk_slot;

struct banyan_staging {
    banyan_staging_options options;
    banyan_device *device;
    const banyan_device_table *table;
    void *fetching, *storing; /* streams */
    char *memory;             /* of all slots, and behind them the words */
    size_t memory_bytes;
    int is_registered;
    chunk_slot slots[SLOTS];
    int next_slot;           /* of the next chunk */
    _Atomic uint32_t *words; /* by ticket. 1: the stream may go on; it takes that back */
    uint64_t word_address;
    banyan_device_event *begun[TICKETS];
    _Atomic uint32_t free_tickets;
    uint32_t tickets_given;
};

static banyan_status create_streams(banyan_staging *staged, banyan_error *err)
{
    banyan_status status = staged->table->stream_create(staged->device, &staged->fetching, err);

    if (!status)
        status = staged->table->stream_create(staged->device, &staged->storing, err);
    for (int i = 0; i < SLOTS && !status; i++) {
        status = staged->table->event_create(staged->device, &staged->slots[i].fetched, err);
        if (!status)
            status = staged->table->event_create(staged->device, &staged->slots[i].stored, err);
    }
    for (int i = 0; i < TICKETS && !status; i++)
        status = staged->table->event_create(staged->device, &staged->begun[i], err);
    return status;
}

static banyan_status create_memory(banyan_staging *staged, banyan_error *err)
{
    size_t chunk = staged->options.chunk_bytes;
    uint64_t address;
    void *memory;
    banyan_status status;

    staged->memory_bytes = SLOTS * chunk + TICKETS * sizeof *staged->words;
    status = banyan_shared_memory_alloc(staged->memory_bytes, &memory, err);
    if (status)
        return status;
    staged->memory = memory;
    status = staged->table->register_memory(staged->device, memory, staged->memory_bytes, &address, err);
    if (status)
        return status;
    staged->is_registered = 1;
    for (int i = 0; i < SLOTS; i++)
        staged->slots[i].memory = staged->memory + (size_t)i * chunk;
    staged->words = (_Atomic uint32_t *)(void *)(staged->memory + SLOTS * chunk);
    staged->word_address = address + SLOTS * chunk;
    return BANYAN_SUCCESS;
}

banyan_status banyan_staging_create(const banyan_staging_options *options, banyan_staging **out,
                                    banyan_error *err)
{
    banyan_staging *staged = banyan_alloc(1, sizeof *staged);
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (!staged)
        return banyan_fail_memory(err);
    staged->options = *options;
    staged->device = options->device;
    atomic_store(&staged->free_tickets, TICKETS);
    if (staged->device) {
        staged->table = staged->device->table;
        status = create_streams(staged, err);
        if (!status)
            status = create_memory(staged, err);
    }
    if (status)
        banyan_staging_destroy(staged);
    else
        *out = staged;
    return status;
}

void banyan_staging_destroy(banyan_staging *staged)
{
    if (!staged)
        return;
    if (staged->storing) /* what the caller's stream waits for is behind the last copy */
        staged->table->synchronize(staged->device, staged->storing, NULL);
    for (int i = 0; i < SLOTS && staged->device; i++) {
        staged->table->event_destroy(staged->device, staged->slots[i].fetched);
        staged->table->event_destroy(staged->device, staged->slots[i].stored);
    }
    for (int i = 0; i < TICKETS && staged->device; i++)
        staged->table->event_destroy(staged->device, staged->begun[i]);
    if (staged->device) {
        staged->table->stream_destroy(staged->device, staged->fetching);
        staged->table->stream_destroy(staged->device, staged->storing);
    }
    if (staged->words) { /* a stream that has not looked yet */
        struct timespec pause = {.tv_nsec = 50000};
        int64_t deadline_ns = banyan_clock_ns() + (int64_t)staged->options.timeout_ms * 1000000;

        for (int i = 0; i < TICKETS; i++)
            while (atomic_load(&staged->words[i]) && banyan_clock_ns() < deadline_ns)
                nanosleep(&pause, NULL);
    }
    if (staged->is_registered)
        staged->table->unregister_memory(staged->device, staged->memory);
    banyan_shared_memory_free(staged->memory, NULL);
    banyan_free(staged);
}

/* ---- The caller's side. */

static banyan_status wait_for_ticket(banyan_staging *staged, banyan_error *err)
{
    struct timespec pause = {.tv_nsec = 50000};
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)staged->options.timeout_ms * 1000000;
    _Atomic uint32_t *word = &staged->words[staged->tickets_given % TICKETS];

    while (!atomic_load(&staged->free_tickets) || atomic_load(word)) {
        if (banyan_clock_ns() > deadline_ns)
            return banyan_fail(err, BANYAN_TIMEOUT, "rank %d is %d staged calls ahead of its stream",
                               staged->options.rank, TICKETS);
        nanosleep(&pause, NULL);
    }
    atomic_fetch_sub(&staged->free_tickets, 1);
    return BANYAN_SUCCESS;
}

banyan_status banyan_staging_begin(banyan_staging *staged, void *stream, int *ticket, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    uint64_t word;

    *ticket = 0;
    if (!staged->device)
        return BANYAN_SUCCESS;
    if (staged->table->is_capturing && staged->table->is_capturing(staged->device, stream))
        return banyan_fail(err, BANYAN_INVALID_USAGE,
                           "a call that goes by way of the host cannot be captured in a graph");
    status = wait_for_ticket(staged, err);
    if (status)
        return status;
    *ticket = (int)(staged->tickets_given % TICKETS);
    word = staged->word_address + (uint64_t)*ticket * sizeof *staged->words;
    status = staged->table->record(staged->device, stream, staged->begun[*ticket], err);
    if (!status && staged->table->words)
        status = staged->table->words(staged->device, stream,
                                      (banyan_device_word[]){{1, word, 1}, {0, word, 0}}, 2, err);
    if (status)
        atomic_fetch_add(&staged->free_tickets, 1);
    else
        staged->tickets_given++;
    return status;
}

/* ---- The chunks. */

typedef struct {
    const banyan_staging_call *call;
    size_t elements; /* of a chunk */
    size_t chunk_count, fetched;
    int first_slot;
} pass;

static size_t chunk_elements(const pass *p, size_t chunk)
{
    size_t begin = chunk * p->elements, left = p->call->count - begin;

    return left < p->elements ? left : p->elements;
}

static chunk_slot *slot_of(banyan_staging *staged, const pass *p, size_t chunk)
{
    return &staged->slots[((size_t)p->first_slot + chunk) % SLOTS];
}

static banyan_status fetch(banyan_staging *staged, pass *p, banyan_error *err)
{
    chunk_slot *slot = slot_of(staged, p, p->fetched);
    size_t width = banyan_datatype_bytes(p->call->type);
    banyan_status status = BANYAN_SUCCESS;

    if (slot->is_used)
        status = staged->table->wait_event(staged->device, staged->fetching, slot->stored, err);
    slot->is_used = 1;
    if (!status)
        status = staged->table->copy(staged->device, staged->fetching, slot->memory,
                                     (const char *)p->call->send + p->fetched * p->elements * width,
                                     chunk_elements(p, p->fetched) * width, err);
    if (!status)
        status = staged->table->record(staged->device, staged->fetching, slot->fetched, err);
    p->fetched++;
    return status;
}

/* No deadline: before it is ready comes what the caller has given his stream, which may take as long as it
 * takes; the group's failure ends the wait elsewhere, in the all-reduce. */
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

static banyan_status run_chunk(banyan_staging *staged, pass *p, size_t chunk, banyan_error *err)
{
    const banyan_staging_call *call = p->call;
    size_t width = banyan_datatype_bytes(call->type), at = chunk * p->elements * width,
           elements = chunk_elements(p, chunk);
    chunk_slot *slot = slot_of(staged, p, chunk);
    banyan_status status;

    if (!staged->device)
        return staged->options.allreduce(staged->options.context, (const char *)call->send + at,
                                         (char *)call->recv + at, elements, call->type, call->op);
    status = wait_for(staged, slot->fetched, err);
    if (!status)
        status = staged->options.allreduce(staged->options.context, slot->memory, slot->memory, elements,
                                           call->type, call->op);
    if (!status)
        status = staged->table->copy(staged->device, staged->storing, (char *)call->recv + at, slot->memory,
                                     elements * width, err);
    if (!status)
        status = staged->table->record(staged->device, staged->storing, slot->stored, err);
    return status;
}

static banyan_status run_chunks(banyan_staging *staged, pass *p, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (staged->device)
        status =
            staged->table->wait_event(staged->device, staged->fetching, staged->begun[p->call->ticket], err);
    for (size_t chunk = 0; chunk < p->chunk_count && !status; chunk++) {
        while (staged->device && !status && p->fetched < p->chunk_count && p->fetched < chunk + SLOTS - 1)
            status = fetch(staged, p, err);
        if (!status)
            status = run_chunk(staged, p, chunk, err);
    }
    return status;
}

/* Behind the last copy, or at once when there was a failure. */
static banyan_status free_stream(banyan_staging *staged, int ticket, banyan_status status, banyan_error *err)
{
    banyan_device_word word = {0, staged->word_address + (uint64_t)ticket * sizeof *staged->words, 1};

    if (!staged->table->words)
        return status ? status : staged->table->synchronize(staged->device, staged->storing, err);
    if (!status)
        status = staged->table->words(staged->device, staged->storing, &word, 1, err);
    if (status)
        atomic_store(&staged->words[ticket], 1);
    return status;
}

banyan_status banyan_staging_run(banyan_staging *staged, const banyan_staging_call *call, banyan_error *err)
{
    pass p = {.call = call,
              .elements = staged->options.chunk_bytes / banyan_datatype_bytes(call->type),
              .first_slot = staged->next_slot};
    banyan_status status;

    p.chunk_count = (call->count + p.elements - 1) / p.elements;
    status = run_chunks(staged, &p, err);
    staged->next_slot = (int)(((size_t)staged->next_slot + p.chunk_count) % SLOTS);
    if (staged->device) {
        status = free_stream(staged, call->ticket, status, err);
        atomic_fetch_add(&staged->free_tickets, 1);
    }
    return status;
}
