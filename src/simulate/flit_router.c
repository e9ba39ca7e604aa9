/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_router.c: one cycle of an input-queued router with virtual channels.
 *
 *     cycle    t       t+1     t+2           t+3+L
 *     head     VA      SA      ST  ~~link~~  next router       VA: an output lane, SA: the switch, ST: across
 *     body             SA      ST  ~~link~~                    routes are known beforehand
 *
 * Both allocators are iSLIP with one round: outputs grant by round robin, inputs accept by round robin, and
 * only an accepted grant moves the pointers. A flit that wins SA at t is at the next router at t + 2 + L, its
 * credit back at t + 1 + L and counted credit_cycles later. The output lane is free again for VA in the cycle
 * after the tail's SA.
 *
 * What could move is known at any time: an input lane is in want[output] while it holds a lane of that output, a
 * flit of its packet is here and a credit is. Arrivals put it there, the last flit or credit takes it out. Credits
 * are counted when somebody needs to know, which changes nothing.
 * Cost: a comparison a port, and the flits that move.
 *
 * Followed: the pipeline of BookSim 2 (N. Jiang et al., 2013); iSLIP (N. McKeown, 1999). */
#include "core/alloc.h"
#include "simulate/flit_fabric.h"
#include "simulate/flit_interface.h"
#include "simulate/flit_sets.h"
#include "simulate/flit_switch.h"

static int grow_ring(flit_lane *lane)
{
    flit_ring *old = lane->ring;
    uint32_t capacity = old ? 2 * old->capacity : 4;
    flit_ring *ring = banyan_alloc(1, sizeof *ring + capacity * sizeof *ring->entries);

    if (!ring)
        return 0;
    for (uint32_t i = 0; old && i < lane->behind; i++)
        ring->entries[i] = old->entries[(old->first + i) & (old->capacity - 1)];
    banyan_free(old);
    ring->capacity = capacity;
    lane->ring = ring;
    return 1;
}

static int push_entry(flit_lane *lane, flit_entry entry)
{
    if ((!lane->ring || lane->behind == lane->ring->capacity) && !grow_ring(lane))
        return 0;
    lane->ring->entries[(lane->ring->first + lane->behind++) & (lane->ring->capacity - 1)] = entry;
    return 1;
}

/* More of the packet that came last. */
static void add_to_entry(const flit_lane *lane, int32_t count)
{
    lane->ring->entries[(lane->ring->first + lane->behind - 1) & (lane->ring->capacity - 1)].arrived += count;
}

static flit_entry pop_entry(flit_lane *lane)
{
    flit_entry entry = lane->ring->entries[lane->ring->first];

    lane->ring->first = (lane->ring->first + 1) & (lane->ring->capacity - 1);
    lane->behind--;
    return entry;
}

/* The packet comes to the front of its lane and asks for an output lane. */
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
    flit_set_add(flit_waiting_of(r, hop.output, shape), id, shape.words);
    flit_set_add(r->waited, hop.output, shape.output_words);
}

/* A run is taken when its first flit comes. The others follow one a cycle, and a lane sends one a cycle at the most:
 * so none goes on before it has come, though it counts as being here. */
