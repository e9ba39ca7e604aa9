/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/starts.c: one way to pack any network. The bound comes first, with the prices that prove
 * it. Then starts are tried in turn: each makes pairs of trees that are good under the prices, and
 * rebalancing moves their subtrees and weights until links are evenly full (solve/round/rebalance.h). The
 * first start that comes near enough to the bound ends it; else the best of all is taken.
 *
 * A start is a function and a line in the list. None needs to be good by itself: what counts is what
 * rebalancing makes of it. */
#include <math.h>

#include "algorithms/forest/pack.h"
#include "algorithms/forest/take.h"
#include "algorithms/grid_trees.h"
#include "bound/allreduce.h"
#include "core/alloc.h"
#include "solve/cut/split.h"
#include "solve/net/effort.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/pack/thin.h"
#include "solve/presolve/contract_wide.h"
#include "solve/round/branch_moves.h"
#include "solve/round/rebalance.h"
#include "solve/round/reduce_depth.h"
#include "solve/start/geometric_pairs.h"
#include "solve/start/grown_pairs.h"
#include "solve/start/hub_pairs.h"
#include "solve/start/pair_tools.h"
#include "solve/start/peel.h"

#define ROUGHLY 2e-3 /* share of the bound that columns may leave: rebalancing makes up for more than that */
#define DIVIDED 1e-9 /* share of the bound that a division may leave */
#define COMB_TOLERANCE 1e-9 /* share of the optimum that weights of combs may lack */
#define ROUNDS 60           /* of column generation: what it has by then is rebalanced */
#define TURNS 30            /* of moves and weights; a turn that gains little is the last in any case */

/* A network, what it can reach at most, the prices that prove it, where the vector is best summed, and how
 * many pairs of what depth may be used. */
typedef struct {
    const banyan_topology *topology;
    const banyan_graph *graph;
    const banyan_forest_options *options;
    banyan_split known; /* price, root, bound_value */
    int pair_limit, depth_limit;
    int is_limited; /* no more pairs are allowed; else these are just enough for most networks */
} instance;

typedef struct {
    int (*applies)(const instance *in);
    banyan_status (*make)(const instance *in, banyan_pair_packing *packing, banyan_error *err);
    enum {
        OVERLOADED, /* weights have to be found yet */
        PACKED,     /* no link is overloaded by the weights as they are */
        FINAL       /* nor does rebalancing bring more */
    } result;
} start;

static int always(const instance *in)
{
    return in->graph->active_count > 1;
}

static banyan_status grow(const instance *in, int pairs, int are_equal, banyan_pair_packing *packing,
                          banyan_error *err)
{
    banyan_grown_pairs_problem problem = {.price = in->known.price,
                                          .root = in->known.root,
                                          .pair_limit = pairs,
                                          .are_equal = are_equal,
                                          .depth_limit = in->depth_limit};

    return banyan_grown_pairs_find(in->graph, &problem, packing, err);
}

/* What that many pairs of one weight can reach at most: of each link only whole multiples of that weight can
 * be used, and the prices tell what that costs. */
static double reach_of_equal(const instance *in, int pairs)
{
    double weight = in->known.bound_value / pairs, used = 0, worth = 0;

    for (int i = 0; i < in->graph->arc_count; i++) {
        double capacity = (double)in->graph->arcs[i].capacity, price = (double)in->known.price[i];

        used += price * weight * floor(capacity / weight * (1 + 1e-9));
        worth += price * capacity;
    }
    return used / worth;
}

/* Most pairs of one weight that can reach as much as any number can. */
static int count_equal(const instance *in)
{
    double best = 0;
    int count = 1;

    for (int pairs = 1; pairs <= in->pair_limit; pairs++) {
        double reach = reach_of_equal(in, pairs);

        if (reach > best * (1 - 1e-9)) {
            best = fmax(reach, best);
            count = pairs;
        }
    }
    return count;
}

/* Where streams share links evenly, as they mostly do, pairs of one weight run as fast as they should. */
static banyan_status grow_equal(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    return grow(in, count_equal(in), 1, packing, err);
}

/* Weights of many sizes fill links better. */
static banyan_status grow_falling(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    return grow(in, in->pair_limit, 0, packing, err);
}

/* Grids have trees of a known shape, which one linear program weighs. */
static int has_combs(const instance *in)
{
    return in->graph->symmetric && !in->depth_limit && banyan_grid_trees_apply(in->topology, in->graph);
}

