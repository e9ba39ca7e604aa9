/* SPDX-License-Identifier: Apache-2.0 */
/* bound/allreduce_asymmetric.c: the best all-reduce where links are asymmetric. Without idle nodes that help,
 * easy bounds or cuts that divide links between reduce and broadcast. With them, first the network of mean
 * widths and the narrowest cut; if the narrower directions alone allow as much, that is all. Else the same
 * cuts, and trees that show that they are the right ones. */
#include <math.h>
#include <string.h>

#include "bound/allreduce.h"
#include "core/alloc.h"
#include "solve/cut/endpoint_bounds.h"
#include "solve/cut/endpoint_service.h"
#include "solve/cut/local_bounds.h"
#include "solve/cut/minimum_cut.h"
#include "solve/cut/pods.h"
#include "solve/cut/split.h"
#include "solve/pack/pair_columns.h"
#include "solve/pack/tree_columns.h"
#include "solve/presolve/symmetrise.h"
#include "solve/round/branch_moves.h"
#include "solve/start/hub_pairs.h"

#define MANY_NODES 128 /* beyond these trees that show which bound is the right one take minutes, so that */
#define NEAR 0.985     /* of a bound, reached by pairs with hubs, has to do */
#define VERY_MANY_NODES 600
#define PAIRS 64
#define MANY_ARCS 3000          /* beyond this a linear program over cuts takes minutes, */
#define MANY_SWITCHED_ARCS 1200 /* and beyond this where some nodes only forward */
#define SAME_VALUE 1e-9         /* share by which bounds that are the same may differ */

/* Asymmetric links: cuts, and trees that show that they are the right ones. known: a bound, or 0. */
static banyan_status by_coupled_trees(const banyan_graph *graph, double known, banyan_allreduce_bound *out,
                                      banyan_error *err)
{
    banyan_pair_packing_problem problem = {
        .stages = BANYAN_STAGES_PIPELINED, .tolerance = 1e-10, .round_limit = 1000, .known_bound = known};
    banyan_pair_packing packing;
    banyan_status status = banyan_pair_packing_by_guided_columns(graph, &problem, &packing, err);

    if (status)
        return status;
    out->fraction = packing.bound;
    out->value = packing.bound_value;
    out->reached = packing.total;
    memcpy(out->price, packing.price, (size_t)graph->arc_count * sizeof *out->price);
    banyan_pair_packing_fini(&packing);
    return status;
}

/* The narrowest cut, if it is lower than what is known. */
static banyan_status by_narrowest_cut(const banyan_graph *graph, banyan_allreduce_bound *out,
                                      banyan_error *err)
{
    unsigned char *inside = banyan_alloc((size_t)graph->node_count, 1);
    int64_t limit = (int64_t)fmin(ceil(out->value), 4e18), width = 0;
    banyan_status status =
        inside ? banyan_minimum_cut(graph, limit, &width, inside, err) : banyan_fail_memory(err);

    if (!status && width < limit && (double)width < out->value * (1 - SAME_VALUE)) {
        for (int i = 0; i < graph->arc_count; i++)
            out->price[i] = inside[graph->arcs[i].src] && !inside[graph->arcs[i].dst];
        status = banyan_allreduce_prove(graph, out->price, (double)width, &out->fraction, &out->value, err);
    }
    banyan_free(inside);
    return status;
}

/* Prices of the mean network, or of the narrowest cut. *rebalanced: the narrower directions alone allow as
 * much, by the same kind of proof. */
static banyan_status by_mean(const banyan_graph *graph, banyan_allreduce_bound *out, int *is_tight,
                             banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    *is_tight = 0;
    out->value = HUGE_VAL;
    for (int narrow = 0; !status && narrow < 2; narrow++) {
        banyan_symmetrised mean;
        banyan_allreduce_bound found = {0};

        status = banyan_symmetrised_make(graph, narrow ? BANYAN_EVEN_NARROW : BANYAN_EVEN_MEAN, &mean, err);
        if (status)
            return status;
        found.price = mean.graph ? banyan_alloc((size_t)mean.graph->arc_count, sizeof *found.price) : NULL;
        if (mean.graph)
            status = found.price ? banyan_allreduce_solve(mean.graph, &found, err) : banyan_fail_memory(err);
        if (!status && mean.graph && !narrow) {
            for (int i = 0; i < graph->arc_count; i++)
                out->price[i] = found.price[mean.arc[i]];
            status = banyan_allreduce_prove(graph, out->price, found.value * mean.graph->unit / graph->unit,
                                            &out->fraction, &out->value, err);
            if (!status)
                status = by_narrowest_cut(graph, out, err);
        } else if (!status && mean.graph) {
            *is_tight = found.value * mean.graph->unit >= out->value * graph->unit * (1 - SAME_VALUE);
            out->reached = found.reached * mean.graph->unit / graph->unit;
        } else if (narrow && status == BANYAN_INVALID_ARGUMENT) { /* not connected both ways */
            status = BANYAN_SUCCESS;
        }
        banyan_free(found.price);
        banyan_symmetrised_fini(&mean);
    }
    return status;
}

