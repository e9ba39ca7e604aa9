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
    const flit_channel *c = r->inputs[input].channel;
    const flit_run *run;

    if (input >= r->link_inputs && r->interface->ports[input - r->link_inputs].packet >= 0) {
        if (!c->flits.count)
            return 0;
        /* What the port puts in from now on joins the run, if that reaches up to it. */
        run = flit_line_front(&c->flits);
        if (c->flits.count == 1 && run->due <= now && run->due + run->count == now + 2 && !run->has_head &&
            run->packet == r->interface->ports[input - r->link_inputs].packet)
            return INT64_MAX;
    }
    if (*c->flit_due > now)
        return *c->flit_due == FLIT_NEVER ? INT64_MAX : *c->flit_due - now;
    run = flit_line_front(&c->flits);
    return run->has_head ? 0 : run->count;
}

static int64_t steady_credits(const flit_channel *c, int64_t now)
{
    if (*c->credit_due > now)
        return *c->credit_due == FLIT_NEVER ? INT64_MAX : *c->credit_due - now;
    return flit_line_front(&c->credits)->count;
}

/* A lane that goes on flit by flit; 0: it does not, and will not before something changes. -1: cannot tell.
 */
static int64_t steady_lane(const flit_router *r, int input, int v, int64_t now)
{
    const flit_lane *lane = &r->lanes[input << r->lane_shift | v];
    const flit_channel *in = r->inputs[input].channel;
    int is_fed = r->flit_due[input] <= now && !lane->behind && flit_line_front(&in->flits)->lane == v;
    int64_t cycles = lane->left - 1;

    if (lane->output < r->link_outputs) {
        const flit_channel *out = r->outputs[lane->output].channel;
        int has_credit_run =
            r->credit_due[lane->output] <= now &&
            flit_line_front(&out->credits)->lane == lane->target - (lane->output << r->lane_shift);

        if (out->interval > 65536)
            return -1;
        if (!has_credit_run && r->output_lanes[lane->target].credits <= 0)
            return 0;
        if (!has_credit_run)
            cycles = flit_earlier(cycles, r->output_lanes[lane->target].credits);
    }
    if (!is_fed)
        cycles = flit_earlier(cycles, lane->available);
    return cycles > 0 ? cycles : -1;
}

/* Lanes of an input that hold an output lane and have a flit, or get one now. */
static uint32_t lanes_of(const flit_router *r, int input, int64_t now)
{
    uint32_t lanes = r->inputs[input].active, fed = 0;

    if (r->flit_due[input] <= now) {
        int v = flit_line_front(&r->inputs[input].channel->flits)->lane;

        fed = r->lanes[input << r->lane_shift | v].behind ? 0 : UINT32_C(1) << v;
    }
    for (uint32_t rest = lanes & ~fed; rest; rest &= rest - 1)
        if (!r->lanes[input << r->lane_shift | __builtin_ctz(rest)].available)
            lanes &= ~(rest & -rest);
    return lanes;
}

/* Finds the one stream of each input and how long all of them last. touched[] lists the outputs, chosen[] says
 * which lane goes there. */
static int64_t find_streams(flit_router *r, int64_t now, int64_t cycles, int *count)
{
    *count = 0;
    for (int input = 0; input < r->input_count; input++) {
        int streams = 0;

        for (uint32_t rest = lanes_of(r, input, now); rest; rest &= rest - 1) {
            int v = __builtin_ctz(rest), id = input << r->lane_shift | v, output = r->lanes[id].output;
            int64_t steady = steady_lane(r, input, v, now);

            if (steady == 0)
                continue;
            if (steady < 0 || streams++ || r->outputs[output].stamp == now)
                return 0;
            cycles = flit_earlier(cycles, steady);
            r->outputs[output].stamp = now;
            r->outputs[output].chosen = id;
            r->touched[(*count)++] = output;
        }
    }
    return cycles;
}

/* A port's credits last, or the router gives them back as fast as they are used: from its own lane, two
 * cycles later, until when those here and under way must do. */
static int64_t credits_of_ports(const flit_fabric *f, const flit_router *r, int64_t now, int64_t cycles)
{
    flit_interface_settle(r->interface, now);
    for (int p = 0; p < f->port_count && cycles > 1; p++) {
        const flit_port *port = &r->interface->ports[p];
        const flit_line *line = &port->channel->credits;
        int id = (r->link_inputs + p) << r->lane_shift | port->lane, output = r->lanes[id].output;
        int64_t here = port->credits[port->lane];

        if (port->packet < 0)
            continue;
        if (*port->channel->credit_due <= now && flit_line_front(line)->lane == port->lane)
            here += flit_line_front(line)->count;
        if (here < 2 || r->outputs[output].stamp != now || r->outputs[output].chosen != id)
            cycles = flit_earlier(cycles, here);
    }
    return cycles;
}

static int64_t find_cycles(const flit_fabric *f, flit_router *r, int64_t now, int64_t limit, int *count)
{
    int64_t cycles = limit;

    if (r->interface)
        cycles = flit_earlier(cycles, flit_interface_ahead(r->interface, now));
    for (int i = 0; i < r->input_count && cycles > 1; i++)
        cycles = flit_earlier(cycles, steady_input(r, i, now));
    if (cycles < 2)
        return 0;
    /* From here on credits matter. Most tries end before, and leave them to lie. */
    flit_router_settle(r, now);
    for (int o = 0; o < r->link_outputs && cycles > 1; o++)
        cycles = flit_earlier(cycles, steady_credits(r->outputs[o].channel, now));
    if (cycles > 1)
        cycles = find_streams(r, now, cycles, count);
    return r->interface && cycles > 1 ? credits_of_ports(f, r, now, cycles) : cycles;
}

int64_t flit_router_run_ahead(flit_fabric *f, flit_router *r, int64_t now, int64_t limit)
{
    int count = 0;
    int64_t cycles = find_cycles(f, r, now, limit, &count);
    int32_t flits = (int32_t)flit_earlier(cycles, INT32_MAX);

    if (cycles < 2)
        return 0;
    if (r->interface)
        flit_interface_run_ahead(r->interface, now, flits);
    flit_router_bulk(f, r, count, flits, now);
    return flits;
}
