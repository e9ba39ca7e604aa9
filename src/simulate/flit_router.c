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

static int push_entry(flit_lane *lane, flit_entry entry)
{
    if (lane->behind == lane->capacity) {
        uint32_t capacity = lane->capacity ? 2 * lane->capacity : 4;
        flit_entry *entries = banyan_alloc(capacity, sizeof *entries);

        if (!entries)
            return 0;
        for (uint32_t i = 0; i < lane->behind; i++)
            entries[i] = lane->entries[(lane->first + i) & (lane->capacity - 1)];
        banyan_free(lane->entries);
        lane->entries = entries;
        lane->first = 0;
        lane->capacity = capacity;
    }
    lane->entries[(lane->first + lane->behind++) & (lane->capacity - 1)] = entry;
    return 1;
}

/* The packet comes to the front of its lane and asks for an output lane. */
FLIT_INLINE void begin_packet(const flit_fabric *f, flit_router *r, int id, flit_entry entry, int64_t now,
                              flit_shape shape)
{
    flit_lane *lane = &r->lanes[id];
    const flit_packet *packet = &f->packets[entry.packet];
    flit_hop hop = f->hops[entry.hop];

    lane->packet = entry.packet;
    lane->hop = entry.hop;
    lane->available = entry.arrived;
    lane->left = packet->flits;
    lane->state = LANE_WAITING;
    lane->has_head = 1;
    lane->output = hop.output;
    /* With other traffic about, long messages leave the last lane of each class to it. */
    if (f->leaves_lane && packet->owner >= 0 && hop.high > hop.low)
        hop.high--;
    lane->range = UINT32_MAX >> (31 - hop.high) & UINT32_MAX << hop.low;
    lane->since = now;
    r->outputs[hop.output].asked |= lane->range;
    flit_set_add(flit_waiting_of(r, hop.output, shape), id, shape.words);
    flit_set_add(r->waited, hop.output, shape.output_words);
    r->waiting_count++;
}

FLIT_INLINE void take_flits(flit_fabric *f, flit_router *r, int input, int32_t count, int64_t now,
                            flit_shape shape)
{
    flit_line *line = &r->inputs[input].channel->flits;
    const flit_run *run = flit_line_front(line);
    int id = input << shape.shift | run->lane, has_head = run->has_head;
    flit_entry entry = {run->packet, run->hop, count};
    flit_lane *lane = &r->lanes[id];

    r->flit_due[input] = flit_line_take(line, count);
    flit_expect(f, input, r->flit_due[input], shape.input_words);
    if (has_head) {
        if (lane->packet < 0)
            begin_packet(f, r, id, entry, now, shape);
        else if (!push_entry(lane, entry))
            f->has_failed = 1;
    } else if (lane->behind) {
        lane->entries[(lane->first + lane->behind - 1) & (lane->capacity - 1)].arrived += count;
    } else {
        /* One that has flits here is where it belongs. */
        if (!lane->available && lane->state == LANE_ACTIVE &&
            r->output_lanes[lane->target].credits.here > 0)
            flit_want_add(r, id, lane->output, shape);
        lane->available += count;
    }
}

FLIT_INLINE int receive(flit_fabric *f, flit_router *r, int32_t count, int64_t now, flit_shape shape)
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
            take_flits(f, r, w * 64 + __builtin_ctzll(rest), count, now, shape);
    }
    return any;
}

FLIT_INLINE void end_packet(flit_fabric *f, flit_router *r, int id, int64_t now, flit_shape shape)
{
    flit_lane *lane = &r->lanes[id];
    int input = id >> shape.shift;

    r->outputs[lane->output].taken &= ~(UINT32_C(1) << (lane->target - (lane->output << shape.shift)));
    r->output_lanes[lane->target].holder = -1;
    r->inputs[input].active &= ~(UINT32_C(1) << (id - (input << shape.shift)));
    flit_want_drop(r, id, lane->output, shape);
    lane->packet = -1;
    lane->state = LANE_IDLE;
    if (lane->behind) {
        flit_entry entry = lane->entries[lane->first];

        lane->first = (lane->first + 1) & (lane->capacity - 1);
        lane->behind--;
        begin_packet(f, r, id, entry, now, shape);
    }
}

