/* SPDX-License-Identifier: Apache-2.0 */
/* verify/values.c: what every cell holds, piece by piece.
 *
 * A piece never meets another piece, so each is judged alone. The value of a cell (a node's copy of the
 * piece) is the multiset of ranks whose contributions it sums. We keep it as a set of bits and a mark:
 *
 *     add      {0,1} + {2}   -> {0,1,2}          disjoint: still a set
 *     add      {0,1} + {1,2} -> {0,1,2} doubled  from here on some count is above one
 *     copy     replaces both set and mark
 *
 * Adding never lowers a count, so a doubled value can only be mended by overwriting it: set and mark together
 * decide exactly what full multisets would. Cost: transfers x ranks / 64 words for each piece. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "verify/judge.h"

typedef struct {
    int is_empty;   /* holds nothing: reading it is an error */
    int doubled;    /* the rank that is in it more than once, or -1 */
    size_t culprit; /* the transfer that doubled it */
    uint64_t order; /* names the order of additions that made it; the two sides of one addition may swap */
    size_t changed; /* the transfer that changed it last, plus one; 0: never */
} cell;

typedef struct {
    banyan_judge *judge;
    const banyan_schedule *schedule;
    int piece;
    size_t words;
    unsigned char *is_active; /* by node */
    uint64_t *bits;           /* by node */
    cell *cells;              /* by node */
    uint64_t *wanted;         /* what a result should hold */
    int *changes;             /* by node: how many transfers of the current round change it */
    int *copies;              /* by node: how many of these overwrite */
    uint64_t *held_bits;      /* what was read in this round before it changed, by position in the round */
    cell *held;
    size_t held_capacity;
} prover;

static uint64_t *bits_of(const prover *p, int node)
{
    return p->bits + (size_t)node * p->words;
}

/* A scrambler: sums of scrambled names are equal for equal orders of additions, and for no others but by a
 * chance of one in 2^64. */
