/* SPDX-License-Identifier: Apache-2.0 */
/* bound/large.c: partitions that are found without a search, and what they allow.
 *
 * Nodes are joined in rounds, and what is left between the parts is a cut: first nothing is joined; then
 * whatever has one neighbour part alone is joined with it, round after round (a worker with its switch, a
 * host with its rack); cables are joined from the widest on down, one width after another (a host whose
 * inside is wide); idle nodes are joined with each other, and the nodes of each host. Of each partition
 *
 *     all parts    every byte must join the parts that hold data, and come back to them
 *     one part     every byte must leave it and enter it
 *
 * are bounds, and those of ends of links at workers (solve/cut/endpoint_service.h). Where all nodes hold data
 * and links are symmetric the worst partition of all is known (solve/cut/strength.h), which is near linear on
 * the networks that there are.
 *
 * Cost: O(arcs log arcs) for each partition. */
#include "bound/large.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/cut/endpoint_service.h"
#include "solve/cut/strength.h"
#include "solve/net/effort.h"
#include "solve/net/tolerance.h"
#include "solve/oracle/spanning.h"
#include "solve/presolve/contraction.h"

enum {
    MAX_FOLDS = 8,  /* rounds in which parts with one neighbour are joined: levels of switches */
    MAX_WIDTHS = 16 /* widths by which cables are joined: of more, some evenly spread ones */
};

typedef struct {
    const banyan_topology *topology;
    const banyan_graph *graph;
    int *part;             /* by node: the first node of its part */
    int64_t *leave, *come; /* by part: capacity of what leaves and enters */
    int *held;             /* by part: active workers in it */
    int *neighbour;        /* by part: the only other part that it is joined to; -1 none, -2 several */
    banyan_status (*judge)(void *context, banyan_error *err);
    void *context;
    banyan_scratch memory;
} partitions;

static banyan_status partitions_init(partitions *p, const banyan_topology *topology,
                                     const banyan_graph *graph, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;

    p->topology = topology;
    p->graph = graph;
    p->part = banyan_scratch_take(&p->memory, nodes, sizeof *p->part);
    p->leave = banyan_scratch_take(&p->memory, nodes, sizeof *p->leave);
    p->come = banyan_scratch_take(&p->memory, nodes, sizeof *p->come);
    p->held = banyan_scratch_take(&p->memory, nodes, sizeof *p->held);
    p->neighbour = banyan_scratch_take(&p->memory, nodes, sizeof *p->neighbour);
    return banyan_scratch_check(&p->memory, err);
}

static void part_all(partitions *p)
{
    for (int v = 0; v < p->graph->node_count; v++)
        p->part[v] = v;
}

static void note(int *neighbour, int other)
{
    *neighbour = *neighbour == -1 || *neighbour == other ? other : -2;
}

/* What crosses each part's border, who is in it and whom it is joined to. */
static void measure(partitions *p)
{
    const banyan_graph *graph = p->graph;

    for (int v = 0; v < graph->node_count; v++) {
        p->part[v] = banyan_graph_find_top(p->part, v);
        p->leave[v] = p->come[v] = 0;
        p->held[v] = 0;
        p->neighbour[v] = -1;
    }
    for (int i = 0; i < graph->active_count; i++)
        p->held[p->part[graph->active[i]]]++;
    for (int i = 0; i < graph->arc_count; i++) {
        int from = p->part[graph->arcs[i].src], to = p->part[graph->arcs[i].dst];

        if (from == to)
            continue;
        p->leave[from] += graph->arcs[i].capacity;
        p->come[to] += graph->arcs[i].capacity;
        note(&p->neighbour[from], to);
        note(&p->neighbour[to], from);
    }
}

static banyan_status judge(partitions *p, banyan_error *err)
{
    measure(p);
    return p->judge(p->context, err);
}

/* Joins parts with one neighbour to it; 0: there are none, or all would be one. */
static int fold(partitions *p)
{
    int count = p->graph->node_count, folded = 0;

    for (int v = 0; v < count; v++)
        if (p->part[v] == v && p->neighbour[v] >= 0 && p->neighbour[p->neighbour[v]] != v) {
            banyan_graph_join_tops(p->part, v, p->neighbour[v]);
            folded = 1;
        }
    return folded;
}

