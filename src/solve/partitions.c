/* SPDX-License-Identifier: Apache-2.0 */
/* solve/partitions.c: the worst partition, found by one minimum cut a node; in large networks by loads that move (solve/loads.h).
 *
 * Wanted is the partition with the least sum over parts S of  d(S) - 2 rate  (d counts crossing capacity at both ends). That set
 * function is intersecting submodular, so the greedy of Cunningham (1985) finds it: take the nodes one by one; node v gets
 * x(v) = min over sets S of nodes so far, v in S, of  d(S) - 2 rate - x(S - v), a minimum cut; the sets that attain the minima,
 * joined where they meet, are the parts. */
#include "solve/partitions.h"

#include "core/alloc.h"
#include "solve/flow.h"
#include "solve/loads.h"

/* Loads are faster below this, too, but only for a first plan: mending one should take a tenth of that. */
#define MANY_NODES 100

struct banyan_partitions {
    const banyan_graph *graph;
    const int64_t *capacity; /* per arc */
    banyan_flow *flow;       /* cables, then one edge source->v a node, then one edge v->sink a node */
    int *cable;              /* arc of the i-th cable */
    int cable_count, source, sink;
    int *order; /* nodes with cables, ascending */
    int order_count;
    int64_t *x;
    int *part;           /* under way */
    banyan_loads *loads; /* in large networks, in the place of all this */
};

typedef struct banyan_partitions search;

static banyan_status make_flow(search *s, banyan_error *err)
{
    const banyan_graph *graph = s->graph;
    int nodes = graph->node_count, edges = s->cable_count + 2 * nodes;
    int *src = banyan_alloc((size_t)edges, sizeof *src), *dst = banyan_alloc((size_t)edges, sizeof *dst);
    banyan_status status;

    if (src && dst) {
        for (int i = 0; i < s->cable_count; i++) {
            src[i] = graph->arcs[s->cable[i]].src;
            dst[i] = graph->arcs[s->cable[i]].dst;
        }
        for (int v = 0; v < nodes; v++) {
            src[s->cable_count + v] = s->source;
            dst[s->cable_count + v] = v;
            src[s->cable_count + nodes + v] = v;
            dst[s->cable_count + nodes + v] = s->sink;
        }
        status = banyan_flow_create(nodes + 2, edges, src, dst, &s->flow, err);
    } else {
        status = banyan_fail_memory(err);
    }
    banyan_free(src);
    banyan_free(dst);
    return status;
}

static banyan_status search_init(search *s, const banyan_graph *graph, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;

    *s = (search){.graph = graph, .source = graph->node_count, .sink = graph->node_count + 1};
    if (graph->active_count > MANY_NODES)
        return banyan_loads_create(graph, &s->loads, err);
    s->cable = banyan_alloc((size_t)graph->arc_count, sizeof *s->cable);
    s->order = banyan_alloc(nodes, sizeof *s->order);
    s->x = banyan_alloc(nodes, sizeof *s->x);
    if (!s->cable || !s->order || !s->x)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->arc_count; i++)
        if (banyan_graph_cable(graph, i) == i)
            s->cable[s->cable_count++] = i;
    for (int v = 0; v < graph->node_count; v++)
        if (graph->out_first[v] < graph->out_first[v + 1])
            s->order[s->order_count++] = v;
    return make_flow(s, err);
}

static void search_fini(search *s)
{
    banyan_flow_destroy(s->flow);
    banyan_free(s->cable);
    banyan_free(s->order);
    banyan_free(s->x);
    banyan_loads_destroy(s->loads);
}

/* The set with the least  q·d(S) - 2p - x(S - v)  among the first count nodes, v the last of them. Nodes that
 * have not come yet are the sink's; x > 0 pulls a node into S, x < 0 pushes it out. */
static int64_t best_set(search *s, int count, int64_t rate)
{
    const banyan_graph *graph = s->graph;
    int nodes = graph->node_count, v = s->order[count - 1];
    int64_t pulled = 0, cut;

    for (int i = 0; i < s->cable_count; i++) {
        int arc = s->cable[i];
        int64_t capacity = s->capacity[arc];

        banyan_flow_set(s->flow, i, capacity, capacity);
    }
    for (int u = 0; u < nodes; u++) {
        banyan_flow_set(s->flow, s->cable_count + u, 0, 0);
        banyan_flow_set(s->flow, s->cable_count + nodes + u, 0, 0);
    }
    for (int i = 0; i < s->order_count; i++) {
        int u = s->order[i], push = s->cable_count + nodes + u, pull = s->cable_count + u;

        if (i >= count) {
            banyan_flow_set(s->flow, push, INT64_MAX / 8, 0);
        } else if (u == v) {
            banyan_flow_set(s->flow, pull, INT64_MAX / 8, 0);
        } else if (s->x[u] >= 0) {
            banyan_flow_set(s->flow, pull, s->x[u], 0);
            pulled += s->x[u];
        } else {
            banyan_flow_set(s->flow, push, -s->x[u], 0);
        }
    }
    cut = banyan_flow_run(s->flow, s->source, s->sink, INT64_MAX / 8);
    return cut - pulled - 2 * rate;
}

/* Joins the parts that the set of the last cut meets. */
static void join_set(search *s, int count)
{
    int into = s->part[s->order[count - 1]];

    for (int i = 0; i < count; i++) {
        int from = s->part[s->order[i]];

        if (from == into || !banyan_flow_reaches(s->flow, s->order[i]))
            continue;
        for (int j = 0; j < count; j++)
            if (s->part[s->order[j]] == from)
                s->part[s->order[j]] = into;
    }
}

/* Sum over the nodes of x: twice the least  cross - rate * parts. Leaves the partition in part[], each part
 * named by one of its nodes. */
static int64_t worst_partition(search *s, int64_t rate)
{
    int64_t sum = 0;

    for (int count = 1; count <= s->order_count; count++) {
        int v = s->order[count - 1];

        s->part[v] = v;
        s->x[v] = best_set(s, count, rate);
        sum += s->x[v];
        join_set(s, count);
    }
    return sum;
}

banyan_status banyan_partitions_create(const banyan_graph *graph, banyan_partitions **out, banyan_error *err)
{
    banyan_partitions *p = banyan_alloc(1, sizeof *p);
    banyan_status status;

    *out = NULL;
    if (!p)
        return banyan_fail_memory(err);
    status = search_init(p, graph, err);
    if (status)
        banyan_partitions_destroy(p);
    else
        *out = p;
    return status;
}

void banyan_partitions_destroy(banyan_partitions *p)
{
    if (!p)
        return;
    search_fini(p);
    banyan_free(p);
}

int64_t banyan_partitions_worst(banyan_partitions *p, const int64_t *capacity, int64_t rate, int *part)
{
    if (p->loads)
        return banyan_loads_spare(p->loads, capacity, rate, part);
    p->capacity = capacity;
    p->part = part;
    for (int v = 0; v < p->graph->node_count; v++)
        part[v] = -1;
    return worst_partition(p, rate) / 2 + rate;
}