/* What links at workers allow, where these may have more than one each way. */
static banyan_status lower_by_service(const banyan_graph *graph, banyan_allreduce_bound *out,
                                      banyan_error *err)
{
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price);
    double value;
    banyan_status status =
        price ? banyan_endpoint_service_price(graph, price, &value, err) : banyan_fail_memory(err);

    if (!status && value < out->value * (1 - SAME_VALUE)) {
        memcpy(out->price, price, (size_t)graph->arc_count * sizeof *price);
        status = banyan_allreduce_prove(graph, out->price, value, &out->fraction, &out->value, err);
    }
    banyan_free(price);
    return status;
}

banyan_status banyan_allreduce_lower_by_cells(const banyan_graph *graph, banyan_allreduce_bound *out,
                                              banyan_error *err)
{
    banyan_allreduce_bound found = {.price = banyan_alloc((size_t)graph->arc_count, sizeof *found.price)};
    banyan_wide cost = 0;
    banyan_status status =
        found.price ? banyan_pods_price(graph, found.price, &found.value, err) : banyan_fail_memory(err);

    if (!status && found.value == HUGE_VAL)
        status = lower_by_service(graph, out, err);
    else if (!status && found.value < out->value * (1 - SAME_VALUE))
        status = banyan_pods_cost(graph, found.price, &cost, err);
    if (!status && cost > 0) { /* the program may think a little more of its prices than they prove */
        banyan_wide worth = banyan_tree_packing_value(graph, found.price, 1);

        found.value = (double)worth / (double)cost;
        if (found.value < out->value * (1 - SAME_VALUE)) {
            out->fraction = banyan_fraction_make(worth, cost);
            out->value = found.value;
            memcpy(out->price, found.price, (size_t)graph->arc_count * sizeof *found.price);
        }
    }
    banyan_free(found.price);
    return status;
}

/* Many nodes, none of which only forwards: what is narrow in some place. */
static banyan_status lower_by_places(const banyan_graph *graph, banyan_allreduce_bound *out,
                                     banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    int64_t *price = banyan_alloc(arcs, sizeof *price);
    double *root = banyan_alloc((size_t)graph->node_count, sizeof *root), value = out->value;
    banyan_status status =
        price && root ? banyan_local_bounds_lower(graph, price, root, &value, err) : banyan_fail_memory(err);

    if (!status && value < out->value * (1 - SAME_VALUE)) {
        memcpy(out->price, price, arcs * sizeof *price);
        status = banyan_allreduce_prove(graph, out->price, value, &out->fraction, &out->value, err);
    }
    banyan_free(price);
    banyan_free(root);
    return status;
}

/* Many workers behind switches: whether pairs of trees with hubs come near. */
static banyan_status by_hubs(const banyan_graph *graph, banyan_allreduce_bound *out, int *is_tight,
                             banyan_error *err)
{
    banyan_pair_packing packing = {.bound_value = out->value};
    banyan_hub_pairs_problem problem = {.pair_limit = PAIRS, .enough = NEAR * out->value};
    banyan_status status = BANYAN_SUCCESS;

    if (graph->node_count > MANY_NODES && banyan_hub_pairs_apply(graph))
        status = banyan_hub_pairs_find(graph, &problem, &packing, err);
    *is_tight = !status && packing.total >= NEAR * out->value;
    out->reached = packing.total;
    banyan_pair_packing_fini(&packing);
    return status;
}

/* The same where the mean network takes minutes, too. */
static banyan_status by_hubs_alone(const banyan_graph *graph, banyan_allreduce_bound *out, int *is_tight,
                                   banyan_error *err)
{
    banyan_status status;

    out->value = HUGE_VAL;
    status = banyan_allreduce_lower_by_cells(graph, out, err);
    if (!status)
        status = by_narrowest_cut(graph, out, err);
    return status || out->value == HUGE_VAL ? status : by_hubs(graph, out, is_tight, err);
}

