/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/steiner_heuristic.c: local search on the set of idle nodes that a tree goes through.
 *
 * Given the set, the best tree is a minimum spanning tree on it and the active nodes, without branches that
 * end at idle nodes. We begin with the tree that grows from one active node to the next nearest, always by a
 * shortest way (Takahashi and Matsuyama 1980), and then flip one idle node at a time, in or out, while the
 * tree gets cheaper. What a flip is worth is told by solve/oracle/key_vertex.h; cables are sorted once, so
 * one that is made costs a pass of Kruskal's algorithm. */
#include "solve/oracle/steiner_heuristic.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/net/work.h"
#include "solve/oracle/key_vertex.h"

enum { PASSES = 4 };

typedef struct {
    int64_t cost;
    int arc;
} priced;

struct banyan_steiner_heuristic {
    const banyan_graph *graph;
    const int64_t *cost; /* under way */
    priced *order;       /* cables, cheapest first */
    int cable_count;
    unsigned char *member; /* by node: the set that is tried */
    unsigned char *kept;   /* nodes of the best tree */
    int *top;              /* union-find */
    int *degree;
    int *tree, tree_count; /* arcs of the current tree */
    int *best, best_count;
    int64_t *far; /* growing: distance from the tree */
    int *via, *heap, *place, heap_count;
    banyan_key_vertex *flips;
};

void banyan_steiner_heuristic_destroy(banyan_steiner_heuristic *h)
{
    if (!h)
        return;
    banyan_free(h->order);
    banyan_free(h->member);
    banyan_free(h->kept);
    banyan_free(h->top);
    banyan_free(h->degree);
    banyan_free(h->tree);
    banyan_free(h->best);
    banyan_free(h->far);
    banyan_free(h->via);
    banyan_free(h->heap);
    banyan_free(h->place);
    banyan_key_vertex_destroy(h->flips);
    banyan_free(h);
}

banyan_status banyan_steiner_heuristic_create(const banyan_graph *graph, banyan_steiner_heuristic **out,
                                              banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;
    banyan_steiner_heuristic *h = banyan_alloc(1, sizeof *h);
    banyan_status status;

    *out = NULL;
    if (!h)
        return banyan_fail_memory(err);
    h->graph = graph;
    h->order = banyan_alloc((size_t)graph->arc_count, sizeof *h->order);
    h->member = banyan_alloc(nodes, 1);
    h->kept = banyan_alloc(nodes, 1);
    h->top = banyan_alloc(nodes, sizeof *h->top);
    h->degree = banyan_alloc(nodes, sizeof *h->degree);
    h->tree = banyan_alloc(nodes, sizeof *h->tree);
    h->best = banyan_alloc(nodes, sizeof *h->best);
    h->far = banyan_alloc(nodes, sizeof *h->far);
    h->via = banyan_alloc(nodes, sizeof *h->via);
    h->heap = banyan_alloc(nodes, sizeof *h->heap);
    h->place = banyan_alloc(nodes, sizeof *h->place);
    if (!h->order || !h->member || !h->kept || !h->top || !h->degree || !h->tree || !h->best || !h->far ||
        !h->via || !h->heap || !h->place) {
        banyan_steiner_heuristic_destroy(h);
        return banyan_fail_memory(err);
    }
    status = banyan_key_vertex_create(graph, &h->flips, err);
    if (status)
        banyan_steiner_heuristic_destroy(h);
    else
        *out = h;
    return status;
}

static int is_active(const banyan_steiner_heuristic *h, int v)
{
    return h->graph->role[v] & BANYAN_NODE_ACTIVE;
}

static int compare_priced(const void *left, const void *right)
{
    const priced *a = left, *b = right;

    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    return a->arc < b->arc ? -1 : a->arc > b->arc;
}

static void sort_cables(banyan_steiner_heuristic *h)
{
    h->cable_count = 0;
    for (int i = 0; i < h->graph->arc_count; i++)
        if (banyan_graph_cable(h->graph, i) == i)
            h->order[h->cable_count++] = (priced){h->cost[i], i};
    qsort(h->order, (size_t)h->cable_count, sizeof *h->order, compare_priced);
}

/* A minimum spanning forest on the members, into h->tree, and the degrees in it. */
static void span_members(banyan_steiner_heuristic *h)
{
    h->tree_count = 0;
    for (int v = 0; v < h->graph->node_count; v++) {
        h->top[v] = v;
        h->degree[v] = 0;
    }
    for (int i = 0; i < h->cable_count; i++) {
        const banyan_arc *arc = &h->graph->arcs[h->order[i].arc];
        int a, b;

        if (!h->member[arc->src] || !h->member[arc->dst])
            continue;
        a = banyan_graph_find_top(h->top, arc->src);
        b = banyan_graph_find_top(h->top, arc->dst);
        if (a == b)
            continue;
        h->top[a] = b;
        h->degree[arc->src]++;
        h->degree[arc->dst]++;
        h->tree[h->tree_count++] = h->order[i].arc;
    }
}

/* Cuts off branches that end at idle nodes, the most expensive cables first: with them go whole chains. */
static void prune(banyan_steiner_heuristic *h)
{
    for (int again = 1; again;) {
        int kept = 0;

        again = 0;
        for (int i = h->tree_count - 1; i >= 0; i--) {
            const banyan_arc *arc = &h->graph->arcs[h->tree[i]];

            if ((h->degree[arc->src] == 1 && !is_active(h, arc->src)) ||
                (h->degree[arc->dst] == 1 && !is_active(h, arc->dst))) {
                h->degree[arc->src]--;
                h->degree[arc->dst]--;
                h->tree[i] = -1;
                again = 1;
            }
        }
        for (int i = 0; again && i < h->tree_count; i++)
            if (h->tree[i] >= 0)
                h->tree[kept++] = h->tree[i];
        if (again)
            h->tree_count = kept;
    }
}

