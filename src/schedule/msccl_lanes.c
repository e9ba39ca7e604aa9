/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_lanes.c: which channel, connection and thread block every part uses.
 *
 * A connection (src, dst, channel) has one sending and one receiving block. A block that receives and passes
 * on at once saves a trip through memory and a wait:
 *
 *      A ══p══> [ B: receive p, send q ] ══q══> C        q is p's data, the same chunks, on the same channel
 *
 * so where a rank often passes on from one connection to another, the two share a block. Blocks are not
 * shared otherwise: a runtime repeats every block's list for slice after slice, and what is apart can
 * overlap. */
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "schedule/msccl_weave.h"

typedef struct {
    int src, dst, chan, part;
    int64_t turn;
} ticket;

typedef struct {
    int in, out; /* connections */
    int count;
} pairing;

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_connection(const void *a, const void *b)
{
    const ticket *x = a, *y = b;
    int difference = compare(x->src, y->src);

    if (!difference)
        difference = compare(x->dst, y->dst);
    if (!difference)
        difference = compare(x->chan, y->chan);
    if (!difference)
        difference = compare(x->turn, y->turn);
    return difference ? difference : compare(x->part, y->part);
}

static int by_pair(const void *a, const void *b)
{
    const pairing *x = a, *y = b;
    int difference = compare(x->in, y->in);

    return difference ? difference : compare(x->out, y->out);
}

static int by_count(const void *a, const void *b)
{
    const pairing *x = a, *y = b;

    return x->count != y->count ? compare(y->count, x->count) : by_pair(a, b);
}

static int channel_of(const banyan_schedule *parts, const banyan_transfer *t, int channels, int groups)
{
    int64_t group = parts->cut[t->first_piece] * groups / parts->whole;

    return (int)(((int64_t)t->flow * groups + group) % channels);
}

static banyan_status connect(banyan_msccl_lanes *lanes, int channels, int groups, banyan_error *err)
{
    const banyan_schedule *parts = lanes->parts;
    ticket *tickets = banyan_alloc((size_t)lanes->part_count, sizeof *tickets);

    if (!tickets)
        return banyan_fail_memory(err);
    for (int p = 0; p < lanes->part_count; p++) {
        const banyan_transfer *t = &parts->transfers[p];

        tickets[p] = (ticket){t->src, t->dst, channel_of(parts, t, channels, groups), p, lanes->turn[p]};
    }
    qsort(tickets, (size_t)lanes->part_count, sizeof *tickets, by_connection);
    for (int i = 0; i < lanes->part_count; i++) {
        const ticket *t = &tickets[i];
        banyan_msccl_connection *last = &lanes->connections[lanes->connection_count - !!i];

        if (!i || last->src != t->src || last->dst != t->dst || last->chan != t->chan)
            lanes->connections[lanes->connection_count++] = (banyan_msccl_connection){
                .src = t->src, .dst = t->dst, .chan = t->chan, .first = i, .fed_by = -1, .feeds = -1};
        lanes->connection[t->part] = lanes->connection_count - 1;
        lanes->connections[lanes->connection_count - 1].count++;
        lanes->queue[i] = t->part;
        lanes->place[t->part] = i;
    }
    banyan_free(tickets);
    return BANYAN_SUCCESS;
}

/* The part whose data this one passes on whole, or -1. */
static int passed_on(const banyan_msccl_lanes *lanes, int part)
{
    const banyan_dependency_list *list = &lanes->dependencies->send_after_apply;
    const banyan_transfer *t = &lanes->parts->transfers[part], *from;
    size_t begin = list->first[part];

    if (list->first[part + 1] - begin != 1)
        return -1;
    from = &lanes->parts->transfers[list->item[begin]];
    if (from->first_piece != t->first_piece || from->piece_count != t->piece_count ||
        lanes->connections[lanes->connection[list->item[begin]]].chan !=
            lanes->connections[lanes->connection[part]].chan)
        return -1;
    return list->item[begin];
}

