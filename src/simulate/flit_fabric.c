/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_fabric.c: builds routers and channels for a topology. A link is a channel; a node with an
 * interface has a channel more for each port, one cycle long. */
#include "simulate/flit_fabric.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "simulate/flit_interface.h"

static int allocate_router(flit_router *r, int lanes)
{
    size_t inputs = (size_t)r->input_count, outputs = (size_t)r->output_count;
    size_t in_lanes = inputs * (size_t)lanes, out_lanes = outputs * (size_t)lanes;

    r->in = banyan_alloc(inputs, sizeof *r->in);
    r->out = banyan_alloc(outputs, sizeof *r->out);
    r->flit_due = banyan_alloc(inputs, sizeof *r->flit_due);
    r->credit_due = banyan_alloc(outputs, sizeof *r->credit_due);
    r->lanes = banyan_alloc(in_lanes, sizeof *r->lanes);
    r->credits = banyan_alloc(out_lanes, sizeof *r->credits);
    r->is_taken = banyan_alloc(out_lanes, sizeof *r->is_taken);
    r->ready = banyan_alloc(inputs, sizeof *r->ready);
    r->turn = banyan_alloc(inputs, sizeof *r->turn);
    r->accept = banyan_alloc(inputs, sizeof *r->accept);
    r->grant = banyan_alloc(outputs, sizeof *r->grant);
    r->lane_accept = banyan_alloc(in_lanes, sizeof *r->lane_accept);
    r->lane_grant = banyan_alloc(out_lanes, sizeof *r->lane_grant);
    r->waiting = banyan_alloc(in_lanes, sizeof *r->waiting);
    r->fresh = banyan_alloc(in_lanes, sizeof *r->fresh);
    r->output_stamp = banyan_alloc(outputs, sizeof *r->output_stamp);
    r->input_stamp = banyan_alloc(inputs, sizeof *r->input_stamp);
    r->target_stamp = banyan_alloc(out_lanes, sizeof *r->target_stamp);
    r->best_input = banyan_alloc(outputs, sizeof *r->best_input);
    r->best_lane = banyan_alloc(outputs, sizeof *r->best_lane);
    r->best_distance = banyan_alloc(outputs, sizeof *r->best_distance);
    r->chosen_output = banyan_alloc(inputs, sizeof *r->chosen_output);
    r->best_waiter = banyan_alloc(out_lanes, sizeof *r->best_waiter);
    r->touched = banyan_alloc(outputs, sizeof *r->touched);
    return r->in && r->out && r->flit_due && r->credit_due && r->lanes && r->credits && r->is_taken &&
           r->ready && r->turn && r->accept && r->grant && r->lane_accept && r->lane_grant && r->waiting &&
           r->fresh && r->output_stamp && r->input_stamp && r->target_stamp && r->best_input &&
           r->best_lane && r->best_distance && r->chosen_output && r->best_waiter && r->touched;
}

static void free_router(flit_router *r, int lanes)
{
    flit_interface_destroy(r->interface);
    for (int i = 0; r->lanes && i < r->input_count * lanes; i++)
        banyan_free(r->lanes[i].entries);
    banyan_free(r->in);
    banyan_free(r->out);
    banyan_free(r->flit_due);
    banyan_free(r->credit_due);
    banyan_free(r->lanes);
    banyan_free(r->credits);
    banyan_free(r->is_taken);
    banyan_free(r->ready);
    banyan_free(r->turn);
    banyan_free(r->accept);
    banyan_free(r->grant);
    banyan_free(r->lane_accept);
    banyan_free(r->lane_grant);
    banyan_free(r->waiting);
    banyan_free(r->fresh);
    banyan_free(r->output_stamp);
    banyan_free(r->input_stamp);
    banyan_free(r->target_stamp);
    banyan_free(r->best_input);
    banyan_free(r->best_lane);
    banyan_free(r->best_distance);
    banyan_free(r->chosen_output);
    banyan_free(r->best_waiter);
    banyan_free(r->touched);
}

static void set_channels(flit_fabric *f)
{
    const banyan_topology *t = f->topology;

    for (int i = 0; i < t->link_count; i++) {
        flit_channel *c = &f->channels[i];

        c->src = t->links[i].src;
        c->dst = t->links[i].dst;
        c->latency = (int)lround(t->links[i].latency_s * f->settings.clock_hz);
        c->interval =
            llround(65536.0 * f->settings.clock_hz * f->settings.flit_bytes / t->links[i].bytes_per_s);
    }
    for (int i = 0; i < f->router_count * f->port_count; i++) {
        f->ports[i].src = f->ports[i].dst = i / f->port_count;
        f->ports[i].latency = 1;
        f->ports[i].credit_due = &f->port_credit_due[i];
        f->port_credit_due[i] = FLIT_NEVER;
    }
}

