/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/starts.c: one way to pack any network. The bound comes first, with the prices that prove
 * it. Then starts are tried in turn: each makes pairs of trees that are good under the prices, and
 * rebalancing moves their subtrees and weights until links are evenly full (solve/round/rebalance.h). The
 * first start that comes near enough to the bound ends it; else the best of all is taken.
 *
 * A start is a function and a line in the list. None needs to be good by itself: what counts is what
 * rebalancing makes of it. */
#include <limits.h>
#include <math.h>

#include "algorithms/forest/pack.h"
#include "algorithms/forest/take.h"
#include "algorithms/grid_trees.h"
#include "bound/allreduce.h"
#include "bound/large.h"
#include "core/alloc.h"
#include "solve/cut/split.h"
#include "solve/net/effort.h"
#include "solve/net/tolerance.h"
#include "solve/net/work.h"
#include "solve/pack/thin.h"
#include "solve/pack/weigh.h"
#include "solve/presolve/bypass.h"
#include "solve/presolve/contract_wide.h"
#include "solve/round/rebalance.h"
#include "solve/round/reduce_depth.h"
#include "solve/round/subtree_moves.h"
#include "solve/start/geometric_pairs.h"
#include "solve/start/grown_pairs.h"
#include "solve/start/hub_pairs.h"
#include "solve/start/matroid_partition.h"
#include "solve/start/pair_tools.h"
#include "solve/start/peel.h"
#include "solve/start/star_pairs.h"
#include "topology/scale.h"

#define ROUGHLY 2e-3 /* share of the bound that columns may leave: rebalancing makes up for more than that */
#define MANY_SHARE 0.9995 /* of the bound that many trees should reach */
#define ROUNDS 60         /* of column generation: what it has by then is rebalanced */
#define FLATTENING 1000   /* attempts a tree to make it shallower */
#define MORE_HOPS 8       /* factor on the additional depth that is allowed whenever trees fall short */
#define TRIES 10          /* attempts per edge and node that moves may need: about one in ten succeeds */
#define TURNS 30          /* of moves and weights; a turn that gains little is the last in any case */

/* A network, what it can reach at most, the prices that prove it, where the vector is best summed, and how
 * many pairs of what depth may be used. */
typedef struct {
    const banyan_topology *topology;
    const banyan_graph *graph;
    const banyan_forest_options *options;
    banyan_split known; /* price, root, bound_value */
    const banyan_budget *budget;
    banyan_work begin;       /* what had been done when the prices were known */
    int64_t most_visits;     /* from then on */
    double widest;           /* arc: no pair weighs more */
    double enough, promised; /* when a start need not be better; and when it will do after long work */
    double
        equal_share[BANYAN_FEW_TREES + 1]; /* of the bound, by the number of pairs, if all weigh the same */
    double best_equal_share;
    int pair_limit, depth_limit;
    int is_rest;    /* of a network, beside stars */
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
    double least_gain; /* over the best before, that deep trees are worth: they take long to fill */
} start;

static int64_t visits(const instance *in)
{
    return banyan_work_since(&in->begin).visits;
}

static int64_t visits_left(const instance *in)
{
    int64_t left = in->most_visits - visits(in);

    return left > 1 ? left : 1;
}

/* Whether no other start is tried. */
static int is_content(const instance *in, double total)
{
    return total >= in->enough || (total >= in->promised && visits(in) > in->budget->near_visits);
}

static int always(const instance *in)
{
    return in->graph->active_count > 1;
}

/* Moves mend what growing overloads, and keep trees shallow, if there is work left for trying each edge some
 * times. */
static int can_mend(const instance *in, int pairs)
{
    double edges = 2.0 * pairs * in->graph->active_count;

    return edges * TRIES * in->graph->node_count <= (double)visits_left(in);
}