static banyan_status judge_folds(partitions *p, banyan_error *err)
{
    banyan_status status = judge(p, err);

    for (int i = 0; !status && i < MAX_FOLDS && fold(p); i++)
        status = judge(p, err);
    return status;
}

static int compare_widths(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

static banyan_status judge_widths(partitions *p, banyan_error *err)
{
    const banyan_graph *graph = p->graph;
    int64_t *width = banyan_alloc((size_t)graph->arc_count, sizeof *width);
    banyan_status status = width ? BANYAN_SUCCESS : banyan_fail_memory(err);
    int count = 0, step;

    for (int i = 0; !status && i < graph->arc_count; i++)
        width[i] = graph->arcs[i].capacity;
    if (!status)
        qsort(width, (size_t)graph->arc_count, sizeof *width, compare_widths);
    for (int i = 0; !status && i < graph->arc_count; i++)
        if (i == 0 || width[i] != width[count - 1])
            width[count++] = width[i];
    step = count > MAX_WIDTHS ? count / MAX_WIDTHS : 1;
    for (int k = count - 1; !status && k > 0; k -= step) {
        part_all(p);
        for (int i = 0; i < graph->arc_count; i++)
            if (graph->arcs[i].capacity >= width[k])
                banyan_graph_join_tops(p->part, graph->arcs[i].src, graph->arcs[i].dst);
        status = judge_folds(p, err);
    }
    banyan_free(width);
    return status;
}

static banyan_status judge_idle(partitions *p, banyan_error *err)
{
    const banyan_graph *graph = p->graph;

    part_all(p);
    for (int i = 0; i < graph->arc_count; i++)
        if (!((graph->role[graph->arcs[i].src] | graph->role[graph->arcs[i].dst]) & BANYAN_NODE_ACTIVE))
            banyan_graph_join_tops(p->part, graph->arcs[i].src, graph->arcs[i].dst);
    return judge_folds(p, err);
}

/* The host of a node, or -1; the graph may have more nodes than the topology, after these. */
static int host_of(const partitions *p, int v)
{
    return v < p->topology->node_count ? p->topology->nodes[v].host : -1;
}

static banyan_status judge_hosts(partitions *p, banyan_error *err)
{
    const banyan_graph *graph = p->graph;

    part_all(p);
    for (int i = 0; i < graph->arc_count; i++)
        if (host_of(p, graph->arcs[i].src) >= 0 &&
            host_of(p, graph->arcs[i].src) == host_of(p, graph->arcs[i].dst))
            banyan_graph_join_tops(p->part, graph->arcs[i].src, graph->arcs[i].dst);
    return judge_folds(p, err);
}

/* Shows each partition to the judge. */
static banyan_status visit(partitions *p, banyan_error *err)
{
    banyan_status status;

    part_all(p);
    status = judge_folds(p, err);
    if (!status)
        status = judge_idle(p, err);
    if (!status)
        status = judge_hosts(p, err);
    return status ? status : judge_widths(p, err);
}

/* --- all-reduce --- */

typedef struct {
    partitions *p;
    banyan_allreduce_bound *best;
    int64_t *price;
} allreduce_search;

static int64_t least_price(const banyan_graph *graph, const int64_t *price, int is_above_zero)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < graph->arc_count; i++)
        if (price[i] < least && (!is_above_zero || price[i]))
            least = price[i];
    return least;
}

/* Whether free arcs lead from (back: to) the first active node to all others. */
static banyan_status is_free(const banyan_graph *graph, const int64_t *price, int back, int *out,
                             banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;
    unsigned char *seen = banyan_alloc(nodes, 1);
    int *queue = banyan_alloc(nodes, sizeof *queue);
    banyan_status status = seen && queue ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status)
        banyan_graph_mark_reached(graph, price, back, seen, queue);
    *out = 1;
    for (int i = 0; !status && i < graph->active_count; i++)
        *out &= seen[graph->active[i]];
    banyan_free(seen);
    banyan_free(queue);
    return status;
}

/* What any in-tree and out-tree cost at the least: in a network whose nodes are parts, an edge for each
 * active one but the root, each way; where one direction is free, once if some cannot be reached for
 * nothing. */
