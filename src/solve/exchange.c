/* SPDX-License-Identifier: Apache-2.0 */
/* solve/exchange.c: local search on trees of equal weight, or nearly so.
 *
 *        o---A---o           An edge over a full cable is taken out of its tree, which falls into two parts;
 *            |  <- full      the cheapest way between any node of the one and any node of the other joins
 *        o---B---o           them again. Prices grow exponentially with what a cable carries, so the sum of
 *        |                   all prices falls with every exchange, and the search ends.
 *        +- - - - - - o
 *
 * The cheapest way is one search from all nodes of a part at once, through nodes that only forward and through
 * idle nodes that add, which then belong to the tree as branching points; a chain of those that nothing else
 * hangs on leaves the tree together with the edge. Cost: O(V + E log V) an attempt. */
#include "solve/exchange.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"

#define STEEP 120.0     /* price of the fullest cable over that of an empty one, as an exponent of e */
#define LEAST_GAIN 1e-3 /* of the old way's price */
#define NEAR_FULL 0.7   /* cables below this share of the fullest are left alone */

enum { OUTSIDE = -2, ROOT = -1 };

/* The way from v to its parent in the tree goes, or once went, over the cable whose list this is in. */
typedef struct {
    int tree, v, next;
} user;

typedef struct {
    const banyan_graph *graph;
    const banyan_exchange_problem *problem;
    int node_count, tree_count;
    int *parent;  /* [tree * node_count + v]: a node, ROOT or OUTSIDE */
    size_t *path; /* where the arcs from v to its parent begin, in arcs */
    int *path_length;
    int *arcs;
    size_t arc_count, arc_capacity;
    double *uses;  /* per arc, kept on the cable: weight of the trees that use it */
    double *price; /* of one more use by a tree of price_weight, per arc */
    double price_weight;
    double fullest, scale; /* prices refer to a cable as full as scale */
    user *users;           /* of all cables, as lists; some are out of date */
    int *first_user;       /* per cable, -1: none */
    int user_count, free_user;
    size_t user_capacity;
    int *children; /* of the tree at hand */
    int *depth;
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
    int failed;
} search;

static void search_fini(search *s)
{
    banyan_free(s->parent);
    banyan_free(s->path);
    banyan_free(s->path_length);
    banyan_free(s->vain);
    banyan_free(s->arcs);
    banyan_free(s->uses);
    banyan_free(s->price);
    banyan_free(s->users);
    banyan_free(s->first_user);
    banyan_free(s->children);
    banyan_free(s->depth);
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
    size_t nodes = (size_t)graph->node_count, cells = nodes * (size_t)tree_count,
           arcs = (size_t)graph->arc_count;

    s->graph = graph;
    s->node_count = graph->node_count;
    s->tree_count = tree_count;
    s->parent = banyan_alloc(cells, sizeof(int));
    s->path = banyan_alloc(cells, sizeof(size_t));
    s->path_length = banyan_alloc(cells, sizeof(int));
    s->vain = banyan_alloc(cells, sizeof(int));
    s->uses = banyan_alloc(arcs, sizeof(double));
    s->price = banyan_alloc(arcs, sizeof(double));
    s->first_user = banyan_alloc(arcs, sizeof(int));
    s->children = banyan_alloc(nodes, sizeof(int));
    s->depth = banyan_alloc(nodes, sizeof(int));
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
    if (!s->parent || !s->path || !s->path_length || !s->vain || !s->uses || !s->price || !s->first_user ||
        !s->children || !s->depth || !s->height || !s->second || !s->heir || !s->level || !s->by_depth ||
        !s->side || !s->distance || !s->via || !s->source || !s->heap || !s->place || !s->order)
        return banyan_fail_memory(err);
    s->free_user = -1;
    for (size_t i = 0; i < arcs; i++)
        s->first_user[i] = -1;
    return BANYAN_SUCCESS;
}

static int is_active(const search *s, int v)
{
    return s->graph->role[v] & BANYAN_NODE_ACTIVE;
}

static int can_branch(const search *s, int v)
{
    return s->graph->role[v] & BANYAN_NODE_ADDS;
}

static double load_of(const search *s, int cable)
{
    return s->uses[cable] / (double)s->graph->arcs[cable].capacity;
}

/* What one more use, by a tree of the weight that prices are made for, would cost beside the fullest cable. */
static void set_price(search *s, int cable)
{
    double load = (s->uses[cable] + s->price_weight) / (double)s->graph->arcs[cable].capacity;
    int twin = s->graph->arcs[cable].twin;

    s->price[cable] = s->price[twin] = 1 + exp(STEEP * (load / s->scale - 0.5));
}

