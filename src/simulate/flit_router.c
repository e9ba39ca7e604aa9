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
    flit_channel *channel = r->inputs[input].channel;
    const flit_run *run = flit_line_front(&channel->flits);
    int id = input << shape.shift | run->lane, has_head = run->has_head;
    flit_entry entry = {run->packet, run->hop, count};
    flit_lane *lane = &r->lanes[id];

    r->flit_due[input] = flit_line_take(&channel->flits, count);
    if (has_head) {
        if (lane->packet < 0)
            begin_packet(f, r, id, entry, now, shape);
        else if (!push_entry(lane, entry))
            f->has_failed = 1;
    } else if (lane->behind) {
        lane->entries[(lane->first + lane->behind - 1) & (lane->capacity - 1)].arrived += count;
    } else {
        lane->available += count;
        if (lane->state == LANE_ACTIVE && r->output_lanes[lane->target].credits > 0)
            flit_want_add(r, id, lane->output, shape);
    }
}

/* Which of up to 64 lines have something that is due: the sign of the difference, bit by bit. */
FLIT_INLINE uint64_t find_due(const int64_t *dues, int count, int64_t now)
{
    uint64_t due = 0;

    for (int i = count - 1; i >= 0; i--)
        due = due << 1 | (uint64_t)(dues[i] - now - 1) >> 63;
    return due;
}

FLIT_INLINE int receive(flit_fabric *f, flit_router *r, int32_t count, int64_t now, flit_shape shape)
{
    int any = 0;

    for (int first = 0; first < r->input_count; first += 64) {
        int lines = r->input_count - first < 64 ? r->input_count - first : 64;
        uint64_t due = find_due(r->flit_due + first, lines, now);

        any |= due != 0;
        for (; due; due &= due - 1)
            take_flits(f, r, first + __builtin_ctzll(due), count, now, shape);
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

/* Over a link. */
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

    r->output_lanes[lane->target].credits -= count;
    out->sent += count;
    if (!flit_channel_send(out, run))
        f->has_failed = 1;
    f->wake[out->dst] = flit_earlier(f->wake[out->dst], due);
    if (out->interval > 65536)
        out->free_at = (out->free_at > now << 16 ? out->free_at : now << 16) + out->interval;
}

FLIT_INLINE void return_credits(flit_fabric *f, flit_router *r, int input, int v, int32_t count, int64_t now)
{
    flit_channel *back = r->inputs[input].channel;
    int64_t due = now + 2;

    if (input < r->link_inputs) {
        due = now + 1 + back->latency + f->settings.credit_cycles;
        f->wake[back->src] = flit_earlier(f->wake[back->src], due);
        f->last_credit = f->last_credit > due + count - 1 ? f->last_credit : due + count - 1;
    }
    if (!flit_channel_return(back, due, v, count))
        f->has_failed = 1;
}

FLIT_INLINE void forward(flit_fabric *f, flit_router *r, int id, int32_t count, int64_t now, flit_shape shape)
{
    flit_lane *lane = &r->lanes[id];
    int input = id >> shape.shift, v = id - (input << shape.shift), output = lane->output;

    lane->available -= count;
    lane->left -= count;
    f->flit_hops += count;
    if (output < r->link_outputs)
        send(f, r, lane, count, now, shape);
    else if (lane->left == 0)
        flit_interface_deliver(f, r->interface, lane->packet, now + 3);
    lane->has_head = 0;
    return_credits(f, r, input, v, count, now);
    r->outputs[output].grant = (uint16_t)(input + 1);
    r->inputs[input].accept = output + 1;
    r->inputs[input].turn = (v + 1) & (FLIT_MOST_LANES - 1);
    if (lane->left == 0) {
        end_packet(f, r, id, now, shape);
    } else if (r->output_lanes[lane->target].credits == 0) {
        flit_want_drop(r, id, output, shape);
        flit_lane_starve(r, output, shape);
        flit_credits_settle(r, output, now + count, shape);
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

            if (r->has_slow_link && output < r->link_outputs &&
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
FLIT_INLINE int allocate_alone(flit_fabric *f, flit_router *r, int output, flit_shape shape)
{
    int id = __builtin_ctzll(flit_waiting_of(r, output, shape)[0]);
    uint32_t open = flit_lanes_open(f, r, &r->lanes[id], shape);

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
            if (f->unit && output < r->link_outputs)
                any |= flit_credits_settle(r, output, now + 1, shape);
            if (shape.words == 1 && !(waiting & (waiting - 1)))
                any |= allocate_alone(f, r, output, shape);
            else
                any |= flit_contest(f, r, output);
        }
    return any;
}

FLIT_INLINE int feed(flit_router *r, int64_t now, flit_shape shape)
{
    int any = 0;

    for (int w = 0; w < shape.output_words; w++)
        for (uint64_t rest = r->hungry[w]; rest; rest &= rest - 1)
            any |= flit_credits_settle(r, w * 64 + __builtin_ctzll(rest), now + 1, shape);
    return any;
}

/* Credits that lie about count as something that happens in the cycle in which they came. */
static int count_credits(flit_router *r, int64_t now)
{
    int any = 0;

    for (int o = 0; o < r->link_outputs; o++)
        any |= flit_credits_settle(r, o, now + 1, flit_shape_of(r));
    return any;
}

/* The switch is given to those that have lanes, then lanes to those that wait, then flits move: so both see the
 * router as it was when the cycle began, and a lane is used from the next cycle on. */
FLIT_INLINE int step(flit_fabric *f, flit_router *r, int64_t now, flit_shape shape)
{
    int moved = receive(f, r, 1, now, shape) | feed(r, now, shape), count;

    if (r->has_slow_link)
        moved |= waits_for_link(r, now);
    count = allocate_switch(f, r, now, shape);
    if (r->waiting_count)
        moved |= allocate_lanes(f, r, now, shape);
    for (int i = 0; i < count; i++) {
        int id = r->outputs[r->touched[i]].chosen;

        if (r->inputs[id >> shape.shift].best_output == r->touched[i])
            forward(f, r, id, 1, now, shape);
    }
    return moved || count || count_credits(r, now);
}

int flit_router_step(flit_fabric *f, flit_router *r, int64_t now)
{
    if (r->words > 1 || r->output_words > 1)
        return step(f, r, now, flit_shape_of(r));
    if (r->lane_shift == 2)
        return step(f, r, now, (flit_shape){1, 1, 2});
    return step(f, r, now, (flit_shape){1, 1, r->lane_shift});
}

void flit_router_bulk(flit_fabric *f, flit_router *r, int touched_count, int32_t cycles, int64_t now)
{
    receive(f, r, cycles, now, flit_shape_of(r));
    for (int o = 0; o < r->link_outputs; o++)
        if (r->credit_due[o] <= now)
            flit_credits_take(r, o, cycles, flit_shape_of(r));
    for (int i = 0; i < touched_count; i++)
        forward(f, r, r->outputs[r->touched[i]].chosen, cycles, now, flit_shape_of(r));
}

void flit_router_settle(flit_router *r, int64_t until)
{
    for (int o = 0; o < r->link_outputs; o++)
        flit_credits_settle(r, o, until, flit_shape_of(r));
}

int64_t flit_router_next(const flit_router *r)
{
    int64_t next = FLIT_NEVER;

    for (int i = 0; i < r->input_count + r->link_outputs; i++)
        next = flit_earlier(next, r->flit_due[i]);
    return next;
}
