/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/mscclpp_operations.c: what each rank does, so that an executor that reads and waits does what the
 * schedule means.
 *
 * Ranks pull: the destination of a transfer reads its source's memory and adds (rre) or copies (get) into
 * its own. In each round a rank
 *
 *     signals those that read from it     its pieces are as the round begins with them
 *     waits for those that it reads from
 *     reads
 *     signals those that it read from     only where their pieces change later: they wait for it
 *
 * What changes a piece that somebody reads in the same round goes to scratch memory first, at the same
 * index, and is applied after that wait. Signals of a pair have one order at both ends, round by round, and
 * in a round they come before the waits: nothing waits for ever.
 *
 * Flows that share no piece do all that side by side, in lanes of their own. */
#include <inttypes.h>
#include <string.h>

#include "core/alloc.h"
#include "core/gcd.h"
#include "schedule/dependencies.h"
#include "schedule/mscclpp.h"

enum { MAX_CHUNKS = 65536 };

typedef struct {
    const banyan_schedule *schedule;
    const banyan_dependencies *after;
    banyan_mscclpp_plan *plan;
    int ranks, lanes;
    int64_t unit;          /* of the schedule's whole in a chunk */
    int *rank_of;          /* by node */
    int *lane_of;          /* by flow */
    char *is_acknowledged; /* by transfer: the pieces change at its source later */
    char *needs_scratch;   /* by transfer */
    char *marks;           /* ranks x ranks: who signals whom in this phase */
    char *unread;          /* ranks x ranks: a reads b, and b was not told that it is over */
    banyan_error *err;
    int has_failed;
} writer;

static banyan_mscclpp_program *program_of(writer *in, int rank, int lane)
{
    return &in->plan->programs[(size_t)rank * (size_t)in->lanes + (size_t)lane];
}

static banyan_mscclpp_operation *append(writer *in, int rank, int lane, banyan_mscclpp_kind kind)
{
    static banyan_mscclpp_operation spare;
    banyan_mscclpp_program *to = program_of(in, rank, lane);
    void *operations = to->operations;

    if (!banyan_grow(&operations, to->count, &to->capacity, sizeof *to->operations)) {
        in->has_failed = 1;
        return &spare;
    }
    to->operations = operations;
    to->operations[to->count] = (banyan_mscclpp_operation){.kind = kind};
    return &to->operations[to->count++];
}

static banyan_mscclpp_operation *last_of(writer *in, int rank, int lane)
{
    banyan_mscclpp_program *of = program_of(in, rank, lane);

    return of->count ? &of->operations[of->count - 1] : NULL;
}

/* Threads meet: once is enough. */
static void meet(writer *in, int rank, int lane)
{
    banyan_mscclpp_operation *last = last_of(in, rank, lane);

    if (last && last->kind != BANYAN_MSCCLPP_NOP)
        append(in, rank, lane, BANYAN_MSCCLPP_NOP);
}

static banyan_status measure(writer *in)
{
    const banyan_schedule *schedule = in->schedule;

    in->unit = schedule->whole;
    for (int i = 1; i <= schedule->piece_count; i++)
        in->unit = banyan_gcd(in->unit, schedule->cut[i]);
    if (schedule->whole / in->unit > MAX_CHUNKS)
        return banyan_fail(in->err, BANYAN_UNSUPPORTED,
                           "the pieces need %" PRId64 " equal chunks, and we write at most %d",
                           schedule->whole / in->unit, MAX_CHUNKS);
    for (size_t t = 0; t < schedule->transfer_count; t++)
        if (in->rank_of[schedule->transfers[t].src] < 0 || in->rank_of[schedule->transfers[t].dst] < 0)
            return banyan_fail(in->err, BANYAN_UNSUPPORTED,
                               "transfer %zu uses a node that only relays, and MSCCL++ has ranks alone", t);
    return BANYAN_SUCCESS;
}

static int find_root(int *parent, int flow)
{
    while (parent[flow] != flow)
        flow = parent[flow] = parent[parent[flow]];
    return flow;
}

