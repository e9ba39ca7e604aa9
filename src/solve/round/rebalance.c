/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/rebalance.c: two steps in turn, of which neither does alone:
 *
 *     edges     with the weights as they are, edges move off arcs that bear too much
 *               (solve/round/subtree_moves.h), or, where idle nodes help and none only forwards, branches
 *               do (solve/round/branch_moves.h)
 *     weights   with the trees as they are, a linear program weighs the pairs
 *
 * Edges cannot move where an arc bears a few heavy trees, for nowhere is there that much room; but other
 * weights make that room. Weights are as the fullest arcs let them be; but then many arcs are just full, by
 * weights of all sorts, and edges that leave these make room for other weights. So each step begins where the
 * other has ended, and mostly four turns come to within a few thousandths of the best. Cost: a linear program
 * with a column a pair, and some attempts an edge, each turn.
 *
 * Where branches move, a turn that levels all arcs brings much at first, and then as often harm as good. So
 * then each turn aims at a little more than is reached, which nearly all arcs can bear, and only those that
 * cannot give way; where that brings nothing more all arcs are levelled again, from the best on, as long as
 * what follows is better. */
#include "solve/round/rebalance.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/net/work.h"
#include "solve/pack/weigh.h"
#include "solve/round/branch_moves.h"
#include "solve/round/subtree_moves.h"
#include "solve/start/pair_tools.h"

#define ATTEMPTS 400    /* attempts per pair to move an edge, at least */
#define NODE_ATTEMPTS 3 /* attempts per pair and node where that is more */
/* attempts per pair and node where all nodes are active, which takes little time each */
#define QUICK_ATTEMPTS 10
/* share of all weight that a pair has at least while edges move, so that it may grow again */
#define MIN_WEIGHT 1e-4
#define MIN_GAIN 2.5e-4 /* share of the aim: a turn that gains less is the last */
#define NEXT_AIM 1.003  /* times what is reached: the next aim */

typedef struct {
    const banyan_graph *graph;
    const banyan_rebalance_problem *problem;
    const int *root;
    int pair_count;
    double aim;    /* for which limits are */
    double *limit; /* per arc */
    int *above;
    double *weight;  /* per tree */
    double *learned; /* per arc: prices that solve/round/branch_moves.h has learned */
    banyan_lp *lp;   /* by which pairs were weighed last */
    banyan_work begin;
    banyan_scratch memory;
} rebalancer;

static void rebalancer_fini(rebalancer *s)
{
    banyan_lp_destroy(s->lp);
    banyan_scratch_free(&s->memory);
}

static void aim_at(rebalancer *s, double aim)
{
    s->aim = aim;
    for (int i = 0; i < s->graph->arc_count; i++)
        s->limit[i] = s->pair_count * (double)s->graph->arcs[i].capacity / aim;
}

static banyan_status rebalancer_init(rebalancer *s, banyan_error *err)
{
    size_t arcs = (size_t)s->graph->arc_count;

    s->limit = banyan_scratch_take(&s->memory, arcs, sizeof(double));
    s->above = banyan_scratch_take(&s->memory, (size_t)s->graph->node_count, sizeof(int));
    s->weight = banyan_scratch_take(&s->memory, 2 * (size_t)s->pair_count, sizeof(double));
    s->learned = banyan_scratch_take(&s->memory, arcs, sizeof(double));
    if (s->memory.failed)
        return banyan_fail_memory(err);
    aim_at(s, s->problem->aim);
    return BANYAN_SUCCESS;
}

/* The weights, so that they are 1 on average. */
static void scale_weights(rebalancer *s, const double *weight)
{
    double sum = 0, least;

    for (int k = 0; k < s->pair_count; k++)
        sum += weight[k];
    least = MIN_WEIGHT * sum;
    for (int k = 0; k < s->pair_count; k++)
        s->weight[2 * k] = s->weight[2 * k + 1] = fmax(weight[k], least) / sum * s->pair_count;
}

/* 0: as many as it takes. */
static int64_t visits_left(const rebalancer *s)
{
    int64_t left = s->problem->visit_limit - banyan_work_since(&s->begin).visits;

    return s->problem->visit_limit ? (left > 1 ? left : 1) : 0;
}

static long count_attempts(const rebalancer *s)
{
    int nodes = s->graph->node_count, visits = nodes + s->graph->arc_count / nodes; /* an attempt */
    int64_t left = visits_left(s);
    long each = banyan_graph_all_active(s->graph) ? QUICK_ATTEMPTS * (long)nodes
                                                  : (long)fmax(ATTEMPTS, NODE_ATTEMPTS * (double)nodes);

    return left && left / visits < s->pair_count * each ? (long)(left / visits) : s->pair_count * each;
}

