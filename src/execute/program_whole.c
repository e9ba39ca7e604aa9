/* SPDX-License-Identifier: Apache-2.0 */
/* execute/program_whole.c: where sums become whole, so that an average divides there and nowhere else.
 *
 *     rank 2 ──reduce──> rank 1 ──reduce──> rank 0: whole, divide ──copy──> rank 1 ──copy──> rank 2
 *
 * Dividing at the end costs every rank a pass over the whole buffer, when all others are done; here one rank
 * divides what it has just added up, while that is in its cache, and the others are sent quotients. Nodes
 * that complete the same piece by themselves divide the same sum by the same number.
 *
 * One walk through the rounds counts how many ranks' values every piece of every node contains; a schedule
 * that is verified counts none twice. Where one transfer completes some of its pieces and not others, all
 * ranks see that, and all divide at the end instead. Costs a count for each piece of each node. */
#include <string.h>

#include "core/alloc.h"
#include "execute/program.h"

typedef struct {
    const banyan_schedule *schedule;
    int *counts; /* by node and piece: ranks whose values it contains */
    int *read;   /* what the round's transfers carry, one after the other */
} walk;

static int *count_of(const walk *w, int node, int piece)
{
    return &w->counts[(size_t)node * (size_t)w->schedule->piece_count + (size_t)piece];
}

static size_t most_read(const banyan_schedule *schedule)
{
    size_t most = 0;

    for (size_t begin = 0, end; begin < schedule->transfer_count; begin = end) {
        size_t pieces = 0;

        end = banyan_schedule_round_end(schedule, begin);
        for (size_t i = begin; i < end; i++)
            pieces += (size_t)schedule->transfers[i].piece_count;
        most = pieces > most ? pieces : most;
    }
    return most;
}

static void read_round(const walk *w, size_t begin, size_t end)
{
    int *read = w->read;

    for (size_t i = begin; i < end; i++) {
        const banyan_transfer *t = &w->schedule->transfers[i];

        memcpy(read, count_of(w, t->src, t->first_piece), (size_t)t->piece_count * sizeof *read);
        read += t->piece_count;
    }
}

/* How many pieces the transfer makes whole. */
static int change(const walk *w, const banyan_transfer *t, const int *carried)
{
    int all = w->schedule->active_count, completed = 0;

    for (int k = 0; k < t->piece_count; k++) {
        int *count = count_of(w, t->dst, t->first_piece + k), before = *count;

        *count = carried[k] + (t->action == BANYAN_ACTION_REDUCE ? before : 0);
        completed += before < all && carried[k] < all && *count == all;
    }
    return completed;
}

static void change_round(const walk *w, banyan_program *program, const int *operation_of, size_t begin,
                         size_t end)
{
    const int *carried = w->read;

    for (size_t i = begin; i < end; i++) {
        const banyan_transfer *t = &w->schedule->transfers[i];
        int completed = change(w, t, carried);

        carried += t->piece_count;
        if (t->dst == program->node)
            program->operations[operation_of[i]].completes = completed > 0;
        program->divides_at_end |= completed > 0 && completed < t->piece_count;
    }
}

int banyan_program_find_whole(banyan_program *program, const int *operation_of)
{
    const banyan_schedule *schedule = program->schedule;
    size_t cells = (size_t)schedule->node_count * (size_t)schedule->piece_count;
    walk w = {.schedule = schedule};

    w.counts = banyan_alloc(cells, sizeof *w.counts);
    w.read = banyan_alloc(most_read(schedule), sizeof *w.read);
    if (!w.counts || !w.read) {
        banyan_free(w.counts);
        banyan_free(w.read);
        return 0;
    }
    program->divides_at_end = schedule->active_count == 1; /* whole from the beginning */
    for (int rank = 0; rank < schedule->active_count; rank++)
        for (int piece = 0; piece < schedule->piece_count; piece++)
            *count_of(&w, schedule->active[rank], piece) = 1;
    for (size_t begin = 0, end; begin < schedule->transfer_count; begin = end) {
        end = banyan_schedule_round_end(schedule, begin);
        read_round(&w, begin, end);
        change_round(&w, program, operation_of, begin, end);
    }
    banyan_free(w.counts);
    banyan_free(w.read);
    return 1;
}