static banyan_status grow(const instance *in, int pairs, int are_equal, banyan_pair_packing *packing,
                          banyan_error *err)
{
    banyan_grown_pairs_problem problem = {.price = in->known.price,
                                          .root = in->known.root,
                                          .pair_limit = pairs,
                                          .visit_limit = visits_left(in),
                                          .are_equal = are_equal,
                                          .depth_limit = in->depth_limit,
                                          .keeps_room = !can_mend(in, pairs)};

    return banyan_grown_pairs_find(in->graph, &problem, packing, err);
}

static double find_widest(const banyan_graph *graph)
{
    int64_t widest = 0;

    for (int i = 0; i < graph->arc_count; i++)
        widest = graph->arcs[i].capacity > widest ? graph->arcs[i].capacity : widest;
    return (double)widest;
}

/* What that many pairs of any weights can reach at most. */
static double reach(const instance *in, int pairs)
{
    return fmin(in->known.bound_value, in->widest * pairs);
}

/* The share of the bound that pairs of one weight can reach at most: of each link only whole multiples of
 * that weight can be used, and the prices tell what that costs. */
static double share_of_equal(const instance *in, int pairs)
{
    double weight = reach(in, pairs) / pairs, used = 0, worth = 0;

    for (int i = 0; i < in->graph->arc_count; i++) {
        double capacity = (double)in->graph->arcs[i].capacity, price = (double)in->known.price[i];

        used += price * weight * floor(capacity / weight * (1 + BANYAN_SAME));
        worth += price * capacity;
    }
    return fmin(used / worth, reach(in, pairs) / in->known.bound_value);
}

/* As shallow as they are; where that falls short, deeper, step by step. most: what they can reach. */
static banyan_status rebalance(const instance *in, banyan_weights_rule weights, double most,
                               banyan_pair_packing *packing, banyan_error *err)
{
    banyan_rebalance_problem problem = {.aim = packing->bound_value,
                                        .enough = fmin(in->enough, most * (1 - BANYAN_SAME)),
                                        .turn_limit = TURNS,
                                        .visit_limit = visits_left(in),
                                        .weights = weights,
                                        .keeps_depth = in->depth_limit > 0,
                                        .price = in->known.price};
    banyan_status status = BANYAN_SUCCESS;

    for (int more = 0; !status && more <= in->graph->node_count; more = more ? more * MORE_HOPS : 1) {
        problem.more_hops = more;
        status = banyan_rebalance_packing(in->graph, &problem, packing, err);
        if (is_content(in, packing->total) || packing->total >= problem.enough || in->depth_limit ||
            visits(in) > in->most_visits)
            break;
    }
    return status;
}

/* Links may have room for shallower trees. */
static banyan_status flatten(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    double *limit = banyan_alloc((size_t)in->graph->arc_count, sizeof *limit);
    banyan_subtree_moves_problem problem = {.root = packing->root,
                                            .limit = limit,
                                            .attempt_limit = FLATTENING * (long)packing->trees.tree_count,
                                            .weight = packing->weight};
    banyan_status status = limit ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < in->graph->arc_count; i++)
        limit[i] = (double)in->graph->arcs[i].capacity;
    if (!status)
        status = banyan_subtree_moves_flatten(in->graph, &problem, &packing->trees, err);
    banyan_free(limit);
    return status;
}

/* How many slices go over a full link before each pair's first one has been up and down its trees: all pairs
 * take turns, at every hop. */
static banyan_status count_filling(const instance *in, const banyan_pair_packing *packing, long *out,
                                   banyan_error *err)
{
    int *above = banyan_alloc((size_t)in->graph->node_count, sizeof *above);

    if (!above)
        return banyan_fail_memory(err);
    *out = (2L * banyan_pair_tools_depth(in->graph, &packing->trees, above) - 1) *
           (long)(packing->trees.tree_count / 2);
    banyan_free(above);
    return BANYAN_SUCCESS;
}

static void swap_packings(banyan_pair_packing *a, banyan_pair_packing *b)
{
    banyan_pair_packing before = *a;

    *a = *b;
    *b = before;
}

static void find_equal_shares(instance *in)
{
    in->best_equal_share = 0;
    for (int pairs = 1; pairs <= in->pair_limit; pairs++) {
        in->equal_share[pairs] = share_of_equal(in, pairs);
        in->best_equal_share = fmax(in->best_equal_share, in->equal_share[pairs]);
    }
}

