/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/pack.c: which solver packs which network, and what is made of its answer. */
#include "algorithms/forest/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/forest/parts.h"
#include "bound/allreduce.h"
#include "core/alloc.h"
#include "solve/cut/steiner_cuts.h"
#include "solve/net/effort.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/pack/ellipsoid.h"
#include "solve/pack/tree_columns.h"
#include "solve/start/equal_pairs.h"

#define FEW_ARCS 64 /* with so few the best is soon found */
#define MORE 1.005  /* times what is reached would make stars worth it, though they are not good */

/* Where links are symmetric, the paper's overlap gains nothing over two plain stages: its reduce trees alone
 * cannot weigh more. Plain stages are then among its best plans, and came nearer to the rate when simulated
 * (dgx1 with four workers: 96 %, against 87 % of a plan with fewer links to spare). */
static banyan_status pack_coupled(const banyan_graph *graph, const banyan_forest_options *options,
                                  const banyan_forest_known *known, banyan_flows *flows, double *bound,
                                  banyan_error *err)
{
    banyan_pair_packing_problem problem = {.stages = options->stages,
                                           .tolerance = banyan_graph_has_helpers(graph) ? 1e-5 : 1e-9,
                                           .round_limit = 1000,
                                           .depth_limit = options->max_depth,
                                           .tree_limit = options->max_trees,
                                           .known_price = known->bound > 0 ? known->price : NULL,
                                           .known_root = known->bound > 0 ? known->root : NULL,
                                           .known_bound = known->bound / graph->unit};
    banyan_pair_packing packing;
    banyan_status status;

    if (graph->symmetric && options->stages == BANYAN_STAGES_OVERLAP)
        problem.stages = BANYAN_STAGES_SEQUENTIAL;
    status = banyan_pair_packing_solve(graph, &problem, &packing, err);
    if (status)
        return status;
    banyan_forest_take_pairs(flows, graph, &packing);
    *bound = packing.bound_value * graph->unit;
    banyan_pair_packing_fini(&packing);
    return BANYAN_SUCCESS;
}

/* The paper's way: trees by the ellipsoid method, then one program over them. */
static banyan_status pack_by_ellipsoid(const banyan_graph *graph, banyan_flows *flows, banyan_error *err)
{
    banyan_tree_packing_problem problem = {.oracle = banyan_oracle_tree, .tolerance = 1e-9};
    banyan_ellipsoid_effort effort;
    banyan_tree_packing packing;
    banyan_trees trees;
    banyan_oracle *oracle = NULL;
    banyan_status status;

    if (banyan_graph_has_idle_adders(graph))
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "the ellipsoid method does not use relays: give relays=forward");
    banyan_trees_init(&trees);
    status = banyan_oracle_create(graph, &oracle, err);
    if (!status)
        status = banyan_ellipsoid_trees(graph, banyan_oracle_tree, oracle, 1e-5, &trees, &effort, err);
    problem.context = oracle;
    problem.seed = &trees;
    if (!status) {
        status = banyan_tree_packing_solve(graph, &problem, &packing, err);
        if (!status) {
            banyan_forest_take(flows, graph, &packing);
            banyan_tree_packing_fini(&packing);
        }
    }
    banyan_trees_fini(&trees);
    banyan_oracle_destroy(oracle);
    return status;
}

static banyan_status pack_helped(const banyan_topology *topology, const banyan_graph *graph,
                                 const banyan_forest_options *options, banyan_forest_hub_flows *easy,
                                 banyan_flows *flows, banyan_error *err)
{
    int is_dense = banyan_graph_is_dense(graph) && !banyan_graph_has_forwarders(graph);

    if (graph->active_count <= BANYAN_MANY_WORKERS && !banyan_network_has_many_helpers(graph) &&
        banyan_network_is_searched(graph) && !banyan_forest_is_tight(graph, options) &&
        !(is_dense && (options->max_trees <= BANYAN_FEW_TREES || graph->arc_count > BANYAN_LP_ARCS)))
        return banyan_forest_switched(topology, graph, options, flows, err);
    return banyan_graph_has_forwarders(graph)
               ? banyan_forest_behind_switches(topology, graph, options, easy, flows, err)
               : banyan_forest_steiner(graph, options, NULL, flows, err);
}

/* Every node adds: stars at idle nodes first, if they are good, and last, if they may do better than all
 * else. */
