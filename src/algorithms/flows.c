/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/flows.c: collecting flows: orienting trees at their centres, and what they reach together. */
#include "algorithms/flows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

void banyan_flows_init(banyan_flows *flows)
{
    memset(flows, 0, sizeof *flows);
}

void banyan_flows_fini(banyan_flows *flows)
{
    banyan_free(flows->flows);
    banyan_free(flows->hops);
    banyan_free(flows->links);
    banyan_flows_init(flows);
}

static void add_link(banyan_flows *flows, int link)
{
    if (flows->failed || !banyan_grow((void **)&flows->links, flows->link_count, &flows->link_capacity,
                                      sizeof *flows->links)) {
        flows->failed = 1;
        return;
    }
    flows->links[flows->link_count++] = link;
    flows->hops[flows->hop_count - 1].link_count++;
}

static void begin_hop(banyan_flows *flows, int src, int dst)
{
    banyan_hop hop = {src, dst, flows->link_count, 0};

    if (flows->failed ||
        !banyan_grow((void **)&flows->hops, flows->hop_count, &flows->hop_capacity, sizeof *flows->hops)) {
        flows->failed = 1;
        return;
    }
    flows->hops[flows->hop_count++] = hop;
}

/* The edge as a hop from its src to its dst, or back over the twins. */
static void add_hop(banyan_flows *flows, const banyan_graph *graph, const banyan_trees *trees, size_t edge,
                    int back)
{
    const banyan_tree_edge *e = &trees->edges[edge];
    size_t begin = e->first_arc, end = banyan_trees_arcs_end(trees, edge);

    begin_hop(flows, back ? e->dst : e->src, back ? e->src : e->dst);
    for (size_t i = begin; i < end && !flows->failed; i++) {
        int arc = trees->arcs[back ? end - 1 - (i - begin) : i];

        add_link(flows, graph->arcs[back ? graph->arcs[arc].twin : arc].link);
    }
}

static banyan_flow_tree *begin_flow(banyan_flows *flows, int root, double weight)
{
    banyan_flow_tree flow = {.root = root, .weight = weight, .first_hop = flows->hop_count};

    if (flows->failed || !banyan_grow((void **)&flows->flows, flows->flow_count, &flows->flow_capacity,
                                      sizeof *flows->flows)) {
        flows->failed = 1;
        return NULL;
    }
    flows->flows[flows->flow_count] = flow;
    return &flows->flows[flows->flow_count++];
}

/* A tree's edges in the order of distance from a root, with the end that is farther. */
typedef struct {
    int node_count;
    int *first, *edge; /* edges at node v, numbered within the tree */
    int *order;        /* edges, nearest first */
    int *far;          /* the far end of the i-th of them */
    int *distance, *queue;
    int *via;
} walk;

static void walk_fini(walk *w)
{
    banyan_free(w->first);
    banyan_free(w->edge);
    banyan_free(w->order);
    banyan_free(w->far);
    banyan_free(w->distance);
    banyan_free(w->queue);
    banyan_free(w->via);
}

static int walk_init(walk *w, int node_count, const banyan_tree_edge *edges, size_t count)
{
    size_t nodes = (size_t)node_count;

    *w = (walk){.node_count = node_count, .first = banyan_alloc(nodes + 2, sizeof(int))};
    w->edge = banyan_alloc(2 * count, sizeof(int));
    w->order = banyan_alloc(count, sizeof(int));
    w->far = banyan_alloc(count, sizeof(int));
    w->distance = banyan_alloc(nodes, sizeof(int));
    w->queue = banyan_alloc(nodes, sizeof(int));
    w->via = banyan_alloc(nodes, sizeof(int));
    if (!w->first || !w->edge || !w->order || !w->far || !w->distance || !w->queue || !w->via)
        return 0;
    for (size_t i = 0; i < count; i++) {
        w->first[edges[i].src + 2]++;
        w->first[edges[i].dst + 2]++;
    }
    for (size_t v = 0; v < nodes; v++)
        w->first[v + 2] += w->first[v + 1];
    for (size_t i = 0; i < count; i++) {
        w->edge[w->first[edges[i].src + 1]++] = (int)i;
        w->edge[w->first[edges[i].dst + 1]++] = (int)i;
    }
    return 1;
}