static int is_best_equal(const instance *in, int pairs)
{
    return in->equal_share[pairs] >= in->best_equal_share * (1 - BANYAN_SAME);
}

/* Some number of pairs of one weight can reach what is promised. */
static int may_be_equal(const instance *in)
{
    return in->graph->active_count > 1 && in->best_equal_share * in->known.bound_value >= in->promised;
}

/* Where streams share links evenly, as they mostly do, pairs of one weight run as fast as they should. Of the
 * numbers of pairs that can reach as much as any, the fewest are tried, then twice as many, and so on: more
 * pairs can be shallower, and those that soonest fill the network are taken. */
static banyan_status grow_equal(const instance *in, banyan_pair_packing *best, banyan_error *err)
{
    long filling = LONG_MAX;
    banyan_status status = BANYAN_SUCCESS;

    for (int pairs = 1; !status && pairs <= in->pair_limit && pairs < filling; pairs++) {
        banyan_pair_packing packing = {.bound_value = reach(in, pairs)};
        long slices = 0;

        if (!is_best_equal(in, pairs))
            continue;
        status = grow(in, pairs, 1, &packing, err);
        if (!status)
            status = rebalance(in, BANYAN_WEIGHTS_STAY, in->equal_share[pairs] * in->known.bound_value,
                               &packing, err);
        if (!status)
            status = flatten(in, &packing, err);
        if (!status)
            status = count_filling(in, &packing, &slices, err);
        if (!status && (packing.total >= in->promised ? slices < filling : packing.total > best->total)) {
            filling = packing.total >= in->promised ? slices : LONG_MAX;
            swap_packings(&packing, best);
        }
        banyan_pair_packing_fini(&packing);
        pairs = 2 * pairs - 1;
    }
    return status;
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
    banyan_trees combs;
    banyan_status status;

    banyan_trees_init(&combs);
    status = banyan_grid_trees_add(in->topology, in->graph, (size_t)in->pair_limit, &combs, err);
    if (!status && combs.tree_count)
        status = banyan_weigh_trees(in->graph, in->known.bound_value, &combs, packing, err);
    banyan_trees_fini(&combs);
    return status;
}

/* Every node is active and links are symmetric: trees are taken off one by one, each with the largest weight
 * that leaves the rest optimal, and are used in both directions; in vain if more than are allowed were
 * needed. */
static int is_peeled(const instance *in)
{
    return in->graph->symmetric && banyan_graph_all_active(in->graph) && !in->depth_limit &&
           reach(in, in->pair_limit) >= in->budget->target_share * in->known.bound_value;
}

