/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_contest.c: several packets ask for lanes of one output (VA, iSLIP with one round).
 *
 * Each open lane grants itself to the one whose turn it is there, and of the lanes granted a packet takes the
 * one whose turn it is with the packet. Who is nearest to its turn is a minimum, found without branches: they
 * would be guessed wrong half of the time. Cost: lanes times packets. */
#include "simulate/flit_sets.h"

/* Lane v goes to the packet that is the fewest places behind the lane's pointer, of 31 bits: places before
 * the pointer come after all others, and where the lane is not open comes last. */
#define NOBODY (UINT32_C(1) << 31)

FLIT_INLINE void ask(const flit_output_lane *lanes, int count, int id, uint32_t open,
                     uint32_t nearest[FLIT_MAX_LANES])
{
    for (int v = 0; v < count; v++) {
        uint32_t places = ((uint32_t)(id - lanes[v].grant) & ~NOBODY) | (~open >> v & 1) << 31;

        nearest[v] = places < nearest[v] ? places : nearest[v];
    }
}

FLIT_INLINE uint32_t lanes_granted_to(int id, int count, const uint32_t granted[FLIT_MAX_LANES])
{
    uint32_t mine = 0;

    for (int v = 0; v < count; v++)
        mine |= (uint32_t)(granted[v] == (uint32_t)id) << v;
    return mine;
}

FLIT_INLINE int contest(flit_fabric *f, flit_router *r, int output, int64_t now, flit_shape shape)
{
    const uint64_t *waiting = flit_waiting_of(r, output, shape);
    int base = output << shape.shift, count = 1 << shape.shift, any = 0;
    uint32_t granted[FLIT_MAX_LANES], asked = 0;

    for (int v = 0; v < count; v++)
        granted[v] = NOBODY;
    for (int w = 0; w < shape.words; w++)
        for (uint64_t rest = waiting[w]; rest; rest &= rest - 1) {
            int id = w * 64 + __builtin_ctzll(rest);

            asked |= r->lanes[id].range;
            ask(r->output_lanes + base, count, id, flit_lanes_open(f, r, &r->lanes[id], now, shape), granted);
        }
    r->outputs[output].asked = asked;
    for (int v = 0; v < count; v++)
        granted[v] =
            granted[v] & NOBODY ? NOBODY : (granted[v] + (uint32_t)r->output_lanes[base + v].grant) & ~NOBODY;
    for (int w = 0; w < shape.words; w++)
        for (uint64_t rest = waiting[w]; rest; rest &= rest - 1) {
            int id = w * 64 + __builtin_ctzll(rest);
            uint32_t mine = lanes_granted_to(id, count, granted);

            if (!mine)
                continue;
            flit_lane_give(f, r, id, flit_first_from(mine, r->lanes[id].accept - base), shape);
            any = 1;
        }
    return any;
}

/* The same where a set is one word: each lane has a mask of those that ask for it. */
FLIT_INLINE int contest_in_word(flit_fabric *f, flit_router *r, int output, int64_t now, flit_shape shape)
{
    int base = output << shape.shift, granted[FLIT_MAX_LANES];
    uint64_t asking[FLIT_MAX_LANES] = {0}, winners = 0;
    uint32_t asked = 0, any_open = 0;

    for (uint64_t rest = *flit_waiting_of(r, output, shape); rest; rest &= rest - 1) {
        int id = __builtin_ctzll(rest);
        uint32_t open = flit_lanes_open(f, r, &r->lanes[id], now, shape);

        asked |= r->lanes[id].range;
        any_open |= open;
        for (; open; open &= open - 1)
            asking[__builtin_ctz(open)] |= rest & -rest;
    }
    r->outputs[output].asked = asked;
    for (uint32_t lanes = any_open; lanes; lanes &= lanes - 1) {
        int v = __builtin_ctz(lanes);
        uint64_t later = asking[v] & -(UINT64_C(1) << (r->output_lanes[base + v].grant & 63));

        granted[v] = __builtin_ctzll(later ? later : asking[v]);
        winners |= UINT64_C(1) << granted[v];
    }
    for (uint64_t rest = winners; rest; rest &= rest - 1) {
        int id = __builtin_ctzll(rest);
        uint32_t mine = 0;

        for (uint32_t lanes = any_open; lanes; lanes &= lanes - 1)
            mine |= (uint32_t)(granted[__builtin_ctz(lanes)] == id) << __builtin_ctz(lanes);
        flit_lane_give(f, r, id, flit_first_from(mine, r->lanes[id].accept - base), shape);
    }
    return winners != 0;
}

int flit_contest(flit_fabric *f, flit_router *r, int output, int64_t now)
{
    if (f->agenda && r->lane_shift == 2)
        return contest_in_word(f, r, output, now, (flit_shape){1, 1, 1, 2, 0, 0, 1});
    if (f->agenda)
        return contest_in_word(f, r, output, now, (flit_shape){1, 1, 1, r->lane_shift, 0, 0, 1});
    if (r->words == 1 && r->output_words == 1 && r->lane_shift == 2)
        return contest_in_word(f, r, output, now, (flit_shape){1, 1, 1, 2, 0, 0, 0});
    if (r->words == 1 && r->output_words == 1)
        return contest_in_word(f, r, output, now, (flit_shape){1, 1, 1, r->lane_shift, 0, 0, 0});
    return contest(f, r, output, now, flit_shape_of(r));
}