static banyan_status cost_of_trees(const banyan_graph *graph, const int64_t *price, banyan_wide *out,
                                   banyan_error *err)
{
    int64_t least = least_price(graph, price, 0);
    int leaves = 1, comes = 1;
    banyan_status status = BANYAN_SUCCESS;
    banyan_wide other = banyan_endpoint_service_cost(graph, price);

    *out = 0;
    if (graph->symmetric && !banyan_graph_has_idle_adders(graph)) {
        status = banyan_spanning_cost(graph, price, out, err);
    } else if (least > 0) {
        *out = 2 * (banyan_wide)(graph->active_count - 1) * least;
    } else {
        status = is_free(graph, price, 0, &leaves, err);
        if (!status)
            status = is_free(graph, price, 1, &comes, err);
        if (!status && !(leaves && comes))
            *out = least_price(graph, price, 1);
    }
    *out = other > *out ? other : *out;
    return status;
}

static banyan_status cost_of_joined(const banyan_graph *graph, const int64_t *price, banyan_wide *out,
                                    banyan_error *err)
{
    banyan_contraction joined;
    banyan_status status = banyan_contract(graph, price, 1, &joined, err);

    if (!status && joined.graph && joined.graph->active_count > 1)
        status = cost_of_trees(joined.graph, joined.price, out, err);
    else if (!status)
        status = cost_of_trees(graph, price, out, err);
    banyan_contraction_fini(&joined);
    return status;
}

