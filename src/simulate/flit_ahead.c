/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_ahead.c: many cycles at once, where each would be like the last.
 *
 * When no packet waits for a lane, no head arrives, every output has one lane that wants it and every input
 * one lane that goes, then each cycle moves one flit of each stream, and nothing is decided. How long that
 * holds is the least of: flits left before a tail, flits here or coming in one run, credits here or coming in
 * one run, the next arrival of anything else, the next thing the interface does. So long serialisations cost
 * a few steps a packet instead of one a flit, and give the same cycles. */
#include "simulate/flit_fabric.h"
#include "simulate/flit_interface.h"

/* Cycles until something other than the run that is arriving arrives on the line; 0: decide cycle by cycle.
 */
static int64_t steady_input(const flit_router *r, int input, int64_t now)
{
    const flit_run *run;

    if (r->flit_due[input] > now)
        return r->flit_due[input] - now;
    run = flit_line_front(&r->inputs[input].channel->flits);
    return run->has_head ? 0 : run->count;
}

/* How long an output lane has credits for a flit a cycle: those here, and those of the next run if that comes before
 * they are used up. -1: a starved lane is about to be fed. */
static int64_t steady_credits(flit_credits *credits, int64_t now)
{
    int64_t here = credits->here;

    if (!here && credits->due < now)
        return -1;
    here = flit_credits_settle(credits, now);
    return credits->due <= now + here ? here + credits->next : here;
}

/* A lane that goes on flit by flit; 0: it does not, and will not before something changes. -1: cannot tell.
 */
static int64_t steady_lane(const flit_router *r, int input, int v, int64_t now)
{
    const flit_lane *lane = &r->lanes[input << r->lane_shift | v];
    const flit_channel *in = r->inputs[input].channel;
    int is_fed = r->flit_due[input] <= now && !lane->behind && (int)flit_line_front(&in->flits)->lane == v;
    int64_t cycles = lane->left - 1;

    if (lane->output < r->link_outputs) {
        int64_t credits = steady_credits(&r->output_lanes[lane->target].credits, now);

        if (r->outputs[lane->output].interval > 65536)
            return -1;
        if (credits <= 0)
            return credits;
        cycles = flit_earlier(cycles, credits);
    }
    if (!is_fed)
        cycles = flit_earlier(cycles, lane->available);
    return cycles > 0 ? cycles : -1;
}

/* Does a lane hold an output lane, and have a flit or get one now? */
static int is_moving(const flit_router *r, int input, int v, int64_t now)
{
    const flit_lane *lane = &r->lanes[input << r->lane_shift | v];

    if (lane->packet < 0 || lane->state != LANE_ACTIVE)
        return 0;
    return lane->available || (r->flit_due[input] <= now && !lane->behind &&
                               (int)flit_line_front(&r->inputs[input].channel->flits)->lane == v);
}

/* Finds the one stream of each input and how long all of them last. moves[] lists them. */
static int64_t find_streams(flit_router *r, int64_t now, int64_t cycles, int *count)
{
    int lanes = (1 << r->lane_shift) - 1;

    *count = 0;
    for (int id = 0; id < r->input_count << r->lane_shift; id++) {
        int input = id >> r->lane_shift, v = id & lanes;
        flit_output *output = &r->outputs[r->lanes[id].output];
        int64_t steady;

        if (!is_moving(r, input, v, now))
            continue;
        steady = steady_lane(r, input, v, now);
        if (steady == 0) {
            cycles = flit_earlier(cycles, r->output_lanes[r->lanes[id].target].credits.due - now);
            continue;
        }
        if (steady < 0 || output->stamp == now ||
            (*count && r->moves[*count - 1] >> r->lane_shift == input))
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
        cycles = flit_earlier(cycles, steady_input(r, i, now));
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
