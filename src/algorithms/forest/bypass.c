/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/bypass.c: most pairs are cabled, and some workers are idle and only forward. What these
 * carry is laid out in advance, as cables between active workers (solve/presolve/bypass.h), and trees are
 * packed as if every worker were active. */
#include <math.h>

#include "algorithms/forest/parts.h"
#include "core/alloc.h"
#include "solve/net/effort.h"
#include "solve/presolve/bypass.h"

#define NEARLY 0.9995 /* with more trees than */
#define MUCH 0.95     /* and with */
#define MANY_ARCS 600 /* more than these, for all else takes long there */

static void add_hops(banyan_trees *trees, const banyan_bypass *through, const banyan_flows *small,
                     size_t first, int count)
{
    banyan_trees_begin(trees);
    for (size_t h = first; h < first + (size_t)count; h++) {
        const banyan_hop *hop = &small->hops[h];

        banyan_trees_add_edge(trees, hop->src, hop->dst);
        for (int i = 0; i < hop->link_count; i++) {
            int arc = small->links[hop->first_link + (size_t)i];

            for (int j = through->first[arc]; j < through->first[arc + 1]; j++)
                banyan_trees_add_arc(trees, through->via[j]);
        }
    }
}

static banyan_status take_flows(const banyan_graph *graph, const banyan_bypass *through,
                                const banyan_flows *small, banyan_flows *flows, banyan_error *err)
{
    banyan_trees trees;
    banyan_status status;

    banyan_trees_init(&trees);
    for (size_t t = 0; t < small->flow_count; t++) {
        const banyan_flow_tree *flow = &small->flows[t];

        add_hops(&trees, through, small, flow->first_hop, flow->in_count);
        add_hops(&trees, through, small, flow->first_hop + (size_t)flow->in_count, flow->out_count);
        if (!trees.failed)
            banyan_flows_add_pair(flows, graph, &trees, 2 * t, 2 * t + 1, flow->root, 0, flow->weight);
    }
    status = trees.failed || flows->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
    banyan_trees_fini(&trees);
    return status;
}

/* What all edges together allow: trees of n active nodes, up and down, have 2 (n - 1); or that many trees,
 * none wider than the widest arc. */
static double most_of(const banyan_graph *graph, int trees)
{
    double out = 0, in = 0, widest = 0, most;

    for (int i = 0; i < graph->arc_count; i++) {
        double width = (double)graph->arcs[i].capacity * graph->unit;

        out += graph->role[graph->arcs[i].src] & BANYAN_NODE_ACTIVE ? width : 0;
        in += graph->role[graph->arcs[i].dst] & BANYAN_NODE_ACTIVE ? width : 0;
        widest = fmax(widest, width);
    }
    most = fmin(in, out) / (2.0 * (graph->active_count - 1));
    return fmin(most, trees * widest);
}

banyan_status banyan_forest_bypass(const banyan_graph *graph, const banyan_forest_options *options,
                                   banyan_flows *flows, int *good, banyan_error *err)
{
    banyan_bypass through;
    banyan_flows small;
    double rate = 0, enough = graph->arc_count > MANY_ARCS            ? MUCH
                              : options->max_trees > BANYAN_FEW_TREES ? NEARLY
                                                                      : BANYAN_TARGET_SHARE;
    banyan_status status = banyan_bypass_make(graph, &through, err);

    *good = 0;
    banyan_flows_init(&small);
    if (!status && through.graph)
        status = banyan_forest_small(through.graph, options, &small, &rate, err);
    if (status == BANYAN_INVALID_ARGUMENT) { /* what was laid out does not join all workers */
        status = BANYAN_SUCCESS;
        rate = 0;
    }
    *good = !status && small.flow_count && rate >= enough * most_of(graph, options->max_trees);
    if (*good)
        status = take_flows(graph, &through, &small, flows, err);
    banyan_flows_fini(&small);
    banyan_bypass_fini(&through);
    return status;
}