static banyan_status weigh_combs(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    banyan_tree_packing_problem problem = {.oracle = banyan_oracle_tree, .tolerance = COMB_TOLERANCE};
    banyan_tree_packing weighed = {0};
    banyan_trees combs;
    banyan_oracle *oracle = NULL;
    banyan_status status;

    banyan_trees_init(&combs);
    status = banyan_grid_trees_add(in->topology, in->graph, (size_t)in->pair_limit, &combs, err);
    if (!status)
        status = banyan_oracle_create(in->graph, &oracle, err);
    problem.context = oracle;
    problem.seed = &combs;
    if (!status && combs.tree_count)
        status = banyan_tree_packing_solve(in->graph, &problem, &weighed, err);
    if (!status && weighed.trees.tree_count)
        status = banyan_pair_tools_mirror(in->graph, &weighed.trees, weighed.weight, packing, err);
    banyan_tree_packing_fini(&weighed);
    banyan_oracle_destroy(oracle);
    banyan_trees_fini(&combs);
    return status;
}

/* Every node is active and links are symmetric: trees are taken off one by one, each with the largest weight
 * that leaves the rest optimal, and are used in both directions. */
static int is_peeled(const instance *in)
{
    return in->graph->symmetric && banyan_graph_all_active(in->graph) && !in->depth_limit;
}

static banyan_status peel(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    banyan_peel_problem problem = {
        .tree_limit = in->pair_limit, .enough = BANYAN_NEAR_SHARE, .least = BANYAN_TARGET_SHARE};
    banyan_peel peeled;
    banyan_status status = banyan_peel_solve(in->graph, &problem, &peeled, err);

    if (status)
        return status;
    status = banyan_reduce_depth(in->graph, &peeled.trees, &peeled.weight, (size_t)in->pair_limit, err);
    if (!status)
        status = banyan_pair_tools_mirror(in->graph, &peeled.trees, peeled.weight, packing, err);
    if (!status)
        packing->total = peeled.total;
    banyan_peel_fini(&peeled);
    return status;
}

/* No node only forwards, so trees use a link once at most, and few use the same: weights must fit widths. */
static int is_cabled(const instance *in)
{
    return !banyan_graph_has_forwarders(in->graph) && !in->depth_limit;
}

static banyan_status fit_weights(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    size_t arcs = (size_t)in->graph->arc_count;
    double *width = banyan_alloc(arcs, sizeof *width), *price = banyan_alloc(arcs, sizeof *price), worth = 0;
    banyan_geometric_pairs_problem problem = {
        .width = width, .price = price, .root = in->known.root, .pair_limit = in->pair_limit};
    banyan_status status = width && price ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (size_t i = 0; !status && i < arcs; i++) {
        width[i] = (double)in->graph->arcs[i].capacity;
        worth += width[i] * (double)in->known.price[i];
    }
    for (size_t i = 0; !status && i < arcs; i++) /* under which a pair costs 1 */
        price[i] = (double)in->known.price[i] * in->known.bound_value / worth;
    packing->price = in->known.price; /* lent */
    if (!status)
        status = banyan_geometric_pairs_find(in->graph, &problem, 0, packing, err);
    packing->price = NULL;
    banyan_free(width);
    banyan_free(price);
    return status;
}

/* Nodes that cables join which limit nothing are one node: a smaller network. */
static int may_be_smaller(const instance *in)
{
    return !banyan_graph_all_active(in->graph) && !in->depth_limit;
}

/* Cables that are wider than anything could use. */
static banyan_status join_wide(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    banyan_contraction joined;
    double limit, most;
    int together = !in->graph->symmetric;
    banyan_status status = banyan_contract_wide(in->graph, 0, &together, &limit, &most, &joined, err);

    if (!status)
        status = banyan_forest_pack_joined(in->graph, &joined, in->options, packing, err);
    banyan_contraction_fini(&joined);
    return status;
}

/* Cables that have no price in the bound. */
static banyan_status join_free(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    banyan_contraction joined;
    banyan_status status = banyan_contract(in->graph, in->known.price, 0, &joined, err);

    if (!status)
        status = banyan_forest_pack_joined(in->graph, &joined, in->options, packing, err);
    banyan_contraction_fini(&joined);
    return status;
}

/* Idle workers behind switches add for the others: they are best used as hubs. */
static int has_hubs(const instance *in)
{
    return banyan_graph_has_idle_adders(in->graph) && banyan_hub_pairs_apply(in->graph) && !in->depth_limit;
}

static banyan_status choose_hubs(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    banyan_hub_pairs_problem problem = {.pair_limit = in->pair_limit,
                                        .enough = BANYAN_TARGET_SHARE * in->known.bound_value};

    return banyan_hub_pairs_find(in->graph, &problem, packing, err);
}

/* Column generation, begun with the bound's prices; the heaviest of its pairs. Where branches move
 * (solve/round/branch_moves.h), or most pairs are cabled, it brings no more than rebalancing has. */
static int has_columns(const instance *in)
{
    return in->graph->active_count <= BANYAN_MANY_WORKERS && !banyan_graph_is_dense(in->graph) &&
           !in->depth_limit && !banyan_branch_moves_applies(in->graph);
}

