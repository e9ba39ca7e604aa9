/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/equal_weights.c: many workers behind switches: too many cables for a linear program over
 * trees.
 *
 * Trees of equal weight, made one by one and then improved by exchanges. With T of them a cable of capacity c
 * can be in floor(T c / X) trees at a rate of X, and that rounding is what limits the rate: 62 cables in a
 * tree of 256 make 15.5 trees a cable of 64, so some are in 16, but 7.99 of 33. The bound's prices tell what
 * each T can reach at best; we take the smallest that is good enough. Beyond the number of trees allowed,
 * some of them weigh two units. */
#include <math.h>

#include "algorithms/forest/parts.h"
#include "bound/allreduce.h"
#include "core/alloc.h"
#include "solve/net/effort.h"
#include "solve/net/symmetry.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/round/edge_exchange.h"
#include "solve/start/hub_trees.h"

#define SAME 1e-6
#define MOST_TREES 64
#define FEWEST_TREES 16
#define FEWEST_WITH_HUBS 0.8    /* of the limit: with more trees idle hubs can be shared out better */
#define ENOUGH_WITH_HUBS 0.9903 /* of the bound */
#define ATTEMPTS 200000
#define ATTEMPTS_WITH_HUBS 100000 /* where there are idle hubs: what these do not bring more seldom do */
#define STEPS 64                  /* rates tried for one number of units */
#define MOST_WEIGHT 3             /* units of a tree */
#define ENOUGH 0.9955             /* of the bound, */
#define ENOUGH_FOR_MANY 0.9915    /* and for very many workers, */
#define VERY_MANY 300             /* more than that many */

/* What trees of that many units together can reach with these prices, in the graph's units; 0: less than
 * least. */
static double rate_of_units(const banyan_graph *graph, const banyan_allreduce_bound *bound, double tree_cost,
                            int units, double least)
{
    double rate = bound->value;

    for (int step = 0; step < STEPS && rate > least; step++) {
        double worth = 0, next = 0;

        for (int i = 0; i < graph->arc_count; i++) {
            double capacity = (double)graph->arcs[i].capacity * units, whole;

            if (bound->price[i] == 0)
                continue;
            whole = floor(capacity / rate * (1 + 1e-12));
            worth += (double)bound->price[i] * whole;
            if (capacity / (whole + 1) > next)
                next = capacity / (whole + 1);
        }
        if (worth >= units * tree_cost * (1 - 1e-12))
            return rate;
        rate = next;
    }
    return 0;
}

/* Idle hubs cost a tree one edge more each, of which prices know nothing: the number of units that leaves the
 * most room for that, for a rate that will do. */
static int choose_with_hubs(const banyan_graph *graph, const banyan_allreduce_bound *bound, int tree_limit,
                            double *rate)
{
    double most = 0;
    int best = tree_limit;

    *rate = ENOUGH_WITH_HUBS * bound->value;
    for (int units = (int)ceil(FEWEST_WITH_HUBS * tree_limit); units <= tree_limit; units++) {
        double room = 0;

        for (int i = 0; i < graph->arc_count; i++)
            room += (double)bound->price[i] * floor((double)graph->arcs[i].capacity * units / *rate + 1e-9);
        if (room / units > most * (1 - 1e-4)) {
            most = fmax(most, room / units);
            best = units;
        }
    }
    return best;
}

/* The number of units that can reach the most; as few as will do. */
static int choose_units(const banyan_graph *graph, const banyan_allreduce_bound *bound, int tree_limit,
                        double *rate)
{
    double worth = 0, tree_cost;
    int best = tree_limit;

    if (banyan_graph_has_idle_adders(graph))
        return choose_with_hubs(graph, bound, tree_limit, rate);

    for (int i = 0; i < graph->arc_count; i++)
        worth += (double)graph->arcs[i].capacity * (double)bound->price[i];
    tree_cost = worth / bound->value;
    *rate = 0;
    for (int units = tree_limit < FEWEST_TREES ? tree_limit : FEWEST_TREES; units <= MOST_WEIGHT * tree_limit;
         units++) {
        double found = rate_of_units(graph, bound, tree_cost, units, *rate * (1 + 1e-6));

        if (found > 0) {
            *rate = found;
            best = units;
        }
        if (*rate >= (graph->active_count > VERY_MANY ? ENOUGH_FOR_MANY : ENOUGH) * bound->value)
            break;
    }
    return best;
}

