/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/pair_tools.c: pairs of trees are grown, measured and handed over the same way, however they are
 * chosen. */
#include "solve/start/pair_tools.h"

#include <stdint.h>

#include "core/alloc.h"
#include "core/scratch.h"

banyan_status banyan_pair_tools_grow(banyan_pair_oracle *oracle, int is_out, int root, banyan_trees *trees,
                                     banyan_error *err)
{
    int64_t cost = is_out ? banyan_pair_packing_out_tree(oracle, root, trees)
                          : banyan_pair_packing_in_tree(oracle, root, trees);

    if (cost < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
    return trees->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

int banyan_pair_tools_depth(const banyan_graph *graph, const banyan_trees *trees, int *above)
{
    int most = 0;

    for (size_t t = 0; t < trees->tree_count; t++) {
        for (int v = 0; v < graph->node_count; v++)
            above[v] = -1;
        for (size_t e = trees->first_edge[t]; e < banyan_trees_edges_end(trees, t); e++)
            above[t % 2 ? trees->edges[e].dst : trees->edges[e].src] =
                t % 2 ? trees->edges[e].src : trees->edges[e].dst;
        for (int v = 0; v < graph->node_count; v++) {
            int depth = 0;

            for (int u = v; above[u] >= 0; u = above[u])
                depth++;
            most = depth > most ? depth : most;
        }
    }
    return most;
}

banyan_status banyan_pair_tools_hand_over(banyan_pair_packing *packing, banyan_trees *trees, int **root,
                                          const double *weight, banyan_error *err)
{
    size_t count = trees->tree_count;
    banyan_tree_kind *kind = banyan_alloc(count, sizeof *kind);
    double *each = banyan_alloc(count, sizeof *each);

    if (!kind || !each) {
        banyan_free(kind);
        banyan_free(each);
        return banyan_fail_memory(err);
    }
    for (size_t t = 0; t < count; t++) {
        kind[t] = t % 2 ? BANYAN_TREE_OUT : BANYAN_TREE_IN;
        each[t] = weight[t / 2];
    }
    banyan_pair_packing_replace(packing, kind, *root, each, trees);
    *root = NULL;
    return BANYAN_SUCCESS;
}

/* The edges of an undirected tree at each node, and an order of the edges from its root down. */
typedef struct {
    const banyan_graph *graph;
    const banyan_trees *trees;
    int *degree, *queue; /* per node */
    int *top;            /* per node: its parent, or itself at the root; -1: not reached */
    size_t *next;        /* [2 * edge + end]: the next entry at the same node */
    size_t *first;       /* per node: an entry; SIZE_MAX: none */
} mirror;

static void list_edges(mirror *m, size_t begin, size_t end)
{
    for (int v = 0; v < m->graph->node_count; v++) {
        m->degree[v] = 0;
        m->first[v] = SIZE_MAX;
        m->top[v] = -1;
    }
    for (size_t e = begin; e < end; e++)
        for (size_t far = 0; far < 2; far++) {
            int v = far ? m->trees->edges[e].dst : m->trees->edges[e].src;
            size_t entry = 2 * (e - begin) + far;

            m->next[entry] = m->first[v];
            m->first[v] = entry;
            m->degree[v]++;
        }
}

static int other_end(const mirror *m, size_t begin, size_t entry)
{
    const banyan_tree_edge *edge = &m->trees->edges[begin + entry / 2];

    return entry % 2 ? edge->src : edge->dst;
}

/* Ends are taken off, level by level: what is left last is the centre. */
static int find_centre(mirror *m, size_t begin)
{
    int count = 0;

    for (int v = 0; v < m->graph->node_count; v++)
        if (m->degree[v] == 1)
            m->queue[count++] = v;
    for (int i = 0; i < count; i++)
        for (size_t x = m->first[m->queue[i]]; x != SIZE_MAX; x = m->next[x])
            if (--m->degree[other_end(m, begin, x)] == 1)
                m->queue[count++] = other_end(m, begin, x);
    return m->queue[count - 1];
}

/* The edge at the entry, whose own end is the parent's, downwards or, turned round, upwards. */
static void add_edge(const mirror *m, size_t begin, size_t entry, int is_out, banyan_trees *out)
{
    size_t e = begin + entry / 2, first = m->trees->edges[e].first_arc,
           count = banyan_trees_arcs_end(m->trees, e) - first;
    int from = other_end(m, begin, entry ^ 1), to = other_end(m, begin, entry),
        is_turned = (int)(entry % 2) == is_out;

    banyan_trees_add_edge(out, is_out ? from : to, is_out ? to : from);
    for (size_t a = 0; a < count; a++) {
        int arc = m->trees->arcs[first + (is_turned ? count - 1 - a : a)];

        banyan_trees_add_arc(out, is_turned ? m->graph->arcs[arc].twin : arc);
    }
}

/* One tree of the pair: edges from the root down. */
static void add_half(mirror *m, size_t begin, int root, int is_out, banyan_trees *out)
{
    int count = 1;

    for (int v = 0; v < m->graph->node_count; v++)
        m->top[v] = v == root ? root : -1;
    m->queue[0] = root;
    banyan_trees_begin(out);
    for (int i = 0; i < count; i++)
        for (size_t x = m->first[m->queue[i]]; x != SIZE_MAX; x = m->next[x]) {
            int v = other_end(m, begin, x);

            if (m->top[v] >= 0)
                continue;
            m->top[v] = m->queue[i];
            m->queue[count++] = v;
            add_edge(m, begin, x, is_out, out);
        }
}

banyan_status banyan_pair_tools_mirror(const banyan_graph *graph, const banyan_trees *trees,
                                       const double *weight, banyan_pair_packing *packing, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;
    banyan_scratch memory = {0};
    mirror m = {.graph = graph,
                .trees = trees,
                .degree = banyan_scratch_take(&memory, nodes, sizeof *m.degree),
                .queue = banyan_scratch_take(&memory, nodes, sizeof *m.queue),
                .top = banyan_scratch_take(&memory, nodes, sizeof *m.top),
                .next = banyan_scratch_take(&memory, 2 * nodes, sizeof *m.next),
                .first = banyan_scratch_take(&memory, nodes, sizeof *m.first)};
    int *root = banyan_alloc(2 * trees->tree_count, sizeof *root);
    banyan_trees pairs;
    banyan_status status = !memory.failed && root ? BANYAN_SUCCESS : banyan_fail_memory(err);

    banyan_trees_init(&pairs);
    for (size_t t = 0; !status && t < trees->tree_count; t++) {
        size_t begin = trees->first_edge[t];

        list_edges(&m, begin, banyan_trees_edges_end(trees, t));
        root[2 * t] = root[2 * t + 1] = find_centre(&m, begin);
        for (int is_out = 0; is_out < 2; is_out++)
            add_half(&m, begin, root[2 * t], is_out, &pairs);
    }
    if (!status && pairs.failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = banyan_pair_tools_hand_over(packing, &pairs, &root, weight, err);
    banyan_trees_fini(&pairs);
    banyan_scratch_free(&memory);
    banyan_free(root);
    return status;
}
