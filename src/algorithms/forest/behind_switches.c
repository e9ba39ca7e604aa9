/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/behind_switches.c: workers behind switches, some of them idle: which ways to pack trees
 * are tried once the bound is known, and in which order. First comes what is quick and mostly does; what
 * takes long is tried only where that does not. */
#include <math.h>

#include "algorithms/forest/parts.h"
#include "bound/allreduce.h"
#include "core/alloc.h"
#include "solve/net/effort.h"

#define NEARLY_ALL 0.9991
#define NEARLY 0.995      /* else that much will do at first, */
#define MUCH_BY_HUBS 0.98 /* and of many workers that much by pairs with hubs, as nothing else does better */
#define MUCH 0.97         /* or that much if only trees of equal weight are left to try */

/* No more can be packed, in bytes per second, if idle workers do not add: each of a tree's edges has two ends
 * at active ones. */
static double most_without_help(const banyan_graph *graph)
{
    double width = 0;

    for (int i = 0; i < graph->arc_count; i++)
        width += graph->role[graph->arcs[i].src] & BANYAN_NODE_ACTIVE ? (double)graph->arcs[i].capacity : 0;
    return width / (2.0 * (graph->active_count - 1)) * graph->unit;
}

/* Ways to pack a network with idle workers behind switches, once its bound is known. */
typedef enum { BY_FORWARDING, BY_HELP, BY_JOINING, BY_WIDE_CABLES, BY_EQUAL_WEIGHTS, WAYS } way;

/* plain: the network in which idle workers forward. Perhaps there are no flows then. */
static banyan_status pack_by(way how, const banyan_topology *topology, const banyan_graph *graph,
                             const banyan_graph *plain, const banyan_forest_options *options,
                             const banyan_allreduce_bound *bound, banyan_flows *flows, banyan_error *err)
{
    int good = 0;

    switch (how) {
    case BY_FORWARDING:
        return most_without_help(graph) >= NEARLY * bound->value * graph->unit
                   ? banyan_forest_plain(topology, plain, options, flows, err)
                   : BANYAN_SUCCESS;
    case BY_HELP:
        return banyan_forest_steiner(graph, options, bound, flows, err);
    case BY_JOINING:
        return options->max_depth ? BANYAN_SUCCESS : banyan_forest_join(graph, options, bound, flows, err);
    case BY_WIDE_CABLES:
        return options->max_depth ? BANYAN_SUCCESS
                                  : banyan_forest_contract(topology, graph, 1, options, flows, &good, err);
    default:
        return banyan_forest_equal(graph, options, bound, flows, err);
    }
}

/* Of the bound: the way is not tried if that much is reached already. Trees that forward alone are deep. */
static double share_that_does(way how, int are_many, const banyan_forest_options *options)
{
    if (options->max_trees > BANYAN_FEW_TREES)
        return NEARLY_ALL;
    if (are_many && how == BY_EQUAL_WEIGHTS)
        return MUCH;
    return how == BY_HELP ? NEARLY : BANYAN_TARGET_SHARE;
}

/* One after the other until enough is reached. rate, in bytes per second: what there is already. */
static banyan_status pack_until(const way *order, int are_many, const banyan_topology *topology,
                                const banyan_graph *graph, const banyan_forest_options *options,
                                const banyan_allreduce_bound *bound, double rate, banyan_flows *flows,
                                banyan_error *err)
{
    unsigned char *role = banyan_alloc((size_t)graph->node_count, 1);
    double most = bound->value * graph->unit;
    banyan_graph plain;
    banyan_status status = BANYAN_SUCCESS;

    if (!role)
        return banyan_fail_memory(err);
    plain = banyan_graph_forwarding_view(graph, role);
    for (; !status && *order < WAYS; order++) {
        banyan_flows other;
        double reached = 0;

        if (rate >= share_that_does(*order, are_many, options) * most)
            break;
        banyan_flows_init(&other);
        status = pack_by(*order, topology, graph, &plain, options, bound, &other, err);
        if (!status)
            status = banyan_forest_keep_better(topology, options, flows, &other, &reached, err);
        else
            banyan_flows_fini(&other);
        rate = fmax(rate, reached);
    }
    if (!status && flows->flow_count == 0 && rate <= 0)
        status = banyan_forest_plain(topology, &plain, options, flows, err);
    banyan_free(role);
    return status;
}

/* Idle workers behind switches often have nothing to add, and do as much by forwarding: the bound, which
 * counts their adding in, says so. Of many workers pairs with hubs mostly do best. */
banyan_status banyan_forest_behind_switches(const banyan_topology *topology, const banyan_graph *graph,
                                            const banyan_forest_options *options,
                                            banyan_forest_hub_flows *easy, banyan_flows *flows,
                                            banyan_error *err)
{
    static const way few[] = {BY_FORWARDING, BY_HELP, BY_JOINING, BY_WIDE_CABLES, BY_EQUAL_WEIGHTS, WAYS},
                     many[] = {BY_FORWARDING, BY_JOINING, BY_WIDE_CABLES, BY_EQUAL_WEIGHTS, WAYS},
                     unsure[] = {BY_JOINING, BY_FORWARDING, BY_WIDE_CABLES, BY_EQUAL_WEIGHTS, WAYS};
    banyan_allreduce_bound bound = {.price = banyan_alloc((size_t)graph->arc_count, sizeof(int64_t))};
    int are_many = graph->active_count > BANYAN_MANY_WORKERS || banyan_network_has_many_helpers(graph);
    double enough = options->max_trees > BANYAN_FEW_TREES ? NEARLY_ALL
                    : are_many                            ? MUCH_BY_HUBS
                                                          : BANYAN_TARGET_SHARE;
    banyan_status status = bound.price ? banyan_allreduce_solve(graph, &bound, err) : banyan_fail_memory(err);

    if (!status)
        status = banyan_forest_hubs(graph, options, &bound, easy, err);
    if (!status && easy->rate < enough * bound.value)
        status = pack_until(!are_many                               ? few
                            : bound.reached >= NEARLY * bound.value ? many
                                                                    : unsure,
                            are_many, topology, graph, options, &bound, easy->rate * graph->unit, flows, err);
    banyan_free(bound.price);
    return status;
}
