/* SPDX-License-Identifier: Apache-2.0 */
/* bound/allreduce.c: which solver finds the best all-reduce.
 *
 *   symmetric, every node active          strength by minimum cuts: exact, no linear program
 *   symmetric, some nodes only forward    tree packing, spanning trees through forwarders
 *   symmetric, idle nodes that add        tree packing, Steiner trees
 *     - too many for the cheapest trees   cuts: the bidirected cut relaxation
 *   asymmetric links                     cuts divide links between reduce and broadcast
 *     - idle nodes that add or copy       the same, and reduce and broadcast trees with common roots
 *
 * Idle nodes that are the same are taken together first. With all of them the proof is prices on links. Where
 * the choice of helpers is too large to be searched fully, cuts (asymmetric links) or a dual ascent bound a
 * tree's cost from below, so that the bound holds, though it may not be tight. / */
#include "bound/allreduce.h"

#include <math.h>
#include <string.h>

#include "bound/network.h"
#include "core/alloc.h"
#include "solve/cut/entropy_split.h"
#include "solve/cut/split.h"
#include "solve/cut/steiner_cuts.h"
#include "solve/cut/strength.h"
#include "solve/net/symmetry.h"
#include "solve/oracle/steiner.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/pack/pair_columns.h"
#include "solve/pack/tree_columns.h"
#include "solve/presolve/bypass.h"
#include "solve/presolve/contract_wide.h"
#include "solve/presolve/contraction.h"
#include "solve/presolve/merge_twins.h"
#include "solve/start/star_trees.h"

#define SAME 1e-7
#define SAME_VALUE 1e-9  /* share by which bounds that are the same may differ */
#define ARCS_PER_GROUP 8 /* arcs for each group at least, on average */
/* beyond these, asymmetric links, trees that show which bound is the right one take long, so that */
#define MANY_NODES 128
#define NEARLY_WIDE 0.75 /* of what wide cables should bear has to do */
#define MANY_ARCS 300
#define MANY_CABLES 150 /* beyond this, cables that are equivalent share a row */

static banyan_status by_strength(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    int *part = banyan_alloc((size_t)graph->node_count, sizeof *part), part_count;
    banyan_status status =
        part ? banyan_strength(graph, &out->fraction, part, &part_count, err) : banyan_fail_memory(err);

    if (!status) {
        out->value = out->reached = banyan_fraction_value(out->fraction);
        for (int i = 0; i < graph->arc_count; i++)
            out->price[i] = part[graph->arcs[i].src] != part[graph->arcs[i].dst];
    }
    banyan_free(part);
    return status;
}

static banyan_status pack(const banyan_graph *graph, banyan_tree_packing_problem problem,
                          banyan_allreduce_bound *out, banyan_error *err)
{
    banyan_tree_packing packing;
    banyan_status status;
    int *group = NULL;

    if (graph->arc_count > 2 * MANY_CABLES) {
        group = banyan_alloc((size_t)graph->arc_count, sizeof *group);
        status = group ? banyan_symmetry_find(graph, 0, group, &problem.group_count, err)
                       : banyan_fail_memory(err);
        if (status)
            goto out;
        if (problem.group_count <= graph->arc_count / 8) {
            problem.group = group;
        } else if (graph->arc_count > 4 * MANY_CABLES) { /* what is proven by then has to do */
            problem.tolerance = 1e-4;
            problem.round_limit = 60;
        }
    }
    status = banyan_tree_packing_solve(graph, &problem, &packing, err);
    if (status)
        goto out;
    out->fraction = packing.bound;
    out->value = packing.bound_value;
    out->reached = packing.total;
    memcpy(out->price, packing.price, (size_t)graph->arc_count * sizeof *out->price);
    banyan_tree_packing_fini(&packing);
out:
    banyan_free(group);
    return status;
}

