/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/subtree_moves.c: local search on trees with a direction.
 *
 *        root                An edge over an arc that bears too much is taken out, and the node below it,
 *        /  \                with all below it, is attached to whatever node of its tree has the cheapest
 *       A    B               way to it. An arc's price grows exponentially with what it bears, so the sum of
 *       |x  ,                all prices falls with every move and the search ends. Where that does not help,
 *       v - '                one of the node's children comes up: it moves elsewhere, and the node to it.
 *                            Or the two change places, each with all the other's neighbours: that keeps
 *                            the depth. Trees towards their roots are the same, backwards.
 *
 * First edges over arcs that are too full move; when none can, those over arcs that are nearly so, to make
 * room. Cost: arcs of the node and of forwarders near it an attempt, and all nodes a move. */
#include "solve/round/subtree_moves.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/net/work.h"

#define STEEP 150     /* doublings of the price between an empty arc and a full one */
#define NEARLY 0.9    /* of the limit: arcs that are relieved when nothing else moves */
#define ROUNDED 1e-12 /* share by which sums of weights may differ */
#define OUTSIDE (-2)  /* parent of a node that is not in the trees */

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
    double *distance;     /* per forwarder, from the node that is detached */
    int *via, *open, open_count;
    int *met, met_count;                        /* forwarders that have a distance */
    int only;                                   /* the end that is wanted; -1: any above the current edge */
    int *way, way_length;                       /* found before */
    int *detached, *old_parent, detached_count; /* nodes that change places, or their parent does */
    size_t *old_path; /* per such node: where arcs of the edge above it begin in old_arcs */
    int *old_arcs;
    size_t old_capacity;
    long attempts;
    int64_t visits; /* of arcs that have been looked at or priced */
    int failed;
    banyan_scratch memory; /* of all arrays but the two that grow */
} mover;

static void mover_fini(mover *m)
{
    banyan_scratch_free(&m->memory);
    banyan_free(m->pool);
    banyan_free(m->old_arcs);
}

static banyan_status mover_init(mover *m, banyan_error *err)
{
    size_t nodes = (size_t)m->node_count, arcs = (size_t)m->graph->arc_count,
           cells = nodes * (size_t)m->tree_count;
    banyan_status status;

    m->parent = banyan_scratch_take(&m->memory, cells, sizeof(int));
    m->path = banyan_scratch_take(&m->memory, cells, sizeof(size_t));
    m->length = banyan_scratch_take(&m->memory, cells, sizeof(int));
    m->room = banyan_scratch_take(&m->memory, cells, sizeof(int));
    m->load = banyan_scratch_take(&m->memory, arcs, sizeof(double));
    m->price = banyan_scratch_take(&m->memory, arcs, sizeof(double));
    m->added = banyan_scratch_take(&m->memory, arcs, sizeof(double));
    m->level = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->height = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->first = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->end = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->child = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->sibling = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->distance = banyan_scratch_take(&m->memory, nodes, sizeof(double));
    m->via = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->open = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->met = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->way = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->detached = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->old_parent = banyan_scratch_take(&m->memory, nodes, sizeof(int));
    m->old_path = banyan_scratch_take(&m->memory, nodes + 1, sizeof(size_t));
    status = banyan_scratch_check(&m->memory, err);
    for (size_t v = 0; !status && v < nodes; v++)
        m->distance[v] = HUGE_VAL;
    return status;
}

static size_t cell_of(const mover *m, int tree, int v)
{
    return (size_t)tree * (size_t)m->node_count + (size_t)v;
}

static int is_towards(int tree)
{
    return tree % 2 == 0;
}

/* What the current tree adds to the sum of 2^(STEEP load / limit) over the arcs; where all weigh the same,
 * what it is then. */
static void set_price(mover *m, int arc)
{
    double limit = m->problem->limit[arc];

    if (m->is_flattening)
        m->price[arc] = m->load[arc] + m->weight > limit * (1 + ROUNDED) ? HUGE_VAL : 1;
    else
        m->price[arc] = exp2(STEEP * ((m->load[arc] + m->weight) / limit - 1)) * m->added[arc];
}

static void count_arcs(mover *m, const int *arcs, int length, int more)
{
    for (int i = 0; i < length; i++) {
        m->load[arcs[i]] += more * m->weight;
        set_price(m, arcs[i]);
    }
}

static void count(mover *m, size_t cell, int more)
{
    count_arcs(m, m->pool + m->path[cell], m->length[cell], more);
}