static uint64_t scramble(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void clear(prover *p, int node)
{
    memset(bits_of(p, node), 0, p->words * sizeof *p->bits);
    p->cells[node] = (cell){.is_empty = 1, .doubled = -1};
}

static void clear_idle(prover *p, int node)
{
    if (!p->is_active[node])
        clear(p, node);
}

/* Only nodes that take part are looked at: a file may name millions that do not. */
static void set_initial(prover *p, const int *items, size_t count)
{
    const banyan_schedule *schedule = p->schedule;
    int source = banyan_schedule_source(schedule, p->piece);

    for (size_t i = 0; i < count; i++) {
        clear_idle(p, schedule->transfers[items[i]].src);
        clear_idle(p, schedule->transfers[items[i]].dst);
    }
    for (int rank = 0; rank < schedule->active_count; rank++) {
        int node = schedule->active[rank];

        clear(p, node);
        if (source >= 0 && rank != source)
            continue;
        p->cells[node].is_empty = 0;
        p->cells[node].order = scramble((uint64_t)rank + 1);
        bits_of(p, node)[rank / 64] |= (uint64_t)1 << (rank % 64);
    }
}

/* The first rank that is in both sets, or -1. */
static int first_common(const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (a[i] & b[i])
            return (int)i * 64 + __builtin_ctzll(a[i] & b[i]);
    return -1;
}

static void report_empty(prover *p, size_t transfer, int node)
{
    char where[160], who[80];

    banyan_judge_report(p->judge, transfer, "%s reads piece %d of %s, which is not there yet",
                        banyan_judge_transfer_name(p->judge, transfer, where, sizeof where), p->piece,
                        banyan_judge_node_name(p->judge, node, who, sizeof who));
}

/* Nodes begin with whatever was in their memory: zeros would be right for sums alone, not for products or
 * minima. */
static void report_empty_sum(prover *p, size_t transfer, int node)
{
    char where[160], who[80];

    banyan_judge_report(
        p->judge, transfer,
        "%s adds to piece %d of %s, which holds none yet: what comes first to a node without data is a copy",
        banyan_judge_transfer_name(p->judge, transfer, where, sizeof where), p->piece,
        banyan_judge_node_name(p->judge, node, who, sizeof who));
}

static void add_into(prover *p, size_t transfer, int node, const cell *value, const uint64_t *bits)
{
    cell *dst = &p->cells[node];
    uint64_t *dst_bits = bits_of(p, node);
    int common;

    if (dst->is_empty)
        report_empty_sum(p, transfer, node);
    common = dst->is_empty || value->is_empty ? -1 : first_common(dst_bits, bits, p->words);
    if (dst->doubled < 0 && value->doubled >= 0) {
        dst->doubled = value->doubled;
        dst->culprit = value->culprit;
    } else if (dst->doubled < 0 && common >= 0) {
        dst->doubled = common;
        dst->culprit = transfer;
    }
    for (size_t i = 0; i < p->words; i++)
        dst_bits[i] |= bits[i];
    dst->order = scramble(dst->order + value->order);
    dst->is_empty = 0;
    dst->changed = transfer + 1;
}

static void overwrite(prover *p, size_t transfer, int node, const cell *value, const uint64_t *bits)
{
    p->cells[node] = *value;
    p->cells[node].changed = transfer + 1;
    memcpy(bits_of(p, node), bits, p->words * sizeof *bits);
}

static int make_room(prover *p, size_t count)
{
    uint64_t *bits;
    cell *cells;

    if (count <= p->held_capacity)
        return 1;
    bits = banyan_realloc(p->held_bits, count * p->words, sizeof *bits);
    if (bits)
        p->held_bits = bits;
    cells = banyan_realloc(p->held, count, sizeof *cells);
    if (cells)
        p->held = cells;
    if (!bits || !cells)
        return 0;
    p->held_capacity = count;
    return 1;
}

/* One round of one piece: everything is read before anything changes. */
static int judge_round(prover *p, const int *items, size_t count)
{
    const banyan_transfer *transfers = p->schedule->transfers;
    char where[160], who[80];

    if (!make_room(p, count))
        return 0;
    for (size_t i = 0; i < count; i++) {
        p->changes[transfers[items[i]].dst]++;
        p->copies[transfers[items[i]].dst] += transfers[items[i]].action == BANYAN_ACTION_COPY;
    }
    for (size_t i = 0; i < count; i++) {
        int src = transfers[items[i]].src;

        if (p->cells[src].is_empty)
            report_empty(p, (size_t)items[i], src);
        if (!p->changes[src])
            continue;
        p->held[i] = p->cells[src];
        memcpy(p->held_bits + i * p->words, bits_of(p, src), p->words * sizeof *p->bits);
    }
    for (size_t i = 0; i < count; i++) {
        const banyan_transfer *t = &transfers[items[i]];
        int is_held = p->changes[t->src];
        const cell *value = is_held ? &p->held[i] : &p->cells[t->src];
        const uint64_t *bits = is_held ? p->held_bits + i * p->words : bits_of(p, t->src);

        if (p->copies[t->dst] && p->changes[t->dst] > 1) {
            banyan_judge_report(p->judge, (size_t)items[i],
                                "%s races: piece %d of %s is overwritten and changed in the same round",
                                banyan_judge_transfer_name(p->judge, (size_t)items[i], where, sizeof where),
                                p->piece, banyan_judge_node_name(p->judge, t->dst, who, sizeof who));
            p->copies[t->dst] = 0; /* say it once */
        }
        if (t->action == BANYAN_ACTION_REDUCE)
            add_into(p, (size_t)items[i], t->dst, value, bits);
        else
            overwrite(p, (size_t)items[i], t->dst, value, bits);
    }
    for (size_t i = 0; i < count; i++)
        p->changes[transfers[items[i]].dst] = p->copies[transfers[items[i]].dst] = 0;
    return 1;
}

/* The first rank that is in one set and not in the other, or -1. */
static int first_difference(const uint64_t *in, const uint64_t *not_in, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (in[i] & ~not_in[i])
            return (int)i * 64 + __builtin_ctzll(in[i] & ~not_in[i]);
    return -1;
}

static void judge_result(prover *p, int rank)
{
    int node = p->schedule->active[rank], wrong;
    const cell *found = &p->cells[node];
    size_t position = found->changed ? found->changed - 1 : p->schedule->transfer_count;
    char where[160] = "nothing", who[80];

    if (!found->is_empty && found->doubled < 0 &&
        !memcmp(bits_of(p, node), p->wanted, p->words * sizeof *p->wanted))
        return;
    banyan_judge_node_name(p->judge, node, who, sizeof who);
    if (found->changed)
        banyan_judge_transfer_name(p->judge, found->changed - 1, where, sizeof where);
    if (found->is_empty) {
        banyan_judge_report(p->judge, position, "piece %d never reaches %s", p->piece, who);
        return;
    }
    if (found->doubled >= 0) {
        banyan_judge_transfer_name(p->judge, found->culprit, where, sizeof where);
        banyan_judge_report(p->judge, found->culprit,
                            "piece %d at %s ends with rank %d's contribution more than once, since %s",
                            p->piece, who, found->doubled, where);
        return;
    }
    wrong = first_difference(p->wanted, bits_of(p, node), p->words);
    if (wrong >= 0) {
        banyan_judge_report(p->judge, position,
                            "piece %d at %s ends without rank %d's contribution; %s changed it last",
                            p->piece, who, wrong, where);
        return;
    }
    wrong = first_difference(bits_of(p, node), p->wanted, p->words);
    if (wrong >= 0)
        banyan_judge_report(p->judge, position,
                            "piece %d at %s ends with rank %d's data in it; %s changed it last", p->piece,
                            who, wrong, where);
}

static void compare_orders(prover *p, int rank, int other)
{
    banyan_verdict *verdict = p->judge->verdict;
    const int *active = p->schedule->active;

    if (verdict->orders_differ || p->cells[active[rank]].order == p->cells[active[other]].order)
        return;
    verdict->orders_differ = 1;
    snprintf(verdict->note, sizeof verdict->note,
             "ranks %d and %d add piece %d in different orders, so floating-point sums may differ in the "
             "last bits",
             rank, other, p->piece);
}

static void judge_results(prover *p)
{
    const banyan_schedule *schedule = p->schedule;
    int source = banyan_schedule_source(schedule, p->piece), first = -1;

    memset(p->wanted, 0, p->words * sizeof *p->wanted);
    for (int rank = 0; rank < schedule->active_count; rank++)
        if (source < 0 || rank == source)
            p->wanted[rank / 64] |= (uint64_t)1 << (rank % 64);
    for (int rank = 0; rank < schedule->active_count; rank++) {
        if (!banyan_schedule_is_result(schedule, rank, p->piece))
            continue;
        first = first < 0 ? rank : first;
        judge_result(p, rank);
        compare_orders(p, first, rank);
    }
}

static int judge_piece(prover *p, const int *items, size_t count)
{
    const banyan_transfer *transfers = p->schedule->transfers;

    set_initial(p, items, count);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && transfers[items[end]].round == transfers[items[begin]].round; end++)
            ;
        if (!judge_round(p, items + begin, end - begin))
            return 0;
    }
    judge_results(p);
    return 1;
}

