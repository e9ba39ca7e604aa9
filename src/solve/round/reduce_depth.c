/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/reduce_depth.c: a node that is too low in tree A, with all below it, is attached to a higher
 * neighbour. The cable for that is taken from a tree B that uses it; B gets the cable that A no longer needs,
 * which must join B's two halves again.
 *
 *       A: x moves from p to b          B: loses b-x, gains p-x
 *
 *            r                               r
 *           / \                             / \
 *          b   o                           p   b
 *              |                               |  (removed)
 *              p                               x ... still joined, now by p-x
 *              |  (removed)
 *              x
 *
 * Accepted when the sum over both trees of how far nodes are below the limit falls. Greedy and
 * deterministic; every accepted swap lowers the sum, so it ends. */
#include "solve/round/reduce_depth.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/net/tolerance.h"

typedef struct {
    const banyan_graph *graph;
    int node_count, limit;
    size_t count, capacity;
    int *parent; /* [tree * node_count + v]; -1 at the root and for nodes outside */
    int *via;    /* the cable to the parent */
    int *depth;
    double *weight;      /* handed over in the end */
    long *excess;        /* per tree: sum over nodes of depth beyond the limit */
    double *room;        /* per cable */
    int swaps;           /* the current tree can swap edges with others */
    long *tried, search; /* per node: the search that it was last tried to move in */
    int *stack, *child_first, *child_next, *new_depth, *new_parent, *new_via;
    int failed;
    banyan_scratch memory;
} pool;

static banyan_status pool_init(pool *p, const banyan_graph *graph, size_t capacity, int limit,
                               banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count, cells = capacity * nodes;

    *p = (pool){.graph = graph, .node_count = graph->node_count, .limit = limit, .capacity = capacity};
    p->parent = banyan_scratch_take(&p->memory, cells, sizeof(int));
    p->via = banyan_scratch_take(&p->memory, cells, sizeof(int));
    p->depth = banyan_scratch_take(&p->memory, cells, sizeof(int));
    p->weight = banyan_alloc(capacity, sizeof(double));
    p->excess = banyan_scratch_take(&p->memory, capacity, sizeof(long));
    p->room = banyan_scratch_take(&p->memory, (size_t)graph->arc_count, sizeof(double));
    p->tried = banyan_scratch_take(&p->memory, nodes, sizeof(long));
    p->stack = banyan_scratch_take(&p->memory, nodes, sizeof(int));
    p->child_first = banyan_scratch_take(&p->memory, nodes, sizeof(int));
    p->child_next = banyan_scratch_take(&p->memory, nodes, sizeof(int));
    p->new_depth = banyan_scratch_take(&p->memory, nodes, sizeof(int));
    p->new_parent = banyan_scratch_take(&p->memory, nodes, sizeof(int));
    p->new_via = banyan_scratch_take(&p->memory, nodes, sizeof(int));
    return p->weight ? banyan_scratch_check(&p->memory, err) : banyan_fail_memory(err);
}

static int *row(int *array, const pool *p, size_t tree)
{
    return array + tree * (size_t)p->node_count;
}

/* Children lists of a tree, from its parents. Returns the root. */
static int list_children(pool *p, const int *parent, const int *depth)
{
    int root = -1;

    for (int v = 0; v < p->node_count; v++)
        p->child_first[v] = -1;
    for (int v = p->node_count - 1; v >= 0; v--) {
        if (parent[v] >= 0) {
            p->child_next[v] = p->child_first[parent[v]];
            p->child_first[parent[v]] = v;
        } else if (depth[v] == 0) {
            root = v;
        }
    }
    return root;
}

/* Depths from the parents; returns the excess. */
static long measure(pool *p, const int *parent, int *depth)
{
    int root = list_children(p, parent, depth), count = 0;
    long excess = 0;

    p->stack[count++] = root;
    while (count) {
        int v = p->stack[--count];

        depth[v] = v == root ? 0 : depth[parent[v]] + 1;
        excess += depth[v] > p->limit ? depth[v] - p->limit : 0;
        for (int c = p->child_first[v]; c >= 0; c = p->child_next[c])
            p->stack[count++] = c;
    }
    return excess;
}

static int is_below(const int *parent, int v, int top)
{
    while (v >= 0 && v != top)
        v = parent[v];
    return v == top;
}

