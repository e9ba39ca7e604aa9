/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_fabric.c: builds routers for a topology and joins them by links. A node with an interface has
 * an input and an output more for each port. */
#include "simulate/flit_fabric.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "simulate/flit_interface.h"

/* Cycles. Longer ones gain nothing, and arrivals are kept for each. */
enum { LONGEST_WINDOW = 1023 };

/* The next count items of a block; NULL while the block is only measured. */
static void *carve(char *block, size_t *used, size_t count, size_t size)
{
    void *array = block ? block + *used : NULL;

    *used += (count * size + FLIT_CACHE_LINE - 1) / FLIT_CACHE_LINE * FLIT_CACHE_LINE;
    return array;
}

/* Where the first line of the cache begins in a block that has room for one more than is needed. */
static void *align(void *block)
{
    return (char *)block + (FLIT_CACHE_LINE - (uintptr_t)block % FLIT_CACHE_LINE) % FLIT_CACHE_LINE;
}

/* All arrays of a router lie side by side. Returns how many bytes they take. */
static size_t lay_out(flit_router *r, char *block)
{
    size_t inputs = (size_t)r->input_count, outputs = (size_t)r->output_count, used = 0;
    size_t words = (size_t)r->words, output_words = (size_t)r->output_words;

    r->flit_due = carve(block, &used, inputs, sizeof *r->flit_due);
    r->wanted = carve(block, &used, 3 * output_words, sizeof *r->wanted);
    r->waited = block ? r->wanted + output_words : NULL;
    r->hungry = block ? r->waited + output_words : NULL;
    r->inputs = carve(block, &used, inputs, sizeof *r->inputs);
    r->outputs = carve(block, &used, outputs, sizeof *r->outputs);
    r->paces = carve(block, &used, (size_t)r->link_outputs, sizeof *r->paces);
    r->sets = carve(block, &used, words > 1 ? 2 * words * outputs : 0, sizeof *r->sets);
    r->output_lanes = carve(block, &used, outputs << r->lane_shift, sizeof *r->output_lanes);
    r->lanes = carve(block, &used, inputs << r->lane_shift, sizeof *r->lanes);
    return used;
}

static int allocate_router(flit_router *r)
{
    r->words = ((r->input_count << r->lane_shift) + 63) / 64;
    r->input_words = (r->input_count + 63) / 64;
    r->output_words = (r->output_count + 63) / 64;
    r->memory = banyan_alloc(1, lay_out(r, NULL) + FLIT_CACHE_LINE);
    if (r->memory)
        lay_out(r, align(r->memory));
    return r->memory != NULL;
}

static void free_router(flit_router *r)
{
    flit_interface_destroy(r->interface);
    for (int i = 0; r->memory && i < r->input_count; i++)
        banyan_free(r->inputs[i].line.runs);
    for (int i = 0; r->memory && i < r->input_count << r->lane_shift; i++)
        banyan_free(r->lanes[i].ring);
    for (int i = 0; r->memory && i < r->output_count << r->lane_shift; i++)
        banyan_free(r->output_lanes[i].credits.runs);
    banyan_free(r->memory);
}

static int64_t latency_of(const flit_fabric *f, int link)
{
    return lround(f->topology->links[link].latency_s * f->settings.clock_hz);
}

static void join_inputs(flit_fabric *f, flit_router *r)
{
    const banyan_topology *t = f->topology;

    for (int i = 0; i < r->input_count; i++) {
        flit_input *input = &r->inputs[i];

        r->flit_due[i] = FLIT_NEVER;
        input->line.due = &r->flit_due[i];
        input->stamp = -1;
        /* A credit of an interface's port is there in the cycle after the next. */
        input->src = r->node;
        input->credit_cycles = 2;
        if (i < r->link_inputs) {
            int link = t->in_link[t->in_first[r->node] + i];

            f->link_input[link] = i;
            input->src = t->links[link].src;
            input->credit_cycles = (int32_t)latency_of(f, link) + 1 + f->settings.credit_cycles;
        }
    }
    for (int i = 0; i < r->input_count << r->lane_shift; i++)
        r->lanes[i].packet = -1;
}

static void join_outputs(flit_fabric *f, flit_router *r)
{
    const banyan_topology *t = f->topology;

    for (int o = 0; o < r->output_count; o++)
        r->outputs[o].stamp = -1;
    for (int o = 0; o < r->link_outputs; o++) {
        int link = t->out_link[t->out_first[r->node] + o];

        f->link_output[link] = o;
        r->outputs[o].latency = latency_of(f, link);
        r->outputs[o].dst = t->links[link].dst;
        r->paces[o].interval =
            llround(65536.0 * f->settings.clock_hz * f->settings.flit_bytes / t->links[link].bytes_per_s);
        r->has_slow_link |= r->paces[o].interval > 65536;
    }
    for (int i = 0; i < r->output_count << r->lane_shift; i++) {
        r->output_lanes[i].credits.here =
            i >> r->lane_shift < r->link_outputs ? f->settings.buffer_flits : INT32_MAX;
        r->output_lanes[i].credits.due = FLIT_NEVER;
    }
}

