/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/split_check.c: flows run against the stream, from the node that is served: what it gets comes
 * from near by, so they stay short. */
#include "solve/cut/split_check.h"

#include <math.h>

#define SCALE 1099511627776.0 /* 2^40: of the rate, in flows */
#define ENOUGH (1 - 1e-9)     /* of the rate is served */

static int is_served(const banyan_split_check_problem *p, banyan_flow *flow, int node, int leaving)
{
    const banyan_graph *graph = p->graph;
    int64_t all = (int64_t)SCALE;

    for (int i = 0; i < graph->arc_count; i++) {
        int64_t room =
            (int64_t)nearbyint(SCALE / p->rate * (leaving ? p->width[i] - p->sent[i] : p->sent[i]));

        banyan_flow_set(flow, i, leaving ? room : 0, leaving ? 0 : room);
    }
    for (int v = 0; v < graph->node_count; v++)
        banyan_flow_set(flow, graph->arc_count + v, 0, (int64_t)nearbyint(SCALE / p->rate * p->root[v]));
    return (double)banyan_flow_run(flow, node, graph->node_count, all) >= ENOUGH * (double)all;
}

int banyan_split_check_all(const banyan_split_check_problem *p, banyan_flow *flow)
{
    for (int k = 0; k < 2 * p->graph->active_count; k++)
        if (!is_served(p, flow, p->graph->active[k / 2], k % 2))
            return 0;
    return 1;
}
