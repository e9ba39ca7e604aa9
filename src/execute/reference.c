/* SPDX-License-Identifier: Apache-2.0 */
/* execute/reference.c: rounds in order; within a round everything is read into a store before anything
 * changes, and changes happen in the order of the array. Slow and plain on purpose. */
#include "execute/reference.h"

#include <string.h>

#include "core/alloc.h"
#include "execute/average.h"
#include "execute/kernels.h"

typedef struct {
    const banyan_schedule *schedule;
    size_t count, element_bytes;
    banyan_kernel kernel;
    char **memory; /* by node */
    char *store;   /* what the current round has read */
    size_t store_bytes;
} interpreter;

static char *piece_at(const interpreter *run, const banyan_transfer *t, int node, size_t *elements)
{
    size_t begin, end;

    banyan_schedule_elements(run->schedule, run->count, t->first_piece, t->piece_count, &begin, &end);
    *elements = end - begin;
    return run->memory[node] + begin * run->element_bytes;
}

/* Reads transfers first..end-1 into the store, growing it to fit. */
static int read_round(interpreter *run, size_t first, size_t end)
{
    size_t needed = 0, at = 0, elements;

    for (size_t i = first; i < end; i++) {
        piece_at(run, &run->schedule->transfers[i], run->schedule->transfers[i].src, &elements);
        needed += elements * run->element_bytes;
    }
    if (needed > run->store_bytes) {
        char *store = banyan_realloc(run->store, needed, 1);

        if (!store)
            return 0;
        run->store = store;
        run->store_bytes = needed;
    }
    for (size_t i = first; i < end; i++) {
        const banyan_transfer *t = &run->schedule->transfers[i];
        const char *from = piece_at(run, t, t->src, &elements);

        if (elements)
            memcpy(run->store + at, from, elements * run->element_bytes);
        at += elements * run->element_bytes;
    }
    return 1;
}

static void change_round(interpreter *run, size_t first, size_t end)
{
    size_t at = 0, elements;

    for (size_t i = first; i < end; i++) {
        const banyan_transfer *t = &run->schedule->transfers[i];
        char *into = piece_at(run, t, t->dst, &elements);

        if (elements && t->action == BANYAN_ACTION_REDUCE)
            run->kernel(into, into, run->store + at, elements);
        else if (elements)
            memcpy(into, run->store + at, elements * run->element_bytes);
        at += elements * run->element_bytes;
    }
}

static int give_memory(interpreter *run, void *const *buffers, char *is_ours)
{
    const banyan_schedule *schedule = run->schedule;

    for (int rank = 0; rank < schedule->active_count; rank++)
        run->memory[schedule->active[rank]] = buffers[rank];
    for (size_t i = 0; i < 2 * schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i / 2];
        int node = i % 2 ? t->src : t->dst;

        if (run->memory[node] || is_ours[node])
            continue;
        run->memory[node] = banyan_alloc(run->count, run->element_bytes);
        is_ours[node] = 1;
        if (!run->memory[node])
            return 0;
    }
    return 1;
}

static int run_rounds(interpreter *run)
{
    const banyan_schedule *schedule = run->schedule;

    for (size_t first = 0, end; first < schedule->transfer_count; first = end) {
        end = banyan_schedule_round_end(schedule, first);
        if (!read_round(run, first, end))
            return 0;
        change_round(run, first, end);
    }
    return 1;
}

banyan_status banyan_reference_run(const banyan_schedule *schedule, size_t count, banyan_datatype type,
                                   banyan_op op, void *const *buffers, banyan_error *err)
{
    interpreter run = {.schedule = schedule,
                       .count = count,
                       .element_bytes = banyan_datatype_bytes(type),
                       .kernel = banyan_kernel_find(type, op)};
    char *is_ours;
    int done;

    if (!run.kernel)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "datatype %d and op %d are not both known",
                           (int)type, (int)op);
    if (!count)
        return BANYAN_SUCCESS;
    run.memory = banyan_alloc((size_t)schedule->node_count, sizeof *run.memory);
    is_ours = banyan_alloc((size_t)schedule->node_count, 1);
    done = run.memory && is_ours && give_memory(&run, buffers, is_ours) && run_rounds(&run);
    for (int rank = 0; done && op == BANYAN_AVG && rank < schedule->active_count; rank++) {
        banyan_part whole = {.into = buffers[rank], .from = buffers[rank]};
        banyan_vector vector = {&whole, 1, count, run.element_bytes};

        banyan_average(schedule, rank, &vector, type);
    }
    for (int i = 0; run.memory && is_ours && i < schedule->node_count; i++)
        if (is_ours[i])
            banyan_free(run.memory[i]);
    banyan_free(run.memory);
    banyan_free(is_ours);
    banyan_free(run.store);
    return done ? BANYAN_SUCCESS : banyan_fail_memory(err);
}
