/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/steiner.c: idle workers that add, and too many to find cheapest trees. The bound comes
 * first, from cuts; its prices tell which cables are scarce. Where few trees are allowed, trees of whole
 * units are tried first. Else, or where these do not fit, trees are spread over the cables under the prices,
 * and a linear program weighs them; if they fall short, its own prices are followed as well for some more
 * trees, and again. */
#include "algorithms/forest/parts.h"
#include "bound/allreduce.h"
#include "core/alloc.h"
#include "solve/net/effort.h"
#include "solve/oracle/steiner_heuristic.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/pack/multiplicative.h"
#include "solve/pack/pair_columns.h"
#include "solve/pack/weigh.h"
#include "solve/round/branch_moves.h"
#include "solve/round/edge_exchange.h"

#define ENOUGH 0.9992        /* of the bound, */
#define ENOUGH_TO_THIN 0.997 /* and where the trees are too many to be kept */
#define FEW_ARCS 260         /* with so few a linear program is as quick as whole units, and loses less */
#define FIRST_TREES 200      /* and one for each cable */
#define TURNS 6
#define ENOUGH_OF_FEW 0.995   /* with the trees that are allowed, */
#define ENOUGH_OF_MANY 0.9925 /* or, of very many cables, this, */
#define MANY_ARCS 600
#define MANY_NODES 128  /* beyond these a linear program over trees takes long, and pairs are rebalanced */
#define DENSE 16        /* nor, with that many arcs a node, */
#define MUCH 0.5        /* if this is reached: other ways take long there and reach less */
#define MOST_FEW 512    /* as many */
#define EXCHANGES 6     /* after that many turns at most, */
#define LEAST_GAIN 1e-4 /* that makes the next turn worth it */
#define ATTEMPTS 4000   /* and that many attempts in each */
#define CLOSE 1e-3      /* share of the bound that pairs may leave */

typedef struct {
    banyan_steiner_heuristic *helpers; /* NULL: with nodes that only forward */
    banyan_oracle *oracle;
} finder;

static int64_t find_tree(void *context, const int64_t *cost, banyan_trees *trees)
{
    finder *f = context;

    return f->helpers ? banyan_steiner_heuristic_tree(f->helpers, cost, trees)
                      : banyan_oracle_tree(f->oracle, cost, trees);
}

/* What has been found: trees, and weights for them. */
typedef struct {
    banyan_trees trees;
    double *weight, total;
} stand;

static void stand_fini(stand *s)
{
    banyan_trees_fini(&s->trees);
    banyan_free(s->weight);
    s->weight = NULL;
}

