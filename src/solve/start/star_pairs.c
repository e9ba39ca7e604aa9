/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/star_pairs.c: where idle nodes have cables to all active ones, their best use is to be the
 * middle of a star: n cables for n active nodes, one more than a tree without an idle node takes.
 *
 *      a   b       The star is as heavy as its narrowest arc. What it leaves, of wider arcs and between
 *       \ /        active nodes, is for other trees.
 *        h
 *       / \        Cost: O(arcs) a star.
 *      c   d  */
#include "solve/start/star_pairs.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"

typedef struct {
    const banyan_graph *graph;
    banyan_star_pairs *stars;
    double *left;   /* per arc */
    int *to, *from; /* per node: the arc between it and the middle; -1: none */
} maker;

/* The arcs of the star at v; returns how heavy it can be. */
static double look_at(maker *m, int v)
{
    const banyan_graph *graph = m->graph;
    double weight = HUGE_VAL;

    for (int u = 0; u < graph->node_count; u++)
        m->to[u] = m->from[u] = -1;
    for (int j = graph->in_first[v]; j < graph->in_first[v + 1]; j++)
        m->to[graph->arcs[graph->in_arc[j]].src] = graph->in_arc[j];
    for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++)
        m->from[graph->arcs[graph->out_arc[j]].dst] = graph->out_arc[j];
    for (int i = 0; i < graph->active_count; i++) {
        int to = m->to[graph->active[i]], from = m->from[graph->active[i]];

        weight = to < 0 || from < 0 ? 0 : fmin(weight, fmin(m->left[to], m->left[from]));
    }
    return weight;
}

static void add_tree(maker *m, int v, int is_out, double weight)
{
    banyan_trees *trees = &m->stars->trees;

    m->stars->root[trees->tree_count] = v;
    banyan_trees_begin(trees);
    for (int i = 0; i < m->graph->active_count; i++) {
        int u = m->graph->active[i], arc = is_out ? m->from[u] : m->to[u];

        banyan_trees_add_edge(trees, is_out ? v : u, is_out ? u : v);
        banyan_trees_add_arc(trees, arc);
        m->left[arc] -= weight;
    }
}

/* The heaviest star that is left; 0: there is none. */
static int add_star(maker *m)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    double most = 0;
    int best = -1;

    for (int v = 0; v < m->graph->node_count; v++) {
        unsigned role = m->graph->role[v];
        double weight = !(role & BANYAN_NODE_ACTIVE) && (role & both) == both ? look_at(m, v) : 0;

        if (weight > most) {
            most = weight;
            best = v;
        }
    }
    if (best < 0)
        return 0;
    look_at(m, best);
    m->stars->weight[m->stars->trees.tree_count / 2] = most;
    m->stars->total += most;
    add_tree(m, best, 0, most);
    add_tree(m, best, 1, most);
    return 1;
}

/* Cables that no active node has a path to any more are of no use to anybody. */
static void find_pieces(const maker *m, int *top)
{
    for (int v = 0; v < m->graph->node_count; v++)
        top[v] = v;
    for (int i = 0; i < m->graph->arc_count; i++)
        if (m->left[i] > 0)
            banyan_graph_join_tops(top, m->graph->arcs[i].src, m->graph->arcs[i].dst);
}

static banyan_status keep_rest(const maker *m, banyan_error *err)
{
    const banyan_graph *graph = m->graph;
    size_t arcs = (size_t)graph->arc_count;
    banyan_scratch memory = {0};
    int *src = banyan_scratch_take(&memory, arcs, sizeof *src),
        *dst = banyan_scratch_take(&memory, arcs, sizeof *dst),
        *top = banyan_scratch_take(&memory, (size_t)graph->node_count, sizeof *top);
    double *capacity = banyan_scratch_take(&memory, arcs, sizeof *capacity);
    banyan_bypass *rest = &m->stars->rest;
    banyan_graph_input input = {graph->node_count, graph->role, 0, src, dst, capacity, NULL};
    banyan_status status = BANYAN_SUCCESS;

    rest->first = banyan_alloc(arcs, sizeof *rest->first);
    rest->second = banyan_alloc(arcs, sizeof *rest->second);
    if (memory.failed || !rest->first || !rest->second)
        status = banyan_fail_memory(err);
    else
        find_pieces(m, top);
    for (int i = 0; !status && i < graph->arc_count; i++)
        if (m->left[i] > 0 &&
            banyan_graph_find_top(top, graph->arcs[i].src) == banyan_graph_find_top(top, graph->active[0])) {
            src[input.arc_count] = graph->arcs[i].src;
            dst[input.arc_count] = graph->arcs[i].dst;
            rest->first[input.arc_count] = i;
            rest->second[input.arc_count] = -1;
            capacity[input.arc_count++] = graph->unit * m->left[i];
        }
    if (!status && input.arc_count)
        status = banyan_graph_create(&input, &rest->graph, err);
    banyan_scratch_free(&memory);
    return status;
}

banyan_status banyan_star_pairs_find(const banyan_graph *graph, int limit, banyan_star_pairs *out,
                                     banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;
    banyan_scratch memory = {0};
    maker m = {.graph = graph,
               .stars = out,
               .left = banyan_scratch_take(&memory, (size_t)graph->arc_count, sizeof *m.left),
               .to = banyan_scratch_take(&memory, nodes, sizeof *m.to),
               .from = banyan_scratch_take(&memory, nodes, sizeof *m.from)};
    banyan_status status;

    memset(out, 0, sizeof *out);
    banyan_trees_init(&out->trees);
    out->root = banyan_alloc(2 * (size_t)limit, sizeof *out->root);
    out->weight = banyan_alloc((size_t)limit, sizeof *out->weight);
    status = !memory.failed && out->root && out->weight ? BANYAN_SUCCESS : banyan_fail_memory(err);
    for (int i = 0; !status && i < graph->arc_count; i++)
        m.left[i] = (double)graph->arcs[i].capacity;
    for (int k = 0; !status && k < limit && add_star(&m); k++)
        status = out->trees.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
    if (!status && out->trees.tree_count)
        status = keep_rest(&m, err);
    banyan_scratch_free(&memory);
    if (status)
        banyan_star_pairs_fini(out);
    return status;
}

void banyan_star_pairs_fini(banyan_star_pairs *stars)
{
    banyan_trees_fini(&stars->trees);
    banyan_free(stars->root);
    banyan_free(stars->weight);
    banyan_bypass_fini(&stars->rest);
    memset(stars, 0, sizeof *stars);
}