/* Asymmetric links, and nodes help that are not active: mostly the mean network says it all. Else trees find
 * what is lower, if it can be proven. */
banyan_status banyan_allreduce_solve_helped(const banyan_graph *graph, banyan_allreduce_bound *out,
                                            banyan_error *err)
{
    banyan_allreduce_bound mean = *out, trees = *out;
    int is_tight = 0;
    banyan_status status;

    trees.price = banyan_alloc((size_t)graph->arc_count, sizeof *trees.price);
    status = trees.price ? BANYAN_SUCCESS : banyan_fail_memory(err);
    if (!status && graph->node_count > VERY_MANY_NODES)
        status = by_hubs_alone(graph, &mean, &is_tight, err);
    if (!status && !is_tight)
        status = by_mean(graph, &mean, &is_tight, err);
    if (!status && !is_tight && mean.value < HUGE_VAL && graph->node_count > MANY_NODES &&
        banyan_branch_moves_applies(graph)) {
        status = lower_by_places(graph, &mean, err);
        is_tight = 1;
    }
    if (!status && !is_tight)
        status = banyan_allreduce_lower_by_cells(graph, &mean, err);
    if (!status && !is_tight)
        status = by_hubs(graph, &mean, &is_tight, err);
    if (!status && !is_tight)
        status = by_coupled_trees(graph, mean.value < HUGE_VAL ? mean.value : 0, &trees, err);
    if (!status && !is_tight) {
        mean.reached = trees.reached;
        if (trees.value < mean.value * (1 - SAME_VALUE))
            status =
                banyan_allreduce_prove(graph, trees.price, trees.value, &trees.fraction, &trees.value, err);
    }
    *out = mean;
    if (!status && !is_tight && trees.value < mean.value * (1 - SAME_VALUE)) {
        *out = trees;
        out->price = mean.price;
        memcpy(out->price, trees.price, (size_t)graph->arc_count * sizeof *out->price);
    }
    banyan_free(trees.price);
    return status;
}

/* Too large for the cuts' linear program: the easy bound, which prices hold, or that of the mean network,
 * whichever is less. It may not be tight. */
static banyan_status by_easy_or_mean(const banyan_graph *graph, banyan_allreduce_bound *out,
                                     banyan_error *err)
{
    banyan_allreduce_bound mean = {.price = banyan_alloc((size_t)graph->arc_count, sizeof *mean.price)};
    int is_tight;
    banyan_status status = mean.price ? by_mean(graph, &mean, &is_tight, err) : banyan_fail_memory(err);

    if (!status && mean.value < out->value * (1 - SAME_VALUE)) {
        memcpy(out->price, mean.price, (size_t)graph->arc_count * sizeof *mean.price);
        out->value = mean.value;
    }
    out->reached = mean.reached;
    banyan_free(mean.price);
    return status;
}

/* Asymmetric links, no node helps that is not active: cuts say how arcs are divided between reduce and
 * broadcast. */
banyan_status banyan_allreduce_solve_divided(const banyan_graph *graph, banyan_allreduce_bound *out,
                                             banyan_error *err)
{
    banyan_split division;
    int is_settled;
    banyan_status status = banyan_endpoint_bound(graph, &is_settled, out->price, &out->value, err);

    out->reached = !status && is_settled ? out->value : 0;
    if (status || is_settled)
        return status;
    if (graph->arc_count > MANY_ARCS && banyan_graph_all_active(graph))
        return by_easy_or_mean(graph, out, err);
    if (graph->arc_count > MANY_SWITCHED_ARCS && !banyan_graph_all_active(graph))
        return BANYAN_SUCCESS; /* it holds; that of cells is mostly tight */
    status = banyan_split_find_soon(graph, 1e-10, &division, err);
    if (status)
        return status;
    out->reached = division.is_settled ? division.total : 0; /* else it is an estimate */
    is_settled = division.is_settled;
    if (division.bound_value < out->value * (1 - SAME_VALUE)) {
        out->value = division.bound_value;
        memcpy(out->price, division.price, (size_t)graph->arc_count * sizeof *out->price);
    }
    banyan_split_fini(&division);
    return is_settled || graph->node_count > MANY_NODES ? BANYAN_SUCCESS
                                                        : by_coupled_trees(graph, 0, out, err);
}