/* Room for the arcs of an edge, in its old place if that is long enough. */
static int make_room(mover *m, size_t cell, int length)
{
    if (length > m->room[cell]) {
        while (m->pool_capacity < m->pool_count + (size_t)length)
            if (!banyan_grow((void **)&m->pool, m->pool_capacity, &m->pool_capacity, sizeof(int)))
                return 0;
        m->path[cell] = m->pool_count;
        m->room[cell] = length;
        m->pool_count += (size_t)length;
    }
    m->length[cell] = length;
    return 1;
}

/* The tree is the current one now. */
static void take_up(mover *m, int tree)
{
    double weight = m->problem->weight ? m->problem->weight[tree] : 1;

    m->up = m->parent + cell_of(m, tree, 0);
    if (weight == m->weight)
        return;
    m->weight = weight;
    m->visits += m->graph->arc_count;
    for (int i = 0; i < m->graph->arc_count; i++) {
        m->added[i] = m->problem->weight ? 1 - exp2(-STEEP * weight / m->problem->limit[i]) : 1;
        set_price(m, i);
    }
}

static banyan_status take_trees(mover *m, const banyan_trees *trees, banyan_error *err)
{
    for (size_t i = 0; i < (size_t)m->tree_count * (size_t)m->node_count; i++)
        m->parent[i] = OUTSIDE;
    for (int t = 0; t < m->tree_count; t++) {
        take_up(m, t);
        m->parent[cell_of(m, t, m->problem->root[t])] = -1;
        for (size_t e = trees->first_edge[t]; e < banyan_trees_edges_end(trees, (size_t)t); e++) {
            const banyan_tree_edge *edge = &trees->edges[e];
            size_t cell = cell_of(m, t, is_towards(t) ? edge->src : edge->dst),
                   length = banyan_trees_arcs_end(trees, e) - edge->first_arc;

            m->parent[cell] = is_towards(t) ? edge->dst : edge->src;
            if (!make_room(m, cell, (int)length))
                return banyan_fail_memory(err);
            memcpy(m->pool + m->path[cell], trees->arcs + edge->first_arc, length * sizeof(int));
            count(m, cell, 1);
        }
    }
    return BANYAN_SUCCESS;
}

/* Levels, heights and order of the tree, unless they are known. */
static void survey(mover *m, int tree)
{
    const int *parent = m->parent + cell_of(m, tree, 0);
    int root = m->problem->root[tree], count = 0;

    if (m->surveyed == tree)
        return;
    m->surveyed = tree;
    for (int v = 0; v < m->node_count; v++)
        m->child[v] = -1;
    for (int v = 0; v < m->node_count; v++)
        if (parent[v] >= 0) {
            m->sibling[v] = m->child[parent[v]];
            m->child[parent[v]] = v;
        }
    m->level[root] = 0;
    for (int v = root;;) {
        m->first[v] = count++;
        m->height[v] = 0;
        if (m->child[v] >= 0) {
            m->level[m->child[v]] = m->level[v] + 1;
            v = m->child[v];
            continue;
        }
        for (;; v = parent[v]) {
            m->end[v] = count;
            if (v == root)
                return;
            if (m->height[v] + 1 > m->height[parent[v]])
                m->height[parent[v]] = m->height[v] + 1;
            if (m->sibling[v] >= 0)
                break;
        }
        m->level[m->sibling[v]] = m->level[v];
        v = m->sibling[v];
    }
}

static int is_in_tree(const mover *m, int v)
{
    return m->up[v] != OUTSIDE;
}

static int is_below_top(const mover *m, int v)
{
    return m->first[v] >= m->first[m->top] && m->first[v] < m->end[m->top];
}

/* Whether an end in the tree is better than the best so far: a cheaper one, or, where trees are made flatter,
 * a higher one. */
static int is_better_end(const mover *m, int w, double cost, int best, double best_cost)
{
    if (m->is_flattening && best >= 0 && m->level[w] != m->level[best])
        return m->level[w] < m->level[best];
    return cost < best_cost;
}

/* The ways over v's arcs come into question; *best is the best end so far, in a tree no deeper than most.
 * What is not in the tree forwards. */
