/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/all_active.c: networks without switches or idle workers. Grids have combs, which one
 * linear program weighs; elsewhere, and where the combs fall short, trees are peeled off one by one and then
 * flattened. Where that takes too many, as on cables between all pairs, trees of whole units do. */
#include "algorithms/forest/parts.h"
#include "algorithms/grid_trees.h"
#include "core/alloc.h"
#include "solve/cut/strength.h"
#include "solve/net/effort.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/round/reduce_depth.h"
#include "solve/start/peel.h"

#define BEST 0.9999       /* the same for stars */
#define MANY_AT_A_NODE 64 /* or that many of them there, a program takes long, and little comes of it where */
#define HARDLY 0.9        /* of the bound is there */
#define NEARLY_WITH_MORE 0.999 /* and where more trees are allowed */
#define ENOUGH_TREES 512       /* but on very many cables, and then no more than these */

/* The combs of a grid, weighted by one linear program. *good says whether they come near enough to the
 * optimum. */
static banyan_status pack_combs(const banyan_topology *topology, const banyan_graph *graph, double enough,
                                int max_trees, banyan_flows *flows, int *good, banyan_error *err)
{
    banyan_tree_packing_problem problem = {.oracle = banyan_oracle_tree, .tolerance = 1e-9};
    banyan_tree_packing packing;
    banyan_trees combs;
    banyan_oracle *oracle = NULL;
    banyan_status status;

    *good = 0;
    banyan_trees_init(&combs);
    status = banyan_grid_trees_add(topology, graph, (size_t)max_trees, &combs, err);
    if (!status)
        status = banyan_oracle_create(graph, &oracle, err);
    problem.context = oracle;
    problem.seed = &combs;
    if (!status && combs.tree_count) {
        status = banyan_tree_packing_solve(graph, &problem, &packing, err);
        if (!status && packing.total >= enough) {
            *good = 1;
            banyan_forest_take(flows, graph, &packing);
        }
        if (!status)
            banyan_tree_packing_fini(&packing);
    }
    banyan_oracle_destroy(oracle);
    banyan_trees_fini(&combs);
    return status;
}

/* In the place of what was peeled off, if they reach more: trees that are found for the number that is
 * allowed. */
static banyan_status pack_units(const banyan_graph *graph, const banyan_forest_options *options,
                                banyan_peel *peel, banyan_error *err)
{
    int *part = banyan_alloc((size_t)graph->node_count, sizeof *part), part_count;
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price);
    banyan_forest_options limited = *options;
    banyan_oracle *oracle = NULL;
    banyan_fraction strength;
    banyan_forest_trees few;
    banyan_status status =
        part && price ? banyan_strength(graph, &strength, part, &part_count, err) : banyan_fail_memory(err);

    if (!status)
        status = banyan_oracle_create(graph, &oracle, err);
    for (int i = 0; !status && i < graph->arc_count; i++)
        price[i] = part[graph->arcs[i].src] != part[graph->arcs[i].dst];
    if (limited.max_trees > ENOUGH_TREES)
        limited.max_trees = ENOUGH_TREES;
    if (!status)
        status =
            banyan_forest_few(graph, price, peel->optimum, &limited, banyan_oracle_tree, oracle, &few, err);
    if (!status && few.total > peel->total) {
        banyan_peel packed = {few.trees, few.weight, few.total, peel->optimum};

        banyan_peel_fini(peel);
        *peel = packed;
    } else if (!status) {
        banyan_forest_trees_fini(&few);
    }
    banyan_oracle_destroy(oracle);
    banyan_free(part);
    banyan_free(price);
    return status;
}

