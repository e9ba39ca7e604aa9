/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/merge_twins.c: idle workers behind one switch are the usual twins. Each node's arcs are
 * listed in one order, and lists are compared. Cost: O(helpers^2) comparisons, most of which end at the first
 * entry. */
#include "solve/presolve/merge_twins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/net/fraction.h"

typedef struct {
    int place; /* the other end, twice, and 1 more for arcs that come in */
    int64_t capacity, price;
    int arc;
} end;

typedef struct {
    const banyan_graph *graph;
    end *ends; /* of node v: from first[v] on */
    int *first;
} lists;

static int compare_ends(const void *left, const void *right)
{
    const end *a = left, *b = right;

    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->capacity != b->capacity)
        return a->capacity < b->capacity ? -1 : 1;
    if (a->price != b->price)
        return a->price < b->price ? -1 : 1;
    return a->arc < b->arc ? -1 : a->arc > b->arc;
}

static int is_helper(const banyan_graph *graph, int v)
{
    return !(graph->role[v] & BANYAN_NODE_ACTIVE) &&
           (graph->role[v] & (BANYAN_NODE_ADDS | BANYAN_NODE_COPIES)) &&
           graph->out_first[v] < graph->out_first[v + 1];
}

static void list_ends(lists *l, int v, const int64_t *price)
{
    const banyan_graph *graph = l->graph;
    int count = l->first[v];

    for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
        int arc = graph->out_arc[i];

        l->ends[count++] =
            (end){2 * graph->arcs[arc].dst, graph->arcs[arc].capacity, price ? price[arc] : 0, arc};
    }
    for (int i = graph->in_first[v]; i < graph->in_first[v + 1]; i++) {
        int arc = graph->in_arc[i];

        l->ends[count++] =
            (end){2 * graph->arcs[arc].src + 1, graph->arcs[arc].capacity, price ? price[arc] : 0, arc};
    }
    l->first[v + 1] = count;
    qsort(l->ends + l->first[v], (size_t)(count - l->first[v]), sizeof *l->ends, compare_ends);
}

static int are_twins(const lists *l, int v, int w)
{
    const end *a = l->ends + l->first[v], *b = l->ends + l->first[w];
    int count = l->first[v + 1] - l->first[v];

    if (l->graph->role[v] != l->graph->role[w] || l->first[w + 1] - l->first[w] != count)
        return 0;
    for (int i = 0; i < count; i++)
        if (a[i].place != b[i].place || a[i].price != b[i].price ||
            (banyan_wide)a[i].capacity * b[0].capacity != (banyan_wide)b[i].capacity * a[0].capacity)
            return 0;
    return 1;
}

/* The first of its twins, for every node; returns how many are not it. */
static int find_twins(const lists *l, int *node)
{
    int count = 0;

    for (int v = 0; v < l->graph->node_count; v++) {
        node[v] = v;
        for (int u = 0; u < v && node[v] == v && is_helper(l->graph, v); u++)
            if (node[u] == u && is_helper(l->graph, u) && are_twins(l, u, v))
                node[v] = u;
        count += node[v] != v;
    }
    return count;
}

/* Where each arc goes, and the sums of what goes there. Both its ends may have twins: then it goes to the arc
 * of the one's first twin, and from there to that of the other's. */
static void add_up(const lists *l, const int *node, double *capacity, int *arc)
{
    const banyan_graph *graph = l->graph;

    for (int i = 0; i < graph->arc_count; i++) {
        capacity[i] = 0;
        arc[i] = i;
    }
    for (int v = 0; v < graph->node_count; v++)
        for (int i = 0; node[v] != v && i < l->first[v + 1] - l->first[v]; i++)
            arc[l->ends[l->first[v] + i].arc] = l->ends[l->first[node[v]] + i].arc;
    for (int i = 0; i < graph->arc_count; i++) {
        while (arc[arc[i]] != arc[i])
            arc[i] = arc[arc[i]];
        capacity[arc[i]] += (double)graph->arcs[i].capacity;
    }
}

