/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/endpoint_bounds.c: bounds that hold for each pair of an in-tree and an out-tree with one root, n
 * active nodes:
 *
 *   cut    it leaves every set of nodes with active ones inside and outside, so at most the narrowest cut:
 *          2 n maximum flows
 *   ends   its 2 (n - 1) edges each leave an active node and enter one, so at most what leaves (enters)
 *          all of them over that
 *   parts  the same with p sets of nodes in the place of active nodes, one inside each at least: such as
 *          wide arcs join
 *   cells  where workers are behind switches, prices that are equal in each cell (solve/cut/pods.h)
 *   sides  where all cables join one half of the nodes to the other: a node but the root sends one edge up
 *          and gets one down, so n - 1 edges of the pair run from the one half to the other, and as many
 *          back
 *
 * A narrow cut leaves room elsewhere: pairs of equal weight fill it. Where ends or sides are the least,
 * everything is full, and pairs of falling weights fit best; of the wider direction between halves just as
 * much as of the other can be used. */
#include "solve/cut/endpoint_bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/cut/local_bounds.h"
#include "solve/cut/minimum_cut.h"
#include "solve/cut/pods.h"
#include "solve/cut/saturation.h"
#include "solve/net/flow.h"
#include "solve/pack/tree_columns.h"
#include "solve/round/rebalance.h"
#include "solve/start/equal_pairs.h"
#include "solve/start/geometric_pairs.h"

#define TURNS 6  /* in which pairs are rebalanced */
#define PAIRS 64 /* of equal weight, by which a bound may be reached */
#define REACHED (1 - 1e-9)
#define MANY_ARCS 3000 /* of which no division is found in good time */
#define PARTINGS 16 /* widths, evenly from the narrowest to the widest, that arcs must have to join parts */

typedef struct {
    const banyan_graph *graph;
    banyan_pair_packing *packing; /* its prices, bound */
    int is_full;                  /* the least bound is that of all arcs, of what can be used of them */
    int *side;                    /* per node: 0 or 1, where there are two halves */
    int has_sides;
    double *width, *price; /* per arc: what can be used, and the prices for that */
    double *root;
    int *part;
    unsigned char *holds, *crosses; /* per part: an active node; per arc: a current bound counts it */
} easy;

static void easy_fini(easy *e)
{
    banyan_free(e->side);
    banyan_free(e->width);
    banyan_free(e->price);
    banyan_free(e->root);
    banyan_free(e->part);
    banyan_free(e->holds);
    banyan_free(e->crosses);
}

static banyan_status easy_init(easy *e, banyan_error *err)
{
    size_t arcs = (size_t)e->graph->arc_count, nodes = (size_t)e->graph->node_count;

    e->packing->bound_value = HUGE_VAL;
    e->packing->proven = 1;
    e->packing->price = banyan_alloc(arcs, sizeof *e->packing->price);
    e->side = banyan_alloc(nodes, sizeof *e->side);
    e->width = banyan_alloc(arcs, sizeof(double));
    e->price = banyan_alloc(arcs, sizeof(double));
    e->root = banyan_alloc(nodes, sizeof(double));
    e->part = banyan_alloc(nodes, sizeof *e->part);
    e->holds = banyan_alloc(nodes, 1);
    e->crosses = banyan_alloc(arcs, 1);
    return e->packing->price && e->side && e->width && e->price && e->root && e->part && e->holds &&
                   e->crosses
               ? BANYAN_SUCCESS
               : banyan_fail_memory(err);
}

/* A bound of that much over that number of edges; whether it is less than what was known. */
static int is_less(easy *e, banyan_wide worth, int edges)
{
    if ((double)worth / edges >= e->packing->bound_value)
        return 0;
    e->packing->bound_value = (double)worth / edges;
    e->packing->bound = banyan_fraction_make(worth, edges);
    e->is_full = 0;
    return 1;
}

/* What leaves (enters) active nodes, all together. */
static void try_ends(easy *e, int entering)
{
    const banyan_graph *graph = e->graph;
    banyan_wide worth = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < graph->arc_count; i++) {
            int end = entering ? graph->arcs[i].dst : graph->arcs[i].src;
            int counts = (graph->role[end] & BANYAN_NODE_ACTIVE) != 0;

            worth += pass == 0 && counts ? graph->arcs[i].capacity : 0;
            if (pass == 1)
                e->packing->price[i] = counts;
        }
        if (pass == 0 && !is_less(e, worth, 2 * (graph->active_count - 1)))
            return;
    }
}

/* Halves of the nodes between which all arcs run. */
static banyan_status find_sides(easy *e, banyan_error *err)
{
    const banyan_graph *graph = e->graph;
    int *queue = banyan_alloc((size_t)graph->node_count, sizeof *queue), count = 1;

    if (!queue)
        return banyan_fail_memory(err);
    for (int v = 0; v < graph->node_count; v++)
        e->side[v] = -1;
    queue[0] = graph->active[0];
    e->side[queue[0]] = 0;
    e->has_sides = 1;
    for (int i = 0; i < count && e->has_sides; i++)
        for (int j = graph->out_first[queue[i]]; j < graph->out_first[queue[i] + 1]; j++) {
            int w = graph->arcs[graph->out_arc[j]].dst;

            if (e->side[w] < 0) {
                e->side[w] = !e->side[queue[i]];
                queue[count++] = w;
            }
            e->has_sides &= e->side[w] != e->side[queue[i]];
        }
    e->has_sides &= count == graph->active_count;
    banyan_free(queue);
    return BANYAN_SUCCESS;
}

