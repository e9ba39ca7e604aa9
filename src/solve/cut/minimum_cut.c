/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/minimum_cut.c: maximum flows between one active node and each of the others, both ways: one of
 * them is on the other side of the narrowest cut. Flows stop at what is known already. Cost: two maximum
 * flows an active node. */
#include "solve/cut/minimum_cut.h"

banyan_status banyan_minimum_cut(const banyan_graph *graph, int64_t limit, int64_t *width,
                                 unsigned char *inside, banyan_error *err)
{
    banyan_flow *flow = NULL;
    banyan_status status = banyan_graph_make_flow(graph, 0, &flow, err);

    *width = limit;
    for (int k = 0; !status && k < 2 * (graph->active_count - 1); k++) {
        int one = graph->active[0], other = graph->active[1 + k / 2];
        int64_t found;

        for (int i = 0; i < graph->arc_count; i++)
            banyan_flow_set(flow, i, graph->arcs[i].capacity, 0);
        found = banyan_flow_run(flow, k % 2 ? other : one, k % 2 ? one : other, *width);
        if (found >= *width)
            continue;
        *width = found;
        for (int v = 0; v < graph->node_count; v++)
            inside[v] = (unsigned char)banyan_flow_reaches(flow, v);
    }
    banyan_flow_destroy(flow);
    return status;
}
