/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/trees.h: a growing collection of trees on a graph, in flat arrays.
 *
 * A tree is a list of edges between nodes that take part in it; an edge is a path of arcs from src to dst
 * whose inner nodes only forward. An out-tree's edges lead away from the root, an in-tree's towards it; of an
 * undirected tree (symmetric graphs) each edge may be walked either way, by the arcs or by their twins. */
#ifndef BANYAN_SOLVE_NET_TREES_H
#define BANYAN_SOLVE_NET_TREES_H

#include <stddef.h>

#include "core/status.h"
#include "solve/net/graph.h"

typedef struct {
    int src, dst;
    size_t first_arc; /* its arcs are arcs[first_arc .. next edge's first_arc) */
} banyan_tree_edge;

typedef struct {
    size_t tree_count, tree_capacity, edge_count, edge_capacity, arc_count, arc_capacity;
    size_t *first_edge; /* edges of tree t: edges[first_edge[t] .. first_edge[t+1]) */
    banyan_tree_edge *edges;
    int *arcs;
    int failed; /* memory ran out: what was added last is not there */
} banyan_trees;

void banyan_trees_init(banyan_trees *trees);
void banyan_trees_fini(banyan_trees *trees);

/* Starts a tree; edges and arcs go to the latest one. Failure is remembered in trees->failed. */
void banyan_trees_begin(banyan_trees *trees);
void banyan_trees_add_edge(banyan_trees *trees, int src, int dst);
void banyan_trees_add_arc(banyan_trees *trees, int arc);

/* Takes the latest tree back. */
void banyan_trees_drop_last(banyan_trees *trees);

/* They have the same arcs, in the same order. */
int banyan_trees_are_same(const banyan_trees *trees, size_t one, size_t other);

/* A copy of one tree of another collection. */
void banyan_trees_copy(banyan_trees *trees, const banyan_trees *from, size_t tree);

static inline size_t banyan_trees_edges_end(const banyan_trees *trees, size_t tree)
{
    return tree + 1 < trees->tree_count ? trees->first_edge[tree + 1] : trees->edge_count;
}

static inline size_t banyan_trees_arcs_end(const banyan_trees *trees, size_t edge)
{
    return edge + 1 < trees->edge_count ? trees->edges[edge + 1].first_arc : trees->arc_count;
}

static inline size_t banyan_trees_arcs_begin(const banyan_trees *trees, size_t tree)
{
    return trees->first_edge[tree] < trees->edge_count ? trees->edges[trees->first_edge[tree]].first_arc
                                                       : trees->arc_count;
}

/* All arcs of a tree lie together: arcs[banyan_trees_arcs_begin .. banyan_trees_arcs_close). */
static inline size_t banyan_trees_arcs_close(const banyan_trees *trees, size_t tree)
{
    return tree + 1 < trees->tree_count ? banyan_trees_arcs_begin(trees, tree + 1) : trees->arc_count;
}

#endif