/* Breadth first from the root; returns the farthest node. */
static int walk_from(walk *w, const banyan_tree_edge *edges, int root)
{
    int count = 1, edge_count = 0;

    for (int v = 0; v < w->node_count; v++)
        w->distance[v] = -1;
    w->queue[0] = root;
    w->distance[root] = 0;
    w->via[root] = -1;
    for (int i = 0; i < count; i++) {
        int v = w->queue[i];

        for (int j = w->first[v]; j < w->first[v + 1]; j++) {
            int e = w->edge[j], far = edges[e].src == v ? edges[e].dst : edges[e].src;

            if (w->distance[far] >= 0)
                continue;
            w->distance[far] = w->distance[v] + 1;
            w->via[far] = v;
            w->order[edge_count] = e;
            w->far[edge_count++] = far;
            w->queue[count++] = far;
        }
    }
    return w->queue[count - 1];
}

/* Idle nodes beyond which there is no active one have nothing to send, and nobody waits for what they get:
 * edges to them go. Returns how many are left; *depth is the distance of the farthest. */
static size_t walk_needed(walk *w, const banyan_graph *graph, size_t count, int *depth)
{
    int *is_needed = w->queue; /* free once the walk is over */
    size_t kept = 0;

    memset(is_needed, 0, (size_t)w->node_count * sizeof *is_needed);
    for (size_t i = count; i-- > 0;) {
        is_needed[w->far[i]] |= graph->role[w->far[i]] & BANYAN_NODE_ACTIVE;
        is_needed[w->via[w->far[i]]] |= is_needed[w->far[i]];
    }
    for (size_t i = 0; i < count; i++)
        if (is_needed[w->far[i]]) {
            w->order[kept] = w->order[i];
            w->far[kept++] = w->far[i];
        }
    *depth = kept ? w->distance[w->far[kept - 1]] : 0;
    return kept;
}

/* The middle of a longest path. */
static int find_centre(walk *w, const banyan_tree_edge *edges)
{
    int end = walk_from(w, edges, walk_from(w, edges, edges[0].src)), half = w->distance[end] / 2;

    while (half--)
        end = w->via[end];
    return end;
}

void banyan_flows_add_tree(banyan_flows *flows, const banyan_graph *graph, const banyan_trees *trees,
                           size_t tree, int root, double weight)
{
    size_t first = trees->first_edge[tree], count = banyan_trees_edges_end(trees, tree) - first;
    const banyan_tree_edge *edges = trees->edges + first;
    banyan_flow_tree *flow;
    walk w;
    int depth;

    if (count == 0)
        return;
    if (!walk_init(&w, graph->node_count, edges, count)) {
        flows->failed = 1;
        walk_fini(&w);
        return;
    }
    if (root < 0)
        root = find_centre(&w, edges);
    walk_from(&w, edges, root);
    count = walk_needed(&w, graph, count, &depth);
    flow = begin_flow(flows, root, weight);
    for (size_t i = count; flow && i-- > 0;)
        add_hop(flows, graph, trees, first + (size_t)w.order[i], edges[w.order[i]].src != w.far[i]);
    for (size_t i = 0; flow && i < count; i++)
        add_hop(flows, graph, trees, first + (size_t)w.order[i], edges[w.order[i]].src == w.far[i]);
    if (flow) {
        flow->in_count = flow->out_count = (int)count;
        flow->depth = depth;
    }
    walk_fini(&w);
}

static void add_half(banyan_flows *flows, const banyan_graph *graph, const banyan_trees *trees, size_t tree,
                     int towards, banyan_flow_tree *flow)
{
    size_t first = trees->first_edge[tree], count = banyan_trees_edges_end(trees, tree) - first;
    const banyan_tree_edge *edges = trees->edges + first;
    walk w;
    int depth;

    if (!walk_init(&w, graph->node_count, edges, count)) {
        flows->failed = 1;
        walk_fini(&w);
        return;
    }
    walk_from(&w, edges, flow->root);
    count = walk_needed(&w, graph, count, &depth);
    for (size_t i = 0; i < count; i++)
        add_hop(flows, graph, trees, first + (size_t)w.order[towards ? count - 1 - i : i], 0);
    flow->depth = depth > flow->depth ? depth : flow->depth;
    *(towards ? &flow->in_count : &flow->out_count) = (int)count;
    walk_fini(&w);
}