static void join_links(flit_fabric *f, flit_router *r)
{
    const banyan_topology *t = f->topology;
    int v = r->node;

    for (int i = 0; i < r->link_inputs; i++) {
        r->in[i] = &f->channels[t->in_link[t->in_first[v] + i]];
        r->in[i]->dst_input = i;
        r->in[i]->flit_due = &r->flit_due[i];
    }
    for (int o = 0; o < r->link_outputs; o++) {
        r->out[o] = &f->channels[t->out_link[t->out_first[v] + o]];
        r->out[o]->src_output = o;
        r->out[o]->credit_due = &r->credit_due[o];
    }
    for (int i = r->link_inputs; i < r->input_count; i++) {
        r->in[i] = &f->ports[v * f->port_count + i - r->link_inputs];
        r->in[i]->flit_due = &r->flit_due[i];
    }
    for (int i = 0; i < r->output_count * f->lane_count; i++) {
        r->credits[i] = f->settings.buffer_flits;
        r->target_stamp[i] = -1;
    }
    for (int i = 0; i < r->input_count; i++) {
        r->input_stamp[i] = -1;
        r->flit_due[i] = FLIT_NEVER;
    }
    for (int o = 0; o < r->output_count; o++) {
        r->output_stamp[o] = -1;
        r->credit_due[o] = FLIT_NEVER;
    }
}

static banyan_status build(flit_fabric *f, const uint8_t *has_interface, banyan_error *err)
{
    const banyan_topology *t = f->topology;
    int least = INT32_MAX;

    f->routers = banyan_alloc((size_t)f->router_count, sizeof *f->routers);
    f->channels = banyan_alloc((size_t)f->channel_count, sizeof *f->channels);
    f->ports = banyan_alloc((size_t)f->router_count * (size_t)f->port_count, sizeof *f->ports);
    f->port_credit_due =
        banyan_alloc((size_t)f->router_count * (size_t)f->port_count, sizeof *f->port_credit_due);
    f->wake = banyan_alloc((size_t)f->router_count, sizeof *f->wake);
    if (!f->routers || !f->channels || !f->ports || !f->port_credit_due || !f->wake)
        return banyan_fail_memory(err);
    set_channels(f);
    for (int v = 0; v < f->router_count; v++) {
        flit_router *r = &f->routers[v];
        int ports = has_interface[v] ? f->port_count : 0;

        r->node = v;
        r->link_inputs = t->in_first[v + 1] - t->in_first[v];
        r->link_outputs = t->out_first[v + 1] - t->out_first[v];
        r->input_count = r->link_inputs + ports;
        r->output_count = r->link_outputs + ports;
        if (r->output_count > INT16_MAX || r->input_count > INT16_MAX)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "node %s has more than %d links",
                               banyan_topology_node_name(t, v), INT16_MAX);
        if (!allocate_router(r, f->lane_count))
            return banyan_fail_memory(err);
        join_links(f, r);
    }
    for (int i = 0; i < f->channel_count; i++)
        least = f->channels[i].latency < least ? f->channels[i].latency : least;
    f->window =
        f->settings.lockstep == BANYAN_LOCKSTEP_IDEAL || !f->channel_count || least == 0 ? 1 : least + 1;
    return BANYAN_SUCCESS;
}

banyan_status flit_fabric_create(const banyan_topology *topology, const banyan_flit_settings *settings,
                                 const uint8_t *has_interface, flit_fabric **out, banyan_error *err)
{
    flit_fabric *f = banyan_alloc(1, sizeof *f);
    banyan_status status;

    *out = NULL;
    if (!f)
        return banyan_fail_memory(err);
    f->topology = topology;
    f->settings = *settings;
    f->lane_count = settings->virtual_channels;
    f->normal_port = settings->normal_rate > 0 ? settings->ports : -1;
    f->port_count = settings->ports + (settings->normal_rate > 0);
    f->router_count = topology->node_count;
    f->channel_count = topology->link_count;
    f->free_packet = -1;
    f->unit = settings->switching == BANYAN_SWITCHING_CUT_THROUGH
                  ? settings->packet_bytes / settings->flit_bytes + 1
                  : 0;
    f->leaves_lane = settings->normal_rate > 0 && settings->flow == BANYAN_FLOW_MESSAGE;
    status = build(f, has_interface, err);
    if (status)
        flit_fabric_destroy(f);
    else
        *out = f;
    return status;
}

static void free_channel(flit_channel *c)
{
    banyan_free(c->flits.runs);
    banyan_free(c->credits.runs);
}

void flit_fabric_destroy(flit_fabric *f)
{
    if (!f)
        return;
    for (int v = 0; f->routers && v < f->router_count; v++)
        free_router(&f->routers[v], f->lane_count);
    for (int i = 0; f->channels && i < f->channel_count; i++)
        free_channel(&f->channels[i]);
    for (int i = 0; f->ports && i < f->router_count * f->port_count; i++)
        free_channel(&f->ports[i]);
    banyan_free(f->routers);
    banyan_free(f->channels);
    banyan_free(f->ports);
    banyan_free(f->port_credit_due);
    banyan_free(f->path_first);
    banyan_free(f->hops);
    banyan_free(f->packets);
    banyan_free(f->wake);
    banyan_free(f);
}

int32_t flit_packet_make(flit_fabric *f, flit_packet packet)
{
    int32_t id = f->free_packet;

    if (id >= 0) {
        f->free_packet = f->packets[id].next_free;
    } else {
        void *array = f->packets;
        int fits = f->packet_count < INT32_MAX &&
                   banyan_grow(&array, f->packet_count, &f->packet_capacity, sizeof *f->packets);

        f->packets = array;
        if (!fits) {
            f->has_failed = 1;
            return -1;
        }
        id = (int32_t)f->packet_count++;
    }
    f->packets[id] = packet;
    return id;
}
