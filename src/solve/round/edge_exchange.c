/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/edge_exchange.c: local search on trees of equal weight, or nearly so.
 *
 *        o---A---o           An edge over a full cable is taken out of its tree, which falls into two parts;
 *            |  <- full      the cheapest way between any node of the one and any node of the other joins
 *        o---B---o           them again. Prices grow exponentially with what a cable carries, so the sum of
 *        |                   all prices falls with every exchange, and the search ends.
 *        +- - - - - - o
 *
 * The cheapest way is one search from all nodes of a part at once, through nodes that only forward and
 * through idle nodes that add, which then belong to the tree as branching points; a chain of those that
 * nothing else hangs on leaves the tree together with the edge. Cost: O(V + E log V) an attempt. */
#include "solve/round/edge_exchange.h"

#include <string.h>

#include "core/alloc.h"
#include "solve/round/tree_layout.h"

#define LEAST_GAIN 1e-3 /* of the old way's price */
#define NEAR_FULL 0.7   /* cables below this share of the fullest are left alone */

typedef struct {
    banyan_tree_layout laid;
    const banyan_edge_exchange_problem *problem;
    double fullest;
    int *children;               /* of the current tree */
    int *height, *second, *heir; /* the two longest ways down, and the child that the longest begins with */
    int *level, *by_depth;
    unsigned char *side; /* 1: the part that came off, 2: the rest, 0: neither */
    double *distance;
    int *via, *source;
    int *heap, heap_count, *place;
    int *order;
    long attempts;
    int *vain, season; /* per cell: the season in which an exchange was last tried in vain */
    int depth_limit;
} search;

static void search_fini(search *s)
{
    banyan_tree_layout_fini(&s->laid);
    banyan_free(s->vain);
    banyan_free(s->children);
    banyan_free(s->height);
    banyan_free(s->second);
    banyan_free(s->heir);
    banyan_free(s->level);
    banyan_free(s->by_depth);
    banyan_free(s->side);
    banyan_free(s->distance);
    banyan_free(s->via);
    banyan_free(s->source);
    banyan_free(s->heap);
    banyan_free(s->place);
    banyan_free(s->order);
}

static banyan_status search_init(search *s, const banyan_graph *graph, int tree_count, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count, arcs = (size_t)graph->arc_count;
    banyan_status status = banyan_tree_layout_init(&s->laid, graph, s->problem->weight, tree_count, err);

    if (status)
        return status;
    s->vain = banyan_alloc(nodes * (size_t)tree_count, sizeof(int));
    s->children = banyan_alloc(nodes, sizeof(int));
    s->height = banyan_alloc(nodes, sizeof(int));
    s->second = banyan_alloc(nodes, sizeof(int));
    s->heir = banyan_alloc(nodes, sizeof(int));
    s->level = banyan_alloc(nodes + 2, sizeof(int));
    s->by_depth = banyan_alloc(nodes, sizeof(int));
    s->side = banyan_alloc(nodes, 1);
    s->distance = banyan_alloc(nodes, sizeof(double));
    s->via = banyan_alloc(nodes, sizeof(int));
    s->source = banyan_alloc(nodes, sizeof(int));
    s->heap = banyan_alloc(nodes, sizeof(int));
    s->place = banyan_alloc(nodes, sizeof(int));
    s->order = banyan_alloc(arcs > nodes ? arcs : nodes, sizeof(int));
    if (!s->vain || !s->children || !s->height || !s->second || !s->heir || !s->level || !s->by_depth ||
        !s->side || !s->distance || !s->via || !s->source || !s->heap || !s->place || !s->order)
        return banyan_fail_memory(err);
    return BANYAN_SUCCESS;
}

static void find_fullest(search *s)
{
    s->fullest = 0;
    for (int i = 0; i < s->laid.graph->arc_count; i++)
        if (s->laid.uses[i] > 0 && banyan_tree_layout_load(&s->laid, i) > s->fullest)
            s->fullest = banyan_tree_layout_load(&s->laid, i);
}

static void swap_heap(search *s, int i, int j)
{
    int a = s->heap[i], b = s->heap[j];

    s->heap[i] = b;
    s->heap[j] = a;
    s->place[a] = j;
    s->place[b] = i;
}

static int is_nearer(const search *s, int i, int j)
{
    int a = s->heap[i], b = s->heap[j];

    return s->distance[a] < s->distance[b] || (!(s->distance[b] < s->distance[a]) && a < b);
}

static void rise(search *s, int i)
{
    for (; i > 0 && is_nearer(s, i, (i - 1) / 2); i = (i - 1) / 2)
        swap_heap(s, i, (i - 1) / 2);
}

