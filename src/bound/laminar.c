/* SPDX-License-Identifier: Apache-2.0 */
/* bound/laminar.c: Kruskal's algorithm as a proof. Let t rise from 0. The parts of active nodes that paths
 * cheaper than t join are cuts, each with as much weight as t rises while it stays as it is. A link between
 * two parts costs at least t, so no link is asked for more than its price; and a tree that enters all parts
 * but the root's at each t costs as much as the minimum spanning tree.
 *
 * Paths run through nodes that only forward. Such a node at the distance e from the nearest active node has
 * the potential -e, and belongs to that one's part once t passes 2e. Then the links of a path from one part
 * to another, taken together, are asked for at most what the path costs, wherever on it the border lies.
 *
 * Parts only grow, so the cuts are at most twice as many as nodes (a laminar family, as that of Edmonds'
 * branchings). Cost: O(arcs log arcs), and the size of the cuts. */
#include "bound/laminar.h"

#include <stdlib.h>
#include <string.h>

#include "core/scratch.h"
#include "core/sort.h"

typedef struct {
    int64_t level;
    int a, b; /* the parts of these are joined; a itself, if it is no part yet */
} event;

typedef struct {
    const banyan_graph *graph;
    const int64_t *price; /* by arc */
    int64_t *distance;    /* by node: to the nearest active node, */
    int *nearest;         /* which is this one; -1: there is none */
    event *events;
    size_t event_count;
    int *top, *next, *last; /* by node: towards the first of its part; the part's nodes as a list */
    int64_t *birth;         /* by part: the level at which it became what it is */
    int *sorted;            /* a part's nodes in order */
    size_t members, most;
    int count;
    banyan_cut_family *out;
    banyan_scratch memory;
} kruskal;

int banyan_laminar_applies(const banyan_graph *graph, const int64_t *price)
{
    return banyan_graph_has_even_prices(graph, price) && !banyan_graph_has_helpers(graph);
}

static banyan_status kruskal_init(kruskal *k, const banyan_graph *graph, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count, arcs = (size_t)graph->arc_count;

    k->graph = graph;
    k->distance = banyan_scratch_take(&k->memory, nodes, sizeof *k->distance);
    k->nearest = banyan_scratch_take(&k->memory, nodes, sizeof *k->nearest);
    k->events = banyan_scratch_take(&k->memory, arcs + nodes, sizeof *k->events);
    k->top = banyan_scratch_take(&k->memory, nodes, sizeof *k->top);
    k->next = banyan_scratch_take(&k->memory, nodes, sizeof *k->next);
    k->last = banyan_scratch_take(&k->memory, nodes, sizeof *k->last);
    k->birth = banyan_scratch_take(&k->memory, nodes, sizeof *k->birth);
    k->sorted = banyan_scratch_take(&k->memory, nodes, sizeof *k->sorted);
    return banyan_scratch_check(&k->memory, err);
}

/* Over nodes that forward, which are few in a row: as many rounds as that. */
static void measure(kruskal *k)
{
    const banyan_graph *graph = k->graph;

    for (int v = 0; v < graph->node_count; v++)
        k->nearest[v] = graph->role[v] & BANYAN_NODE_ACTIVE ? v : -1;
    for (int again = 1; again;) {
        again = 0;
        for (int i = 0; i < graph->arc_count; i++) {
            int from = graph->arcs[i].src, to = graph->arcs[i].dst;

            if (k->nearest[from] < 0 || (graph->role[to] & BANYAN_NODE_ACTIVE) ||
                (k->nearest[to] >= 0 && k->distance[to] <= k->distance[from] + k->price[i]))
                continue;
            k->distance[to] = k->distance[from] + k->price[i];
            k->nearest[to] = k->nearest[from];
            again = 1;
        }
    }
}

static int compare_events(const void *left, const void *right)
{
    const event *a = left, *b = right;

    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

static void list_events(kruskal *k)
{
    const banyan_graph *graph = k->graph;

    for (int v = 0; v < graph->node_count; v++)
        if (k->nearest[v] >= 0 && k->nearest[v] != v)
            k->events[k->event_count++] = (event){2 * k->distance[v], v, k->nearest[v]};
    for (int i = 0; i < graph->arc_count; i++) {
        int u = graph->arcs[i].src, v = graph->arcs[i].dst;

        if (banyan_graph_cable(graph, i) == i && k->nearest[u] >= 0 && k->nearest[v] >= 0 &&
            k->nearest[u] != k->nearest[v])
            k->events[k->event_count++] =
                (event){k->distance[u] + k->price[i] + k->distance[v], k->nearest[u], k->nearest[v]};
    }
    qsort(k->events, k->event_count, sizeof *k->events, compare_events);
}

/* The part becomes a cut if it stayed as it is for a while. Counted first, written when there is room. */
static void emit(kruskal *k, int part, int64_t level)
{
    banyan_cut_family *out = k->out;
    int size = 0;

    if (level > k->birth[part]) {
        for (int v = part; v >= 0; v = k->next[v])
            k->sorted[size++] = v;
        if (out->node) {
            banyan_sort_ints(k->sorted, (size_t)size);
            memcpy(out->node + k->members, k->sorted, (size_t)size * sizeof *k->sorted);
            out->weight[k->count] = level - k->birth[part];
            out->first[k->count + 1] = out->first[k->count] + size;
        }
        k->members += (size_t)size;
        k->count++;
    }
    k->birth[part] = level;
}

static void join(kruskal *k, int a, int b)
{
    k->next[k->last[a]] = b;
    k->last[a] = k->last[b];
    k->top[b] = a;
}

/* Walks through the events until all active nodes are one part. */
static void rise(kruskal *k)
{
    const banyan_graph *graph = k->graph;
    int left = graph->active_count;

    k->members = 0;
    k->count = 0;
    for (int v = 0; v < graph->node_count; v++) {
        k->top[v] = k->last[v] = v;
        k->next[v] = -1;
        k->birth[v] = 0;
    }
    for (size_t i = 0; i < k->event_count && left > 1 && k->members <= k->most; i++) {
        int forwards = !(graph->role[k->events[i].a] & BANYAN_NODE_ACTIVE);
        int a = banyan_graph_find_top(k->top, k->events[i].a),
            b = banyan_graph_find_top(k->top, k->events[i].b);

        if (a == b)
            continue;
        emit(k, b, k->events[i].level);
        if (!forwards) {
            emit(k, a, k->events[i].level);
            left--;
        }
        join(k, b, a);
    }
}

banyan_status banyan_laminar_cuts(const banyan_graph *graph, const int64_t *price, size_t most,
                                  banyan_cut_family *out, banyan_error *err)
{
    kruskal k = {.price = price, .most = most, .out = out};
    banyan_status status = kruskal_init(&k, graph, err);

    *out = (banyan_cut_family){0};
    if (!status) {
        measure(&k);
        list_events(&k);
        rise(&k);
    }
    if (!status && k.members <= most && k.count)
        status = banyan_cut_family_init(out, k.count, k.members, graph->node_count, err);
    if (!status && out->node) {
        rise(&k);
        for (int v = 0; v < graph->node_count; v++)
            out->potential[v] = k.nearest[v] == v ? 0 : -k.distance[v];
    }
    banyan_scratch_free(&k.memory);
    return status;
}
