/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/grown_pairs.c: pairs of trees one after the other, of one weight or each a little lighter than
 * the one before, under two prices: those of the proof, which say which trees are good, and congestion, which
 * rises exponentially with the load of an arc.
 *
 *      root ── a ── [s] ── c       A tree grows from its root (Takahashi and Matsuyama 1980): the active node
 *        |                         that is cheapest to reach from any node of the tree joins it, over nodes
 *        b                         that only forward ([s]) or that become part of the tree. Every arc that
 *                                  is used gets more expensive at once, so that children are shared out;
 *                                  every hop from the root costs something, so that trees are shallow.
 *
 * In-trees grow the same way against the arcs' directions. Cost: a shortest-path search a tree; where nodes
 * forward, one for each node that joins, as the arcs of a way get more expensive for all ways that share
 * them. */
#include "solve/start/grown_pairs.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/heap.h"
#include "core/scratch.h"
#include "solve/net/tolerance.h"
#include "solve/net/work.h"
#include "solve/start/pair_tools.h"

#define FLOOR 0.1 /* of a full arc's congestion, for every arc */
#define FALL 0.97 /* of a pair's weight is the next one's: weights of many sizes fill links better */
#define STEEP 12  /* doublings of the price between an empty arc and a full one */
/* load of an arc in multiples of its capacity up to which the price grows: prices stay finite */
#define MAX_LOAD 3
#define PROOF 0.5 /* share of the proof's prices */
#define HOP 3     /* of the mean price of an arc, for every hop from the root: trees shall be shallow */

typedef struct {
    const banyan_graph *graph;
    const banyan_grown_pairs_problem *problem;
    double worth;         /* of all arcs under the proof's prices */
    double scale;         /* of congestion, so that both sorts of prices weigh the same in all */
    double hop;           /* price of a hop from the root, */
    double level_hop;     /* or one that outweighs any way, so that trees grow level by level */
    double *load, *price; /* per arc */
    double *before;       /* per arc: prices when the pair began */
    double *cost;         /* per node: of the cheapest way from the tree */
    int *via, *depth;     /* per node: the last arc of that way; hops in the tree, -1: not in it */
    int *hops;            /* per node: how deep it would be in the tree */
    unsigned char *is_settled;
    double done, all;    /* weight of the pairs so far, and of all that there will be */
    double roots;        /* what all nodes should sum */
    double *needed;      /* per arc: what pairs bring in any case, as far as its ends tell */
    double *rooted;      /* per node: weight of pairs that have their root there */
    double *used;        /* per node: of its links, in and out together */
    banyan_heap reached; /* nodes outside the tree, by the cost of their way */
    double *weight;      /* per pair */
    int *root;           /* per tree */
    int *way;            /* arcs */
    int depth_limit;
    int64_t visits;         /* of arcs */
    unsigned char *is_near; /* per node: all active nodes are within the depth limit */
    banyan_trees trees;
    banyan_scratch memory;
} grower;

static void grower_fini(grower *g)
{
    banyan_trees_fini(&g->trees);
    banyan_scratch_free(&g->memory);
    banyan_heap_fini(&g->reached);
    banyan_free(g->root);
}

/* In each pair every active node but the root sends once, and receives once: by an arc what its others have
 * no room for. */
static void find_needed(grower *g)
{
    const banyan_graph *graph = g->graph;

    for (int v = 0; v < graph->node_count; v++)
        for (int is_out = 0; is_out < 2 && (graph->role[v] & BANYAN_NODE_ACTIVE); is_out++) {
            const int *first = is_out ? graph->out_first : graph->in_first,
                      *arcs = is_out ? graph->out_arc : graph->in_arc;
            double width = (double)banyan_graph_width(graph, v, is_out);

            for (int j = first[v]; j < first[v + 1]; j++)
                g->needed[arcs[j]] += fmax(0, g->all - (width - (double)graph->arcs[arcs[j]].capacity));
        }
}