/* Attaches v's part of the tree to b by cable: turns round the parents from v up to top, which loses its
 * parent. */
static void attach(int *parent, int *via, int v, int top, int b, int cable)
{
    int above = b, above_via = cable;

    for (;;) {
        int next = parent[v], next_via = via[v];

        parent[v] = above;
        via[v] = above_via;
        if (v == top)
            return;
        above = v;
        above_via = next_via;
        v = next;
    }
}

/* Tries tree b without the cable between x and its end, with the freed one between p and x; 1 and the outcome
 * in new_parent, new_via, new_depth when it is a tree and good enough. */
static int try_partner(pool *p, size_t partner, int cable, int freed, long gain, long *excess)
{
    size_t bytes = (size_t)p->node_count * sizeof(int);
    const int *parent = row(p->parent, p, partner), *via = row(p->via, p, partner);
    const banyan_arc *out = &p->graph->arcs[cable], *in = &p->graph->arcs[freed];
    int top = via[out->src] == cable && parent[out->src] >= 0 ? out->src : out->dst, inner, outer;

    if ((parent[in->src] >= 0 && via[in->src] == freed) || (parent[in->dst] >= 0 && via[in->dst] == freed))
        return 0; /* it has the freed cable already */
    inner = is_below(parent, in->src, top) ? in->src : in->dst;
    outer = inner == in->src ? in->dst : in->src;
    if (!is_below(parent, inner, top) || is_below(parent, outer, top))
        return 0;
    memcpy(p->new_parent, parent, bytes);
    memcpy(p->new_via, via, bytes);
    memcpy(p->new_depth, row(p->depth, p, partner), bytes);
    attach(p->new_parent, p->new_via, inner, top, outer, freed);
    *excess = measure(p, p->new_parent, p->new_depth);
    return *excess - p->excess[partner] < gain;
}

static int uses(const pool *p, size_t tree, int cable)
{
    const banyan_arc *arc = &p->graph->arcs[cable];
    const int *parent = p->parent + tree * (size_t)p->node_count,
              *via = p->via + tree * (size_t)p->node_count;

    return (parent[arc->src] >= 0 && via[arc->src] == cable) ||
           (parent[arc->dst] >= 0 && via[arc->dst] == cable);
}

/* A copy of the tree that takes part of its weight. */
static size_t split(pool *p, size_t tree, double weight)
{
    size_t made = p->count++, bytes = (size_t)p->node_count * sizeof(int);

    memcpy(row(p->parent, p, made), row(p->parent, p, tree), bytes);
    memcpy(row(p->via, p, made), row(p->via, p, tree), bytes);
    memcpy(row(p->depth, p, made), row(p->depth, p, tree), bytes);
    p->excess[made] = p->excess[tree];
    p->weight[made] = weight;
    p->weight[tree] -= weight;
    return made;
}

/* How much less tree a is too low when x goes to b: all below x rise equally. */
static long gain_of(pool *p, size_t a, int x, int rise)
{
    const int *depth = row(p->depth, p, a);
    long gain = 0;
    int count = 0;

    list_children(p, row(p->parent, p, a), depth);
    p->stack[count++] = x;
    while (count) {
        int v = p->stack[--count], over = depth[v] - p->limit;

        gain += over <= 0 ? 0 : over < rise ? over : rise;
        for (int c = p->child_first[v]; c >= 0; c = p->child_next[c])
            p->stack[count++] = c;
    }
    return gain;
}

static void move(pool *p, size_t a, int x, int b, int cable)
{
    row(p->parent, p, a)[x] = b;
    row(p->via, p, a)[x] = cable;
    p->excess[a] = measure(p, row(p->parent, p, a), row(p->depth, p, a));
}

