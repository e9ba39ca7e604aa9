/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/packed.c: which solver packs which network, and what is made of its answer. */
#include "algorithms/packed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/grid-trees.h"
#include "core/alloc.h"
#include "solve/flatten.h"
#include "solve/hubs.h"
#include "solve/packing.h"
#include "solve/peel.h"
#include "solve/spanning.h"
#include "solve/steiner.h"
#include "solve/strength.h"

#define MANY_WORKERS 96

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

/* Column generation, from the seed's trees where there are some, until enough is packed. */
static banyan_status pack_spanning(const banyan_graph *graph, const banyan_trees *seed, double enough,
                                   banyan_flows *flows, banyan_error *err)
{
    banyan_packing_problem problem = {.oracle = spanning_oracle,
                                      .tolerance = 1e-9,
                                      .good_enough = enough,
                                      .warm_trees = seed && seed->tree_count ? 1 : 60,
                                      .seed = seed,
                                      .round_limit = 3000};
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

static int all_active(const banyan_graph *graph)
{
    for (int v = 0; v < graph->node_count; v++)
        if (!(graph->role[v] & BANYAN_NODE_ACTIVE) && graph->out_first[v] < graph->out_first[v + 1])
            return 0;
    return 1;
}

/* Hops from the node to the farthest one. */
static int eccentricity(const banyan_graph *graph, int from, int *level, int *queue)
{
    int count = 1;

    for (int v = 0; v < graph->node_count; v++)
        level[v] = -1;
    level[from] = 0;
    queue[0] = from;
    for (int i = 0; i < count; i++)
        for (int j = graph->out_first[queue[i]]; j < graph->out_first[queue[i] + 1]; j++) {
            int w = graph->arcs[graph->out_arc[j]].dst;

            if (level[w] < 0) {
                level[w] = level[queue[i]] + 1;
                queue[count++] = w;
            }
        }
    return level[queue[count - 1]];
}

static banyan_status find_radius(const banyan_graph *graph, int *out, banyan_error *err)
{
    int *level = banyan_alloc((size_t)graph->node_count, sizeof *level);
    int *queue = banyan_alloc((size_t)graph->node_count, sizeof *queue);
    banyan_status status = level && queue ? BANYAN_SUCCESS : banyan_fail_memory(err);

    *out = graph->node_count;
    for (int i = 0; !status && i < graph->active_count; i++) {
        int far = eccentricity(graph, graph->active[i], level, queue);

        *out = far < *out ? far : *out;
    }
    banyan_free(level);
    banyan_free(queue);
    return status;
}

/* The combs of a grid, weighted by one linear program. *good says whether they come near enough to the
 * optimum. */
static banyan_status pack_combs(const banyan_topology *topology, const banyan_graph *graph, double enough,
                                int max_trees, banyan_flows *flows, int *good, banyan_error *err)
{
    banyan_packing_problem problem = {.oracle = spanning_oracle, .tolerance = 1e-9};
    banyan_packing packing;
    banyan_trees combs;
    banyan_spanning *spanning = NULL;
    banyan_status status;

    *good = 0;
    banyan_trees_init(&combs);
    status = banyan_grid_trees_add(topology, graph, (size_t)max_trees, &combs, err);
    if (!status)
        status = banyan_spanning_create(graph, &spanning, err);
    problem.context = spanning;
    problem.seed = &combs;
    if (!status && combs.tree_count) {
        status = banyan_packing_solve(graph, &problem, &packing, err);
        if (!status && packing.total >= enough) {
            *good = 1;
            take_trees(flows, graph, &packing);
        }
        if (!status)
            banyan_packing_fini(&packing);
    }
    banyan_spanning_destroy(spanning);
    banyan_trees_fini(&combs);
    return status;
}

static banyan_status peel_and_flatten(const banyan_graph *graph, const banyan_packed_options *options,
                                      banyan_flows *flows, banyan_error *err)
{
    banyan_peel_problem problem = {.tree_limit = options->max_trees, .enough = 0.9992};
    banyan_peel peel;
    int radius;
    banyan_status status = find_radius(graph, &radius, err);

    if (status)
        return status;
    status = banyan_peel_solve(graph, &problem, &peel, err);
    if (status)
        return status;
    if (peel.total < 0.99 * peel.optimum) {
        status = pack_spanning(graph, &peel.trees, 0.9992 * peel.optimum, flows, err);
    } else {
        status = banyan_flatten(graph, &peel.trees, &peel.weight,
                                options->max_depth ? options->max_depth : radius + 1,
                                (size_t)options->max_trees, err);
        for (size_t t = 0; !status && t < peel.trees.tree_count; t++)
            banyan_flows_add_tree(flows, graph, &peel.trees, t, -1, peel.weight[t]);
    }
    banyan_peel_fini(&peel);
    return status;
}

/* Every node active: the optimum is the strength, and few trees reach it. */
static banyan_status pack_direct(const banyan_topology *topology, const banyan_graph *graph,
                                 const banyan_packed_options *options, banyan_flows *flows, banyan_error *err)
{
    int good = 0;
    banyan_status status = BANYAN_SUCCESS;

    if (banyan_grid_trees_apply(topology, graph)) {
        int *part = banyan_alloc((size_t)graph->node_count, sizeof *part), part_count;
        banyan_fraction strength;

        status = part ? banyan_strength(graph, &strength, part, &part_count, err) : banyan_fail_memory(err);
        banyan_free(part);
        if (!status)
            status = pack_combs(topology, graph,
                                banyan_fraction_value(strength) * (graph->active_count > 100 ? 0.99 : 0.999),
                                options->max_trees, flows, &good, err);
    }
    if (!status && !good)
        status = peel_and_flatten(graph, options, flows, err);
    return status;
}

/* Too many workers behind switches for a linear program with a row each: trees of equal weight. */
static banyan_status pack_hubs(const banyan_graph *graph, int tree_count, banyan_flows *flows,
                               banyan_error *err)
{
    banyan_trees trees;
    banyan_status status;

    banyan_trees_init(&trees);
    status = banyan_hubs_pack(graph, tree_count < 64 ? tree_count : 64, &trees, err);
    for (size_t t = 0; !status && t < trees.tree_count; t++)
        banyan_flows_add_tree(flows, graph, &trees, t, -1, 1);
    if (!status && trees.tree_count == 0)
        status = pack_spanning(graph, NULL, 0, flows, err);
    banyan_trees_fini(&trees);
    return status;
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

static banyan_status pack_symmetric(const banyan_topology *topology, const banyan_graph *graph,
                                    const banyan_packed_options *options, banyan_flows *flows,
                                    banyan_error *err)
{
    if (all_active(graph))
        return pack_direct(topology, graph, options, flows, err);
    if (has_idle_adders(graph))
        return pack_steiner(graph, flows, err);
    if (graph->active_count > MANY_WORKERS)
        return pack_hubs(graph, options->max_trees, flows, err);
    return pack_spanning(graph, NULL, 0, flows, err);
}

/* Each cable as wide as its narrower direction; links without a way back are left out, and so are those
 * between nodes with several, where it is not clear which belong together. */
static banyan_status narrow_to_twins(const banyan_graph *graph, banyan_graph **out, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    int *src = banyan_alloc(arcs, sizeof(int)), *dst = banyan_alloc(arcs, sizeof(int));
    int *link = banyan_alloc(arcs, sizeof(int));
    double *capacity = banyan_alloc(arcs, sizeof(double));
    banyan_graph_input input = {graph->node_count, graph->role, 0, src, dst, capacity, link};
    banyan_status status = src && dst && link && capacity ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->arc_count; i++) {
        const banyan_arc *arc = &graph->arcs[i];
        int back = -1, ways = 0;

        for (int j = graph->out_first[arc->dst]; j < graph->out_first[arc->dst + 1]; j++)
            if (graph->arcs[graph->out_arc[j]].dst == arc->src) {
                back = graph->out_arc[j];
                ways++;
            }
        for (int j = graph->out_first[arc->src]; j < graph->out_first[arc->src + 1]; j++)
            ways += graph->arcs[graph->out_arc[j]].dst == arc->dst;
        if (ways != 2 || back < 0)
            continue;
        src[input.arc_count] = arc->src;
        dst[input.arc_count] = arc->dst;
        link[input.arc_count] = arc->link;
        capacity[input.arc_count++] =
            graph->unit *
            (double)(arc->capacity < graph->arcs[back].capacity ? arc->capacity : graph->arcs[back].capacity);
    }
    if (!status)
        status = banyan_graph_create(&input, out, err);
    banyan_free(src);
    banyan_free(dst);
    banyan_free(link);
    banyan_free(capacity);
    return status;
}

/* What equal prices on all arcs prove, in bytes per second. */
static banyan_status easy_bound(const banyan_graph *graph, double *out, banyan_error *err)
{
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price);
    banyan_wide num, den;
    int proven;
    banyan_status status = price ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->arc_count; i++)
        price[i] = 1;
    if (!status)
        status = banyan_coupled_check(graph, price, &num, &den, &proven, err);
    if (!status)
        *out = den > 0 ? (double)num / (double)den * graph->unit : HUGE_VAL;
    banyan_free(price);
    return status;
}