static banyan_status grower_init(grower *g, banyan_error *err)
{
    size_t arcs = (size_t)g->graph->arc_count, nodes = (size_t)g->graph->node_count,
           pairs = (size_t)g->problem->pair_limit;

    banyan_trees_init(&g->trees);
    g->load = banyan_scratch_take(&g->memory, arcs, sizeof *g->load);
    g->needed = banyan_scratch_take(&g->memory, arcs, sizeof *g->needed);
    g->price = banyan_scratch_take(&g->memory, arcs, sizeof *g->price);
    g->before = banyan_scratch_take(&g->memory, arcs, sizeof *g->before);
    g->cost = banyan_scratch_take(&g->memory, nodes, sizeof *g->cost);
    g->via = banyan_scratch_take(&g->memory, nodes, sizeof *g->via);
    g->depth = banyan_scratch_take(&g->memory, nodes, sizeof *g->depth);
    g->hops = banyan_scratch_take(&g->memory, nodes, sizeof *g->hops);
    g->is_settled = banyan_scratch_take(&g->memory, nodes, 1);
    g->weight = banyan_scratch_take(&g->memory, pairs, sizeof *g->weight);
    g->root = banyan_alloc(2 * pairs, sizeof *g->root);
    g->way = banyan_scratch_take(&g->memory, nodes, sizeof *g->way);
    g->is_near = banyan_scratch_take(&g->memory, nodes, 1);
    g->rooted = banyan_scratch_take(&g->memory, nodes, sizeof *g->rooted);
    g->used = banyan_scratch_take(&g->memory, nodes, sizeof *g->used);
    if (g->memory.failed || !g->root)
        return banyan_fail_memory(err);
    for (size_t v = 0; v < nodes; v++)
        g->roots += g->problem->root[v];
    for (size_t i = 0; i < arcs; i++)
        g->worth += (double)g->problem->price[i] * (double)g->graph->arcs[i].capacity;
    if (g->problem->keeps_room)
        find_needed(g);
    return BANYAN_SUCCESS;
}

static double congestion(const grower *g, int arc, double weight)
{
    double capacity = (double)g->graph->arcs[arc].capacity, left = 1 - g->done / g->all,
           full = (g->load[arc] + weight + left * g->needed[arc]) / capacity;

    return (FLOOR + exp2(STEEP * (fmin(full, MAX_LOAD) - 1))) / capacity;
}

static void set_price(grower *g, int arc, double congestion)
{
    g->price[arc] = PROOF * (double)g->problem->price[arc] / g->worth + (1 - PROOF) * congestion / g->scale;
}

static void set_prices(grower *g, double weight)
{
    double sum = 0;

    g->scale = 0;
    for (int i = 0; i < g->graph->arc_count; i++) {
        g->price[i] = congestion(g, i, weight);
        g->scale += g->price[i] * (double)g->graph->arcs[i].capacity;
    }
    for (int i = 0; i < g->graph->arc_count; i++) {
        set_price(g, i, g->price[i]);
        sum += g->price[i];
    }
    g->hop = HOP * sum / g->graph->arc_count;
    g->level_hop = sum * g->graph->node_count;
}

static int can_branch(const grower *g, int v, int is_out)
{
    return g->graph->role[v] & (is_out ? BANYAN_NODE_COPIES : BANYAN_NODE_ADDS);
}

static int far_end(const grower *g, int arc, int is_out)
{
    return is_out ? g->graph->arcs[arc].dst : g->graph->arcs[arc].src;
}

static int near_end(const grower *g, int arc, int is_out)
{
    return far_end(g, arc, !is_out);
}