static banyan_status make_columns(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    const banyan_graph *graph = in->graph;
    banyan_pair_packing_problem problem = {
        .stages = BANYAN_STAGES_PIPELINED,
        .tolerance =
            in->is_limited && graph->active_count > BANYAN_FEW_WORKERS ? ROUGHLY : 1 - BANYAN_NEARER_SHARE,
        .round_limit = ROUNDS,
        .visit_limit = BANYAN_COLUMN_VISITS,
        .tree_limit = in->pair_limit};
    banyan_status status = banyan_pair_packing_by_columns(graph, &problem, &in->known, packing, err);

    if (!status)
        status = banyan_thin_make_pairs(graph, packing, err);
    if (!status && packing->trees.tree_count / 2 > (size_t)in->pair_limit && in->is_limited)
        status = banyan_thin_keep_heaviest(in->pair_limit, packing, err);
    return status;
}

static const start starts[] = {
    {has_combs, weigh_combs, FINAL},     {is_peeled, peel, FINAL},
    {may_be_smaller, join_wide, PACKED}, {has_hubs, choose_hubs, PACKED},
    {always, grow_equal, OVERLOADED},    {always, grow_falling, OVERLOADED},
    {is_cabled, fit_weights, PACKED},    {has_columns, make_columns, PACKED},
    {may_be_smaller, join_free, PACKED},
};

/* As shallow as they are; and where that falls short of what we promise, as deep as they need to be. */
static banyan_status rebalance(const instance *in, double enough, double promised,
                               banyan_pair_packing *packing, banyan_error *err)
{
    banyan_rebalance_problem problem = {.aim = in->known.bound_value,
                                        .enough = enough,
                                        .turn_limit = TURNS,
                                        .is_patient = 1,
                                        .keeps_weights = 1,
                                        .price = in->known.price};
    banyan_status status = banyan_rebalance_packing(in->graph, &problem, packing, err);

    if (status || packing->total >= promised || in->depth_limit)
        return status;
    problem.more_hops = in->graph->node_count;
    return banyan_rebalance_packing(in->graph, &problem, packing, err);
}

/* A start goes on until enough is reached; another one is tried only where less than what we promise is. */
static banyan_status try_starts(const instance *in, double enough, double promised, banyan_pair_packing *best,
                                banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (size_t i = 0; !status && i < sizeof starts / sizeof *starts && best->total < promised; i++) {
        banyan_pair_packing packing = {.bound_value = in->known.bound_value};

        if (!starts[i].applies(in))
            continue;
        status = starts[i].make(in, &packing, err);
        if (!status && packing.trees.tree_count && starts[i].result != FINAL &&
            !(starts[i].result == PACKED && packing.total >= promised))
            status = rebalance(in, enough, promised, &packing, err);
        if (!status && packing.total > best->total) {
            banyan_pair_packing before = *best;

            *best = packing;
            packing = before;
        }
        banyan_pair_packing_fini(&packing);
    }
    return status;
}

/* Symmetric links: the bound itself, and any worker may sum. Else cuts divide the links between reduce and
 * broadcast, which bounds the rate, and tell where to sum. */
static banyan_status find_prices(const banyan_graph *graph, banyan_split *known, banyan_error *err)
{
    banyan_allreduce_bound bound = {0};
    banyan_status status;

    if (!graph->symmetric)
        return banyan_split_find_soon(graph, DIVIDED, known, err);
    *known = (banyan_split){.price = banyan_alloc((size_t)graph->arc_count, sizeof *known->price),
                            .root = banyan_alloc((size_t)graph->node_count, sizeof *known->root)};
    if (!known->price || !known->root)
        return banyan_fail_memory(err);
    bound.price = known->price;
    status = banyan_allreduce_solve(graph, &bound, err);
    known->bound_value = bound.value;
    for (int i = 0; i < graph->active_count; i++)
        known->root[graph->active[i]] = 1;
    return status;
}

banyan_status banyan_forest_starts(const banyan_topology *topology, const banyan_graph *graph,
                                   const banyan_forest_options *options, banyan_flows *flows,
                                   banyan_error *err)
{
    banyan_pair_packing best = {0};
    int are_few = options->max_trees <= BANYAN_FEW_TREES;
    double enough = are_few ? BANYAN_NEAR_SHARE : BANYAN_NEARER_SHARE;
    instance in = {.topology = topology,
                   .graph = graph,
                   .options = options,
                   .pair_limit = are_few ? options->max_trees : BANYAN_FEW_TREES,
                   .depth_limit = options->max_depth,
                   .is_limited = are_few};
    banyan_status status = find_prices(graph, &in.known, err);

    if (!status)
        status =
            try_starts(&in, enough * in.known.bound_value,
                       (are_few && graph->active_count > BANYAN_FEW_WORKERS ? BANYAN_TARGET_SHARE : enough) *
                           in.known.bound_value,
                       &best, err);
    if (!status)
        banyan_forest_take_pairs(flows, graph, &best);
    banyan_pair_packing_fini(&best);
    banyan_split_fini(&in.known);
    return status;
}
