/* SPDX-License-Identifier: Apache-2.0 */
/* device/order.c: turns each piece's additions into a postfix expression. Of two operands the one that needs
 * more of the stack is pushed first (Sethi and Ullman, The Generation of Optimal Code for Arithmetic
 * Expressions, 1970), so that 16 inputs never need more than 5 places; the bits do not depend on which is
 * first, since every kernel commutes. */
#include "device/order.h"

#include <string.h>

typedef struct {
    int left, right; /* below rank_count: an input; else rank_count plus a node */
    int need;        /* places of the stack */
} node;

typedef struct {
    int ranks, pushes;
    node nodes[BANYAN_DEVICE_MAX_RANKS];
    banyan_device_piece *out;
} expression;

static int need_of(const expression *e, int value)
{
    return value < e->ranks ? 1 : e->nodes[value - e->ranks].need;
}

static void build(expression *e, const banyan_sums *sums, int piece)
{
    int held[BANYAN_DEVICE_MAX_RANKS] = {0}, made = 0; /* by place: the value that it holds */

    for (int i = sums->first[piece]; i < sums->first[piece + 1]; i++, made++) {
        const banyan_addition *a = &sums->additions[i];
        node *n = &e->nodes[made];
        int left = a->a < e->ranks ? a->a : held[a->a - e->ranks],
            right = a->b < e->ranks ? a->b : held[a->b - e->ranks], first, second;

        if (need_of(e, right) > need_of(e, left)) {
            int other = left;

            left = right;
            right = other;
        }
        first = need_of(e, left);
        second = need_of(e, right) + 1;
        *n = (node){left, right, first > second ? first : second};
        held[a->into - e->ranks] = e->ranks + made;
    }
}

static void write_postfix(expression *e, int value)
{
    if (value < e->ranks) {
        e->out->order[e->pushes++] = (uint8_t)value;
        return;
    }
    write_postfix(e, e->nodes[value - e->ranks].left);
    write_postfix(e, e->nodes[value - e->ranks].right);
    e->out->combines += (uint64_t)1 << (4 * (e->pushes - 1));
}

int banyan_device_order_derive(const banyan_sums *sums, banyan_device_order *out)
{
    int pieces = sums->schedule->piece_count;

    if (sums->ranks < 2 || sums->ranks > BANYAN_DEVICE_MAX_RANKS)
        return 0;
    *out = (banyan_device_order){.rank_count = sums->ranks};
    for (int piece = 0; piece < pieces; piece++) {
        banyan_device_piece made = {0},
                            *last = out->interval_count ? &out->intervals[out->interval_count - 1] : NULL;
        expression e = {.ranks = sums->ranks, .out = &made};

        build(&e, sums, piece);
        write_postfix(&e, 2 * sums->ranks - 2);
        if (need_of(&e, 2 * sums->ranks - 2) > BANYAN_DEVICE_STACK)
            return 0;
        if (!last || last->combines != made.combines ||
            memcmp(last->order, made.order, sizeof made.order) != 0) {
            if (out->interval_count == BANYAN_DEVICE_MAX_PIECES)
                return 0;
            out->intervals[out->interval_count++] = made;
        }
        out->last_piece[out->interval_count - 1] = piece;
    }
    return 1;
}

void banyan_device_order_bind(const banyan_device_order *order, const banyan_schedule *schedule, size_t count,
                              size_t begin, size_t end, banyan_device_reduction *out)
{
    size_t at = begin, unused;

    out->rank_count = (uint32_t)order->rank_count;
    out->piece_count = 0;
    for (int i = 0; i < order->interval_count && at < end; i++) {
        banyan_device_piece *piece = &out->pieces[out->piece_count];
        size_t until;

        banyan_schedule_elements(schedule, count, order->last_piece[i], 1, &unused, &until);
        until = until < end ? until : end;
        if (until <= at)
            continue;
        *piece = order->intervals[i];
        piece->begin = at;
        piece->end = until;
        out->piece_count++;
        at = until;
    }
}
