/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/subtree_moves.c: local search on trees with a direction.
 *
 *        root                An edge over an arc that bears too much is taken out, and the node below it,
 *        /  \                with all that hangs there, is hung on whatever node of its tree has the cheapest
 *       A    B               way to it. An arc's price grows exponentially with what it bears, so the sum of
 *       |x  ,                all prices falls with every move and the search ends. Where that does not help,
 *       v - '                one of the node's children comes up: it is hung elsewhere, and the node on it.
 *                            Or the two change places, each with all the other's neighbours: that keeps
 *                            the depth. Trees towards their roots are the same, backwards.
 *
 * First edges over arcs that are too full move; when none can, those over arcs that are nearly so, to make
 * room. Cost: arcs of the node and of forwarders near it an attempt, and all nodes a move. */
#include "solve/round/subtree_moves.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/net/work.h"

#define STEEP 150       /* doublings of the price between an empty arc and a full one */
#define LEAST_GAIN 1e-3 /* of the old way's price */
#define NEARLY 0.9      /* of the limit: arcs that are relieved when nothing else moves */
#define ROUNDED 1e-12   /* share by which sums of weights may differ */
#define OUTSIDE (-2)    /* parent of a node that is not in the trees */

typedef struct {
    const banyan_graph *graph;
    const banyan_subtree_moves_problem *problem;
    int node_count, tree_count;
    int *parent;  /* [tree * node_count + v]; -1 at the root */
    int *up;      /* the current tree's part of it */
    size_t *path; /* the same: arcs of the edge above v in pool, in the order in which data passes them */
    int *length, *room; /* of them, and for as many there is room */
    int *pool;
    size_t pool_count, pool_capacity;
    double *load;      /* per arc: what its users weigh */
    double *price;     /* per arc, of one more user: the current tree */
    double weight;     /* of that tree, */
    double *added;     /* per arc: and the part of its price that comes with it */
    int is_flattening; /* then arcs without room for it have no price, all others the same */
    /* per node of the tree that was surveyed last (-1: none since it changed): hops from the root and to the
     * farthest below; nodes in an order in which all below v are from first[v] to before end[v] */
    int surveyed, *level, *height, *first, *end;
    int *child, *sibling; /* the first below a node, and the next beside it; -1: none */
    int top;              /* above which an edge is taken out: what is below it is no end */
    double *distance;     /* per forwarder, from the node that is hung */
    int *via, *open, open_count;
    int *met, met_count;                    /* forwarders that have a distance */
    int only;                               /* the end that is wanted; -1: any above the current edge */
    int *way, way_length;                   /* found before */
    int *rehung, *old_parent, rehung_count; /* nodes that change places, or their parent does */
    size_t *old_path; /* per such node: where arcs of the edge above it begin in old_arcs */
    int *old_arcs;
    size_t old_capacity;
    long attempts;
    int failed;
} hanger;

static void hanger_fini(hanger *h)
{
    banyan_free(h->parent);
    banyan_free(h->path);
    banyan_free(h->length);
    banyan_free(h->room);
    banyan_free(h->pool);
    banyan_free(h->load);
    banyan_free(h->price);
    banyan_free(h->added);
    banyan_free(h->level);
    banyan_free(h->height);
    banyan_free(h->first);
    banyan_free(h->end);
    banyan_free(h->child);
    banyan_free(h->sibling);
    banyan_free(h->distance);
    banyan_free(h->via);
    banyan_free(h->open);
    banyan_free(h->met);
    banyan_free(h->way);
    banyan_free(h->rehung);
    banyan_free(h->old_parent);
    banyan_free(h->old_path);
    banyan_free(h->old_arcs);
}