static banyan_status by_trees(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    banyan_tree_packing_problem problem = {
        .oracle = banyan_oracle_tree, .tolerance = 1e-10, .warm_trees = 60, .round_limit = 3000};
    banyan_oracle *oracle;
    banyan_status status = banyan_oracle_create(graph, &oracle, err);

    if (status)
        return status;
    problem.context = oracle;
    problem.quick = banyan_oracle_quick(oracle);
    status = pack(graph, problem, out, err);
    banyan_oracle_destroy(oracle);
    return status;
}

/* Few rows are enough where many cables are equivalent: then column generation is quick on large networks,
 * too. */
static banyan_status looks_symmetric(const banyan_graph *graph, int *is_symmetric, banyan_error *err)
{
    int *group = banyan_alloc((size_t)graph->arc_count, sizeof *group), count;
    banyan_status status =
        group ? banyan_symmetry_find(graph, 0, group, &count, err) : banyan_fail_memory(err);

    *is_symmetric = !status && count <= graph->arc_count / ARCS_PER_GROUP;
    banyan_free(group);
    return status;
}

/* Idle nodes add everywhere, but the cheapest trees cannot be found, or not in good time. */
static banyan_status needs_cuts(const banyan_graph *graph, int *cuts, banyan_error *err)
{
    int is_symmetric = 0;
    banyan_status status = BANYAN_SUCCESS;

    *cuts = graph->symmetric && banyan_graph_has_idle_adders(graph) && !banyan_graph_has_forwarders(graph) &&
            (!banyan_network_is_searched(graph) || banyan_network_has_many_helpers(graph));
    if (*cuts && banyan_network_helpers(graph) <= BANYAN_STEINER_TERMINALS)
        status = looks_symmetric(graph, &is_symmetric, err);
    *cuts &= !is_symmetric;
    return status;
}

/* Asymmetric links; or nodes only forward, and cables are many and of many sorts, so that a program over
 * trees takes longer than one over cuts, which say the same there. */
static banyan_status is_divided(const banyan_graph *graph, int *out, banyan_error *err)
{
    int is_symmetric = 0;
    banyan_status status = BANYAN_SUCCESS;

    *out = !graph->symmetric;
    if (*out || banyan_graph_has_idle_adders(graph) || banyan_graph_all_active(graph) ||
        graph->arc_count <= MANY_ARCS)
        return BANYAN_SUCCESS;
    status = looks_symmetric(graph, &is_symmetric, err);
    *out = !is_symmetric;
    return status;
}

/* Where nearly all pairs are cabled, stars at idle nodes may be known to be the best. */
static banyan_status by_stars(const banyan_graph *graph, banyan_allreduce_bound *out, int *good,
                              banyan_error *err)
{
    banyan_star_trees stars;
    double reached;
    banyan_status status = banyan_star_trees_find(graph, &stars, good, err);

    if (status || !*good)
        return status;
    banyan_star_trees_price(graph, &stars, out->price);
    reached = stars.total + banyan_fraction_value(stars.strength) * stars.rest->unit / graph->unit;
    status = banyan_allreduce_prove(graph, out->price, reached, &out->fraction, &out->value, err);
    *good = !status && reached >= out->value * (1 - SAME);
    out->reached = reached;
    banyan_star_trees_fini(&stars);
    return status;
}

/* Where most pairs are cabled: the idle nodes and one active one as a part, if a division of the arcs reaches
 * what that allows. */
static banyan_status by_one_part(const banyan_graph *graph, banyan_allreduce_bound *out, int *good,
                                 banyan_error *err)
{
    banyan_split division;
    banyan_status status = banyan_entropy_split(graph, &division, good, err);

    if (status || !*good)
        return status;
    out->value = out->reached = division.bound_value;
    memcpy(out->price, division.price, (size_t)graph->arc_count * sizeof *out->price);
    banyan_split_fini(&division);
    return BANYAN_SUCCESS;
}

/* The same where some nodes only forward: what these carry is cables between the others
 * (solve/presolve/bypass.h). */
