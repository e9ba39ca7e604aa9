/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_interface.c: the ports of a network interface put flits into their router, one a cycle each.
 *
 * Messages of a port follow one another; each is cut into packets (or is one, under message-based flow
 * control), a packet takes the next lane that has room. Other traffic has a port of its own. As many flits as
 * there are credits for are put on their way at once, to arrive one a cycle, so that a port costs a look a
 * packet. */
#include "simulate/flit_interface.h"

#include "core/alloc.h"
#include "simulate/flit_sets.h"

int flit_queue_push(flit_queue *queue, flit_message item)
{
    if (queue->count == queue->capacity) {
        uint32_t capacity = queue->capacity ? 2 * queue->capacity : 4;
        flit_message *items = banyan_alloc(capacity, sizeof *items);

        if (!items)
            return 0;
        for (uint32_t i = 0; i < queue->count; i++)
            items[i] = queue->items[(queue->first + i) & (queue->capacity - 1)];
        banyan_free(queue->items);
        queue->items = items;
        queue->first = 0;
        queue->capacity = capacity;
    }
    queue->items[(queue->first + queue->count++) & (queue->capacity - 1)] = item;
    return 1;
}

banyan_status flit_interface_create(flit_fabric *fabric, flit_router *router, flit_job *job,
                                    flit_interface **out, banyan_error *err)
{
    flit_interface *i = banyan_alloc(1, sizeof *i);

    *out = NULL;
    if (!i)
        return banyan_fail_memory(err);
    i->fabric = fabric;
    i->router = router;
    i->wake_at = &fabric->interface_wake[router->node];
    i->job = job;
    i->port_buffer = (int64_t)fabric->settings.interface_packets * fabric->settings.packet_bytes /
                     fabric->settings.flit_bytes;
    i->port_count = fabric->normal_port >= 0 ? fabric->normal_port : fabric->port_count;
    i->ports = banyan_alloc((size_t)fabric->port_count, sizeof *i->ports);
    i->credits = banyan_alloc((size_t)fabric->port_count << fabric->lane_shift, sizeof *i->credits);
    if (!i->ports || !i->credits) {
        banyan_free(i->ports);
        banyan_free(i->credits);
        banyan_free(i);
        return banyan_fail_memory(err);
    }
    for (int p = 0; p < fabric->port_count; p++) {
        flit_port *port = &i->ports[p];

        port->line = &router->inputs[router->link_inputs + p].line;
        port->packet = port->handing = -1;
        port->next = FLIT_NEVER;
        port->credits = i->credits + (p << fabric->lane_shift);
        for (int v = 0; v < 1 << fabric->lane_shift; v++) {
            port->credits[v].here = fabric->settings.buffer_flits;
            port->credits[v].due = FLIT_NEVER;
            router->lanes[(router->link_inputs + p) << fabric->lane_shift | v].back = &port->credits[v];
        }
    }
    i->adding_until = i->issue_at = i->make_at = FLIT_NEVER;
    i->measure_until = FLIT_NEVER;
    if (job)
        flit_issue_start(i);
    *out = i;
    return BANYAN_SUCCESS;
}

void flit_interface_destroy(flit_interface *i)
{
    if (!i)
        return;
    for (int p = 0; p < i->fabric->port_count; p++)
        banyan_free(i->ports[p].messages.items);
    for (int v = 0; v < i->fabric->port_count << i->fabric->lane_shift; v++)
        banyan_free(i->credits[v].runs);
    banyan_free(i->ports);
    banyan_free(i->credits);
    banyan_free(i->arrivals.items);
    banyan_free(i->adding.items);
    banyan_free(i);
}

static void deliver_normal(flit_fabric *f, flit_interface *i, const flit_packet *packet, int64_t at)
{
    int64_t cycles = at - packet->made;

    if (packet->made < i->measure_from || packet->made >= i->measure_until)
        return;
    i->arrived_packets++;
    i->arrived_cycles += cycles;
    i->arrived_routers += f->path_first[packet->path + 1] - f->path_first[packet->path];
    i->worst_cycles = cycles > i->worst_cycles ? cycles : i->worst_cycles;
}