static banyan_status hanger_init(hanger *h, banyan_error *err)
{
    size_t nodes = (size_t)h->node_count, arcs = (size_t)h->graph->arc_count,
           cells = nodes * (size_t)h->tree_count;

    h->parent = banyan_alloc(cells, sizeof(int));
    h->path = banyan_alloc(cells, sizeof(size_t));
    h->length = banyan_alloc(cells, sizeof(int));
    h->room = banyan_alloc(cells, sizeof(int));
    h->load = banyan_alloc(arcs, sizeof(double));
    h->price = banyan_alloc(arcs, sizeof(double));
    h->added = banyan_alloc(arcs, sizeof(double));
    h->level = banyan_alloc(nodes, sizeof(int));
    h->height = banyan_alloc(nodes, sizeof(int));
    h->first = banyan_alloc(nodes, sizeof(int));
    h->end = banyan_alloc(nodes, sizeof(int));
    h->child = banyan_alloc(nodes, sizeof(int));
    h->sibling = banyan_alloc(nodes, sizeof(int));
    h->distance = banyan_alloc(nodes, sizeof(double));
    h->via = banyan_alloc(nodes, sizeof(int));
    h->open = banyan_alloc(nodes, sizeof(int));
    h->met = banyan_alloc(nodes, sizeof(int));
    h->way = banyan_alloc(nodes, sizeof(int));
    h->rehung = banyan_alloc(nodes, sizeof(int));
    h->old_parent = banyan_alloc(nodes, sizeof(int));
    h->old_path = banyan_alloc(nodes + 1, sizeof(size_t));
    if (!h->parent || !h->path || !h->length || !h->room || !h->load || !h->price || !h->added || !h->level ||
        !h->height || !h->first || !h->end || !h->child || !h->sibling || !h->distance || !h->via ||
        !h->open || !h->met || !h->way || !h->rehung || !h->old_parent || !h->old_path)
        return banyan_fail_memory(err);
    for (size_t v = 0; v < nodes; v++)
        h->distance[v] = HUGE_VAL;
    return BANYAN_SUCCESS;
}

static size_t cell_of(const hanger *h, int tree, int v)
{
    return (size_t)tree * (size_t)h->node_count + (size_t)v;
}

static int is_towards(int tree)
{
    return tree % 2 == 0;
}

/* What the current tree adds to the sum of 2^(STEEP load / limit) over the arcs; where all weigh the same,
 * what it is then. */
static void set_price(hanger *h, int arc)
{
    double limit = h->problem->limit[arc];

    if (h->is_flattening)
        h->price[arc] = h->load[arc] + h->weight > limit * (1 + ROUNDED) ? HUGE_VAL : 1;
    else
        h->price[arc] = exp2(STEEP * ((h->load[arc] + h->weight) / limit - 1)) * h->added[arc];
}

static void count_arcs(hanger *h, const int *arcs, int length, int more)
{
    for (int i = 0; i < length; i++) {
        h->load[arcs[i]] += more * h->weight;
        set_price(h, arcs[i]);
    }
}

static void count(hanger *h, size_t cell, int more)
{
    count_arcs(h, h->pool + h->path[cell], h->length[cell], more);
}

/* Room for the arcs of an edge, in its old place if that is long enough. */
static int make_room(hanger *h, size_t cell, int length)
{
    if (length > h->room[cell]) {
        while (h->pool_capacity < h->pool_count + (size_t)length)
            if (!banyan_grow((void **)&h->pool, h->pool_capacity, &h->pool_capacity, sizeof(int)))
                return 0;
        h->path[cell] = h->pool_count;
        h->room[cell] = length;
        h->pool_count += (size_t)length;
    }
    h->length[cell] = length;
    return 1;
}

/* The tree is the current one now. */
static void take_up(hanger *h, int tree)
{
    double weight = h->problem->weight ? h->problem->weight[tree] : 1;

    h->up = h->parent + cell_of(h, tree, 0);
    if (weight == h->weight)
        return;
    h->weight = weight;
    for (int i = 0; i < h->graph->arc_count; i++) {
        h->added[i] = h->problem->weight ? 1 - exp2(-STEEP * weight / h->problem->limit[i]) : 1;
        set_price(h, i);
    }
}

static banyan_status take_trees(hanger *h, const banyan_trees *trees, banyan_error *err)
{
    for (size_t i = 0; i < (size_t)h->tree_count * (size_t)h->node_count; i++)
        h->parent[i] = OUTSIDE;
    for (int t = 0; t < h->tree_count; t++) {
        take_up(h, t);
        h->parent[cell_of(h, t, h->problem->root[t])] = -1;
        for (size_t e = trees->first_edge[t]; e < banyan_trees_edges_end(trees, (size_t)t); e++) {
            const banyan_tree_edge *edge = &trees->edges[e];
            size_t cell = cell_of(h, t, is_towards(t) ? edge->src : edge->dst),
                   length = banyan_trees_arcs_end(trees, e) - edge->first_arc;

            h->parent[cell] = is_towards(t) ? edge->dst : edge->src;
            if (!make_room(h, cell, (int)length))
                return banyan_fail_memory(err);
            memcpy(h->pool + h->path[cell], trees->arcs + edge->first_arc, length * sizeof(int));
            count(h, cell, 1);
        }
    }
    return BANYAN_SUCCESS;
}