static int take_nearest(search *s)
{
    int v = s->heap[0];

    swap_heap(s, 0, --s->heap_count);
    s->place[v] = -1;
    for (int i = 0;;) {
        int child = 2 * i + 1;

        if (child + 1 < s->heap_count && is_nearer(s, child + 1, child))
            child++;
        if (child >= s->heap_count || !is_nearer(s, child, i))
            break;
        swap_heap(s, i, child);
        i = child;
    }
    return v;
}

static void offer(search *s, int v, double distance, int via, int source)
{
    if (distance >= s->distance[v])
        return;
    s->distance[v] = distance;
    s->via[v] = via;
    s->source[v] = source;
    if (s->place[v] < 0) {
        s->place[v] = s->heap_count;
        s->heap[s->heap_count++] = v;
    }
    rise(s, s->place[v]);
}

/* Depths, and below each node the two longest ways down through different children. Returns the depth. */
static int measure(search *s, int tree)
{
    const int *parent = s->laid.parent + banyan_tree_layout_cell(&s->laid, tree, 0);
    int deepest = banyan_tree_layout_measure(&s->laid, tree), count = 0;

    memset(s->level, 0, ((size_t)s->laid.node_count + 1) * sizeof(int));
    for (int v = 0; v < s->laid.node_count; v++) {
        s->height[v] = s->second[v] = 0;
        s->heir[v] = -1;
        if (parent[v] != BANYAN_TREE_LAYOUT_OUTSIDE)
            s->level[deepest - s->laid.depth[v] + 1]++;
    }
    for (int d = 0; d <= deepest; d++)
        s->level[d + 1] += s->level[d];
    for (int v = 0; v < s->laid.node_count; v++)
        if (parent[v] != BANYAN_TREE_LAYOUT_OUTSIDE) {
            s->by_depth[s->level[deepest - s->laid.depth[v]]++] = v;
            count++;
        }
    for (int i = 0; i < count; i++) {
        int v = s->by_depth[i], above = parent[v], way = s->height[v] + 1;

        if (above < 0)
            continue;
        if (way > s->height[above]) {
            s->second[above] = s->height[above];
            s->height[above] = way;
            s->heir[above] = v;
        } else if (way > s->second[above]) {
            s->second[above] = way;
        }
    }
    return deepest;
}

/* Hops from u to the farthest node of the part below top, were u its root. */
static int reach_in_part(const search *s, int tree, int u, int top)
{
    const int *parent = s->laid.parent + banyan_tree_layout_cell(&s->laid, tree, 0);
    int reach = s->height[u], up = 0;

    for (int v = u; v != top; v = parent[v]) {
        int above = parent[v], side_way = s->heir[above] == v ? s->second[above] : s->height[above];

        up++;
        reach = up + side_way > reach ? up + side_way : reach;
    }
    return reach;
}

/* The cheapest way from the part to the rest, below limit; the far end, or -1. */
static int find_way(search *s, int tree, int top, double limit, int depth_limit)
{
    const banyan_graph *graph = s->laid.graph;

    s->heap_count = 0;
    for (int v = 0; v < s->laid.node_count; v++) {
        s->distance[v] = limit;
        s->place[v] = -1;
    }
    for (int v = 0; v < s->laid.node_count; v++)
        if (s->side[v] == 1)
            offer(s, v, 0, -1, v);
    while (s->heap_count) {
        int v = take_nearest(s);

        if (s->side[v] == 2) {
            if (s->laid.depth[v] + 1 + reach_in_part(s, tree, s->source[v], top) <= depth_limit)
                return v;
            continue;
        }
        for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
            int arc = graph->out_arc[i], w = graph->arcs[arc].dst;

            if (s->side[w] != 1)
                offer(s, w, s->distance[v] + s->laid.price[arc], arc, s->source[v]);
        }
    }
    return -1;
}

/* An idle node that only passes on: one child, and a parent. */
static int is_chain(const search *s, const int *parent, int v)
{
    return !banyan_tree_layout_is_active(&s->laid, v) && parent[v] >= 0 && s->children[v] == 1;
}

static int only_child(const search *s, const int *parent, int v)
{
    for (int c = 0; c < s->laid.node_count; c++)
        if (parent[c] == v)
            return c;
    return -1;
}

