/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_hop.h: what happens to a flit in a router: it comes, its packet gets a lane of its output, it
 * goes on. Internal to the flit engine: parts of flit_router.c, which does a router at a time, and of
 * flit_cycle.c, which does a cycle at a time. */
#ifndef BANYAN_SIMULATE_FLIT_HOP_H
#define BANYAN_SIMULATE_FLIT_HOP_H

#include "simulate/flit_interface.h"
#include "simulate/flit_sets.h"

static inline int push_entry(flit_lane *lane, flit_entry entry)
{
    if ((!lane->ring || lane->behind == lane->ring->capacity) && !flit_ring_grow(lane))
        return 0;
    lane->ring->entries[(lane->ring->first + lane->behind++) & (lane->ring->capacity - 1)] = entry;
    return 1;
}

/* More of the packet that came last. */
static inline void add_to_entry(const flit_lane *lane, int32_t count)
{
    lane->ring->entries[(lane->ring->first + lane->behind - 1) & (lane->ring->capacity - 1)].arrived += count;
}

static inline flit_entry pop_entry(flit_lane *lane)
{
    flit_entry entry = lane->ring->entries[lane->ring->first];

    lane->ring->first = (lane->ring->first + 1) & (lane->ring->capacity - 1);
    lane->behind--;
    return entry;
}

/* The packet reaches the front of its lane and asks for an output lane. */
FLIT_INLINE void begin_packet(flit_router *r, int id, flit_entry entry, int64_t now, flit_shape shape)
{
    flit_lane *lane = &r->lanes[id];
    flit_hop hop = entry.way;

    lane->packet = entry.packet;
    lane->hop = entry.hop;
    lane->available = entry.arrived;
    lane->left = lane->flits = entry.flits;
    lane->state = LANE_WAITING;
    lane->output = (int16_t)hop.output;
    lane->range = hop.lanes;
    lane->since = now;
    r->outputs[hop.output].asked |= lane->range;
    if (shape.is_listed)
        flit_list_add_if(r->agenda->wait_into, flit_place(r, hop.output),
                         !*flit_waiting_of(r, hop.output, shape));
    else
        flit_set_add(r->waited, hop.output, shape.output_words);
    flit_set_add(flit_waiting_of(r, hop.output, shape), id, shape.words);
}

/* What has come joins its lane. */
FLIT_INLINE void take_run(flit_fabric *f, flit_router *r, int input, const flit_run *run, int32_t count,
                          int64_t now, flit_shape shape)
{
    int id = input << shape.shift | run->lane;
    flit_lane *lane = &r->lanes[id];

    if (run->flits) {
        flit_entry entry = {run->packet, run->hop, run->flits, count, {run->lanes, run->output}};

        if (lane->packet < 0)
            begin_packet(r, id, entry, now, shape);
        else if (!push_entry(lane, entry))
            f->has_failed = 1;
    } else if (lane->behind) {
        add_to_entry(lane, count);
    } else {
        /* One that has flits here is where it belongs. */
        if (!lane->available && lane->state == LANE_ACTIVE && r->output_lanes[lane->target].credits.here > 0)
            flit_want_add(r, id, lane->output, shape);
        lane->available += count;
    }
}

/* A run is taken when its first flit comes. The others follow one a cycle, and a lane sends one a cycle at
 * the most: so none goes on before it has come, though it counts as being here. */
FLIT_INLINE void take_flits(flit_fabric *f, flit_router *r, int input, int64_t now, flit_shape shape)
{
    flit_line *line = &r->inputs[input].line;
    const flit_run *run = flit_line_front(line);
    int32_t count = shape.is_plain ? 1 : run->count;

    take_run(f, r, input, run, count, now, shape);
    r->flit_due[input] = run->count > count ? flit_line_take(line) : flit_line_pop(line);
    flit_expect(f, input, r->flit_due[input], shape.input_words);
}

FLIT_INLINE void end_packet(flit_router *r, int id, int64_t now, flit_shape shape)
{
    flit_lane *lane = &r->lanes[id];

    r->outputs[lane->output].taken &= ~(UINT32_C(1) << flit_lane_of(lane->target, shape));
    flit_want_drop(r, id, lane->output, shape);
    lane->packet = -1;
    if (lane->behind)
        begin_packet(r, id, pop_entry(lane), now, shape);
}

/* A place for a run over a link, or NULL: it has joined the last one, or memory ran out. */
FLIT_INLINE flit_run *place_run(flit_fabric *f, const flit_output *out, const flit_lane *lane, int has_head,
                                int32_t count, int64_t due)
{
    flit_line *line = out->line;
    flit_run *run;

    line->sent += count;
    if (!has_head && flit_line_extend(line, lane->packet, due, count))
        return NULL;
    f->wake[out->dst] = flit_earlier(f->wake[out->dst], due);
    *line->due = flit_earlier(*line->due, due);
    run = flit_line_push(line);
    f->has_failed |= !run;
    return run;
}