static banyan_status take_weights(stand *s, const banyan_weighing *weighing, banyan_error *err)
{
    banyan_free(s->weight);
    s->weight = banyan_alloc(s->trees.tree_count + 1, sizeof *s->weight);
    for (size_t t = 0; s->weight && t < s->trees.tree_count; t++)
        s->weight[t] = banyan_weighing_weight(weighing, t);
    return s->weight ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

/* How many trees weigh at least as much as this one and come before it. */
static size_t rank_of(const stand *s, size_t tree)
{
    size_t heavier = 0;

    for (size_t u = 0; u < s->trees.tree_count; u++)
        heavier += s->weight[u] > s->weight[tree] || (!(s->weight[u] < s->weight[tree]) && u < tree);
    return heavier;
}

static int is_light(const stand *s, size_t tree)
{
    return s->weight[tree] <= 1e-9 * s->total;
}

/* The heaviest of the trees, as many, and their weights. */
static banyan_status keep_heaviest(stand *s, size_t limit, banyan_error *err)
{
    stand kept = {.total = s->total};

    banyan_trees_init(&kept.trees);
    kept.weight = banyan_alloc(limit + 1, sizeof *kept.weight);
    for (size_t t = 0; kept.weight && t < s->trees.tree_count; t++) {
        if (is_light(s, t) || rank_of(s, t) >= limit)
            continue;
        kept.weight[kept.trees.tree_count] = s->weight[t];
        banyan_trees_copy(&kept.trees, &s->trees, t);
    }
    if (!kept.weight || kept.trees.failed) {
        stand_fini(&kept);
        return banyan_fail_memory(err);
    }
    stand_fini(s);
    *s = kept;
    return BANYAN_SUCCESS;
}

static size_t count_heavy(const stand *s)
{
    size_t count = 0;

    for (size_t t = 0; t < s->trees.tree_count; t++)
        count += !is_light(s, t);
    return count;
}

/* Down to the limit in steps: after each the rest is weighed anew, and other trees turn out to be light. The
 * trees have been weighed. */
static banyan_status thin_out(banyan_weighing *weighing, size_t limit, stand *s, banyan_error *err)
{
    size_t count;
    banyan_status status = take_weights(s, weighing, err);

    while (!status && (count = count_heavy(s)) > limit) {
        for (size_t t = 0; t < s->trees.tree_count; t++)
            if (is_light(s, t) || rank_of(s, t) >= count - (count - limit + 3) / 4)
                banyan_weighing_drop(weighing, t);
        status = banyan_weighing_solve(weighing, &s->total, err);
        if (!status)
            status = take_weights(s, weighing, err);
    }
    return status ? status : keep_heaviest(s, limit, err);
}

/* No more than the limit in the end. */
static banyan_status spread_and_weigh(const banyan_graph *graph, const banyan_allreduce_bound *bound,
                                      double enough, size_t limit, finder *f, stand *s, banyan_error *err)
{
    int count = FIRST_TREES + graph->arc_count / 2;
    double *price = banyan_alloc((size_t)graph->arc_count, sizeof *price);
    banyan_weighing *weighing = NULL;
    banyan_multiplicative *spread = NULL;
    banyan_status status = price ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status)
        status = banyan_multiplicative_create(graph, bound->price, bound->value, &spread, err);
    if (!status)
        status = banyan_weighing_create(graph, &s->trees, &weighing, err);
    for (int turn = 0; !status && turn < TURNS && s->total < enough * bound->value; turn++) {
        status = banyan_multiplicative_trees(spread, turn ? count / 2 : count, find_tree, f, &s->trees, err);
        if (!status)
            status = banyan_weighing_solve(weighing, &s->total, err);
        for (int i = 0; !status && i < graph->arc_count; i++)
            price[i] = banyan_weighing_price(weighing, i);
        if (!status)
            banyan_multiplicative_heed(spread, price);
    }
    if (!status)
        status = thin_out(weighing, limit, s, err);
    banyan_free(price);
    banyan_multiplicative_destroy(spread);
    banyan_weighing_destroy(weighing);
    return status;
}

static banyan_status weigh_and_thin_out(const banyan_graph *graph, size_t limit, stand *s, banyan_error *err)
{
    banyan_weighing *weighing;
    banyan_status status = banyan_weighing_create(graph, &s->trees, &weighing, err);

    if (!status)
        status = banyan_weighing_solve(weighing, &s->total, err);
    if (!status)
        status = thin_out(weighing, limit, s, err);
    banyan_weighing_destroy(weighing);
    return status;
}

