/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/packed-hubs.c: many workers behind switches, some of them idle: pairs of trees with hubs (solve/hub-pairs.h), whether
 * directions are alike or not. */
#include <math.h>

#include "algorithms/packed-parts.h"
#include "core/alloc.h"
#include "solve/hub-pairs.h"
#include "solve/narrowest.h"
#include "solve/service.h"

#define ENOUGH 0.992    /* of the bound: trees and weights need not settle any further */
#define GOOD 0.97       /* of an easy bound: nothing else does better in good time */
#define MANY_WORKERS 96 /* more than these: else there are other ways */

static banyan_status pack(const banyan_graph *graph, const banyan_packed_options *options, double bound,
                          banyan_flows *flows, double *rate, banyan_error *err)
{
    banyan_coupled packing = {.bound_value = bound};
    banyan_hub_pairs_problem problem = {
        .pair_limit = options->max_trees, .least = *rate, .enough = ENOUGH * bound};
    banyan_status status = banyan_hub_pairs_find(graph, &problem, &packing, err);

    if (!status && packing.trees.tree_count) {
        *rate = packing.total;
        flows->flow_count = 0;
        banyan_packed_take_pairs(flows, graph, &packing);
    }
    banyan_coupled_fini(&packing);
    return status;
}

static int applies(const banyan_graph *graph, const banyan_packed_options *options)
{
    int adders = 0;

    for (int v = 0; v < graph->node_count; v++)
        adders += (graph->role[v] & BANYAN_NODE_ADDS) != 0;
    return adders > MANY_WORKERS && !options->max_depth && banyan_hub_pairs_apply(graph);
}

banyan_status banyan_packed_hubs(const banyan_graph *graph, const banyan_packed_options *options,
                                 const banyan_allreduce_bound *bound, banyan_flows *flows, double *rate,
                                 banyan_error *err)
{
    return applies(graph, options) ? pack(graph, options, bound->value, flows, rate, err) : BANYAN_SUCCESS;
}

/* What links at workers and the narrowest cut allow, which is mostly the bound where links between switches are wide. */
static banyan_status easy_bound(const banyan_graph *graph, double *out, banyan_error *err)
{
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price), limit, width;
    unsigned char *inside = banyan_alloc((size_t)graph->node_count, 1);
    banyan_status status = price && inside ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status)
        status = banyan_service_price(graph, price, out, err);
    if (!status) {
        limit = (int64_t)fmin(ceil(*out), 4e18);
        status = banyan_narrowest_cut(graph, limit, &width, inside, err);
    }
    if (!status && width < limit)
        *out = (double)width;
    banyan_free(price);
    banyan_free(inside);
    return status;
}

banyan_status banyan_packed_hubs_unlike(const banyan_graph *graph, const banyan_packed_options *options,
                                        banyan_flows *flows, int *good, banyan_error *err)
{
    double rate = 0, bound = 0;
    banyan_status status;

    *good = 0;
    if (!applies(graph, options))
        return BANYAN_SUCCESS;
    status = easy_bound(graph, &bound, err);
    if (!status && bound > 0)
        status = pack(graph, options, bound, flows, &rate, err);
    *good = !status && rate >= GOOD * bound;
    if (!*good)
        flows->flow_count = 0;
    return status;
}
