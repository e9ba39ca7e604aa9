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
 * Cost: the ports of the router and the flits that move.
 *
 * Followed: the pipeline of BookSim 2 (N. Jiang et al., 2013); iSLIP (N. McKeown, 1999). */
#include "core/alloc.h"
#include "simulate/flit_fabric.h"
#include "simulate/flit_interface.h"

static int push_entry(flit_lane *lane, flit_entry entry)
{
    if (lane->count == lane->capacity) {
        uint32_t capacity = lane->capacity ? 2 * lane->capacity : 4;
        flit_entry *entries = banyan_alloc(capacity, sizeof *entries);

        if (!entries)
            return 0;
        for (uint32_t i = 0; i < lane->count; i++)
            entries[i] = lane->entries[(lane->first + i) & (lane->capacity - 1)];
        banyan_free(lane->entries);
        lane->entries = entries;
        lane->first = 0;
        lane->capacity = capacity;
    }
    lane->entries[(lane->first + lane->count++) & (lane->capacity - 1)] = entry;
    return 1;
}

/* The front packet asks for an output lane. */
static void begin_packet(flit_fabric *f, flit_router *r, int lane_id, int64_t now)
{
    flit_lane *lane = &r->lanes[lane_id];
    const flit_entry *entry = &lane->entries[lane->first];
    const flit_packet *packet = &f->packets[entry->packet];
    const flit_hop *hop = &f->hops[f->path_first[packet->path] + entry->hop];

    lane->state = LANE_WAITING;
    lane->available = entry->arrived;
    lane->left = packet->flits;
    lane->has_head = 1;
    lane->output = hop->output;
    lane->low = hop->low;
    lane->high = hop->high;
    /* With other traffic about, long messages leave the last lane of each class to it. */
    if (f->leaves_lane && packet->owner >= 0 && lane->high > lane->low)
        lane->high--;
    lane->since = now;
    r->waiting[r->waiting_count++] = lane_id;
}

void flit_router_take_flits(flit_fabric *f, flit_router *r, int input, int32_t count, int64_t now)
{
    flit_channel *channel = r->in[input];
    const flit_run *run = flit_line_front(&channel->flits);
    int v = run->lane, lane_id = input * f->lane_count + v, has_head = run->has_head;
    flit_entry entry = {run->packet, count, run->hop};
    flit_lane *lane = &r->lanes[lane_id];

    r->flit_due[input] = flit_line_take(&channel->flits, count);
    if (has_head) {
        if (!push_entry(lane, entry)) {
            f->has_failed = 1;
            return;
        }
        if (lane->count == 1)
            begin_packet(f, r, lane_id, now);
        return;
    }
    if (lane->count > 1) {
        lane->entries[(lane->first + lane->count - 1) & (lane->capacity - 1)].arrived += count;
        return;
    }
    lane->available += count;
    if (lane->state == LANE_ACTIVE)
        r->ready[input] |= UINT32_C(1) << v;
}

void flit_router_take_credits(flit_fabric *f, flit_router *r, int output, int32_t count)
{
    flit_channel *channel = r->out[output];
    int lane = flit_line_front(&channel->credits)->lane;

    r->credits[output * f->lane_count + lane] += count;
    r->credit_due[output] = flit_line_take(&channel->credits, count);
}

static int receive(flit_fabric *f, flit_router *r, int64_t now)
{
    int any = 0;

    for (int i = 0; i < r->input_count; i++)
        if (r->flit_due[i] <= now) {
            flit_router_take_flits(f, r, i, 1, now);
            any = 1;
        }
    for (int o = 0; o < r->link_outputs; o++)
        if (r->credit_due[o] <= now) {
            flit_router_take_credits(f, r, o, 1);
            any = 1;
        }
    return any;
}

/* May the waiting packet take this output lane? Cut-through wants room for all of it, or for a sub-packet. */
static int is_open(const flit_fabric *f, const flit_router *r, const flit_lane *lane, int target)
{
    if (r->is_taken[target])
        return 0;
    return lane->output >= r->link_outputs ||
           r->credits[target] >= (lane->left < f->unit ? lane->left : f->unit);
}

static int distance(int from, int to, int size)
{
    return to >= from ? to - from : to - from + size;
}

/* Every open output lane picks one of those that ask for it. Returns how many asked at all. */
static int grant_lanes(const flit_fabric *f, flit_router *r, int64_t now)
{
    int lanes = f->lane_count, asked = 0;

    for (int i = 0; i < r->waiting_count; i++) {
        int id = r->waiting[i];
        const flit_lane *lane = &r->lanes[id];

        for (int v = lane->low; v <= lane->high; v++) {
            int target = lane->output * lanes + v, start = r->lane_grant[target];
            int size = r->input_count * lanes;

            if (!is_open(f, r, lane, target))
                continue;
            asked = 1;
            if (r->target_stamp[target] != now ||
                distance(start, id, size) < distance(start, r->best_waiter[target], size)) {
                r->target_stamp[target] = now;
                r->best_waiter[target] = id;
            }
        }
    }
    return asked;
}

