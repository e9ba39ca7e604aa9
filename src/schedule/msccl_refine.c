/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_refine.c: from pieces of any size to equal chunks.
 *
 * MSCCL cuts the vector in equal chunks, and a step moves at most 71 consecutive ones. The fewest chunks such
 * that every cut point is a boundary are whole / gcd(cut points): a tree of weight w gets w chunks of each.
 * Where a transfer is longer than a step may be, everything is cut at multiples of one window, so that the
 * windows stay independent of one another. */
#include <inttypes.h>
#include <string.h>

#include "core/alloc.h"
#include "core/gcd.h"
#include "schedule/build.h"
#include "schedule/msccl_weave.h"

typedef struct {
    const banyan_schedule *schedule;
    int64_t unit, chunks, window;
    int *rank_of;   /* by node; -1: not active */
    int64_t *cut;   /* of the parts */
    int cut_count;  /* cut points without the last */
    int *new_piece; /* by old piece: the first new one */
    banyan_error *err;
} refiner;

static banyan_status measure(refiner *in)
{
    const banyan_schedule *schedule = in->schedule;
    int64_t longest = 1;

    for (int i = 1; i <= schedule->piece_count; i++)
        in->unit = banyan_gcd(in->unit, schedule->cut[i]);
    in->chunks = schedule->whole / in->unit;
    if (in->chunks > BANYAN_MSCCL_CHUNKS)
        return banyan_fail(in->err, BANYAN_UNSUPPORTED,
                           "the pieces need %" PRId64 " equal chunks, and we write at most %d", in->chunks,
                           BANYAN_MSCCL_CHUNKS);
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        int64_t length = schedule->cut[t->first_piece + t->piece_count] - schedule->cut[t->first_piece];

        longest = length / in->unit > longest ? length / in->unit : longest;
    }
    in->window = in->chunks;
    if (longest > BANYAN_MSCCL_COUNT) {
        int64_t shares = (longest + BANYAN_MSCCL_COUNT - 1) / BANYAN_MSCCL_COUNT;

        in->window = (longest + shares - 1) / shares;
    }
    return BANYAN_SUCCESS;
}

/* Rank r owns the r-th equal share, whatever the schedule's owners say. */
static banyan_status check_owners(const refiner *in)
{
    const banyan_schedule *schedule = in->schedule;
    int64_t ranks = schedule->active_count;

    for (int p = 0; schedule->owner && p < schedule->piece_count; p++) {
        int64_t begin = schedule->cut[p] / in->unit, end = schedule->cut[p + 1] / in->unit;
        int64_t owner = schedule->owner[p];

        if (begin * ranks < owner * in->chunks || end * ranks > (owner + 1) * in->chunks)
            return banyan_fail(in->err, BANYAN_UNSUPPORTED,
                               "piece %d belongs to rank %d, and MSCCL gives the ranks equal shares in order",
                               p, schedule->owner[p]);
    }
    return BANYAN_SUCCESS;
}

static banyan_status check_ends(refiner *in)
{
    const banyan_schedule *schedule = in->schedule;
    int most = BANYAN_MSCCL_NODES - 1 - schedule->active_count;
    int *sends = banyan_alloc((size_t)schedule->node_count, 2 * sizeof *sends);
    int *receives = sends ? sends + schedule->node_count : NULL;
    banyan_status status = sends ? BANYAN_SUCCESS : banyan_fail_memory(in->err);

    for (size_t i = 0; i < schedule->transfer_count && !status; i++) {
        int src = schedule->transfers[i].src, dst = schedule->transfers[i].dst;
        int stranger = in->rank_of[src] < 0 ? src : dst;

        if (in->rank_of[stranger] < 0)
            status = banyan_fail(in->err, BANYAN_UNSUPPORTED,
                                 "transfer %zu uses node %d, which is not active, and MSCCL has no relays", i,
                                 stranger);
        else if (++sends[src] > most || ++receives[dst] > most)
            status = banyan_fail(in->err, BANYAN_UNSUPPORTED,
                                 "rank %d has more than %d steps, and a runtime holds %d XML elements a rank",
                                 in->rank_of[sends[src] > most ? src : dst], most, BANYAN_MSCCL_NODES);
    }
    banyan_free(sends);
    return status;
}

