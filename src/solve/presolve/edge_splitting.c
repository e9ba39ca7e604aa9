/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/edge_splitting.c: an arc into an idle node and one out of it become one arc past it, by as
 * much as leaves the demand: from a source that gives every active node its share, all of it can flow to
 * each of them.
 *
 * Splitting off (u,w) and (w,t) by g takes g from those cuts alone that separate w from both u and t. So one
 * maximum flow for each active node says by how much g is too large, and pairs are tried many at a time.
 * Where w has as much capacity in as out, some way of taking all arcs off in pairs leaves the demand
 * (Bang-Jensen, Frank and Jackson 1995), and any order in which each pair is split off as far as possible
 * finds one. First, everything that comes in is spread evenly over what goes out, which makes shallow trees
 * later; if that takes too much, it is undone.
 *
 * Cost: for each idle node of d arcs at best O(d), at worst O(d^2) maximum flows for each active node.
 *
 * Paper: L. Zhao et al., ForestColl: Throughput-Optimal Collective Communications on Heterogeneous Network
 * Fabrics, 2024. */
#include "solve/presolve/edge_splitting.h"

#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/net/effort.h"
#include "solve/net/work.h"

/* Of an active node's share, by which trees are weighed. Where bandwidths have no common unit, rounding loses
 * less than one of them for each link at a worker; the fewer there are, the fewer trees, and the sooner they
 * are found. So it begins with a few, and takes more as long as rounding loses more than that. */
#define MIN_UNITS 64
#define UNITS_FACTOR 4 /* factor by which the number of units grows while rounding loses too much */
#define MAX_UNITS 65536
#define MAX_LOSS 1e-4 /* share of the rate that rounding may lose */

typedef struct {
    banyan_joined_network *network;
    banyan_flow *flow; /* edges: the arcs that are alive, then pairs, then source -> each active node */
    int *alive, alive_count;
    int *in, in_count, *out, out_count; /* arcs of the idle node that is being split off */
    int64_t *pair;                      /* by arc in and arc out: what runs past the idle node */
    int last_short;                     /* index of an active node */
    banyan_work begun;
    banyan_scratch memory;
} splitter;

static void splitter_fini(splitter *s)
{
    banyan_flow_destroy(s->flow);
    banyan_scratch_free(&s->memory);
}

static void find_arcs(splitter *s, int idle)
{
    for (size_t i = 0; i < s->network->arc_count; i++) {
        const banyan_joined_arc *arc = &s->network->arcs[i];

        if (arc->capacity <= 0)
            continue;
        s->alive[s->alive_count++] = (int)i;
        if (arc->dst == idle)
            s->in[s->in_count++] = (int)i;
        if (arc->src == idle)
            s->out[s->out_count++] = (int)i;
    }
}

static banyan_status make_flow(splitter *s, banyan_error *err)
{
    const banyan_joined_network *network = s->network;
    int pairs = s->in_count * s->out_count, active = network->graph->active_count;
    banyan_status status =
        banyan_flow_create(network->graph->node_count + 1, s->alive_count + pairs + active, &s->flow, err);

    for (int i = 0; !status && i < s->alive_count; i++)
        banyan_flow_join(s->flow, network->arcs[s->alive[i]].src, network->arcs[s->alive[i]].dst);
    for (int i = 0; !status && i < pairs; i++)
        banyan_flow_join(s->flow, network->arcs[s->in[i / s->out_count]].src,
                         network->arcs[s->out[i % s->out_count]].dst);
    for (int i = 0; !status && i < active; i++)
        banyan_flow_join(s->flow, network->graph->node_count, network->graph->active[i]);
    return status;
}