/* Over a link. */
FLIT_INLINE void send(flit_fabric *f, flit_router *r, const flit_lane *lane, int32_t count, int64_t now,
                      flit_shape shape)
{
    const flit_output *out = &r->outputs[lane->output];
    int has_head = lane->left + count == lane->flits;
    int64_t due = now + 2 + out->latency;
    flit_run *run =
        shape.is_listed ? flit_agenda_expect(f->agenda, due) : place_run(f, out, lane, has_head, count, due);

    if (!run)
        return;
    run->due = shape.is_listed ? out->place : due;
    run->packet = lane->packet;
    run->count = count;
    run->flits = has_head ? lane->flits : 0;
    run->hop = lane->hop + 1;
    run->lanes = f->hops[lane->hop + 1].lanes;
    run->output = (int16_t)f->hops[lane->hop + 1].output;
    run->lane = (uint16_t)flit_lane_of(lane->target, shape);
}

/* Back to a router, or to the node's own interface: that it wakes itself changes nothing. */
FLIT_INLINE void return_credits(flit_fabric *f, flit_router *r, int input, const flit_lane *lane,
                                int32_t count, int64_t now, flit_shape shape)
{
    const flit_input *from = &r->inputs[input];
    int64_t due = now + from->credit_cycles;

    if (shape.is_listed) {
        flit_agenda_return(f->agenda, lane->back, due);
        return;
    }
    /* Who has others on their way is awake in time. */
    if (lane->back->due < f->horizon || lane->back->due == FLIT_NEVER)
        f->wake[from->src] = flit_earlier(f->wake[from->src], due);
    if (lane->back->is_watched)
        flit_interface_credit(r->interface, input - r->link_inputs, due);
    if (!flit_credits_return(lane->back, due, count, f->horizon))
        f->has_failed = 1;
}

/* A slow link takes no other flit for a while. */
static inline void keep_link(flit_pace *pace, int64_t now)
{
    if (pace->interval > 65536)
        pace->free_at = (pace->free_at > now << 16 ? pace->free_at : now << 16) + pace->interval;
}

FLIT_INLINE void forward(flit_fabric *f, flit_router *r, int id, int32_t count, int64_t now, flit_shape shape)
{
    flit_lane *lane = &r->lanes[id];
    flit_credits *credits = &r->output_lanes[lane->target].credits;
    int input = id >> shape.shift, v = id - (input << shape.shift), output = lane->output;
    int32_t left = lane->left - count;

    lane->available -= count;
    lane->left = left;
    lane->since = now + count - 1;
    if (output < r->link_outputs) {
        credits->here -= count;
        send(f, r, lane, count, now, shape);
        if (shape.is_slow)
            keep_link(&r->paces[output], now);
    } else if (left == 0) {
        flit_interface_deliver(f, r->interface, lane->packet, now + 3);
    }
    return_credits(f, r, input, lane, count, now, shape);
    r->outputs[output].grant = input + 1;
    r->inputs[input].accept = (int16_t)(output + 1);
    r->inputs[input].turn = (int16_t)((v + 1) & (FLIT_MAX_LANES - 1));
    if (left == 0) {
        end_packet(r, id, now, shape);
    } else if (credits->here == 0 && !flit_credits_collect(credits, now + count)) {
        flit_want_drop(r, id, output, shape);
        flit_lane_starve(r, output, flit_lane_of(lane->target, shape), shape);
    } else if (lane->available == 0) {
        flit_want_drop(r, id, output, shape);
    }
}

/* Who waits alone gets the open lane whose turn it is. */
FLIT_INLINE int allocate_alone(flit_fabric *f, flit_router *r, int output, int64_t now, flit_shape shape)
{
    int id = __builtin_ctzll(flit_waiting_of(r, output, shape)[0]);
    uint32_t open = flit_lanes_open(f, r, &r->lanes[id], now, shape);

    if (!open)
        return 0;
    flit_lane_give(f, r, id, flit_first_from(open, r->lanes[id].accept - (output << shape.shift)), shape);
    return 1;
}

/* Starved lanes whose credits have come by now. */
FLIT_INLINE int feed(flit_router *r, int64_t now, flit_shape shape)
{
    int any = 0;

    for (int w = 0; w < shape.output_words; w++)
        for (uint64_t rest = r->hungry[w]; rest; rest &= rest - 1) {
            int output = w * 64 + __builtin_ctzll(rest);

            for (uint32_t lanes = r->outputs[output].starved; lanes; lanes &= lanes - 1) {
                int v = __builtin_ctz(lanes);
                flit_credits *credits = &r->output_lanes[output << shape.shift | v].credits;

                if (credits->due > now)
                    continue;
                flit_credits_collect(credits, now + 1);
                flit_lane_feed(r, output, v, shape);
                any = 1;
            }
        }
    return any;
}

#endif
