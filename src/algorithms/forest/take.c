/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/take.c: in-trees are paired with out-trees of the same root. Both kinds weigh the same
 * at each root, so one walk along their weights cuts them into flows, fewer than there are trees. */
#include "algorithms/forest/take.h"

/* At each root, the in-trees' weights laid end to end against the out-trees': every overlap is a flow. */
void banyan_forest_take_pairs(banyan_flows *flows, const banyan_graph *graph,
                              const banyan_pair_packing *packing)
{
    for (int root = 0; root < graph->node_count; root++) {
        size_t in = 0, out = 0, count = packing->trees.tree_count;
        double in_left = 0, out_left = 0;

        for (;;) {
            double share;

            while (in < count && (packing->root[in] != root || packing->kind[in] != BANYAN_TREE_IN ||
                                  packing->weight[in] <= 1e-9 * packing->total))
                in++;
            while (out < count && (packing->root[out] != root || packing->kind[out] == BANYAN_TREE_IN ||
                                   packing->weight[out] <= 1e-9 * packing->total))
                out++;
            if (in == count || out == count)
                break;
            in_left = in_left > 0 ? in_left : packing->weight[in];
            out_left = out_left > 0 ? out_left : packing->weight[out];
            share = in_left < out_left ? in_left : out_left;
            if (share > 1e-9 * packing->total)
                banyan_flows_add_pair(flows, graph, &packing->trees, in, out, root,
                                      packing->kind[out] == BANYAN_TREE_OUT_LATER, share);
            in_left -= share;
            out_left -= share;
            if (in_left <= 1e-9 * packing->total) {
                in_left = 0;
                in++;
            }
            if (out_left <= 1e-9 * packing->total) {
                out_left = 0;
                out++;
            }
        }
    }
}