static banyan_status splitter_init(splitter *s, banyan_joined_network *network, int idle, banyan_error *err)
{
    size_t arcs = network->arc_count;

    *s = (splitter){.network = network};
    s->alive = banyan_scratch_take(&s->memory, arcs, sizeof *s->alive);
    s->in = banyan_scratch_take(&s->memory, arcs, sizeof *s->in);
    s->out = banyan_scratch_take(&s->memory, arcs, sizeof *s->out);
    if (s->memory.failed)
        return banyan_fail_memory(err);
    find_arcs(s, idle);
    s->pair =
        banyan_scratch_take(&s->memory, (size_t)s->in_count * (size_t)s->out_count + 1, sizeof *s->pair);
    return s->memory.failed ? banyan_fail_memory(err) : make_flow(s, err);
}

/* What is missing of the whole demand at an active node. */
static int64_t find_deficit(splitter *s, int target)
{
    const banyan_joined_network *network = s->network;
    int pairs = s->in_count * s->out_count;
    int64_t all = network->demand * network->graph->active_count;

    for (int i = 0; i < s->alive_count; i++)
        banyan_flow_set(s->flow, i, network->arcs[s->alive[i]].capacity, 0);
    for (int i = 0; i < pairs; i++)
        banyan_flow_set(s->flow, s->alive_count + i, s->pair[i], 0);
    for (int i = 0; i < network->graph->active_count; i++)
        banyan_flow_set(s->flow, s->alive_count + pairs + i, network->demand, 0);
    return all - banyan_flow_run(s->flow, network->graph->node_count, target, all);
}

static banyan_joined_arc *arc_in(splitter *s, int pair)
{
    return &s->network->arcs[s->in[pair / s->out_count]];
}

static banyan_joined_arc *arc_out(splitter *s, int pair)
{
    return &s->network->arcs[s->out[pair % s->out_count]];
}

static void move(splitter *s, int pair, int64_t amount)
{
    arc_in(s, pair)->capacity -= amount;
    arc_out(s, pair)->capacity -= amount;
    s->pair[pair] += amount;
}

static int64_t left_of(splitter *s, int pair)
{
    int64_t in = arc_in(s, pair)->capacity, out = arc_out(s, pair)->capacity;

    return in < out ? in : out;
}

/* As much as leaves the demand. */
static void split_pair(splitter *s, int pair)
{
    const banyan_graph *graph = s->network->graph;
    int64_t amount = left_of(s, pair);

    move(s, pair, amount);
    for (int i = 0; i < graph->active_count && amount > 0; i++) {
        int64_t deficit = find_deficit(s, graph->active[i]);

        deficit = deficit < amount ? deficit : amount;
        move(s, pair, -deficit);
        amount -= deficit;
    }
}

/* What leaves the idle node for nodes other than this one. */
static int64_t width_past(const splitter *s, int node)
{
    int64_t width = 0;

    for (int o = 0; o < s->out_count; o++)
        if (s->network->arcs[s->out[o]].dst != node)
            width += s->network->arcs[s->out[o]].capacity;
    return width;
}

/* What comes in over each arc goes out over all others in proportion to their capacities. */
static void spread(splitter *s)
{
    int pairs = s->in_count * s->out_count;

    for (int i = 0; i < pairs; i++) {
        int64_t others = width_past(s, arc_in(s, i)->src);

        if (others > 0 && arc_in(s, i)->src != arc_out(s, i)->dst)
            s->pair[i] = (int64_t)((banyan_wide)arc_in(s, i)->capacity * arc_out(s, i)->capacity / others);
    }
    for (int i = 0; i < pairs; i++) {
        int64_t wanted = s->pair[i], left = left_of(s, i);

        s->pair[i] = 0;
        move(s, i, wanted < left ? wanted : left);
    }
}

/* Whoever missed something last is asked first. */
static int has_deficit(splitter *s)
{
    const banyan_graph *graph = s->network->graph;

    for (int i = 0; i < graph->active_count; i++) {
        int next = (s->last_short + i) % graph->active_count;

        if (find_deficit(s, graph->active[next]) > 0) {
            s->last_short = next;
            return 1;
        }
    }
    return 0;
}

