/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/contract.c: some cables limit nothing: they are wider than anything could use
 * (solve/presolve/contract_wide.h), or have no price in the bound. Nodes that these join are one node; pairs
 * of trees are packed in that smaller network, and then laid into this one.
 *
 *      g0 g1   g2 g3                               An edge of the smaller network's tree keeps its arcs,
 *       \ /     \ /                                and begins and ends at the nearest worker inside, by
 *        h0      h1        (01) --- net --- (23)   wide cables that bear least so far. Inside a node, all
 *          \    /                                  active workers and all such ends belong to the one where
 *                                                  the tree leaves it (in-tree) or comes in (out-tree), or
 *                                                  on the root. */
#include <math.h>
#include <string.h>

#include "algorithms/forest/pack.h"
#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/start/pair_tools.h"

#define STEP 64.0 /* price of an arc that bears little */
#define BUSY 0.8  /* share of its capacity from which on an arc's price grows */
/* doublings of the price for each time its capacity that an arc bears beyond that */
#define STEEPNESS 80.0
#define MAX_DOUBLINGS 30.0 /* doublings of the price at most */

enum { OUTSIDE, MEMBER, END, REACHED };

typedef struct {
    const banyan_graph *graph;
    const banyan_contraction *joined;
    int *origin;           /* per arc of the smaller network: the one here */
    int *first, *inside;   /* nodes of part p: inside[first[p] .. first[p + 1]) */
    double *load;          /* per arc: weight so far */
    unsigned char *member; /* per node, in the current tree */
    int *gate;             /* per part: where the tree leaves or comes in; -1: neither */
    int64_t *depth;        /* per node that is REACHED: the way to the gate, at STEP an arc */
    int64_t *far;
    int *via, *queue, head, tail;
    int *found, found_count; /* nodes that a way was found to */
    unsigned char *waits;
    int *way, way_count; /* arcs of the current edge */
    banyan_trees trees;
    banyan_scratch memory;
} layer;

static void layer_fini(layer *l)
{
    banyan_scratch_free(&l->memory);
    banyan_trees_fini(&l->trees);
}

static void list_parts(layer *l)
{
    const int *part = l->joined->part;
    int parts = l->joined->graph->node_count, nodes = l->graph->node_count;

    for (int v = 0; v < nodes; v++)
        l->first[part[v] + 1]++;
    for (int p = 0; p < parts; p++)
        l->first[p + 1] += l->first[p];
    for (int v = 0; v < nodes; v++)
        l->inside[l->first[part[v]]++] = v;
    for (int p = parts; p > 0; p--)
        l->first[p] = l->first[p - 1];
    l->first[0] = 0;
}

static banyan_status layer_init(layer *l, const banyan_graph *graph, const banyan_contraction *joined,
                                banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count, arcs = (size_t)graph->arc_count;

    *l = (layer){.graph = graph, .joined = joined};
    l->origin = banyan_scratch_take(&l->memory, (size_t)joined->graph->arc_count, sizeof *l->origin);
    l->load = banyan_scratch_take(&l->memory, arcs, sizeof *l->load);
    l->member = banyan_scratch_take(&l->memory, nodes, 1);
    l->gate = banyan_scratch_take(&l->memory, nodes, sizeof *l->gate);
    l->depth = banyan_scratch_take(&l->memory, nodes, sizeof *l->depth);
    l->far = banyan_scratch_take(&l->memory, nodes, sizeof *l->far);
    l->via = banyan_scratch_take(&l->memory, nodes, sizeof *l->via);
    l->queue = banyan_scratch_take(&l->memory, nodes + 1, sizeof *l->queue);
    l->waits = banyan_scratch_take(&l->memory, nodes, 1);
    l->first = banyan_scratch_take(&l->memory, (size_t)joined->graph->node_count + 1, sizeof *l->first);
    l->inside = banyan_scratch_take(&l->memory, nodes, sizeof *l->inside);
    l->found = banyan_scratch_take(&l->memory, nodes, sizeof *l->found);
    l->way = banyan_scratch_take(&l->memory, arcs + nodes, /* it passes each part once, and each node in it */
                                 sizeof *l->way);
    banyan_trees_init(&l->trees);
    if (l->memory.failed)
        return banyan_fail_memory(err);
    list_parts(l);
    for (size_t v = 0; v < nodes; v++)
        l->far[v] = INT64_MAX;
    for (int i = 0; i < graph->arc_count; i++)
        if (joined->arc[i] >= 0)
            l->origin[joined->arc[i]] = i;
    return BANYAN_SUCCESS;
}

static int64_t price_of(const layer *l, int arc, double weight)
{
    double share = (l->load[arc] + weight) / (double)l->graph->arcs[arc].capacity;

    return (int64_t)(STEP * (1 + exp2(fmin(MAX_DOUBLINGS, STEEPNESS * (share - BUSY)))));
}

