/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/partition_search.c: a sweep, then single steps.
 *
 *      o--o | o--o       Every tree joins k parts by k - 1 cables at least, if each part has an active node.
 *      |  | | |  |       Where all nodes are active the worst partition is found exactly
 *      ----------+---    (solve/cut/strength.h); with idle nodes, which may go to any part, it is a multiway
 *      o--o | o--o       cut, and hard. But the prices of a linear program tell nearly where it runs.
 *
 * Sweep: nodes are joined over cables in the order of their prices, as Kruskal does; of all partitions on the
 * way the best one is kept. Steps: a node goes over to another part or founds one of its own, two parts are
 * joined,
 * as long as  crossing - rate (parts - 1)  falls, rate being what the partition comes to (Dinkelbach 1967).
 * Cost: O(VE) for the sweep, some passes of O(E) for the steps. */
#include "solve/cut/partition_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/cut/strength.h"

enum { PASSES = 50 };

typedef struct {
    double price;
    int arc;
} priced;

struct banyan_partition_search {
    const banyan_graph *graph;
    priced *order; /* cables, cheapest first */
    int cable_count;
    int *part;   /* per node: a node of the same part, later a number */
    int *best;   /* the best of the sweep */
    int *active; /* per part: active nodes in it */
    double *to;  /* per part: capacity between the node, or part, at hand and it */
    int *near;   /* parts with to != 0 */
    int near_count, part_count;
    double crossing;
};

void banyan_partition_search_destroy(banyan_partition_search *p)
{
    if (!p)
        return;
    banyan_free(p->order);
    banyan_free(p->part);
    banyan_free(p->best);
    banyan_free(p->active);
    banyan_free(p->to);
    banyan_free(p->near);
    banyan_free(p);
}

banyan_status banyan_partition_search_create(const banyan_graph *graph, banyan_partition_search **out,
                                             banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;
    banyan_partition_search *p = banyan_alloc(1, sizeof *p);

    *out = NULL;
    if (!p)
        return banyan_fail_memory(err);
    p->graph = graph;
    p->order = banyan_alloc((size_t)graph->arc_count, sizeof *p->order);
    p->part = banyan_alloc(nodes, sizeof *p->part);
    p->best = banyan_alloc(nodes, sizeof *p->best);
    p->active = banyan_alloc(nodes, sizeof *p->active);
    p->to = banyan_alloc(nodes, sizeof *p->to);
    p->near = banyan_alloc(nodes, sizeof *p->near);
    if (!p->order || !p->part || !p->best || !p->active || !p->to || !p->near) {
        banyan_partition_search_destroy(p);
        return banyan_fail_memory(err);
    }
    *out = p;
    return BANYAN_SUCCESS;
}

static int has_cables(const banyan_graph *graph, int v)
{
    return graph->out_first[v] < graph->out_first[v + 1];
}

static int is_active(const banyan_partition_search *p, int v)
{
    return (p->graph->role[v] & BANYAN_NODE_ACTIVE) != 0;
}

static double capacity_of(const banyan_partition_search *p, int arc)
{
    return (double)p->graph->arcs[arc].capacity;
}

static int compare_priced(const void *left, const void *right)
{
    const priced *a = left, *b = right;

    if (a->price < b->price || a->price > b->price)
        return a->price < b->price ? -1 : 1;
    return a->arc < b->arc ? -1 : a->arc > b->arc;
}

static double sum_crossing(const banyan_partition_search *p)
{
    double sum = 0;

    for (int i = 0; i < p->cable_count; i++) {
        const banyan_arc *arc = &p->graph->arcs[p->order[i].arc];

        if (p->part[arc->src] != p->part[arc->dst])
            sum += (double)arc->capacity;
    }
    return sum;
}

static void rename_part(banyan_partition_search *p, int from, int into)
{
    for (int v = 0; v < p->graph->node_count; v++)
        if (p->part[v] == from)
            p->part[v] = into;
    p->active[into] += p->active[from];
    p->active[from] = 0;
}

/* Parts without active nodes count as cut off here, though they need not be: they are handed out
 * afterwards. */
static void keep_if_better(banyan_partition_search *p, int parts, double *least)
{
    double crossing = sum_crossing(p);

    if (crossing < *least * (parts - 1)) {
        *least = crossing / (parts - 1);
        memcpy(p->best, p->part, (size_t)p->graph->node_count * sizeof *p->best);
    }
}

static void sweep(banyan_partition_search *p)
{
    const banyan_graph *graph = p->graph;
    double least = HUGE_VAL;
    int parts = graph->active_count;

    for (int v = 0; v < graph->node_count; v++) {
        p->part[v] = v;
        p->active[v] = is_active(p, v);
    }
    keep_if_better(p, parts, &least);
    for (int i = 0; i < p->cable_count && parts > 1; i++) {
        const banyan_arc *arc = &graph->arcs[p->order[i].arc];
        int a = p->part[arc->src], b = p->part[arc->dst];

        if (a == b)
            continue;
        if (p->order[i].price > 0)
            keep_if_better(p, parts, &least);
        parts -= p->active[a] > 0 && p->active[b] > 0;
        rename_part(p, a, b);
    }
    memcpy(p->part, p->best, (size_t)graph->node_count * sizeof *p->part);
}

