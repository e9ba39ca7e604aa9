/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/pairs_with_relays.c: pipelined trees where links are asymmetric and idle nodes help. Cuts divide
 * the arcs as if that were all that matters (solve/cut/split.h), idle nodes that are the same taken together
 * (solve/presolve/merge_twins.h); that gives a bound, and prices under which good trees are cheap, so that a
 * few hundred of them mostly reach the bound. Column generation goes on from there if they do not. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/cut/soft_partitions.h"
#include "solve/cut/split.h"
#include "solve/net/effort.h"
#include "solve/oracle/pair_oracle.h"
#include "solve/pack/pair_columns.h"
#include "solve/pack/thin.h"
#include "solve/presolve/merge_twins.h"
#include "solve/round/branch_moves.h"
#include "solve/round/rebalance.h"
#include "solve/start/equal_pairs.h"
#include "solve/start/falling_pairs.h"
#include "solve/start/geometric_pairs.h"

#define DIVIDED 1e-9 /* share by which divisions fall short of the bound, */
#define SETTLED 1e-7 /* and trees, which show that it is the right one */
#define ENOUGH 0.993 /* of the bound, reached by pairs of equal weight: nothing else is tried; */
#define GOOD 0.9905  /* of the bound, reached by pairs of any weights: the same */
#define FEW_ARCS 128 /* with so few columns are soon found, and mostly few enough */
/* with so few a division is soon made: pairs for a known bound hurry, as it may be too high; */
#define SOON_DIVIDED 200
#define CLOSE 5e-3           /* share of the bound that columns may leave then, where pairs are limited, */
#define CLOSER 2e-3          /* and with more arcs: then some pairs will have to go */
#define ROUGHLY 2e-3         /* the same where pairs are rebalanced, */
#define SETTLED_ENOUGH 0.991 /* until they reach this, */
#define TURNS 30             /* or after that many turns */
#define LOWER 0.999          /* of a bound: another one than that, for which trees may be found better */
#define SOFTLY 1.02 /* times the bound is proven by prices of many partitions, and they are followed */
#define PRICE_SCALE 17179869184.0 /* 2^34 */
#define MUCH 0.9                  /* of the bound will do on dense networks, once rebalanced */
#define FITTED_TURNS 8            /* in that many turns, */
#define FITTED_ARCS 8             /* a node, and more, are filled well by weights that fall */
#define MANY_ARCS 600             /* beyond which */
#define LEAST 0.1 /* must do: columns take minutes; so where more trees are allowed it is these that are */
#define MOST_FITTED 512 /* as many */
#define MOST_ROUNDS 300
/* beyond these a division takes seconds, and brings little where pairs have rebalanced */
#define MANY_NODES 128

/* What was found for nodes of which some are taken together, in proportion to their widths. */
static banyan_status spread_out(const banyan_graph *graph, const banyan_twins *twins, banyan_split *division,
                                banyan_error *err)
{
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price);

    if (!price)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->arc_count; i++)
        price[i] = division->price[twins->arc[i]];
    for (int v = graph->node_count - 1; v >= 0; v--) /* the first of twins comes last */
        division->root[v] = division->root[twins->node[v]] * twins->share[v];
    banyan_free(division->price);
    division->price = price;
    return BANYAN_SUCCESS;
}

/* Where the division proves less than what is known, trees had better follow that. */
static void heed_known(const banyan_graph *graph, const banyan_pair_packing_problem *problem,
                       banyan_split *division)
{
    if (!problem->known_price || problem->known_bound >= division->bound_value * (1 - SETTLED))
        return;
    memcpy(division->price, problem->known_price, (size_t)graph->arc_count * sizeof *division->price);
    division->bound_value = problem->known_bound;
    division->bound = (banyan_fraction){0, 0};
}

/* Other trees in the place of the packing's. */
static void take_trees(banyan_pair_packing *packing, banyan_pair_packing *from)
{
    banyan_pair_packing_replace(packing, from->kind, from->root, from->weight, &from->trees);
    from->kind = NULL, from->root = NULL, from->weight = NULL;
}