static void try_sides(easy *e)
{
    const banyan_graph *graph = e->graph;
    banyan_wide worth[2] = {0, 0};
    int narrow;

    for (int i = 0; i < graph->arc_count; i++)
        worth[e->side[graph->arcs[i].src]] += graph->arcs[i].capacity;
    narrow = worth[1] < worth[0];
    for (int i = 0; i < graph->arc_count; i++)
        if (e->side[graph->arcs[i].src] != narrow)
            e->width[i] *= (double)worth[narrow] / (double)worth[!narrow];
    if (is_less(e, worth[narrow], graph->active_count - 1))
        for (int i = 0; i < graph->arc_count; i++)
            e->packing->price[i] = e->side[graph->arcs[i].src] == narrow;
}

/* The part of each node, named by one of its nodes, where arcs of at least this width join nodes; returns how
 * many have an active node. */
static int join_parts(easy *e, int64_t width)
{
    const banyan_graph *graph = e->graph;
    int count = 0;

    for (int v = 0; v < graph->node_count; v++) {
        e->part[v] = v;
        e->holds[v] = 0;
    }
    for (int i = 0; i < graph->arc_count; i++)
        if (graph->arcs[i].capacity >= width)
            e->part[banyan_graph_find_top(e->part, graph->arcs[i].src)] =
                banyan_graph_find_top(e->part, graph->arcs[i].dst);
    for (int i = 0; i < graph->active_count; i++) {
        int v = banyan_graph_find_top(e->part, graph->active[i]);

        count += !e->holds[v];
        e->holds[v] = 1;
    }
    return count;
}

/* What leaves (enters) the parts that wide arcs join. */
static void try_parts(easy *e, int64_t width)
{
    const banyan_graph *graph = e->graph;
    int parts = join_parts(e, width);

    for (int entering = 0; entering < 2 && parts > 1; entering++) {
        banyan_wide worth = 0;

        for (int i = 0; i < graph->arc_count; i++) {
            int from = banyan_graph_find_top(e->part, graph->arcs[i].src),
                to = banyan_graph_find_top(e->part, graph->arcs[i].dst);

            e->crosses[i] = from != to && e->holds[entering ? to : from];
            worth += e->crosses[i] ? graph->arcs[i].capacity : 0;
        }
        if (is_less(e, worth, 2 * (parts - 1)))
            for (int i = 0; i < graph->arc_count; i++)
                e->packing->price[i] = e->crosses[i];
    }
}

static int compare_widths(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return a < b ? -1 : a > b;
}

static banyan_status try_all_parts(easy *e, banyan_error *err)
{
    int count = e->graph->arc_count;
    int64_t *width = banyan_alloc((size_t)count, sizeof *width), before = -1;

    if (!width)
        return banyan_fail_memory(err);
    for (int i = 0; i < count; i++)
        width[i] = e->graph->arcs[i].capacity;
    qsort(width, (size_t)count, sizeof *width, compare_widths);
    for (int k = 1; k < PARTINGS; k++) {
        int64_t at = width[(size_t)count * (size_t)k / PARTINGS];

        if (at > before)
            try_parts(e, at);
        before = at;
    }
    banyan_free(width);
    return BANYAN_SUCCESS;
}

/* Workers behind switches: the program may think a little more of its prices than they prove. */
static banyan_status try_cells(easy *e, banyan_error *err)
{
    size_t arcs = (size_t)e->graph->arc_count;
    int64_t *price = banyan_alloc(arcs, sizeof *price);
    banyan_wide worth, cost = 0;
    double value = HUGE_VAL;
    banyan_status status = price ? banyan_pods_price(e->graph, price, &value, err) : banyan_fail_memory(err);

    if (!status && value < e->packing->bound_value * REACHED)
        status = banyan_pods_cost(e->graph, price, &cost, err);
    worth = cost > 0 ? banyan_tree_packing_value(e->graph, price, 1) : 0;
    if (!status && cost > 0 && (double)worth / (double)cost < e->packing->bound_value * REACHED) {
        e->packing->bound_value = (double)worth / (double)cost;
        e->packing->bound = banyan_fraction_make(worth, cost);
        e->is_full = 0;
        memcpy(e->packing->price, price, arcs * sizeof *price);
    }
    banyan_free(price);
    return status;
}

