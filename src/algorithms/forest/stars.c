/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/stars.c: idle workers with cables to most active ones. Stars at these, and spanning trees
 * of the cables between active workers, are packed apart (solve/start/star_trees.h); the latter as if there
 * were no idle workers. What both can reach is compared with the bound first, so that nothing is lost where
 * other trees are better.
 *
 * No tree weighs more than the narrowest cable that it cannot do without. So T trees reach T times that at
 * most, and where the bound is higher, that is what they are compared with. */
#include <math.h>

#include "algorithms/forest/parts.h"
#include "bound/allreduce.h"
#include "core/alloc.h"
#include "solve/net/effort.h"
#include "solve/start/star_trees.h"

#define BEST 0.999

/* Whether cables no narrower than this connect the active nodes. */
static int connects(const banyan_graph *graph, int64_t least, int *top)
{
    int together = 1;

    for (int v = 0; v < graph->node_count; v++)
        top[v] = v;
    for (int i = 0; i < graph->arc_count; i++)
        if (graph->arcs[i].capacity >= least)
            top[banyan_graph_find_top(top, graph->arcs[i].src)] =
                banyan_graph_find_top(top, graph->arcs[i].dst);
    for (int i = 1; i < graph->active_count; i++)
        together &=
            banyan_graph_find_top(top, graph->active[i]) == banyan_graph_find_top(top, graph->active[0]);
    return together;
}

/* The most that a tree can weigh, in the graph's units: half of all widths are tried at a time. */
static banyan_status heaviest_tree(const banyan_graph *graph, double *out, banyan_error *err)
{
    int *top = banyan_alloc((size_t)graph->node_count, sizeof *top);
    int64_t low = 0, high = 1;

    if (!top)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->arc_count; i++)
        high = graph->arcs[i].capacity >= high ? graph->arcs[i].capacity + 1 : high;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;

        if (connects(graph, middle, top))
            low = middle;
        else
            high = middle;
    }
    *out = (double)low;
    banyan_free(top);
    return BANYAN_SUCCESS;
}

/* What the stars' prices prove, or fewer trees than enough can reach; in the graph's units. */
static banyan_status find_most(const banyan_graph *graph, const banyan_star_trees *stars, int max_trees,
                               double *out, banyan_error *err)
{
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price);
    banyan_fraction fraction;
    double heaviest = 0;
    banyan_status status = price ? heaviest_tree(graph, &heaviest, err) : banyan_fail_memory(err);

    if (!status) {
        banyan_star_trees_price(graph, stars, price);
        status = banyan_allreduce_prove(graph, price, HUGE_VAL, &fraction, out, err);
    }
    if (!status)
        *out = fmin(*out, heaviest * max_trees);
    banyan_free(price);
    return status;
}

/* Spanning trees, as many as the stars leave, with weights in bytes per second; *rate is their sum. */
static banyan_status span_rest(const banyan_topology *topology, const banyan_star_trees *stars,
                               const banyan_forest_options *options, banyan_flows *flows, double *rate,
                               banyan_error *err)
{
    banyan_forest_options fewer = *options;
    double sum = 0;
    banyan_status status;

    fewer.max_trees -= (int)stars->trees.tree_count;
    status = banyan_forest_all_active(topology, stars->rest, &fewer, flows, err);
    if (!status && flows->failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = banyan_flows_limit(flows, topology, (size_t)fewer.max_trees, err);
    if (!status)
        status = banyan_flows_rate(flows, topology, rate, err);
    for (size_t f = 0; !status && f < flows->flow_count; f++)
        sum += flows->flows[f].weight;
    for (size_t f = 0; !status && f < flows->flow_count; f++)
        flows->flows[f].weight *= *rate / sum;
    return status;
}

banyan_status banyan_forest_stars(const banyan_topology *topology, const banyan_graph *graph,
                                  const banyan_forest_options *options, double least, banyan_flows *flows,
                                  int *good, banyan_error *err)
{
    double rate = 0, most = 0, reached;
    banyan_star_trees stars;
    banyan_status status = banyan_star_trees_find(graph, &stars, good, err);

    if (status || !*good)
        return status;
    reached = stars.total * graph->unit + banyan_fraction_value(stars.strength) * stars.rest->unit;
    status = find_most(graph, &stars, options->max_trees, &most, err);
    if (least <= 0)
        least = (options->max_trees > BANYAN_FEW_TREES ? BEST : BANYAN_TARGET_SHARE) * most * graph->unit;
    *good = !status && stars.trees.tree_count < (size_t)options->max_trees && reached >= least;
    if (*good)
        status = span_rest(topology, &stars, options, flows, &rate, err);
    for (size_t t = 0; !status && *good && t < stars.trees.tree_count; t++)
        banyan_flows_add_tree(flows, graph, &stars.trees, t, -1, stars.weight[t] * graph->unit);
    *good = *good && !status && rate + stars.total * graph->unit >= least;
    if (!*good)
        flows->flow_count = 0;
    banyan_star_trees_fini(&stars);
    return status;
}
