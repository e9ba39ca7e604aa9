/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/spanning.c: minimum spanning tree of the distance graph on the members, in O(E log V): grow
 * all members' regions at once (Dijkstra from every member), and let every arc between two regions offer the
 * path through it; Kruskal over the offers gives a minimum spanning tree of all shortest paths (Mehlhorn
 * 1988). */
#include "solve/oracle/spanning.h"

#include <stdlib.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/net/work.h"

typedef struct {
    int64_t cost;
    int node;
} heap_item;

typedef struct {
    int64_t cost;
    int arc;
} offer;

struct banyan_spanning {
    const banyan_graph *graph;
    int64_t *distance;
    int *owner, *via; /* the member whose region it is; the arc by which it was reached, -1 at members */
    heap_item *heap;
    size_t heap_count;
    offer *offers;
    int *leader;
    banyan_scratch memory;
};

banyan_status banyan_spanning_create(const banyan_graph *graph, banyan_spanning **out, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count, arcs = (size_t)graph->arc_count;
    banyan_spanning *s = banyan_alloc(1, sizeof *s);

    *out = NULL;
    if (!s)
        return banyan_fail_memory(err);
    s->graph = graph;
    s->distance = banyan_scratch_take(&s->memory, nodes, sizeof *s->distance);
    s->owner = banyan_scratch_take(&s->memory, nodes, sizeof *s->owner);
    s->via = banyan_scratch_take(&s->memory, nodes, sizeof *s->via);
    s->heap = banyan_scratch_take(&s->memory, nodes + arcs, sizeof *s->heap);
    s->offers = banyan_scratch_take(&s->memory, arcs, sizeof *s->offers);
    s->leader = banyan_scratch_take(&s->memory, nodes, sizeof *s->leader);
    if (s->memory.failed) {
        banyan_spanning_destroy(s);
        return banyan_fail_memory(err);
    }
    *out = s;
    return BANYAN_SUCCESS;
}

void banyan_spanning_destroy(banyan_spanning *s)
{
    if (!s)
        return;
    banyan_scratch_free(&s->memory);
    banyan_free(s);
}

static int before(heap_item a, heap_item b)
{
    return a.cost < b.cost || (a.cost == b.cost && a.node < b.node);
}

static void heap_push(banyan_spanning *s, heap_item item)
{
    size_t i = s->heap_count++;

    for (; i && before(item, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = item;
}

static heap_item heap_pop(banyan_spanning *s)
{
    heap_item top = s->heap[0], last = s->heap[--s->heap_count];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < s->heap_count; i = child) {
        if (child + 1 < s->heap_count && before(s->heap[child + 1], s->heap[child]))
            child++;
        if (!before(s->heap[child], last))
            break;
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = last;
    return top;
}

static int is_member(const banyan_graph *graph, const unsigned char *member, int v)
{
    return member ? member[v] != 0 : (graph->role[v] & BANYAN_NODE_ACTIVE) != 0;
}

/* Members alone are their regions; only where there are other nodes is there anything to grow. */
static void grow_regions(banyan_spanning *s, const unsigned char *member, const int64_t *cost)
{
    const banyan_graph *graph = s->graph;

    s->heap_count = 0;
    for (int v = 0; v < graph->node_count; v++) {
        int in = is_member(graph, member, v);

        s->distance[v] = in ? 0 : INT64_MAX;
        s->owner[v] = in ? v : -1;
        s->via[v] = -1;
        if (in)
            heap_push(s, (heap_item){0, v});
    }
    while (s->heap_count) {
        heap_item item = heap_pop(s);

        if (item.cost != s->distance[item.node])
            continue;
        for (int i = graph->out_first[item.node]; i < graph->out_first[item.node + 1]; i++) {
            int arc = graph->out_arc[i], w = graph->arcs[arc].dst;
            int64_t far = item.cost + cost[arc];

            if (far < s->distance[w]) {
                s->distance[w] = far;
                s->owner[w] = s->owner[item.node];
                s->via[w] = arc;
                heap_push(s, (heap_item){far, w});
            }
        }
    }
}

static int compare_offers(const void *left, const void *right)
{
    const offer *a = left, *b = right;

    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    return a->arc < b->arc ? -1 : a->arc > b->arc;
}

static size_t collect_offers(banyan_spanning *s, const int64_t *cost)
{
    const banyan_graph *graph = s->graph;
    size_t count = 0;

    for (int i = 0; i < graph->arc_count; i++) {
        int u = graph->arcs[i].src, w = graph->arcs[i].dst;

        if (graph->arcs[i].twin < i && graph->arcs[i].twin >= 0)
            continue; /* each cable once */
        if (s->owner[u] < 0 || s->owner[w] < 0 || s->owner[u] == s->owner[w])
            continue;
        s->offers[count].cost = s->distance[u] + cost[i] + s->distance[w];
        s->offers[count++].arc = i;
    }
    qsort(s->offers, count, sizeof *s->offers, compare_offers);
    return count;
}

/* The path owner(src) .. src -> dst .. owner(dst) as an edge. */
static void add_path(const banyan_spanning *s, int arc, banyan_trees *trees)
{
    const banyan_arc *arcs = s->graph->arcs;
    int u = arcs[arc].src, hops = 0;

    banyan_trees_add_edge(trees, s->owner[u], s->owner[arcs[arc].dst]);
    for (int v = u; s->via[v] >= 0; v = arcs[s->via[v]].src)
        hops++;
    for (; hops > 0; hops--) { /* paths are short: walk to the n-th arc again rather than keep a list */
        int v = u;

        for (int i = 1; i < hops; i++)
            v = arcs[s->via[v]].src;
        banyan_trees_add_arc(trees, s->via[v]);
    }
    banyan_trees_add_arc(trees, arc);
    for (int v = arcs[arc].dst; s->via[v] >= 0; v = arcs[s->via[v]].src)
        banyan_trees_add_arc(trees, arcs[s->via[v]].twin);
}

int64_t banyan_spanning_tree(banyan_spanning *s, const unsigned char *member, const int64_t *cost,
                             banyan_trees *trees)
{
    size_t offer_count;
    int64_t total = 0;
    int parts = 0;

    banyan_work_add(BANYAN_WORK_TREE, s->graph->arc_count);
    grow_regions(s, member, cost);
    offer_count = collect_offers(s, cost);
    if (trees)
        banyan_trees_begin(trees);
    for (int v = 0; v < s->graph->node_count; v++) {
        s->leader[v] = v;
        parts += is_member(s->graph, member, v);
    }
    for (size_t i = 0; i < offer_count && parts > 1; i++) {
        const banyan_arc *arc = &s->graph->arcs[s->offers[i].arc];
        int a = banyan_graph_find_top(s->leader, s->owner[arc->src]),
            b = banyan_graph_find_top(s->leader, s->owner[arc->dst]);

        if (a == b)
            continue;
        s->leader[a] = b;
        total += s->offers[i].cost;
        parts--;
        if (trees)
            add_path(s, s->offers[i].arc, trees);
    }
    if (parts > 1 && trees)
        banyan_trees_drop_last(trees);
    return parts > 1 ? -1 : total;
}
