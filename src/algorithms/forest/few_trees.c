/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/few_trees.c: where the best packing has more trees than are allowed, trees that are found
 * for that number from the beginning lose less than the heaviest of the packing do: of weights that fall from
 * one to the next, or of one weight each. A linear program weighs them in the end where that is needed. */
#include <math.h>

#include "algorithms/forest/parts.h"
#include "core/alloc.h"
#include "solve/net/effort.h"
#include "solve/pack/weigh.h"
#include "solve/start/geometric_trees.h"
#include "solve/start/unit_weights.h"

#define ENOUGH 0.9901        /* of the bound, */
#define ROUNDS 24            /* after that many at most; */
#define FITTED_ENOUGH 0.9997 /* and for weights that fall */
#define LEAST 0.5            /* down to this */

static banyan_status weigh(const banyan_graph *graph, const banyan_trees *trees, double *weight,
                           double *total, banyan_error *err)
{
    banyan_weighing *weighing;
    banyan_status status = banyan_weighing_create(graph, trees, &weighing, err);

    *total = 0;
    if (!status)
        status = banyan_weighing_solve(weighing, total, err);
    for (size_t t = 0; !status && t < trees->tree_count; t++)
        weight[t] = banyan_weighing_weight(weighing, t);
    banyan_weighing_destroy(weighing);
    return status;
}

/* Trees that are still allowed, one by one under the prices of the program over those that are there. */
static banyan_status fill(const banyan_graph *graph, const banyan_unit_weights_problem *like,
                          banyan_forest_trees *few, banyan_error *err)
{
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price);
    double *weight = banyan_alloc((size_t)like->tree_limit, sizeof *weight);
    banyan_weighing *weighing = NULL;
    banyan_status status = price && weight ? banyan_weighing_create(graph, &few->trees, &weighing, err)
                                           : banyan_fail_memory(err);

    if (!status)
        status = banyan_weighing_solve(weighing, &few->total, err);
    while (!status && few->total < ENOUGH * like->bound && few->trees.tree_count < (size_t)like->tree_limit) {
        double highest = 0;

        for (int i = 0; i < graph->arc_count; i++)
            highest = fmax(highest, banyan_weighing_price(weighing, i));
        for (int i = 0; i < graph->arc_count; i++)
            price[i] = 1 + (int64_t)(banyan_weighing_price(weighing, i) / highest * 1e9);
        if (like->oracle(like->context, price, &few->trees) < 0 || few->trees.failed)
            status = banyan_fail_memory(err);
        if (!status)
            status = banyan_weighing_solve(weighing, &few->total, err);
    }
    for (size_t t = 0; !status && t < few->trees.tree_count; t++)
        weight[t] = banyan_weighing_weight(weighing, t);
    if (!status) {
        banyan_free(few->weight);
        few->weight = weight;
        weight = NULL;
    }
    banyan_weighing_destroy(weighing);
    banyan_free(price);
    banyan_free(weight);
    return status;
}

/* In the place of what is there, if they reach more; the others go. */
static void keep_better(banyan_forest_trees *few, banyan_forest_trees *out)
{
    if (few->total > out->total) {
        banyan_forest_trees before = *out;

        *out = *few;
        *few = before;
    }
    banyan_forest_trees_fini(few);
}

typedef banyan_status (*packer)(const banyan_graph *graph, const banyan_unit_weights_problem *problem,
                                banyan_trees *trees, double **weight, double *total, banyan_error *err);

/* Trees of different weights, if what is there is not good. */
static banyan_status try_unlike(packer pack, double enough, const banyan_graph *graph,
                                const banyan_unit_weights_problem *like, banyan_forest_trees *out,
                                banyan_error *err)
{
    banyan_unit_weights_problem problem = *like;
    banyan_forest_trees few = {.total = 0};
    banyan_status status;

    if (out->total >= BANYAN_TARGET_SHARE * like->bound)
        return BANYAN_SUCCESS;
    problem.enough = enough;
    banyan_trees_init(&few.trees);
    status = pack(graph, &problem, &few.trees, &few.weight, &few.total, err);
    if (!status && few.trees.tree_count && few.total < ENOUGH * like->bound)
        status = fill(graph, like, &few, err);
    if (status)
        banyan_forest_trees_fini(&few);
    else
        keep_better(&few, out);
    return status;
}

