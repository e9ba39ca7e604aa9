/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/parts_of_ranks.c: all-gather: every rank has a part of the vector, and sends it to all
 * others along trees of its own. Reduce-scatter is the same with every link turned.
 *
 * Together the trees fill the cut that limits any all-gather: the rate of that cut is an exact fraction
 * (bound/gather.h), idle nodes are split off without loss (solve/presolve/edge_splitting.h), and Edmonds'
 * branchings fill what is left (solve/pack/branchings.h).
 *
 * Paper: L. Zhao et al., ForestColl: Throughput-Optimal Collective Communications on Heterogeneous Network
 * Fabrics, 2024. */
#include "algorithms/forest/pack.h"
#include "bound/gather.h"
#include "solve/net/effort.h"
#include "solve/pack/branchings.h"

/* A tree of each of n ranks has n - 1 edges, and each of these takes a maximum flow. */
static banyan_status check_effort(int ranks, size_t arcs, banyan_error *err)
{
    double flows = (double)ranks * (ranks - 1);

    if (flows * (double)arcs <= BANYAN_CUT_VISITS)
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_UNSUPPORTED,
                       "forest packs trees for all-gather and reduce-scatter by %.0f maximum flows over %zu "
                       "links: too many",
                       flows, arcs);
}

static banyan_status take(const banyan_joined_network *network, banyan_flows *flows, banyan_error *err)
{
    banyan_branchings branchings;
    banyan_status status = banyan_branchings_pack(network, &branchings, err);

    if (status)
        return status;
    for (size_t t = 0; t < branchings.trees.tree_count; t++)
        banyan_flows_add_one_way(flows, network->graph, &branchings.trees, t, branchings.root[t],
                                 network->towards, (double)branchings.weight[t]);
    banyan_branchings_fini(&branchings);
    return flows->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

static banyan_status pack(const banyan_graph *graph, int towards, banyan_flows *flows, banyan_error *err)
{
    banyan_joined_network network;
    banyan_fraction rate;
    banyan_status status = banyan_gather_rate(graph, towards, &rate, NULL, err);

    if (!status && rate.num <= 0)
        status = banyan_fail(err, BANYAN_UNSUPPORTED, "the rate is no fraction of 64-bit numbers");
    if (!status)
        status = banyan_joined_network_init(&network, graph, towards, rate, err);
    if (status)
        return status;
    status = check_effort(graph->active_count, network.arc_count, err);
    if (!status && network.demand <= 0)
        status = banyan_fail(err, BANYAN_UNSUPPORTED,
                             "the two directions of switches' links differ too much in bandwidth: no trees "
                             "are found through them");
    if (!status)
        status = take(&network, flows, err);
    banyan_joined_network_fini(&network);
    return status;
}

banyan_status banyan_forest_check_parts(const banyan_problem *problem, banyan_error *err)
{
    return check_effort(problem->active_count, (size_t)problem->topology->link_count, err);
}

banyan_status banyan_forest_pack_parts(const banyan_problem *problem, banyan_relays relays,
                                       banyan_flows *flows, banyan_error *err)
{
    banyan_graph *graph;
    banyan_status status =
        banyan_network_graph(problem->topology, problem->active, problem->active_count, relays, &graph, err);

    if (!status)
        status = pack(graph, problem->collective == BANYAN_COLLECTIVE_REDUCE_SCATTER, flows, err);
    banyan_graph_destroy(graph);
    return status;
}
