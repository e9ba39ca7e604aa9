/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/hubs.c: many workers behind switches, some of them idle: pairs of trees with hubs
 * (solve/start/hub_pairs.h), whether links are symmetric or not. */
#include <math.h>

#include "algorithms/forest/parts.h"
#include "core/alloc.h"
#include "solve/cut/minimum_cut.h"
#include "solve/cut/pods.h"
#include "solve/net/effort.h"
#include "solve/start/hub_pairs.h"

#define ENOUGH 0.9903     /* of the bound: trees and weights need no further rebalancing */
#define GOOD 0.9901       /* of an easy bound: nothing else need be tried, */
#define NEARLY_ALL 0.9992 /* where that many trees are allowed that roundings do not matter, */
#define MUCH 0.93     /* and of many workers and asymmetric links, as nothing else does better in good time */
#define WHOLE 0.999   /* of what whole hubs reach where they do not suit that, */
#define SAME 0.9995   /* of the easy bound: hubs do no better for the true one, */
#define WORTH_IT 0.97 /* and of few workers not if they are so far from it */
#define FEW_GROUPS 4  /* up to which the easy bound is mostly tight */

static int count_pairs(const banyan_forest_options *options)
{
    return options->max_trees < BANYAN_FEW_TREES ? options->max_trees : BANYAN_FEW_TREES;
}

static banyan_status pack(const banyan_graph *graph, const banyan_forest_options *options, double bound,
                          int in_hurry, banyan_forest_hub_flows *easy, banyan_error *err)
{
    banyan_pair_packing packing = {.bound_value = bound};
    banyan_hub_pairs_problem problem = {
        .pair_limit = count_pairs(options),
        .least = easy->rate,
        .enough = (options->max_trees > BANYAN_FEW_TREES ? NEARLY_ALL : ENOUGH) * bound,
        .in_hurry = in_hurry};
    banyan_status status = banyan_hub_pairs_find(graph, &problem, &packing, err);

    if (!status && packing.trees.tree_count) {
        easy->rate = packing.total;
        easy->flows.flow_count = 0;
        banyan_forest_take_pairs(&easy->flows, graph, &packing);
    }
    banyan_pair_packing_fini(&packing);
    return status;
}

/* How many workers there are behind switches; 0: it is not so, or trees must not be deep. */
static int count_workers(const banyan_graph *graph, const banyan_forest_options *options)
{
    int adders = 0;

    for (int v = 0; v < graph->node_count; v++)
        adders += (graph->role[v] & BANYAN_NODE_ADDS) != 0;
    return !options->max_depth && banyan_hub_pairs_apply(graph) ? adders : 0;
}

/* What links at workers and the narrowest cut allow, which is mostly the bound where links between switches
 * are wide. */
static banyan_status easy_bound(const banyan_graph *graph, double *out, banyan_error *err)
{
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price), limit, width;
    unsigned char *inside = banyan_alloc((size_t)graph->node_count, 1);
    banyan_status status = price && inside ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status)
        status = banyan_pods_price(graph, price, out, err);
    if (!status) {
        limit = (int64_t)fmin(ceil(*out), 4e18);
        status = banyan_minimum_cut(graph, limit, &width, inside, err);
    }
    if (!status && width < limit)
        *out = (double)width;
    banyan_free(price);
    banyan_free(inside);
    return status;
}

banyan_status banyan_forest_hubs(const banyan_graph *graph, const banyan_forest_options *options,
                                 const banyan_allreduce_bound *bound, banyan_forest_hub_flows *easy,
                                 banyan_error *err)
{
    int workers = count_workers(graph, options);
    double aim = workers > BANYAN_MANY_WORKERS ? 0 : WORTH_IT;

    if (!workers || bound->value >= SAME * easy->bound || easy->rate < aim * bound->value)
        return BANYAN_SUCCESS;
    easy->bound = bound->value;
    return pack(graph, options, bound->value, workers <= BANYAN_MANY_WORKERS, easy, err);
}

banyan_status banyan_forest_hubs_easily(const banyan_graph *graph, const banyan_forest_options *options,
                                        int is_late, banyan_forest_hub_flows *easy, int *good,
                                        banyan_error *err)
{
    int workers = count_workers(graph, options);
    double enough = workers > BANYAN_MANY_WORKERS && !graph->symmetric ? MUCH
                    : options->max_trees > BANYAN_FEW_TREES            ? NEARLY_ALL
                                                                       : GOOD;
    double whole;
    banyan_status status;

    *good = 0;
    easy->rate = 0;
    easy->bound = HUGE_VAL;
    if (workers <= BANYAN_FEW_WORKERS || !banyan_graph_has_idle_adders(graph) ||
        (!is_late && workers <= BANYAN_MANY_WORKERS && banyan_hub_pairs_groups(graph) > FEW_GROUPS))
        return BANYAN_SUCCESS;
    status = easy_bound(graph, &easy->bound, err);
    if (!status && easy->bound > 0 && easy->bound < HUGE_VAL)
        status = pack(graph, options, easy->bound, workers <= BANYAN_MANY_WORKERS, easy, err);
    enough *= easy->bound;
    whole = banyan_hub_pairs_whole(graph, enough, count_pairs(options));
    *good = !status && easy->rate >= (whole < enough ? WHOLE * whole : enough);
    return status;
}