static banyan_status pack_beside_stars(const banyan_topology *topology, const banyan_graph *graph,
                                       const banyan_forest_options *options, banyan_forest_hub_flows *easy,
                                       banyan_flows *flows, banyan_error *err)
{
    double rate = 0;
    int good = 0;
    banyan_flows stars;
    banyan_status status = banyan_forest_stars(topology, graph, options, 0, flows, &good, err);

    if (status || good)
        return status;
    status = pack_helped(topology, graph, options, easy, flows, err);
    if (status || flows->failed)
        return status;
    status = banyan_flows_rate(flows, topology, &rate, err);
    banyan_flows_init(&stars);
    if (!status)
        status = banyan_forest_stars(topology, graph, options, rate * MORE, &stars, &good, err);
    if (!status && good)
        return banyan_forest_keep_better(topology, options, flows, &stars, &rate, err);
    banyan_flows_fini(&stars);
    return status;
}

/* easy: what there is already; if it is enough there are no flows. */
static banyan_status pack_symmetric(const banyan_topology *topology, const banyan_graph *graph,
                                    const banyan_forest_options *options, banyan_forest_hub_flows *easy,
                                    banyan_flows *flows, banyan_error *err)
{
    if (banyan_graph_all_active(graph))
        return banyan_forest_all_active(topology, graph, options, flows, err);
    if (!banyan_graph_has_idle_adders(graph))
        return banyan_forest_plain(topology, graph, options, flows, err);
    if (!banyan_graph_has_forwarders(graph) && !options->max_depth)
        return pack_beside_stars(topology, graph, options, easy, flows, err);
    return pack_helped(topology, graph, options, easy, flows, err);
}

static banyan_status pack_either(const banyan_topology *topology, const banyan_graph *graph,
                                 const banyan_forest_options *options, banyan_flows *flows, banyan_error *err)
{
    banyan_forest_hub_flows easy = {.bound = HUGE_VAL};
    double rate;
    banyan_status status;

    banyan_flows_init(&easy.flows);
    status = pack_symmetric(topology, graph, options, &easy, flows, err);
    if (!status && easy.flows.flow_count)
        return banyan_forest_keep_better(topology, options, flows, &easy.flows, &rate, err);
    banyan_flows_fini(&easy.flows);
    return status;
}

/* Nodes that only add or only copy, where that brings nothing: trees of the network in which they just
 * forward. */
static banyan_status pack_even(const banyan_topology *topology, const banyan_graph *graph,
                               const banyan_forest_options *options, banyan_flows *flows, int *good,
                               banyan_error *err)
{
    unsigned char *role = banyan_alloc((size_t)graph->node_count, 1);
    banyan_allreduce_bound bound = {.price = banyan_alloc((size_t)graph->arc_count, sizeof(int64_t))};
    banyan_status status = role && bound.price ? BANYAN_SUCCESS : banyan_fail_memory(err);

    *good = 0;
    if (!status)
        status = banyan_allreduce_solve_even(graph, &bound, good, err);
    if (!status && *good) {
        banyan_graph even = banyan_graph_even_view(graph, role);

        status = pack_either(topology, &even, options, flows, err);
    }
    banyan_free(role);
    banyan_free(bound.price);
    return status;
}

static banyan_status pack_unlike(const banyan_topology *topology, const banyan_graph *graph,
                                 const banyan_forest_options *options, banyan_forest_hub_flows *easy,
                                 banyan_flows *flows, banyan_error *err)
{
    banyan_forest_known known = {.price = banyan_alloc((size_t)graph->arc_count, sizeof *known.price),
                                 .root = banyan_alloc((size_t)graph->node_count, sizeof *known.root)};
    int good = 0;
    double bound = 0;
    banyan_status status = known.price && known.root ? pack_even(topology, graph, options, flows, &good, err)
                                                     : banyan_fail_memory(err);

    for (int i = 0; known.root && i < graph->active_count; i++)
        known.root[graph->active[i]] = 1;
    if (!status && !good && (graph->active_count > 24 || banyan_graph_has_helpers(graph)) &&
        graph->arc_count > FEW_ARCS)
        status = banyan_forest_symmetrise(topology, graph, options, flows, &known, &good, err);
    if (!status && !good && easy->rate <= 0)
        status = banyan_forest_hubs_easily(graph, options, 1, easy, &good, err);
    if (!status && !good)
        status = pack_coupled(graph, options, &known, flows, &bound, err);
    if (!status && !good && !options->max_depth && (graph->active_count > 24 || banyan_graph_is_dense(graph)))
        status = banyan_forest_try_narrow(topology, graph, options, flows, bound, err);
    banyan_free(known.price);
    banyan_free(known.root);
    return status;
}