/* Levels, heights and order of the tree, unless they are known. */
static void survey(hanger *h, int tree)
{
    const int *parent = h->parent + cell_of(h, tree, 0);
    int root = h->problem->root[tree], count = 0;

    if (h->surveyed == tree)
        return;
    h->surveyed = tree;
    for (int v = 0; v < h->node_count; v++)
        h->child[v] = -1;
    for (int v = 0; v < h->node_count; v++)
        if (parent[v] >= 0) {
            h->sibling[v] = h->child[parent[v]];
            h->child[parent[v]] = v;
        }
    h->level[root] = 0;
    for (int v = root;;) {
        h->first[v] = count++;
        h->height[v] = 0;
        if (h->child[v] >= 0) {
            h->level[h->child[v]] = h->level[v] + 1;
            v = h->child[v];
            continue;
        }
        for (;; v = parent[v]) {
            h->end[v] = count;
            if (v == root)
                return;
            if (h->height[v] + 1 > h->height[parent[v]])
                h->height[parent[v]] = h->height[v] + 1;
            if (h->sibling[v] >= 0)
                break;
        }
        h->level[h->sibling[v]] = h->level[v];
        v = h->sibling[v];
    }
}

static int is_in_tree(const hanger *h, int v)
{
    return h->up[v] != OUTSIDE;
}

static int is_below_top(const hanger *h, int v)
{
    return h->first[v] >= h->first[h->top] && h->first[v] < h->end[h->top];
}

/* Whether an end in the tree is better than the best so far: a cheaper one, or, where trees are made flatter,
 * a higher one. */
static int is_better_end(const hanger *h, int w, double cost, int best, double best_cost)
{
    if (h->is_flattening && best >= 0 && h->level[w] != h->level[best])
        return h->level[w] < h->level[best];
    return cost < best_cost;
}

/* The ways over v's arcs come into question; *best is the best end so far, in a tree no deeper than most.
 * What is not in the tree forwards. */
static void relax(hanger *h, int v, int towards, double so_far, int most, int *best, double *best_cost)
{
    const banyan_graph *graph = h->graph;
    const int *first = towards ? graph->out_first : graph->in_first,
              *arcs = towards ? graph->out_arc : graph->in_arc;

    for (int i = first[v]; i < first[v + 1]; i++) {
        int arc = arcs[i], w = towards ? graph->arcs[arc].dst : graph->arcs[arc].src;
        double cost = so_far + h->price[arc];

        if (cost >= (h->is_flattening ? h->node_count : *best_cost))
            continue;
        if (is_in_tree(h, w)) {
            if ((h->only >= 0 ? w != h->only : h->level[w] > most || is_below_top(h, w)) ||
                !is_better_end(h, w, cost, *best, *best_cost))
                continue;
            *best = w;
            *best_cost = cost;
        } else {
            if (cost >= h->distance[w])
                continue;
            if (h->distance[w] == HUGE_VAL) {
                h->open[h->open_count++] = w;
                h->met[h->met_count++] = w;
            }
            h->distance[w] = cost;
        }
        h->via[w] = arc;
    }
}

/* The node on which v hangs best, at less than *cost, which it changes; -1: none. */
static int find_end(hanger *h, int v, int towards, double *cost, int most)
{
    int best = -1;

    while (h->met_count)
        h->distance[h->met[--h->met_count]] = HUGE_VAL;
    h->open_count = 0;
    relax(h, v, towards, 0, most, &best, cost);
    while (h->open_count) {
        int next = 0, f;

        for (int i = 1; i < h->open_count; i++)
            next = h->distance[h->open[i]] < h->distance[h->open[next]] ? i : next;
        f = h->open[next];
        h->open[next] = h->open[--h->open_count];
        if (!h->is_flattening && h->distance[f] >= *cost)
            break;
        relax(h, f, towards, h->distance[f], most, &best, cost);
        h->distance[f] = 0; /* done: nothing is nearer */
    }
    return best;
}