/* The graph of what is left; arc[] then counts its arcs. */
static banyan_status make_graph(const banyan_graph *graph, const int *node, double *capacity,
                                banyan_twins *out, banyan_error *err)
{
    banyan_scratch memory = {0};
    size_t arcs = (size_t)graph->arc_count;
    int *src = banyan_scratch_take(&memory, arcs, sizeof *src),
        *dst = banyan_scratch_take(&memory, arcs, sizeof *dst),
        *number = banyan_scratch_take(&memory, arcs, sizeof *number),
        *link = banyan_scratch_take(&memory, arcs, sizeof *link);
    unsigned char *role = banyan_scratch_take(&memory, (size_t)graph->node_count, 1);
    banyan_graph_input input = {graph->node_count, role, 0, src, dst, capacity, link};
    banyan_status status = banyan_scratch_check(&memory, err);

    for (int v = 0; !status && v < graph->node_count; v++)
        role[v] = node[v] == v ? graph->role[v] : 0;
    for (int i = 0; !status && i < graph->arc_count; i++) {
        if (out->arc[i] != i)
            continue;
        src[input.arc_count] = graph->arcs[i].src;
        dst[input.arc_count] = graph->arcs[i].dst;
        link[input.arc_count] = graph->arcs[i].link;
        capacity[input.arc_count] = capacity[i];
        number[i] = input.arc_count++;
    }
    if (!status)
        status = banyan_graph_create(&input, &out->graph, err);
    for (int i = 0; !status && i < graph->arc_count; i++)
        out->arc[i] = number[out->arc[i]];
    banyan_scratch_free(&memory);
    return status;
}

/* In units of the original; 0: sums are too long to be exact. */
static int take_units(const banyan_graph *graph, banyan_graph *merged)
{
    int64_t times = (int64_t)nearbyint(merged->unit);

    if (!merged->exact)
        return 0;
    for (int i = 0; i < merged->arc_count; i++)
        merged->arcs[i].width = (double)(merged->arcs[i].capacity *= times);
    merged->unit = graph->unit;
    merged->exact = graph->exact;
    return 1;
}

/* What each node is of its twins, itself among them. */
static banyan_status take_shares(const banyan_graph *graph, banyan_twins *out, banyan_error *err)
{
    double *width = banyan_alloc((size_t)graph->node_count, sizeof *width);

    if (!width)
        return banyan_fail_memory(err);
    for (int v = 0; v < graph->node_count; v++)
        width[out->node[v]] += (double)banyan_graph_width(graph, v, 1);
    for (int v = 0; v < graph->node_count; v++)
        out->share[v] =
            is_helper(graph, v) ? (double)banyan_graph_width(graph, v, 1) / width[out->node[v]] : 1;
    banyan_free(width);
    return BANYAN_SUCCESS;
}

banyan_status banyan_twins_merge(const banyan_graph *graph, const int64_t *price, banyan_twins *out,
                                 banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count, nodes = (size_t)graph->node_count;
    banyan_scratch memory = {0};
    lists l = {.graph = graph,
               .ends = banyan_scratch_take(&memory, 2 * arcs + 1, sizeof *l.ends),
               .first = banyan_scratch_take(&memory, nodes + 1, sizeof *l.first)};
    double *capacity = banyan_scratch_take(&memory, arcs, sizeof *capacity);
    banyan_status status;

    *out = (banyan_twins){.arc = banyan_alloc(arcs, sizeof *out->arc)};
    out->share = banyan_alloc(nodes, sizeof *out->share);
    out->node = banyan_alloc(nodes, sizeof *out->node);
    status = !memory.failed && out->arc && out->share && out->node ? BANYAN_SUCCESS : banyan_fail_memory(err);
    for (int v = 0; !status && v < graph->node_count; v++)
        list_ends(&l, v, price);
    if (!status && find_twins(&l, out->node)) {
        add_up(&l, out->node, capacity, out->arc);
        status = make_graph(graph, out->node, capacity, out, err);
    }
    if (!status && out->graph && !take_units(graph, out->graph)) {
        banyan_graph_destroy(out->graph);
        out->graph = NULL;
    }
    if (!status && out->graph)
        status = take_shares(graph, out, err);
    banyan_scratch_free(&memory);
    if (status)
        banyan_twins_fini(out);
    return status;
}

void banyan_twins_fini(banyan_twins *twins)
{
    banyan_graph_destroy(twins->graph);
    banyan_free(twins->arc);
    banyan_free(twins->share);
    banyan_free(twins->node);
    memset(twins, 0, sizeof *twins);
}