/* Pairs of equal weight, which should reach that much, into equal, which is empty; *good: they are enough. */
static banyan_status find_equal(const banyan_graph *graph, int limit, const banyan_split *division,
                                double enough, banyan_pair_packing *equal, int *good, banyan_error *err)
{
    banyan_equal_pairs_problem problem = {.root = division->root, .pair_limit = limit, .enough = enough};
    banyan_status status;

    equal->price = division->price; /* lent */
    equal->bound_value = division->bound_value;
    status = banyan_equal_pairs_find(graph, &problem, equal, err);
    equal->price = NULL;
    *good = !status && equal->total >= GOOD * division->bound_value;
    return status;
}

/* Pairs of weights that fall, into few, which is empty; *good: they are enough: on dense networks nothing
 * else does better. */
static banyan_status find_fitted(const banyan_graph *graph, int limit, const banyan_split *division,
                                 banyan_pair_packing *few, int *good, banyan_error *err)
{
    double *width = banyan_alloc((size_t)graph->arc_count, sizeof *width), most = division->bound_value;
    banyan_geometric_pairs_problem problem = {.width = width, .root = division->root, .pair_limit = limit};
    banyan_rebalance_problem settle = {.aim = most, .enough = GOOD * most, .turn_limit = FITTED_TURNS};
    banyan_status status = width ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->arc_count; i++)
        width[i] = (double)graph->arcs[i].capacity;
    few->price = division->price; /* lent */
    few->bound_value = most;
    if (!status)
        status = banyan_geometric_pairs_find(graph, &problem, 0, few, err);
    if (!status && few->total > 0 && few->total < GOOD * most)
        status = banyan_rebalance_packing(graph, &settle, few, err);
    few->price = NULL;
    *good = !status && few->total >= most * (graph->arc_count > MANY_ARCS   ? LEAST
                                             : banyan_graph_is_dense(graph) ? MUCH
                                                                            : GOOD);
    banyan_free(width);
    return status;
}

/* Where pairs of weights that are equal or fall are good, no columns are needed. */
static banyan_status try_few(const banyan_graph *graph, int limit, const banyan_split *division,
                             banyan_pair_packing *equal, banyan_pair_packing *few, banyan_pair_packing *out,
                             int *good, banyan_error *err)
{
    banyan_pair_packing *best;
    banyan_status status = BANYAN_SUCCESS;

    *good = 0;
    if (graph->arc_count > FITTED_ARCS * graph->node_count && !banyan_graph_has_forwarders(graph))
        status = find_fitted(graph, limit, division, few, good, err);
    if (!status && !*good && banyan_graph_has_forwarders(graph) &&
        graph->active_count > BANYAN_STEINER_TERMINALS) /* with fewer the best is soon found */
        status = find_equal(graph, limit, division, ENOUGH * division->bound_value, equal, good, err);
    if (status || !*good)
        return status;
    best = equal->total > few->total ? equal : few;
    *out = *best;
    *best = (banyan_pair_packing){0};
    out->price = banyan_alloc((size_t)graph->arc_count, sizeof *out->price);
    if (!out->price) {
        banyan_pair_packing_fini(out);
        return banyan_fail_memory(err);
    }
    memcpy(out->price, division->price, (size_t)graph->arc_count * sizeof *out->price);
    out->bound = division->bound;
    out->proven = 1;
    out->rounds = division->rounds;
    return BANYAN_SUCCESS;
}

/* Where there are more pairs than are of use the lightest go, unless those of few, or of equal weight, do
 * better; then they rebalance. */
