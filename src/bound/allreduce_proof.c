/* SPDX-License-Identifier: Apache-2.0 */
/* bound/allreduce_proof.c: what prices prove. Whatever trees a byte takes, they cost at least some sum. Nodes
 * that free cables join are one node, and so are idle nodes that do the same at the same prices; then
 *
 *   no idle node adds                  a minimum spanning tree, through forwarders
 *   few active or few idle nodes       the cheapest trees, of all sets of helpers
 *   else                               cuts, weighed by a linear program; or the cheapest trees, by branch
 *                                      and bound
 *
 * The last may prove less than is true, never more. */
#include <math.h>

#include "bound/allreduce.h"
#include "core/alloc.h"
#include "solve/cut/split.h"
#include "solve/net/effort.h"
#include "solve/net/tolerance.h"
#include "solve/oracle/branch_and_bound.h"
#include "solve/oracle/spanning.h"
#include "solve/pack/pair_columns.h"
#include "solve/presolve/contraction.h"
#include "solve/presolve/merge_twins.h"

#define EFFORT 4000000 /* of a search */
#define MOST ((banyan_wide)1 << 120)

void banyan_allreduce_set_value(const banyan_graph *graph, banyan_allreduce_bound *bound)
{
    banyan_wide worth = banyan_graph_worth(graph, bound->price);

    bound->fraction = banyan_fraction_make(worth, bound->cost);
    bound->value = (double)worth / (double)bound->cost;
}

/* The cheapest trees themselves, where these can be found. *exact: they were. */
static banyan_status cost_of_trees(const banyan_graph *graph, const int64_t *price, int *exact,
                                   banyan_wide *out, banyan_error *err)
{
    banyan_wide worth;

    *exact = 0;
    if (graph->symmetric && !banyan_graph_has_idle_adders(graph)) {
        *exact = 1;
        return banyan_spanning_cost(graph, price, out, err);
    }
    if (banyan_graph_has_helpers(graph) && !banyan_graph_suits_tables(graph))
        return BANYAN_SUCCESS;
    return banyan_pair_prices_check(graph, price, &worth, out, exact, err);
}

/* As much as is hoped for, or the cost of the cheapest tree, if a search ends: each byte goes up
 * the tree and down again. */
static banyan_status cost_by_search(const banyan_graph *graph, const int64_t *price, banyan_wide hoped,
                                    banyan_wide *out, banyan_error *err)
{
    banyan_branch_and_bound *exhaust;
    int64_t half = hoped < INT64_MAX ? (int64_t)((hoped + 1) / 2) : INT64_MAX, least;
    banyan_status status;

    if (!banyan_graph_has_even_prices(graph, price) || !banyan_graph_suits_search(graph))
        return BANYAN_SUCCESS;
    status = banyan_branch_and_bound_create(graph, EFFORT, &exhaust, err);
    if (status)
        return status;
    least = banyan_branch_and_bound_search(exhaust, price, half, NULL);
    *out = 2 * (banyan_wide)least > *out ? 2 * (banyan_wide)least : *out;
    banyan_branch_and_bound_destroy(exhaust);
    return BANYAN_SUCCESS;
}

/* What the trees of one root cost, or as much as is hoped for. */
static banyan_wide cost_of_root(banyan_branch_and_bound *in, banyan_branch_and_bound *out, int root,
                                const int64_t *price, int64_t hoped)
{
    int64_t up = banyan_branch_and_bound_search_rooted(in, root, price, hoped, NULL);

    return (banyan_wide)up +
           (up < hoped ? banyan_branch_and_bound_search_rooted(out, root, price, hoped - up, NULL) : 0);
}

/* The same where prices are asymmetric, too, for each root. */
static banyan_status cost_by_search_of_roots(const banyan_graph *graph, const int64_t *price,
                                             banyan_wide hoped, banyan_wide *out, banyan_error *err)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    int64_t enough = hoped < INT64_MAX ? (int64_t)hoped : INT64_MAX;
    banyan_wide least = enough;
    banyan_branch_and_bound *up = NULL, *down = NULL;
    banyan_status status;

    if (graph->symmetric || !banyan_graph_suits_searches_of_roots(graph))
        return BANYAN_SUCCESS;
    status = banyan_branch_and_bound_create_rooted(graph, 1, EFFORT, &up, err);
    if (!status)
        status = banyan_branch_and_bound_create_rooted(graph, 0, EFFORT, &down, err);
    for (int v = 0; !status && v < graph->node_count && least > *out; v++) {
        banyan_wide cost =
            (graph->role[v] & both) == both ? cost_of_root(up, down, v, price, enough) : enough;

        least = cost < least ? cost : least;
    }
    *out = least > *out && !status ? least : *out;
    banyan_branch_and_bound_destroy(up);
    banyan_branch_and_bound_destroy(down);
    return status;
}

