/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/dependencies.c: one pass over the rounds, each in two halves: first all reads, then all changes.
 *
 * For every cell (node, piece) we keep who changed it last and who has read it since. A read waits for the
 * last change; a change waits for the change before it and for the reads since. Cost: the number of pieces
 * moved. */
#include "schedule/dependencies.h"

#include <limits.h>
#include <stdint.h>

#include "core/alloc.h"
#include "core/sort.h"

typedef struct {
    int transfer, next;
} reader;

typedef struct {
    const banyan_schedule *schedule;
    int *last_change;  /* by cell; -1: the initial value */
    int *first_reader; /* by cell; index in readers, -1: nobody since the last change */
    reader *readers;
    size_t reader_count, reader_capacity;
    size_t *seen; /* by transfer: the list that holds it already, as a number unique to (t, which list) */
    size_t seen_number;
    int failed;
} deriver;

typedef struct {
    banyan_dependency_list *list;
    size_t count, capacity;
} writer;

static size_t cell_of(const deriver *state, int node, int piece)
{
    return (size_t)node * (size_t)state->schedule->piece_count + (size_t)piece;
}

static void append(deriver *state, writer *out, int item)
{
    void *items = out->list->item;

    if (item < 0 || state->failed || state->seen[item] == state->seen_number)
        return;
    if (!banyan_grow(&items, out->count, &out->capacity, sizeof *out->list->item)) {
        state->failed = 1;
        return;
    }
    out->list->item = items;
    out->list->item[out->count++] = item;
    state->seen[item] = state->seen_number;
}

static void begin_list(deriver *state)
{
    state->seen_number++;
}

static void end_list(writer *out, int transfer)
{
    size_t begin = out->list->first[transfer];

    if (out->count - begin > 1)
        banyan_sort_ints(out->list->item + begin, out->count - begin);
    out->list->first[transfer + 1] = out->count;
}

static void note_reader(deriver *state, size_t cell, int transfer)
{
    void *readers = state->readers;

    if (state->reader_count >= INT_MAX ||
        !banyan_grow(&readers, state->reader_count, &state->reader_capacity, sizeof *state->readers)) {
        state->failed = 1;
        return;
    }
    state->readers = readers;
    state->readers[state->reader_count] = (reader){transfer, state->first_reader[cell]};
    state->first_reader[cell] = (int)state->reader_count++;
}

static void read_source(deriver *state, int transfer, writer *send_after_apply)
{
    const banyan_transfer *t = &state->schedule->transfers[transfer];

    begin_list(state);
    for (int i = 0; i < t->piece_count && !state->failed; i++) {
        size_t cell = cell_of(state, t->src, t->first_piece + i);

        append(state, send_after_apply, state->last_change[cell]);
        note_reader(state, cell, transfer);
    }
    end_list(send_after_apply, transfer);
}

static void change_destination(deriver *state, int transfer, writer *after_apply, writer *after_send)
{
    const banyan_transfer *t = &state->schedule->transfers[transfer];

    begin_list(state);
    for (int i = 0; i < t->piece_count; i++)
        append(state, after_apply, state->last_change[cell_of(state, t->dst, t->first_piece + i)]);
    end_list(after_apply, transfer);
    begin_list(state);
    for (int i = 0; i < t->piece_count; i++) {
        size_t cell = cell_of(state, t->dst, t->first_piece + i);

        for (int r = state->first_reader[cell]; r >= 0; r = state->readers[r].next)
            append(state, after_send, state->readers[r].transfer);
        state->first_reader[cell] = -1;
        state->last_change[cell] = transfer;
    }
    end_list(after_send, transfer);
}

static void derive(deriver *state, banyan_dependencies *out)
{
    const banyan_schedule *schedule = state->schedule;
    writer send_after_apply = {.list = &out->send_after_apply};
    writer apply_after_apply = {.list = &out->apply_after_apply};
    writer apply_after_send = {.list = &out->apply_after_send};
    const int count = (int)schedule->transfer_count;

    for (int begin = 0, end; begin < count && !state->failed; begin = end) {
        for (end = begin; end < count && schedule->transfers[end].round == schedule->transfers[begin].round;
             end++)
            read_source(state, end, &send_after_apply);
        for (int t = begin; t < end && !state->failed; t++)
            change_destination(state, t, &apply_after_apply, &apply_after_send);
    }
}

static banyan_status prepare(deriver *state, banyan_dependencies *out, banyan_error *err)
{
    const banyan_schedule *schedule = state->schedule;
    size_t cells = (size_t)schedule->node_count * (size_t)schedule->piece_count;

    if (cells > (size_t)1 << 31)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "%d nodes with %d pieces are more than the 2^31 cells we can track",
                           schedule->node_count, schedule->piece_count);
    state->last_change = banyan_alloc(cells, sizeof *state->last_change);
    state->first_reader = banyan_alloc(cells, sizeof *state->first_reader);
    state->seen = banyan_alloc(schedule->transfer_count, sizeof *state->seen);
    out->send_after_apply.first = banyan_alloc(schedule->transfer_count + 1, sizeof(size_t));
    out->apply_after_apply.first = banyan_alloc(schedule->transfer_count + 1, sizeof(size_t));
    out->apply_after_send.first = banyan_alloc(schedule->transfer_count + 1, sizeof(size_t));
    if (!state->last_change || !state->first_reader || !state->seen || !out->send_after_apply.first ||
        !out->apply_after_apply.first || !out->apply_after_send.first)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < cells; i++)
        state->last_change[i] = state->first_reader[i] = -1;
    return BANYAN_SUCCESS;
}

banyan_status banyan_dependencies_derive(const banyan_schedule *schedule, banyan_dependencies **out,
                                         banyan_error *err)
{
    deriver state = {.schedule = schedule};
    banyan_dependencies *found = banyan_alloc(1, sizeof *found);
    banyan_status status;

    *out = NULL;
    if (!found)
        return banyan_fail_memory(err);
    status = prepare(&state, found, err);
    if (!status) {
        derive(&state, found);
        if (state.failed)
            status = banyan_fail_memory(err);
    }
    banyan_free(state.last_change);
    banyan_free(state.first_reader);
    banyan_free(state.readers);
    banyan_free(state.seen);
    if (status)
        banyan_dependencies_destroy(found);
    else
        *out = found;
    return status;
}

void banyan_dependencies_destroy(banyan_dependencies *dependencies)
{
    if (!dependencies)
        return;
    banyan_free(dependencies->send_after_apply.first);
    banyan_free(dependencies->send_after_apply.item);
    banyan_free(dependencies->apply_after_apply.first);
    banyan_free(dependencies->apply_after_apply.item);
    banyan_free(dependencies->apply_after_send.first);
    banyan_free(dependencies->apply_after_send.item);
    banyan_free(dependencies);
}