static void undo(splitter *s, int begin, int end, const int64_t *before)
{
    for (int i = begin; i < end; i++)
        move(s, i, before[i] - s->pair[i]);
}

static int may_join(splitter *s, int pair)
{
    return arc_in(s, pair)->src != arc_out(s, pair)->dst;
}

/* All of the pairs in full if that leaves the demand, else one half of them and then the other. */
static void split_pairs(splitter *s, int begin, int end, int64_t *before)
{
    int moved = 0;

    for (int i = begin; i < end; i++) {
        before[i] = s->pair[i];
        if (may_join(s, i) && left_of(s, i) > 0) {
            move(s, i, left_of(s, i));
            moved++;
        }
    }
    if (!moved || !has_deficit(s))
        return;
    undo(s, begin, end, before);
    if (banyan_work_since(&s->begun).visits > BANYAN_CUT_VISITS)
        return;
    if (end - begin > 1) {
        int middle = begin + (end - begin) / 2;

        split_pairs(s, begin, middle, before);
        split_pairs(s, middle, end, before);
    } else {
        split_pair(s, begin);
    }
}

/* What is left of the idle node's arcs goes; what runs past it becomes arcs. */
static banyan_status keep_pairs(splitter *s, banyan_error *err)
{
    banyan_joined_network *network = s->network;

    for (int i = 0; i < s->in_count * s->out_count; i++) {
        banyan_joined_arc arc = {arc_in(s, i)->src, arc_out(s, i)->dst, s->pair[i], s->in[i / s->out_count],
                                 s->out[i % s->out_count]};

        if (arc.capacity <= 0 || arc.src == arc.dst)
            continue;
        if (!banyan_grow((void **)&network->arcs, network->arc_count, &network->arc_capacity,
                         sizeof *network->arcs))
            return banyan_fail_memory(err);
        network->arcs[network->arc_count++] = arc;
    }
    for (int i = 0; i < s->in_count; i++)
        network->arcs[s->in[i]].capacity = 0;
    for (int i = 0; i < s->out_count; i++)
        network->arcs[s->out[i]].capacity = 0;
    return BANYAN_SUCCESS;
}

static banyan_status split_node(banyan_joined_network *network, int idle, banyan_work begun,
                                banyan_error *err)
{
    splitter s;
    banyan_status status = splitter_init(&s, network, idle, err);
    int pairs = s.in_count * s.out_count;
    int64_t *before = banyan_alloc((size_t)pairs + 1, sizeof *before);

    s.begun = begun;
    if (!status && !before)
        status = banyan_fail_memory(err);
    if (!status) {
        spread(&s);
        if (has_deficit(&s))
            undo(&s, 0, pairs, before);
        split_pairs(&s, 0, pairs, before);
        if (banyan_work_since(&begun).visits > BANYAN_CUT_VISITS)
            status =
                banyan_fail(err, BANYAN_UNSUPPORTED, "splitting off switches takes too many maximum flows");
    }
    if (!status)
        status = keep_pairs(&s, err);
    banyan_free(before);
    splitter_fini(&s);
    return status;
}

/* Newton: a deficit falls by at most one share for each active node when the demand falls by one. */
static banyan_status lower_demand(banyan_joined_network *network, banyan_error *err)
{
    const banyan_graph *graph = network->graph;
    splitter s;
    banyan_status status = splitter_init(&s, network, -1, err);

    for (int i = 0; !status && i < graph->active_count && network->demand > 0; i++) {
        int64_t deficit = find_deficit(&s, graph->active[i]);

        for (; deficit > 0 && network->demand > 0; deficit = find_deficit(&s, graph->active[i]))
            network->demand -= (deficit + graph->active_count - 1) / graph->active_count;
    }
    if (network->demand < 0)
        network->demand = 0;
    splitter_fini(&s);
    return status;
}