/* The transfers of each piece, in order: item[first[p] .. first[p+1]). */
static int sort_by_piece(const banyan_schedule *schedule, size_t **first, int **item)
{
    size_t pieces = (size_t)schedule->piece_count;

    *first = banyan_alloc(pieces + 2, sizeof **first);
    *item = NULL;
    if (!*first)
        return 0;
    for (size_t i = 0; i < schedule->transfer_count; i++)
        for (int j = 0; j < schedule->transfers[i].piece_count; j++)
            (*first)[schedule->transfers[i].first_piece + j + 2]++;
    for (size_t p = 0; p < pieces; p++)
        (*first)[p + 2] += (*first)[p + 1];
    *item = banyan_alloc((*first)[pieces + 1], sizeof **item);
    if (!*item)
        return 0;
    for (size_t i = 0; i < schedule->transfer_count; i++)
        for (int j = 0; j < schedule->transfers[i].piece_count; j++)
            (*item)[(*first)[schedule->transfers[i].first_piece + j + 1]++] = (int)i;
    return 1;
}

banyan_status banyan_judge_values(banyan_judge *judge, banyan_error *err)
{
    const banyan_schedule *schedule = judge->schedule;
    size_t nodes = (size_t)schedule->node_count, *first = NULL;
    prover p = {.judge = judge, .schedule = schedule, .words = ((size_t)schedule->active_count + 63) / 64};
    int *item = NULL, fits;

    p.is_active = banyan_alloc(nodes, 1);
    p.bits = banyan_alloc(nodes * p.words, sizeof *p.bits);
    p.cells = banyan_alloc(nodes, sizeof *p.cells);
    p.wanted = banyan_alloc(p.words, sizeof *p.wanted);
    p.changes = banyan_alloc(nodes, sizeof *p.changes);
    p.copies = banyan_alloc(nodes, sizeof *p.copies);
    fits = p.is_active && p.bits && p.wanted && p.cells && p.changes && p.copies &&
           sort_by_piece(schedule, &first, &item);
    for (int rank = 0; fits && rank < schedule->active_count; rank++)
        p.is_active[schedule->active[rank]] = 1;
    for (p.piece = 0; fits && p.piece < schedule->piece_count; p.piece++)
        fits = judge_piece(&p, item + first[p.piece], first[p.piece + 1] - first[p.piece]);
    banyan_free(first);
    banyan_free(item);
    banyan_free(p.is_active);
    banyan_free(p.bits);
    banyan_free(p.wanted);
    banyan_free(p.cells);
    banyan_free(p.changes);
    banyan_free(p.copies);
    banyan_free(p.held_bits);
    banyan_free(p.held);
    return fits ? BANYAN_SUCCESS : banyan_fail_memory(err);
}