/* Flows that use one piece are one lane; where there are many, lanes are shared in turn. */
static banyan_status find_lanes(writer *in)
{
    const banyan_schedule *schedule = in->schedule;
    int *user = banyan_alloc((size_t)schedule->piece_count, sizeof *user), *parent = in->lane_of, found = 0;

    if (!user)
        return banyan_fail_memory(in->err);
    for (int f = 0; f < schedule->flow_count; f++)
        parent[f] = f;
    for (size_t t = 0; t < schedule->transfer_count; t++) {
        const banyan_transfer *transfer = &schedule->transfers[t];

        for (int p = transfer->first_piece; p < transfer->first_piece + transfer->piece_count; p++) {
            int a = find_root(parent, transfer->flow), b = user[p] ? find_root(parent, user[p] - 1) : a;

            parent[a > b ? a : b] = a < b ? a : b;
            user[p] = transfer->flow + 1;
        }
    }
    for (int f = 0; f < schedule->flow_count; f++)
        parent[f] = find_root(parent, f); /* roots stand before those that they lead */
    for (int f = 0; f < schedule->flow_count; f++) {
        int root = parent[f];

        parent[f] = root == f ? found++ % BANYAN_MSCCLPP_LANES : parent[root];
    }
    in->lanes = found < BANYAN_MSCCLPP_LANES ? found : BANYAN_MSCCLPP_LANES;
    banyan_free(user);
    return BANYAN_SUCCESS;
}

static int overlap(const banyan_transfer *a, const banyan_transfer *b)
{
    return a->first_piece < b->first_piece + b->piece_count &&
           b->first_piece < a->first_piece + a->piece_count;
}

/* Transfers whose source changes the pieces later on. */
static void find_acknowledged(writer *in)
{
    const banyan_dependency_list *sends = &in->after->apply_after_send;

    for (size_t t = 0; t < in->schedule->transfer_count; t++)
        for (size_t i = sends->first[t]; i < sends->first[t + 1]; i++)
            in->is_acknowledged[sends->item[i]] = 1;
}

static int src_of(const writer *in, size_t t)
{
    return in->rank_of[in->schedule->transfers[t].src];
}

static int dst_of(const writer *in, size_t t)
{
    return in->rank_of[in->schedule->transfers[t].dst];
}

/* Transfers into pieces that somebody reads in the same round: read holds, for each rank and piece, the last
 * round in which it was read, + 1. */
static banyan_status find_scratch(writer *in)
{
    const banyan_schedule *schedule = in->schedule;
    size_t pieces = (size_t)schedule->piece_count;
    int *read = banyan_alloc((size_t)in->ranks * pieces, sizeof *read);

    if (!read)
        return banyan_fail_memory(in->err);
    for (size_t first = 0, t = 0; first < schedule->transfer_count; first = t) {
        int round = schedule->transfers[first].round;

        for (t = first; t < schedule->transfer_count && schedule->transfers[t].round == round; t++)
            for (int p = 0; p < schedule->transfers[t].piece_count; p++)
                read[(size_t)src_of(in, t) * pieces + (size_t)(schedule->transfers[t].first_piece + p)] =
                    round + 1;
        for (t = first; t < schedule->transfer_count && schedule->transfers[t].round == round; t++)
            for (int p = 0; p < schedule->transfers[t].piece_count; p++)
                in->needs_scratch[t] |=
                    read[(size_t)dst_of(in, t) * pieces + (size_t)(schedule->transfers[t].first_piece + p)] ==
                    round + 1;
    }
    banyan_free(read);
    return BANYAN_SUCCESS;
}

/* The transfers first .. end-1 are those of a round; in it, of the lane alone. */
typedef struct {
    size_t first, end;
    int lane;
} span;

static int is_in(const writer *in, const span *round, size_t t)
{
    return in->lane_of[in->schedule->transfers[t].flow] == round->lane;
}

/* Adds the peer to the rank's last operation of that kind, or to a new one. */
static void add_peer(writer *in, int rank, int peer, int lane, banyan_mscclpp_kind kind)
{
    banyan_mscclpp_operation *last = last_of(in, rank, lane);

    if (!last || last->kind != kind || last->peer_count == BANYAN_MSCCLPP_PEERS)
        last = append(in, rank, lane, kind);
    last->peers[last->peer_count++] = peer;
}