/* The best so far, in the place of what was. */
static banyan_status keep(const banyan_trees *trees, banyan_trees *best, banyan_error *err)
{
    banyan_trees_fini(best);
    banyan_trees_init(best);
    for (size_t t = 0; t < trees->tree_count; t++)
        banyan_trees_copy(best, trees, t);
    return best->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

static int moves_branches(const rebalancer *s)
{
    return banyan_branch_moves_applies(s->graph) && !s->problem->keeps_depth;
}

/* Edges move for the weights, and the pairs are weighed anew. */
static banyan_status take_turn(rebalancer *s, int more_hops, int is_firm, banyan_trees *trees, double *weight,
                               double *sum, banyan_error *err)
{
    banyan_subtree_moves_problem moves = {.root = s->root,
                                          .limit = s->limit,
                                          .depth_limit =
                                              banyan_pair_tools_depth(s->graph, trees, s->above) + more_hops,
                                          .attempt_limit = count_attempts(s),
                                          .visit_limit = visits_left(s),
                                          .weight = s->weight,
                                          .price = s->problem->price,
                                          .learned = s->learned,
                                          .is_firm = is_firm};
    double fullest;
    banyan_status status;

    scale_weights(s, weight);
    status = moves_branches(s) ? banyan_branch_moves(s->graph, &moves, trees, &fullest, err)
                               : banyan_subtree_moves(s->graph, &moves, trees, &fullest, err);
    if (!status && s->problem->weights != BANYAN_WEIGHTS_STAY &&
        (s->problem->weights == BANYAN_WEIGHTS_CHANGE || fullest * s->problem->enough > s->aim))
        return banyan_weigh_pairs(s->graph, s->aim, trees, &s->lp, weight, sum, err);
    if (status)
        return status;
    *sum = s->aim / fullest;
    for (int k = 0; k < s->pair_count; k++)
        weight[k] = s->weight[2 * k] / s->pair_count * *sum;
    return BANYAN_SUCCESS;
}

/* Trees and weights, of which the best are kept. */
typedef struct {
    banyan_trees trees;
    double *weight, total;
} best_so_far;

static banyan_status keep_better(const rebalancer *s, const banyan_trees *trees, const double *weight,
                                 double sum, best_so_far *best, banyan_error *err)
{
    if (sum <= best->total)
        return BANYAN_SUCCESS;
    best->total = sum;
    memcpy(best->weight, weight, (size_t)s->pair_count * sizeof *weight);
    return keep(trees, &best->trees, err);
}

/* Edges of the latest trees move for the best weights. */
static banyan_status rebalance_edges(rebalancer *s, banyan_trees *trees, double *weight, best_so_far *best,
                                     banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int more = 1;

    for (int turn = 0; !status && turn < s->problem->turn_limit && more; turn++) {
        double sum, before = best->total;

        status = take_turn(s, turn ? 0 : s->problem->more_hops, 0, trees, weight, &sum, err);
        if (!status)
            status = keep_better(s, trees, weight, sum, best, err);
        more = !status && sum > before + MIN_GAIN * s->problem->aim && sum < s->problem->enough;
        memcpy(weight, best->weight, (size_t)s->pair_count * sizeof *weight);
    }
    return status;
}

/* Branches move: all arcs are levelled, then firmly held at a little more each time. */
static banyan_status rebalance_branches(rebalancer *s, banyan_trees *trees, double *weight, best_so_far *best,
                                        banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    double latest = 0, first = 0, least = MIN_GAIN * s->problem->aim;
    int is_firm = 0;

    for (int turn = 0;
         !status && turn < s->problem->turn_limit && (turn == 0 || best->total < s->problem->enough);
         turn++) {
        double sum = 0;

        aim_at(s, is_firm ? fmin(s->problem->aim, fmax(NEXT_AIM * latest, best->total)) : s->problem->aim);
        status = take_turn(s, turn ? 0 : s->problem->more_hops, is_firm, trees, weight, &sum, err);
        if (!status)
            status = keep_better(s, trees, weight, sum, best, err);
        if (status || !is_firm || sum > latest + least) {
            latest = sum;
            is_firm = 1;
            continue;
        }
        if (first > 0 && best->total - first <= least)
            break;
        first = best->total;
        is_firm = 0;
        status = keep(&best->trees, trees, err);
        memcpy(weight, best->weight, (size_t)s->pair_count * sizeof *weight);
    }
    return status;
}

banyan_status banyan_rebalance(const banyan_graph *graph, const banyan_rebalance_problem *problem,
                               banyan_trees *trees, const int *root, double *weight, double *total,
                               banyan_error *err)
{
    rebalancer s = {.graph = graph,
                    .problem = problem,
                    .root = root,
                    .pair_count = (int)(trees->tree_count / 2),
                    .begin = banyan_work_now()};
    best_so_far best = {.weight = banyan_alloc((size_t)s.pair_count, sizeof(double))};
    banyan_status status = rebalancer_init(&s, err);

    banyan_trees_init(&best.trees);
    if (!status && !best.weight)
        status = banyan_fail_memory(err);
    if (!status)
        status = moves_branches(&s) ? rebalance_branches(&s, trees, weight, &best, err)
                                    : rebalance_edges(&s, trees, weight, &best, err);
    *total = best.total;
    if (!status) {
        memcpy(weight, best.weight, (size_t)s.pair_count * sizeof *weight);
        banyan_trees_fini(trees);
        *trees = best.trees;
        banyan_trees_init(&best.trees);
    }
    banyan_trees_fini(&best.trees);
    banyan_free(best.weight);
    rebalancer_fini(&s);
    return status;
}

banyan_status banyan_rebalance_packing(const banyan_graph *graph, const banyan_rebalance_problem *problem,
                                       banyan_pair_packing *packing, banyan_error *err)
{
    size_t count = packing->trees.tree_count;
    double *weight = banyan_alloc(count / 2, sizeof *weight);
    banyan_status status = weight ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (size_t k = 0; !status && k < count / 2; k++)
        weight[k] = packing->weight[2 * k];
    if (!status)
        status =
            banyan_rebalance(graph, problem, &packing->trees, packing->root, weight, &packing->total, err);
    for (size_t t = 0; !status && t < count; t++)
        packing->weight[t] = weight[t / 2];
    banyan_free(weight);
    return status;
}