/* The cost of the best tree through the members, or -1 where they leave active nodes apart. */
static int64_t try_members(banyan_steiner_heuristic *h)
{
    int64_t sum = 0;
    int top;

    banyan_work_add(BANYAN_WORK_TREE, h->cable_count);
    span_members(h);
    top = banyan_graph_find_top(h->top, h->graph->active[0]);
    for (int i = 1; i < h->graph->active_count; i++)
        if (banyan_graph_find_top(h->top, h->graph->active[i]) != top)
            return -1;
    prune(h);
    for (int i = 0; i < h->tree_count; i++) {
        if (banyan_graph_find_top(h->top, h->graph->arcs[h->tree[i]].src) != top)
            return -1; /* idle nodes in a circle of their own: of no use */
        sum += h->cost[h->tree[i]];
    }
    return sum;
}

static void keep(banyan_steiner_heuristic *h)
{
    memcpy(h->best, h->tree, (size_t)h->tree_count * sizeof *h->best);
    h->best_count = h->tree_count;
    for (int v = 0; v < h->graph->node_count; v++)
        h->kept[v] = is_active(h, v) || h->degree[v] > 0;
    memcpy(h->member, h->kept, (size_t)h->graph->node_count);
    banyan_key_vertex_take_tree(h->flips, h->cost, h->best, h->best_count);
}

static void swap_heap(banyan_steiner_heuristic *h, int i, int j)
{
    int v = h->heap[i];

    h->heap[i] = h->heap[j];
    h->heap[j] = v;
    h->place[h->heap[i]] = i;
    h->place[h->heap[j]] = j;
}

static int is_nearer(const banyan_steiner_heuristic *h, int i, int j)
{
    int a = h->heap[i], b = h->heap[j];

    return h->far[a] != h->far[b] ? h->far[a] < h->far[b] : a < b;
}

static void offer(banyan_steiner_heuristic *h, int v, int64_t far, int via)
{
    if (h->far[v] >= 0 && far >= h->far[v])
        return;
    h->far[v] = far;
    h->via[v] = via;
    if (h->place[v] < 0) {
        h->place[v] = h->heap_count;
        h->heap[h->heap_count++] = v;
    }
    for (int i = h->place[v]; i > 0 && is_nearer(h, i, (i - 1) / 2); i = (i - 1) / 2)
        swap_heap(h, i, (i - 1) / 2);
}

static int take_nearest(banyan_steiner_heuristic *h)
{
    int v = h->heap[0];

    swap_heap(h, 0, --h->heap_count);
    h->place[v] = -1;
    for (int i = 0;;) {
        int child = 2 * i + 1;

        if (child + 1 < h->heap_count && is_nearer(h, child + 1, child))
            child++;
        if (child >= h->heap_count || !is_nearer(h, child, i))
            return v;
        swap_heap(h, i, child);
        i = child;
    }
}

/* The way from the tree to v belongs to it now, and everything is as near as it is to that way. */
static void join_way(banyan_steiner_heuristic *h, int v)
{
    while (!h->member[v]) {
        int via = h->via[v];

        h->member[v] = 1;
        h->far[v] = -1; /* so that it counts as new, also where ways cost nothing */
        offer(h, v, 0, -1);
        v = via < 0 ? v : h->graph->arcs[via].src;
    }
}

static void grow(banyan_steiner_heuristic *h)
{
    const banyan_graph *graph = h->graph;

    memset(h->member, 0, (size_t)graph->node_count);
    for (int v = 0; v < graph->node_count; v++) {
        h->far[v] = -1;
        h->place[v] = -1;
    }
    h->heap_count = 0;
    h->via[graph->active[0]] = -1;
    join_way(h, graph->active[0]);
    while (h->heap_count) {
        int v = take_nearest(h);

        if (is_active(h, v) && !h->member[v]) {
            join_way(h, v);
            continue;
        }
        for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
            int arc = graph->out_arc[i];

            offer(h, graph->arcs[arc].dst, h->far[v] + h->cost[arc], arc);
        }
    }
}

/* One idle node in or out, if that makes the tree cheaper: most flips are seen to be of no use without it
 * being built. */
static int flip(banyan_steiner_heuristic *h, int v, int64_t *best)
{
    int64_t gain = h->member[v] ? banyan_key_vertex_leaving(h->flips, v)
                                : banyan_key_vertex_joining(h->flips, v, h->member);
    int64_t sum;

    if (gain <= 0)
        return 0;
    h->member[v] ^= 1;
    sum = try_members(h);
    if (sum < 0 || sum >= *best) {
        memcpy(h->member, h->kept, (size_t)h->graph->node_count);
        return 0;
    }
    *best = sum;
    keep(h);
    return 1;
}

int64_t banyan_steiner_heuristic_tree(banyan_steiner_heuristic *h, const int64_t *cost, banyan_trees *trees)
{
    int64_t best;

    h->cost = cost;
    sort_cables(h);
    grow(h);
    best = try_members(h);
    if (best < 0)
        return -1;
    keep(h);
    for (int pass = 0, better = 1; better && pass < PASSES; pass++) {
        better = 0;
        for (int v = 0; v < h->graph->node_count; v++)
            if (!is_active(h, v) && h->graph->out_first[v] < h->graph->out_first[v + 1])
                better |= flip(h, v, &best);
    }
    banyan_trees_begin(trees);
    for (int i = 0; i < h->best_count; i++) {
        banyan_trees_add_edge(trees, h->graph->arcs[h->best[i]].src, h->graph->arcs[h->best[i]].dst);
        banyan_trees_add_arc(trees, h->best[i]);
    }
    return best;
}
