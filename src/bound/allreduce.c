/* SPDX-License-Identifier: Apache-2.0 */
/* bound/allreduce.c: the best all-reduce, in three steps.
 *
 *     presolve    nodes that only wide cables join become one (solve/presolve/contract_wide.h), and idle
 *                 nodes that do the same at the same places (merge_twins.h)
 *     prices      symmetric links, idle nodes that only forward: the strength (Cunningham 1985), by minimum
 *                 cuts; else a linear program over cuts, which divides links between reduce and broadcast
 *                 (solve/cut/split.h)
 *     search      idle nodes that add or copy: no cut may tell what trees cost, so that in small networks
 *                 trees are packed, and lower prices proven by branch and bound (allreduce_search.c)
 *
 * A bound is prices on links and the least that a pair of trees costs under them; it holds for a network if
 * it does for the smaller one that presolving makes of it. Without idle nodes that add or copy it is
 * tight. */
#include "bound/allreduce.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/cut/split.h"
#include "solve/cut/strength.h"
#include "solve/net/tolerance.h"
#include "solve/presolve/contract_wide.h"
#include "solve/presolve/contraction.h"
#include "solve/presolve/merge_twins.h"

static banyan_status by_strength(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    banyan_fraction strength;
    banyan_status status = banyan_strength_prices(graph, &strength, out->price, &out->cost, err);

    if (status)
        return status;
    out->cost *= 2; /* up and down */
    banyan_allreduce_set_value(graph, out);
    out->reached = out->value;
    return BANYAN_SUCCESS;
}

/* The bound of a smaller graph as one of this graph: arcs have the price of the arc that they are in there;
 * -1: they are in none. */
static banyan_status lift(const banyan_graph *graph, const banyan_graph *small, const int *arc,
                          banyan_status (*solve)(const banyan_graph *, banyan_allreduce_bound *,
                                                 banyan_error *),
                          banyan_allreduce_bound *out, banyan_error *err)
{
    banyan_allreduce_bound found = {.price = banyan_alloc((size_t)small->arc_count, sizeof *found.price),
                                    .is_quick = out->is_quick};
    banyan_status status = found.price ? solve(small, &found, err) : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->arc_count; i++)
        out->price[i] = arc[i] < 0 ? 0 : found.price[arc[i]];
    if (!status) {
        out->cost = found.cost;
        banyan_allreduce_set_value(graph, out);
        out->reached = found.reached * small->unit / graph->unit;
    }
    banyan_free(found.price);
    return status;
}

/* Of two bounds the lower one; what is reached holds for both. */
static void keep_lower(const banyan_graph *graph, banyan_allreduce_bound *out,
                       const banyan_allreduce_bound *other)
{
    double reached = fmax(out->reached, other->reached);

    if (other->value < out->value * (1 - BANYAN_SAME)) {
        int64_t *price = out->price;

        memcpy(price, other->price, (size_t)graph->arc_count * sizeof *price);
        *out = *other;
        out->price = price;
    }
    out->reached = reached;
}

static banyan_status solve_merged(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err);

/* Idle nodes help, so that trees may cost more than cuts tell. Nodes that free cables join are one: what is
 * left is often small enough for a search. */
static banyan_status lower(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    banyan_contraction joined = {0};
    banyan_allreduce_bound other = {.price = banyan_alloc((size_t)graph->arc_count, sizeof *other.price),
                                    .is_quick = out->is_quick};
    banyan_status status =
        other.price ? banyan_contract(graph, out->price, 1, &joined, err) : banyan_fail_memory(err);

    if (!status && joined.graph && joined.graph->active_count > 1)
        status = lift(graph, joined.graph, joined.arc, solve_merged, &other, err);
    else
        other.value = HUGE_VAL;
    other.reached = 0; /* trees of the smaller network may not fit into this one */
    if (!status)
        keep_lower(graph, out, &other);
    if (!status && !out->is_quick)
        status = banyan_allreduce_lower_by_search(graph, 0, out, err);
    banyan_contraction_fini(&joined);
    banyan_free(other.price);
    return status;
}

/* Trees fill the split, unless some node helps that is not active: then it only bounds them. */
static banyan_status by_split(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    banyan_split split;
    banyan_status status = banyan_split_find(graph, BANYAN_EXACTLY_SAME, &split, err);

    if (status)
        return status;
    memcpy(out->price, split.price, (size_t)graph->arc_count * sizeof *out->price);
    out->cost = split.cost;
    if (graph->symmetric) { /* turned round, the prices prove as much: both together, too */
        out->cost *= banyan_graph_has_even_prices(graph, out->price) ? 1 : 2;
        banyan_graph_make_even_prices(graph, out->price);
    }
    banyan_allreduce_set_value(graph, out);
    out->reached = split.is_settled && !banyan_graph_has_helpers(graph) ? split.total : 0;
    banyan_split_fini(&split);
    return banyan_graph_has_helpers(graph) ? lower(graph, out, err) : BANYAN_SUCCESS;
}

static int has_strength(const banyan_graph *graph)
{
    return graph->symmetric && !banyan_graph_has_helpers(graph);
}

static banyan_status find_prices(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    return has_strength(graph) ? by_strength(graph, out, err) : by_split(graph, out, err);
}

static banyan_status solve_merged(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    banyan_twins twins;
    banyan_status status = banyan_twins_merge(graph, NULL, &twins, err);

    if (!status)
        status = twins.graph ? lift(graph, twins.graph, twins.arc, find_prices, out, err)
                             : find_prices(graph, out, err);
    banyan_twins_fini(&twins);
    return status;
}

/* *is_tight: trees of the contracted network can be laid into the graph; else there may be a lower bound. */
static banyan_status solve_contracted(const banyan_graph *graph, banyan_allreduce_bound *out, int *is_tight,
                                      banyan_error *err)
{
    banyan_contraction joined;
    double limit, most;
    int together = !graph->symmetric;
    banyan_status status = banyan_contract_wide(graph, 1, &together, &limit, &most, &joined, err);

    *is_tight = 0;
    out->value = HUGE_VAL;
    if (!status && joined.graph && joined.graph->active_count > 1) {
        status = lift(graph, joined.graph, joined.arc, banyan_allreduce_solve, out, err);
        out->reached = fmin(out->reached, most);
        *is_tight = !status && out->value <= most * (1 + BANYAN_SAME);
    }
    banyan_contraction_fini(&joined);
    return status;
}

banyan_status banyan_allreduce_solve(const banyan_graph *graph, banyan_allreduce_bound *out,
                                     banyan_error *err)
{
    banyan_allreduce_bound other = {.is_quick = out->is_quick};
    int is_tight = 0;
    banyan_status status;

    if (has_strength(graph) || banyan_graph_all_active(graph)) /* there is nothing to presolve */
        return find_prices(graph, out, err);
    status = solve_contracted(graph, out, &is_tight, err);
    if (status || is_tight)
        return status;
    other.price = banyan_alloc((size_t)graph->arc_count, sizeof *other.price);
    status = other.price ? solve_merged(graph, &other, err) : banyan_fail_memory(err);
    if (!status)
        keep_lower(graph, out, &other);
    banyan_free(other.price);
    return status;
}
