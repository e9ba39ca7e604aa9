/* SPDX-License-Identifier: Apache-2.0 */
/* execute/sums.c: runs the schedule on names. A name is an input or a sum of two names; a + b and b + a have
 * one name, since every kernel commutes to the last bit (execute/kernels.h). In a proven all-reduce each
 * input comes into each sum once, so what a rank ends with is a tree with the inputs as its leaves.
 *
 * Cost: for each transfer and each of its pieces a search among the piece's sums, of which there are few. */
#include "execute/sums.h"

#include "core/alloc.h"

#define MAX_CELLS ((size_t)1 << 22) /* ranks times pieces, and what transfers touch */

typedef struct {
    int a, b;
} sum;

typedef struct {
    sum *items;
    size_t count, capacity;
} sum_list;

typedef struct {
    const banyan_schedule *schedule;
    int ranks;
    int *rank_of;    /* by node */
    int *cells;      /* by rank, then piece: the name that it holds */
    sum_list *lists; /* by piece */
    int *read;       /* what the current round has read */
} names;

/* The name of a + b; -1: no memory. */
static int add(names *n, int piece, int a, int b)
{
    sum_list *list = &n->lists[piece];
    sum wanted = {a < b ? a : b, a < b ? b : a};
    void *items = list->items;

    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].a == wanted.a && list->items[i].b == wanted.b)
            return n->ranks + (int)i;
    if (!banyan_grow(&items, list->count, &list->capacity, sizeof *list->items))
        return -1;
    list->items = items;
    list->items[list->count] = wanted;
    return n->ranks + (int)list->count++;
}

static int *cell(const names *n, int node, int piece)
{
    return &n->cells[n->rank_of[node] * n->schedule->piece_count + piece];
}

/* Everything is read before anything changes. */
static int run_round(names *n, size_t begin, size_t end)
{
    size_t at = 0;

    for (size_t i = begin; i < end; i++) {
        const banyan_transfer *t = &n->schedule->transfers[i];

        for (int k = 0; k < t->piece_count; k++)
            n->read[at++] = *cell(n, t->src, t->first_piece + k);
    }
    at = 0;
    for (size_t i = begin; i < end; i++) {
        const banyan_transfer *t = &n->schedule->transfers[i];

        for (int k = 0; k < t->piece_count; k++, at++) {
            int *into = cell(n, t->dst, t->first_piece + k);

            *into = t->action == BANYAN_ACTION_COPY ? n->read[at]
                                                    : add(n, t->first_piece + k, *into, n->read[at]);
            if (*into < 0)
                return 0;
        }
    }
    return 1;
}

static int run_all(names *n)
{
    const banyan_schedule *schedule = n->schedule;

    for (size_t begin = 0, end; begin < schedule->transfer_count; begin = end) {
        end = banyan_schedule_round_end(schedule, begin);
        if (!run_round(n, begin, end))
            return 0;
    }
    return 1;
}

/* Whether every rank holds the same sum of each piece in the end. */
static int is_common(const names *n)
{
    int pieces = n->schedule->piece_count;

    for (int piece = 0; piece < pieces; piece++) {
        if (n->cells[piece] < n->ranks)
            return 0;
        for (int rank = 1; rank < n->ranks; rank++)
            if (n->cells[rank * pieces + piece] != n->cells[piece])
                return 0;
    }
    return 1;
}

/* What a piece's sums are turned into: depth first, so that few places are in use at a time. */
typedef struct {
    const sum_list *list;
    int ranks, free_place; /* places are taken and given back like a stack's */
    int most;
    banyan_addition *out;
    int count, room;
} emission;

/* Where the value is, once it is made: an input, or ranks plus its place. */
static int emit(emission *e, int name)
{
    int a, b, into;

    if (name < e->ranks)
        return name;
    if (e->count == e->room) { /* no tree: somebody's input comes in twice */
        e->room = -1;
        return 0;
    }
    a = emit(e, e->list->items[name - e->ranks].a);
    b = e->room < 0 ? 0 : emit(e, e->list->items[name - e->ranks].b);
    if (e->room < 0 || e->count == e->room) {
        e->room = -1;
        return 0;
    }
    if (a < e->ranks && b < e->ranks) {
        into = e->ranks + e->free_place++;
    } else if (a >= e->ranks && b >= e->ranks) {
        into = a < b ? a : b;
        b = a < b ? b : a;
        a = into;
        e->free_place--;
    } else {
        into = a >= e->ranks ? a : b;
        b = a >= e->ranks ? b : a;
        a = into;
    }
    e->most = e->free_place > e->most ? e->free_place : e->most;
    e->out[e->count++] = (banyan_addition){into, a, b};
    return into;
}

