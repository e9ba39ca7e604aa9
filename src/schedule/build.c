/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/build.c: making a schedule by appending, with a sticky failure. */
#include "schedule/build.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"

static void out_of_memory(banyan_builder *builder)
{
    if (!builder->status)
        builder->status = banyan_fail_memory(&builder->err);
}

void banyan_builder_fail(banyan_builder *builder, banyan_status status, const char *format, ...)
{
    va_list arguments;

    if (builder->status)
        return;
    builder->status = status;
    va_start(arguments, format);
    vsnprintf(builder->err.text, sizeof builder->err.text, format, arguments);
    va_end(arguments);
}

void banyan_builder_init(banyan_builder *builder, banyan_collective collective, int root, int node_count,
                         const int *active, int active_count)
{
    banyan_schedule *schedule = banyan_alloc(1, sizeof *schedule);

    *builder = (banyan_builder){.schedule = schedule};
    if (!schedule) {
        out_of_memory(builder);
        return;
    }
    schedule->collective = collective;
    schedule->root = root;
    schedule->node_count = node_count;
    schedule->active_count = active_count;
    schedule->active = banyan_alloc((size_t)active_count, sizeof *active);
    schedule->route_first = banyan_alloc(1, sizeof *schedule->route_first);
    builder->route_capacity = 1;
    if (!schedule->active || !schedule->route_first) {
        out_of_memory(builder);
        return;
    }
    if (active_count < 1)
        banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "no worker is active");
    if (root < 0 || root >= active_count)
        banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "root %d is not a rank from 0 to %d", root,
                            active_count - 1);
    for (int i = 0; i < active_count; i++) {
        schedule->active[i] = active[i];
        if (active[i] < 0 || active[i] >= node_count)
            banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                "active node %d is not below the node count %d", active[i], node_count);
        else if (i > 0 && active[i] <= active[i - 1])
            banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "active nodes are not ascending at %d",
                                active[i]);
    }
}

void banyan_builder_cut_evenly(banyan_builder *builder, int piece_count)
{
    int64_t *cut = banyan_alloc((size_t)piece_count + 1, sizeof *cut);

    if (!cut) {
        out_of_memory(builder);
        return;
    }
    for (int i = 0; i <= piece_count; i++)
        cut[i] = i;
    banyan_builder_cut(builder, piece_count, cut, piece_count);
    banyan_free(cut);
}

void banyan_builder_cut(banyan_builder *builder, int64_t whole, const int64_t *cut, int piece_count)
{
    banyan_schedule *schedule = builder->schedule;

    if (builder->status)
        return;
    if (piece_count < 1 || cut[0] != 0 || cut[piece_count] != whole) {
        banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                            "the cut points do not run from 0 to the whole");
        return;
    }
    for (int i = 0; i < piece_count; i++)
        if (cut[i] >= cut[i + 1]) {
            banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                "cut point %d is not above the one before it", i + 1);
            return;
        }
    banyan_free(schedule->cut);
    schedule->cut = banyan_alloc((size_t)piece_count + 1, sizeof *cut);
    if (!schedule->cut) {
        out_of_memory(builder);
        return;
    }
    memcpy(schedule->cut, cut, ((size_t)piece_count + 1) * sizeof *cut);
    schedule->whole = whole;
    schedule->piece_count = piece_count;
}

void banyan_builder_set_owners(banyan_builder *builder, const int *owner)
{
    banyan_schedule *schedule = builder->schedule;

    if (builder->status)
        return;
    banyan_free(schedule->owner);
    schedule->owner = banyan_alloc((size_t)schedule->piece_count, sizeof *owner);
    if (!schedule->owner) {
        out_of_memory(builder);
        return;
    }
    for (int i = 0; i < schedule->piece_count; i++) {
        schedule->owner[i] = owner[i];
        if (owner[i] < 0 || owner[i] >= schedule->active_count)
            banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                "owner %d of piece %d is not a rank from 0 to %d", owner[i], i,
                                schedule->active_count - 1);
    }
}

void banyan_builder_set_barrier(banyan_builder *builder, int round)
{
    if (round < 0)
        banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "a barrier before round %d makes no sense",
                            round);
    if (!builder->status)
        builder->schedule->barrier = round;
}

void banyan_builder_limit_moves(banyan_builder *builder, size_t most)
{
    builder->most_moves = most;
}

int banyan_builder_add_route(banyan_builder *builder, const int *links, int count)
{
    banyan_schedule *schedule = builder->schedule;
    void *firsts, *all;
    int begin, fits;

    if (builder->status)
        return -1;
    begin = schedule->route_first[schedule->route_count];
    if (count < 0 || begin > INT_MAX - count || schedule->route_count == INT_MAX - 1) {
        banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "too many routes");
        return -1;
    }
    firsts = schedule->route_first;
    fits = banyan_grow(&firsts, (size_t)schedule->route_count + 1, &builder->route_capacity,
                       sizeof *schedule->route_first);
    schedule->route_first = firsts;
    for (int i = 0; fits && i < count; i++) {
        all = schedule->route_link;
        fits = banyan_grow(&all, (size_t)(begin + i), &builder->link_capacity, sizeof *schedule->route_link);
        schedule->route_link = all;
        if (fits)
            schedule->route_link[begin + i] = links[i];
    }
    if (!fits) {
        out_of_memory(builder);
        return -1;
    }
    schedule->route_first[++schedule->route_count] = begin + count;
    return schedule->route_count - 1;
}