static banyan_status by_through(const banyan_graph *graph, banyan_allreduce_bound *out, int *good,
                                banyan_error *err)
{
    banyan_bypass through;
    banyan_allreduce_bound found = {0};
    banyan_status status = banyan_bypass_make(graph, &through, err);

    *good = 0;
    if (!status && through.graph) {
        found.price = banyan_alloc((size_t)through.graph->arc_count, sizeof *found.price);
        status = found.price ? banyan_allreduce_solve(through.graph, &found, err) : banyan_fail_memory(err);
    }
    if (status == BANYAN_INVALID_ARGUMENT) { /* what was laid out does not join all nodes */
        status = BANYAN_SUCCESS;
        found.value = 0;
    }
    if (!status && found.value > 0) {
        out->reached = found.reached * through.graph->unit / graph->unit;
        banyan_bypass_price(graph, out->price);
        status = banyan_allreduce_prove(graph, out->price, out->reached, &out->fraction, &out->value, err);
        *good = !status && out->reached >= out->value * (1 - SAME);
    }
    banyan_free(found.price);
    banyan_bypass_fini(&through);
    return status;
}

/* Cuts give the prices; no packing is looked for. */
static banyan_status by_cuts(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    out->reached = 0;
    return banyan_steiner_cuts_price(graph, out->price, &out->value, err);
}

/* A single narrow cable is one proof; other cables are just as narrow if the bound stays when they count as
 * much. People want to hear of all of them. */
static banyan_status name_equals(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    int single = -1;

    for (int i = 0; i < graph->arc_count; i++)
        if (out->price[i] && banyan_graph_cable(graph, i) == i) {
            if (single >= 0)
                return BANYAN_SUCCESS;
            single = i;
        }
    for (int i = 0; single >= 0 && i < graph->arc_count; i++) {
        int twin = graph->arcs[i].twin;
        banyan_fraction fraction;
        double value;
        banyan_status status;

        if (out->price[i] || twin < i || graph->arcs[i].capacity != graph->arcs[single].capacity)
            continue;
        out->price[i] = out->price[twin] = out->price[single];
        status = banyan_allreduce_prove(graph, out->price, HUGE_VAL, &fraction, &value, err);
        if (status)
            return status;
        if (value > out->value)
            out->price[i] = out->price[twin] = 0;
    }
    return BANYAN_SUCCESS;
}

/* Too many helpers to choose from: prices from a network in which they only forward. The proof counts them
 * in. */
static banyan_status by_forwarding(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    unsigned char *role = banyan_alloc((size_t)graph->node_count, 1);
    banyan_graph plain;
    banyan_status status;

    if (!role)
        return banyan_fail_memory(err);
    plain = banyan_graph_forwarding_view(graph, role);
    status = by_trees(&plain, out, err);
    banyan_free(role);
    return status;
}

/* Where trees without helpers do not reach what that proves, cuts, which count helpers in, may prove less. */
static banyan_status by_cuts_of_helpers(const banyan_graph *graph, banyan_allreduce_bound *out,
                                        banyan_error *err)
{
    banyan_split division;
    banyan_status status =
        banyan_allreduce_prove(graph, out->price, HUGE_VAL, &out->fraction, &out->value, err);

    if (status || out->value <= out->reached * (1 + SAME))
        return status;
    status = banyan_split_find_soon(graph, 1e-9, &division, err);
    if (!status && division.bound_value < out->value) {
        out->value = division.bound_value;
        out->fraction = division.bound;
        memcpy(out->price, division.price, (size_t)graph->arc_count * sizeof *out->price);
    }
    if (!status)
        banyan_split_fini(&division);
    return status;
}

/* The bound of a network in which some nodes are one holds for this one: in its units, with prices per arc of
 * it. */