static banyan_status peel_and_flatten(const banyan_topology *topology, const banyan_graph *graph,
                                      const banyan_forest_options *options, banyan_flows *flows,
                                      banyan_error *err)
{
    banyan_peel_problem problem = {
        .tree_limit = options->max_trees, .enough = 0.9992, .least = BANYAN_TARGET_SHARE};
    size_t most;
    banyan_peel peel;
    double rate = 0, nearly;
    int radius, is_large = graph->arc_count > BANYAN_LP_ARCS ||
                           graph->arc_count > MANY_AT_A_NODE * graph->active_count;
    banyan_status status = banyan_forest_radius(graph, &radius, err);

    if (status)
        return status;
    if (is_large && problem.tree_limit > BANYAN_FEW_TREES)
        problem.tree_limit = BANYAN_FEW_TREES;
    status = banyan_peel_solve(graph, &problem, &peel, err);
    if (status)
        return status;
    nearly = options->max_trees > BANYAN_FEW_TREES && peel.trees.tree_count < (size_t)options->max_trees
                 ? NEARLY_WITH_MORE
                 : BANYAN_TARGET_SHARE;
    if (peel.total < (is_large ? nearly : BANYAN_TARGET_SHARE) * peel.optimum &&
        (is_large || options->max_trees <= BANYAN_FEW_TREES))
        status = pack_units(graph, options, &peel, err);
    if (!status && peel.total < nearly * peel.optimum && (!is_large || peel.total < HARDLY * peel.optimum)) {
        status = banyan_forest_columns(graph, &peel.trees, 0.9992 * peel.optimum, flows, err);
        if (!status && !flows->failed)
            status = banyan_flows_limit(flows, topology, (size_t)options->max_trees, err);
        if (!status && !flows->failed)
            status = banyan_flows_rate(flows, topology, &rate, err);
    }
    if (!status && rate < peel.total * graph->unit) {
        flows->flow_count = 0;
        most = is_large && options->max_trees > BANYAN_FEW_TREES ? peel.trees.tree_count
                                                                 : (size_t)options->max_trees;
        status = banyan_reduce_depth(graph, &peel.trees, &peel.weight,
                                     options->max_depth ? options->max_depth : radius + 1, most, err);
        for (size_t t = 0; !status && t < peel.trees.tree_count; t++)
            banyan_flows_add_tree(flows, graph, &peel.trees, t, -1, peel.weight[t]);
    }
    banyan_peel_fini(&peel);
    return status;
}

/* All pairs of active workers cabled, one cable each; what is idle has none. */
static int joins_all(const banyan_graph *graph)
{
    int nodes = graph->active_count;

    for (int v = 0; v < graph->node_count; v++)
        if (graph->out_first[v + 1] - graph->out_first[v] !=
            (graph->role[v] & BANYAN_NODE_ACTIVE ? nodes - 1 : 0))
            return 0;
    for (int i = 0; i < graph->arc_count; i++)
        for (int j = graph->out_first[graph->arcs[i].src]; graph->out_arc[j] != i; j++)
            if (graph->arcs[graph->out_arc[j]].dst == graph->arcs[i].dst)
                return 0;
    return nodes > 2;
}

/* A star at every worker, each with half of its narrowest cable: where all are as wide, that is the best,
 * with one hop. */
static banyan_status pack_stars(const banyan_graph *graph, double enough, banyan_flows *flows, int *good,
                                banyan_error *err)
{
    double total = 0;
    banyan_trees stars;
    banyan_status status = BANYAN_SUCCESS;

    banyan_trees_init(&stars);
    for (int t = 0; t < graph->active_count; t++) {
        int64_t narrowest = INT64_MAX;
        int v = graph->active[t];

        banyan_trees_begin(&stars);
        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
            const banyan_arc *arc = &graph->arcs[graph->out_arc[j]];

            narrowest = arc->capacity < narrowest ? arc->capacity : narrowest;
            banyan_trees_add_edge(&stars, v, arc->dst);
            banyan_trees_add_arc(&stars, graph->out_arc[j]);
        }
        if (stars.failed)
            break;
        total += 0.5 * (double)narrowest;
        banyan_flows_add_tree(flows, graph, &stars, (size_t)t, v, 0.5 * (double)narrowest);
    }
    if (stars.failed || flows->failed)
        status = banyan_fail_memory(err);
    *good = !status && total >= enough;
    if (!*good)
        flows->flow_count = 0;
    banyan_trees_fini(&stars);
    return status;
}

static banyan_status find_strength(const banyan_graph *graph, double *out, banyan_error *err)
{
    int *part = banyan_alloc((size_t)graph->node_count, sizeof *part), part_count;
    banyan_fraction strength;
    banyan_status status =
        part ? banyan_strength(graph, &strength, part, &part_count, err) : banyan_fail_memory(err);

    banyan_free(part);
    *out = status ? 0 : banyan_fraction_value(strength);
    return status;
}

/* Every node active: the optimum is the strength, and few trees reach it. */
banyan_status banyan_forest_all_active(const banyan_topology *topology, const banyan_graph *graph,
                                       const banyan_forest_options *options, banyan_flows *flows,
                                       banyan_error *err)
{
    int good = 0, has_combs = banyan_grid_trees_apply(topology, graph),
        has_stars = graph->active_count <= options->max_trees && joins_all(graph);
    double strength = 0;
    banyan_status status = has_combs || has_stars ? find_strength(graph, &strength, err) : BANYAN_SUCCESS;

    if (!status && has_stars)
        status = pack_stars(graph, strength * BEST, flows, &good, err);
    if (!status && !good && has_combs)
        status = pack_combs(topology, graph,
                            strength * (graph->active_count > 100 && options->max_trees <= BANYAN_FEW_TREES
                                            ? BANYAN_TARGET_SHARE
                                            : NEARLY_WITH_MORE),
                            options->max_trees, flows, &good, err);
    if (!status && !good)
        status = peel_and_flatten(topology, graph, options, flows, err);
    return status;
}