static banyan_status peel(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    banyan_peel_problem problem = {
        .tree_limit = in->pair_limit, .enough = in->budget->near_share, .least = in->budget->target_share};
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

/* Links as strands of one weight: how many each has, how many trees these may make, and what such a tree may
 * weigh. */
static int count_strands(const instance *in, double each, int64_t *room, double *weight)
{
    const banyan_graph *graph = in->graph;
    int64_t strands = 0;

    *weight = HUGE_VAL;
    for (int i = 0; i < graph->arc_count; i++) {
        room[i] = (int64_t)((double)graph->arcs[i].capacity / each * (1 + BANYAN_SAME));
        strands += room[i];
        if (room[i])
            *weight = fmin(*weight, (double)graph->arcs[i].capacity / (double)room[i]);
    }
    strands /= 2 * ((int64_t)graph->active_count - 1);
    return (int)(strands < in->pair_limit ? strands : in->pair_limit);
}

static int may_be_partitioned(const instance *in)
{
    return is_peeled(in) && may_be_equal(in);
}

/* The same with trees of one weight: as many as strands allow, of the weight that reaches most. */
static banyan_status partition(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    double each = 0, most = 0, heavy = 0, *weight = banyan_alloc((size_t)in->pair_limit, sizeof *weight);
    int64_t *room = banyan_alloc((size_t)in->graph->arc_count, sizeof *room);
    int found = 0, count = 0;
    banyan_status status = weight && room ? BANYAN_SUCCESS : banyan_fail_memory(err);
    banyan_trees trees;

    banyan_trees_init(&trees);
    for (int k = 1; !status && k <= in->pair_limit; k++) {
        int some = count_strands(in, in->known.bound_value / k, room, &heavy);

        if (some * heavy > most * (1 + BANYAN_SAME)) {
            most = some * heavy;
            each = in->known.bound_value / k;
        }
    }
    if (!status && most >= in->promised * (1 - BANYAN_SAME)) {
        count = count_strands(in, each, room, &heavy);
        status = banyan_matroid_partition_trees(in->graph, room, count, &trees, &found, err);
    }
    for (int k = 0; found && k < count; k++)
        weight[k] = heavy;
    if (!status && found)
        status = banyan_reduce_depth(in->graph, &trees, &weight, (size_t)in->pair_limit, err);
    if (!status && found)
        status = banyan_pair_tools_mirror(in->graph, &trees, weight, packing, err);
    banyan_trees_fini(&trees);
    banyan_free(weight);
    banyan_free(room);
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
    packing->price = in->known.price; /* for this call */
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
    return !banyan_graph_all_active(in->graph) && !in->depth_limit && !in->is_rest;
}

static banyan_status pack_network(const banyan_topology *topology, const banyan_graph *graph,
                                  const banyan_forest_options *options, int64_t most_visits,
                                  banyan_flows *flows, banyan_error *err);

/* Flows of a network of its own, whose links are the graph's arcs, and what they reach. It is packed with
 * what is left of the work. */
static banyan_status pack_small(const instance *in, const banyan_graph *graph, banyan_flows *flows,
                                double *bytes_per_s, banyan_error *err)
{
    banyan_topology links = {.link_count = graph->arc_count,
                             .links = banyan_alloc((size_t)graph->arc_count, sizeof *links.links)};
    banyan_status status = links.links ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->arc_count; i++)
        links.links[i].bytes_per_s = (double)graph->arcs[i].capacity * graph->unit;
    if (!status)
        status = pack_network(&links, graph, in->options, visits_left(in), flows, err);
    if (!status && flows->failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = banyan_flows_limit(flows, &links, (size_t)in->options->max_trees, err);
    if (!status && flows->flow_count)
        status = banyan_flows_rate(flows, &links, bytes_per_s, err);
    banyan_free(links.links);
    return status;
}

static banyan_status pack_joined(const instance *in, const banyan_contraction *joined,
                                 banyan_pair_packing *packing, banyan_error *err)
{
    banyan_flows small;
    double rate = 0;
    banyan_status status = BANYAN_SUCCESS;

    banyan_flows_init(&small);
    if (joined->graph && joined->graph->active_count > 1)
        status = pack_small(in, joined->graph, &small, &rate, err);
    if (!status && small.flow_count)
        status = banyan_forest_lift(in->graph, joined, &small, rate / in->graph->unit, packing, err);
    banyan_flows_fini(&small);
    return status;
}

/* Cables that are wider than anything could use. */
static banyan_status join_wide(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    banyan_contraction joined;
    double limit, most;
    int together = !in->graph->symmetric;
    banyan_status status = banyan_contract_wide(in->graph, 0, &together, &limit, &most, &joined, err);

    if (!status)
        status = pack_joined(in, &joined, packing, err);
    banyan_contraction_fini(&joined);
    return status;
}

/* Cables that have no price in the bound. */
static banyan_status join_free(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    banyan_contraction joined;
    banyan_status status = banyan_contract(in->graph, in->known.price, 0, &joined, err);

    if (!status)
        status = pack_joined(in, &joined, packing, err);
    banyan_contraction_fini(&joined);
    return status;
}

/* Idle workers behind switches add for the others: they are best used as hubs. */
static int has_hubs(const instance *in)
{
    return banyan_graph_has_idle_adders(in->graph) && banyan_hub_pairs_apply(in->graph) && !in->depth_limit &&
           !in->is_rest;
}

static banyan_status choose_hubs(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    banyan_hub_pairs_problem problem = {.pair_limit = in->pair_limit, .enough = in->promised};

    return banyan_hub_pairs_find(in->graph, &problem, packing, err);
}

/* Column generation, begun with the bound's prices; the heaviest of its pairs. Where most pairs are cabled,
 * it brings no more than rebalancing has. */
static int has_columns(const instance *in)
{
    return in->graph->active_count <= in->budget->max_column_workers && !banyan_graph_is_dense(in->graph) &&
           !in->depth_limit && !in->is_rest;
}

static banyan_status make_columns(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    const banyan_graph *graph = in->graph;
    banyan_pair_packing_problem problem = {
        .stages = BANYAN_STAGES_PIPELINED,
        .tolerance = in->is_limited ? ROUGHLY : 1 - in->enough / in->known.bound_value,
        .round_limit = ROUNDS,
        .visit_limit = in->budget->column_visits,
        .tree_limit = in->pair_limit};
    banyan_status status = banyan_pair_packing_by_columns(graph, &problem, &in->known, packing, err);

    if (!status)
        status = banyan_thin_make_pairs(graph, packing, err);
    if (!status && packing->trees.tree_count / 2 > (size_t)in->pair_limit && in->is_limited)
        status = banyan_thin_keep_heaviest(in->pair_limit, packing, err);
    return status;
}

/* Idle workers with cables to all others are the middle of stars; other trees take what these leave. */
static int may_have_stars(const instance *in)
{
    return banyan_graph_has_idle_adders(in->graph) && !in->depth_limit && !in->is_rest;
}

static banyan_status try_starts(const instance *in, banyan_pair_packing *best, banyan_error *err);

/* Packs another network that is made of this one's arcs, beside pairs that weigh that much together. Its arcs
 * cost what those do. */
static banyan_status pack_other(const instance *in, const banyan_bypass *other, double taken, int pairs,
                                banyan_pair_packing *found, banyan_error *err)
{
    const banyan_graph *graph = other->graph;
    double more = in->graph->unit / graph->unit;
    instance left = *in;
    banyan_status status;

    left.graph = graph;
    left.known.price = banyan_alloc((size_t)graph->arc_count, sizeof *left.known.price);
    left.known.bound_value = (in->known.bound_value - taken) * more;
    left.enough = (in->enough - taken) * more;
    left.promised = (in->promised - taken) * more;
    left.widest = find_widest(graph);
    left.pair_limit -= pairs;
    left.is_rest |= pairs > 0;
    status = left.known.price ? BANYAN_SUCCESS : banyan_fail_memory(err);
    for (int i = 0; !status && i < graph->arc_count; i++) {
        int link = graph->arcs[i].link, second = other->second[link];

        left.known.price[i] =
            in->known.price[other->first[link]] + (second < 0 ? 0 : in->known.price[second]);
    }
    if (!status) {
        find_equal_shares(&left);
        status = try_starts(&left, found, err);
    }
    if (status == BANYAN_INVALID_ARGUMENT) /* what is left is in pieces */
        status = BANYAN_SUCCESS;
    banyan_free(left.known.price);
    return status;
}

/* Adds the other network's pairs to those that are there; root and weight have room for them. */
static banyan_status add_pairs(const instance *in, const banyan_bypass *other,
                               const banyan_pair_packing *found, banyan_trees *trees, int *root,
                               double *weight, banyan_error *err)
{
    size_t before = trees->tree_count, more = found->trees.tree_count;

    for (size_t t = 0; t < more; t++) {
        root[before + t] = found->root[t];
        weight[(before + t) / 2] = found->weight[t] * other->graph->unit / in->graph->unit;
    }
    if (more)
        banyan_bypass_lift(other, &found->trees, trees);
    return trees->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

/* Where most pairs are cabled, whatever runs through a forwarder could as well be a cable past it, and
 * weights can fit the widths of those. Such trees are deep. */
static int has_bypass(const instance *in)
{
    return banyan_graph_is_dense(in->graph) && banyan_graph_has_forwarders(in->graph) &&
           !banyan_graph_has_helpers(in->graph) && !in->depth_limit;
}

static banyan_status bypass(const instance *in, banyan_pair_packing *packing, banyan_error *err)
{
    banyan_pair_packing found = {0};
    banyan_trees trees;
    banyan_bypass past;
    int *root = NULL;
    double *weight = NULL;
    banyan_status status = banyan_bypass_make(in->graph, &past, err);

    banyan_trees_init(&trees);
    if (!status && past.graph)
        status = pack_other(in, &past, 0, 0, &found, err);
    if (!status && found.trees.tree_count) {
        root = banyan_alloc(found.trees.tree_count, sizeof *root);
        weight = banyan_alloc(found.trees.tree_count / 2, sizeof *weight);
        status = root && weight ? add_pairs(in, &past, &found, &trees, root, weight, err)
                                : banyan_fail_memory(err);
        if (!status)
            status = banyan_pair_tools_hand_over(packing, &trees, &root, weight, err);
    }
    banyan_trees_fini(&trees);
    banyan_free(root);
    banyan_free(weight);
    banyan_pair_packing_fini(&found);
    banyan_bypass_fini(&past);
    return status;
}

/* Together with trees in the rest, stars may reach the bound. */
static banyan_status make_stars(const instance *in, banyan_pair_packing *out, banyan_error *err)
{
    banyan_pair_packing found = {0};
    banyan_star_pairs stars;
    banyan_status status = banyan_star_pairs_find(in->graph, in->pair_limit, &stars, err);
    int pairs = status ? 0 : (int)(stars.trees.tree_count / 2);

    if (!status && stars.rest.graph && pairs < in->pair_limit)
        status = pack_other(in, &stars.rest, stars.total, pairs, &found, err);
    if (!status && found.trees.tree_count)
        status = add_pairs(in, &stars.rest, &found, &stars.trees, stars.root, stars.weight, err);
    if (!status && pairs)
        status = banyan_pair_tools_hand_over(out, &stars.trees, &stars.root, stars.weight, err);
    banyan_pair_packing_fini(&found);
    banyan_star_pairs_fini(&stars);
    return status;
}

/* bench/starts.py tells what each is worth: one that nobody misses goes. */
static const start starts[] = {
    {has_combs, weigh_combs, FINAL, 0},     /* grids */
    {is_peeled, peel, FINAL, 0},            /* symmetric, all active */
    {may_be_smaller, join_wide, PACKED, 0}, /* idle nodes, wide cables */
    {has_hubs, choose_hubs, PACKED, 0},     /* idle nodes that add, behind switches */
    {may_have_stars, make_stars, PACKED, 0},
    {may_be_equal, grow_equal, PACKED, 0},     /* trees of one weight can fill the links */
    {may_be_partitioned, partition, FINAL, 0}, /* dense regular networks, as full:100: 99 % instead of 97 */
    {always, grow_falling, OVERLOADED, 0},
    {is_cabled, fit_weights, PACKED, 0},                 /* no node only forwards */
    {may_be_smaller, join_free, PACKED, 0},              /* idle nodes, cables that limit nothing */
    {has_columns, make_columns, PACKED, 0},              /* small enough for column generation */
    {has_bypass, bypass, PACKED, BANYAN_FOREST_FILLING}, /* most pairs are cabled */
};

/* From the top of the list until one is good enough for the work done, or the work is more than is allowed;
 * the best is kept. */
static banyan_status try_starts(const instance *in, banyan_pair_packing *best, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (size_t i = 0; !status && i < sizeof starts / sizeof *starts && !is_content(in, best->total); i++) {
        banyan_pair_packing packing = {.bound_value = reach(in, in->pair_limit)};
        double more;

        if (best->total > 0 && visits(in) > in->most_visits)
            break;
        more = 1 + starts[i].least_gain;
        if (!starts[i].applies(in) || best->total * more >= packing.bound_value)
            continue;
        status = starts[i].make(in, &packing, err);
        if (!status && packing.trees.tree_count && starts[i].result != FINAL &&
            !(starts[i].result == PACKED && is_content(in, packing.total)))
            status = rebalance(in, BANYAN_WEIGHTS_ENOUGH, packing.bound_value, &packing, err);
        if (!status && packing.total > best->total * more)
            swap_packings(&packing, best);
        banyan_pair_packing_fini(&packing);
    }
    return status;
}

/* Symmetric links, or very many workers: the bound itself, and any worker may sum. Else cuts divide the links
 * between reduce and broadcast, which bounds the rate, and tell where to sum. */
static banyan_status find_prices(const banyan_topology *topology, const banyan_graph *graph,
                                 banyan_split *known, banyan_error *err)
{
    banyan_allreduce_bound bound = {0};
    int is_large = banyan_scale_is_large(topology);
    banyan_status status;

    if (!graph->symmetric && !is_large) {
        status = banyan_split_find(graph, BANYAN_SAME, known, err);
        bound = (banyan_allreduce_bound){.price = known->price, .value = known->bound_value};
        if (!status && (!known->is_settled || banyan_graph_has_helpers(graph)))
            status = banyan_large_lower(topology, graph, &bound, err);
        known->bound_value = bound.value;
        return status;
    }
    *known = (banyan_split){.price = banyan_alloc((size_t)graph->arc_count, sizeof *known->price),
                            .root = banyan_alloc((size_t)graph->node_count, sizeof *known->root)};
    if (!known->price || !known->root)
        return banyan_fail_memory(err);
    bound = (banyan_allreduce_bound){.price = known->price, .is_quick = 1};
    status = is_large ? banyan_large_solve(topology, graph, &bound, err)
                      : banyan_allreduce_solve(graph, &bound, err);
    known->bound_value = bound.value;
    for (int i = 0; i < graph->active_count; i++)
        known->root[graph->active[i]] = 1;
    return status;
}

static banyan_status pack_network(const banyan_topology *topology, const banyan_graph *graph,
                                  const banyan_forest_options *options, int64_t most_visits,
                                  banyan_flows *flows, banyan_error *err)
{
    banyan_pair_packing best = {0};
    double most, slack;
    int are_few = options->max_trees <= BANYAN_FEW_TREES;
    instance in = {.topology = topology,
                   .graph = graph,
                   .options = options,
                   .budget = options->budget,
                   .most_visits = most_visits,
                   .widest = find_widest(graph),
                   .pair_limit = are_few ? options->max_trees : BANYAN_FEW_TREES,
                   .depth_limit = options->max_depth,
                   .is_limited = are_few};
    banyan_status status = find_prices(topology, graph, &in.known, err);

    in.begin = banyan_work_now(); /* prices have limits of their own (solve/net/effort.h) */
    most = reach(&in, are_few ? in.pair_limit : options->max_trees);
    slack = BANYAN_PLAN_TIE * options->wait_s_per_byte * in.known.bound_value * graph->unit;
    in.enough = fmax(BANYAN_SAME, (are_few ? in.budget->near_share : MANY_SHARE) - slack) * most;
    in.promised = are_few ? fmax(BANYAN_SAME, in.budget->target_share - slack) * most : in.enough;
    if (!status) {
        find_equal_shares(&in);
        status = try_starts(&in, &best, err);
    }
    if (!status && best.trees.tree_count)
        status = flatten(&in, &best, err);
    if (!status)
        banyan_forest_take_pairs(flows, graph, &best);
    banyan_pair_packing_fini(&best);
    banyan_split_fini(&in.known);
    return status;
}

banyan_status banyan_forest_starts(const banyan_topology *topology, const banyan_graph *graph,
                                   const banyan_forest_options *options, banyan_flows *flows,
                                   banyan_error *err)
{
    double nodes = fmax(graph->node_count, BANYAN_BUDGET_NODES) / BANYAN_BUDGET_NODES;

    return pack_network(topology, graph, options,
                        (int64_t)((double)options->budget->most_visits * nodes * nodes), flows, err);
}