/* The pairs of connections that pass on most come first. */
static banyan_status pair_connections(banyan_msccl_lanes *lanes, banyan_error *err)
{
    pairing *pairs = banyan_alloc((size_t)lanes->part_count, sizeof *pairs);
    size_t count = 0, kept = 0;

    if (!pairs)
        return banyan_fail_memory(err);
    for (int p = 0; p < lanes->part_count; p++)
        if (passed_on(lanes, p) >= 0)
            pairs[count++] = (pairing){lanes->connection[passed_on(lanes, p)], lanes->connection[p], 1};
    qsort(pairs, count, sizeof *pairs, by_pair);
    for (size_t i = 0; i < count; i++) {
        if (kept && !by_pair(&pairs[kept - 1], &pairs[i]))
            pairs[kept - 1].count++;
        else
            pairs[kept++] = pairs[i];
    }
    qsort(pairs, kept, sizeof *pairs, by_count);
    for (size_t i = 0; i < kept; i++) {
        banyan_msccl_connection *in = &lanes->connections[pairs[i].in];
        banyan_msccl_connection *out = &lanes->connections[pairs[i].out];

        if (in->feeds >= 0 || out->fed_by >= 0)
            continue;
        in->feeds = pairs[i].out;
        out->fed_by = pairs[i].in;
    }
    banyan_free(pairs);
    return BANYAN_SUCCESS;
}

/* Of several parts that pass the same one on over the paired connection, the first in the queue does so. */
static void choose_forwards(banyan_msccl_lanes *lanes)
{
    for (int p = 0; p < lanes->part_count; p++)
        lanes->forward[p] = lanes->forwards[p] = -1;
    for (int i = 0; i < lanes->part_count; i++) {
        int part = lanes->queue[i], from = passed_on(lanes, part);

        if (from < 0 || lanes->forward[from] >= 0 ||
            lanes->connections[lanes->connection[from]].feeds != lanes->connection[part])
            continue;
        lanes->forward[from] = part;
        lanes->forwards[part] = from;
    }
}

static int is_result(const banyan_schedule *parts, int rank, int piece)
{
    switch (parts->collective) {
    case BANYAN_COLLECTIVE_REDUCE_SCATTER:
        return parts->owner[piece] == rank;
    case BANYAN_COLLECTIVE_REDUCE:
        return parts->root == rank;
    default:
        return 1;
    }
}

/* By part: whether somebody other than its forward reads what it brings. First counts, for every part, its
 * readers and how many of its pieces are overwritten next. */
static banyan_status find_stores(banyan_msccl_lanes *lanes, banyan_error *err)
{
    const banyan_schedule *parts = lanes->parts;
    const banyan_dependency_list *sends = &lanes->dependencies->send_after_apply;
    const banyan_dependency_list *applies = &lanes->dependencies->apply_after_apply;
    int *readers = banyan_alloc((size_t)lanes->part_count, sizeof *readers);
    int *overwritten = banyan_alloc((size_t)lanes->part_count, sizeof *overwritten);

    if (!readers || !overwritten) {
        banyan_free(readers);
        banyan_free(overwritten);
        return banyan_fail_memory(err);
    }
    for (int p = 0; p < lanes->part_count; p++) {
        const banyan_transfer *t = &parts->transfers[p];

        for (size_t i = sends->first[p]; i < sends->first[p + 1]; i++)
            readers[sends->item[i]]++;
        for (size_t i = applies->first[p]; i < applies->first[p + 1]; i++) {
            const banyan_transfer *before = &parts->transfers[applies->item[i]];
            int begin = before->first_piece > t->first_piece ? before->first_piece : t->first_piece;
            int end = before->first_piece + before->piece_count, mine = t->first_piece + t->piece_count;

            if (t->action == BANYAN_ACTION_REDUCE)
                readers[applies->item[i]]++;
            else
                overwritten[applies->item[i]] += (end < mine ? end : mine) - begin;
        }
    }
    for (int p = 0; p < lanes->part_count; p++) {
        const banyan_transfer *t = &parts->transfers[p];

        lanes->needs_store[p] = readers[p] != 1;
        for (int q = 0; q < t->piece_count && overwritten[p] < t->piece_count; q++)
            lanes->needs_store[p] |= is_result(parts, t->dst, t->first_piece + q);
    }
    banyan_free(readers);
    banyan_free(overwritten);
    return BANYAN_SUCCESS;
}