static void relax(mover *m, int v, int towards, double so_far, int most, int *best, double *best_cost)
{
    const banyan_graph *graph = m->graph;
    const int *first = towards ? graph->out_first : graph->in_first,
              *arcs = towards ? graph->out_arc : graph->in_arc;

    m->visits += first[v + 1] - first[v];
    for (int i = first[v]; i < first[v + 1]; i++) {
        int arc = arcs[i], w = towards ? graph->arcs[arc].dst : graph->arcs[arc].src;
        double cost = so_far + m->price[arc];

        if (cost >= (m->is_flattening ? m->node_count : *best_cost))
            continue;
        if (is_in_tree(m, w)) {
            if ((m->only >= 0 ? w != m->only : m->level[w] > most || is_below_top(m, w)) ||
                !is_better_end(m, w, cost, *best, *best_cost))
                continue;
            *best = w;
            *best_cost = cost;
        } else {
            if (cost >= m->distance[w])
                continue;
            if (m->distance[w] == HUGE_VAL) {
                m->open[m->open_count++] = w;
                m->met[m->met_count++] = w;
            }
            m->distance[w] = cost;
        }
        m->via[w] = arc;
    }
}

/* The node to which v is best attached, at less than *cost, which it changes; -1: none. */
static int find_end(mover *m, int v, int towards, double *cost, int most)
{
    int best = -1;

    while (m->met_count)
        m->distance[m->met[--m->met_count]] = HUGE_VAL;
    m->open_count = 0;
    relax(m, v, towards, 0, most, &best, cost);
    while (m->open_count) {
        int next = 0, f;

        for (int i = 1; i < m->open_count; i++)
            next = m->distance[m->open[i]] < m->distance[m->open[next]] ? i : next;
        f = m->open[next];
        m->open[next] = m->open[--m->open_count];
        if (!m->is_flattening && m->distance[f] >= *cost)
            break;
        relax(m, f, towards, m->distance[f], most, &best, cost);
        m->distance[f] = 0; /* done: nothing is nearer */
    }
    return best;
}

/* The way that was found from the end to v, or back. */
static void take_way(mover *m, int towards, int v, int end)
{
    m->way_length = 0;
    for (int u = end; u != v; u = towards ? m->graph->arcs[m->via[u]].src : m->graph->arcs[m->via[u]].dst)
        m->way[m->way_length++] = m->via[u];
}

/* v is attached to the end now, by the way that was taken. */
static void attach(mover *m, int tree, int v, int end)
{
    size_t cell = cell_of(m, tree, v);

    if (!make_room(m, cell, m->way_length)) {
        m->failed = 1;
        return;
    }
    for (int i = 0; i < m->way_length; i++)
        m->pool[m->path[cell] + (size_t)(is_towards(tree) ? m->way_length - 1 - i : i)] = m->way[i];
    m->parent[cell] = end;
    m->surveyed = -1;
    count(m, cell, 1);
}

static double price_of(const mover *m, size_t cell)
{
    double sum = 0;

    for (int i = 0; i < m->length[cell]; i++)
        sum += m->price[m->pool[m->path[cell] + (size_t)i]];
    return sum;
}

/* A child w of v, with all below v, is attached elsewhere, and v to it. The edge above v is out
 * already. */
static int try_child(mover *m, int tree, int v, int w, int most)
{
    size_t cell = cell_of(m, tree, w);
    double old, back, cost;
    int end = -1, towards = is_towards(tree);

    count(m, cell, -1);
    old = (1 - BANYAN_MIN_MOVE_GAIN) * (price_of(m, cell_of(m, tree, v)) + price_of(m, cell));
    back = old;
    m->only = w;
    if (find_end(m, v, towards, &back, most) >= 0) {
        take_way(m, towards, v, w);
        m->only = -1;
        cost = old - back;
        count_arcs(m, m->way, m->way_length, 1);
        end = find_end(m, w, towards, &cost, most);
        count_arcs(m, m->way, m->way_length, -1);
    }
    m->only = -1;
    if (end < 0) {
        count(m, cell, 1);
        return 0;
    }
    attach(m, tree, v, w);
    take_way(m, towards, w, end);
    attach(m, tree, w, end);
    return 1;
}

/* The edge above v is taken out and remembered; returns what its price was. */
static double detach(mover *m, int tree, int v)
{
    size_t cell = cell_of(m, tree, v), begin = m->old_path[m->detached_count],
           end = begin + (size_t)m->length[cell];

    while (m->old_capacity < end)
        if (!banyan_grow((void **)&m->old_arcs, m->old_capacity, &m->old_capacity, sizeof(int))) {
            m->failed = 1;
            return 0;
        }
    memcpy(m->old_arcs + begin, m->pool + m->path[cell], (end - begin) * sizeof(int));
    m->detached[m->detached_count] = v;
    m->old_parent[m->detached_count++] = m->parent[cell];
    m->old_path[m->detached_count] = end;
    count(m, cell, -1);
    return price_of(m, cell);
}