static int accept_lane(const flit_fabric *f, flit_router *r, int id, int64_t now)
{
    const flit_lane *lane = &r->lanes[id];
    int size = r->output_count * f->lane_count, best = -1;

    for (int v = lane->low; v <= lane->high; v++) {
        int target = lane->output * f->lane_count + v;

        if (r->target_stamp[target] == now && r->best_waiter[target] == id &&
            (best < 0 ||
             distance(r->lane_accept[id], target, size) < distance(r->lane_accept[id], best, size)))
            best = target;
    }
    return best;
}

static void give_lane(flit_fabric *f, flit_router *r, int id, int target)
{
    flit_lane *lane = &r->lanes[id];

    r->is_taken[target] = 1;
    lane->target = target;
    lane->state = LANE_ACTIVE;
    r->lane_grant[target] = id + 1 == r->input_count * f->lane_count ? 0 : id + 1;
    r->lane_accept[id] = target + 1 == r->output_count * f->lane_count ? 0 : target + 1;
    r->fresh[r->fresh_count++] = id;
    f->arbitrations++;
}

/* Who waits alone gets the open lane whose turn it is. */
static int allocate_lane(flit_fabric *f, flit_router *r)
{
    int id = r->waiting[0], size = r->output_count * f->lane_count, best = -1, least = size;
    const flit_lane *lane = &r->lanes[id];

    for (int v = lane->low; v <= lane->high; v++) {
        int target = lane->output * f->lane_count + v;

        if (is_open(f, r, lane, target) && distance(r->lane_accept[id], target, size) < least) {
            best = target;
            least = distance(r->lane_accept[id], target, size);
        }
    }
    if (best < 0)
        return 0;
    give_lane(f, r, id, best);
    r->waiting_count = 0;
    return 1;
}

static int allocate_lanes(flit_fabric *f, flit_router *r, int64_t now)
{
    int kept = 0;

    if (r->waiting_count == 1)
        return allocate_lane(f, r);
    if (!grant_lanes(f, r, now))
        return 0;
    for (int i = 0; i < r->waiting_count; i++) {
        int id = r->waiting[i], target = accept_lane(f, r, id, now);

        if (target < 0)
            r->waiting[kept++] = id;
        else
            give_lane(f, r, id, target);
    }
    r->waiting_count = kept;
    return 1;
}

static void move_pointers(const flit_fabric *f, flit_router *r, int input, int v, int output)
{
    r->grant[output] = input + 1 == r->input_count ? 0 : input + 1;
    r->accept[input] = output + 1 == r->output_count ? 0 : output + 1;
    r->turn[input] = v + 1 == f->lane_count ? 0 : v + 1;
}

static void end_packet(flit_fabric *f, flit_router *r, int input, int v, int64_t now)
{
    int id = input * f->lane_count + v;
    flit_lane *lane = &r->lanes[id];

    r->is_taken[lane->target] = 0;
    r->ready[input] &= ~(UINT32_C(1) << v);
    lane->first = (lane->first + 1) & (lane->capacity - 1);
    lane->state = LANE_IDLE;
    if (--lane->count)
        begin_packet(f, r, id, now);
}

void flit_router_forward(flit_fabric *f, flit_router *r, int input, int v, int32_t count, int64_t now)
{
    flit_lane *lane = &r->lanes[input * f->lane_count + v];
    flit_entry *entry = &lane->entries[lane->first];
    flit_channel *back = r->in[input];
    int64_t credit_due = now + 2;

    lane->available -= count;
    lane->left -= count;
    f->flit_hops += count;
    if (lane->output < r->link_outputs) {
        flit_channel *out = r->out[lane->output];

        r->credits[lane->target] -= count;
        out->sent += count;
        if (!flit_channel_send(out, now + 2 + out->latency, entry->packet, count,
                               lane->target - lane->output * f->lane_count, entry->hop + 1, lane->has_head))
            f->has_failed = 1;
        f->wake[out->dst] = flit_earlier(f->wake[out->dst], now + 2 + out->latency);
        if (out->interval > 65536)
            out->free_at = (out->free_at > now << 16 ? out->free_at : now << 16) + out->interval;
    } else if (lane->left == 0) {
        flit_interface_deliver(f, r->interface, entry->packet, now + 3);
    }
    lane->has_head = 0;
    if (input < r->link_inputs) {
        credit_due = now + 1 + back->latency + f->settings.credit_cycles;
        f->wake[back->src] = flit_earlier(f->wake[back->src], credit_due);
        if (credit_due + count - 1 > f->last_credit)
            f->last_credit = credit_due + count - 1;
    }
    if (!flit_channel_return(back, credit_due, v, count))
        f->has_failed = 1;
    move_pointers(f, r, input, v, lane->output);
    if (lane->left == 0)
        end_packet(f, r, input, v, now);
    else if (lane->available == 0)
        r->ready[input] &= ~(UINT32_C(1) << v);
}