void banyan_flows_add_pair(banyan_flows *flows, const banyan_graph *graph, const banyan_trees *trees,
                           size_t in_tree, size_t out_tree, int root, int is_later, double weight)
{
    banyan_flow_tree *flow = begin_flow(flows, root, weight);

    if (!flow)
        return;
    flow->is_later = is_later;
    add_half(flows, graph, trees, in_tree, 1, flow);
    add_half(flows, graph, trees, out_tree, 0, flow);
}

void banyan_flows_add_one_way(banyan_flows *flows, const banyan_graph *graph, const banyan_trees *trees,
                              size_t tree, int root, int towards, double weight)
{
    banyan_flow_tree *flow = begin_flow(flows, root, weight);

    if (flow)
        add_half(flows, graph, trees, tree, towards, flow);
}

void banyan_flows_halve(banyan_flows *flows)
{
    size_t count = flows->flow_count;

    for (size_t f = 0; f < count && !flows->failed; f++) {
        banyan_flow_tree twin = flows->flows[f];
        size_t end = twin.first_hop + (size_t)(twin.in_count + twin.out_count);

        twin.weight /= 2;
        flows->flows[f].weight = twin.weight;
        if (!begin_flow(flows, twin.root, twin.weight))
            return;
        for (size_t h = twin.first_hop; h < end && !flows->failed; h++) {
            banyan_hop hop = flows->hops[h]; /* the array may move */

            begin_hop(flows, hop.src, hop.dst);
            if (!flows->failed)
                flows->hops[flows->hop_count - 1] = hop;
        }
        twin.first_hop = flows->flows[flows->flow_count - 1].first_hop;
        flows->flows[flows->flow_count - 1] = twin;
    }
}

static int compare_weights(const void *left, const void *right)
{
    const banyan_flow_tree *a = left, *b = right;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->first_hop < b->first_hop ? -1 : a->first_hop > b->first_hop;
}

void banyan_flows_keep_heaviest(banyan_flows *flows, size_t limit)
{
    double total = 0;

    for (size_t i = 0; i < flows->flow_count; i++)
        total += flows->flows[i].weight;
    if (flows->flow_count)
        qsort(flows->flows, flows->flow_count, sizeof *flows->flows, compare_weights);
    if (flows->flow_count > limit)
        flows->flow_count = limit;
    while (flows->flow_count > 1 && flows->flows[flows->flow_count - 1].weight <= 1e-7 * total)
        flows->flow_count--;
}

banyan_status banyan_flows_rate(const banyan_flows *flows, const banyan_topology *topology,
                                double *bytes_per_s, banyan_error *err)
{
    double *load = banyan_alloc((size_t)topology->link_count, sizeof *load), total = 0;

    if (!load)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < flows->flow_count; i++) {
        const banyan_flow_tree *flow = &flows->flows[i];
        size_t end = flow->first_hop + (size_t)(flow->in_count + flow->out_count);

        total += flow->weight;
        for (size_t h = flow->first_hop; h < end; h++)
            for (int j = 0; j < flows->hops[h].link_count; j++)
                load[flows->links[flows->hops[h].first_link + (size_t)j]] += flow->weight;
    }
    *bytes_per_s = HUGE_VAL;
    for (int i = 0; i < topology->link_count; i++)
        if (load[i] > 0 && topology->links[i].bytes_per_s * total / load[i] < *bytes_per_s)
            *bytes_per_s = topology->links[i].bytes_per_s * total / load[i];
    banyan_free(load);
    return BANYAN_SUCCESS;
}

int banyan_flows_depth(const banyan_flows *flows)
{
    int deepest = 0;

    for (size_t i = 0; i < flows->flow_count; i++)
        if (flows->flows[i].depth > deepest)
            deepest = flows->flows[i].depth;
    return deepest;
}
