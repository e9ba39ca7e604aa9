/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/teccl_import.c: a TE-CCL program as a schedule. An epoch is as many rounds as the longest way of a
 * flow has stops: it begins at a GPU, stops at each switch that copies, and ends at a GPU.
 *
 *     1->8 and 1->9 via switch 0:   1 ----0----> 8     where 0 copies:   1 --> 0 --> 8
 *                                   1 ----0----> 9                             '---> 9
 */
#include <limits.h>
#include <stdint.h>

#include "core/alloc.h"
#include "schedule/build.h"
#include "schedule/import.h"

enum { MAX_STOPS = BANYAN_TECCL_VIA + 1 };
#define MAX_ARRIVALS (1 << 24) /* chunks times switches */

/* When a chunk last came to a switch, and from whom. */
typedef struct {
    int src, round; /* 0: never, as src counts from 1 */
} arrival;

typedef struct {
    const banyan_teccl_program *program;
    const banyan_teccl_network *network;
    int *position; /* by the file's number: among GPUs or among switches */
    int *slots;    /* a hash table of routes + 1; 0: free */
    size_t slot_count;
    arrival *arrivals; /* by piece and switch */
    banyan_builder builder;
    banyan_error *err;
} importing;

static int gpu_node(const importing *to, int gpu)
{
    return to->network ? to->network->gpus[to->position[gpu]] : gpu;
}

static int switch_node(const importing *to, int number)
{
    return to->network ? to->network->switches[to->position[number]] : number;
}

static int piece_of(const importing *to, const banyan_teccl_flow *flow)
{
    return to->position[flow->owner] * to->program->chunk_count + flow->chunk;
}

static size_t hash_of(const int *links, int count)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    for (int k = 0; k < count; k++)
        hash = (hash ^ (uint64_t)links[k]) * 1099511628211u;
    return (size_t)(hash ^ hash >> 32);
}

static int is_route(const banyan_schedule *schedule, int route, const int *links, int count)
{
    const int *first = schedule->route_first + route;
    int is_same = first[1] - first[0] == count;

    for (int k = 0; is_same && k < count; k++)
        is_same = schedule->route_link[first[0] + k] == links[k];
    return is_same;
}

/* Transfers of one route take turns, so those over the same links share one. */
static int share_route(importing *to, const int *links, int count)
{
    size_t at = hash_of(links, count) % to->slot_count;

    if (to->builder.status)
        return -1;
    while (to->slots[at] && !is_route(to->builder.schedule, to->slots[at] - 1, links, count))
        at = (at + 1) % to->slot_count;
    if (!to->slots[at])
        to->slots[at] = banyan_builder_add_route(&to->builder, links, count) + 1;
    return to->slots[at] - 1;
}

static void add(importing *to, int round, int src, int dst, int piece, int route)
{
    banyan_builder_add(&to->builder,
                       (banyan_transfer){round, src, dst, piece, 1, BANYAN_ACTION_COPY, piece, route});
}

/* A flow on its way along the network. */
typedef struct {
    int at, stop; /* the node reached, and the last one that keeps the chunk */
    int round;
    int links[MAX_STOPS], link_count; /* from stop to at */
} way;

static banyan_status step(importing *to, way *w, int node, const banyan_teccl_flow *flow)
{
    int link = to->network->find_link(to->network->topology, w->at, node);

    if (link < 0)
        return banyan_fail(
            to->err, BANYAN_INVALID_ARGUMENT,
            "chunk %d from %d, %d->%d in epoch %d: the network has no link from its node %d to "
            "its node %d",
            flow->chunk, flow->owner, flow->src, flow->dst, flow->epoch, w->at, node);
    w->links[w->link_count++] = link;
    w->at = node;
    return BANYAN_SUCCESS;
}

/* A chunk that is there from the same node since the same round needs no second transfer. */
static int is_there(importing *to, const way *w, const banyan_teccl_flow *flow, int switch_number)
{
    arrival *last =
        &to->arrivals[(size_t)piece_of(to, flow) * (size_t)to->program->switch_count + (size_t)switch_number];
    int is_same = last->src == w->stop + 1 && last->round == w->round;

    *last = (arrival){w->stop + 1, w->round};
    return is_same;
}

static void end_leg(importing *to, way *w, const banyan_teccl_flow *flow, int is_skipped)
{
    if (!is_skipped)
        add(to, w->round, w->stop, w->at, piece_of(to, flow), share_route(to, w->links, w->link_count));
    w->stop = w->at;
    w->link_count = 0;
    w->round++;
}