/* Cheapest trees, one after the other, each making what it uses more expensive. */
static banyan_status make_cheapest(const banyan_graph *graph, int tree_count, banyan_trees *trees,
                                   banyan_error *err)
{
    banyan_oracle *oracle = NULL;
    int64_t *cost = banyan_alloc((size_t)graph->arc_count, sizeof *cost);
    double *load = banyan_alloc((size_t)graph->arc_count, sizeof *load);
    banyan_status status = cost && load ? banyan_oracle_create(graph, &oracle, err) : banyan_fail_memory(err);

    for (int t = 0; !status && t < tree_count; t++) {
        double fullest = 1e-12;

        for (int i = 0; i < graph->arc_count; i++)
            fullest = load[i] > fullest ? load[i] : fullest;
        for (int i = 0; i < graph->arc_count; i++)
            cost[i] = 64 + (int64_t)(64 * exp2(16 * load[i] / fullest));
        if (banyan_oracle_tree(oracle, cost, trees) < 0)
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the active workers are not all connected");
        if (!status && trees->failed)
            status = banyan_fail_memory(err);
        for (size_t a = status ? trees->arc_count : banyan_trees_arcs_begin(trees, trees->tree_count - 1);
             a < trees->arc_count; a++) {
            const banyan_arc *arc = &graph->arcs[trees->arcs[a]];

            load[trees->arcs[a]] += 1 / (double)arc->capacity;
            load[arc->twin] += 1 / (double)arc->capacity;
        }
    }
    banyan_oracle_destroy(oracle);
    banyan_free(cost);
    banyan_free(load);
    return status;
}

static int usual_depth(const banyan_graph *graph)
{
    int depth = 2;

    for (int count = graph->active_count; count > 1; count /= 2)
        depth++;
    return depth;
}

/* Trees of equal weight, or nearly so, in the place of the flows if they reach more than *rate, in the
 * graph's units. */
static banyan_status pack_equal(const banyan_graph *graph, const banyan_forest_options *options,
                                const banyan_allreduce_bound *bound, banyan_flows *flows, double *rate,
                                banyan_error *err)
{
    banyan_edge_exchange_problem problem = {
        .attempt_limit = banyan_graph_has_idle_adders(graph) ? ATTEMPTS_WITH_HUBS : ATTEMPTS};
    banyan_trees trees;
    double aim = 0, fullest = 0, *weight;
    int limit = options->max_trees < MOST_TREES ? options->max_trees : MOST_TREES;
    int units = choose_units(graph, bound, limit, &aim), count = units < limit ? units : limit;
    banyan_status status;

    banyan_trees_init(&trees);
    weight = banyan_alloc((size_t)count, sizeof *weight);
    status = weight ? BANYAN_SUCCESS : banyan_fail_memory(err);
    for (int t = 0; !status && t < count; t++)
        weight[t] = units / count + (t < units % count);
    problem.weight = weight;
    problem.enough = aim > 0 ? units / aim : 0;
    problem.depth_limit = options->max_depth ? options->max_depth : usual_depth(graph);
    if (!status)
        status = banyan_hub_trees_pack(graph, count, &trees, err);
    if (!status && trees.tree_count == 0)
        status = make_cheapest(graph, count, &trees, err);
    if (!status)
        status = banyan_edge_exchange(graph, &problem, &trees, &fullest, err);
    if (!status && fullest > 0 && units / fullest > *rate) {
        *rate = units / fullest;
        flows->flow_count = 0;
        for (size_t t = 0; t < trees.tree_count; t++)
            banyan_flows_add_tree(flows, graph, &trees, t, -1, weight[t]);
    }
    banyan_trees_fini(&trees);
    banyan_free(weight);
    return status;
}

