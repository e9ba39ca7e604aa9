/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_cycle.c: all routers, one cycle after the other, from lists of what there is to do (flit_agenda.h).
 *
 *     interfaces -> flits that come -> starved lanes -> who gets the switch -> who gets lanes -> flits that go
 *
 * Each stage is done for the whole network before the next begins. Within a cycle routers do not feel each other, so the
 * result is that of flit_router.c, which runs a router through many cycles at a time, and moves long packets in bulk:
 * the better way for schedules. Here a hop costs the same however little else happens, which is the better way for
 * traffic of short packets.
 * Cost: the flits that move, and a comparison an interface and cycle. */
#include "core/alloc.h"
#include "simulate/flit_hop.h"
#include "simulate/flit_switch.h"

enum { MOST_SLOTS = 1024, MOST_PLACES = 1 << 22 };

/* Cycles from sending to coming, and one more for the cycle at hand. */
static size_t slots_for(const flit_fabric *f)
{
    size_t slots = 4;

    for (int v = 0; v < f->router_count; v++)
        for (int o = 0; o < f->routers[v].link_outputs; o++)
            while (slots < MOST_SLOTS && (int64_t)slots < f->routers[v].outputs[o].latency + 3)
                slots *= 2;
    return slots;
}

static size_t count_ports(const flit_fabric *f)
{
    size_t count = 0;

    for (int v = 0; v < f->router_count; v++)
        count += (size_t)(f->routers[v].input_count > f->routers[v].output_count ? f->routers[v].input_count
                                                                                  : f->routers[v].output_count);
    return count;
}

int flit_cycle_suits(const flit_fabric *f)
{
    for (int v = 0; v < f->router_count; v++) {
        const flit_router *r = &f->routers[v];

        if (r->words > 1 || r->output_words > 1 || r->has_slow_link)
            return 0;
        for (int o = 0; o < r->link_outputs; o++)
            if (r->outputs[o].latency + 3 > MOST_SLOTS)
                return 0;
    }
    return !f->settings.is_plain && f->router_count < 1 << (32 - FLIT_PLACE_BITS) &&
           slots_for(f) * (count_ports(f) + 1) < MOST_PLACES;
}

static void carve(flit_list *list, uint32_t **memory, size_t count)
{
    list->places = *memory;
    *memory += count;
}

banyan_status flit_cycle_prepare(flit_fabric *f, banyan_error *err)
{
    size_t slots = slots_for(f), places = count_ports(f) + 1, lists = slots + 5;
    flit_agenda *a = banyan_alloc(1, sizeof *a + slots * sizeof *a->arrivals);
    uint32_t *memory;

    f->agenda = a;
    if (a)
        a->memory = banyan_alloc(lists * places, sizeof *memory);
    if (!a || !a->memory)
        return banyan_fail_memory(err);
    memory = a->memory;
    a->arrivals = (flit_list *)(a + 1);
    a->arrival_mask = (uint32_t)slots - 1;
    for (size_t i = 0; i < slots; i++)
        carve(&a->arrivals[i], &memory, places);
    for (int k = 0; k < 2; k++) {
        carve(&a->want[k], &memory, places);
        carve(&a->wait[k], &memory, places);
    }
    carve(&a->hungry, &memory, places);
    for (int v = 0; v < f->router_count; v++)
        f->routers[v].agenda = a;
    for (int i = 0; i < f->topology->link_count; i++) {
        const banyan_link *link = &f->topology->links[i];

        f->routers[link->src].outputs[f->link_output[i]].place =
            flit_place(&f->routers[link->dst], f->link_input[i]);
    }
    return BANYAN_SUCCESS;
}

FLIT_INLINE flit_router *router_at(const flit_fabric *f, uint32_t place)
{
    return &f->routers[place >> FLIT_PLACE_BITS];
}

FLIT_INLINE int port_at(uint32_t place)
{
    return (int)(place & ((1 << FLIT_PLACE_BITS) - 1));
}

static void step_interfaces(flit_fabric *f, int64_t now)
{
    flit_list *awake = &f->agenda->want[1]; /* not in use yet */

    for (int v = 0; v < f->router_count; v++)
        flit_list_add_if(awake, (uint32_t)v, f->interface_wake[v] <= now);
    for (uint32_t i = 0; i < awake->count; i++)
        flit_interface_step(f->routers[awake->places[i]].interface, now);
    awake->count = 0;
}