void flit_interface_deliver(flit_fabric *f, flit_interface *i, int32_t packet, int64_t at)
{
    int32_t owner = f->packets[packet].owner;

    if (owner < 0) {
        deliver_normal(f, i, &f->packets[packet], at);
    } else {
        i->job->packets_here++;
        if (--i->job->packets_left[owner] == 0) {
            if (!flit_queue_push(&i->arrivals, (flit_message){.transfer = owner, .from = at + 1}))
                f->has_failed = 1;
            flit_interface_wake(i, at + 1);
        }
    }
    flit_packet_drop(f, packet);
}

static void watch(const flit_fabric *f, flit_port *port, int is_starved)
{
    port->is_starved = is_starved;
    for (int v = 0; v < f->lane_count; v++)
        port->credits[v].is_watched = is_starved;
}

/* The port waits for credits, of which there cannot be enough before a cycle. */
static void starve(const flit_fabric *f, flit_port *port, int64_t enough_at)
{
    watch(f, port, 1);
    port->enough_at = enough_at;
}

/* The next lane in turn that has room for the packet, or -1: then the port is starved. A lane gets one credit
 * a cycle at the most. */
static int find_lane(const flit_fabric *f, flit_port *port, int32_t flits, int is_message, int64_t now)
{
    int32_t need = !f->unit ? 1 : flits < f->unit ? flits : f->unit, missing = need;
    int count = f->lane_count, lane = port->last_lane;

    if (is_message && f->leaves_lane && count > 1)
        count--;
    for (int k = 0; k < count; k++) {
        int32_t here;

        lane = lane + 1 < count ? lane + 1 : 0;
        here = port->credits[lane].here;
        if (here < need)
            here = flit_credits_collect(&port->credits[lane], now + 1);
        if (here >= need)
            return lane;
        missing = need - here < missing ? need - here : missing;
    }
    starve(f, port, now + missing);
    return -1;
}

static void begin_flits(flit_interface *i, flit_port *port, int32_t packet, int32_t flits, int lane)
{
    port->packet = packet;
    port->hop = packet < 0 ? 0 : i->fabric->path_first[i->fabric->packets[packet].path];
    port->left = port->flits = flits;
    port->lane = port->last_lane = lane;
    i->fabric->head_flits++;
}

/* Cuts the next packet off the front message. */
static void begin_packet(flit_interface *i, flit_port *port, int64_t now)
{
    flit_message *message = flit_queue_front(&port->messages);
    const banyan_flit_settings *s = &i->fabric->settings;
    flit_packet packet = {
        .path = i->job->paths->path_of[message->transfer], .owner = message->transfer, .made = now};
    int64_t bytes = message->bytes_left;
    int lane;

    if (message->from > now)
        return;
    if (s->flow == BANYAN_FLOW_PACKET && bytes > s->packet_bytes)
        bytes = s->packet_bytes;
    packet.flits = (int32_t)((bytes + s->flit_bytes - 1) / s->flit_bytes + 1);
    lane = find_lane(i->fabric, port, packet.flits, 1, now);
    if (lane < 0)
        return;
    if (i->job->begin[message->transfer] < 0)
        i->job->begin[message->transfer] = now;
    begin_flits(i, port, flit_packet_make(i->fabric, packet), packet.flits, lane);
    message->bytes_left -= bytes;
    if (message->bytes_left == 0)
        flit_queue_pop(&port->messages);
}

static void begin_normal(flit_interface *i, flit_port *port, int64_t now)
{
    int32_t packet = flit_queue_front(&port->messages)->transfer;
    int32_t flits = i->fabric->packets[packet].flits;
    int lane = find_lane(i->fabric, port, flits, 0, now);

    if (lane < 0)
        return;
    begin_flits(i, port, packet, flits, lane);
    flit_queue_pop(&port->messages);
}