/* The same with trees of weights that halve, or pairs that rebalance. */
static banyan_status pack_unequal(const banyan_graph *graph, const banyan_forest_options *options,
                                  const banyan_allreduce_bound *bound, banyan_flows *flows, double *rate,
                                  banyan_error *err)
{
    banyan_oracle *oracle;
    banyan_forest_trees few;
    banyan_status status = banyan_oracle_create(graph, &oracle, err);

    if (status)
        return status;
    status =
        banyan_forest_few(graph, bound->price, bound->value, options, banyan_oracle_tree, oracle, &few, err);
    if (!status && few.total > *rate) {
        *rate = few.total;
        flows->flow_count = 0;
        for (size_t t = 0; t < few.trees.tree_count; t++)
            banyan_flows_add_tree(flows, graph, &few.trees, t, -1, few.weight[t]);
    }
    if (!status)
        banyan_forest_trees_fini(&few);
    banyan_oracle_destroy(oracle);
    if (!status && *rate < BANYAN_TARGET_SHARE * bound->value && !banyan_graph_has_idle_adders(graph))
        status = banyan_forest_pairs(graph, bound->price, bound->value, options, flows, rate, err);
    return status;
}

/* What the ends of cables at workers allow, which limit many networks; 0 if some worker's own cables allow
 * less. */
static double bound_by_ends(const banyan_graph *graph, int64_t *price)
{
    double bound = 0, least = HUGE_VAL;

    for (int i = 0; i < graph->active_count; i++) {
        int v = graph->active[i];
        double width = 0;

        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++)
            width += (double)graph->arcs[graph->out_arc[j]].capacity;
        bound += width / (2.0 * (graph->active_count - 1));
        least = fmin(least, width);
    }
    for (int i = 0; i < graph->arc_count; i++)
        price[i] = ((graph->role[graph->arcs[i].src] & BANYAN_NODE_ACTIVE) != 0) +
                   ((graph->role[graph->arcs[i].dst] & BANYAN_NODE_ACTIVE) != 0);
    return least < bound ? 0 : bound;
}

/* Few cables are equivalent, so that the program would be a large one. */
static banyan_status is_uneven(const banyan_graph *graph, int *out, banyan_error *err)
{
    int *group = banyan_alloc((size_t)graph->arc_count, sizeof *group), count = 0;
    banyan_status status =
        group ? banyan_symmetry_find(graph, 0, group, &count, err) : banyan_fail_memory(err);

    *out = !status && count > graph->arc_count / 8;
    banyan_free(group);
    return status;
}

/* In uneven networks trees of equal weight seldom do, and take long to give up. */
static banyan_status pack_by_bound(const banyan_graph *graph, const banyan_forest_options *options,
                                   int uneven, banyan_allreduce_bound *bound, banyan_flows *flows,
                                   double *rate, banyan_error *err)
{
    int first_unequal = uneven && !options->max_depth;
    double before = bound->value;
    banyan_status status = banyan_allreduce_solve(graph, bound, err);

    if (!status && first_unequal && !(fabs(bound->value - before) < SAME * before)) /* not tried yet */
        status = pack_unequal(graph, options, bound, flows, rate, err);
    if (!status && *rate < BANYAN_TARGET_SHARE * bound->value)
        status = pack_equal(graph, options, bound, flows, rate, err);
    if (!status && *rate < BANYAN_TARGET_SHARE * bound->value && !first_unequal && !options->max_depth)
        status = pack_unequal(graph, options, bound, flows, rate, err);
    return status;
}

banyan_status banyan_forest_equal(const banyan_graph *graph, const banyan_forest_options *options,
                                  const banyan_allreduce_bound *bound, banyan_flows *flows, banyan_error *err)
{
    double rate = 0;

    return pack_equal(graph, options, bound, flows, &rate, err);
}

banyan_status banyan_forest_equal_weights(const banyan_graph *graph, const banyan_forest_options *options,
                                          banyan_flows *flows, banyan_error *err)
{
    banyan_allreduce_bound bound = {.price = banyan_alloc((size_t)graph->arc_count, sizeof(int64_t))};
    double rate = 0;
    int uneven = 0;
    banyan_status status = bound.price ? is_uneven(graph, &uneven, err) : banyan_fail_memory(err);

    if (!status && uneven && !options->max_depth) {
        bound.value = bound_by_ends(graph, bound.price);
        if (bound.value > 0)
            status = pack_unequal(graph, options, &bound, flows, &rate, err);
    }
    if (!status && !(rate > 0 && rate >= BANYAN_TARGET_SHARE * bound.value))
        status = pack_by_bound(graph, options, uneven, &bound, flows, &rate, err);
    banyan_free(bound.price);
    return status;
}