/* Over a link. Who has something on its way already is awake in time. */
FLIT_INLINE void send(flit_fabric *f, flit_router *r, const flit_lane *lane, int32_t count, int64_t now,
                      flit_shape shape)
{
    flit_channel *out = r->outputs[lane->output].channel;
    int64_t due = now + 2 + out->latency;
    flit_run run = {.due = due,
                    .packet = lane->packet,
                    .count = count,
                    .hop = lane->hop + 1,
                    .lane = (uint16_t)(lane->target - (lane->output << shape.shift)),
                    .has_head = lane->has_head};

    out->sent += count;
    if (!out->flits.count)
        f->wake[out->dst] = flit_earlier(f->wake[out->dst], due);
    if (!flit_channel_send(out, run))
        f->has_failed = 1;
    if (shape.is_slow && out->interval > 65536)
        out->free_at = (out->free_at > now << 16 ? out->free_at : now << 16) + out->interval;
}

FLIT_INLINE void return_credits(flit_fabric *f, flit_router *r, int input, const flit_lane *lane,
                                int32_t count, int64_t now)
{
    int64_t due = now + r->inputs[input].credit_cycles;
    int64_t *wake = &f->wake[r->inputs[input].channel->src];

    if (input >= r->link_inputs)
        flit_interface_credit(r->interface, input - r->link_inputs, due);
    else if (!lane->back->count)
        *wake = flit_earlier(*wake, due);
    if (!flit_credits_return(lane->back, due, count))
        f->has_failed = 1;
}

FLIT_INLINE void forward(flit_fabric *f, flit_router *r, int id, int32_t count, int64_t now, flit_shape shape)
{
    flit_lane *lane = &r->lanes[id];
    flit_credits *credits = &r->output_lanes[lane->target].credits;
    int input = id >> shape.shift, v = id - (input << shape.shift), output = lane->output;
    int32_t left = lane->left - count;

    lane->available -= count;
    lane->left = left;
    if (output < r->link_outputs) {
        credits->here -= count;
        send(f, r, lane, count, now, shape);
    } else if (left == 0) {
        flit_interface_deliver(f, r->interface, lane->packet, now + 3);
    }
    lane->has_head = 0;
    return_credits(f, r, input, lane, count, now);
    r->outputs[output].grant = input + 1;
    r->inputs[input].accept = output + 1;
    r->inputs[input].turn = (v + 1) & (FLIT_MOST_LANES - 1);
    if (left == 0) {
        end_packet(f, r, id, now, shape);
    } else if (credits->here == 0 && !flit_credits_settle(credits, now + count)) {
        flit_want_drop(r, id, output, shape);
        flit_lane_starve(r, output, lane->target - (output << shape.shift), shape);
    } else if (lane->available == 0) {
        flit_want_drop(r, id, output, shape);
    }
}

/* Of the lanes in a set the one that goes: the first input from a place on, and its lane whose turn it is. */
FLIT_INLINE int first_lane(const flit_fabric *f, const flit_router *r, const uint64_t *set, int input,
                           flit_shape shape)
{
    int at = input << shape.shift, word = flit_word_of(at, shape.words);
    uint64_t rest = at < 64 * shape.words ? set[word] & ~UINT64_C(0) << (at & 63) : 0;
    uint32_t lanes, later;

    if (shape.words == 1)
        rest = rest ? rest : set[0];
    else
        while (!rest) {
            word = word + 1 < shape.words ? word + 1 : 0;
            rest = set[word];
        }
    input = (word * 64 + __builtin_ctzll(rest)) >> shape.shift;
    at = input << shape.shift;
    lanes = (uint32_t)(set[word] >> (at & 63)) & f->all_lanes;
    later = lanes & ~UINT32_C(0) << r->inputs[input].turn;
    return at | __builtin_ctz(later ? later : lanes);
}

FLIT_INLINE int distance(int from, int to, int size)
{
    return to >= from ? to - from : to - from + size;
}

/* An output grants itself to a lane; the lane's input accepts if it is the best that it was granted. */
FLIT_INLINE void grant(const flit_fabric *f, flit_router *r, int output, int64_t now, flit_shape shape)
{
    flit_output *o = &r->outputs[output];
    flit_input *input;

    o->chosen = first_lane(f, r, flit_want_of(r, output, shape), o->grant, shape);
    input = &r->inputs[o->chosen >> shape.shift];
    if (input->stamp == now && distance(input->accept, output, r->output_count) >
                                   distance(input->accept, input->best_output, r->output_count))
        return;
    input->stamp = now;
    input->best_output = output;
}

