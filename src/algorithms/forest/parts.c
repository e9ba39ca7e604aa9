/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/parts.c: what the ways of packing share: packings become flows, the better of two is
 * kept, a smaller network is packed. */
#include "algorithms/forest/parts.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/cut/steiner_cuts.h"
#include "solve/net/effort.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/start/equal_pairs.h"

#define ENOUGH_OF_PAIRS 0.992 /* of the bound: trees and weights need no further rebalancing */

void banyan_forest_take(banyan_flows *flows, const banyan_graph *graph, const banyan_tree_packing *packing)
{
    for (size_t t = 0; t < packing->trees.tree_count; t++)
        if (packing->weight[t] > 1e-9 * packing->total)
            banyan_flows_add_tree(flows, graph, &packing->trees, t, -1, packing->weight[t]);
}

/* Column generation, from the seed's trees where there are some, until enough is packed. */
banyan_status banyan_forest_columns(const banyan_graph *graph, const banyan_trees *seed, double enough,
                                    banyan_flows *flows, banyan_error *err)
{
    int is_dense = graph->arc_count > BANYAN_LP_ARCS;
    int warm_trees = graph->active_count > 60 ? graph->active_count : 60;
    banyan_tree_packing_problem problem = {.oracle = banyan_oracle_tree,
                                           .tolerance = 1e-9,
                                           .good_enough = enough,
                                           .warm_trees =
                                               seed && seed->tree_count && !is_dense ? 1 : warm_trees,
                                           .seed = seed,
                                           .round_limit = is_dense ? BANYAN_LP_ROUNDS : 3000};
    banyan_tree_packing packing;
    banyan_oracle *oracle;
    banyan_status status = banyan_oracle_create(graph, &oracle, err);

    if (status)
        return status;
    problem.context = oracle;
    status = banyan_tree_packing_solve(graph, &problem, &packing, err);
    banyan_oracle_destroy(oracle);
    if (status)
        return status;
    banyan_forest_take(flows, graph, &packing);
    banyan_tree_packing_fini(&packing);
    return BANYAN_SUCCESS;
}

/* At each root, the in-trees' weights laid end to end against the out-trees': every overlap is a flow. */
void banyan_forest_take_pairs(banyan_flows *flows, const banyan_graph *graph,
                              const banyan_pair_packing *packing)
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
                banyan_flows_add_pair(flows, graph, &packing->trees, in, out, root,
                                      packing->kind[out] == BANYAN_TREE_OUT_LATER, share);
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

banyan_status banyan_forest_pairs(const banyan_graph *graph, const int64_t *price, double bound,
                                  const banyan_forest_options *options, banyan_flows *flows, double *rate,
                                  banyan_error *err)
{
    double *part = banyan_alloc((size_t)graph->node_count, sizeof *part);
    banyan_pair_packing packing = {.price = banyan_alloc((size_t)graph->arc_count, sizeof *packing.price),
                                   .bound_value = bound};
    banyan_equal_pairs_problem problem = {
        .root = part, .pair_limit = options->max_trees, .least = *rate, .enough = ENOUGH_OF_PAIRS * bound};
    banyan_status status = part && packing.price ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->active_count; i++)
        part[graph->active[i]] = 1;
    if (!status) {
        memcpy(packing.price, price, (size_t)graph->arc_count * sizeof *packing.price);
        status = banyan_equal_pairs_find(graph, &problem, &packing, err);
    }
    if (!status && packing.trees.tree_count) {
        *rate = packing.total;
        flows->flow_count = 0;
        banyan_forest_take_pairs(flows, graph, &packing);
    }
    banyan_pair_packing_fini(&packing);
    banyan_free(part);
    return status;
}

/* In place of flows if these reach more; what is left over goes. */
banyan_status banyan_forest_keep_better(const banyan_topology *topology, const banyan_forest_options *options,
                                        banyan_flows *flows, banyan_flows *other, double *rate,
                                        banyan_error *err)
{
    double before = 0, after = 0;
    banyan_status status = flows->failed || other->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;

    for (int i = 0; !status && i < 2; i++) {
        banyan_flows *each = i ? other : flows;

        status = banyan_flows_limit(each, topology, (size_t)options->max_trees, err);
        if (!status && each->flow_count)
            status = banyan_flows_rate(each, topology, i ? &after : &before, err);
    }
    if (!status && after > before) {
        banyan_flows kept = *other;

        *other = *flows;
        *flows = kept;
    }
    banyan_flows_fini(other);
    *rate = before > after ? before : after;
    return status;
}

int banyan_forest_is_tight(const banyan_graph *graph, const banyan_forest_options *options)
{
    return graph->symmetric && banyan_graph_has_idle_adders(graph) && !banyan_graph_has_forwarders(graph) &&
           !banyan_graph_is_dense(graph) && options->max_trees <= graph->arc_count / 2;
}

banyan_status banyan_forest_bound(const banyan_graph *graph, const banyan_forest_options *options,
                                  banyan_allreduce_bound *out, banyan_error *err)
{
    return banyan_forest_is_tight(graph, options)
               ? banyan_steiner_cuts_price(graph, out->price, &out->value, err)
               : banyan_allreduce_solve(graph, out, err);
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

banyan_status banyan_forest_radius(const banyan_graph *graph, int *out, banyan_error *err)
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

banyan_status banyan_forest_small(const banyan_graph *graph, const banyan_forest_options *options,
                                  banyan_flows *flows, double *bytes_per_s, banyan_error *err)
{
    banyan_topology links = {.link_count = graph->arc_count,
                             .links = banyan_alloc((size_t)graph->arc_count, sizeof *links.links)};
    banyan_status status = links.links ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->arc_count; i++)
        links.links[i].bytes_per_s = (double)graph->arcs[i].capacity * graph->unit;
    if (!status)
        status = options->pack_any(&links, graph, options, flows, err);
    if (!status && flows->failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = banyan_flows_limit(flows, &links, (size_t)options->max_trees, err);
    if (!status && flows->flow_count)
        status = banyan_flows_rate(flows, &links, bytes_per_s, err);
    banyan_free(links.links);
    return status;
}