static banyan_status solve_joined(const banyan_graph *graph, const banyan_contraction *joined,
                                  banyan_allreduce_bound *out, banyan_error *err)
{
    banyan_allreduce_bound found = {.price =
                                        banyan_alloc((size_t)joined->graph->arc_count, sizeof *found.price)};
    banyan_status status =
        found.price ? banyan_allreduce_solve(joined->graph, &found, err) : banyan_fail_memory(err);

    if (!status) {
        out->value = found.value * joined->graph->unit / graph->unit;
        out->reached = found.reached * joined->graph->unit / graph->unit;
        for (int i = 0; i < graph->arc_count; i++)
            out->price[i] = joined->arc[i] < 0 ? 0 : found.price[joined->arc[i]];
    }
    banyan_free(found.price);
    return status;
}

/* Where a bound may not be tight: without its free cables the network is a smaller one, for which a lower
 * bound may be found. */
static banyan_status by_joining(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    banyan_contraction joined;
    banyan_allreduce_bound found = {.price = banyan_alloc(arcs, sizeof *found.price)};
    banyan_status status = found.price ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (status)
        return status;
    banyan_graph_make_even_prices(graph, out->price);
    status = banyan_contract(graph, out->price, 1, &joined, err);
    if (!status && joined.graph && joined.graph->active_count > 1) {
        status = solve_joined(graph, &joined, &found, err);
        if (!status && found.value < out->value * (1 - SAME_VALUE)) {
            out->value = found.value;
            memcpy(out->price, found.price, arcs * sizeof *found.price);
        }
    }
    banyan_free(found.price);
    banyan_contraction_fini(&joined);
    return status;
}

banyan_status banyan_allreduce_solve_even(const banyan_graph *graph, banyan_allreduce_bound *out, int *good,
                                          banyan_error *err)
{
    unsigned char *role = banyan_alloc((size_t)graph->node_count, 1);
    banyan_graph even;
    banyan_fraction fraction;
    double value = HUGE_VAL;
    banyan_status status = BANYAN_SUCCESS;

    *good = 0;
    if (!role)
        return banyan_fail_memory(err);
    even = banyan_graph_even_view(graph, role);
    if (even.symmetric && !graph->symmetric && !banyan_network_has_many_helpers(&even)) {
        status = banyan_graph_all_active(&even) ? by_strength(&even, out, err) : by_trees(&even, out, err);
        if (!status)
            status = banyan_allreduce_prove(graph, out->price, out->reached, &fraction, &value, err);
        *good = !status && value <= out->reached * (1 + 1e-9);
    }
    banyan_free(role);
    return status;
}

static banyan_status solve(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    int good = 0, is_forwarding = 0, divided = 0;
    banyan_status status = banyan_allreduce_solve_even(graph, out, &good, err);

    if (!status && !good)
        status = by_one_part(graph, out, &good, err);
    if (!status && !good && graph->symmetric)
        status = by_through(graph, out, &good, err);
    if (status || good)
        goto prove;
    if (!graph->symmetric && banyan_graph_has_helpers(graph))
        return banyan_allreduce_solve_helped(graph, out, err);
    if (graph->symmetric && banyan_graph_has_idle_adders(graph) && !banyan_graph_has_forwarders(graph))
        status = by_stars(graph, out, &good, err);
    if (status || good)
        return status;
    status = needs_cuts(graph, &good, err);
    if (status)
        return status;
    if (!good)
        status = is_divided(graph, &divided, err);
    if (status)
        return status;
    if (good)
        status = by_cuts(graph, out, err);
    else if ((is_forwarding = banyan_network_has_many_helpers(graph)))
        status = by_forwarding(graph, out, err);
    else if (divided)
        status = banyan_allreduce_solve_divided(graph, out, err);
    else if (banyan_graph_all_active(graph))
        status = by_strength(graph, out, err);
    else
        status = by_trees(graph, out, err);
    if (!status && is_forwarding)
        status = by_cuts_of_helpers(graph, out, err);
    if (!status && is_forwarding)
        status = banyan_allreduce_lower_by_cells(graph, out, err);
    if (!status && is_forwarding && out->value > out->reached * (1 + SAME))
        status = by_joining(graph, out, err);
prove: /* What a solver says is not taken on trust: the prices alone must prove it. */
    if (!status)
        status = banyan_allreduce_prove(graph, out->price, out->value, &out->fraction, &out->value, err);
    if (!status)
        status = banyan_allreduce_lower_by_search(graph, 0, out, err);
    if (!status && graph->symmetric && !banyan_graph_all_active(graph) && graph->arc_count <= 400)
        status = name_equals(graph, out, err);
    return status;
}