/* Ways over the arcs of a node that is reached at that cost, to nodes that are not in the tree. */
static void relax(grower *g, int v, double cost, int hops, int is_out)
{
    const int *first = is_out ? g->graph->out_first : g->graph->in_first,
              *list = is_out ? g->graph->out_arc : g->graph->in_arc;

    g->visits += first[v + 1] - first[v];
    for (int j = first[v]; j < first[v + 1]; j++) {
        int to = far_end(g, list[j], is_out), more = can_branch(g, to, is_out) != 0;
        double with = cost + g->price[list[j]] + more * g->hop;

        if (g->depth[to] >= 0 || g->is_settled[to] || with >= g->cost[to] ||
            (g->depth_limit && hops + more > g->depth_limit))
            continue;
        g->cost[to] = with;
        g->hops[to] = hops + more;
        g->via[to] = list[j];
        g->trees.failed |= !banyan_heap_push(&g->reached, with, to);
    }
}

static void offer(grower *g, int v, int is_out)
{
    if (!g->depth_limit || g->depth[v] < g->depth_limit) /* else it would hide others at nodes that forward */
        relax(g, v, g->hop * g->depth[v], g->depth[v], is_out);
}

/* All ways anew, from every node of the tree. */
static void restart(grower *g, int is_out)
{
    g->reached.count = 0;
    for (int v = 0; v < g->graph->node_count; v++) {
        g->cost[v] = HUGE_VAL;
        g->is_settled[v] = 0;
    }
    for (int v = 0; v < g->graph->node_count; v++)
        if (g->depth[v] >= 0)
            offer(g, v, is_out);
}

/* The nearest active node outside the tree, or -1. */
static int find_nearest(grower *g, int is_out)
{
    while (g->reached.count) {
        banyan_heap_item next = banyan_heap_pop(&g->reached);

        if (g->depth[next.number] >= 0 || g->is_settled[next.number] || next.key > g->cost[next.number])
            continue;
        if (g->graph->role[next.number] & BANYAN_NODE_ACTIVE)
            return next.number;
        g->is_settled[next.number] = 1;
        relax(g, next.number, next.key, g->hops[next.number], is_out);
    }
    return -1;
}

static void add_load(grower *g, int arc, double weight)
{
    g->load[arc] += weight;
    g->used[g->graph->arcs[arc].src] += weight;
    g->used[g->graph->arcs[arc].dst] += weight;
}

static void use_arc(grower *g, int arc, double weight)
{
    banyan_trees_add_arc(&g->trees, arc);
    add_load(g, arc, weight);
    if (weight > 0)
        set_price(g, arc, congestion(g, arc, weight));
}

/* An edge of the tree: the arcs way[begin .. end), of which the first is at the tree. */
static void add_edge(grower *g, int begin, int end, double weight, int is_out)
{
    int from = near_end(g, g->way[begin], is_out), to = far_end(g, g->way[end - 1], is_out);

    banyan_trees_add_edge(&g->trees, is_out ? from : to, is_out ? to : from);
    for (int i = begin; i < end; i++)
        use_arc(g, g->way[is_out ? i : end - 1 - (i - begin)], weight);
    g->depth[to] = g->depth[from] + 1;
}

/* The way to the node becomes edges. Returns whether it passed nodes that only forward: then other ways may
 * share its arcs. */
static int join(grower *g, int node, double weight, int is_out)
{
    int length = 0, begin = 0, forwards = 0;

    for (int v = node; g->depth[v] < 0; v = near_end(g, g->via[v], is_out))
        g->way[length++] = g->via[v];
    for (int i = 0; i < length / 2; i++) {
        int arc = g->way[i];

        g->way[i] = g->way[length - 1 - i];
        g->way[length - 1 - i] = arc;
    }
    for (int i = 0; i < length; i++) {
        int v = far_end(g, g->way[i], is_out);

        if (!can_branch(g, v, is_out)) {
            forwards = 1;
            continue;
        }
        add_edge(g, begin, i + 1, weight, is_out);
        begin = i + 1;
        if (!forwards)
            offer(g, v, is_out);
    }
    return forwards;
}