/* A place for a run into the router, or NULL: it has joined the last one, or memory ran out. */
static flit_run *place_run(flit_interface *i, int p, int has_head, int32_t count, int64_t due)
{
    flit_port *port = &i->ports[p];
    flit_line *line = port->line;
    flit_run *run;

    if (!has_head && flit_line_extend(line, port->packet, due, count))
        return NULL;
    if (!line->count)
        flit_expect(i->fabric, i->router->link_inputs + p, due, i->router->input_words);
    *line->due = flit_earlier(*line->due, due);
    run = flit_line_push(line);
    i->fabric->has_failed |= !run;
    return run;
}

static void put_run(flit_interface *i, int p, int32_t count, int64_t now)
{
    flit_port *port = &i->ports[p];
    flit_agenda *agenda = i->fabric->agenda;
    flit_hop way = i->fabric->hops[port->hop];
    int has_head = port->left == port->flits;
    flit_run *run = agenda ? flit_agenda_expect(agenda, now + 2) : place_run(i, p, has_head, count, now + 2);

    if (run)
        *run = (flit_run){.due = agenda ? flit_place(i->router, i->router->link_inputs + p) : now + 2,
                          .packet = port->packet,
                          .count = count,
                          .flits = has_head ? port->flits : 0,
                          .hop = port->hop,
                          .lanes = way.lanes,
                          .output = (int16_t)way.output,
                          .lane = (uint16_t)port->lane};
}

static void inject(flit_interface *i, int p, int32_t count, int64_t now)
{
    flit_port *port = &i->ports[p];

    port->credits[port->lane].here -= count;
    put_run(i, p, count, now);
    port->free_at = now + count;
    port->left -= count;
    port->queued -= count;
    if (port->left == 0)
        port->packet = -1;
}

/* Puts in as much of the packet as there are credits for. */
static void put_flits(flit_interface *i, int p, int64_t now)
{
    flit_port *port = &i->ports[p];
    flit_credits *credits = &port->credits[port->lane];

    if (credits->here > 0 || flit_credits_collect(credits, now + 1) > 0) {
        int32_t count = port->left < credits->here ? port->left : credits->here;

        inject(i, p, i->fabric->settings.is_plain ? 1 : count, now);
    } else {
        starve(i->fabric, port, now + 1);
    }
}

static void put_in(flit_interface *i, int p, int64_t now)
{
    flit_port *port = &i->ports[p];

    if (port->is_starved)
        watch(i->fabric, port, 0);
    if (port->packet < 0 && port->messages.count) {
        if (p == i->fabric->normal_port)
            begin_normal(i, port, now);
        else
            begin_packet(i, port, now);
    }
    if (port->packet >= 0)
        put_flits(i, p, now);
}

/* The port hands its message over when no more than its buffer holds is left. */
static int64_t hand_at(const flit_interface *i, const flit_port *port)
{
    int64_t at;

    if (port->handing < 0 || port->queued > i->port_buffer)
        return FLIT_NEVER;
    at = port->free_at - 1 - (i->port_buffer - port->queued);
    return at > port->hand_from ? at : port->hand_from;
}

static int64_t next_credit(const flit_interface *i, const flit_port *port)
{
    int64_t next = FLIT_NEVER;

    for (int v = 0; v < i->fabric->lane_count; v++)
        next = flit_earlier(next, port->credits[v].due);
    return next > port->enough_at ? next : port->enough_at;
}

static int64_t next_of_port(const flit_interface *i, const flit_port *port, int64_t now)
{
    int64_t next = hand_at(i, port), from;

    if (port->packet < 0 && !port->messages.count)
        return next;
    from = port->packet >= 0 ? 0 : flit_queue_front(&port->messages)->from;
    if (port->is_starved)
        return flit_earlier(next, next_credit(i, port));
    if (from <= now && port->free_at <= now)
        return now + 1;
    return flit_earlier(next, from > port->free_at ? from : port->free_at);
}