static banyan_status limit_pairs(const banyan_graph *graph, int limit, const banyan_split *division,
                                 banyan_pair_packing *equal, banyan_pair_packing *few,
                                 banyan_pair_packing *out, banyan_error *err)
{
    banyan_rebalance_problem settle = {
        .aim = out->bound_value, .enough = ENOUGH * out->bound_value, .turn_limit = TURNS};
    banyan_pair_packing *best;
    int good;
    banyan_status status = banyan_thin_make_pairs(graph, out, err);

    if (status || out->trees.tree_count / 2 <= (size_t)limit)
        return status;
    if (!equal->trees.tree_count)
        status = find_equal(graph, limit, division, 0, equal, &good, err);
    best = few->total > equal->total ? few : equal;
    if (!status && best->total < ENOUGH * out->bound_value) {
        status = banyan_thin_add_pairs(out, equal, err);
        if (!status && few->trees.tree_count)
            status = banyan_thin_add_pairs(out, few, err);
    }
    if (!status)
        status = banyan_thin_out(graph, limit, out, err);
    if (!status && best->total > out->total)
        take_trees(out, best);
    if (!status && out->total < ENOUGH * out->bound_value)
        status = banyan_rebalance_packing(graph, &settle, out, err);
    return status;
}

/* Prices of many partitions in the place of those of the proof, if they prove nearly as much. */
static banyan_status soften(const banyan_graph *graph, const banyan_split *division, int64_t *price,
                            banyan_error *err)
{
    double *width = banyan_alloc((size_t)graph->arc_count, sizeof *width),
           *mixed = banyan_alloc((size_t)graph->arc_count, sizeof *mixed), highest = 0, proven = 0;
    banyan_soft_partitions *parts = NULL;
    banyan_status status = width && mixed ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status)
        status = banyan_soft_partitions_create(graph, division->price, &parts, err);
    for (int i = 0; !status && i < graph->arc_count; i++)
        width[i] = (double)graph->arcs[i].capacity;
    if (!status)
        proven = banyan_soft_partitions_mix(parts, width, mixed);
    for (int i = 0; !status && i < graph->arc_count; i++)
        highest = fmax(highest, mixed[i]);
    for (int i = 0; !status && i < graph->arc_count; i++)
        price[i] = proven > 0 && proven <= SOFTLY * division->bound_value
                       ? (int64_t)nearbyint(mixed[i] / highest * PRICE_SCALE)
                       : division->price[i];
    banyan_soft_partitions_destroy(parts);
    banyan_free(width);
    banyan_free(mixed);
    return status;
}

/* The packing's bound is the division's. */
static banyan_status take_bound(const banyan_graph *graph, const banyan_split *division,
                                banyan_pair_packing *out, banyan_error *err)
{
    if (!out->price)
        out->price = banyan_alloc((size_t)graph->arc_count, sizeof *out->price);
    if (!out->price)
        return banyan_fail_memory(err);
    memcpy(out->price, division->price, (size_t)graph->arc_count * sizeof *out->price);
    out->bound = division->bound;
    out->bound_value = division->bound_value;
    out->rounds = division->rounds;
    out->proven = 1;
    return BANYAN_SUCCESS;
}

/* Trees for the packing's bound, if there are any, had too high an aim. */
static int is_lower(const banyan_split *division, const banyan_pair_packing *packing)
{
    return packing->trees.tree_count == 0 || division->bound_value < LOWER * packing->bound_value;
}

/* Pairs of falling weights that avoid one another, and rebalance, in the place of those that are there if
 * they carry more. */
static banyan_status settle_laden(const banyan_graph *graph, int limit, const banyan_split *division,
                                  const banyan_rebalance_problem *settle, banyan_pair_packing *out,
                                  banyan_error *err)
{
    banyan_falling_pairs_problem falling = {
        .price = settle->price, .root = division->root, .pair_limit = limit};
    banyan_pair_packing few = {.bound_value = division->bound_value};
    banyan_status status = banyan_falling_pairs_find(graph, &falling, &few, err);

    if (!status)
        status = banyan_rebalance_packing(graph, settle, &few, err);
    if (!status && few.total > out->total)
        take_trees(out, &few);
    banyan_pair_packing_fini(&few);
    return status;
}

