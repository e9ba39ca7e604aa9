/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/symmetrise.c: asymmetric links. The narrower direction of each cable alone makes a
 * symmetric network, whose trees are found much faster than pairs of trees; bounds that are soon found tell
 * whether they will do. */
#include <math.h>

#include "algorithms/forest/parts.h"
#include "core/alloc.h"
#include "solve/cut/local_bounds.h"
#include "solve/cut/minimum_cut.h"
#include "solve/net/effort.h"
#include "solve/presolve/symmetrise.h"
#include "solve/round/branch_moves.h"

#define MANY_NODES 128    /* beyond these pairs that have rebalanced are as good */
#define NEARLY_ALL 0.9992 /* of an easy bound, */

/* Each cable as wide as its narrower direction; links without a way back are left out, and so are those
 * between nodes with several, where it is not clear which belong together. */
static banyan_status narrow_to_twins(const banyan_graph *graph, banyan_graph **out, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    int *src = banyan_alloc(arcs, sizeof(int)), *dst = banyan_alloc(arcs, sizeof(int));
    int *link = banyan_alloc(arcs, sizeof(int));
    double *capacity = banyan_alloc(arcs, sizeof(double));
    banyan_graph_input input = {graph->node_count, graph->role, 0, src, dst, capacity, link};
    banyan_status status = src && dst && link && capacity ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->arc_count; i++) {
        const banyan_arc *arc = &graph->arcs[i];
        int back = -1, ways = 0;

        for (int j = graph->out_first[arc->dst]; j < graph->out_first[arc->dst + 1]; j++)
            if (graph->arcs[graph->out_arc[j]].dst == arc->src) {
                back = graph->out_arc[j];
                ways++;
            }
        for (int j = graph->out_first[arc->src]; j < graph->out_first[arc->src + 1]; j++)
            ways += graph->arcs[graph->out_arc[j]].dst == arc->dst;
        if (ways != 2 || back < 0)
            continue;
        src[input.arc_count] = arc->src;
        dst[input.arc_count] = arc->dst;
        link[input.arc_count] = arc->link;
        capacity[input.arc_count++] =
            graph->unit *
            (double)(arc->capacity < graph->arcs[back].capacity ? arc->capacity : graph->arcs[back].capacity);
    }
    if (!status)
        status = banyan_graph_create(&input, out, err);
    banyan_free(src);
    banyan_free(dst);
    banyan_free(link);
    banyan_free(capacity);
    return status;
}

/* What equal prices on all arcs prove, in bytes per second. */
static banyan_status easy_bound(const banyan_graph *graph, double *out, banyan_error *err)
{
    int64_t *price = banyan_alloc((size_t)graph->arc_count, sizeof *price);
    banyan_wide num, den;
    int proven;
    banyan_status status = price ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < graph->arc_count; i++)
        price[i] = 1;
    if (!status)
        status = banyan_pair_prices_check(graph, price, &num, &den, &proven, err);
    if (!status)
        *out = den > 0 ? (double)num / (double)den * graph->unit : HUGE_VAL;
    banyan_free(price);
    return status;
}

/* The bound of a symmetric network, in bytes per second. */
static banyan_status bound_of(const banyan_graph *graph, const banyan_forest_options *options, double *out,
                              banyan_error *err)
{
    banyan_allreduce_bound bound = {.price = banyan_alloc((size_t)graph->arc_count, sizeof(int64_t))};
    banyan_status status =
        bound.price ? banyan_forest_bound(graph, options, &bound, err) : banyan_fail_memory(err);

    *out = bound.value * graph->unit;
    banyan_free(bound.price);
    return status;
}

/* The bound of the mean network, with its prices. */
static banyan_status bound_of_mean(const banyan_graph *graph, const banyan_forest_options *options,
                                   const banyan_symmetrised *mean, banyan_forest_known *known,
                                   banyan_error *err)
{
    banyan_allreduce_bound bound = {.price = banyan_alloc((size_t)mean->graph->arc_count, sizeof(int64_t))};
    banyan_status status =
        bound.price ? banyan_forest_bound(mean->graph, options, &bound, err) : banyan_fail_memory(err);

    known->bound = bound.value * mean->graph->unit;
    for (int i = 0; !status && i < graph->arc_count; i++)
        known->price[i] = mean->arc[i] < 0 ? 0 : bound.price[mean->arc[i]];
    banyan_free(bound.price);
    return status;
}

/* No more than the narrowest cut. */
static banyan_status cut_to_narrowest(const banyan_graph *graph, banyan_forest_known *known,
                                      banyan_error *err)
{
    unsigned char *inside = banyan_alloc((size_t)graph->node_count, 1);
    int64_t width;
    banyan_status status =
        inside ? banyan_minimum_cut(graph, INT64_MAX / 4, &width, inside, err) : banyan_fail_memory(err);

    if (!status && (double)width * graph->unit < known->bound) {
        known->bound = (double)width * graph->unit;
        for (int i = 0; i < graph->arc_count; i++)
            known->price[i] = inside[graph->arcs[i].src] && !inside[graph->arcs[i].dst];
    }
    banyan_free(inside);
    return status;
}