/* Directions unlike, many workers: where the narrower directions alone come near to an easy bound, the trees
 * of a symmetric network will do, and are found much faster. */
static banyan_status pack_nearly_symmetric(const banyan_topology *topology, const banyan_graph *graph,
                                           const banyan_packed_options *options, banyan_flows *flows,
                                           int *good, banyan_error *err)
{
    banyan_graph *narrow = NULL;
    double rate = 0, bound = 0;
    banyan_status status = narrow_to_twins(graph, &narrow, err);

    *good = 0;
    if (!status && narrow->symmetric) {
        status = pack_symmetric(topology, narrow, options, flows, err);
        if (status == BANYAN_INVALID_ARGUMENT) { /* not connected both ways */
            status = BANYAN_SUCCESS;
            flows->flow_count = 0;
        }
        if (!status && flows->flow_count)
            status = banyan_flows_rate(flows, topology, &rate, err);
        if (!status)
            status = easy_bound(graph, &bound, err);
        *good = !status && flows->flow_count > 0 && rate >= 0.99 * bound;
    }
    if (!*good)
        flows->flow_count = 0;
    banyan_graph_destroy(narrow);
    return status;
}

banyan_status banyan_packed_find(const banyan_problem *problem, const banyan_packed_options *options,
                                 banyan_flows *flows, banyan_error *err)
{
    banyan_graph *graph;
    int good = 0;
    banyan_status status = banyan_network_graph(problem->topology, problem->active, problem->active_count,
                                                options->relays, &graph, err);

    if (status)
        return status;
    if (graph->symmetric && options->stages == BANYAN_STAGES_PIPELINED) {
        status = pack_symmetric(problem->topology, graph, options, flows, err);
    } else {
        if (options->stages == BANYAN_STAGES_PIPELINED && graph->active_count > 24)
            status = pack_nearly_symmetric(problem->topology, graph, options, flows, &good, err);
        if (!status && !good)
            status = pack_coupled(graph, options->stages, flows, err);
    }
    if (!status && flows->failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = banyan_flows_limit(flows, problem->topology, (size_t)options->max_trees, err);
    banyan_graph_destroy(graph);
    return status;
}