static void offer(layer *l, int v, int64_t far, int via)
{
    if (far >= l->far[v])
        return;
    if (l->far[v] == INT64_MAX)
        l->found[l->found_count++] = v;
    l->far[v] = far;
    l->via[v] = via;
    if (l->waits[v])
        return;
    l->waits[v] = 1;
    l->queue[l->tail] = v;
    l->tail = (l->tail + 1) % (l->graph->node_count + 1);
}

static void forget_ways(layer *l)
{
    while (l->found_count)
        l->far[l->found[--l->found_count]] = INT64_MAX;
}

/* Ways inside parts from the nodes on offer, or to them (back). */
static void seek(layer *l, int back, double weight)
{
    const banyan_graph *graph = l->graph;
    const int *first = back ? graph->in_first : graph->out_first,
              *arcs = back ? graph->in_arc : graph->out_arc;

    while (l->head != l->tail) {
        int v = l->queue[l->head];

        l->head = (l->head + 1) % (graph->node_count + 1);
        l->waits[v] = 0;
        for (int i = first[v]; i < first[v + 1]; i++)
            if (l->joined->arc[arcs[i]] < 0)
                offer(l, back ? graph->arcs[arcs[i]].src : graph->arcs[arcs[i]].dst,
                      l->far[v] + price_of(l, arcs[i], weight), arcs[i]);
    }
}

static void seek_from(layer *l, int v, int back, double weight)
{
    forget_ways(l);
    offer(l, v, 0, -1);
    seek(l, back, weight);
}

/* The way that was found to v, or from it (back), is appended in its order. */
static void take_way(layer *l, int v, int back)
{
    int begin = l->way_count;

    for (; l->via[v] >= 0; v = back ? l->graph->arcs[l->via[v]].dst : l->graph->arcs[l->via[v]].src)
        l->way[l->way_count++] = l->via[v];
    for (int i = begin, j = l->way_count - 1; !back && i < j; i++, j--) {
        int arc = l->way[i];

        l->way[i] = l->way[j];
        l->way[j] = arc;
    }
}

static void take_edge(layer *l, int from, int to, double weight)
{
    banyan_trees_add_edge(&l->trees, from, to);
    for (int i = 0; i < l->way_count; i++) {
        banyan_trees_add_arc(&l->trees, l->way[i]);
        l->load[l->way[i]] += weight;
    }
    l->way_count = 0;
}

static int is_active(const layer *l, int v)
{
    return l->graph->role[v] & BANYAN_NODE_ACTIVE;
}

/* Whether an edge of a tree can end at the node. */
static int is_end(const layer *l, int v)
{
    unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES, role = l->joined->graph->role[l->joined->part[v]];

    if (is_active(l, v) || (l->graph->role[v] & both) == both)
        return 1;
    return !(role & BANYAN_NODE_ACTIVE) && (l->graph->role[v] & both) == (role & both);
}

/* The nearest one; where another edge ends already, or at an active node, a hop inside is saved. */
static int nearest_end(const layer *l, int part)
{
    int64_t least = INT64_MAX;
    int best = -1;

    for (int i = l->first[part]; i < l->first[part + 1]; i++) {
        int v = l->inside[i];
        int64_t far = l->far[v];

        if (far == INT64_MAX || !is_end(l, v))
            continue;
        far += (int64_t)(STEP * (is_active(l, v) ? 0 : 1) - STEP * (l->member[v] == END ? 2 : 0));
        if (far < least) {
            least = far;
            best = v;
        }
    }
    return best;
}

/* One edge of the smaller network's tree. 0: there is no way. */
static int lay_hop(layer *l, const banyan_flows *flows, const banyan_hop *hop, int is_in, double weight)
{
    const banyan_arc *arcs = l->graph->arcs;
    const int *links = flows->links + hop->first_link;
    int from, to;

    seek_from(l, arcs[l->origin[links[0]]].src, 1, weight);
    from = nearest_end(l, hop->src);
    if (from < 0)
        return 0;
    take_way(l, from, 1);
    for (int i = 0; i < hop->link_count; i++) {
        int arc = l->origin[links[i]], before = i ? arcs[l->origin[links[i - 1]]].dst : arcs[arc].src;

        if (before != arcs[arc].src) {
            seek_from(l, arcs[arc].src, 1, weight);
            if (l->far[before] == INT64_MAX)
                return 0;
            take_way(l, before, 1);
        }
        l->way[l->way_count++] = arc;
    }
    seek_from(l, arcs[l->way[l->way_count - 1]].dst, 0, weight);
    to = nearest_end(l, hop->dst);
    if (to < 0)
        return 0;
    take_way(l, to, 0);
    take_edge(l, from, to, weight);
    l->member[from] = l->member[to] = END;
    l->gate[is_in ? hop->src : hop->dst] = is_in ? from : to;
    return 1;
}

/* All members of the part are attached to its gate, one after the other, the nearest first. 0: there
 * is no way. */