/* How many of the outputs touched[first .. count) pass a tail on, if they pass anything on. */
static int count_tails(const flit_router *r, int first, int count)
{
    int tails = 0;

    for (int i = first; i < count; i++)
        tails += r->lanes[r->outputs[r->touched[i]].chosen].left == 1;
    return tails;
}

/* Ports that are asked in one cycle deliver in the order of those that asked first. */
static void order_ports(const flit_fabric *f, flit_router *r, int first, int count, flit_shape shape)
{
    for (int i = first + 1; i < count; i++) {
        int output = r->touched[i], asked = first_lane(f, r, flit_want_of(r, output, shape), 0, shape), k = i;

        for (; k > first && first_lane(f, r, flit_want_of(r, r->touched[k - 1], shape), 0, shape) > asked;
             k--)
            r->touched[k] = r->touched[k - 1];
        r->touched[k] = output;
    }
}

/* Which outputs move something: their number, in touched[]. */
FLIT_INLINE int allocate_switch(const flit_fabric *f, flit_router *r, int64_t now, flit_shape shape)
{
    int count = 0, ports = 0;

    for (int w = 0; w < shape.output_words; w++)
        for (uint64_t rest = r->wanted[w]; rest; rest &= rest - 1) {
            int output = w * 64 + __builtin_ctzll(rest);

            if (shape.is_slow && output < r->link_outputs &&
                r->outputs[output].channel->free_at > now << 16)
                continue;
            grant(f, r, output, now, shape);
            ports += output >= r->link_outputs;
            r->touched[count++] = output;
        }
    if (ports > 1 && count_tails(r, count - ports, count) > 1)
        order_ports(f, r, count - ports, count, shape);
    return count;
}

/* Does a flit wait for a slow link? */
static int waits_for_link(const flit_router *r, int64_t now)
{
    for (int input = 0; input < r->input_count; input++)
        for (uint32_t rest = r->inputs[input].active; rest; rest &= rest - 1) {
            const flit_lane *lane = &r->lanes[input << r->lane_shift | __builtin_ctz(rest)];

            if (lane->available > 0 && lane->output < r->link_outputs &&
                r->outputs[lane->output].channel->free_at > now << 16)
                return 1;
        }
    return 0;
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
 * router as it was when the cycle began, and a lane is used from the next cycle on. */
FLIT_INLINE int step(flit_fabric *f, flit_router *r, int64_t now, flit_shape shape)
{
    int moved = receive(f, r, 1, now, shape) | feed(r, now, shape), count;

    if (shape.is_slow)
        moved |= waits_for_link(r, now);
    count = allocate_switch(f, r, now, shape);
    if (r->waiting_count)
        moved |= allocate_lanes(f, r, now, shape);
    for (int i = 0; i < count; i++) {
        int id = r->outputs[r->touched[i]].chosen;

        if (r->inputs[id >> shape.shift].best_output != r->touched[i])
            continue;
        forward(f, r, id, 1, now, shape);
        f->flit_hops++;
    }
    return moved || count;
}

int flit_router_step(flit_fabric *f, flit_router *r, int64_t now)
{
    if (r->words > 1 || r->output_words > 1 || r->has_slow_link)
        return step(f, r, now, flit_shape_of(r));
    if (r->lane_shift == 2)
        return step(f, r, now, (flit_shape){1, 1, 1, 2, 0});
    return step(f, r, now, (flit_shape){1, 1, 1, r->lane_shift, 0});
}

void flit_router_bulk(flit_fabric *f, flit_router *r, int touched_count, int32_t cycles, int64_t now)
{
    flit_shape shape = flit_shape_of(r);

    receive(f, r, cycles, now, shape);
    for (int i = 0; i < touched_count; i++) {
        int output = r->touched[i], id = r->outputs[output].chosen, target = r->lanes[id].target;
        int was_starved = !r->output_lanes[target].credits.here;

        if (flit_credits_settle(&r->output_lanes[target].credits, now + cycles) && was_starved)
            flit_lane_feed(r, output, target - (output << shape.shift), shape);
        forward(f, r, id, cycles, now, shape);
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

int64_t flit_router_next(const flit_router *r, int64_t now)
{
    int64_t next = FLIT_NEVER;
    int is_hungry = r->waiting_count > 0;

    for (int i = 0; i < r->input_count; i++)
        next = flit_earlier(next, r->flit_due[i]);
    for (int w = 0; w < r->output_words; w++)
        is_hungry |= r->hungry[w] != 0;
    return is_hungry ? flit_earlier(next, next_credit(r, now)) : next;
}