/* All signals of the marked pairs, then all waits; signals go from row to column. */
static void exchange(writer *in, int lane)
{
    for (int a = 0; a < in->ranks; a++)
        for (int b = 0; b < in->ranks; b++)
            if (in->marks[a * in->ranks + b])
                add_peer(in, a, b, lane, BANYAN_MSCCLPP_SIGNAL);
    for (int b = 0; b < in->ranks; b++) {
        int waits = 0;

        for (int a = 0; a < in->ranks; a++)
            if (in->marks[a * in->ranks + b]) {
                add_peer(in, b, a, lane, BANYAN_MSCCLPP_WAIT);
                waits = 1;
            }
        if (waits)
            meet(in, b, lane);
    }
    memset(in->marks, 0, (size_t)in->ranks * (size_t)in->ranks);
}

static void set_range(const writer *in, const banyan_transfer *transfer, banyan_mscclpp_operation *of)
{
    const int64_t *cut = in->schedule->cut;

    of->index = cut[transfer->first_piece] / in->unit;
    of->size = cut[transfer->first_piece + transfer->piece_count] / in->unit - of->index;
}

/* Sums of several peers' same pieces are one operation. */
static int joins_last(const banyan_mscclpp_operation *last, const banyan_mscclpp_operation *read)
{
    return last && last->kind == BANYAN_MSCCLPP_READ_ADD && read->kind == BANYAN_MSCCLPP_READ_ADD &&
           last->index == read->index && last->size == read->size && last->peer_count < BANYAN_MSCCLPP_PEERS;
}

static void add_read(writer *in, size_t t, int lane)
{
    const banyan_transfer *transfer = &in->schedule->transfers[t];
    int rank = dst_of(in, t), adds = transfer->action == BANYAN_ACTION_REDUCE;
    banyan_mscclpp_operation *last = last_of(in, rank, lane);
    banyan_mscclpp_operation read = {.peer_count = 1, .peers = {src_of(in, t)}};

    read.kind = in->needs_scratch[t] ? BANYAN_MSCCLPP_READ_SCRATCH
                : adds               ? BANYAN_MSCCLPP_READ_ADD
                                     : BANYAN_MSCCLPP_READ_COPY;
    set_range(in, transfer, &read);
    if (joins_last(last, &read)) {
        last->peers[last->peer_count++] = read.peers[0];
    } else {
        if (last && last->kind >= BANYAN_MSCCLPP_READ_ADD && last->index < read.index + read.size &&
            read.index < last->index + last->size)
            meet(in, rank, lane); /* what is read twice changes twice */
        *append(in, rank, lane, read.kind) = read;
    }
    in->unread[rank * in->ranks + src_of(in, t)] = 1;
}

static void add_apply(writer *in, size_t t, int lane)
{
    const banyan_transfer *transfer = &in->schedule->transfers[t];
    banyan_mscclpp_operation *apply = append(
        in, dst_of(in, t), lane,
        transfer->action == BANYAN_ACTION_REDUCE ? BANYAN_MSCCLPP_ADD_SCRATCH : BANYAN_MSCCLPP_COPY_SCRATCH);

    set_range(in, transfer, apply);
}

static void meet_all(writer *in, const span *round)
{
    for (size_t t = round->first; t < round->end; t++)
        if (is_in(in, round, t))
            meet(in, dst_of(in, t), round->lane);
}

static banyan_status check_scratch(const writer *in, const span *round)
{
    const banyan_transfer *transfers = in->schedule->transfers;

    for (size_t t = round->first; t < round->end; t++)
        for (size_t u = round->first; u < t && in->needs_scratch[t]; u++)
            if (in->needs_scratch[u] && transfers[u].dst == transfers[t].dst &&
                overlap(&transfers[u], &transfers[t]))
                return banyan_fail(
                    in->err, BANYAN_UNSUPPORTED,
                    "transfers %zu and %zu need the same scratch memory of rank %d in round %d", u, t,
                    dst_of(in, t), transfers[t].round);
    return BANYAN_SUCCESS;
}

static void add_round(writer *in, const span *round)
{
    int ranks = in->ranks;

    for (size_t t = round->first; t < round->end; t++)
        if (is_in(in, round, t))
            in->marks[src_of(in, t) * ranks + dst_of(in, t)] = 1;
    exchange(in, round->lane);
    for (size_t t = round->first; t < round->end; t++)
        if (is_in(in, round, t))
            add_read(in, t, round->lane);
    meet_all(in, round);
    for (size_t t = round->first; t < round->end; t++)
        if (is_in(in, round, t) && in->is_acknowledged[t]) {
            in->marks[dst_of(in, t) * ranks + src_of(in, t)] = 1;
            in->unread[dst_of(in, t) * ranks + src_of(in, t)] = 0;
        }
    exchange(in, round->lane);
    for (size_t t = round->first; t < round->end; t++)
        if (is_in(in, round, t) && in->needs_scratch[t])
            add_apply(in, t, round->lane);
    meet_all(in, round);
}