/* The way that was found from the end to v, or back. */
static void take_way(hanger *h, int towards, int v, int end)
{
    h->way_length = 0;
    for (int u = end; u != v; u = towards ? h->graph->arcs[h->via[u]].src : h->graph->arcs[h->via[u]].dst)
        h->way[h->way_length++] = h->via[u];
}

/* v hangs on the end now, by the way that was taken. */
static void hang(hanger *h, int tree, int v, int end)
{
    size_t cell = cell_of(h, tree, v);

    if (!make_room(h, cell, h->way_length)) {
        h->failed = 1;
        return;
    }
    for (int i = 0; i < h->way_length; i++)
        h->pool[h->path[cell] + (size_t)(is_towards(tree) ? h->way_length - 1 - i : i)] = h->way[i];
    h->parent[cell] = end;
    h->surveyed = -1;
    count(h, cell, 1);
}

static double price_of(const hanger *h, size_t cell)
{
    double sum = 0;

    for (int i = 0; i < h->length[cell]; i++)
        sum += h->price[h->pool[h->path[cell] + (size_t)i]];
    return sum;
}

/* A child w of v, with all that hangs below v, is hung elsewhere, and v on it. The edge above v is out
 * already. */
static int try_child(hanger *h, int tree, int v, int w, int most)
{
    size_t cell = cell_of(h, tree, w);
    double old, back, cost;
    int end = -1, towards = is_towards(tree);

    count(h, cell, -1);
    old = (1 - LEAST_GAIN) * (price_of(h, cell_of(h, tree, v)) + price_of(h, cell));
    back = old;
    h->only = w;
    if (find_end(h, v, towards, &back, most) >= 0) {
        take_way(h, towards, v, w);
        h->only = -1;
        cost = old - back;
        count_arcs(h, h->way, h->way_length, 1);
        end = find_end(h, w, towards, &cost, most);
        count_arcs(h, h->way, h->way_length, -1);
    }
    h->only = -1;
    if (end < 0) {
        count(h, cell, 1);
        return 0;
    }
    hang(h, tree, v, w);
    take_way(h, towards, w, end);
    hang(h, tree, w, end);
    return 1;
}

/* The edge above v is taken out and remembered; returns what its price was. */
static double unhang(hanger *h, int tree, int v)
{
    size_t cell = cell_of(h, tree, v), begin = h->old_path[h->rehung_count],
           end = begin + (size_t)h->length[cell];

    while (h->old_capacity < end)
        if (!banyan_grow((void **)&h->old_arcs, h->old_capacity, &h->old_capacity, sizeof(int))) {
            h->failed = 1;
            return 0;
        }
    memcpy(h->old_arcs + begin, h->pool + h->path[cell], (end - begin) * sizeof(int));
    h->rehung[h->rehung_count] = v;
    h->old_parent[h->rehung_count++] = h->parent[cell];
    h->old_path[h->rehung_count] = end;
    count(h, cell, -1);
    return price_of(h, cell);
}

/* As it was before, for that many of those that were taken out. */
static void hang_back(hanger *h, int tree, int hung)
{
    for (int i = 0; i < hung; i++)
        count(h, cell_of(h, tree, h->rehung[i]), -1);
    for (int i = 0; i < h->rehung_count; i++) {
        size_t cell = cell_of(h, tree, h->rehung[i]), length = h->old_path[i + 1] - h->old_path[i];

        make_room(h, cell, (int)length); /* there is: it had as much */
        memcpy(h->pool + h->path[cell], h->old_arcs + h->old_path[i], length * sizeof(int));
        h->parent[cell] = h->old_parent[i];
        count(h, cell, 1);
    }
    h->surveyed = tree;
}