static void set_all_prices(search *s)
{
    for (int i = 0; i < s->graph->arc_count; i++)
        if (banyan_graph_cable(s->graph, i) == i)
            set_price(s, i);
}

/* Prices are kept for one weight: mostly all trees have the same. */
static void price_for(search *s, int tree)
{
    if (s->price_weight == s->problem->weight[tree])
        return;
    s->price_weight = s->problem->weight[tree];
    set_all_prices(s);
}

static void find_fullest(search *s)
{
    s->fullest = 0;
    for (int i = 0; i < s->graph->arc_count; i++)
        if (s->uses[i] > 0 && load_of(s, i) > s->fullest)
            s->fullest = load_of(s, i);
}

static size_t cell_of(const search *s, int tree, int v)
{
    return (size_t)tree * (size_t)s->node_count + (size_t)v;
}

static void count_path(search *s, int tree, int v, int sign)
{
    size_t cell = cell_of(s, tree, v);

    for (int i = 0; i < s->path_length[cell]; i++) {
        int cable = banyan_graph_cable(s->graph, s->arcs[s->path[cell] + (size_t)i]);

        s->uses[cable] += sign * s->problem->weight[tree];
        set_price(s, cable);
    }
}

/* Enters the way from v to its parent in the lists of its cables. */
static void enter_path(search *s, int tree, int v)
{
    size_t cell = cell_of(s, tree, v);

    for (int i = 0; i < s->path_length[cell] && !s->failed; i++) {
        int cable = banyan_graph_cable(s->graph, s->arcs[s->path[cell] + (size_t)i]), at = s->free_user;

        if (at >= 0) {
            s->free_user = s->users[at].next;
        } else if (banyan_grow((void **)&s->users, (size_t)s->user_count, &s->user_capacity,
                               sizeof *s->users)) {
            at = s->user_count++;
        } else {
            s->failed = 1;
            return;
        }
        s->users[at] = (user){tree, v, s->first_user[cable]};
        s->first_user[cable] = at;
    }
}

static double path_price(const search *s, int tree, int v)
{
    size_t cell = cell_of(s, tree, v);
    double sum = 0;

    for (int i = 0; i < s->path_length[cell]; i++)
        sum += s->price[s->arcs[s->path[cell] + (size_t)i]];
    return sum;
}

/* Room for arcs at the end; 0: memory ran out. */
static int make_room(search *s, int length)
{
    while (s->arc_count + (size_t)length > s->arc_capacity)
        if (!banyan_grow((void **)&s->arcs, s->arc_capacity, &s->arc_capacity, sizeof *s->arcs)) {
            s->failed = 1;
            return 0;
        }
    return 1;
}

