/* SPDX-License-Identifier: Apache-2.0 */
/* bound/allreduce_search.c: is a bound the best one, where idle nodes are many? Whole trees may cost more
 * than cuts or a dual ascent can tell: then nothing reaches it. Trees are packed, beginning with its prices;
 * pairs of trees, where links are asymmetric. Mostly they come up to it; else the cheapest trees are searched
 * for, which proves a lower bound as it goes. */
#include <math.h>
#include <string.h>

#include "bound/allreduce.h"
#include "bound/network.h"
#include "solve/cut/split.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/pack/pair_columns.h"

#define SAME 1e-7
#define REACHED 1e-9 /* share of a bound that trees may lack */

/* Beyond that many nodes and arcs a packing takes long. */
static const struct {
    int nodes, arcs, effort;
} most[] = {{30, 400, 400000}, {100, 1000, 4000000}};

/* What a packing says is not taken on trust. */
static banyan_status take_prices(const banyan_graph *graph, int64_t *price, double hoped,
                                 banyan_allreduce_bound *out, banyan_error *err)
{
    banyan_allreduce_bound lower = {.price = price};
    banyan_status status = banyan_allreduce_prove(graph, hoped, &lower, err);

    if (!status && lower.value < out->value) {
        memcpy(out->price, price, (size_t)graph->arc_count * sizeof *price);
        out->cost = lower.cost;
        banyan_allreduce_set_value(graph, out);
    }
    return status;
}

static banyan_status lower_by_trees(const banyan_graph *graph, int effort, banyan_allreduce_bound *out,
                                    banyan_error *err)
{
    banyan_tree_packing_problem problem = {.oracle = banyan_oracle_search,
                                           .quick = banyan_oracle_tree,
                                           .tolerance = 1e-10,
                                           .good_enough = out->value * (1 - REACHED),
                                           .warm_trees = 20,
                                           .start = out->price,
                                           .round_limit = 3000};
    banyan_tree_packing packing;
    banyan_oracle *oracle;
    banyan_status status = banyan_oracle_create(graph, &oracle, err);

    if (status)
        return status;
    problem.context = oracle;
    if (effort)
        status = banyan_oracle_allow_search(oracle, effort, err);
    else
        problem.oracle = banyan_oracle_tree;
    if (!status)
        status = banyan_tree_packing_solve(graph, &problem, &packing, err);
    banyan_oracle_destroy(oracle);
    if (status)
        return status;
    out->reached = fmax(out->reached, packing.total);
    if (packing.bound_value < out->value * (1 - REACHED))
        status = take_prices(graph, packing.price, packing.bound_value, out, err);
    banyan_tree_packing_fini(&packing);
    return status;
}

/* Asymmetric links: a division says where sums are made. */
static banyan_status lower_by_pairs(const banyan_graph *graph, int effort, banyan_allreduce_bound *out,
                                    banyan_error *err)
{
    banyan_pair_packing_problem problem = {.stages = BANYAN_STAGES_PIPELINED,
                                           .tolerance = 1e-10,
                                           .good_enough = out->value * (1 - REACHED),
                                           .round_limit = 1000,
                                           .search_effort = effort};
    banyan_pair_packing packing;
    banyan_split division;
    banyan_status status = banyan_split_find_soon(graph, REACHED, &division, err);

    if (status)
        return status;
    if (out->value < division.bound_value) {
        memcpy(division.price, out->price, (size_t)graph->arc_count * sizeof *out->price);
        division.bound_value = out->value;
    }
    status = banyan_pair_packing_by_columns(graph, &problem, &division, &packing, err);
    banyan_split_fini(&division);
    if (status)
        return status;
    out->reached = fmax(out->reached, packing.total);
    if (packing.bound_value < out->value * (1 - REACHED))
        status = take_prices(graph, packing.price, packing.bound_value, out, err);
    banyan_pair_packing_fini(&packing);
    return status;
}

banyan_status banyan_allreduce_lower_by_search(const banyan_graph *graph, int patient,
                                               banyan_allreduce_bound *out, banyan_error *err)
{
    int is_small = graph->node_count <= most[patient].nodes && graph->arc_count <= most[patient].arcs,
        effort = banyan_network_is_searched(graph) ? 0 : most[patient].effort;

    if (out->value <= out->reached * (1 + SAME) || (effort && !is_small) || !banyan_graph_has_helpers(graph))
        return BANYAN_SUCCESS;
    return graph->symmetric ? lower_by_trees(graph, effort, out, err)
                            : lower_by_pairs(graph, effort, out, err);
}