/* The least that a reduce tree and a broadcast tree with one root cost together, over all roots; where it
 * cannot be told, something less, but as much as is hoped for if that can be proven. */
static banyan_status least_cost(const banyan_graph *graph, const int64_t *price, banyan_wide hoped,
                                banyan_wide *out, banyan_error *err)
{
    banyan_wide other;
    int exact;
    banyan_status status = cost_of_trees(graph, price, &exact, out, err);

    if (status || exact)
        return status;
    *out = -1;
    status = cost_by_search(graph, price, hoped, out, err);
    if (status || (*out > 0 && *out >= hoped))
        return status;
    status = banyan_split_find_check(graph, price, hoped, &other, err);
    if (!status && other > *out)
        *out = other;
    if (status || (*out > 0 && *out >= hoped))
        return status;
    return cost_by_search_of_roots(graph, price, hoped, out, err);
}

static banyan_status least_cost_of_merged(const banyan_graph *graph, const int64_t *price, banyan_wide hoped,
                                          banyan_wide *out, banyan_error *err);

/* Nodes that free cables join are one: often all that are left are active then, or few are idle, or some have
 * become twins. */
static banyan_status least_cost_of_joined(const banyan_graph *graph, const int64_t *price, banyan_wide hoped,
                                          banyan_wide *out, banyan_error *err)
{
    banyan_contraction joined;
    banyan_status status = banyan_contract(graph, price, 1, &joined, err);

    if (!status && joined.graph && joined.graph->active_count > 1)
        status = least_cost_of_merged(joined.graph, joined.price, hoped, out, err);
    else if (!status)
        status = least_cost(graph, price, hoped, out, err);
    banyan_contraction_fini(&joined);
    return status;
}

/* Twins are taken together where they have the same prices. */
static banyan_status least_cost_of_merged(const banyan_graph *graph, const int64_t *price, banyan_wide hoped,
                                          banyan_wide *out, banyan_error *err)
{
    banyan_twins twins;
    int64_t *merged = NULL;
    banyan_status status = banyan_twins_merge(graph, price, &twins, err);

    if (!status && !twins.graph)
        status = least_cost_of_joined(graph, price, hoped, out, err);
    else if (!status) {
        merged = banyan_alloc((size_t)twins.graph->arc_count, sizeof *merged);
        for (int i = 0; merged && i < graph->arc_count; i++)
            merged[twins.arc[i]] = price[i];
        status =
            merged ? least_cost_of_joined(twins.graph, merged, hoped, out, err) : banyan_fail_memory(err);
    }
    banyan_free(merged);
    banyan_twins_fini(&twins);
    return status;
}

/* Costs are whole numbers, so that of 2.9999 at least 3 is wanted; large ones may miss a little. */
static banyan_wide least_wanted(double cost)
{
    if (!(cost < (double)MOST))
        return MOST;
    return (banyan_wide)fmax(floor(cost * (1 - BANYAN_EXACTLY_SAME)), ceil(cost * (1 - BANYAN_NEARLY_SAME)));
}

banyan_status banyan_allreduce_prove(const banyan_graph *graph, double hoped, banyan_allreduce_bound *bound,
                                     banyan_error *err)
{
    banyan_wide worth = banyan_graph_worth(graph, bound->price),
                wanted = hoped > 0 ? least_wanted((double)worth / hoped) : MOST;
    banyan_status status;

    bound->cost = 0;
    status = least_cost_of_merged(graph, bound->price, wanted, &bound->cost, err);
    if (status)
        return status;
    if (bound->cost <= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the prices prove nothing: some tree costs nothing");
    banyan_allreduce_set_value(graph, bound);
    return BANYAN_SUCCESS;
}