static int make_cuts(refiner *in)
{
    const banyan_schedule *schedule = in->schedule;
    size_t most = (size_t)schedule->piece_count + (size_t)(in->chunks / in->window) + 2;

    in->cut = banyan_alloc(most, sizeof *in->cut);
    in->new_piece = banyan_alloc((size_t)schedule->piece_count + 1, sizeof *in->new_piece);
    if (!in->cut || !in->new_piece)
        return 0;
    for (int p = 0; p < schedule->piece_count; p++) {
        int64_t begin = schedule->cut[p] / in->unit, end = schedule->cut[p + 1] / in->unit;

        in->new_piece[p] = in->cut_count;
        for (int64_t at = begin; at < end; at = (at / in->window + 1) * in->window)
            in->cut[in->cut_count++] = at;
    }
    in->new_piece[schedule->piece_count] = in->cut_count;
    in->cut[in->cut_count] = in->chunks;
    return 1;
}

/* One part for each window that the transfer touches. */
static void add_parts(const refiner *in, const banyan_transfer *t, banyan_builder *builder)
{
    int end = in->new_piece[t->first_piece + t->piece_count];

    for (int first = in->new_piece[t->first_piece], next; first < end; first = next) {
        banyan_transfer part = *t;

        next = first;
        while (next < end && in->cut[next] / in->window == in->cut[first] / in->window)
            next++;
        part.src = in->rank_of[t->src];
        part.dst = in->rank_of[t->dst];
        part.first_piece = first;
        part.piece_count = next - first;
        part.route = -1;
        banyan_builder_add(builder, part);
    }
}

static banyan_status build_parts(refiner *in, banyan_schedule **out)
{
    const banyan_schedule *schedule = in->schedule;
    int ranks = schedule->active_count, *all = banyan_alloc((size_t)ranks, sizeof *all);
    int *owner = banyan_alloc((size_t)in->cut_count, sizeof *owner);
    banyan_builder builder;
    banyan_status status;

    if (!all || !owner) {
        banyan_free(all);
        banyan_free(owner);
        return banyan_fail_memory(in->err);
    }
    for (int r = 0; r < ranks; r++)
        all[r] = r;
    for (int p = 0; schedule->owner && p < schedule->piece_count; p++)
        for (int q = in->new_piece[p]; q < in->new_piece[p + 1]; q++)
            owner[q] = schedule->owner[p];
    banyan_builder_init(&builder, schedule->collective, schedule->root, ranks, all, ranks);
    banyan_builder_cut(&builder, in->chunks, in->cut, in->cut_count);
    if (schedule->owner)
        banyan_builder_set_owners(&builder, owner);
    for (size_t i = 0; i < schedule->transfer_count; i++)
        add_parts(in, &schedule->transfers[i], &builder);
    status = banyan_builder_finish(&builder, out, in->err);
    banyan_free(all);
    banyan_free(owner);
    return status;
}

banyan_status banyan_msccl_refine(const banyan_schedule *schedule, banyan_schedule **out, int64_t *window,
                                  banyan_error *err)
{
    refiner in = {.schedule = schedule, .err = err};
    banyan_status status = measure(&in);

    *out = NULL;
    if (!status)
        status = check_owners(&in);
    if (status)
        return status;
    in.rank_of = banyan_schedule_make_ranks(schedule);
    if (!in.rank_of)
        return banyan_fail_memory(err);
    status = check_ends(&in);
    if (!status && !make_cuts(&in))
        status = banyan_fail_memory(err);
    if (!status)
        status = build_parts(&in, out);
    *window = in.window;
    banyan_free(in.rank_of);
    banyan_free(in.cut);
    banyan_free(in.new_piece);
    return status;
}