void banyan_builder_add(banyan_builder *builder, banyan_transfer transfer)
{
    banyan_schedule *schedule = builder->schedule;
    void *transfers;

    if (builder->status)
        return;
    builder->moves += (size_t)(transfer.piece_count > 0 ? transfer.piece_count : 0);
    if (builder->most_moves && builder->moves > builder->most_moves) {
        banyan_builder_fail(builder, BANYAN_UNSUPPORTED,
                            "a schedule for %d workers would move more than %zu pieces, and that is the most",
                            schedule->active_count, builder->most_moves);
        return;
    }
    transfers = schedule->transfers;
    if (!banyan_grow(&transfers, schedule->transfer_count, &builder->transfer_capacity, sizeof transfer)) {
        out_of_memory(builder);
        return;
    }
    schedule->transfers = transfers;
    schedule->transfers[schedule->transfer_count++] = transfer;
}

static void add_default(banyan_builder *builder, int round, int src, int dst, int first_piece,
                        int piece_count, banyan_action action, int flow)
{
    banyan_builder_add(builder,
                       (banyan_transfer){round, src, dst, first_piece, piece_count, action, flow, -1});
}

void banyan_builder_reduce(banyan_builder *builder, int round, int src, int dst, int first_piece,
                           int piece_count, int flow)
{
    add_default(builder, round, src, dst, first_piece, piece_count, BANYAN_ACTION_REDUCE, flow);
}

void banyan_builder_copy(banyan_builder *builder, int round, int src, int dst, int first_piece,
                         int piece_count, int flow)
{
    add_default(builder, round, src, dst, first_piece, piece_count, BANYAN_ACTION_COPY, flow);
}

static void check_transfer(banyan_builder *builder, size_t i)
{
    const banyan_schedule *schedule = builder->schedule;
    const banyan_transfer *t = &schedule->transfers[i];
    const int nodes = schedule->node_count, pieces = schedule->piece_count;

    if (t->round < 0 || t->round >= INT_MAX - 1)
        banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "transfer %zu: round %d is out of range", i,
                            t->round);
    else if (t->src < 0 || t->src >= nodes || t->dst < 0 || t->dst >= nodes)
        banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                            "transfer %zu: node %d is not below the node count %d", i,
                            t->src < 0 || t->src >= nodes ? t->src : t->dst, nodes);
    else if (t->src == t->dst)
        banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "transfer %zu: node %d sends to itself", i,
                            t->src);
    else if (t->first_piece < 0 || t->piece_count < 1 || t->first_piece > pieces - t->piece_count)
        banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                            "transfer %zu: %d pieces from %d are not within %d", i, t->piece_count,
                            t->first_piece, pieces);
    else if (t->flow < 0 || t->flow == INT_MAX)
        banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "transfer %zu: flow %d is out of range", i,
                            t->flow);
    else if (t->route < -1 || t->route >= schedule->route_count)
        banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                            "transfer %zu: route %d is not below the route count %d", i, t->route,
                            schedule->route_count);
}

/* Merge sort on (round): stable, so that the order within a round stays; nothing to do when already
 * sorted. */
static int sort_by_round(banyan_transfer *transfers, size_t count)
{
    banyan_transfer *spare, *from = transfers, *to;
    size_t sorted = 1;

    while (sorted < count && transfers[sorted - 1].round <= transfers[sorted].round)
        sorted++;
    if (sorted >= count)
        return 1;
    spare = banyan_alloc(count, sizeof *spare);
    if (!spare)
        return 0;
    to = spare;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count;
            size_t high = low + 2 * width < count ? low + 2 * width : count;
            size_t a = low, b = middle, k = low;

            while (a < middle || b < high)
                to[k++] = b >= high || (a < middle && from[a].round <= from[b].round) ? from[a++] : from[b++];
        }
        banyan_transfer *swap = from;

        from = to;
        to = swap;
    }
    if (from != transfers)
        memcpy(transfers, from, count * sizeof *transfers);
    banyan_free(spare);
    return 1;
}

/* The rank whose equal share of the vector, or in an all-to-all of a row, holds the piece's beginning. */
static void set_default_owners(banyan_builder *builder)
{
    __extension__ typedef __int128 wide;
    banyan_schedule *schedule = builder->schedule;
    wide parts = (wide)banyan_collective_parts(schedule->collective, schedule->active_count);

    schedule->owner = banyan_alloc((size_t)schedule->piece_count, sizeof *schedule->owner);
    if (!schedule->owner) {
        out_of_memory(builder);
        return;
    }
    for (int i = 0; i < schedule->piece_count; i++)
        schedule->owner[i] = (int)((wide)schedule->cut[i] * parts / schedule->whole % schedule->active_count);
}

static void complete(banyan_builder *builder)
{
    banyan_schedule *schedule = builder->schedule;
    int has_owners = banyan_collective_parts(schedule->collective, 2) > 1;

    if (!schedule->cut)
        banyan_builder_fail(builder, BANYAN_INTERNAL_ERROR, "the schedule has no cut points");
    else if (schedule->transfer_count > (size_t)INT_MAX)
        banyan_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "more than %d transfers", INT_MAX);
    for (size_t i = 0; i < schedule->transfer_count && !builder->status; i++)
        check_transfer(builder, i);
    if (builder->status)
        return;
    if (!sort_by_round(schedule->transfers, schedule->transfer_count)) {
        out_of_memory(builder);
        return;
    }
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];

        schedule->round_count = t->round + 1;
        if (t->flow >= schedule->flow_count)
            schedule->flow_count = t->flow + 1;
    }
    if (has_owners && !schedule->owner)
        set_default_owners(builder);
}

banyan_status banyan_builder_finish(banyan_builder *builder, banyan_schedule **out, banyan_error *err)
{
    banyan_status status;

    *out = NULL;
    if (!builder->status)
        complete(builder);
    status = builder->status;
    if (status) {
        if (err)
            *err = builder->err;
        banyan_schedule_destroy(builder->schedule);
    } else {
        *out = builder->schedule;
    }
    *builder = (banyan_builder){0};
    return status;
}
