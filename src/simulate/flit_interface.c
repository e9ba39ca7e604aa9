/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_interface.c: the ports of a network interface put flits into their router, one a cycle each.
 *
 * Messages of a port follow one another; each is cut into packets (or is one, under message-based flow
 * control), a packet takes the next lane that has room. Other traffic has a port of its own. */
#include "simulate/flit_interface.h"

#include <math.h>

#include "core/alloc.h"

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
    i->job = job;
    i->port_buffer = (int64_t)fabric->settings.interface_packets * fabric->settings.packet_bytes /
                     fabric->settings.flit_bytes;
    i->port_count = fabric->normal_port >= 0 ? fabric->normal_port : fabric->port_count;
    i->ports = banyan_alloc((size_t)fabric->port_count, sizeof *i->ports);
    if (!i->ports) {
        banyan_free(i);
        return banyan_fail_memory(err);
    }
    for (int p = 0; p < fabric->port_count; p++) {
        i->ports[p].channel = &fabric->ports[router->node * fabric->port_count + p];
        i->ports[p].packet = i->ports[p].handing = -1;
        for (int v = 0; v < fabric->lane_count; v++)
            i->ports[p].credits[v] = fabric->settings.buffer_flits;
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
    banyan_free(i->ports);
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

    if (owner < 0)
        deliver_normal(f, i, &f->packets[packet], at);
    else if (--i->job->packets_left[owner] == 0 &&
             !flit_queue_push(&i->arrivals, (flit_message){.transfer = owner, .from = at + 1}))
        f->has_failed = 1;
    flit_packet_drop(f, packet);
}

/* The next lane in turn that has room for the packet, or -1. */
static int find_lane(const flit_fabric *f, const flit_port *port, int32_t flits, int is_message)
{
    int32_t need = !f->unit ? 1 : flits < f->unit ? flits : f->unit;
    int count = f->lane_count, lane = port->last_lane;

    if (is_message && f->leaves_lane && count > 1)
        count--;
    for (int k = 0; k < count; k++) {
        lane = lane + 1 < count ? lane + 1 : 0;
        if (port->credits[lane] >= need)
            return lane;
    }
    return -1;
}

static void begin_flits(flit_interface *i, flit_port *port, int32_t packet, int32_t flits, int lane)
{
    port->packet = packet;
    port->hop = packet < 0 ? 0 : i->fabric->path_first[i->fabric->packets[packet].path];
    port->left = flits;
    port->lane = port->last_lane = lane;
    port->has_head = 1;
    i->fabric->head_flits++;
}

/* Cuts the next packet off the front message. */
static int begin_packet(flit_interface *i, flit_port *port, int64_t now)
{
    flit_message *message = flit_queue_front(&port->messages);
    const banyan_flit_settings *s = &i->fabric->settings;
    flit_packet packet = {
        .path = i->job->paths->path_of[message->transfer], .owner = message->transfer, .made = now};
    int64_t bytes = message->bytes_left;
    int lane;

    if (message->from > now)
        return 0;
    if (s->flow == BANYAN_FLOW_PACKET && bytes > s->packet_bytes)
        bytes = s->packet_bytes;
    packet.flits = (int32_t)((bytes + s->flit_bytes - 1) / s->flit_bytes + 1);
    lane = find_lane(i->fabric, port, packet.flits, 1);
    if (lane < 0)
        return 0;
    if (i->job->begin[message->transfer] < 0)
        i->job->begin[message->transfer] = now;
    begin_flits(i, port, flit_packet_make(i->fabric, packet), packet.flits, lane);
    message->bytes_left -= bytes;
    if (message->bytes_left == 0)
        flit_queue_pop(&port->messages);
    return port->packet >= 0;
}

static int begin_normal(flit_interface *i, flit_port *port)
{
    int32_t packet = flit_queue_front(&port->messages)->transfer;
    int32_t flits = i->fabric->packets[packet].flits;
    int lane = find_lane(i->fabric, port, flits, 0);

    if (lane < 0)
        return 0;
    begin_flits(i, port, packet, flits, lane);
    flit_queue_pop(&port->messages);
    return 1;
}

static void inject(flit_interface *i, flit_port *port, int32_t count, int64_t now)
{
    port->credits[port->lane] -= count;
    if (!flit_channel_send(port->channel, (flit_run){.due = now + 2,
                                                     .packet = port->packet,
                                                     .count = count,
                                                     .hop = port->hop,
                                                     .lane = (uint16_t)port->lane,
                                                     .has_head = (uint16_t)port->has_head}))
        i->fabric->has_failed = 1;
    port->has_head = 0;
    port->left -= count;
    port->queued -= count;
    if (port->left == 0)
        port->packet = -1;
}

/* Credits that are due before a cycle. */
static void take_credits(flit_port *port, int64_t until)
{
    while (*port->channel->credit_due < until) {
        const flit_run *run = flit_line_front(&port->channel->credits);
        int lane = run->lane;
        int32_t count = (int32_t)flit_earlier(run->count, until - run->due);

        port->credits[lane] += count;
        *port->channel->credit_due = flit_line_take(&port->channel->credits, count);
    }
}