static int can_go(const flit_router *r, const flit_lane *lane, int64_t now)
{
    if (lane->output >= r->link_outputs)
        return 1;
    return r->credits[lane->target] > 0 && r->out[lane->output]->free_at <= now << 16;
}

/* An input asks an output for one of its lanes. */
static void ask(flit_router *r, int input, int v, int output, int *touched_count, int64_t now)
{
    int gap = distance(r->grant[output], input, r->input_count);

    if (r->output_stamp[output] != now) {
        r->output_stamp[output] = now;
        r->touched[(*touched_count)++] = output;
    } else if (gap >= r->best_distance[output]) {
        return;
    }
    r->best_distance[output] = gap;
    r->best_input[output] = input;
    r->best_lane[output] = v;
}

/* All lanes of an input that could go ask; of several for one output the one whose turn it is. */
static int ask_for_input(const flit_fabric *f, flit_router *r, int input, int *touched_count, int64_t now)
{
    const flit_lane *lanes = r->lanes + input * f->lane_count;
    uint32_t rest = r->ready[input], open = 0;
    int pending = 0;

    for (; rest; rest &= rest - 1) {
        int v = __builtin_ctz(rest);

        if (can_go(r, &lanes[v], now))
            open |= UINT32_C(1) << v;
        else
            pending |= lanes[v].output < r->link_outputs && r->out[lanes[v].output]->free_at > now << 16;
    }
    if (!(open & (open - 1))) {
        if (open) {
            int v = __builtin_ctz(open);

            ask(r, input, v, lanes[v].output, touched_count, now);
        }
        return pending;
    }
    for (uint32_t each = open; each; each &= each - 1) {
        int v = __builtin_ctz(each), is_first = 1;

        for (uint32_t other = open; other; other &= other - 1) {
            int w = __builtin_ctz(other);

            if (lanes[w].output == lanes[v].output &&
                distance(r->turn[input], w, f->lane_count) < distance(r->turn[input], v, f->lane_count))
                is_first = 0;
        }
        if (is_first)
            ask(r, input, v, lanes[v].output, touched_count, now);
    }
    return pending;
}

static void accept_outputs(flit_router *r, int touched_count, int64_t now)
{
    for (int i = 0; i < touched_count; i++) {
        int output = r->touched[i], input = r->best_input[output];

        if (r->input_stamp[input] == now &&
            distance(r->accept[input], r->chosen_output[input], r->output_count) <
                distance(r->accept[input], output, r->output_count))
            continue;
        r->input_stamp[input] = now;
        r->chosen_output[input] = output;
    }
}

static int allocate_switch(flit_fabric *f, flit_router *r, int64_t now)
{
    int touched_count = 0, pending = 0;

    for (int input = 0; input < r->input_count; input++)
        if (r->ready[input])
            pending |= ask_for_input(f, r, input, &touched_count, now);
    accept_outputs(r, touched_count, now);
    for (int i = 0; i < touched_count; i++) {
        int output = r->touched[i], input = r->best_input[output], v = r->best_lane[output];

        if (r->chosen_output[input] == output)
            flit_router_forward(f, r, input, v, 1, now);
    }
    return touched_count > 0 || pending;
}

int flit_router_step(flit_fabric *f, flit_router *r, int64_t now)
{
    int moved = receive(f, r, now);

    r->fresh_count = 0;
    if (r->waiting_count)
        moved |= allocate_lanes(f, r, now);
    moved |= allocate_switch(f, r, now);
    for (int i = 0; i < r->fresh_count; i++) {
        int id = r->fresh[i], input = id / f->lane_count;

        if (r->lanes[id].available > 0)
            r->ready[input] |= UINT32_C(1) << (id - input * f->lane_count);
    }
    return moved;
}

int64_t flit_router_next(const flit_router *r)
{
    int64_t next = FLIT_NEVER;

    for (int i = 0; i < r->input_count; i++)
        next = flit_earlier(next, r->flit_due[i]);
    for (int o = 0; o < r->link_outputs; o++)
        next = flit_earlier(next, r->credit_due[o]);
    return next;
}