/* Paths that are replaced leave their arcs behind: once in a while those in use move together. */
static void collect_garbage(search *s)
{
    size_t cells = (size_t)s->tree_count * (size_t)s->node_count, used = 0, at = 0;
    int *kept;

    for (size_t c = 0; c < cells; c++)
        used += s->parent[c] >= 0 ? (size_t)s->path_length[c] : 0;
    if (s->arc_count < 4 * used + 4096)
        return;
    kept = banyan_alloc(used + 1, sizeof *kept);
    if (!kept) {
        s->failed = 1;
        return;
    }
    for (size_t c = 0; c < cells; c++)
        if (s->parent[c] >= 0) {
            memcpy(kept + at, s->arcs + s->path[c], (size_t)s->path_length[c] * sizeof *kept);
            s->path[c] = at;
            at += (size_t)s->path_length[c];
        }
    banyan_free(s->arcs);
    s->arcs = kept;
    s->arc_count = at;
    s->arc_capacity = used + 1;
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

/* Marks what hangs below top, in s->order from top on; returns how many that are. */
static int mark_part(search *s, int tree, int top)
{
    const int *parent = s->parent + cell_of(s, tree, 0);
    int count = 0;

    memset(s->side, 0, (size_t)s->node_count);
    s->side[top] = 1;
    for (int v = 0; v < s->node_count; v++) {
        int u = v, mark;

        if (parent[v] == OUTSIDE)
            continue;
        while (!s->side[u] && parent[u] >= 0)
            u = parent[u];
        mark = s->side[u] ? s->side[u] : 2;
        for (u = v; u >= 0 && !s->side[u]; u = parent[u])
            s->side[u] = (unsigned char)mark;
        count += s->side[v] == 1;
    }
    return count;
}

/* Depths of all nodes, counted from the memory of those above. */
static int measure_depths(search *s, int tree)
{
    const int *parent = s->parent + cell_of(s, tree, 0);
    int deepest = 0;

    for (int v = 0; v < s->node_count; v++)
        s->depth[v] = parent[v] == ROOT ? 0 : -1;
    for (int v = 0; v < s->node_count; v++) {
        int u = v, steps = 0;

        if (parent[v] == OUTSIDE)
            continue;
        for (; s->depth[u] < 0; u = parent[u])
            steps++;
        steps += s->depth[u];
        deepest = steps > deepest ? steps : deepest;
        for (u = v; s->depth[u] < 0; u = parent[u])
            s->depth[u] = steps--;
    }
    return deepest;
}

/* Depths, and below each node the two longest ways down through different children. Returns the depth. */
static int measure(search *s, int tree)
{
    const int *parent = s->parent + cell_of(s, tree, 0);
    int deepest = measure_depths(s, tree), count = 0;

    memset(s->level, 0, ((size_t)s->node_count + 1) * sizeof(int));
    for (int v = 0; v < s->node_count; v++) {
        s->height[v] = s->second[v] = 0;
        s->heir[v] = -1;
        if (parent[v] != OUTSIDE)
            s->level[deepest - s->depth[v] + 1]++;
    }
    for (int d = 0; d <= deepest; d++)
        s->level[d + 1] += s->level[d];
    for (int v = 0; v < s->node_count; v++)
        if (parent[v] != OUTSIDE) {
            s->by_depth[s->level[deepest - s->depth[v]]++] = v;
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
    const int *parent = s->parent + cell_of(s, tree, 0);
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
    const banyan_graph *graph = s->graph;

    s->heap_count = 0;
    for (int v = 0; v < s->node_count; v++) {
        s->distance[v] = limit;
        s->place[v] = -1;
    }
    for (int v = 0; v < s->node_count; v++)
        if (s->side[v] == 1)
            offer(s, v, 0, -1, v);
    while (s->heap_count) {
        int v = take_nearest(s);

        if (s->side[v] == 2) {
            if (s->depth[v] + 1 + reach_in_part(s, tree, s->source[v], top) <= depth_limit)
                return v;
            continue;
        }
        for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
            int arc = graph->out_arc[i], w = graph->arcs[arc].dst;

            if (s->side[w] != 1)
                offer(s, w, s->distance[v] + s->price[arc], arc, s->source[v]);
        }
    }
    return -1;
}

/* The part's nodes from u up to top get their parents turned round, so that u has none. */
static void turn_part(search *s, int tree, int u, int top)
{
    int v = u, above = ROOT, length = 0;
    size_t path = 0;

    for (;;) {
        size_t cell = cell_of(s, tree, v), old_path = s->path[cell];
        int next = s->parent[cell], old_length = s->path_length[cell];

        s->parent[cell] = above;
        s->path[cell] = path;
        s->path_length[cell] = length;
        if (above >= 0)
            enter_path(s, tree, v);
        if (v == top)
            return;
        for (int i = 0; i < old_length / 2; i++) { /* the way back: other end first, over twins */
            int swap = s->arcs[old_path + (size_t)i];

            s->arcs[old_path + (size_t)i] = s->arcs[old_path + (size_t)(old_length - 1 - i)];
            s->arcs[old_path + (size_t)(old_length - 1 - i)] = swap;
        }
        for (int i = 0; i < old_length; i++)
            s->arcs[old_path + (size_t)i] = s->graph->arcs[s->arcs[old_path + (size_t)i]].twin;
        above = v;
        path = old_path;
        length = old_length;
        v = next;
    }
}

/* Hangs the part on far by the way found; idle nodes that add, on the way, become nodes of the tree. */
static void join(search *s, int tree, int top, int far)
{
    const banyan_graph *graph = s->graph;
    int u = s->source[far], length = 0, below;

    for (int v = far; v != u; v = graph->arcs[s->via[v]].src)
        length++;
    if (!make_room(s, length))
        return;
    turn_part(s, tree, u, top);
    for (int v = far, i = length; v != u; v = graph->arcs[s->via[v]].src)
        s->arcs[s->arc_count + (size_t)--i] = s->via[v];
    below = u;
    for (int i = 0, begin = 0; i < length; i++) {
        int v = graph->arcs[s->arcs[s->arc_count + (size_t)i]].dst;

        if (i + 1 < length && !can_branch(s, v))
            continue;
        s->parent[cell_of(s, tree, below)] = v;
        s->path[cell_of(s, tree, below)] = s->arc_count + (size_t)begin;
        s->path_length[cell_of(s, tree, below)] = i + 1 - begin;
        count_path(s, tree, below, 1);
        enter_path(s, tree, below);
        below = v;
        begin = i + 1;
    }
    s->arc_count += (size_t)length;
}

/* An idle node that only passes on: one child, and a parent. */
static int is_chain(const search *s, const int *parent, int v)
{
    return !is_active(s, v) && parent[v] >= 0 && s->children[v] == 1;
}

static int only_child(const search *s, const int *parent, int v)
{
    for (int c = 0; c < s->node_count; c++)
        if (parent[c] == v)
            return c;
    return -1;
}

/* Tries to give the edge above v, with the idle chain around it, another way. */
static int exchange_edge(search *s, int tree, int v)
{
    int *parent = s->parent + cell_of(s, tree, 0), bottom = v, above, far, deepest;
    double old;

    s->attempts++;
    price_for(s, tree);
    memset(s->children, 0, (size_t)s->node_count * sizeof(int));
    for (int u = 0; u < s->node_count; u++)
        if (parent[u] >= 0)
            s->children[parent[u]]++;
    deepest = measure(s, tree);
    while (is_chain(s, parent, bottom))
        bottom = only_child(s, parent, bottom);
    for (above = parent[bottom]; is_chain(s, parent, above); above = parent[above])
        ;
    mark_part(s, tree, bottom);
    for (int u = bottom; u != above; u = parent[u]) {
        count_path(s, tree, u, -1);
        if (u != bottom)
            s->side[u] = 0;
    }
    old = 0;
    for (int u = bottom; u != above; u = parent[u])
        old += path_price(s, tree, u);
    far = find_way(s, tree, bottom, old * (1 - LEAST_GAIN),
                   deepest > s->depth_limit ? deepest : s->depth_limit);
    if (far < 0) {
        for (int u = bottom; u != above; u = parent[u])
            count_path(s, tree, u, 1);
        return 0;
    }
    for (int u = parent[bottom]; u != above;) {
        int next = parent[u];

        parent[u] = OUTSIDE;
        u = next;
    }
    join(s, tree, bottom, far);
    return 1;
}

static int path_uses(const search *s, size_t cell, int cable)
{
    for (int i = 0; i < s->path_length[cell]; i++)
        if (banyan_graph_cable(s->graph, s->arcs[s->path[cell] + (size_t)i]) == cable)
            return 1;
    return 0;
}

/* One exchange off the cable, the latest users first. What is out of date leaves the list. */
static int relieve(search *s, int cable)
{
    int *link = &s->first_user[cable];

    while (*link >= 0) {
        int at = *link, tree = s->users[at].tree, v = s->users[at].v;
        size_t cell = cell_of(s, tree, v);

        if (s->parent[cell] < 0 || !path_uses(s, cell, cable)) {
            *link = s->users[at].next;
            s->users[at].next = s->free_user;
            s->free_user = at;
            continue;
        }
        if (s->vain[cell] != s->season) {
            if (exchange_edge(s, tree, v))
                return 1;
            s->vain[cell] = s->season;
        }
        if (s->failed || s->attempts >= s->problem->attempt_limit)
            return 0;
        link = &s->users[at].next;
    }
    return 0;
}

/* The cables that are nearly full, fullest first. */
static int list_full(search *s)
{
    int count = 0;

    for (int i = 0; i < s->graph->arc_count; i++)
        if (s->uses[i] > 0 && load_of(s, i) >= NEAR_FULL * s->fullest) {
            int j = count++;

            for (; j > 0 && load_of(s, s->order[j - 1]) < load_of(s, i); j--)
                s->order[j] = s->order[j - 1];
            s->order[j] = i;
        }
    return count;
}

static int is_done(const search *s)
{
    return s->failed || s->attempts >= s->problem->attempt_limit ||
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
    s->scale = s->problem->usual > 0 ? s->problem->usual : s->fullest > 0 ? s->fullest : 1;
    s->price_weight = s->problem->weight[0];
    set_all_prices(s);
    while (!is_done(s)) {
        int count = list_full(s), moved = 0;

        for (int i = 0; i < count && !moved && !is_done(s); i++)
            moved = relieve(s, s->order[i]);
        moves += moved;
        if (!moved && moves == 0) {
            if (s->depth_limit >= s->node_count || !(s->problem->enough > 0))
                break;
            s->depth_limit += 1 + s->depth_limit / 16;
        }
        if (!moved) {
            moves = 0;
            s->season++;
        }
        collect_garbage(s);
        find_fullest(s);
        if (s->fullest < 0.999 * s->scale) {
            s->scale = s->fullest;
            set_all_prices(s);
            s->season++;
        }
    }
}

/* Parents by a walk from an active node in the middle over the tree's edges. */
static void walk_tree(search *s, const banyan_trees *trees, size_t tree, int root)
{
    size_t first = trees->first_edge[tree], end = banyan_trees_edges_end(trees, tree);
    int *parent = s->parent + cell_of(s, (int)tree, 0), found = 1;

    for (int v = 0; v < s->node_count; v++)
        parent[v] = OUTSIDE;
    parent[root] = ROOT;
    s->depth[root] = 0;
    while (found) {
        found = 0;
        for (size_t e = first; e < end; e++) {
            int a = trees->edges[e].src, b = trees->edges[e].dst, above = parent[a] != OUTSIDE ? a : b,
                below = above == a ? b : a;

            if ((parent[a] != OUTSIDE) == (parent[b] != OUTSIDE))
                continue;
            parent[below] = above;
            s->depth[below] = s->depth[above] + 1;
            s->path[cell_of(s, (int)tree, below)] = e; /* for now: the edge */
            found = 1;
        }
    }
}

static int farthest(const search *s, int tree)
{
    const int *parent = s->parent + cell_of(s, tree, 0);
    int far = -1;

    for (int v = 0; v < s->node_count; v++)
        if (parent[v] != OUTSIDE && (far < 0 || s->depth[v] > s->depth[far]))
            far = v;
    return far;
}

static int middle(search *s, const banyan_trees *trees, size_t tree)
{
    int end, half;

    walk_tree(s, trees, tree, s->graph->active[0]);
    walk_tree(s, trees, tree, farthest(s, (int)tree));
    end = farthest(s, (int)tree);
    for (half = s->depth[end] / 2; half > 0; half--)
        end = s->parent[cell_of(s, (int)tree, end)];
    while (!is_active(s, end) && s->parent[cell_of(s, (int)tree, end)] >= 0)
        end = s->parent[cell_of(s, (int)tree, end)];
    return is_active(s, end) ? end : s->graph->active[0];
}

/* The arcs of an edge, from the lower end to the upper. */
static void take_path(search *s, const banyan_trees *trees, int tree, int v)
{
    size_t cell = cell_of(s, tree, v), edge = s->path[cell], first = trees->edges[edge].first_arc;
    int length = (int)(banyan_trees_arcs_end(trees, edge) - first);

    if (!make_room(s, length))
        return;
    s->path[cell] = s->arc_count;
    s->path_length[cell] = length;
    for (int i = 0; i < length; i++)
        s->arcs[s->arc_count + (size_t)i] =
            trees->edges[edge].src == v ? trees->arcs[first + (size_t)i]
                                        : s->graph->arcs[trees->arcs[first + (size_t)(length - 1 - i)]].twin;
    s->arc_count += (size_t)length;
    count_path(s, tree, v, 1);
    enter_path(s, tree, v);
}

static void take_trees(search *s, const banyan_trees *trees)
{
    s->scale = 1;
    for (int t = 0; t < s->tree_count && !s->failed; t++) {
        walk_tree(s, trees, (size_t)t, middle(s, trees, (size_t)t));
        for (int v = 0; v < s->node_count && !s->failed; v++)
            if (s->parent[cell_of(s, t, v)] >= 0)
                take_path(s, trees, t, v);
    }
}

static void give_tree(search *s, int tree, banyan_trees *out)
{
    const int *parent = s->parent + cell_of(s, tree, 0);

    measure(s, tree);
    banyan_trees_begin(out);
    for (int depth = 1, found = 1; found; depth++) {
        found = 0;
        for (int v = 0; v < s->node_count; v++) {
            size_t cell = cell_of(s, tree, v);

            if (parent[v] < 0 || s->depth[v] != depth)
                continue;
            found = 1;
            banyan_trees_add_edge(out, parent[v], v);
            for (int i = s->path_length[cell] - 1; i >= 0; i--)
                banyan_trees_add_arc(out, s->graph->arcs[s->arcs[s->path[cell] + (size_t)i]].twin);
        }
    }
}

banyan_status banyan_exchange(const banyan_graph *graph, const banyan_exchange_problem *problem,
                              banyan_trees *trees, double *fullest, banyan_error *err)
{
    search s = {.problem = problem};
    banyan_trees better;
    banyan_status status = search_init(&s, graph, (int)trees->tree_count, err);

    banyan_trees_init(&better);
    if (!status) {
        take_trees(&s, trees);
        if (!s.failed)
            run(&s);
        for (int t = 0; t < s.tree_count && !s.failed; t++)
            give_tree(&s, t, &better);
        if (s.failed || better.failed)
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