/* Pairs with hubs, which mostly will do, or else whatever is better. */
static banyan_status pack_behind_switches(const banyan_topology *topology, const banyan_graph *graph,
                                          const banyan_forest_options *options, banyan_flows *flows,
                                          banyan_error *err)
{
    banyan_forest_hub_flows easy;
    double rate;
    int good;
    banyan_status status;

    banyan_flows_init(&easy.flows);
    status = banyan_forest_hubs_easily(graph, options, 0, &easy, &good, err);
    if (!status && !good)
        status = graph->symmetric ? pack_symmetric(topology, graph, options, &easy, flows, err)
                                  : pack_unlike(topology, graph, options, &easy, flows, err);
    if (!status && easy.flows.flow_count)
        return banyan_forest_keep_better(topology, options, flows, &easy.flows, &rate, err);
    banyan_flows_fini(&easy.flows);
    return status;
}

static banyan_status pack_any(const banyan_topology *topology, const banyan_graph *graph,
                              const banyan_forest_options *options, banyan_flows *flows, banyan_error *err)
{
    int good = 0;
    banyan_status status = BANYAN_SUCCESS;

    if (!options->max_depth &&
        (graph->symmetric ? banyan_graph_has_idle_adders(graph) : !banyan_graph_all_active(graph)))
        status = banyan_forest_contract(topology, graph, !graph->symmetric, options, flows, &good, err);
    if (!status && !good)
        status = banyan_forest_bypass(graph, options, flows, &good, err);
    return status || good ? status : pack_behind_switches(topology, graph, options, flows, err);
}

banyan_status banyan_forest_options_read(const banyan_problem *problem, banyan_forest_options *out,
                                         banyan_error *err)
{
    static const char *const stages[] = {"pipelined", "sequential", "overlap"}, *const methods[] = {
                                                                                    "columns", "grow",
                                                                                    "ellipsoid"};
    const char *text = banyan_problem_parameter(problem, "stages", "pipelined");
    const char *method = banyan_problem_parameter(problem, "method", "columns");
    banyan_status status;
    int i = 0;

    *out = (banyan_forest_options){.pack_any = pack_any, .pack_symmetric = pack_either};
    while (i < 3 && strcmp(text, stages[i]))
        i++;
    if (i == 3)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "stages is '%s'; it can be pipelined, sequential or overlap", text);
    out->stages = (banyan_stages)i;
    for (i = 0; i < 3 && strcmp(method, methods[i]);)
        i++;
    if (i == 3)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "method is '%s'; it can be columns, grow or ellipsoid", method);
    out->method = (banyan_forest_method)i;
    if (out->method != BANYAN_FOREST_COLUMNS && out->stages != BANYAN_STAGES_PIPELINED)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the %s method finds pipelined trees only: stages '%s' need the method 'columns'",
                           method, text);
    status = banyan_relays_parse(
        banyan_problem_parameter(problem, "relays", problem->relays ? problem->relays : "add"), &out->relays,
        err);
    if (!status)
        status = banyan_problem_integer(problem, "max-trees", 64, 1, 100000, &out->max_trees, err);
    if (!status)
        status = banyan_problem_integer(problem, "max-depth", 0, 0, 100000, &out->max_depth, err);
    return status;
}

banyan_status banyan_forest_pack(const banyan_problem *problem, const banyan_forest_options *options,
                                 banyan_flows *flows, banyan_error *err)
{
    banyan_graph *graph;
    double bound;
    banyan_status status = banyan_network_graph(problem->topology, problem->active, problem->active_count,
                                                options->relays, &graph, err);

    if (status)
        return status;
    if (options->method == BANYAN_FOREST_ELLIPSOID)
        status = pack_by_ellipsoid(graph, flows, err);
    else if (options->method == BANYAN_FOREST_GROW)
        status = banyan_forest_starts(graph, options, flows, err);
    else if (options->stages == BANYAN_STAGES_PIPELINED)
        status = pack_any(problem->topology, graph, options, flows, err);
    else
        status = pack_coupled(graph, options, &(banyan_forest_known){.bound = 0}, flows, &bound, err);
    if (!status && flows->failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = banyan_flows_limit(flows, problem->topology, (size_t)options->max_trees, err);
    if (!status && problem->bytes > 0 && !problem->is_size_open)
        status = banyan_flows_fit(flows, problem->topology, problem->bytes, err);
    banyan_graph_destroy(graph);
    return status;
}