/* No more than what some place of a large network allows, and where to sum. */
static banyan_status heed_places(const banyan_graph *graph, banyan_forest_known *known, banyan_error *err)
{
    double value = known->bound / graph->unit;
    banyan_status status = banyan_local_bounds_lower(graph, known->price, known->root, &value, err);

    known->bound = value * graph->unit;
    return status;
}

/* Bounds of a network with asymmetric links and of its narrower directions that are soon found; where idle
 * workers help, the first is that of the mean network or the narrowest cut. 0 for the second: there is
 * none. */
static banyan_status find_easy_bounds(const banyan_graph *graph, const banyan_graph *narrow,
                                      const banyan_forest_options *options, banyan_forest_known *known,
                                      double *most, banyan_error *err)
{
    banyan_symmetrised mean;
    banyan_status status;

    known->bound = *most = 0;
    if (!banyan_graph_has_helpers(graph) && !banyan_graph_all_active(graph)) {
        status = easy_bound(graph, &known->bound, err);
        return !status && narrow->symmetric ? easy_bound(narrow, most, err) : status;
    }
    status = banyan_symmetrised_make(graph, BANYAN_EVEN_MEAN, &mean, err);
    if (!status && mean.graph)
        status = bound_of_mean(graph, options, &mean, known, err);
    if (!status && mean.graph && banyan_graph_has_helpers(graph))
        status = cut_to_narrowest(graph, known, err);
    if (!status && mean.graph && banyan_branch_moves_applies(graph))
        status = heed_places(graph, known, err);
    if (!status && mean.graph && narrow->symmetric)
        status = bound_of(narrow, options, most, err);
    if (status == BANYAN_INVALID_ARGUMENT) { /* not connected both ways */
        status = BANYAN_SUCCESS;
        *most = 0;
    }
    banyan_symmetrised_fini(&mean);
    return status;
}

/* Asymmetric links, many workers: where the narrower directions alone come near to an easy bound, the trees
 * of a symmetric network will do, and are found much faster. */
banyan_status banyan_forest_symmetrise(const banyan_topology *topology, const banyan_graph *graph,
                                       const banyan_forest_options *options, banyan_flows *flows,
                                       banyan_forest_known *known, int *good, banyan_error *err)
{
    banyan_graph *narrow = NULL;
    double rate = 0, bound = 0, most = 0,
           enough = options->max_trees > BANYAN_FEW_TREES ? NEARLY_ALL : BANYAN_TARGET_SHARE;
    banyan_status status = narrow_to_twins(graph, &narrow, err);

    *good = 0;
    if (!status)
        status = find_easy_bounds(graph, narrow, options, known, &most, err);
    bound = known->bound;
    if (!status && narrow->symmetric && bound > 0 && most >= enough * bound) {
        status = options->pack_symmetric(topology, narrow, options, flows, err);
        if (status == BANYAN_INVALID_ARGUMENT) { /* not connected both ways */
            status = BANYAN_SUCCESS;
            flows->flow_count = 0;
        }
        if (!status && flows->flow_count)
            status = banyan_flows_rate(flows, topology, &rate, err);
        *good = !status && flows->flow_count > 0 && rate >= enough * bound &&
                (!options->max_depth || banyan_flows_depth(flows) <= options->max_depth);
    }
    if (!*good)
        flows->flow_count = 0;
    banyan_graph_destroy(narrow);
    return status;
}

/* Trees of the narrower directions in place of flows that are far from the bound, if they reach more. */
banyan_status banyan_forest_try_narrow(const banyan_topology *topology, const banyan_graph *graph,
                                       const banyan_forest_options *options, banyan_flows *flows,
                                       double bound, banyan_error *err)
{
    banyan_graph *narrow = NULL;
    banyan_flows other;
    double rate = 0, most = HUGE_VAL;
    banyan_status status = flows->failed
                               ? banyan_fail_memory(err)
                               : banyan_flows_limit(flows, topology, (size_t)options->max_trees, err);

    if (!status)
        status = banyan_flows_rate(flows, topology, &rate, err);
    if (status || rate >= BANYAN_TARGET_SHARE * bound ||
        (graph->node_count > MANY_NODES && banyan_branch_moves_applies(graph)))
        return status;
    banyan_flows_init(&other);
    status = narrow_to_twins(graph, &narrow, err);
    if (!status && narrow->symmetric && banyan_graph_is_dense(graph)) /* there that is soon found */
        status = bound_of(narrow, options, &most, err);
    if (!status && narrow->symmetric && most > rate)
        status = options->pack_symmetric(topology, narrow, options, &other, err);
    if (!status)
        status = banyan_forest_keep_better(topology, options, flows, &other, &rate, err);
    else if (status == BANYAN_INVALID_ARGUMENT) /* not connected both ways */
        status = BANYAN_SUCCESS;
    banyan_flows_fini(&other);
    banyan_graph_destroy(narrow);
    return status;
}
