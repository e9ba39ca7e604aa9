/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/packed.c: which solver packs which network, and what is made of its answer. */
#include "algorithms/packed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/packing.h"
#include "solve/spanning.h"
#include "solve/steiner.h"

banyan_status banyan_packed_options_read(const banyan_problem *problem, banyan_packed_options *out,
                                         banyan_error *err)
{
    static const char *const stages[] = {"pipelined", "sequential", "overlap"};
    const char *text = banyan_problem_parameter(problem, "stages", "pipelined");
    const char *method = banyan_problem_parameter(problem, "method", "columns");
    banyan_status status;
    int i = 0;

    memset(out, 0, sizeof *out);
    while (i < 3 && strcmp(text, stages[i]))
        i++;
    if (i == 3)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "stages is «%s»; it can be pipelined, sequential or overlap", text);
    out->stages = (banyan_stages)i;
    out->by_ellipsoid = strcmp(method, "ellipsoid") == 0;
    if (!out->by_ellipsoid && strcmp(method, "columns"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "method is «%s»; it can be columns or ellipsoid",
                           method);
    status = banyan_relays_parse(banyan_problem_parameter(problem, "relays", "add"), &out->relays, err);
    if (!status)
        status = banyan_problem_integer(problem, "max-trees", 64, 1, 100000, &out->max_trees, err);
    if (!status)
        status = banyan_problem_integer(problem, "max-depth", 0, 0, 100000, &out->max_depth, err);
    return status;
}

static int64_t spanning_oracle(void *context, const int64_t *cost, banyan_trees *trees)
{
    return banyan_spanning_tree(context, NULL, cost, trees);
}

typedef struct {
    banyan_closure closure;
    banyan_steiner *steiner;
} steiner_oracle;

static int64_t find_steiner(void *context, const int64_t *cost, banyan_trees *trees)
{
    steiner_oracle *oracle = context;

    banyan_closure_measure(&oracle->closure, cost);
    banyan_steiner_prepare(oracle->steiner, 0);
    return banyan_steiner_tree(oracle->steiner, oracle->closure.index[oracle->closure.graph->active[0]],
                               trees);
}

static int has_idle_adders(const banyan_graph *graph)
{
    for (int v = 0; v < graph->node_count; v++)
        if (!(graph->role[v] & BANYAN_NODE_ACTIVE) && (graph->role[v] & BANYAN_NODE_ADDS))
            return 1;
    return 0;
}

static void take_trees(banyan_flows *flows, const banyan_graph *graph, const banyan_packing *packing)
{
    for (size_t t = 0; t < packing->trees.tree_count; t++)
        if (packing->weight[t] > 1e-9 * packing->total)
            banyan_flows_add_tree(flows, graph, &packing->trees, t, -1, packing->weight[t]);
}

static banyan_status pack_spanning(const banyan_graph *graph, banyan_flows *flows, banyan_error *err)
{
    banyan_packing_problem problem = {
        .oracle = spanning_oracle, .tolerance = 1e-9, .warm_trees = 60, .round_limit = 3000};
    banyan_packing packing;
    banyan_spanning *spanning;
    banyan_status status = banyan_spanning_create(graph, &spanning, err);

    if (status)
        return status;
    problem.context = spanning;
    status = banyan_packing_solve(graph, &problem, &packing, err);
    banyan_spanning_destroy(spanning);
    if (status)
        return status;
    take_trees(flows, graph, &packing);
    banyan_packing_fini(&packing);
    return BANYAN_SUCCESS;
}

static banyan_status pack_steiner(const banyan_graph *graph, banyan_flows *flows, banyan_error *err)
{
    banyan_packing_problem problem = {
        .oracle = find_steiner, .tolerance = 1e-9, .warm_trees = 40, .round_limit = 1000};
    banyan_packing packing;
    steiner_oracle oracle = {.steiner = NULL};
    banyan_status status = banyan_closure_init(&oracle.closure, graph, BANYAN_NODE_ADDS, err);

    if (!status)
        status = banyan_steiner_create(&oracle.closure, &oracle.steiner, err);
    problem.context = &oracle;
    if (!status)
        status = banyan_packing_solve(graph, &problem, &packing, err);
    banyan_steiner_destroy(oracle.steiner);
    banyan_closure_fini(&oracle.closure);
    if (status)
        return status;
    take_trees(flows, graph, &packing);
    banyan_packing_fini(&packing);
    return BANYAN_SUCCESS;
}

/* At each root, the in-trees' weights laid end to end against the out-trees': every overlap is a flow. */
static void pair_trees(banyan_flows *flows, const banyan_graph *graph, const banyan_coupled *packing)
{
    for (int root = 0; root < graph->node_count; root++) {
        size_t in = 0, out = 0, count = packing->trees.tree_count;
        double in_left = 0, out_left = 0;

        for (;;) {
            double share;

            while (in < count && (packing->root[in] != root || packing->kind[in] != BANYAN_TREE_IN ||
                                  packing->weight[in] <= 1e-9 * packing->total))
                in++;
            while (out < count && (packing->root[out] != root || packing->kind[out] == BANYAN_TREE_IN ||
                                   packing->weight[out] <= 1e-9 * packing->total))
                out++;
            if (in == count || out == count)
                break;
            in_left = in_left > 0 ? in_left : packing->weight[in];
            out_left = out_left > 0 ? out_left : packing->weight[out];
            share = in_left < out_left ? in_left : out_left;
            if (share > 1e-9 * packing->total)
                banyan_flows_add_pair(flows, graph, &packing->trees, in, out, root, share);
            in_left -= share;
            out_left -= share;
            if (in_left <= 1e-9 * packing->total) {
                in_left = 0;
                in++;
            }
            if (out_left <= 1e-9 * packing->total) {
                out_left = 0;
                out++;
            }
        }
    }
}

static banyan_status pack_coupled(const banyan_graph *graph, banyan_stages stages, banyan_flows *flows,
                                  banyan_error *err)
{
    banyan_coupled_problem problem = {.stages = stages, .tolerance = 1e-9, .round_limit = 1000};
    banyan_coupled packing;
    banyan_status status = banyan_coupled_solve(graph, &problem, &packing, err);

    if (status)
        return status;
    pair_trees(flows, graph, &packing);
    banyan_coupled_fini(&packing);
    return BANYAN_SUCCESS;
}

banyan_status banyan_packed_find(const banyan_problem *problem, const banyan_packed_options *options,
                                 banyan_flows *flows, banyan_error *err)
{
    banyan_graph *graph;
    banyan_status status = banyan_network_graph(problem->topology, problem->active, problem->active_count,
                                                options->relays, &graph, err);

    if (status)
        return status;
    if (!graph->symmetric || options->stages != BANYAN_STAGES_PIPELINED)
        status = pack_coupled(graph, options->stages, flows, err);
    else if (has_idle_adders(graph))
        status = pack_steiner(graph, flows, err);
    else
        status = pack_spanning(graph, flows, err);
    if (!status && flows->failed)
        status = banyan_fail_memory(err);
    if (!status)
        banyan_flows_keep_heaviest(flows, (size_t)options->max_trees);
    banyan_graph_destroy(graph);
    return status;
}