/* Finds a tree that gives the cable for the one freed. */
static int swap_with_some(pool *p, size_t a, int x, int b, int cable, long gain)
{
    int freed = row(p->via, p, a)[x];

    for (size_t partner = 0; partner < p->count; partner++) {
        double least = p->weight[a] < p->weight[partner] ? p->weight[a] : p->weight[partner];
        int equal = fabs(p->weight[a] - p->weight[partner]) < BANYAN_SAME;
        size_t giver = partner, taker = a;
        long excess;

        if (partner == a || (!equal && p->count == p->capacity) || !uses(p, partner, cable) ||
            !try_partner(p, partner, cable, freed, gain, &excess))
            continue;
        if (!equal && p->weight[partner] > least)
            giver = split(p, partner, least);
        else if (!equal)
            taker = split(p, a, least);
        memcpy(row(p->parent, p, giver), p->new_parent, (size_t)p->node_count * sizeof(int));
        memcpy(row(p->via, p, giver), p->new_via, (size_t)p->node_count * sizeof(int));
        memcpy(row(p->depth, p, giver), p->new_depth, (size_t)p->node_count * sizeof(int));
        p->excess[giver] = excess;
        move(p, taker, x, b, cable);
        return 1;
    }
    return 0;
}

/* Whether the tree can give an edge for another tree's: one of its own weight, or else a part of one of them
 * becomes a tree. */
static int can_swap(const pool *p, size_t a)
{
    if (p->count < p->capacity)
        return 1;
    for (size_t t = 0; t < p->count; t++)
        if (t != a && fabs(p->weight[t] - p->weight[a]) < BANYAN_SAME)
            return 1;
    return 0;
}

static int improve_at(pool *p, size_t a, int x)
{
    const banyan_graph *graph = p->graph;
    const int *parent = row(p->parent, p, a), *depth = row(p->depth, p, a);

    for (int i = graph->out_first[x]; i < graph->out_first[x + 1]; i++) {
        int cable = banyan_graph_cable(graph, graph->out_arc[i]), b = graph->arcs[graph->out_arc[i]].dst;
        int rise = depth[x] - depth[b] - 1, freed = row(p->via, p, a)[x];
        long gain;

        if (rise <= 0 || b == parent[x] || (!p->swaps && p->room[cable] < p->weight[a] - BANYAN_SAME) ||
            is_below(parent, b, x))
            continue;
        gain = gain_of(p, a, x, rise);
        if (gain <= 0)
            continue;
        if (p->room[cable] >= p->weight[a] - BANYAN_SAME) {
            p->room[cable] -= p->weight[a];
            p->room[freed] += p->weight[a];
            move(p, a, x, b, cable);
            return 1;
        }
        if (swap_with_some(p, a, x, b, cable, gain))
            return 1;
    }
    return 0;
}

/* Any node above one that is too low may be the one to move. */
static int improve_tree(pool *p, size_t a)
{
    p->swaps = can_swap(p, a);
    p->search++;
    for (int v = 0; v < p->node_count; v++) {
        if (row(p->parent, p, a)[v] < 0 || row(p->depth, p, a)[v] <= p->limit)
            continue;
        for (int x = v; row(p->parent, p, a)[x] >= 0 && p->tried[x] < p->search;
             x = row(p->parent, p, a)[x]) {
            if (improve_at(p, a, x))
                return 1;
            p->tried[x] = p->search;
        }
    }
    return 0;
}

/* Parents by a walk from the root over the tree's edges. */
static void take_tree(pool *p, const banyan_trees *trees, size_t tree, int root)
{
    size_t first = trees->first_edge[tree], end = banyan_trees_edges_end(trees, tree);
    int *parent = row(p->parent, p, tree), *via = row(p->via, p, tree), *depth = row(p->depth, p, tree),
        found = 1;

    for (int v = 0; v < p->node_count; v++)
        parent[v] = depth[v] = -1;
    depth[root] = 0;
    while (found) {
        found = 0;
        for (size_t e = first; e < end; e++) {
            int a = trees->edges[e].src, b = trees->edges[e].dst;

            if ((depth[a] >= 0) == (depth[b] >= 0))
                continue;
            if (depth[b] >= 0) {
                int swap = a;

                a = b;
                b = swap;
            }
            parent[b] = a;
            depth[b] = depth[a] + 1;
            via[b] = banyan_graph_cable(p->graph, trees->arcs[trees->edges[e].first_arc]);
            found = 1;
        }
    }
}

static int deepest(const pool *p, size_t tree)
{
    const int *depth = p->depth + tree * (size_t)p->node_count;
    int at = 0;

    for (int v = 0; v < p->node_count; v++)
        if (depth[v] > depth[at])
            at = v;
    return at;
}

