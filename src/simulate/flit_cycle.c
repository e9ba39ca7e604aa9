/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_cycle.c: all routers, one cycle after the other, from lists of what there is to do
 * (flit_agenda.h).
 *
 *     interfaces -> flits that come -> starved lanes -> who gets the switch -> who gets lanes
 *     -> flits that go
 *
 * Each stage is done for the whole network before the next begins. Within a cycle routers do not feel each
 * other, so the result is that of flit_router.c, which runs a router through many cycles at a time, and moves
 * long packets in bulk: the better way for schedules. Here a hop costs the same however little else happens,
 * which is the better way for traffic of short packets.
 * Cost: the flits that move, and a comparison an interface and cycle. */
#include "core/alloc.h"
#include "simulate/flit_hop.h"
#include "simulate/flit_switch.h"

enum { MAX_DAYS = 1024, MAX_PLACES = 1 << 22 };

/* A power of two beyond the cycles from sending to coming, of flits and of credits. */
static size_t days_for(const flit_fabric *f)
{
    int64_t reach = 3;
    size_t days = 4;

    for (int v = 0; v < f->router_count; v++)
        for (int i = 0; i < f->routers[v].input_count; i++)
            if (f->routers[v].inputs[i].credit_cycles + 2 > reach)
                reach = f->routers[v].inputs[i].credit_cycles + 2;
    while (days <= MAX_DAYS && (int64_t)days <= reach)
        days *= 2;
    return days;
}

static size_t count_ports(const flit_fabric *f)
{
    size_t count = 0;

    for (int v = 0; v < f->router_count; v++)
        count +=
            (size_t)(f->routers[v].input_count > f->routers[v].output_count ? f->routers[v].input_count
                                                                            : f->routers[v].output_count);
    return count;
}

int flit_cycle_suits(const flit_fabric *f)
{
    for (int v = 0; v < f->router_count; v++) {
        const flit_router *r = &f->routers[v];

        if (r->words > 1 || r->output_words > 1 || r->has_slow_link)
            return 0;
    }
    return !f->settings.is_plain && days_for(f) <= MAX_DAYS &&
           f->router_count < 1 << (32 - FLIT_PLACE_BITS) && days_for(f) * (count_ports(f) + 1) < MAX_PLACES;
}

static void give_places(flit_agenda *a, size_t days, size_t places)
{
    uint32_t *memory = a->places;

    for (size_t i = 0; i < days; i++) {
        a->days[i].flits = (flit_run *)a->flits + i * places;
        a->days[i].credits = (flit_credits **)a->credits + i * places;
    }
    for (size_t k = 0; k < 2; k++) {
        a->want[k].places = memory + k * places;
        a->wait[k].places = memory + (2 + k) * places;
    }
}

/* Who sends flits where, and whose credits are whose. */
static void name_places(flit_fabric *f)
{
    for (int i = 0; i < f->topology->link_count; i++) {
        const banyan_link *link = &f->topology->links[i];

        f->routers[link->src].outputs[f->link_output[i]].place =
            flit_place(&f->routers[link->dst], f->link_input[i]);
    }
    for (int v = 0; v < f->router_count; v++) {
        flit_router *r = &f->routers[v];

        r->agenda = f->agenda;
        for (int i = 0; i < r->link_outputs << r->lane_shift; i++)
            r->output_lanes[i].credits.place = flit_place(r, i >> r->lane_shift);
        for (int i = 0; r->interface && i < f->port_count << r->lane_shift; i++)
            r->interface->credits[i].place = flit_place(r, r->link_outputs + (i >> r->lane_shift));
    }
}

banyan_status flit_cycle_prepare(flit_fabric *f, banyan_error *err)
{
    size_t days = days_for(f), places = count_ports(f) + 1;
    flit_agenda *a = banyan_alloc(1, sizeof *a);

    f->agenda = a;
    if (!a)
        return banyan_fail_memory(err);
    a->days = banyan_alloc(days, sizeof *a->days);
    a->flits = banyan_alloc(days * places, sizeof(flit_run));
    a->credits = banyan_alloc(days * places, sizeof(flit_credits *));
    a->places = banyan_alloc(4 * places, sizeof(uint32_t));
    if (!a->days || !a->flits || !a->credits || !a->places)
        return banyan_fail_memory(err);
    a->day_mask = (uint32_t)days - 1;
    give_places(a, days, places);
    name_places(f);
    return BANYAN_SUCCESS;
}

void flit_cycle_fini(flit_fabric *f)
{
    if (!f->agenda)
        return;
    banyan_free(f->agenda->days);
    banyan_free(f->agenda->flits);
    banyan_free(f->agenda->credits);
    banyan_free(f->agenda->places);
    banyan_free(f->agenda);
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

/* Somebody waits for this credit: a starved lane of a router, or a port. */
FLIT_INLINE void feed_waiter(flit_fabric *f, flit_credits *c, int64_t now, flit_shape shape)
{
    flit_router *r = router_at(f, (uint32_t)c->place);
    int output = port_at((uint32_t)c->place);

    if (output >= r->link_outputs) {
        flit_interface_credit(r->interface, output - r->link_outputs, now);
        return;
    }
    c->is_watched = 0;
    flit_lane_feed(r, output,
                   (int)((flit_output_lane *)(void *)c - r->output_lanes) - (output << shape.shift), shape);
}

FLIT_INLINE void count_credits(flit_fabric *f, int64_t now, flit_shape shape)
{
    flit_day *day = flit_agenda_day(f->agenda, now);

    for (uint32_t i = 0; i < day->credit_count; i++) {
        flit_credits *c = day->credits[i];

        c->here++;
        if (c->is_watched)
            feed_waiter(f, c, now, shape);
    }
    day->credit_count = 0;
}

FLIT_INLINE void receive(flit_fabric *f, int64_t now, flit_shape shape)
{
    flit_day *day = flit_agenda_day(f->agenda, now);

    for (uint32_t i = 0; i < day->flit_count; i++) {
        const flit_run *run = &day->flits[i];
        uint32_t place = (uint32_t)run->due;

        take_run(f, router_at(f, place), port_at(place), run, run->count, now, shape);
    }
    day->flit_count = 0;
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
        f->horizon = now;
        a->want_into = &a->want[0];
        a->wait_into = &a->wait[0];
        count_credits(f, now, shape);
        step_interfaces(f, now);
        receive(f, now, shape);
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
