/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/pack.c: which solver packs which network, and what is made of its answer. */
#include "algorithms/forest/pack.h"

#include <string.h>

#include "algorithms/forest/take.h"
#include "solve/pack/ellipsoid.h"
#include "topology/message.h"

/* Where links are symmetric, the paper's overlap gains nothing over two plain stages: its reduce trees alone
 * cannot weigh more. Plain stages are then among its best plans, and came nearer to the rate when simulated
 * (dgx1 with four workers: 96 %, against 87 % of a plan with fewer links to spare). */
static banyan_status pack_stages(const banyan_graph *graph, const banyan_forest_options *options,
                                 banyan_flows *flows, banyan_error *err)
{
    banyan_pair_packing_problem problem = {.stages =
                                               graph->symmetric ? BANYAN_STAGES_SEQUENTIAL : options->stages,
                                           .tolerance = banyan_graph_has_helpers(graph) ? 1e-5 : 1e-9,
                                           .round_limit = 1000};
    banyan_pair_packing packing;
    banyan_status status = banyan_pair_packing_by_columns(graph, &problem, NULL, &packing, err);

    if (status)
        return status;
    banyan_forest_take_pairs(flows, graph, &packing);
    banyan_pair_packing_fini(&packing);
    return BANYAN_SUCCESS;
}

/* The paper's way: trees by the ellipsoid method, then one program over them. */
static banyan_status pack_by_ellipsoid(const banyan_graph *graph, banyan_flows *flows, banyan_error *err)
{
    banyan_pair_packing packing = {0};
    banyan_status status = banyan_pair_packing_by_ellipsoid(graph, 1e-5, &packing, err);

    if (!status)
        banyan_forest_take_pairs(flows, graph, &packing);
    banyan_pair_packing_fini(&packing);
    return status;
}

static int has_size(const banyan_problem *problem)
{
    return problem->bytes > 0 && !problem->is_size_open;
}

/* Some rank's values come to another, on another host where there are several, and their sum comes back. */
static double least_wait(const banyan_problem *problem)
{
    banyan_message_cost cost;
    int is_far = 0;

    for (int r = 0; r < problem->active_count; r++)
        is_far |= banyan_message_is_far(problem->topology, problem->active[0], problem->active[r]);
    cost = banyan_message_cost_of(is_far);
    return 2 * (2 * cost.busy_s + cost.under_way_s);
}

banyan_status banyan_forest_options_read(const banyan_problem *problem, banyan_forest_options *out,
                                         banyan_error *err)
{
    static const char *const stages[] = {"pipelined", "sequential", "overlap"}, *const methods[] = {
                                                                                    "grow", "ellipsoid"};
    const char *text = banyan_problem_parameter(problem, "stages", "pipelined");
    const char *method = banyan_problem_parameter(problem, "method", "grow");
    banyan_status status;
    int i = 0;

    *out = (banyan_forest_options){.budget = problem->budget ? problem->budget
                                                             : banyan_effort_budget(BANYAN_EFFORT_MEASURE)};
    while (i < 3 && strcmp(text, stages[i]))
        i++;
    if (i == 3)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "stages is '%s'; it can be pipelined, sequential or overlap", text);
    out->stages = (banyan_stages)i;
    for (i = 0; i < 2 && strcmp(method, methods[i]);)
        i++;
    if (i == 2)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "method is '%s'; it can be grow or ellipsoid",
                           method);
    out->method = (banyan_forest_method)i;
    if (out->method == BANYAN_FOREST_ELLIPSOID && out->stages != BANYAN_STAGES_PIPELINED)
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT,
            "the ellipsoid method finds pipelined trees only: stages '%s' need the method 'grow'", text);
    status = banyan_relays_parse(
        banyan_problem_parameter(problem, "relays", problem->relays ? problem->relays : "add"), &out->relays,
        err);
    if (!status)
        status = banyan_problem_integer(problem, "max-trees", 64, 1, 100000, &out->max_trees, err);
    if (!status)
        status = banyan_problem_integer(problem, "max-depth", 0, 0, 100000, &out->max_depth, err);
    if (!status && out->max_depth &&
        (out->stages != BANYAN_STAGES_PIPELINED || out->method == BANYAN_FOREST_ELLIPSOID))
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT,
            "max-depth needs stages 'pipelined' and method 'grow', but these are '%s' and '%s'", text,
            method);
    if (has_size(problem))
        out->wait_s_per_byte = least_wait(problem) / (double)problem->bytes;
    return status;
}

/* Where no root is that near to all others, trees grow deeper than they may (solve/start/grown_pairs.c). */
static banyan_status check_depth(const banyan_flows *flows, int max_depth, banyan_error *err)
{
    int depth = banyan_flows_depth(flows);

    if (!max_depth || depth <= max_depth)
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "max-depth is %d, but the trees that were found here have depth %d", max_depth, depth);
}

banyan_status banyan_forest_pack(const banyan_problem *problem, const banyan_forest_options *options,
                                 banyan_flows *flows, banyan_error *err)
{
    banyan_graph *graph;
    banyan_status status = banyan_network_graph(problem->topology, problem->active, problem->active_count,
                                                options->relays, &graph, err);

    if (status)
        return status;
    if (options->method == BANYAN_FOREST_ELLIPSOID)
        status = pack_by_ellipsoid(graph, flows, err);
    else if (options->stages == BANYAN_STAGES_PIPELINED)
        status = banyan_forest_starts(problem->topology, graph, options, flows, err);
    else
        status = pack_stages(graph, options, flows, err);
    if (!status && flows->failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = check_depth(flows, options->max_depth, err);
    if (!status)
        status = banyan_flows_limit(flows, problem->topology, (size_t)options->max_trees, err);
    if (!status && has_size(problem))
        status = banyan_flows_fit(flows, problem->topology, problem->bytes, err);
    banyan_graph_destroy(graph);
    return status;
}
