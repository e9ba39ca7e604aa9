/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_ahead.c: many cycles at once, where each would be like the last.
 *
 * When no packet waits for a lane, nothing arrives, every output has one lane that wants it and every input
 * one lane that goes, then each cycle moves one flit of each stream, and nothing is decided. How long that
 * holds is the least of: flits left before a tail, flits here, credits here or coming in one run, the next
 * arrival, the next thing the interface does. So long serialisations cost
 * a few steps a packet instead of one a flit, and give the same cycles. */
#include "simulate/flit_fabric.h"
#include "simulate/flit_interface.h"

/* How long an output lane has credits for a flit a cycle: those here, and those of the next run if that comes
 * before they are used up. -1: a starved lane is about to be fed. */
static int64_t steady_credits(flit_credits *credits, int64_t now)
{
    int64_t here = credits->here;

    if (!here && credits->due < now)
        return -1;
    here = flit_credits_collect(credits, now);
    return credits->due <= now + here ? here + credits->next : here;
}

/* A lane that goes on flit by flit; 0: it does not, and will not before something changes. -1: cannot
 * tell. */
static int64_t steady_lane(flit_router *r, const flit_lane *lane, int64_t now)
{
    int64_t cycles = flit_earlier(lane->left - 1, lane->available);

    if (lane->output < r->link_outputs) {
        int64_t credits = steady_credits(&r->output_lanes[lane->target].credits, now);

        if (r->has_slow_link && r->paces[lane->output].interval > 65536)
            return -1;
        if (credits <= 0)
            return credits;
        cycles = flit_earlier(cycles, credits);
    }
    return cycles > 0 ? cycles : -1;
}

/* Finds the one stream of each input and how long all of them last. moves[] lists them. */
static int64_t find_streams(flit_router *r, int64_t now, int64_t cycles, int *count)
{
    *count = 0;
    for (int id = 0; id < r->input_count << r->lane_shift; id++) {
        const flit_lane *lane = &r->lanes[id];
        flit_output *output = &r->outputs[lane->output];
        int64_t steady;

        if (lane->packet < 0 || lane->state != LANE_ACTIVE || !lane->available)
            continue;
        steady = steady_lane(r, lane, now);
        if (steady == 0) {
            cycles = flit_earlier(cycles, r->output_lanes[lane->target].credits.due - now);
            continue;
        }
        if (steady < 0 || output->stamp == now ||
            (*count && r->moves[*count - 1] >> r->lane_shift == id >> r->lane_shift))
            return 0;
        cycles = flit_earlier(cycles, steady);
        output->stamp = now;
        r->moves[(*count)++] = id;
    }
    return cycles;
}

static int64_t find_cycles(flit_router *r, int64_t now, int64_t limit, int *count)
{
    int64_t cycles = limit;

    if (r->interface)
        cycles = flit_earlier(cycles, flit_interface_ahead(r->interface, now));
    for (int i = 0; i < r->input_count && cycles > 1; i++)
        cycles = flit_earlier(cycles, r->flit_due[i] - now);
    return cycles > 1 ? find_streams(r, now, cycles, count) : 0;
}

int64_t flit_router_run_ahead(flit_fabric *f, flit_router *r, int64_t now, int64_t limit)
{
    int count = 0;
    int64_t cycles = find_cycles(r, now, limit, &count);
    int32_t flits = (int32_t)flit_earlier(cycles, INT32_MAX);

    if (cycles < 2)
        return 0;
    flit_router_bulk(f, r, count, flits, now);
    return flits;
}