/* v and its child w change places. The edge above v is out already; it is back if that brings nothing. */
static int try_places(hanger *h, int tree, int v, int w)
{
    int towards = is_towards(tree), hung = 0;
    double left;

    count(h, cell_of(h, tree, v), 1);
    h->rehung_count = 0;
    left = unhang(h, tree, w);
    left += unhang(h, tree, v);
    for (int c = 0; c < h->node_count && !h->failed; c++)
        if (c != w && (h->parent[cell_of(h, tree, c)] == v || h->parent[cell_of(h, tree, c)] == w))
            left += unhang(h, tree, c);
    left *= 1 - LEAST_GAIN;
    h->attempts += h->rehung_count;
    for (; hung < h->rehung_count && !h->failed; hung++) {
        int node = h->rehung[hung], to = node == w                               ? h->old_parent[1]
                                         : node == v || h->old_parent[hung] == v ? w
                                                                                 : v;
        double cost = left;

        h->only = to;
        if (find_end(h, node, towards, &cost, 0) < 0)
            break;
        take_way(h, towards, node, to);
        hang(h, tree, node, to);
        left -= cost;
    }
    h->only = -1;
    if (hung == h->rehung_count && !h->failed)
        return 1;
    hang_back(h, tree, hung);
    count(h, cell_of(h, tree, v), -1);
    return 0;
}

static int try_edge(hanger *h, int tree, int v, int with_children)
{
    size_t cell = cell_of(h, tree, v);
    double cost;
    int end, moved, most;

    survey(h, tree);
    h->attempts++;
    h->top = v;
    most = h->problem->depth_limit - 1 - h->height[v];
    most = h->level[h->parent[cell]] > most ? h->level[h->parent[cell]] : most;
    count(h, cell, -1);
    cost = price_of(h, cell) * (1 - LEAST_GAIN);
    end = find_end(h, v, is_towards(tree), &cost, most);
    moved = end >= 0;
    if (moved) {
        take_way(h, is_towards(tree), v, end);
        hang(h, tree, v, end);
    }
    for (int w = 0; w < h->node_count && with_children && !moved; w++)
        if (h->parent[cell_of(h, tree, w)] == v)
            moved = try_child(h, tree, v, w, most - 1) || try_places(h, tree, v, w);
    if (!moved)
        count(h, cell, 1);
    return moved;
}

static int is_over(const hanger *h, size_t cell, double share)
{
    for (int i = 0; i < h->length[cell]; i++) {
        int arc = h->pool[h->path[cell] + (size_t)i];

        if (h->load[arc] > share * h->problem->limit[arc])
            return 1;
    }
    return 0;
}

/* One round over all edges on arcs with more users than this share of the limit; how many moved. */
static int sweep(hanger *h, double share, int with_children)
{
    int moved = 0;

    for (int t = 0; t < h->tree_count; t++) {
        take_up(h, t);
        for (int v = 0; v < h->node_count; v++) {
            size_t cell = cell_of(h, t, v);

            if (h->failed || h->attempts >= h->problem->attempt_limit)
                return 0;
            if (h->parent[cell] >= 0 && is_over(h, cell, share))
                moved += try_edge(h, t, v, with_children);
        }
    }
    return moved;
}

/* How near to the root a node is, at the nearest, over which an arc with room leads: nothing can come to hang
 * higher. */
static int find_highest(hanger *h, int tree)
{
    const int *first = is_towards(tree) ? h->graph->in_first : h->graph->out_first,
              *arcs = is_towards(tree) ? h->graph->in_arc : h->graph->out_arc;
    int highest = h->node_count;

    survey(h, tree);
    for (int v = 0; v < h->node_count; v++)
        for (int i = first[v]; is_in_tree(h, v) && h->level[v] < highest && i < first[v + 1]; i++)
            if (h->price[arcs[i]] < HUGE_VAL)
                highest = h->level[v];
    return highest;
}

/* The node is hung as near to the root as arcs have room. */
static int raise(hanger *h, int tree, int v)
{
    size_t cell = cell_of(h, tree, v);
    double cost = h->node_count;
    int end;

    h->attempts++;
    h->top = v;
    count(h, cell, -1);
    end = find_end(h, v, is_towards(tree), &cost, h->level[h->parent[cell]] - 1);
    if (end >= 0) {
        take_way(h, is_towards(tree), v, end);
        hang(h, tree, v, end);
    } else {
        count(h, cell, 1);
    }
    return end >= 0;
}