static banyan_status copy_stand(const stand *from, stand *to, banyan_error *err)
{
    size_t count = from->trees.tree_count;

    *to = (stand){.weight = banyan_alloc(count + 1, sizeof *to->weight), .total = from->total};
    banyan_trees_init(&to->trees);
    for (size_t t = 0; to->weight && t < count; t++) {
        banyan_trees_copy(&to->trees, &from->trees, t);
        to->weight[t] = from->weight[t];
    }
    return to->weight && !to->trees.failed ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

/* Few trees fill the cables unevenly. With their weights as they are, edges move off the fullest cables; then
 * the trees before and after are weighed together, and thinned out again. *better: that was worth it. */
static banyan_status exchange(const banyan_graph *graph, stand *s, size_t limit, int *better,
                              banyan_error *err)
{
    banyan_edge_exchange_problem problem = {
        .weight = s->weight, .depth_limit = graph->node_count, .attempt_limit = ATTEMPTS};
    double fullest;
    stand moved;
    banyan_status status = copy_stand(s, &moved, err);

    *better = 0;
    if (!status)
        status = banyan_edge_exchange(graph, &problem, &moved.trees, &fullest, err);
    for (size_t t = 0; !status && t < s->trees.tree_count; t++)
        banyan_trees_copy(&moved.trees, &s->trees, t);
    if (!status && moved.trees.failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = weigh_and_thin_out(graph, limit, &moved, err);
    if (!status && moved.total > s->total) {
        stand before = *s;

        *better = moved.total > s->total * (1 + LEAST_GAIN);
        *s = moved;
        moved = before;
    }
    stand_fini(&moved);
    return status;
}

static banyan_status exchange_some(const banyan_graph *graph, double bound, stand *s, size_t limit,
                                   banyan_error *err)
{
    double enough = graph->arc_count > MANY_ARCS ? ENOUGH_OF_MANY : ENOUGH_OF_FEW;
    banyan_status status = BANYAN_SUCCESS;

    for (int turn = 0, better = 1; !status && better && turn < EXCHANGES && s->total < enough * bound; turn++)
        status = exchange(graph, s, limit, &better, err);
    return status;
}

/* Whether other trees than those that are found for their number may do better. */
static int is_open(const banyan_graph *graph, double total, double bound)
{
    return total < (graph->arc_count > DENSE * graph->node_count ? MUCH : BANYAN_TARGET_SHARE) * bound;
}

/* Pairs that rebalance, in the place of a linear program over very many trees, if they reach more than
 * *total. */
static banyan_status pack_pairs(const banyan_graph *graph, const banyan_forest_options *options,
                                const banyan_allreduce_bound *bound, double *total, banyan_flows *flows,
                                banyan_error *err)
{
    banyan_pair_packing_problem problem = {.stages = BANYAN_STAGES_PIPELINED,
                                           .tolerance = CLOSE,
                                           .round_limit = 1,
                                           .depth_limit = options->max_depth,
                                           .tree_limit = options->max_trees,
                                           .known_price = bound->price,
                                           .known_bound = bound->value};
    banyan_pair_packing packing;
    banyan_status status = banyan_pair_packing_solve(graph, &problem, &packing, err);

    if (status)
        return status;
    if (packing.total > *total) {
        *total = packing.total;
        banyan_forest_take_pairs(flows, graph, &packing);
    }
    banyan_pair_packing_fini(&packing);
    return BANYAN_SUCCESS;
}

static banyan_status pack(const banyan_graph *graph, const banyan_forest_options *options,
                          const banyan_allreduce_bound *bound, banyan_flows *flows, banyan_error *err)
{
    finder f = {NULL, NULL};
    stand s = {.total = 0};
    banyan_forest_trees few = {.total = 0};
    double in_pairs = 0;
    banyan_forest_options limited = *options;
    int is_large = graph->arc_count > BANYAN_LP_ARCS && banyan_graph_is_dense(graph),
        is_few = is_large || options->max_trees < graph->arc_count / 2,
        has_pairs = is_few && graph->node_count > MANY_NODES && banyan_branch_moves_applies(graph);
    banyan_status status = banyan_graph_has_forwarders(graph)
                               ? banyan_oracle_create(graph, &f.oracle, err)
                               : banyan_steiner_heuristic_create(graph, &f.helpers, err);

    banyan_trees_init(&s.trees);
    banyan_trees_init(&few.trees);
    if (is_large && limited.max_trees > MOST_FEW)
        limited.max_trees = MOST_FEW;
    if (!status && is_few && (graph->arc_count > FEW_ARCS || banyan_graph_is_dense(graph)))
        status = banyan_forest_few(graph, bound->price, bound->value, &limited, find_tree, &f, &few, err);
    if (!status && has_pairs && is_open(graph, few.total, bound->value)) {
        in_pairs = few.total;
        status = pack_pairs(graph, options, bound, &in_pairs, flows, err);
    } else if (!status && is_open(graph, few.total, bound->value)) {
        size_t limit = (size_t)options->max_trees;

        status = spread_and_weigh(graph, bound, is_few ? ENOUGH_TO_THIN : ENOUGH, limit, &f, &s, err);
        if (!status)
            status = exchange_some(graph, bound->value, &s, limit, err);
    }
    if (!status && few.total > s.total) {
        stand_fini(&s);
        s = (stand){few.trees, few.weight, few.total};
    } else {
        banyan_forest_trees_fini(&few);
    }
    for (size_t t = 0; !status && in_pairs <= s.total && t < s.trees.tree_count; t++)
        banyan_flows_add_tree(flows, graph, &s.trees, t, -1, s.weight[t]);
    stand_fini(&s);
    banyan_steiner_heuristic_destroy(f.helpers);
    banyan_oracle_destroy(f.oracle);
    return status;
}

banyan_status banyan_forest_steiner(const banyan_graph *graph, const banyan_forest_options *options,
                                    const banyan_allreduce_bound *bound, banyan_flows *flows,
                                    banyan_error *err)
{
    banyan_allreduce_bound found = {0};
    banyan_status status;

    if (bound)
        return pack(graph, options, bound, flows, err);
    found.price = banyan_alloc((size_t)graph->arc_count, sizeof *found.price);
    status = found.price ? banyan_forest_bound(graph, options, &found, err) : banyan_fail_memory(err);
    if (!status)
        status = pack(graph, options, &found, flows, err);
    banyan_free(found.price);
    return status;
}
