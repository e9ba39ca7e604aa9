/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_rounds.c: units as transfers.
 *
 * Rounds follow from who reads and changes a chunk before whom: a read comes in a later round than the change
 * it sees, a change in no earlier round than the reads and changes before it. That is a longest path in a
 * graph that may have cycles without weight (an exchange within a round). It has no end where a program
 * relies on a message staying on its way while its place is used again. */
#include <stdlib.h>

#include "core/alloc.h"
#include "schedule/build.h"
#include "schedule/msccl_units.h"

static banyan_status refuse_endless(const banyan_msccl_program *program, const banyan_msccl_unit *u,
                                    banyan_error *err)
{
    char name[80];

    return banyan_fail(err, BANYAN_UNSUPPORTED,
                       "%s: its message must stay on its way while its place is used again",
                       banyan_msccl_step_name(program, u->sender, name, sizeof name));
}

typedef struct {
    banyan_msccl_unit *units;
    int count;
    size_t *first;             /* by unit: its edges in sorted */
    banyan_msccl_edge *sorted; /* by from */
    int *queue, head, waiting; /* a ring of units whose round has grown */
    char *is_queued;
} relaxer;

static void sort_edges(relaxer *in, const banyan_msccl_edge *edges, size_t edge_count)
{
    for (size_t i = 0; i < edge_count; i++)
        in->first[edges[i].from + 2]++;
    for (int u = 0; u < in->count; u++)
        in->first[u + 2] += in->first[u + 1];
    for (size_t i = 0; i < edge_count; i++)
        in->sorted[in->first[edges[i].from + 1]++] = edges[i];
}

static void enqueue(relaxer *in, int unit)
{
    int tail = in->head + in->waiting;

    if (in->is_queued[unit])
        return;
    in->queue[tail >= in->count ? tail - in->count : tail] = unit;
    in->is_queued[unit] = 1;
    in->waiting++;
}

/* Raises what follows the unit; returns a unit whose round is above the number of units, or -1. */
static int relax(relaxer *in, int unit)
{
    for (size_t i = in->first[unit]; i < in->first[unit + 1]; i++) {
        int to = in->sorted[i].to, round = in->units[unit].round + in->sorted[i].weight;

        if (in->units[to].round >= round)
            continue;
        in->units[to].round = round;
        if (round > in->count)
            return to;
        enqueue(in, to);
    }
    return -1;
}

banyan_status banyan_msccl_find_rounds(const banyan_msccl_program *program, banyan_msccl_unit *units,
                                       int count, const banyan_msccl_edge *edges, size_t edge_count,
                                       banyan_error *err)
{
    relaxer in = {.units = units, .count = count};
    banyan_status status = BANYAN_SUCCESS;
    int endless = -1;

    in.first = banyan_alloc((size_t)count + 2, sizeof *in.first);
    in.sorted = banyan_alloc(edge_count, sizeof *in.sorted);
    in.queue = banyan_alloc((size_t)count, sizeof *in.queue);
    in.is_queued = banyan_alloc((size_t)count, 1);
    if (in.first && in.sorted && in.queue && in.is_queued) {
        sort_edges(&in, edges, edge_count);
        for (int u = 0; u < count; u++)
            enqueue(&in, u);
        while (in.waiting && endless < 0) {
            int unit = in.queue[in.head];

            in.head = in.head + 1 == count ? 0 : in.head + 1;
            in.waiting--;
            in.is_queued[unit] = 0;
            endless = relax(&in, unit);
        }
        if (endless >= 0)
            status = refuse_endless(program, &units[endless], err);
    } else {
        status = banyan_fail_memory(err);
    }
    banyan_free(in.first);
    banyan_free(in.sorted);
    banyan_free(in.queue);
    banyan_free(in.is_queued);
    return status;
}

static int by_round(const void *a, const void *b)
{
    const banyan_msccl_unit *x = a, *y = b;

    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* Whether the unit goes on where the one before it ends. */
static int continues(const banyan_msccl_unit *a, const banyan_msccl_unit *b)
{
    return a->round == b->round && a->src == b->src && a->dst == b->dst && a->flow == b->flow &&
           a->action == b->action && a->position + 1 == b->position;
}

/* Cut points are only where a transfer or a rank's share begins or ends. piece: by chunk, its piece. */
static int cut(const banyan_msccl_program *program, const banyan_msccl_unit *units, int unit_count,
               int64_t *cuts, int *piece)
{
    int shares = program->collective == BANYAN_COLLECTIVE_ALLGATHER ||
                 program->collective == BANYAN_COLLECTIVE_REDUCE_SCATTER;
    int chunks = program->chunk_count, count = 0;

    for (int u = 0; u < unit_count; u++) {
        if (!u || !continues(&units[u - 1], &units[u]))
            piece[units[u].position] = 1;
        if (u + 1 == unit_count || !continues(&units[u], &units[u + 1]))
            piece[units[u].position + 1] = 1;
    }
    for (int r = 0; shares && r < program->rank_count; r++)
        piece[r * (chunks / program->rank_count)] = 1;
    piece[0] = piece[chunks] = 1;
    for (int c = 0; c <= chunks; c++) {
        if (piece[c])
            cuts[count++] = c;
        piece[c] = count - 1;
    }
    return count - 1;
}

banyan_status banyan_msccl_build_schedule(const banyan_msccl_program *program, int root,
                                          banyan_msccl_unit *units, int unit_count, banyan_schedule **out,
                                          banyan_error *err)
{
    size_t chunks = (size_t)program->chunk_count;
    int64_t *cuts = banyan_alloc(chunks + 1, sizeof *cuts);
    int *piece = banyan_alloc(chunks + 1, sizeof *piece), ranks = program->rank_count, pieces;
    int *all = banyan_alloc((size_t)ranks, sizeof *all);
    banyan_builder builder;
    banyan_status status;

    if (!cuts || !piece || !all) {
        status = banyan_fail_memory(err);
        goto out;
    }
    for (int r = 0; r < ranks; r++)
        all[r] = r;
    qsort(units, (size_t)unit_count, sizeof *units, by_round);
    pieces = cut(program, units, unit_count, cuts, piece);
    banyan_builder_init(&builder, program->collective, root, ranks, all, ranks);
    banyan_builder_cut(&builder, program->chunk_count, cuts, pieces);
    for (int u = 0, end; u < unit_count; u = end) {
        const banyan_msccl_unit *x = &units[u];

        for (end = u + 1; end < unit_count && continues(&units[end - 1], &units[end]);)
            end++;
        banyan_builder_add(&builder,
                           (banyan_transfer){.round = x->round,
                                             .src = x->src,
                                             .dst = x->dst,
                                             .first_piece = piece[x->position],
                                             .piece_count = piece[x->position + end - u] - piece[x->position],
                                             .action = (banyan_action)x->action,
                                             .flow = x->flow,
                                             .route = -1});
    }
    status = banyan_builder_finish(&builder, out, err);
    if (!status) {
        (*out)->algorithm = banyan_strdup(program->name);
        if (!(*out)->algorithm) {
            banyan_schedule_destroy(*out);
            *out = NULL;
            status = banyan_fail_memory(err);
        }
    }
out:
    banyan_free(cuts);
    banyan_free(piece);
    banyan_free(all);
    return status;
}