/* The same from pairs of weights that fall. */
static banyan_status settle_fitted(const banyan_graph *graph, int limit, const banyan_split *division,
                                   const banyan_rebalance_problem *settle, banyan_pair_packing *few,
                                   banyan_error *err)
{
    double *width = banyan_alloc((size_t)graph->arc_count, sizeof *width);
    banyan_geometric_pairs_problem problem = {.width = width, .root = division->root, .pair_limit = limit};
    banyan_status status = width ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->arc_count; i++)
        width[i] = (double)graph->arcs[i].capacity;
    if (!status)
        status = banyan_geometric_pairs_find(graph, &problem, 0, few, err);
    if (!status && few->total > 0)
        status = banyan_rebalance_packing(graph, settle, few, err);
    banyan_free(width);
    return status;
}

/* The heaviest of those of a rough packing. */
static banyan_status settle_heaviest(const banyan_graph *graph, const banyan_pair_packing_problem *problem,
                                     const banyan_split *division, const banyan_rebalance_problem *settle,
                                     banyan_pair_packing *few, banyan_error *err)
{
    banyan_pair_packing_problem rough = *problem;
    banyan_status status;

    rough.tolerance = fmax(ROUGHLY, problem->tolerance);
    status = banyan_pair_packing_by_columns(graph, &rough, division, few, err);
    if (status)
        return status;
    status = banyan_thin_make_pairs(graph, few, err);
    if (!status && few->trees.tree_count / 2 > (size_t)problem->tree_limit) {
        status = banyan_thin_keep_heaviest(problem->tree_limit, few, err);
        if (!status)
            status = banyan_rebalance_packing(graph, settle, few, err);
    }
    return status;
}

/* What pairs are rebalanced for, under prices that are to be made. */
static banyan_rebalance_problem make_settle(const banyan_graph *graph, const banyan_split *division,
                                            const int64_t *price)
{
    return (banyan_rebalance_problem){.aim = division->bound_value,
                                      .enough = SETTLED_ENOUGH * division->bound_value,
                                      .turn_limit = TURNS,
                                      .is_patient = graph->arc_count > MANY_ARCS,
                                      .price = price};
}

/* Without forwarders trees are rebalanced so well that those to begin with need not be the best. */
static banyan_status settle_some(const banyan_graph *graph, const banyan_pair_packing_problem *problem,
                                 const banyan_split *division, banyan_pair_packing *out, banyan_error *err)
{
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price);
    banyan_split soft = *division;
    banyan_rebalance_problem settle = make_settle(graph, division, price);
    banyan_status status = price ? soften(graph, division, price, err) : banyan_fail_memory(err);

    if (!status && (graph->arc_count > FEW_ARCS || out->trees.tree_count) && is_lower(division, out))
        status = settle_laden(graph, problem->tree_limit, division, &settle, out, err);
    else if (!status && out->trees.tree_count && graph->arc_count <= SOON_DIVIDED)
        status = banyan_rebalance_packing(graph, &settle, out, err);
    if (!status)
        status = take_bound(graph, division, out, err);
    soft.price = price;
    if (!status && out->total < GOOD * division->bound_value) {
        banyan_pair_packing few = {.price = division->price, .bound_value = division->bound_value};

        settle.is_patient = 1;
        if (graph->arc_count > MANY_ARCS) /* a packing would take long */
            status = settle_fitted(graph, problem->tree_limit, division, &settle, &few, err);
        else
            status = settle_heaviest(graph, problem, &soft, &settle, &few, err);
        if (!status && few.total > out->total)
            take_trees(out, &few);
        if (few.price == division->price)
            few.price = NULL; /* lent */
        banyan_pair_packing_fini(&few);
    }
    banyan_free(price);
    return status;
}

/* Where a bound is known, pairs under its prices, from all active nodes in turn, mostly come so near to it
 * that no division is needed. */