static banyan_sums *emit_all(const names *n)
{
    int pieces = n->schedule->piece_count, each = n->ranks - 1;
    banyan_sums *sums = banyan_alloc(1, sizeof *sums);

    if (!sums)
        return NULL;
    *sums = (banyan_sums){.schedule = n->schedule, .ranks = n->ranks};
    sums->first = banyan_alloc((size_t)pieces + 1, sizeof *sums->first);
    sums->additions = banyan_alloc((size_t)pieces * (size_t)each, sizeof *sums->additions);
    if (!sums->first || !sums->additions) {
        banyan_sums_destroy(sums);
        return NULL;
    }
    for (int piece = 0; piece < pieces; piece++) {
        emission e = {.list = &n->lists[piece],
                      .ranks = n->ranks,
                      .out = sums->additions + (size_t)piece * (size_t)each,
                      .room = each};

        sums->first[piece] = piece * each;
        emit(&e, n->cells[piece]);
        if (e.count != each) /* not what a proven all-reduce has */
            sums->place_count = -1;
        else if (sums->place_count >= 0 && e.most > sums->place_count)
            sums->place_count = e.most;
    }
    sums->first[pieces] = pieces * each;
    return sums;
}

static int prepare(names *n)
{
    const banyan_schedule *schedule = n->schedule;
    size_t pieces = (size_t)schedule->piece_count, reads = 0;

    for (size_t i = 0; i < schedule->transfer_count; i++)
        reads += (size_t)schedule->transfers[i].piece_count;
    n->rank_of = banyan_schedule_make_ranks(schedule);
    n->cells = banyan_alloc((size_t)n->ranks * pieces, sizeof *n->cells);
    n->lists = banyan_alloc(pieces, sizeof *n->lists);
    n->read = banyan_alloc(reads, sizeof *n->read);
    if (!n->rank_of || !n->cells || !n->lists || !n->read)
        return 0;
    for (int rank = 0; rank < n->ranks; rank++)
        for (int piece = 0; piece < schedule->piece_count; piece++)
            *cell(n, schedule->active[rank], piece) = rank;
    return 1;
}

static int applies(const banyan_schedule *schedule)
{
    size_t pieces = (size_t)schedule->piece_count, touched = 0;

    if (schedule->collective != BANYAN_COLLECTIVE_ALLREDUCE || schedule->active_count < 2 ||
        pieces > MAX_CELLS / (size_t)schedule->active_count)
        return 0;
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];

        touched += (size_t)t->piece_count;
        if (banyan_schedule_rank(schedule, t->src) < 0 || banyan_schedule_rank(schedule, t->dst) < 0 ||
            touched > MAX_CELLS)
            return 0;
    }
    return 1;
}

banyan_status banyan_sums_derive(const banyan_schedule *schedule, banyan_sums **out, banyan_error *err)
{
    names n = {.schedule = schedule, .ranks = schedule->active_count};
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (!applies(schedule))
        return BANYAN_SUCCESS;
    if (!prepare(&n) || !run_all(&n))
        status = banyan_fail_memory(err);
    else if (is_common(&n)) {
        *out = emit_all(&n);
        if (!*out)
            status = banyan_fail_memory(err);
    }
    if (*out && (*out)->place_count < 0) {
        banyan_sums_destroy(*out);
        *out = NULL;
    }
    for (int piece = 0; n.lists && piece < schedule->piece_count; piece++)
        banyan_free(n.lists[piece].items);
    banyan_free(n.rank_of);
    banyan_free(n.cells);
    banyan_free(n.lists);
    banyan_free(n.read);
    return status;
}

void banyan_sums_destroy(banyan_sums *sums)
{
    if (!sums)
        return;
    banyan_free(sums->first);
    banyan_free(sums->additions);
    banyan_free(sums);
}