/* Nodes that wide cables join are one: what is left is often so small that all its trees can be searched.
 * *done: these can be laid into the graph; else it is a bound, but there may be a lower one. */
static banyan_status by_narrow_cables(const banyan_graph *graph, banyan_allreduce_bound *out, int *done,
                                      banyan_error *err)
{
    banyan_contraction joined;
    double limit, most;
    int together = !graph->symmetric;
    banyan_status status = banyan_contract_wide(graph, 1, &together, &limit, &most, &joined, err);

    *done = 0;
    out->value = HUGE_VAL;
    if (!status && joined.graph && joined.graph->active_count > 1) {
        status = solve_joined(graph, &joined, out, err);
        out->reached = fmin(out->reached, most);
        *done = !status &&
                (out->value <= most * (1 + SAME_VALUE) ||
                 (!graph->symmetric && graph->node_count > MANY_NODES && out->value * NEARLY_WIDE <= most));
    }
    if (*done)
        status = banyan_allreduce_prove(graph, out->price, out->value, &out->fraction, &out->value, err);
    banyan_contraction_fini(&joined);
    return status;
}

static banyan_status solve_merged(const banyan_graph *graph, banyan_allreduce_bound *out, banyan_error *err)
{
    banyan_twins twins;
    banyan_allreduce_bound merged = {0};
    banyan_status status = banyan_twins_merge(graph, NULL, &twins, err);

    if (status)
        return status;
    if (!twins.graph) {
        banyan_twins_fini(&twins);
        return solve(graph, out, err);
    }
    merged.price = banyan_alloc((size_t)twins.graph->arc_count, sizeof *merged.price);
    status = merged.price ? solve(twins.graph, &merged, err) : banyan_fail_memory(err);
    if (!status) {
        int64_t *price = out->price;

        for (int i = 0; i < graph->arc_count; i++)
            price[i] = merged.price[twins.arc[i]];
        *out = merged;
        out->price = price;
    }
    banyan_free(merged.price);
    banyan_twins_fini(&twins);
    return status;
}

banyan_status banyan_allreduce_solve(const banyan_graph *graph, banyan_allreduce_bound *out,
                                     banyan_error *err)
{
    banyan_allreduce_bound narrow = {.value = HUGE_VAL};
    int done = 0;
    banyan_status status;

    if (banyan_graph_all_active(graph))
        return solve_merged(graph, out, err);
    narrow.price = banyan_alloc((size_t)graph->arc_count, sizeof *narrow.price);
    status = narrow.price ? by_narrow_cables(graph, &narrow, &done, err) : banyan_fail_memory(err);
    if (!status && !done)
        status = solve_merged(graph, out, err);
    if (!status && !done && narrow.value < out->value * (1 - SAME_VALUE)) {
        narrow.reached = out->reached;
        status =
            banyan_allreduce_prove(graph, narrow.price, narrow.value, &narrow.fraction, &narrow.value, err);
        done = !status && narrow.value < out->value * (1 - SAME_VALUE);
    }
    if (!status && done) {
        int64_t *price = out->price;

        memcpy(price, narrow.price, (size_t)graph->arc_count * sizeof *price);
        *out = narrow;
        out->price = price;
    }
    banyan_free(narrow.price);
    return status;
}