/* Rooted at the middle of a longest path. */
static void take_centred(pool *p, const banyan_trees *trees, size_t tree)
{
    int end, half;

    take_tree(p, trees, tree, trees->edges[trees->first_edge[tree]].src);
    take_tree(p, trees, tree, deepest(p, tree));
    end = deepest(p, tree);
    for (half = row(p->depth, p, tree)[end] / 2; half > 0; half--)
        end = row(p->parent, p, tree)[end];
    take_tree(p, trees, tree, end);
    p->excess[tree] = measure(p, row(p->parent, p, tree), row(p->depth, p, tree));
}

static void give_trees(const pool *p, banyan_trees *out)
{
    for (size_t t = 0; t < p->count; t++) {
        const int *parent = p->parent + t * (size_t)p->node_count, *via = p->via + t * (size_t)p->node_count;

        banyan_trees_begin(out);
        for (int v = 0; v < p->node_count; v++)
            if (parent[v] >= 0) {
                int arc = via[v];

                if (p->graph->arcs[arc].src != parent[v])
                    arc = p->graph->arcs[arc].twin;
                banyan_trees_add_edge(out, parent[v], v);
                banyan_trees_add_arc(out, arc);
            }
    }
}

/* Hops from the node to the farthest one. */
static int eccentricity(const banyan_graph *graph, int from, int *level, int *queue)
{
    int count = 1;

    for (int v = 0; v < graph->node_count; v++)
        level[v] = -1;
    level[from] = 0;
    queue[0] = from;
    for (int i = 0; i < count; i++)
        for (int j = graph->out_first[queue[i]]; j < graph->out_first[queue[i] + 1]; j++) {
            int w = graph->arcs[graph->out_arc[j]].dst;

            if (level[w] < 0) {
                level[w] = level[queue[i]] + 1;
                queue[count++] = w;
            }
        }
    return level[queue[count - 1]];
}

/* Hops to the farthest node from where that is least. */
static banyan_status find_radius(const banyan_graph *graph, int *out, banyan_error *err)
{
    int *level = banyan_alloc((size_t)graph->node_count, sizeof *level);
    int *queue = banyan_alloc((size_t)graph->node_count, sizeof *queue);
    banyan_status status = level && queue ? BANYAN_SUCCESS : banyan_fail_memory(err);

    *out = graph->node_count;
    for (int i = 0; !status && i < graph->active_count; i++) {
        int far = eccentricity(graph, graph->active[i], level, queue);

        *out = far < *out ? far : *out;
    }
    banyan_free(level);
    banyan_free(queue);
    return status;
}

banyan_status banyan_reduce_depth(const banyan_graph *graph, banyan_trees *trees, double **weight,
                                  size_t tree_limit, banyan_error *err)
{
    pool p = {0};
    banyan_trees flat;
    int radius;
    banyan_status status = find_radius(graph, &radius, err);

    banyan_trees_init(&flat);
    if (!status)
        status = pool_init(&p, graph, tree_limit > trees->tree_count ? tree_limit : trees->tree_count,
                           radius + 1, err);
    if (status)
        goto out;
    for (int i = 0; i < graph->arc_count; i++)
        p.room[i] = (double)graph->arcs[i].capacity;
    for (size_t t = 0; t < trees->tree_count; t++, p.count++) {
        p.weight[t] = (*weight)[t];
        take_centred(&p, trees, t);
        for (int v = 0; v < p.node_count; v++)
            if (row(p.parent, &p, t)[v] >= 0)
                p.room[row(p.via, &p, t)[v]] -= p.weight[t];
    }
    for (int moved = 1, passes = 0; moved && passes < 200; passes++) {
        moved = 0;
        for (size_t t = 0; t < p.count; t++)
            while (p.excess[t] > 0 && improve_tree(&p, t))
                moved = 1;
    }
    give_trees(&p, &flat);
    if (flat.failed) {
        status = banyan_fail_memory(err);
        goto out;
    }
    banyan_trees_fini(trees);
    *trees = flat;
    banyan_trees_init(&flat);
    banyan_free(*weight);
    *weight = p.weight;
    p.weight = NULL;
out:
    banyan_trees_fini(&flat);
    banyan_free(p.weight);
    banyan_scratch_free(&p.memory);
    return status;
}