FLIT_INLINE void receive(flit_fabric *f, int64_t now, flit_shape shape)
{
    flit_list *arrivals = &f->agenda->arrivals[(uint32_t)now & f->agenda->arrival_mask];

    for (uint32_t i = 0; i < arrivals->count; i++)
        take_flits(f, router_at(f, arrivals->places[i]), port_at(arrivals->places[i]), now, shape);
    arrivals->count = 0;
}

FLIT_INLINE void feed_hungry(flit_fabric *f, int64_t now, flit_shape shape)
{
    flit_list *hungry = &f->agenda->hungry;
    uint32_t count = hungry->count;

    hungry->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        flit_router *r = router_at(f, hungry->places[i]);

        feed(r, now, shape);
        flit_list_add_if(hungry, hungry->places[i], r->hungry[0] != 0);
    }
}

/* Leaves each output that is wanted with the lane that it is granted to. */
FLIT_INLINE void allocate_switch(flit_fabric *f, int64_t now, flit_shape shape)
{
    const flit_list *wanted = &f->agenda->want[0];

    for (uint32_t i = 0; i < wanted->count; i++) {
        flit_router *r = router_at(f, wanted->places[i]);
        int output = port_at(wanted->places[i]);
        flit_output *o = &r->outputs[output];

        o->granted = flit_first_lane(r, &o->want, o->grant, shape);
        flit_accept(r, o->granted, output, now, shape);
    }
}

FLIT_INLINE void allocate_lanes(flit_fabric *f, int64_t now, flit_shape shape)
{
    const flit_list *waited = &f->agenda->wait[0];

    for (uint32_t i = 0; i < waited->count; i++) {
        flit_router *r = router_at(f, waited->places[i]);
        int output = port_at(waited->places[i]);
        const flit_output *o = &r->outputs[output];

        if (o->asked & ~o->taken) {
            if (!(o->waiting & (o->waiting - 1)))
                allocate_alone(f, r, output, now, shape);
            else
                flit_contest(f, r, output, now);
        }
        flit_list_add_if(&f->agenda->wait[1], waited->places[i], o->waiting != 0);
    }
}

/* Those that were granted an output and did not accept it stay. */
FLIT_INLINE void move(flit_fabric *f, int64_t now, flit_shape shape)
{
    const flit_list *wanted = &f->agenda->want[0];

    for (uint32_t i = 0; i < wanted->count; i++) {
        flit_router *r = router_at(f, wanted->places[i]);
        int output = port_at(wanted->places[i]), id = r->outputs[output].granted;

        if (r->inputs[id >> shape.shift].best_output == output) {
            forward(f, r, id, 1, now, shape);
            f->flit_hops++;
        }
        flit_list_add_if(&f->agenda->want[1], wanted->places[i], r->outputs[output].want != 0);
    }
}

static void turn(flit_list lists[2])
{
    flit_list done = lists[0];

    lists[0] = lists[1];
    lists[1] = done;
    lists[1].count = 0;
}

FLIT_INLINE void run(flit_fabric *f, int64_t now, int64_t until, flit_shape shape)
{
    flit_agenda *a = f->agenda;

    for (; now < until && !f->has_failed; now++) {
        f->settled = now;
        step_interfaces(f, now);
        a->want_into = &a->want[0];
        a->wait_into = &a->wait[0];
        receive(f, now, shape);
        feed_hungry(f, now, shape);
        allocate_switch(f, now, shape);
        a->want_into = &a->want[1];
        allocate_lanes(f, now, shape);
        a->wait_into = &a->wait[1];
        move(f, now, shape);
        turn(a->want);
        turn(a->wait);
    }
}

void flit_cycle_run(flit_fabric *f, int64_t now, int64_t until)
{
    if (f->lane_shift == 2)
        run(f, now, until, (flit_shape){1, 1, 1, 2, 0, 0, 1});
    else
        run(f, now, until, (flit_shape){1, 1, 1, f->lane_shift, 0, 0, 1});
}