/* As it was before, for that many of those that were taken out. */
static void put_back(mover *m, int tree, int attached)
{
    for (int i = 0; i < attached; i++)
        count(m, cell_of(m, tree, m->detached[i]), -1);
    for (int i = 0; i < m->detached_count; i++) {
        size_t cell = cell_of(m, tree, m->detached[i]), length = m->old_path[i + 1] - m->old_path[i];

        make_room(m, cell, (int)length); /* there is: it had as much */
        memcpy(m->pool + m->path[cell], m->old_arcs + m->old_path[i], length * sizeof(int));
        m->parent[cell] = m->old_parent[i];
        count(m, cell, 1);
    }
    m->surveyed = tree;
}

/* v and its child w change places. The edge above v is out already; it is back if that brings nothing. */
static int try_places(mover *m, int tree, int v, int w)
{
    int towards = is_towards(tree), attached = 0;
    double left;

    count(m, cell_of(m, tree, v), 1);
    m->detached_count = 0;
    left = detach(m, tree, w);
    left += detach(m, tree, v);
    for (int c = 0; c < m->node_count && !m->failed; c++)
        if (c != w && (m->parent[cell_of(m, tree, c)] == v || m->parent[cell_of(m, tree, c)] == w))
            left += detach(m, tree, c);
    left *= 1 - BANYAN_MIN_MOVE_GAIN;
    m->attempts += m->detached_count;
    for (; attached < m->detached_count && !m->failed; attached++) {
        int node = m->detached[attached], to = node == w                                   ? m->old_parent[1]
                                               : node == v || m->old_parent[attached] == v ? w
                                                                                           : v;
        double cost = left;

        m->only = to;
        if (find_end(m, node, towards, &cost, 0) < 0)
            break;
        take_way(m, towards, node, to);
        attach(m, tree, node, to);
        left -= cost;
    }
    m->only = -1;
    if (attached == m->detached_count && !m->failed)
        return 1;
    put_back(m, tree, attached);
    count(m, cell_of(m, tree, v), -1);
    return 0;
}

static int try_edge(mover *m, int tree, int v, int with_children)
{
    size_t cell = cell_of(m, tree, v);
    double cost;
    int end, moved, most;

    survey(m, tree);
    m->attempts++;
    m->top = v;
    most = m->problem->depth_limit - 1 - m->height[v];
    most = m->level[m->parent[cell]] > most ? m->level[m->parent[cell]] : most;
    count(m, cell, -1);
    cost = price_of(m, cell) * (1 - BANYAN_MIN_MOVE_GAIN);
    end = find_end(m, v, is_towards(tree), &cost, most);
    moved = end >= 0;
    if (moved) {
        take_way(m, is_towards(tree), v, end);
        attach(m, tree, v, end);
    }
    for (int w = 0; w < m->node_count && with_children && !moved; w++)
        if (m->parent[cell_of(m, tree, w)] == v)
            moved = try_child(m, tree, v, w, most - 1) || try_places(m, tree, v, w);
    if (!moved)
        count(m, cell, 1);
    return moved;
}

static int is_over(const mover *m, size_t cell, double share)
{
    for (int i = 0; i < m->length[cell]; i++) {
        int arc = m->pool[m->path[cell] + (size_t)i];

        if (m->load[arc] > share * m->problem->limit[arc])
            return 1;
    }
    return 0;
}

/* One round over all edges on arcs with more users than this share of the limit; how many moved. */
static int sweep(mover *m, double share, int with_children)
{
    int moved = 0;

    for (int t = 0; t < m->tree_count; t++) {
        take_up(m, t);
        for (int v = 0; v < m->node_count; v++) {
            size_t cell = cell_of(m, t, v);

            if (m->failed || m->attempts >= m->problem->attempt_limit)
                return 0;
            if (m->parent[cell] >= 0 && is_over(m, cell, share))
                moved += try_edge(m, t, v, with_children);
        }
    }
    return moved;
}

/* How near to the root a node is, at the nearest, over which an arc with room leads: nothing can be attached
 * higher. */