static int step_port(flit_interface *i, int p, int64_t now)
{
    flit_port *port = &i->ports[p];
    int moved = 0;

    /* Credits are counted when somebody needs to know. After a bulk move there may be less than none here, and
     * the rest is back already. */
    if (port->packet < 0 ? port->messages.count > 0 : port->credits[port->lane] <= 0)
        take_credits(port, now + 1);
    if (port->packet < 0 && port->messages.count)
        moved = p == i->fabric->normal_port ? begin_normal(i, port) : begin_packet(i, port, now);
    if (port->packet >= 0 && port->credits[port->lane] > 0) {
        inject(i, port, 1, now);
        moved = 1;
    }
    if (port->handing >= 0 && port->queued <= i->port_buffer && now >= port->hand_from) {
        flit_issue_handed(i, port, now);
        moved = 1;
    }
    if (p < i->port_count && port->packet < 0 && !port->messages.count && port->handing < 0)
        i->live &= ~(UINT64_C(1) << p);
    return moved;
}

/* Whether a cycle makes a packet is drawn cycle by cycle, ahead of time: is a number of 53 bits below the chance?
 */
void flit_interface_draw(flit_interface *i, int64_t from)
{
    double chance = i->fabric->settings.normal_rate / i->fabric->settings.normal_flits;
    uint64_t limit = (uint64_t)ceil(chance * 0x1p53);
    banyan_random random = i->random;

    while (from < i->make_until && banyan_random_next(&random) >> 11 >= limit)
        from++;
    i->make_at = from < i->make_until ? from : FLIT_NEVER;
    i->random = random;
}

static void make_normal(flit_interface *i, int64_t now)
{
    flit_packet packet = {.path = i->make(i, now),
                          .flits = i->fabric->settings.normal_flits,
                          .owner = -1 - i->router->node,
                          .made = now};
    int32_t id = packet.path < 0 ? -1 : flit_packet_make(i->fabric, packet);

    if (id < 0 ||
        !flit_queue_push(&i->ports[i->fabric->normal_port].messages, (flit_message){.transfer = id}))
        i->fabric->has_failed = 1;
    flit_interface_draw(i, now + 1);
}

int flit_interface_step(flit_interface *i, int64_t now)
{
    int normal = i->fabric->normal_port, moved = 0;

    if (i->adding_until <= now || i->arrivals.count)
        moved = flit_reduce_step(i, now);
    if (i->make_at <= now)
        make_normal(i, now);
    if (i->issue_at <= now)
        flit_issue(i, now);
    for (uint64_t rest = i->live; rest; rest &= rest - 1)
        moved |= step_port(i, __builtin_ctzll(rest), now);
    if (normal >= 0 && (i->ports[normal].packet >= 0 || i->ports[normal].messages.count))
        moved |= step_port(i, normal, now);
    return moved;
}

void flit_interface_settle(flit_interface *i, int64_t until)
{
    for (int p = 0; p < i->fabric->port_count; p++)
        take_credits(&i->ports[p], until);
}

int64_t flit_interface_next(flit_interface *i, int64_t now)
{
    int64_t next = flit_earlier(flit_earlier(i->adding_until, i->issue_at), i->make_at);

    flit_interface_settle(i, now + 1);
    if (i->arrivals.count)
        next = flit_earlier(next, flit_queue_front(&i->arrivals)->from);
    for (int p = 0; p < i->fabric->port_count; p++) {
        const flit_port *port = &i->ports[p];

        next = flit_earlier(next, *port->channel->credit_due);
        if (port->handing >= 0 && port->queued <= i->port_buffer)
            next = flit_earlier(next, port->hand_from);
        if (port->packet < 0 && port->messages.count && flit_queue_front(&port->messages)->from > now)
            next = flit_earlier(next, flit_queue_front(&port->messages)->from);
    }
    return next;
}

static int64_t port_ahead(const flit_interface *i, const flit_port *port, int64_t now)
{
    int64_t cycles = INT64_MAX;

    if (port->packet >= 0) {
        cycles = port->left - 1;
    } else if (port->messages.count) {
        cycles = flit_queue_front(&port->messages)->from - now;
    }
    if (port->handing < 0)
        return cycles;
    if (port->queued <= i->port_buffer)
        return flit_earlier(cycles, port->hand_from - now);
    return flit_earlier(cycles, port->queued - i->port_buffer - 1);
}

int64_t flit_interface_ahead(const flit_interface *i, int64_t now)
{
    int64_t next = flit_earlier(flit_earlier(i->adding_until, i->issue_at), i->make_at);

    if (i->arrivals.count)
        next = flit_earlier(next, flit_queue_front(&i->arrivals)->from);
    next = next == FLIT_NEVER ? INT64_MAX : next - now;
    for (uint64_t rest = i->live; rest && next > 1; rest &= rest - 1)
        next = flit_earlier(next, port_ahead(i, &i->ports[__builtin_ctzll(rest)], now));
    if (i->fabric->normal_port >= 0)
        next = flit_earlier(next, port_ahead(i, &i->ports[i->fabric->normal_port], now));
    return next;
}

void flit_interface_run_ahead(flit_interface *i, int64_t now, int64_t cycles)
{
    for (int p = 0; p < i->fabric->port_count; p++) {
        take_credits(&i->ports[p], now + cycles);
        if (i->ports[p].packet >= 0)
            inject(i, &i->ports[p], (int32_t)cycles, now);
    }
}