/* One round over the tree's nodes; how many came nearer to the root. */
static int raise_tree(hanger *h, int tree)
{
    int moved = 0, highest;

    take_up(h, tree);
    highest = find_highest(h, tree);
    for (int v = 0; v < h->node_count; v++) {
        int above = h->parent[cell_of(h, tree, v)];

        if (h->failed || h->attempts >= h->problem->attempt_limit)
            return 0;
        if (above < 0 || h->level[above] <= highest || !raise(h, tree, v))
            continue;
        moved++;
        highest = find_highest(h, tree);
    }
    return moved;
}

static void raise_all(hanger *h)
{
    for (int t = 0; t < h->tree_count; t++)
        while (raise_tree(h, t))
            ;
}

static double find_fullest(const hanger *h)
{
    double fullest = 0;

    for (int i = 0; i < h->graph->arc_count; i++)
        fullest = fmax(fullest, h->load[i] / h->problem->limit[i]);
    return fullest;
}

static void run(hanger *h)
{
    int moved = 1;

    while (moved && find_fullest(h) > 1) {
        moved = sweep(h, 1, 0);
        if (!moved)
            moved = sweep(h, 1, 1);
        if (!moved)
            moved = sweep(h, NEARLY, 0);
        if (!moved)
            moved = sweep(h, NEARLY, 1);
    }
}

/* Idle nodes on which nothing hangs any more leave the trees. */
static void drop_idle_leaves(hanger *h)
{
    for (int t = 0; t < h->tree_count; t++)
        for (int again = 1; again;) {
            int *parent = h->parent + cell_of(h, t, 0);

            again = 0;
            survey(h, t);
            for (int v = 0; v < h->node_count; v++)
                if (parent[v] >= 0 && h->child[v] < 0 && !(h->graph->role[v] & BANYAN_NODE_ACTIVE)) {
                    take_up(h, t);
                    count(h, cell_of(h, t, v), -1);
                    parent[v] = OUTSIDE;
                    h->surveyed = -1;
                    again = 1;
                }
        }
}

static banyan_status give_trees(const hanger *h, banyan_trees *trees, banyan_error *err)
{
    banyan_trees better;

    banyan_trees_init(&better);
    for (int t = 0; t < h->tree_count; t++) {
        banyan_trees_begin(&better);
        for (int v = 0; v < h->node_count; v++) {
            size_t cell = cell_of(h, t, v);
            int above = h->parent[cell];

            if (above < 0)
                continue;
            banyan_trees_add_edge(&better, is_towards(t) ? v : above, is_towards(t) ? above : v);
            for (int k = 0; k < h->length[cell]; k++)
                banyan_trees_add_arc(&better, h->pool[h->path[cell] + (size_t)k]);
        }
    }
    if (better.failed) {
        banyan_trees_fini(&better);
        return banyan_fail_memory(err);
    }
    banyan_trees_fini(trees);
    *trees = better;
    return BANYAN_SUCCESS;
}

static banyan_status move(const banyan_graph *graph, const banyan_subtree_moves_problem *problem,
                          int is_flattening, banyan_trees *trees, double *fullest, banyan_error *err)
{
    hanger h = {.graph = graph,
                .problem = problem,
                .node_count = graph->node_count,
                .tree_count = (int)trees->tree_count,
                .is_flattening = is_flattening,
                .surveyed = -1,
                .only = -1};
    banyan_status status = hanger_init(&h, err);

    if (!status)
        status = take_trees(&h, trees, err);
    if (!status && is_flattening)
        raise_all(&h);
    else if (!status)
        run(&h);
    if (!status)
        drop_idle_leaves(&h);
    if (!status && h.failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = give_trees(&h, trees, err);
    banyan_work_add(BANYAN_WORK_TREE, h.attempts * graph->node_count);
    if (!status)
        *fullest = find_fullest(&h);
    hanger_fini(&h);
    return status;
}

banyan_status banyan_subtree_moves(const banyan_graph *graph, const banyan_subtree_moves_problem *problem,
                                   banyan_trees *trees, double *fullest, banyan_error *err)
{
    return move(graph, problem, 0, trees, fullest, err);
}

banyan_status banyan_subtree_moves_flatten(const banyan_graph *graph,
                                           const banyan_subtree_moves_problem *problem, banyan_trees *trees,
                                           banyan_error *err)
{
    double fullest;

    return move(graph, problem, 1, trees, &fullest, err);
}