/* Flits go to the input at the other end, credits to the output that they come from. */
static void join_link(flit_fabric *f, int link)
{
    flit_router *src = &f->routers[f->topology->links[link].src];
    flit_router *dst = &f->routers[f->topology->links[link].dst];
    int output = f->link_output[link], input = f->link_input[link];

    src->outputs[output].line = &dst->inputs[input].line;
    for (int v = 0; v < 1 << f->lane_shift; v++)
        dst->lanes[input << f->lane_shift | v].back = &src->output_lanes[output << f->lane_shift | v].credits;
}

/* How long a node may run by itself: what it sends reaches others after that, flits two cycles and a link's
 * latency later, credits one and what counting takes. */
static int find_window(const flit_fabric *f)
{
    int least = LONGEST_WINDOW;

    if (f->settings.lockstep == BANYAN_LOCKSTEP_IDEAL || f->settings.is_plain)
        return 1;
    for (int i = 0; i < f->topology->link_count; i++)
        least = latency_of(f, i) < least ? (int)latency_of(f, i) : least;
    return f->topology->link_count ? least + 1 + (f->settings.credit_cycles > 0) : 1;
}

static banyan_status build(flit_fabric *f, const uint8_t *has_interface, banyan_error *err)
{
    const banyan_topology *t = f->topology;
    size_t links = (size_t)t->link_count;
    int input_words = 1, output_count = 1;

    f->routers = banyan_alloc((size_t)f->router_count, sizeof *f->routers);
    f->link_output = banyan_alloc(links, sizeof *f->link_output);
    f->link_input = banyan_alloc(links, sizeof *f->link_input);
    f->wake = banyan_alloc((size_t)f->router_count, sizeof *f->wake);
    f->interface_wake = banyan_alloc((size_t)f->router_count, sizeof *f->interface_wake);
    if (!f->routers || !f->link_output || !f->link_input || !f->wake || !f->interface_wake)
        return banyan_fail_memory(err);
    for (int v = 0; v < f->router_count; v++) {
        flit_router *r = &f->routers[v];
        int port_count = has_interface[v] ? f->port_count : 0;

        r->node = v;
        f->interface_wake[v] = has_interface[v] ? 0 : FLIT_NEVER;
        r->lane_shift = f->lane_shift;
        r->link_inputs = t->in_first[v + 1] - t->in_first[v];
        r->link_outputs = t->out_first[v + 1] - t->out_first[v];
        r->input_count = r->link_inputs + port_count;
        r->output_count = r->link_outputs + port_count;
        if (r->output_count > INT16_MAX || r->input_count > INT16_MAX)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "node %s has more than %d links",
                               banyan_topology_node_name(t, v), INT16_MAX);
        if (!allocate_router(r))
            return banyan_fail_memory(err);
        join_inputs(f, r);
        join_outputs(f, r);
        input_words = r->input_words > input_words ? r->input_words : input_words;
        output_count = r->output_count > output_count ? r->output_count : output_count;
    }
    f->window = find_window(f);
    f->arrivals = banyan_alloc((size_t)(f->window + 1) * (size_t)input_words, sizeof *f->arrivals);
    f->moves = banyan_alloc((size_t)output_count, sizeof *f->moves);
    if (!f->arrivals || !f->moves)
        return banyan_fail_memory(err);
    for (int v = 0; v < f->router_count; v++)
        f->routers[v].moves = f->moves;
    for (int i = 0; i < t->link_count; i++)
        join_link(f, i);
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
    while (1 << f->lane_shift < f->lane_count)
        f->lane_shift++;
    f->all_lanes = ~UINT32_C(0) >> (FLIT_MAX_LANES - f->lane_count);
    f->normal_port = settings->normal_rate > 0 ? settings->ports : -1;
    f->port_count = settings->ports + (settings->normal_rate > 0);
    f->router_count = topology->node_count;
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

void flit_fabric_destroy(flit_fabric *f)
{
    if (!f)
        return;
    for (int v = 0; f->routers && v < f->router_count; v++)
        free_router(&f->routers[v]);
    banyan_free(f->routers);
    banyan_free(f->link_output);
    banyan_free(f->link_input);
    banyan_free(f->arrivals);
    banyan_free(f->moves);
    banyan_free(f->path_first);
    banyan_free(f->hops);
    banyan_free(f->packets);
    banyan_free(f->wake);
    banyan_free(f->interface_wake);
    flit_cycle_fini(f);
    banyan_free(f);
}

int flit_ring_grow(flit_lane *lane)
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