/* Parts get numbers 0.. in the order of their first nodes; active[] is counted anew. */
static void number_parts(banyan_partition_search *p)
{
    const banyan_graph *graph = p->graph;
    int *number = p->near;

    p->part_count = 0;
    for (int v = 0; v < graph->node_count; v++)
        number[v] = -1;
    for (int v = 0; v < graph->node_count; v++) {
        if (!has_cables(graph, v)) {
            p->part[v] = -1;
            continue;
        }
        if (number[p->part[v]] < 0) {
            number[p->part[v]] = p->part_count;
            p->active[p->part_count++] = 0;
        }
        p->part[v] = number[p->part[v]];
        p->active[p->part[v]] += is_active(p, v);
    }
}

/* Adds the capacities from v to the parts around it. */
static void look_around(banyan_partition_search *p, int v)
{
    const banyan_graph *graph = p->graph;

    for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
        int q = p->part[graph->arcs[graph->out_arc[i]].dst];

        if (!(p->to[q] > 0))
            p->near[p->near_count++] = q;
        p->to[q] += capacity_of(p, graph->out_arc[i]);
    }
}

/* The part, other than except, with the most capacity; -1: none. Forgets what was looked up. */
static int widest(banyan_partition_search *p, int except, double *width, double *inside)
{
    int best = -1;

    *inside = except >= 0 ? p->to[except] : 0;
    *width = 0;
    for (int i = 0; i < p->near_count; i++) {
        int q = p->near[i];

        if (q != except && (p->to[q] > *width || (best >= 0 && !(p->to[q] < *width) && q < best))) {
            best = q;
            *width = p->to[q];
        }
    }
    for (int i = 0; i < p->near_count; i++)
        p->to[p->near[i]] = 0;
    p->near_count = 0;
    return best;
}

static int widest_of_part(banyan_partition_search *p, int part, double *width)
{
    double inside;

    for (int v = 0; v < p->graph->node_count; v++)
        if (p->part[v] == part)
            look_around(p, v);
    return widest(p, part, width, &inside);
}

static void join_parts(banyan_partition_search *p, int from, int into)
{
    int last = --p->part_count;

    rename_part(p, from, into);
    if (last != from)
        rename_part(p, last, from);
}

/* Parts without active nodes join the one they are tied to most. */
static void hand_out_idle(banyan_partition_search *p)
{
    for (int part = 0; part < p->part_count;) {
        double width;
        int into = p->active[part] ? -1 : widest_of_part(p, part, &width);

        if (into < 0)
            part++;
        else
            join_parts(p, part, into);
    }
}

static double rate(const banyan_partition_search *p)
{
    return p->crossing / (p->part_count - 1);
}

/* One node goes elsewhere, if that lowers what is looked for. */
static int move_node(banyan_partition_search *p, int v)
{
    int from = p->part[v], into;
    double width, inside;

    if (is_active(p, v) && p->active[from] == 1)
        return 0;
    look_around(p, v);
    into = widest(p, from, &width, &inside);
    if (is_active(p, v) && inside < rate(p) * (1 - 1e-12) && inside - rate(p) < inside - width) {
        into = p->part_count++;
        p->active[into] = 0;
        p->crossing += inside;
    } else if (into >= 0 && width > inside) {
        p->crossing += inside - width;
    } else {
        return 0;
    }
    p->part[v] = into;
    p->active[into] += is_active(p, v);
    p->active[from] -= is_active(p, v);
    return 1;
}

static int join_if_wide(banyan_partition_search *p, int part)
{
    double width;
    int into;

    if (p->part_count <= 2)
        return 0;
    into = widest_of_part(p, part, &width);
    if (into < 0 || width <= rate(p) * (1 + 1e-12))
        return 0;
    p->crossing -= width;
    join_parts(p, part, into);
    return 1;
}

static void step(banyan_partition_search *p)
{
    for (int pass = 0, moved = 1; moved && pass < PASSES; pass++) {
        moved = 0;
        for (int v = 0; v < p->graph->node_count; v++)
            moved |= has_cables(p->graph, v) && move_node(p, v);
        for (int part = 0; part < p->part_count; part++)
            moved |= join_if_wide(p, part);
    }
}