static banyan_status follow(importing *to, const banyan_teccl_flow *flow, int round)
{
    const int *via = to->program->via + flow->first_via;
    way w = {gpu_node(to, flow->src), gpu_node(to, flow->src), round, {0}, 0};
    banyan_status status = BANYAN_SUCCESS;

    for (int k = 0; !status && k < flow->via_count; k++) {
        int node = switch_node(to, via[k]);

        status = step(to, &w, node, flow);
        if (!status && to->network->copies(to->network->topology, node))
            end_leg(to, &w, flow, is_there(to, &w, flow, to->position[via[k]]));
    }
    if (!status)
        status = step(to, &w, gpu_node(to, flow->dst), flow);
    if (!status)
        end_leg(to, &w, flow, 0);
    return status;
}

static banyan_status add_flows(importing *to)
{
    const banyan_teccl_program *program = to->program;
    banyan_status status = BANYAN_SUCCESS;
    int stops = 1, round = 0;

    for (size_t i = 0; i < program->flow_count; i++)
        if (program->flows[i].via_count >= stops)
            stops = program->flows[i].via_count + 1;
    for (size_t i = 0; !status && i < program->flow_count; i++) {
        const banyan_teccl_flow *flow = &program->flows[i];

        if (i && flow->epoch != flow[-1].epoch) {
            if (round > INT_MAX - 2 * MAX_STOPS)
                return banyan_fail(to->err, BANYAN_UNSUPPORTED, "there are too many epochs");
            round += stops;
        }
        if (to->network)
            status = follow(to, flow, round);
        else
            add(to, round, flow->src, flow->dst, piece_of(to, flow), -1);
    }
    return status;
}

/* Of each flow at most MAX_STOPS legs have a route of their own; the table stays half empty. */
static banyan_status allocate(importing *to)
{
    const banyan_teccl_program *program = to->program;
    size_t legs = program->flow_count, pieces = (size_t)program->gpu_count * (size_t)program->chunk_count;

    for (size_t i = 0; i < program->flow_count; i++)
        legs += (size_t)program->flows[i].via_count;
    if (pieces * (size_t)program->switch_count > MAX_ARRIVALS)
        return banyan_fail(to->err, BANYAN_UNSUPPORTED, "%d GPUs, %d chunks and %d switches are too many",
                           program->gpu_count, program->chunk_count, program->switch_count);
    to->slot_count = to->network ? 2 * legs : 1;
    to->position = banyan_alloc(BANYAN_TECCL_NODES, sizeof *to->position);
    to->slots = banyan_alloc(to->slot_count, sizeof *to->slots);
    to->arrivals =
        banyan_alloc(to->network ? pieces * (size_t)program->switch_count : 1, sizeof *to->arrivals);
    if (!to->position || !to->slots || !to->arrivals)
        return banyan_fail_memory(to->err);
    for (int i = 0; i < program->gpu_count; i++)
        to->position[program->gpus[i]] = i;
    for (int i = 0; i < program->switch_count; i++)
        to->position[program->switches[i]] = i;
    return BANYAN_SUCCESS;
}

static int count_nodes(const banyan_teccl_program *program)
{
    int last = program->gpus[program->gpu_count - 1];

    if (program->switch_count && program->switches[program->switch_count - 1] > last)
        last = program->switches[program->switch_count - 1];
    return last + 1;
}

banyan_status banyan_schedule_import_teccl(const banyan_teccl_program *program,
                                           const banyan_teccl_network *network, banyan_schedule **out,
                                           banyan_error *err)
{
    importing to = {.program = program, .network = network, .err = err};
    banyan_status status = allocate(&to), built;

    *out = NULL;
    if (!status) {
        banyan_builder_init(&to.builder, BANYAN_COLLECTIVE_ALLGATHER, 0,
                            network ? network->node_count : count_nodes(program),
                            network ? network->gpus : program->gpus, program->gpu_count);
        banyan_builder_cut_evenly(&to.builder, program->gpu_count * program->chunk_count);
        status = add_flows(&to);
        if (status)
            banyan_builder_fail(&to.builder, status, "%s", err ? err->text : "");
        built = banyan_builder_finish(&to.builder, out, err);
        status = status ? status : built;
    }
    banyan_free(to.position);
    banyan_free(to.slots);
    banyan_free(to.arrivals);
    return status;
}
