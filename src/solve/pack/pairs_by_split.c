/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/pairs_by_split.c: pipelined trees where no node helps that is not active: cuts divide the arcs
 * between reduce and broadcast (solve/cut/split.h), which gives the bound, unless an easy one does
 * (solve/cut/endpoint_bounds.h). Shallow trees are tried first (solve/pack/depth_limited.h); where these fall
 * short or are too many, pairs of equal or falling weights (solve/start/equal_pairs.h). */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/cut/endpoint_bounds.h"
#include "solve/cut/split.h"
#include "solve/net/effort.h"
#include "solve/pack/depth_limited.h"
#include "solve/pack/pair_columns.h"
#include "solve/start/equal_pairs.h"

#define ENOUGH 0.9995           /* of the bound: then shallow trees are taken */
#define GOOD 0.992              /* of the bound: pairs should reach that; */
#define ASKED 0.9902            /* nothing else is tried after them, */
#define BETTER 0.9993           /* or after very many */
#define LOST 0.02               /* of what shallow trees reach is lost when half of them must go, or more; */
#define VERY_FEW_ARCS 64        /* so that the best is soon found, too */
#define EASY_ARCS 128           /* below this a division is soon made */
#define MANY_ARCS 1000          /* for which a division takes long, and trees that fill it longer: then */
#define MUCH 0.97               /* of an easy bound will do */
#define VERY_MANY_ARCS 3000     /* and then whatever is reached: a division would take minutes; */
#define MANY_SWITCHED_ARCS 1200 /* so where some nodes only forward */
#define LEAST_WEIGHT 1e-9       /* of a tree that counts, in parts of all */

/* Pairs of a limited number are enough. */
static int is_limited(const banyan_pair_packing_problem *problem)
{
    return problem->tree_limit > 0 && problem->tree_limit < BANYAN_FEW_TREES;
}

static int most_pairs(const banyan_pair_packing_problem *problem)
{
    return is_limited(problem) ? problem->tree_limit : BANYAN_FEW_TREES;
}

/* The share of an easy bound with which nothing else is tried. */
static double easily_enough(const banyan_graph *graph, const banyan_pair_packing_problem *problem)
{
    if (graph->arc_count > (banyan_graph_all_active(graph) ? VERY_MANY_ARCS : MANY_SWITCHED_ARCS))
        return 0;
    if (!is_limited(problem) || graph->arc_count <= VERY_FEW_ARCS)
        return BETTER;
    return graph->arc_count > MANY_ARCS ? MUCH : ASKED;
}

/* In small networks, and behind few switches, a division takes no longer than to find that there is none of
 * the easy bounds. */
static int may_be_easy(const banyan_graph *graph, const banyan_pair_packing_problem *problem)
{
    if (problem->depth_limit)
        return 0;
    return banyan_graph_all_active(graph) ? graph->arc_count >= EASY_ARCS
                                          : graph->active_count > BANYAN_FEW_WORKERS;
}

/* How many times more pairs than the limit there are, less 1. */
static double excess_of(size_t count, int pair_limit)
{
    return fmax(0, (double)count / pair_limit - 1);
}

static size_t count_pairs(const banyan_pair_packing *packing)
{
    size_t count = 0;

    for (size_t t = 0; t < packing->trees.tree_count; t++)
        count += packing->kind[t] == BANYAN_TREE_OUT && packing->weight[t] > LEAST_WEIGHT * packing->total;
    return count;
}

/* Columns find the best trees, with a bound of their own. */
static banyan_status take_columns(const banyan_graph *graph, const banyan_pair_packing_problem *problem,
                                  const banyan_split *division, banyan_pair_packing *out, banyan_error *err)
{
    banyan_split known = *division;
    banyan_pair_packing better;
    banyan_status status;

    known.price = out->price;
    status = banyan_pair_packing_by_columns(graph, problem, &known, &better, err);

    if (status)
        return status;
    if (better.total <= out->total) {
        banyan_pair_packing_fini(&better);
        return BANYAN_SUCCESS;
    }
    banyan_pair_packing_fini(out);
    *out = better;
    return BANYAN_SUCCESS;
}

/* Shallow trees where these are good and few enough; else pairs of equal weight, however deep; else the best,
 * where that does not take long. */
static banyan_status find_trees(const banyan_graph *graph, const banyan_pair_packing_problem *problem,
                                const banyan_split *division, banyan_pair_packing *out, banyan_error *err)
{
    double bound = out->bound_value;
    int pair_limit = most_pairs(problem);
    banyan_status status = banyan_depth_limited_pairs(graph, problem->depth_limit, ENOUGH * bound, out, err);
    double excess = status ? 0 : excess_of(count_pairs(out), pair_limit);
    banyan_equal_pairs_problem pairs;

    if (status || problem->depth_limit || (out->total >= ENOUGH * bound && excess == 0))
        return status;
    pairs = (banyan_equal_pairs_problem){.root = division->root,
                                         .pair_limit = pair_limit,
                                         .least = out->total * (1 - LOST * excess),
                                         .enough = (is_limited(problem) ? GOOD : BETTER) * bound};
    status = banyan_equal_pairs_find(graph, &pairs, out, err);
    if (status || out->total >= (is_limited(problem) ? ASKED : BETTER) * bound)
        return status;
    return take_columns(graph, problem, division, out, err);
}

static banyan_status divide_and_fill(const banyan_graph *graph, const banyan_pair_packing_problem *problem,
                                     int soon, int *settled, banyan_pair_packing *out, banyan_error *err)
{
    banyan_split division;
    banyan_status status =
        soon ? banyan_split_find_soon(graph, problem->tolerance, &division, err)
             : banyan_split_find(graph, problem->tolerance, problem->round_limit, &division, err);

    memset(out, 0, sizeof *out);
    if (status)
        return status;
    out->price = division.price;
    division.price = NULL;
    out->bound = division.bound;
    out->bound_value = division.bound_value;
    out->rounds = division.rounds;
    out->proven = 1;
    *settled = division.is_settled;
    status = find_trees(graph, problem, &division, out, err);
    banyan_split_fini(&division);
    if (status)
        banyan_pair_packing_fini(out);
    return status;
}

/* Where the division has ended soon, trees that come near to its bound show that it is good; else it must go
 * on. */
banyan_status banyan_pair_packing_by_cuts(const banyan_graph *graph,
                                          const banyan_pair_packing_problem *problem,
                                          banyan_pair_packing *out, banyan_error *err)
{
    int settled = 0;
    banyan_status status = BANYAN_SUCCESS;

    if (may_be_easy(graph, problem)) {
        banyan_endpoint_problem easy = {.pair_limit = most_pairs(problem),
                                        .aim = is_limited(problem) ? GOOD : BETTER,
                                        .least = easily_enough(graph, problem),
                                        .known_bound = problem->known_bound};

        if (graph->arc_count > VERY_MANY_ARCS) /* else a division, which follows, says it better */
            easy.known_price = problem->known_price;

        status = banyan_endpoint_pairs(graph, &easy, &settled, out, err);
    }
    if (status || settled)
        return status;
    status = divide_and_fill(graph, problem, 1, &settled, out, err);
    if (status || settled || out->total >= ENOUGH * out->bound_value)
        return status;
    banyan_pair_packing_fini(out);
    return divide_and_fill(graph, problem, 0, &settled, out, err);
}
