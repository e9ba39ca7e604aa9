/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest-replan.c: a link fails; most trees never used it. A tree that did is mended as a minimum
 * spanning tree in which its old cables cost nothing and all others what they carry. Then the linear program
 * has a good start, and a few rounds of column generation close the gap. */
#include "algorithms/forest.h"

#include <string.h>

#include "algorithms/flows.h"
#include "algorithms/packed.h"
#include "core/alloc.h"
#include "solve/packing.h"
#include "solve/spanning.h"

typedef struct {
    const banyan_graph *graph;
    const banyan_schedule *old;
    banyan_spanning *spanning;
    banyan_trees trees;
    int64_t *cost;
    double *load; /* per cable: the old trees' shares, over capacity */
} mender;

static int find_arc(const banyan_graph *graph, int src, int dst)
{
    for (int i = graph->out_first[src]; i < graph->out_first[src + 1]; i++)
        if (graph->arcs[graph->out_arc[i]].dst == dst)
            return graph->out_arc[i];
    return -1;
}

static double share_of(const mender *m, int flow)
{
    return (double)(m->old->cut[flow + 1] - m->old->cut[flow]) / (double)m->old->whole;
}

/* The old tree's cables that are still there get cost 0; counts its share on them, once for sign 1, off for
 * -1. */
static void mark_flow(mender *m, int flow, double sign)
{
    const banyan_graph *graph = m->graph;

    for (size_t i = 0; i < m->old->transfer_count; i++) {
        const banyan_transfer *t = &m->old->transfers[i];
        int arc = t->flow == flow && t->action == BANYAN_ACTION_COPY ? find_arc(graph, t->src, t->dst) : -1;
        int cable = arc < 0 ? -1 : banyan_graph_cable(graph, arc);

        if (arc < 0)
            continue;
        m->load[cable] += sign * share_of(m, flow) / (double)graph->arcs[cable].capacity;
        m->cost[arc] = m->cost[graph->arcs[arc].twin] = 0;
    }
}

/* Appends the flow's tree, mended over the cables with the least load. 0: it cannot be. */
static int mend_flow(mender *m, int flow)
{
    const banyan_graph *graph = m->graph;
    size_t tree = m->trees.tree_count;
    double most = 1e-12;

    for (int i = 0; i < graph->arc_count; i++)
        most = m->load[i] > most ? m->load[i] : most;
    for (int i = 0; i < graph->arc_count; i++)
        m->cost[i] = 1 + (int64_t)(1e6 * m->load[banyan_graph_cable(graph, i)] / most);
    mark_flow(m, flow, -1);
    if (banyan_spanning_tree(m->spanning, NULL, m->cost, &m->trees) < 0 || m->trees.failed)
        return 0;
    for (size_t a = banyan_trees_arcs_begin(&m->trees, tree); a < m->trees.arc_count; a++) {
        int cable = banyan_graph_cable(graph, m->trees.arcs[a]);

        m->load[cable] += share_of(m, flow) / (double)graph->arcs[cable].capacity;
    }
    return 1;
}

static int64_t oracle(void *context, const int64_t *cost, banyan_trees *trees)
{
    return banyan_spanning_tree(context, NULL, cost, trees);
}

static banyan_status pack_from(mender *m, banyan_flows *flows, banyan_error *err)
{
    banyan_packing_problem problem = {.oracle = oracle,
                                      .context = m->spanning,
                                      .tolerance = 0.009,
                                      .warm_trees = 1,
                                      .seed = &m->trees,
                                      .round_limit = 0};
    banyan_packing packing;
    banyan_status status = banyan_packing_solve(m->graph, &problem, &packing, err);

    if (status)
        return status;
    for (size_t t = 0; t < packing.trees.tree_count; t++)
        if (packing.weight[t] > 1e-9 * packing.total)
            banyan_flows_add_tree(flows, m->graph, &packing.trees, t, -1, packing.weight[t]);
    banyan_packing_fini(&packing);
    return flows->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

static int can_mend(const banyan_graph *graph, const banyan_problem *problem, const banyan_schedule *old)
{
    if (!graph->symmetric || graph->active_count != problem->topology->node_count ||
        old->node_count != problem->topology->node_count || old->active_count != problem->active_count ||
        old->collective != BANYAN_COLLECTIVE_ALLREDUCE || old->flow_count != old->piece_count)
        return 0;
    return memcmp(old->active, problem->active, (size_t)old->active_count * sizeof(int)) == 0;
}

static banyan_status mend(const banyan_problem *problem, const banyan_graph *graph,
                          const banyan_schedule *old, int max_trees, banyan_schedule **out, banyan_error *err)
{
    mender m = {.graph = graph, .old = old};
    banyan_flows flows;
    banyan_status status = banyan_spanning_create(graph, &m.spanning, err);

    banyan_trees_init(&m.trees);
    banyan_flows_init(&flows);
    m.cost = banyan_alloc((size_t)graph->arc_count, sizeof *m.cost);
    m.load = banyan_alloc((size_t)graph->arc_count, sizeof *m.load);
    if (!status && (!m.cost || !m.load))
        status = banyan_fail_memory(err);
    for (int f = 0; !status && f < old->flow_count; f++)
        mark_flow(&m, f, 1);
    for (int f = 0; !status && f < old->flow_count; f++)
        if (!mend_flow(&m, f))
            status = m.trees.failed ? banyan_fail_memory(err)
                                    : banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                                                  "the active workers are not all connected");
    if (!status)
        status = pack_from(&m, &flows, err);
    if (!status)
        status = banyan_flows_limit(&flows, problem->topology, (size_t)max_trees, err);
    if (!status)
        status = banyan_flows_build(&flows, problem, out, err);
    banyan_flows_fini(&flows);
    banyan_trees_fini(&m.trees);
    banyan_spanning_destroy(m.spanning);
    banyan_free(m.cost);
    banyan_free(m.load);
    return status;
}

banyan_status banyan_forest_replan(const banyan_problem *problem, const banyan_schedule *old,
                                   banyan_schedule **out, banyan_error *err)
{
    banyan_packed_options options;
    banyan_graph *graph = NULL;
    banyan_status status = banyan_packed_options_read(problem, &options, err);

    *out = NULL;
    if (!status)
        status = banyan_network_graph(problem->topology, problem->active, problem->active_count,
                                      options.relays, &graph, err);
    if (!status) {
        if (can_mend(graph, problem, old))
            status = mend(problem, graph, old, options.max_trees, out, err);
        else
            status = banyan_algorithm_build(banyan_algorithm_find("forest"), problem, out, err);
    }
    banyan_graph_destroy(graph);
    return status;
}