static int find_highest(mover *m, int tree)
{
    const int *first = is_towards(tree) ? m->graph->in_first : m->graph->out_first,
              *arcs = is_towards(tree) ? m->graph->in_arc : m->graph->out_arc;
    int highest = m->node_count;

    survey(m, tree);
    for (int v = 0; v < m->node_count; v++)
        for (int i = first[v]; is_in_tree(m, v) && m->level[v] < highest && i < first[v + 1]; i++)
            if (m->price[arcs[i]] < HUGE_VAL)
                highest = m->level[v];
    return highest;
}

/* The node is attached as near to the root as arcs have room. */
static int raise(mover *m, int tree, int v)
{
    size_t cell = cell_of(m, tree, v);
    double cost = m->node_count;
    int end;

    m->attempts++;
    m->top = v;
    count(m, cell, -1);
    end = find_end(m, v, is_towards(tree), &cost, m->level[m->parent[cell]] - 1);
    if (end >= 0) {
        take_way(m, is_towards(tree), v, end);
        attach(m, tree, v, end);
    } else {
        count(m, cell, 1);
    }
    return end >= 0;
}

/* One round over the tree's nodes; how many came nearer to the root. */
static int raise_tree(mover *m, int tree)
{
    int moved = 0, highest;

    take_up(m, tree);
    highest = find_highest(m, tree);
    for (int v = 0; v < m->node_count; v++) {
        int above = m->parent[cell_of(m, tree, v)];

        if (m->failed || m->attempts >= m->problem->attempt_limit)
            return 0;
        if (above < 0 || m->level[above] <= highest || !raise(m, tree, v))
            continue;
        moved++;
        highest = find_highest(m, tree);
    }
    return moved;
}

static void raise_all(mover *m)
{
    for (int t = 0; t < m->tree_count; t++)
        while (raise_tree(m, t))
            ;
}

static double find_fullest(const mover *m)
{
    double fullest = 0;

    for (int i = 0; i < m->graph->arc_count; i++)
        fullest = fmax(fullest, m->load[i] / m->problem->limit[i]);
    return fullest;
}

static void run(mover *m)
{
    int moved = 1;

    while (moved && find_fullest(m) > 1) {
        moved = sweep(m, 1, 0);
        if (!moved)
            moved = sweep(m, 1, 1);
        if (!moved)
            moved = sweep(m, NEARLY, 0);
        if (!moved)
            moved = sweep(m, NEARLY, 1);
    }
}

/* Idle nodes without children leave the trees. */
static void drop_idle_leaves(mover *m)
{
    for (int t = 0; t < m->tree_count; t++)
        for (int again = 1; again;) {
            int *parent = m->parent + cell_of(m, t, 0);

            again = 0;
            survey(m, t);
            for (int v = 0; v < m->node_count; v++)
                if (parent[v] >= 0 && m->child[v] < 0 && !(m->graph->role[v] & BANYAN_NODE_ACTIVE)) {
                    take_up(m, t);
                    count(m, cell_of(m, t, v), -1);
                    parent[v] = OUTSIDE;
                    m->surveyed = -1;
                    again = 1;
                }
        }
}

static banyan_status give_trees(const mover *m, banyan_trees *trees, banyan_error *err)
{
    banyan_trees better;

    banyan_trees_init(&better);
    for (int t = 0; t < m->tree_count; t++) {
        banyan_trees_begin(&better);
        for (int v = 0; v < m->node_count; v++) {
            size_t cell = cell_of(m, t, v);
            int above = m->parent[cell];

            if (above < 0)
                continue;
            banyan_trees_add_edge(&better, is_towards(t) ? v : above, is_towards(t) ? above : v);
            for (int k = 0; k < m->length[cell]; k++)
                banyan_trees_add_arc(&better, m->pool[m->path[cell] + (size_t)k]);
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
    mover m = {.graph = graph,
               .problem = problem,
               .node_count = graph->node_count,
               .tree_count = (int)trees->tree_count,
               .is_flattening = is_flattening,
               .surveyed = -1,
               .only = -1};
    banyan_status status = mover_init(&m, err);

    if (!status)
        status = take_trees(&m, trees, err);
    if (!status && is_flattening)
        raise_all(&m);
    else if (!status)
        run(&m);
    if (!status)
        drop_idle_leaves(&m);
    if (!status && m.failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = give_trees(&m, trees, err);
    banyan_work_add(BANYAN_WORK_TREE, m.visits + m.attempts * graph->node_count);
    if (!status)
        *fullest = find_fullest(&m);
    mover_fini(&m);
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