/* 0: not all active nodes were reached. */
static int grow(grower *g, int root, double weight, int is_out)
{
    int left = g->graph->active_count - !!(g->graph->role[root] & BANYAN_NODE_ACTIVE);

    for (int v = 0; v < g->graph->node_count; v++)
        g->depth[v] = v == root ? 0 : -1;
    banyan_trees_begin(&g->trees);
    if (g->trees.failed)
        return 0;
    restart(g, is_out);
    for (; left > 0; left--) {
        int node = find_nearest(g, is_out);

        if (node < 0 || g->trees.failed)
            return 0;
        if (join(g, node, weight, is_out))
            restart(g, is_out);
    }
    return !g->trees.failed;
}

static void drop_tree(grower *g, double weight)
{
    for (size_t a = banyan_trees_arcs_begin(&g->trees, g->trees.tree_count - 1); a < g->trees.arc_count; a++)
        add_load(g, g->trees.arcs[a], -weight);
    banyan_trees_drop_last(&g->trees);
}

/* What is cheap may lie so deep that not all find a place: then the tree grows level by level. */
static banyan_status grow_tree(grower *g, int root, double weight, int is_out, banyan_error *err)
{
    double hop = g->hop;
    int is_grown = grow(g, root, weight, is_out);

    if (!is_grown && g->depth_limit && !g->trees.failed) {
        drop_tree(g, weight);
        g->hop = g->level_hop;
        is_grown = grow(g, root, weight, is_out);
        g->hop = hop;
    }
    if (g->trees.failed)
        return banyan_fail_memory(err);
    if (!is_grown && g->depth_limit)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no tree of depth %d was found", g->depth_limit);
    return is_grown ? BANYAN_SUCCESS
                    : banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
}

/* Hops from the node to the farthest active one, of a tree without weight where only hops count; or as many
 * as there are nodes. */
static int measure_reach(grower *g, int root, int is_out)
{
    int far = 0;

    for (int i = 0; i < g->graph->arc_count; i++)
        g->price[i] = 0;
    g->hop = 1;
    g->depth_limit = 0;
    if (!grow(g, root, 0, is_out))
        far = g->graph->node_count;
    for (int i = 0; i < g->graph->active_count; i++)
        far = g->depth[g->graph->active[i]] > far ? g->depth[g->graph->active[i]] : far;
    if (!g->trees.failed)
        drop_tree(g, 0);
    return far;
}