/* Tries to give the edge above v, with the idle chain around it, another way. */
static int exchange_edge(search *s, int tree, int v)
{
    int *parent = s->laid.parent + banyan_tree_layout_cell(&s->laid, tree, 0), bottom = v, above, far,
        deepest;
    double old;

    s->attempts++;
    banyan_tree_layout_price_for(&s->laid, tree);
    memset(s->children, 0, (size_t)s->laid.node_count * sizeof(int));
    for (int u = 0; u < s->laid.node_count; u++)
        if (parent[u] >= 0)
            s->children[parent[u]]++;
    deepest = measure(s, tree);
    while (is_chain(s, parent, bottom))
        bottom = only_child(s, parent, bottom);
    for (above = parent[bottom]; is_chain(s, parent, above); above = parent[above])
        ;
    banyan_tree_layout_mark_part(&s->laid, tree, bottom, s->side);
    for (int u = bottom; u != above; u = parent[u]) {
        banyan_tree_layout_count(&s->laid, tree, u, -1);
        if (u != bottom)
            s->side[u] = 0;
    }
    old = 0;
    for (int u = bottom; u != above; u = parent[u])
        old += banyan_tree_layout_path_price(&s->laid, tree, u);
    far = find_way(s, tree, bottom, old * (1 - LEAST_GAIN),
                   deepest > s->depth_limit ? deepest : s->depth_limit);
    if (far < 0) {
        for (int u = bottom; u != above; u = parent[u])
            banyan_tree_layout_count(&s->laid, tree, u, 1);
        return 0;
    }
    for (int u = parent[bottom]; u != above;) {
        int next = parent[u];

        parent[u] = BANYAN_TREE_LAYOUT_OUTSIDE;
        u = next;
    }
    banyan_tree_layout_hang(&s->laid, tree, bottom, far, s->source[far], s->via);
    return 1;
}

/* One exchange off the cable, the latest users first. */
static int relieve(search *s, int cable)
{
    int *link = &s->laid.first_user[cable];
    const banyan_tree_layout_user *user;

    while ((user = banyan_tree_layout_next_user(&s->laid, cable, &link))) {
        int at = *link, tree = user->tree, v = user->v;
        size_t cell = banyan_tree_layout_cell(&s->laid, tree, v);

        if (s->vain[cell] != s->season) {
            if (exchange_edge(s, tree, v))
                return 1;
            s->vain[cell] = s->season;
        }
        if (s->laid.failed || s->attempts >= s->problem->attempt_limit)
            return 0;
        link = &s->laid.users[at].next;
    }
    return 0;
}

/* The cables that are nearly full, fullest first. */
static int list_full(search *s)
{
    int count = 0;

    for (int i = 0; i < s->laid.graph->arc_count; i++)
        if (s->laid.uses[i] > 0 && banyan_tree_layout_load(&s->laid, i) >= NEAR_FULL * s->fullest) {
            int j = count++;

            for (; j > 0 &&
                   banyan_tree_layout_load(&s->laid, s->order[j - 1]) < banyan_tree_layout_load(&s->laid, i);
                 j--)
                s->order[j] = s->order[j - 1];
            s->order[j] = i;
        }
    return count;
}

static int is_done(const search *s)
{
    return s->laid.failed || s->attempts >= s->problem->attempt_limit ||
           (s->problem->enough > 0 && s->fullest <= s->problem->enough * (1 + 1e-12));
}

/* An edge that could not be exchanged is not tried again until prices have changed much, or trees may be
 * deeper; or until nothing else is left to try. */
static void run(search *s)
{
    int moves = 1;

    s->depth_limit = s->problem->depth_limit;
    s->season = 1;
    find_fullest(s);
    s->laid.scale = s->problem->usual > 0 ? s->problem->usual : s->fullest > 0 ? s->fullest : 1;
    s->laid.price_weight = s->problem->weight[0];
    banyan_tree_layout_price_all(&s->laid);
    while (!is_done(s)) {
        int count = list_full(s), moved = 0;

        for (int i = 0; i < count && !moved && !is_done(s); i++)
            moved = relieve(s, s->order[i]);
        moves += moved;
        if (!moved && moves == 0) {
            if (s->depth_limit >= s->laid.node_count || !(s->problem->enough > 0))
                break;
            s->depth_limit += 1 + s->depth_limit / 16;
        }
        if (!moved) {
            moves = 0;
            s->season++;
        }
        banyan_tree_layout_collect(&s->laid);
        find_fullest(s);
        if (s->fullest < 0.999 * s->laid.scale) {
            s->laid.scale = s->fullest;
            banyan_tree_layout_price_all(&s->laid);
            s->season++;
        }
    }
}

banyan_status banyan_edge_exchange(const banyan_graph *graph, const banyan_edge_exchange_problem *problem,
                                   banyan_trees *trees, double *fullest, banyan_error *err)
{
    search s = {.problem = problem};
    banyan_trees better;
    banyan_status status = search_init(&s, graph, (int)trees->tree_count, err);

    banyan_trees_init(&better);
    if (!status) {
        banyan_tree_layout_take(&s.laid, trees);
        if (!s.laid.failed)
            run(&s);
        for (int t = 0; t < s.laid.tree_count && !s.laid.failed; t++)
            banyan_tree_layout_give(&s.laid, t, &better);
        if (s.laid.failed || better.failed)
            status = banyan_fail_memory(err);
    }
    if (!status) {
        *fullest = s.fullest;
        banyan_trees_fini(trees);
        *trees = better;
        banyan_trees_init(&better);
    }
    banyan_trees_fini(&better);
    search_fini(&s);
    return status;
}
