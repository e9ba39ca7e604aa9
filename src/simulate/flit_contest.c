/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_contest.c: several packets ask for lanes of one output (VA, iSLIP with one round).
 *
 * Each open lane grants itself to the one whose turn it is there, and of the lanes granted a packet takes the one
 * whose turn it is with the packet. Cost: lanes times packets. */
#include "simulate/flit_sets.h"

/* Each of the open lanes goes to whoever is first from the lane's pointer on. */
static void grant(const flit_output_lane *lanes, int id, uint32_t open, int granted[FLIT_MOST_LANES])
{
    for (; open; open &= open - 1) {
        int v = __builtin_ctz(open);
        unsigned from = (unsigned)lanes[v].grant;

        /* Unsigned: places before the pointer come after all others. */
        if (granted[v] < 0 || (unsigned)id - from < (unsigned)granted[v] - from)
            granted[v] = id;
    }
}

/* Takes all that the packet was granted off the list. */
static uint32_t take_granted(int id, int first, int count, int granted[FLIT_MOST_LANES])
{
    uint32_t mine = 0;

    for (int v = first; v < count; v++)
        if (granted[v] == id) {
            mine |= UINT32_C(1) << v;
            granted[v] = -1;
        }
    return mine;
}

int flit_contest(flit_fabric *f, flit_router *r, int output, int64_t now)
{
    flit_shape shape = flit_shape_of(r);
    const uint64_t *waiting = flit_waiting_of(r, output, shape);
    int granted[FLIT_MOST_LANES], base = output << r->lane_shift, any = 0;

    for (int v = 0; v < f->lane_count; v++)
        granted[v] = -1;
    r->outputs[output].asked = 0;
    for (int w = 0; w < r->words; w++)
        for (uint64_t rest = waiting[w]; rest; rest &= rest - 1) {
            int id = w * 64 + __builtin_ctzll(rest);

            r->outputs[output].asked |= r->lanes[id].range;
            grant(r->output_lanes + base, id, flit_lanes_open(f, r, &r->lanes[id], now, shape), granted);
        }
    for (int v = 0; v < f->lane_count; v++) {
        int id = granted[v];

        if (id < 0)
            continue;
        flit_lane_give(
            f, r, id,
            flit_first_from(take_granted(id, v, f->lane_count, granted), r->lanes[id].accept - base), shape);
        any = 1;
    }
    return any;
}