static banyan_status settle_known(const banyan_graph *graph, const banyan_pair_packing_problem *problem,
                                  banyan_pair_packing *out, int *good, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    int64_t *price = banyan_alloc(2 * arcs, sizeof *price);
    banyan_split known = {.price = price ? price + arcs : NULL,
                          .bound_value = problem->known_bound,
                          .root = banyan_alloc((size_t)graph->node_count, sizeof *known.root)};
    banyan_rebalance_problem settle = make_settle(graph, &known, price);
    banyan_status status = price && known.root ? BANYAN_SUCCESS : banyan_fail_memory(err);

    settle.in_hurry = graph->arc_count <= SOON_DIVIDED;
    if (!status)
        memcpy(known.price, problem->known_price, arcs * sizeof *price);
    for (int i = 0; !status && i < graph->active_count; i++)
        known.root[graph->active[i]] = 1;
    if (!status && problem->known_root)
        memcpy(known.root, problem->known_root, (size_t)graph->node_count * sizeof *known.root);
    if (!status)
        status = soften(graph, &known, price, err);
    if (!status)
        status = take_bound(graph, &known, out, err);
    if (!status)
        status = settle_laden(graph, problem->tree_limit, &known, &settle, out, err);
    *good = !status && out->total >= GOOD * problem->known_bound;
    banyan_free(price);
    banyan_free(known.root);
    return status;
}

/* Few pairs are wanted where they rebalance well. */
static int is_settling(const banyan_graph *graph, const banyan_pair_packing_problem *problem)
{
    return problem->tree_limit > 0 && problem->tree_limit <= BANYAN_FEW_TREES &&
           banyan_branch_moves_applies(graph);
}

/* A division by cuts, soon or until it is the best, and columns that begin with it. */
static banyan_status divide_and_fill(const banyan_graph *graph, const banyan_twins *twins,
                                     const banyan_pair_packing_problem *problem, int soon, int *settled,
                                     banyan_pair_packing *out, banyan_error *err)
{
    const banyan_graph *merged = twins->graph ? twins->graph : graph;
    banyan_split division = {0};
    banyan_pair_packing equal = {0}, few = {0};
    int good = 0, is_limited = problem->tree_limit > 0 && problem->tree_limit <= BANYAN_FEW_TREES,
        is_large =
            banyan_graph_is_dense(graph) && !banyan_graph_has_forwarders(graph) &&
            graph->arc_count > (graph->active_count > BANYAN_STEINER_TERMINALS ? MANY_ARCS : BANYAN_LP_ARCS);
    int few_limit = problem->tree_limit < MOST_FITTED ? problem->tree_limit : MOST_FITTED;
    banyan_status status = soon ? banyan_split_find_soon(merged, DIVIDED, &division, err)
                                : banyan_split_find(merged, DIVIDED, 1000, &division, err);

    *settled = division.is_settled;
    if (!status && twins->graph)
        status = spread_out(graph, twins, &division, err);
    if (!status)
        heed_known(graph, problem, &division);
    if (!status && is_settling(graph, problem)) {
        status = settle_some(graph, problem, &division, out, err);
        good = 1;
    } else if (!status && graph->arc_count > FEW_ARCS &&
               (is_limited || (is_large && problem->tree_limit > 0)))
        status = try_few(graph, few_limit, &division, &equal, &few, out, &good, err);
    if (!status && !good) {
        status = banyan_pair_packing_by_columns(graph, problem, &division, out, err);
        if (!status && problem->tree_limit > 0) {
            status = limit_pairs(graph, problem->tree_limit, &division, &equal, &few, out, err);
            if (status)
                banyan_pair_packing_fini(out);
        }
    }
    *settled |= good;
    banyan_pair_packing_fini(&equal);
    banyan_pair_packing_fini(&few);
    banyan_split_fini(&division);
    return status;
}