/* The caller may change a vector when its rank is done: everybody must have read it by then. */
static void add_end(writer *in, int lane)
{
    memcpy(in->marks, in->unread, (size_t)in->ranks * (size_t)in->ranks);
    memset(in->unread, 0, (size_t)in->ranks * (size_t)in->ranks);
    exchange(in, lane);
}

static banyan_status add_operations(writer *in)
{
    const banyan_schedule *schedule = in->schedule;
    banyan_status status = BANYAN_SUCCESS;

    for (int lane = 0; lane < in->lanes && !status; lane++) {
        span round = {.lane = lane};

        for (; !status && round.first < schedule->transfer_count; round.first = round.end) {
            int number = schedule->transfers[round.first].round;

            for (round.end = round.first;
                 round.end < schedule->transfer_count && schedule->transfers[round.end].round == number;)
                round.end++;
            if (!lane)
                status = check_scratch(in, &round);
            if (!status)
                add_round(in, &round);
        }
        add_end(in, lane);
    }
    return status || !in->has_failed ? status : banyan_fail_memory(in->err);
}

static int make_room(writer *in)
{
    size_t transfers = in->schedule->transfer_count, ranks = (size_t)in->ranks;

    in->rank_of = banyan_schedule_make_ranks(in->schedule);
    in->lane_of = banyan_alloc((size_t)in->schedule->flow_count, sizeof *in->lane_of);
    in->is_acknowledged = banyan_alloc(transfers, 1);
    in->needs_scratch = banyan_alloc(transfers, 1);
    in->marks = banyan_alloc(ranks * ranks, 1);
    in->unread = banyan_alloc(ranks * ranks, 1);
    return in->rank_of && in->lane_of && in->is_acknowledged && in->needs_scratch && in->marks && in->unread;
}

static void forget(writer *in)
{
    banyan_free(in->rank_of);
    banyan_free(in->lane_of);
    banyan_free(in->is_acknowledged);
    banyan_free(in->needs_scratch);
    banyan_free(in->marks);
    banyan_free(in->unread);
}

static banyan_status make_plan(writer *in)
{
    banyan_mscclpp_plan *plan = in->plan;

    plan->ranks = in->ranks;
    plan->lanes = in->lanes;
    plan->chunks = in->schedule->whole / in->unit;
    plan->uses_scratch = banyan_alloc((size_t)in->ranks, 1);
    plan->programs = banyan_alloc((size_t)in->ranks * (size_t)in->lanes, sizeof *plan->programs);
    if (!plan->uses_scratch || !plan->programs)
        return banyan_fail_memory(in->err);
    for (size_t t = 0; t < in->schedule->transfer_count; t++)
        if (in->needs_scratch[t])
            plan->uses_scratch[dst_of(in, t)] = 1;
    return add_operations(in);
}

banyan_status banyan_mscclpp_plan_init(const banyan_schedule *schedule, banyan_mscclpp_plan *out,
                                       banyan_error *err)
{
    writer in = {.schedule = schedule, .plan = out, .ranks = schedule->active_count, .err = err};
    banyan_dependencies *after = NULL;
    banyan_status status;

    *out = (banyan_mscclpp_plan){0};
    status = make_room(&in) ? measure(&in) : banyan_fail_memory(err);
    if (!status)
        status = find_lanes(&in);
    if (!status)
        status = banyan_dependencies_derive(schedule, &after, err);
    if (!status) {
        in.after = after;
        find_acknowledged(&in);
        status = find_scratch(&in);
    }
    if (!status)
        status = make_plan(&in);
    if (status)
        banyan_mscclpp_plan_fini(out);
    banyan_dependencies_destroy(after);
    forget(&in);
    return status;
}

void banyan_mscclpp_plan_fini(banyan_mscclpp_plan *plan)
{
    for (int i = 0; plan->programs && i < plan->ranks * plan->lanes; i++)
        banyan_free(plan->programs[i].operations);
    banyan_free(plan->programs);
    banyan_free(plan->uses_scratch);
    *plan = (banyan_mscclpp_plan){0};
}