/* The idle nodes of a part go with the active one among them that has the most capacity to such. */
static void find_owners(banyan_partition_search *p, int *owner)
{
    const banyan_graph *graph = p->graph;

    for (int q = 0; q < p->part_count; q++)
        p->near[q] = -1;
    for (int k = 0; k < graph->active_count; k++) {
        int v = graph->active[k], q = p->part[v];
        double tied = 0;

        for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
            int w = graph->arcs[graph->out_arc[i]].dst;

            if (p->part[w] == q && !is_active(p, w))
                tied += capacity_of(p, graph->out_arc[i]);
        }
        owner[v] = k;
        if (p->near[q] < 0 || tied > p->to[q]) {
            p->near[q] = k;
            p->to[q] = tied;
        }
    }
    for (int v = 0; v < graph->node_count; v++)
        if (!is_active(p, v))
            owner[v] = p->part[v] < 0 ? -1 : p->near[p->part[v]];
    for (int q = 0; q < p->part_count; q++)
        p->to[q] = 0;
}

/* The network in which idle nodes and their owners are one. */
static banyan_status contract(banyan_partition_search *p, const int *owner, banyan_graph **out,
                              banyan_error *err)
{
    const banyan_graph *graph = p->graph;
    size_t arcs = (size_t)graph->arc_count;
    unsigned char *role = banyan_alloc((size_t)graph->active_count, 1);
    int *src = banyan_alloc(arcs, sizeof *src), *dst = banyan_alloc(arcs, sizeof *dst);
    double *capacity = banyan_alloc(arcs, sizeof *capacity);
    banyan_graph_input input = {graph->active_count, role, 0, src, dst, capacity, NULL};
    banyan_status status = role && src && dst && capacity ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int k = 0; !status && k < graph->active_count; k++)
        role[k] = BANYAN_NODE_ACTIVE;
    for (int i = 0; !status && i < graph->arc_count; i++) {
        int a = owner[graph->arcs[i].src], b = owner[graph->arcs[i].dst];

        if (a == b)
            continue;
        src[input.arc_count] = a;
        dst[input.arc_count] = b;
        capacity[input.arc_count++] = capacity_of(p, i);
    }
    if (!status)
        status = banyan_graph_create(&input, out, err);
    banyan_free(role);
    banyan_free(src);
    banyan_free(dst);
    banyan_free(capacity);
    return status;
}

/* The best partition that leaves idle nodes with their owners. */
static banyan_status regroup(banyan_partition_search *p, banyan_error *err)
{
    const banyan_graph *graph = p->graph;
    int *owner = banyan_alloc((size_t)graph->node_count, sizeof *owner);
    int *part = banyan_alloc((size_t)graph->active_count, sizeof *part), count;
    banyan_graph *small = NULL;
    banyan_fraction strength;
    banyan_status status = owner && part ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status) {
        find_owners(p, owner);
        status = contract(p, owner, &small, err);
    }
    if (!status)
        status = banyan_strength(small, &strength, part, &count, err);
    if (!status && banyan_fraction_value(strength) * small->unit < rate(p) * (1 - 1e-12)) {
        for (int v = 0; v < graph->node_count; v++)
            p->part[v] = owner[v] < 0 ? v : graph->active[part[owner[v]]]; /* any name that is a node's */
        number_parts(p);
        p->near_count = 0;
        p->crossing = sum_crossing(p);
    }
    banyan_graph_destroy(small);
    banyan_free(owner);
    banyan_free(part);
    return status;
}

/* Every active node by itself, but for the one with the most idle neighbours: all idle nodes are with it. */
static void begin_with_one(banyan_partition_search *p)
{
    const banyan_graph *graph = p->graph;
    double most = -1;
    int with = graph->active[0];

    for (int k = 0; k < graph->active_count; k++) {
        double tied = 0;

        for (int i = graph->out_first[graph->active[k]]; i < graph->out_first[graph->active[k] + 1]; i++)
            if (!is_active(p, graph->arcs[graph->out_arc[i]].dst))
                tied += capacity_of(p, graph->out_arc[i]);
        if (tied > most) {
            most = tied;
            with = graph->active[k];
        }
    }
    for (int v = 0; v < graph->node_count; v++)
        p->part[v] = is_active(p, v) ? v : with;
}

static void sort_or_list(banyan_partition_search *p, const double *price)
{
    p->cable_count = 0;
    for (int i = 0; i < p->graph->arc_count; i++)
        if (banyan_graph_cable(p->graph, i) == i)
            p->order[p->cable_count++] = (priced){price ? price[i] : 0, i};
    if (price)
        qsort(p->order, (size_t)p->cable_count, sizeof *p->order, compare_priced);
}

banyan_status banyan_partition_search_run(banyan_partition_search *p, const double *price, double *out,
                                          banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    double before;

    sort_or_list(p, price);
    if (price)
        sweep(p);
    else
        begin_with_one(p);
    number_parts(p);
    p->near_count = 0;
    hand_out_idle(p);
    p->crossing = sum_crossing(p);
    step(p);
    do {
        before = rate(p);
        status = regroup(p, err);
        if (!status && rate(p) < before)
            step(p);
    } while (!status && rate(p) < before);
    *out = rate(p);
    return status;
}

const int *banyan_partition_search_parts(const banyan_partition_search *p, int *count)
{
    *count = p->part_count;
    return p->part;
}