/* Whether trees can be the cheapest, so that columns may find a lower bound than cuts. */
static banyan_status is_exact(const banyan_graph *graph, int *out, banyan_error *err)
{
    banyan_pair_oracle oracle;
    banyan_status status = banyan_pair_oracle_init(&oracle, graph, err);

    *out = !status && banyan_pair_oracle_is_exact(&oracle);
    banyan_pair_oracle_fini(&oracle);
    return status;
}

/* The bound alone, without trees: on dense networks these take long, and where they are not the cheapest they
 * prove nothing. A bound that has come to stand still above the one that is known is of no use; below it the
 * division goes on to the end. */
static banyan_status bound_alone(const banyan_graph *graph, const banyan_twins *twins, double known,
                                 banyan_pair_packing *out, banyan_error *err)
{
    const banyan_graph *merged = twins->graph ? twins->graph : graph;
    banyan_split division;
    banyan_status status = banyan_split_find_soon(merged, DIVIDED, &division, err);

    memset(out, 0, sizeof *out);
    if (!status && !division.is_settled && division.bound_value < known * (1 - DIVIDED)) {
        banyan_split_fini(&division);
        status = banyan_split_find(merged, DIVIDED, MOST_ROUNDS, &division, err);
    }
    if (!status && twins->graph)
        status = spread_out(graph, twins, &division, err);
    if (status)
        return status;
    out->bound = division.bound;
    out->bound_value = division.bound_value;
    out->price = division.price;
    out->proven = 1;
    division.price = NULL;
    banyan_split_fini(&division);
    return BANYAN_SUCCESS;
}

/* Mostly trees soon show that the division has come to the right bound. Where only the bound is asked for,
 * and trees are not the cheapest, some hundred have to do for that: if they do not show it, the division goes
 * on until it does by itself. Whoever wants trees has them, a bound that is a little too high or not. */
static banyan_status by_division(const banyan_graph *graph, const banyan_pair_packing_problem *problem,
                                 banyan_pair_packing *out, banyan_error *err)
{
    banyan_pair_packing_problem shorter = *problem;
    banyan_twins twins;
    int settled = 0, exact = 0;
    banyan_status status = banyan_twins_merge(graph, NULL, &twins, err);

    if (!status)
        status = is_exact(graph, &exact, err);
    if (!exact && problem->tree_limit == 0)
        shorter.round_limit = 1;
    if (problem->tree_limit > 0 && problem->tree_limit <= BANYAN_FEW_TREES &&
        graph->active_count > BANYAN_STEINER_TERMINALS) /* with fewer the best is soon found */
        shorter.tolerance = graph->arc_count <= FEW_ARCS ? CLOSE : CLOSER;
    if (!status && problem->known_bound > 0 && problem->tree_limit == 0 && banyan_graph_is_dense(graph) &&
        (!exact || graph->arc_count > MANY_ARCS)) {
        status = bound_alone(graph, &twins, problem->known_bound, out, err);
        settled = 1;
    } else if (!status) {
        status = divide_and_fill(graph, &twins, &shorter, 1, &settled, out, err);
    }
    if (!status && !settled && problem->tree_limit == 0 && out->total < out->bound_value * (1 - SETTLED)) {
        banyan_pair_packing_fini(out);
        status = divide_and_fill(graph, &twins, &shorter, 0, &settled, out, err);
    }
    banyan_twins_fini(&twins);
    return status;
}

banyan_status banyan_pair_packing_by_guided_columns(const banyan_graph *graph,
                                                    const banyan_pair_packing_problem *problem,
                                                    banyan_pair_packing *out, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int good = 0;

    memset(out, 0, sizeof *out);
    if (is_settling(graph, problem) && problem->known_price)
        status = settle_known(graph, problem, out, &good, err);
    if (!status && !good && !(out->total > 0 && graph->node_count > MANY_NODES))
        status = by_division(graph, problem, out, err);
    if (status)
        banyan_pair_packing_fini(out);
    return status;
}