static banyan_status try_cuts(easy *e, banyan_error *err)
{
    const banyan_graph *graph = e->graph;
    unsigned char *inside = banyan_alloc((size_t)graph->node_count, 1);
    int64_t width = 0, limit = (int64_t)ceil(e->packing->bound_value);
    banyan_status status =
        inside ? banyan_minimum_cut(graph, limit, &width, inside, err) : banyan_fail_memory(err);

    if (!status && width < limit && is_less(e, width, 1))
        for (int i = 0; i < graph->arc_count; i++)
            e->packing->price[i] = inside[graph->arcs[i].src] && !inside[graph->arcs[i].dst];
    banyan_free(inside);
    return status;
}

/* Where a division of the whole would take minutes. */
static banyan_status try_places(easy *e, banyan_error *err)
{
    banyan_pair_packing *packing = e->packing;
    double value = packing->bound_value;
    banyan_status status = banyan_local_bounds_lower(e->graph, packing->price, e->root, &value, err);

    if (!status && value < packing->bound_value) {
        packing->bound_value = value;
        packing->bound = (banyan_fraction){0, 0};
        e->is_full = 0;
    }
    return status;
}

static banyan_status find_bound(easy *e, banyan_error *err)
{
    const banyan_graph *graph = e->graph;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < graph->arc_count; i++) {
        e->width[i] = (double)graph->arcs[i].capacity;
        e->price[i] = 1;
    }
    for (int i = 0; i < graph->active_count; i++)
        e->root[graph->active[i]] = 1;
    try_ends(e, 0);
    try_ends(e, 1);
    if (banyan_graph_all_active(graph))
        status = find_sides(e, err);
    if (!status && e->has_sides)
        try_sides(e);
    e->is_full = banyan_graph_all_active(graph);
    if (!status)
        status = try_all_parts(e, err);
    if (!status && banyan_graph_has_forwarders(graph))
        status = try_cells(e, err);
    if (!status)
        status = try_cuts(e, err);
    if (!status && graph->arc_count > MANY_ARCS && banyan_graph_all_active(graph))
        status = try_places(e, err);
    return status;
}

static void heed_known(easy *e, const banyan_endpoint_problem *problem)
{
    banyan_pair_packing *packing = e->packing;

    if (!problem->known_price || problem->known_bound <= 0 ||
        problem->known_bound >= packing->bound_value * REACHED)
        return;
    memcpy(packing->price, problem->known_price, (size_t)e->graph->arc_count * sizeof *packing->price);
    packing->bound_value = problem->known_bound;
    packing->bound = (banyan_fraction){0, 0};
    e->is_full = 0;
}

/* Pairs that fill all arcs. */
static banyan_status fill(easy *e, const banyan_endpoint_problem *problem, banyan_error *err)
{
    banyan_pair_packing *packing = e->packing;
    banyan_geometric_pairs_problem fitted = {e->width, e->price, NULL, problem->pair_limit};
    banyan_rebalance_problem settle = {
        .aim = packing->bound_value, .enough = problem->aim * packing->bound_value, .turn_limit = TURNS};
    banyan_status status = banyan_geometric_pairs_find(e->graph, &fitted, 0, packing, err);

    if (!status && packing->total < settle.enough)
        status = banyan_rebalance_packing(e->graph, &settle, packing, err);
    return status;
}

banyan_status banyan_endpoint_pairs(const banyan_graph *graph, const banyan_endpoint_problem *problem,
                                    int *good, banyan_pair_packing *out, banyan_error *err)
{
    easy e = {.graph = graph, .packing = out};
    banyan_status status;

    *good = 0;
    memset(out, 0, sizeof *out);
    status = easy_init(&e, err);
    if (!status)
        status = find_bound(&e, err);
    if (!status)
        heed_known(&e, problem);
    if (!status && e.is_full)
        status = fill(&e, problem, err);
    if (!status && !e.is_full) {
        banyan_equal_pairs_problem pairs = {
            .root = e.root, .pair_limit = problem->pair_limit, .enough = problem->aim * out->bound_value};

        status = banyan_equal_pairs_find(graph, &pairs, out, err);
    }
    *good = !status && out->total >= problem->least * out->bound_value;
    if (!*good)
        banyan_pair_packing_fini(out);
    easy_fini(&e);
    return status;
}

banyan_status banyan_endpoint_bound(const banyan_graph *graph, int *good, int64_t *price, double *value,
                                    banyan_error *err)
{
    banyan_pair_packing packing = {0};
    easy e = {.graph = graph, .packing = &packing};
    banyan_status status = easy_init(&e, err);

    *good = 0;
    if (!status)
        status = find_bound(&e, err);
    if (!status && e.is_full) {
        status = banyan_saturation_find(graph, e.width, good, err);
    } else if (!status) {
        banyan_equal_pairs_problem problem = {.root = e.root, .pair_limit = PAIRS};

        status = banyan_equal_pairs_find(graph, &problem, &packing, err);
        *good = !status && packing.total >= REACHED * packing.bound_value;
    }
    if (!status) {
        memcpy(price, packing.price, (size_t)graph->arc_count * sizeof *price);
        *value = packing.bound_value;
    }
    banyan_pair_packing_fini(&packing);
    easy_fini(&e);
    return status;
}