/* Capacities so that a share is that many units. */
static void set_units(banyan_joined_network *network, banyan_fraction share, int64_t units)
{
    const banyan_graph *graph = network->graph;

    network->demand = units;
    for (int i = 0; i < graph->arc_count; i++) {
        const banyan_arc *arc = &graph->arcs[i];
        banyan_wide all = (banyan_wide)network->demand * graph->active_count; /* more is of no use */
        banyan_wide capacity = (banyan_wide)arc->capacity * share.den * units / share.num;

        network->arcs[i] = (banyan_joined_arc){network->towards ? arc->dst : arc->src,
                                               network->towards ? arc->src : arc->dst,
                                               (int64_t)(capacity < all ? capacity : all), i, -1};
    }
}

/* Capacities so that what an active node sends at the rate is a whole number of units, or nearly so. */
static banyan_status choose_units(banyan_joined_network *network, banyan_fraction rate, banyan_error *err)
{
    banyan_fraction share =
        banyan_fraction_make(rate.num, (banyan_wide)rate.den * network->graph->active_count);
    banyan_status status = BANYAN_SUCCESS;

    if (share.num <= MAX_UNITS) {
        set_units(network, share, share.num);
        return BANYAN_SUCCESS;
    }
    for (int64_t units = MIN_UNITS; !status && units <= MAX_UNITS; units *= UNITS_FACTOR) {
        set_units(network, share, units);
        status = lower_demand(network, err);
        if ((double)network->demand >= (1 - MAX_LOSS) * (double)units)
            break;
    }
    return status;
}

/* The idle node with the fewest pairs of an arc in and an arc out (as in the elimination of unknowns,
 * Markowitz 1957); -1: none is left. */
static int choose_node(const banyan_joined_network *network, int *in, int *out)
{
    const banyan_graph *graph = network->graph;
    int best = -1;

    memset(in, 0, (size_t)graph->node_count * sizeof *in);
    memset(out, 0, (size_t)graph->node_count * sizeof *out);
    for (size_t i = 0; i < network->arc_count; i++)
        if (network->arcs[i].capacity > 0) {
            out[network->arcs[i].src]++;
            in[network->arcs[i].dst]++;
        }
    for (int v = 0; v < graph->node_count; v++)
        if (!(graph->role[v] & BANYAN_NODE_ACTIVE) && in[v] + out[v] > 0 &&
            (best < 0 || (int64_t)in[v] * out[v] < (int64_t)in[best] * out[best]))
            best = v;
    return best;
}

static banyan_status split_all(banyan_joined_network *network, banyan_error *err)
{
    size_t nodes = (size_t)network->graph->node_count;
    int *in = banyan_alloc(nodes, sizeof *in), *out = banyan_alloc(nodes, sizeof *out), is_split = 0;
    banyan_work begun = banyan_work_now();
    banyan_status status = in && out ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int v; !status && (v = choose_node(network, in, out)) >= 0; is_split = 1)
        status = split_node(network, v, begun, err);
    banyan_free(in);
    banyan_free(out);
    return !status && is_split ? lower_demand(network, err) : status;
}

banyan_status banyan_joined_network_init(banyan_joined_network *out, const banyan_graph *graph, int towards,
                                         banyan_fraction rate, banyan_error *err)
{
    banyan_status status;

    *out = (banyan_joined_network){.graph = graph, .towards = towards};
    out->arc_count = (size_t)graph->arc_count;
    out->arc_capacity = out->arc_count;
    out->arcs = banyan_alloc(out->arc_count, sizeof *out->arcs);
    if (!out->arcs)
        return banyan_fail_memory(err);
    status = choose_units(out, rate, err);
    if (!status)
        status = split_all(out, err);
    if (status)
        banyan_joined_network_fini(out);
    return status;
}

void banyan_joined_network_fini(banyan_joined_network *network)
{
    banyan_free(network->arcs);
    network->arcs = NULL;
}