/* Roots that the depth limit allows; where it allows none, it is raised to what the best one needs. */
static banyan_status find_near_roots(grower *g, banyan_error *err)
{
    int nodes = g->graph->node_count, least = nodes;
    int *reach = banyan_alloc((size_t)nodes, sizeof *reach);

    if (!reach)
        return banyan_fail_memory(err);
    for (int v = 0; v < nodes && !g->trees.failed; v++) {
        reach[v] = nodes;
        if (g->problem->depth_limit && can_branch(g, v, 0) && can_branch(g, v, 1)) {
            int in = measure_reach(g, v, 0), out = measure_reach(g, v, 1);

            reach[v] = in > out ? in : out;
            if (g->graph->role[v] & BANYAN_NODE_ACTIVE)
                least = reach[v] < least ? reach[v] : least;
        }
    }
    g->depth_limit = g->problem->depth_limit;
    if (g->depth_limit && g->depth_limit < least)
        g->depth_limit = least;
    for (int v = 0; v < nodes; v++)
        g->is_near[v] = !g->depth_limit || reach[v] <= g->depth_limit;
    banyan_free(reach);
    return g->trees.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

/* The share of its links that is used. */
static double fullness(const grower *g, int v)
{
    return g->used[v] / (double)(banyan_graph_width(g->graph, v, 0) + banyan_graph_width(g->graph, v, 1));
}

static int may_be_root(const grower *g, int v)
{
    return can_branch(g, v, 0) && can_branch(g, v, 1) && banyan_graph_is_joined(g->graph, v) && g->is_near[v];
}

/* Where most is missing of what should be summed there by now. Symmetric links: nobody has said how much that
 * is, so where links are least used. */
static int choose_root(const grower *g)
{
    double most = -HUGE_VAL;
    int best = -1;

    for (int v = 0; v < g->graph->node_count; v++) {
        double lag;

        if (!may_be_root(g, v) ||
            !(g->graph->role[v] & BANYAN_NODE_ACTIVE || (g->problem->root[v] > 0 && !g->graph->symmetric)))
            continue;
        lag = g->graph->symmetric ? -fullness(g, v) : g->problem->root[v] / g->roots * g->done - g->rooted[v];
        if (lag > most + BANYAN_SAME) {
            most = lag;
            best = v;
        }
    }
    return best;
}

/* Symmetric links: nobody has said how much idle nodes should sum. The one whose links are least used, or
 * -1. */
static int choose_idle_root(const grower *g)
{
    double least = HUGE_VAL;
    int best = -1;

    for (int v = 0; g->graph->symmetric && v < g->graph->node_count; v++)
        if (!(g->graph->role[v] & BANYAN_NODE_ACTIVE) && may_be_root(g, v)) {
            double full = fullness(g, v);

            if (full < least - BANYAN_SAME) {
                least = full;
                best = v;
            }
        }
    return best;
}

/* Both trees of a root; *cost: what they cost under the prices before. */
static banyan_status grow_pair(grower *g, int root, double weight, double *cost, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    g->rooted[root] += weight;
    set_prices(g, weight);
    memcpy(g->before, g->price, (size_t)g->graph->arc_count * sizeof *g->price);
    *cost = 0;
    for (int is_out = 0; !status && is_out < 2; is_out++) {
        size_t tree = g->trees.tree_count;

        g->root[tree] = root;
        status = grow_tree(g, root, weight, is_out, err);
        for (size_t a = status ? g->trees.arc_count : banyan_trees_arcs_begin(&g->trees, tree);
             a < g->trees.arc_count; a++)
            *cost += g->before[g->trees.arcs[a]];
    }
    return status;
}

static void drop_pair(grower *g, double weight)
{
    g->rooted[g->root[g->trees.tree_count - 1]] -= weight;
    drop_tree(g, weight);
    drop_tree(g, weight);
}

/* Where idle nodes may be roots the cheaper of two pairs is kept. */
static banyan_status add_pair(grower *g, int pair, banyan_error *err)
{
    double weight = g->weight[pair], cost, other_cost;
    int root, other;
    banyan_status status;

    g->done += weight;
    root = choose_root(g);
    other = choose_idle_root(g);
    status = grow_pair(g, root, weight, &cost, err);
    if (status || other < 0)
        return status;
    drop_pair(g, weight);
    status = grow_pair(g, other, weight, &other_cost, err);
    if (status || other_cost <= cost)
        return status;
    drop_pair(g, weight);
    return grow_pair(g, root, weight, &cost, err);
}

static int is_over(const grower *g)
{
    return g->problem->visit_limit && g->visits > g->problem->visit_limit;
}

banyan_status banyan_grown_pairs_find(const banyan_graph *graph, const banyan_grown_pairs_problem *problem,
                                      banyan_pair_packing *packing, banyan_error *err)
{
    grower g = {.graph = graph, .problem = problem, .all = packing->bound_value};
    banyan_status status = grower_init(&g, err);
    double sum = 0;

    if (!status)
        status = find_near_roots(&g, err);
    for (int k = 0; !status && k < problem->pair_limit; k++)
        sum += g.weight[k] = problem->are_equal ? 1 : pow(FALL, k);
    for (int k = 0; !status && k < problem->pair_limit && (!k || !is_over(&g)); k++) {
        g.weight[k] *= packing->bound_value / sum;
        status = add_pair(&g, k, err);
    }
    banyan_work_add(BANYAN_WORK_TREE, g.visits);
    if (!status)
        status = banyan_pair_tools_hand_over(packing, &g.trees, &g.root, g.weight, err);
    grower_fini(&g);
    return status;
}
