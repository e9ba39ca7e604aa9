/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/trees.c: appending to flat arrays; a failure is remembered and asked for once. */
#include "solve/net/trees.h"

#include <string.h>

#include "core/alloc.h"

void banyan_trees_init(banyan_trees *trees)
{
    memset(trees, 0, sizeof *trees);
}

void banyan_trees_fini(banyan_trees *trees)
{
    banyan_free(trees->first_edge);
    banyan_free(trees->edges);
    banyan_free(trees->arcs);
    banyan_trees_init(trees);
}

void banyan_trees_begin(banyan_trees *trees)
{
    if (trees->failed || !banyan_grow((void **)&trees->first_edge, trees->tree_count, &trees->tree_capacity,
                                      sizeof *trees->first_edge)) {
        trees->failed = 1;
        return;
    }
    trees->first_edge[trees->tree_count++] = trees->edge_count;
}

void banyan_trees_add_edge(banyan_trees *trees, int src, int dst)
{
    banyan_tree_edge edge = {src, dst, trees->arc_count};

    if (trees->failed || !banyan_grow((void **)&trees->edges, trees->edge_count, &trees->edge_capacity,
                                      sizeof *trees->edges)) {
        trees->failed = 1;
        return;
    }
    trees->edges[trees->edge_count++] = edge;
}

void banyan_trees_add_arc(banyan_trees *trees, int arc)
{
    if (trees->failed ||
        !banyan_grow((void **)&trees->arcs, trees->arc_count, &trees->arc_capacity, sizeof *trees->arcs)) {
        trees->failed = 1;
        return;
    }
    trees->arcs[trees->arc_count++] = arc;
}

void banyan_trees_drop_last(banyan_trees *trees)
{
    if (trees->failed || trees->tree_count == 0)
        return;
    trees->arc_count = banyan_trees_arcs_begin(trees, trees->tree_count - 1);
    trees->edge_count = trees->first_edge[--trees->tree_count];
}

int banyan_trees_are_same(const banyan_trees *trees, size_t one, size_t other)
{
    const int *arcs = trees->arcs + banyan_trees_arcs_begin(trees, one);
    const int *others = trees->arcs + banyan_trees_arcs_begin(trees, other);
    size_t count = banyan_trees_arcs_close(trees, one) - banyan_trees_arcs_begin(trees, one);

    return banyan_trees_arcs_close(trees, other) - banyan_trees_arcs_begin(trees, other) == count &&
           !memcmp(arcs, others, count * sizeof *arcs);
}

void banyan_trees_copy(banyan_trees *trees, const banyan_trees *from, size_t tree)
{
    banyan_trees_begin(trees);
    for (size_t e = from->first_edge[tree]; e < banyan_trees_edges_end(from, tree); e++) {
        banyan_trees_add_edge(trees, from->edges[e].src, from->edges[e].dst);
        for (size_t a = from->edges[e].first_arc; a < banyan_trees_arcs_end(from, e); a++)
            banyan_trees_add_arc(trees, from->arcs[a]);
    }
}