static int join_part(layer *l, int part, int is_in, double weight)
{
    const int *begin = l->inside + l->first[part], *end = l->inside + l->first[part + 1];
    int left = 0;

    if (l->gate[part] >= 0) {
        l->member[l->gate[part]] = REACHED;
        l->depth[l->gate[part]] = 0;
    }
    for (const int *v = begin; v < end; v++)
        left += l->member[*v] == MEMBER || l->member[*v] == END;
    for (; left; left--) {
        int gate, best = -1;

        forget_ways(l);
        for (const int *v = begin; v < end; v++)
            if (l->member[*v] == REACHED)
                offer(l, *v, l->depth[*v], -1);
        seek(l, is_in, weight);
        for (const int *v = begin; v < end; v++)
            if ((l->member[*v] == MEMBER || l->member[*v] == END) && l->far[*v] < INT64_MAX &&
                (best < 0 || l->far[*v] < l->far[best]))
                best = *v;
        if (best < 0)
            return 0;
        take_way(l, best, is_in);
        gate = is_in ? l->graph->arcs[l->way[l->way_count - 1]].dst : l->graph->arcs[l->way[0]].src;
        l->depth[best] = l->depth[gate] + (int64_t)STEP * l->way_count;
        take_edge(l, is_in ? best : gate, is_in ? gate : best, weight);
        l->member[best] = REACHED;
    }
    return 1;
}

static int join_inside(layer *l, int is_in, double weight)
{
    for (int p = 0; p < l->joined->graph->node_count; p++)
        if (!join_part(l, p, is_in, weight))
            return 0;
    return 1;
}

static int lay_tree(layer *l, const banyan_flows *flows, const banyan_flow_tree *flow, int is_in, int root,
                    double weight)
{
    size_t first = flow->first_hop + (is_in ? 0 : (size_t)flow->in_count);
    int count = is_in ? flow->in_count : flow->out_count;

    banyan_trees_begin(&l->trees);
    memset(l->member, OUTSIDE, (size_t)l->graph->node_count);
    for (int p = 0; p < l->joined->graph->node_count; p++)
        l->gate[p] = -1;
    for (int i = 0; i < l->graph->active_count; i++)
        l->member[l->graph->active[i]] = MEMBER;
    l->member[root] = END;
    for (int h = 0; h < count; h++)
        if (!lay_hop(l, flows, &flows->hops[first + (size_t)h], is_in, weight))
            return 0;
    l->gate[flow->root] = root;
    return join_inside(l, is_in, weight);
}

/* The end in the part whose links bear least so far. */
static int choose_root(const layer *l, int part)
{
    const banyan_graph *graph = l->graph;
    double least = 0;
    int best = -1;

    for (int j = l->first[part]; j < l->first[part + 1]; j++) {
        int v = l->inside[j];
        double load = 0;

        if (!(l->joined->graph->role[part] & BANYAN_NODE_ACTIVE ? is_active(l, v) : is_end(l, v)))
            continue;
        for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++)
            load = fmax(load, l->load[graph->out_arc[i]] / (double)graph->arcs[graph->out_arc[i]].capacity);
        if (best < 0 || load < least) {
            best = v;
            least = load;
        }
    }
    return best;
}

/* What all laid trees together have of the fullest arc. */
static double find_fullest(const layer *l)
{
    double fullest = 0;

    for (int i = 0; i < l->graph->arc_count; i++)
        fullest = fmax(fullest, l->load[i] / (double)l->graph->arcs[i].capacity);
    return fullest;
}

static banyan_status lay_flows(layer *l, const banyan_flows *small, double rate, int *root, double *weight,
                               int *whole, banyan_error *err)
{
    double sum = 0;

    *whole = 1;
    for (size_t t = 0; t < small->flow_count; t++)
        sum += small->flows[t].weight;
    for (size_t t = 0; *whole && t < small->flow_count; t++) {
        int top = choose_root(l, small->flows[t].root);

        weight[t] = small->flows[t].weight / sum * rate;
        root[2 * t] = root[2 * t + 1] = top;
        *whole = top >= 0 && lay_tree(l, small, &small->flows[t], 1, top, weight[t]) &&
                 lay_tree(l, small, &small->flows[t], 0, top, weight[t]);
    }
    return l->trees.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

banyan_status banyan_forest_lift(const banyan_graph *graph, const banyan_contraction *joined,
                                 const banyan_flows *small, double rate, banyan_pair_packing *packing,
                                 banyan_error *err)
{
    layer l;
    double *weight = banyan_alloc(small->flow_count, sizeof *weight), fullest;
    int whole = 0, *root = banyan_alloc(2 * small->flow_count, sizeof *root);
    banyan_status status = layer_init(&l, graph, joined, err);

    if (!status && (!weight || !root))
        status = banyan_fail_memory(err);
    if (!status)
        status = lay_flows(&l, small, rate, root, weight, &whole, err);
    if (!status && whole) {
        fullest = fmax(find_fullest(&l), 1);
        for (size_t t = 0; t < small->flow_count; t++)
            weight[t] /= fullest;
        status = banyan_pair_tools_hand_over(packing, &l.trees, &root, weight, err);
    }
    banyan_free(weight);
    banyan_free(root);
    layer_fini(&l);
    return status;
}