FLIT_INLINE void take_flits(flit_fabric *f, flit_router *r, int input, int64_t now, flit_shape shape)
{
    flit_line *line = &r->inputs[input].line;
    const flit_run *run = flit_line_front(line);
    int id = input << shape.shift | run->lane, has_head = run->flits != 0;
    int32_t count = shape.is_plain ? 1 : run->count;
    flit_entry entry = {run->packet, run->hop, run->flits, count, {run->lanes, run->output}};
    flit_lane *lane = &r->lanes[id];
    int64_t due = run->count > count ? flit_line_take(line) : flit_line_pop(line);

    r->flit_due[input] = due;
    flit_expect(f, input, due, shape.input_words);
    if (has_head) {
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

FLIT_INLINE int receive(flit_fabric *f, flit_router *r, int64_t now, flit_shape shape)
{
    uint64_t *inputs = f->arrivals + (now - f->begin) * shape.input_words;
    int any = 0;

    for (int w = 0; w < shape.input_words; w++) {
        uint64_t rest = inputs[w];

        if (!rest)
            continue;
        inputs[w] = 0;
        any = 1;
        for (; rest; rest &= rest - 1)
            take_flits(f, r, w * 64 + __builtin_ctzll(rest), now, shape);
    }
    return any;
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

/* Over a link. */
FLIT_INLINE void send(flit_fabric *f, flit_router *r, const flit_lane *lane, int32_t count, int64_t now,
                      flit_shape shape)
{
    const flit_output *out = &r->outputs[lane->output];
    int has_head = lane->left + count == lane->flits;
    int64_t due = now + 2 + out->latency;
    flit_line *line = out->line;
    flit_run *run;

    line->sent += count;
    if (!has_head && flit_line_extend(line, lane->packet, due, count))
        return;
    f->wake[out->dst] = flit_earlier(f->wake[out->dst], due);
    run = flit_line_push(line, due);
    if (!run) {
        f->has_failed = 1;
        return;
    }
    run->due = due;
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
                                int32_t count, int64_t now)
{
    int64_t due = now + r->inputs[input].credit_cycles, *wake = &f->wake[r->inputs[input].src];

    /* Who has others on their way is awake in time. */
    if (lane->back->due < f->settled || lane->back->due == FLIT_NEVER)
        *wake = flit_earlier(*wake, due);
    if (lane->back->is_watched)
        flit_interface_credit(r->interface, input - r->link_inputs, due);
    if (!flit_credits_return(lane->back, due, count, f->settled))
        f->has_failed = 1;
}

/* A slow link takes no other flit for a while. */
static void keep_link(flit_pace *pace, int64_t now)
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
    return_credits(f, r, input, lane, count, now);
    r->outputs[output].grant = input + 1;
    r->inputs[input].accept = (int16_t)(output + 1);
    r->inputs[input].turn = (int16_t)((v + 1) & (FLIT_MOST_LANES - 1));
    if (left == 0) {
        end_packet(r, id, now, shape);
    } else if (credits->here == 0 && !flit_credits_settle(credits, now + count)) {
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

FLIT_INLINE int allocate_lanes(flit_fabric *f, flit_router *r, int64_t now, flit_shape shape)
{
    int any = 0;

    for (int w = 0; w < shape.output_words; w++)
        for (uint64_t rest = r->waited[w]; rest; rest &= rest - 1) {
            int output = w * 64 + __builtin_ctzll(rest);
            const flit_output *o = &r->outputs[output];
            uint64_t waiting = flit_waiting_of(r, output, shape)[0];

            if (!(o->asked & ~o->taken))
                continue;
            if (shape.words == 1 && !(waiting & (waiting - 1)))
                any |= allocate_alone(f, r, output, now, shape);
            else
                any |= flit_contest(f, r, output, now);
        }
    return any;
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
                flit_credits_settle(credits, now + 1);
                flit_lane_feed(r, output, v, shape);
                any = 1;
            }
        }
    return any;
}

/* The switch is given to those that have lanes, then lanes to those that wait, then flits move: so both see the
 * router as it was when the cycle began, and a lane is used from the next cycle on. 1: anything moved, or may move in
 * the next. */
FLIT_INLINE int step(flit_fabric *f, flit_router *r, int64_t now, flit_shape shape)
{
    int moved = receive(f, r, now, shape) | feed(r, now, shape), count = 0;

    if (flit_set_has_any(r->wanted, shape.output_words)) {
        count = flit_allocate_switch(r, now, shape);
        moved = 1;
    }
    if (flit_set_has_any(r->waited, shape.output_words))
        moved |= allocate_lanes(f, r, now, shape);
    for (int i = 0; i < count; i++)
        forward(f, r, r->moves[i], 1, now, shape);
    f->flit_hops += count;
    return moved;
}

void flit_router_bulk(flit_fabric *f, flit_router *r, int move_count, int32_t cycles, int64_t now)
{
    flit_shape shape = flit_shape_of(r);

    for (int i = 0; i < move_count; i++) {
        flit_lane *lane = &r->lanes[r->moves[i]];
        flit_credits *credits = &r->output_lanes[lane->target].credits;
        int was_starved = !credits->here;

        if (flit_credits_settle(credits, now + cycles) && was_starved)
            flit_lane_feed(r, lane->output, flit_lane_of(lane->target, shape), shape);
        forward(f, r, r->moves[i], cycles, now, shape);
        f->flit_hops += cycles;
    }
}

static int64_t next_credit(const flit_router *r, int64_t now)
{
    int64_t next = FLIT_NEVER;

    for (int i = 0; i < r->link_outputs << r->lane_shift; i++)
        if (r->output_lanes[i].credits.due > now)
            next = flit_earlier(next, r->output_lanes[i].credits.due);
    return next;
}

/* When something arrives next that could change anything, after a cycle in which nothing did. */
static int64_t next_arrival(const flit_router *r, int64_t now)
{
    int64_t next = FLIT_NEVER;

    for (int i = 0; i < r->input_count; i++)
        next = flit_earlier(next, r->flit_due[i]);
    if (flit_set_has_any(r->waited, r->output_words) || flit_set_has_any(r->hungry, r->output_words))
        next = flit_earlier(next, next_credit(r, now));
    return r->interface ? flit_earlier(next, r->interface->wake_at) : next;
}

FLIT_INLINE int64_t run(flit_fabric *f, flit_router *r, int64_t now, int64_t until, flit_shape shape)
{
    flit_interface *interface = r->interface;
    uint64_t length = (uint64_t)(until - now);
    uint64_t *behind = f->arrivals + length * (uint64_t)shape.input_words;

    f->begin = now;
    f->end = until;
    for (int i = 0; i < r->input_count; i++) {
        uint64_t cycle = (uint64_t)(r->flit_due[i] - now);

        flit_expect_in(f, i, cycle < length ? cycle : length, shape.input_words);
    }
    while (now < until && !f->has_failed) {
        if (interface && (interface->wake_at <= now || shape.is_plain))
            flit_interface_step(interface, now);
        if (step(f, r, now, shape)) {
            now++;
            if (until - now > 3 && !flit_set_has_any(r->waited, shape.output_words) && !shape.is_plain)
                now += flit_router_run_ahead(f, r, now, until - now);
        } else {
            int64_t next = next_arrival(r, now);

            now = next > now ? next : now + 1;
        }
    }
    for (int w = 0; w < shape.input_words; w++)
        behind[w] = 0;
    return now;
}

/* Common shapes are constants: routers with up to 64 lanes in all, with four a link or others. */
static __attribute__((noinline)) int64_t run_four(flit_fabric *f, flit_router *r, int64_t now, int64_t until)
{
    return run(f, r, now, until, (flit_shape){1, 1, 1, 2, 0, 0});
}

static __attribute__((noinline)) int64_t run_few(flit_fabric *f, flit_router *r, int64_t now, int64_t until)
{
    return run(f, r, now, until, (flit_shape){1, 1, 1, r->lane_shift, 0, 0});
}

static __attribute__((noinline)) int64_t run_any(flit_fabric *f, flit_router *r, int64_t now, int64_t until)
{
    flit_shape shape = flit_shape_of(r);

    shape.is_plain = f->settings.is_plain;
    return run(f, r, now, until, shape);
}

int64_t flit_router_run(flit_fabric *f, flit_router *r, int64_t now, int64_t until)
{
    if (r->words > 1 || r->output_words > 1 || r->has_slow_link || f->settings.is_plain)
        return run_any(f, r, now, until);
    return r->lane_shift == 2 ? run_four(f, r, now, until) : run_few(f, r, now, until);
}
