/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/pair_tools.c: pairs of trees are grown, measured and handed over alike, however they are
 * chosen. */
#include "solve/start/pair_tools.h"

#include "core/alloc.h"

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
