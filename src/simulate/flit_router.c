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
 * What could move is known at any time: an input lane is in want[output] while it holds a lane of that
 * output, a flit of its packet is here and a credit is. Arrivals put it there, the last flit or credit takes
 * it out. Credits are counted when somebody needs to know, which changes nothing.
 * Cost: a comparison a port, and the flits that move.
 *
 * Followed: the pipeline of BookSim 2 (N. Jiang et al., 2013); iSLIP (N. McKeown, 1999). */
#include "simulate/flit_hop.h"
#include "simulate/flit_switch.h"

FLIT_INLINE int receive(flit_fabric *f, flit_router *r, int64_t now, flit_shape shape)
{
    uint64_t *inputs = f->arrivals + (now - f->begin) * shape.input_words, any = 0;

    for (int w = 0; w < shape.input_words; w++) {
        any |= inputs[w];
        for (uint64_t rest = inputs[w]; rest; rest &= rest - 1)
            take_flits(f, r, w * 64 + __builtin_ctzll(rest), now, shape);
        inputs[w] = 0;
    }
    return any != 0;
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

/* The switch is given to those that have lanes, then lanes to those that wait, then flits move: so both see
 * the router as it was when the cycle began, and a lane is used from the next cycle on. 1: anything moved, or
 * may move in the next. */
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

        if (flit_credits_collect(credits, now + cycles) && was_starved)
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
    return r->interface ? flit_earlier(next, *r->interface->wake_at) : next;
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
        if (interface && (*interface->wake_at <= now || shape.is_plain))
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
    return run(f, r, now, until, (flit_shape){1, 1, 1, 2, 0, 0, 0});
}

static __attribute__((noinline)) int64_t run_few(flit_fabric *f, flit_router *r, int64_t now, int64_t until)
{
    return run(f, r, now, until, (flit_shape){1, 1, 1, r->lane_shift, 0, 0, 0});
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