static banyan_status try_units(const banyan_graph *graph, const banyan_unit_weights_problem *problem,
                               banyan_forest_trees *out, banyan_error *err)
{
    banyan_forest_trees few = {.total = 0};
    int fits;
    banyan_status status;

    if (out->total >= BANYAN_TARGET_SHARE * problem->bound)
        return BANYAN_SUCCESS;
    banyan_trees_init(&few.trees);
    status = banyan_unit_weights_pack(graph, problem, &few.trees, &few.weight, &fits, err);
    if (!status && few.trees.tree_count)
        status = weigh(graph, &few.trees, few.weight, &few.total, err);
    if (status)
        banyan_forest_trees_fini(&few);
    else
        keep_better(&few, out);
    return status;
}

void banyan_forest_trees_fini(banyan_forest_trees *few)
{
    banyan_trees_fini(&few->trees);
    banyan_free(few->weight);
    few->weight = NULL;
    few->total = 0;
}

/* Trees without weight go. */
static banyan_status drop_weightless(banyan_forest_trees *few, banyan_error *err)
{
    banyan_trees kept;

    banyan_trees_init(&kept);
    for (size_t t = 0; t < few->trees.tree_count; t++)
        if (few->weight[t] > 1e-9 * few->total) {
            few->weight[kept.tree_count] = few->weight[t];
            banyan_trees_copy(&kept, &few->trees, t);
        }
    banyan_trees_fini(&few->trees);
    few->trees = kept;
    return kept.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

/* Cables of one width, and idle nodes that help: units fit soon, mostly, and each tree takes long to find. */
static int is_for_units(const banyan_graph *graph)
{
    for (int i = 1; i < graph->arc_count; i++)
        if (graph->arcs[i].capacity != graph->arcs[0].capacity)
            return 0;
    return banyan_graph_has_idle_adders(graph);
}

/* Weights that fall from one to the next fit best where no cable is twice in a tree, but each tree is found
 * once only, as it would be among very many. Behind switches pairs are rebalanced sooner than units fit. */
static banyan_status try_all(const banyan_graph *graph, const banyan_unit_weights_problem *problem,
                             banyan_forest_trees *out, banyan_error *err)
{
    int units_first = problem->tree_limit <= BANYAN_FEW_TREES && is_for_units(graph);
    int is_switched = !banyan_graph_all_active(graph) && !banyan_graph_has_idle_adders(graph);
    banyan_status status = units_first ? try_units(graph, problem, out, err) : BANYAN_SUCCESS;

    if (!status && !banyan_graph_has_forwarders(graph))
        status = try_unlike(banyan_geometric_trees_pack, FITTED_ENOUGH, graph, problem, out, err);
    if (!status && !units_first && !is_switched)
        status = try_units(graph, problem, out, err);
    return status;
}

banyan_status banyan_forest_few(const banyan_graph *graph, const int64_t *price, double bound,
                                const banyan_forest_options *options, banyan_tree_oracle oracle,
                                void *context, banyan_forest_trees *out, banyan_error *err)
{
    banyan_unit_weights_problem problem = {.price = price,
                                           .bound = bound,
                                           .enough = ENOUGH,
                                           .tree_limit = options->max_trees,
                                           .round_limit = ROUNDS,
                                           .oracle = oracle,
                                           .context = context};
    banyan_status status;

    *out = (banyan_forest_trees){.total = 0};
    banyan_trees_init(&out->trees);
    status = try_all(graph, &problem, out, err);
    if (!status)
        status = drop_weightless(out, err);
    if (status)
        banyan_forest_trees_fini(out);
    return status;
}

banyan_status banyan_forest_few_flows(const banyan_graph *graph, const int64_t *price, double bound,
                                      const banyan_forest_options *options, banyan_tree_oracle oracle,
                                      void *context, banyan_flows *flows, int *good, banyan_error *err)
{
    banyan_forest_trees few;
    banyan_status status = banyan_forest_few(graph, price, bound, options, oracle, context, &few, err);

    *good = !status && few.total >= (graph->arc_count > BANYAN_LP_ARCS ? LEAST : BANYAN_TARGET_SHARE) * bound;
    for (size_t t = 0; *good && t < few.trees.tree_count; t++)
        banyan_flows_add_tree(flows, graph, &few.trees, t, -1, few.weight[t]);
    if (!status)
        banyan_forest_trees_fini(&few);
    return status;
}