static void step_port(flit_interface *i, int p, int64_t now)
{
    flit_port *port = &i->ports[p];

    if (now >= port->free_at)
        put_in(i, p, now);
    if (hand_at(i, port) <= now)
        flit_issue_handed(i, port, now);
    if (p < i->port_count && port->packet < 0 && !port->messages.count && port->handing < 0)
        i->live &= ~(UINT64_C(1) << p);
    port->next = next_of_port(i, port, now);
}

/* Whether a cycle makes a packet is drawn cycle by cycle, ahead of time. */
void flit_interface_draw(flit_interface *i, int64_t from)
{
    uint64_t below = i->make_below;
    int64_t until = i->make_until;
    banyan_random random = i->random;

    while (from < until && banyan_random_next(&random) >> 11 >= below)
        from++;
    i->make_at = from < until ? from : FLIT_NEVER;
    i->random = random;
}

/* A packet that finds its port idle goes in at once. */
static void make_normal(flit_interface *i, int64_t now)
{
    int p = i->fabric->normal_port, is_idle, lane;
    flit_port *port = &i->ports[p];
    flit_packet packet = {.path = flit_normal_pick(i),
                          .flits = i->fabric->settings.normal_flits,
                          .owner = -1 - i->router->node,
                          .made = now};
    int32_t id = flit_packet_make(i->fabric, packet);

    flit_interface_draw(i, now + 1);
    is_idle = port->packet < 0 && !port->messages.count && !port->is_starved && port->free_at <= now;
    lane = is_idle && id >= 0 ? find_lane(i->fabric, port, packet.flits, 0, now) : -1;
    if (lane >= 0) {
        begin_flits(i, port, id, packet.flits, lane);
        put_flits(i, p, now);
        port->next = next_of_port(i, port, now);
        return;
    }
    if (id < 0 || !flit_queue_push(&port->messages, (flit_message){.transfer = id}))
        i->fabric->has_failed = 1;
    port->next = flit_earlier(port->next, now);
}

static int64_t next_of(const flit_interface *i)
{
    int64_t next = flit_earlier(flit_earlier(i->adding_until, i->issue_at), i->make_at);

    if (i->arrivals.count)
        next = flit_earlier(next, flit_queue_front(&i->arrivals)->from);
    for (uint64_t rest = i->live; rest; rest &= rest - 1)
        next = flit_earlier(next, i->ports[__builtin_ctzll(rest)].next);
    return i->fabric->normal_port < 0 ? next : flit_earlier(next, i->ports[i->fabric->normal_port].next);
}

void flit_interface_step(flit_interface *i, int64_t now)
{
    int normal = i->fabric->normal_port, is_plain = i->fabric->settings.is_plain;

    if (i->adding_until <= now || i->arrivals.count)
        flit_reduce_step(i, now);
    if (i->make_at <= now)
        make_normal(i, now);
    if (i->issue_at <= now)
        flit_issue(i, now);
    for (uint64_t rest = i->live; rest; rest &= rest - 1)
        if (is_plain || i->ports[__builtin_ctzll(rest)].next <= now)
            step_port(i, __builtin_ctzll(rest), now);
    if (normal >= 0 && (is_plain || i->ports[normal].next <= now))
        step_port(i, normal, now);
    *i->wake_at = next_of(i);
}

int64_t flit_interface_ahead(const flit_interface *i, int64_t now)
{
    int64_t next = *i->wake_at;

    for (int p = 0; p < i->fabric->port_count; p++)
        if (i->ports[p].is_starved)
            next = flit_earlier(next, i->ports[p].enough_at > now + 2 ? i->ports[p].enough_at : now + 2);
    return next - now;
}