/* The blocks that send come first, in the order of their connections, then those that only receive. */
static banyan_status number_blocks(banyan_msccl_lanes *lanes, banyan_error *err)
{
    int ranks = lanes->parts->active_count, *next = banyan_alloc((size_t)ranks, sizeof *next);

    if (!next)
        return banyan_fail_memory(err);
    for (int c = 0; c < lanes->connection_count; c++) {
        banyan_msccl_connection *connection = &lanes->connections[c];

        connection->send_block = lanes->block_count++;
        lanes->block_rank[connection->send_block] = connection->src;
        lanes->block_id[connection->send_block] = next[connection->src]++;
    }
    for (int c = 0; c < lanes->connection_count; c++) {
        banyan_msccl_connection *connection = &lanes->connections[c];

        if (connection->feeds >= 0) {
            connection->recv_block = lanes->connections[connection->feeds].send_block;
            continue;
        }
        connection->recv_block = lanes->block_count++;
        lanes->block_rank[connection->recv_block] = connection->dst;
        lanes->block_id[connection->recv_block] = next[connection->dst]++;
    }
    banyan_free(next);
    return BANYAN_SUCCESS;
}

/* Windows one after the other, in each the rounds in order. */
static void take_turns(banyan_msccl_lanes *lanes, int64_t window)
{
    const banyan_schedule *parts = lanes->parts;

    for (int p = 0; p < lanes->part_count; p++) {
        const banyan_transfer *t = &parts->transfers[p];

        lanes->turn[p] = (parts->cut[t->first_piece] / window << 31) + t->round;
    }
}

banyan_status banyan_msccl_lay_lanes(const banyan_schedule *parts, const banyan_dependencies *dependencies,
                                     int64_t window, int channel_count, int groups, banyan_msccl_lanes **out,
                                     banyan_error *err)
{
    banyan_msccl_lanes *lanes = banyan_alloc(1, sizeof *lanes);
    size_t count = parts->transfer_count;
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (!lanes)
        return banyan_fail_memory(err);
    lanes->parts = parts;
    lanes->dependencies = dependencies;
    lanes->part_count = (int)count;
    lanes->turn = banyan_alloc(count, sizeof *lanes->turn);
    lanes->connection = banyan_alloc(count, sizeof *lanes->connection);
    lanes->place = banyan_alloc(count, sizeof *lanes->place);
    lanes->queue = banyan_alloc(count, sizeof *lanes->queue);
    lanes->connections = banyan_alloc(count, sizeof *lanes->connections);
    lanes->forward = banyan_alloc(count, sizeof *lanes->forward);
    lanes->forwards = banyan_alloc(count, sizeof *lanes->forwards);
    lanes->needs_store = banyan_alloc(count, sizeof *lanes->needs_store);
    lanes->block_rank = banyan_alloc(2 * count, sizeof *lanes->block_rank);
    lanes->block_id = banyan_alloc(2 * count, sizeof *lanes->block_id);
    if (!lanes->turn || !lanes->connection || !lanes->place || !lanes->queue || !lanes->connections ||
        !lanes->forward || !lanes->forwards || !lanes->needs_store || !lanes->block_rank || !lanes->block_id)
        status = banyan_fail_memory(err);
    if (!status) {
        take_turns(lanes, window);
        status = connect(lanes, channel_count, groups, err);
    }
    if (!status)
        status = pair_connections(lanes, err);
    if (!status) {
        choose_forwards(lanes);
        status = find_stores(lanes, err);
    }
    if (!status)
        status = number_blocks(lanes, err);
    if (!status) {
        *out = lanes;
        lanes = NULL;
    }
    banyan_msccl_lanes_destroy(lanes);
    return status;
}

void banyan_msccl_lanes_destroy(banyan_msccl_lanes *lanes)
{
    if (!lanes)
        return;
    banyan_free(lanes->turn);
    banyan_free(lanes->connection);
    banyan_free(lanes->place);
    banyan_free(lanes->queue);
    banyan_free(lanes->connections);
    banyan_free(lanes->forward);
    banyan_free(lanes->forwards);
    banyan_free(lanes->needs_store);
    banyan_free(lanes->block_rank);
    banyan_free(lanes->block_id);
    banyan_free(lanes);
}