banyan_status banyan_large_prove(const banyan_graph *graph, const int64_t *price, banyan_fraction *fraction,
                                 double *value, banyan_error *err)
{
    banyan_wide worth = banyan_graph_worth(graph, price), cost = 0,
                whole = banyan_endpoint_service_cost(graph, price);
    banyan_status status = cost_of_joined(graph, price, &cost, err);

    cost = whole > cost ? whole : cost;
    if (status)
        return status;
    if (cost <= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the prices prove nothing: some tree costs nothing");
    *fraction = banyan_fraction_make(worth, cost);
    *value = (double)worth / (double)cost;
    return BANYAN_SUCCESS;
}

/* Keeps the prices if they prove a lower bound. */
static banyan_status offer(allreduce_search *s, banyan_error *err)
{
    banyan_fraction fraction;
    double value;
    banyan_status status = banyan_large_prove(s->p->graph, s->price, &fraction, &value, err);

    if (status == BANYAN_INVALID_ARGUMENT) /* they prove nothing */
        return BANYAN_SUCCESS;
    if (!status && value < s->best->value) {
        s->best->value = value;
        s->best->fraction = fraction;
        memcpy(s->best->price, s->price, (size_t)s->p->graph->arc_count * sizeof *s->price);
    }
    return status;
}

/* The part through which the least goes, in one direction (0: out, 1: in) or in both together (2). */
static int narrowest_part(const partitions *p, int way, double *least)
{
    int found = -1;

    *least = HUGE_VAL;
    for (int v = 0; v < p->graph->node_count; v++) {
        double room =
            way == 2 ? ((double)p->leave[v] + (double)p->come[v]) / 2 : (double)(way ? p->come : p->leave)[v];

        if (p->part[v] == v && p->held[v] && p->held[v] < p->graph->active_count && room < *least) {
            found = v;
            *least = room;
        }
    }
    return found;
}

static void price_border(allreduce_search *s, int part, int way)
{
    const partitions *p = s->p;

    for (int i = 0; i < p->graph->arc_count; i++) {
        int from = p->part[p->graph->arcs[i].src], to = p->part[p->graph->arcs[i].dst];

        s->price[i] = from != to && ((from == part && way != 1) || (to == part && way != 0));
    }
}

static banyan_status judge_allreduce(void *context, banyan_error *err)
{
    allreduce_search *s = context;
    const partitions *p = s->p;
    banyan_status status;

    for (int i = 0; i < p->graph->arc_count; i++)
        s->price[i] = p->part[p->graph->arcs[i].src] != p->part[p->graph->arcs[i].dst];
    status = offer(s, err);
    for (int way = 0; !status && way < 3; way++) {
        double room;
        int part = narrowest_part(p, way, &room);

        if (part < 0 || room >= s->best->value)
            continue;
        price_border(s, part, way);
        status = offer(s, err);
    }
    return status;
}

static banyan_status offer_service(allreduce_search *s, banyan_error *err)
{
    double value;
    banyan_status status = banyan_endpoint_service_price(s->p->graph, s->price, &value, err);

    return status || value == HUGE_VAL ? status : offer(s, err);
}

static banyan_status offer_strength(allreduce_search *s, banyan_error *err)
{
    const banyan_graph *graph = s->p->graph;
    banyan_fraction strength;
    banyan_wide cost;
    banyan_status status;

    if (!graph->symmetric || !banyan_graph_all_active(graph) || banyan_graph_is_dense(graph))
        return BANYAN_SUCCESS;
    status = banyan_strength_prices(graph, &strength, s->price, &cost, err);
    return status ? status : offer(s, err);
}

banyan_status banyan_large_solve(const banyan_topology *topology, const banyan_graph *graph,
                                 banyan_allreduce_bound *out, banyan_error *err)
{
    partitions p = {0};
    allreduce_search s = {&p, out, banyan_alloc((size_t)graph->arc_count, sizeof *s.price)};
    banyan_status status = s.price ? partitions_init(&p, topology, graph, err) : banyan_fail_memory(err);

    out->value = HUGE_VAL;
    out->reached = 0;
    p.judge = judge_allreduce;
    p.context = &s;
    if (!status)
        status = visit(&p, err);
    if (!status)
        status = offer_service(&s, err);
    if (!status)
        status = offer_strength(&s, err);
    banyan_scratch_free(&p.memory);
    banyan_free(s.price);
    return status;
}

banyan_status banyan_large_lower(const banyan_topology *topology, const banyan_graph *graph,
                                 banyan_allreduce_bound *bound, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    banyan_allreduce_bound other = {.price = banyan_alloc(arcs, sizeof *other.price)};
    banyan_status status =
        other.price ? banyan_large_solve(topology, graph, &other, err) : banyan_fail_memory(err);

    if (!status && other.value < bound->value * (1 - BANYAN_SAME)) {
        memcpy(bound->price, other.price, arcs * sizeof *other.price);
        bound->value = other.value;
        bound->fraction = other.fraction;
    }
    banyan_free(other.price);
    return status;
}

/* --- all-gather and reduce-scatter --- */

typedef struct {
    partitions *p;
    int towards;
    double least; /* of what each worker can tell */
    banyan_fraction best;
    unsigned char *inside;
} gather_search;

/* inside: the side that must send out what its workers hold. */
static void keep(gather_search *s, int part, int is_rest, int64_t crossing, int held)
{
    double quotient = (double)crossing / held;

    if (quotient >= s->least)
        return;
    s->least = quotient;
    s->best = banyan_fraction_make(crossing, held);
    for (int v = 0; v < s->p->graph->node_count; v++)
        s->inside[v] = (s->p->part[v] == part) != is_rest;
}

static banyan_status judge_gather(void *context, banyan_error *err)
{
    gather_search *s = context;
    const partitions *p = s->p;
    int active = p->graph->active_count;

    (void)err;
    for (int v = 0; v < p->graph->node_count; v++) {
        if (p->part[v] != v || !p->held[v] || p->held[v] == active)
            continue;
        keep(s, v, 0, (s->towards ? p->come : p->leave)[v], p->held[v]);
        keep(s, v, 1, (s->towards ? p->leave : p->come)[v], active - p->held[v]);
    }
    return BANYAN_SUCCESS;
}

banyan_status banyan_large_gather(const banyan_topology *topology, const banyan_graph *graph, int towards,
                                  banyan_fraction *out, unsigned char *inside, banyan_error *err)
{
    partitions p = {0};
    gather_search s = {&p, towards, HUGE_VAL, {0, 1}, inside};
    banyan_status status = partitions_init(&p, topology, graph, err);

    p.judge = judge_gather;
    p.context = &s;
    if (!status)
        status = visit(&p, err);
    if (!status)
        *out = banyan_fraction_make((banyan_wide)s.best.num * graph->active_count, s.best.den);
    banyan_scratch_free(&p.memory);
    return status;
}
