/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/branch_moves.c: local search on trees with a direction that may branch at any node, active or
 * not.
 *
 *        root              A branch over an arc that bears too much is cut off at the next node above that is
 *        /  \              active or has other branches: idle nodes between, which served it alone, leave the
 *       A    i - - i       tree. Then it is grafted on by the cheapest way to what is left of its tree,
 *       |x          \      perhaps over other idle nodes, which join. In every second round it may be joined
 *       i            v     by any of its nodes: then the way from there to its top turns round. Trees towards
 *       |x                 their roots are the same, backwards.
 *       v
 *
 * An arc's price grows exponentially with what it bears. That alone would level all arcs by
 * ways that are too long, for idle nodes let trees have more edges than need be. So prices learn: what is
 * too full after a round costs more from then on, and the others less, as the prices of a linear program
 * would; with them, prices need not be steep. And a part of each price is that of the proof, however
 * little the arc bears. Where nearly all limits are held, steep prices bring the rest to rest, and trees
 * that swap arcs (solve/round/branch_swaps.c). Idle nodes also come and go with all their branches at once
 * (solve/round/branch_stars.c). Cost: a search for a shortest way an attempt, mostly a short one. */
#include "solve/round/branch_moves.h"

#include <math.h>

#include "solve/net/effort.h"
#include "solve/net/work.h"
#include "solve/round/branch_parts.h"

/* share of its limit from which on branches leave an arc; all of it where limits are firm */
#define FULL_SHARE 0.95
/* doublings of an arc's base price in the first round for each time its limit that it bears too much */
#define LEARN 10
/* rounds after which base prices change half as much as at first, so that they converge */
#define LEARN_HALF_LIFE 4
#define MAX_PRICE 1e12 /* the highest base price; its inverse is the lowest */
#define ROUNDS 8
/* share of the excess that is left by a round that counts as idle, where limits are firm */
#define IDLE_SHARE 0.99
#define IDLE_ROUNDS 2 /* idle rounds in a row after which the moves end */

/* The branch of top comes off, with the way above it that served it alone; what that costs if it is put
 * back. */
static double cut_off(banyan_branch_mover *g, int top)
{
    double cost = 0;

    g->line_count = 0;
    for (int v = top, is_more = 1; is_more;) {
        int arc = g->up[v], next = banyan_branch_moves_upper(g, arc);

        g->line[g->line_count] = v;
        g->cut[g->line_count++] = arc;
        is_more = banyan_branch_moves_is_way(g, next);
        banyan_branch_moves_leave(g, v);
        cost += g->price[arc];
        v = next;
    }
    return cost;
}

static void put_back(banyan_branch_mover *g)
{
    for (int i = g->line_count - 1; i >= 0; i--)
        banyan_branch_moves_join(g, g->line[i], g->cut[i]);
}

/* Lists the branch after a cut; returns the hops from the top to the farthest node below. */
static int list_branch(banyan_branch_mover *g, int top)
{
    int deepest = 0;

    g->branch_count = 1;
    g->branch[0] = top;
    g->depth[top] = 0;
    g->turning[top] = 0;
    g->is_branch[top] = 1;
    for (int k = 0; k < g->branch_count; k++) {
        int v = g->branch[k];

        deepest = g->depth[v] > deepest ? g->depth[v] : deepest;
        for (int j = g->down_first[v], left = g->below[v]; left && j < g->down_first[v + 1]; j++) {
            int arc = g->down_arc[j], w = banyan_branch_moves_lower(g, arc);

            if (g->up[w] != arc)
                continue;
            left--;
            g->branch[g->branch_count++] = w;
            g->is_branch[w] = 1;
            g->depth[w] = g->depth[v] + 1;
            g->turning[w] = g->back[arc] < 0
                                ? HUGE_VAL
                                : g->turning[v] + g->price[g->back[arc]] - banyan_branch_moves_refund(g, arc);
        }
    }
    return deepest;
}

static void forget_branch(banyan_branch_mover *g)
{
    while (g->branch_count)
        g->is_branch[g->branch[--g->branch_count]] = 0;
}

static int is_stock(const banyan_branch_mover *g, int v)
{
    return g->up[v] != BANYAN_GRAFT_OUTSIDE && !g->is_branch[v];
}

static void reach(banyan_branch_mover *g, int v, double distance, int via, int hops)
{
    if (g->distance[v] == HUGE_VAL) {
        g->open[g->open_count++] = v;
        g->met[g->met_count++] = v;
    }
    g->distance[v] = distance;
    g->via[v] = via;
    g->hops[v] = hops;
}

static void forget_ways(banyan_branch_mover *g)
{
    while (g->met_count)
        g->distance[g->met[--g->met_count]] = HUGE_VAL;
}

static int take_nearest(banyan_branch_mover *g)
{
    int next = 0, v;

    for (int i = 1; i < g->open_count; i++)
        next = g->distance[g->open[i]] < g->distance[g->open[next]] ? i : next;
    v = g->open[next];
    g->open[next] = g->open[--g->open_count];
    return v;
}

/* The cheapest way from the branch to the stock, at less than the cost, and not to where it would be too
 * deep: its upper end, or -1. Everywhere: it may begin at any node of the branch, at the price of turning
 * round the way from there to the top. */
static int find_end(banyan_branch_mover *g, int everywhere, int most, double cost)
{
    g->open_count = 0;
    for (int k = 0; k < (everywhere ? g->branch_count : 1); k++)
        if (g->turning[g->branch[k]] < cost)
            reach(g, g->branch[k], g->turning[g->branch[k]], -1, g->depth[g->branch[k]]);
    while (g->open_count) {
        int v = take_nearest(g);
        double so_far = g->distance[v];

        if (so_far >= cost)
            break;
        if (is_stock(g, v))
            return v;
        g->distance[v] = -HUGE_VAL; /* done: nothing is nearer */
        g->visits += g->up_first[v + 1] - g->up_first[v];
        for (int i = g->up_first[v]; i < g->up_first[v + 1]; i++) {
            int arc = g->up_arc[i], w = banyan_branch_moves_upper(g, arc);
            double sum = so_far + g->price[arc];

            if (g->is_branch[w] || sum >= g->distance[w] || sum >= cost ||
                (is_stock(g, w) && banyan_branch_moves_climb(g, g->up, w, -1) + g->hops[v] + 1 > most))
                continue;
            reach(g, w, sum, arc, g->hops[v] + 1);
        }
    }
    return -1;
}

/* Turns round the way from v up to the top of the branch, so that v is the top. */
static void turn_round(banyan_branch_mover *g, int v, int top)
{
    int length = 0;

    for (int u = v; u != top; u = banyan_branch_moves_upper(g, g->up[u])) {
        g->line[length] = u;
        g->cut[length++] = g->up[u];
    }
    for (int i = 0; i < length; i++)
        banyan_branch_moves_leave(g, g->line[i]);
    for (int i = length - 1; i >= 0; i--)
        banyan_branch_moves_join(g, i + 1 < length ? g->line[i + 1] : top, g->back[g->cut[i]]);
}

/* The branch is joined to the stock by the way that was found. */
static void graft(banyan_branch_mover *g, int top, int end)
{
    int v = end;

    while (!g->is_branch[v]) {
        int below = banyan_branch_moves_lower(g, g->via[v]);

        if (g->is_branch[below] && below != top)
            turn_round(g, below, top);
        banyan_branch_moves_join(g, below, g->via[v]);
        v = below;
    }
}

/* Some arc by which the branch can be joined at its top costs less than the way above it: else no way from
 * there does. */
static int has_cheaper(const banyan_branch_mover *g, int top)
{
    double cost = 0;

    for (int v = top, is_more = 1; is_more; is_more = banyan_branch_moves_is_way(g, v)) {
        cost += banyan_branch_moves_refund(g, g->up[v]);
        v = banyan_branch_moves_upper(g, g->up[v]);
    }
    for (int i = g->up_first[top]; i < g->up_first[top + 1]; i++)
        if (g->up_arc[i] != g->up[top] && g->price[g->up_arc[i]] < cost)
            return 1;
    return 0;
}

static void try_branch(banyan_branch_mover *g, int top, int everywhere)
{
    double cost;
    int end, below;

    if (!(everywhere && g->below[top]) && !has_cheaper(g, top))
        return;
    cost = cut_off(g, top) * (1 - BANYAN_MIN_MOVE_GAIN);
    below = list_branch(g, top);
    g->visits += g->branch_count;
    end = find_end(g, everywhere, g->problem->depth_limit - below, cost);
    if (end < 0)
        put_back(g);
    else
        graft(g, top, end);
    forget_ways(g);
    forget_branch(g);
}

/* The way above v, as far as it serves v alone, is nearly full or more somewhere. */
static int is_over(const banyan_branch_mover *g, int v)
{
    double nearly = g->problem->is_firm ? 1 : FULL_SHARE;

    do {
        int arc = g->up[v];

        if (g->load[arc] > nearly * g->problem->limit[arc])
            return 1;
        v = banyan_branch_moves_upper(g, arc);
    } while (banyan_branch_moves_is_way(g, v));
    return 0;
}

/* One round over all branches. */
static void sweep(banyan_branch_mover *g, int everywhere)
{
    for (int t = 0; t < g->tree_count; t++) {
        banyan_branch_moves_take_up(g, t);
        for (int v = 0; v < g->node_count; v++) {
            if (g->up[v] >= 0 && !banyan_branch_moves_is_way(g, v) && is_over(g, v))
                try_branch(g, v, everywhere);
        }
    }
}

static double find_fullest(const banyan_branch_mover *g)
{
    double fullest = 0;

    for (int i = 0; i < g->graph->arc_count; i++)
        fullest = fmax(fullest, g->load[i] / g->problem->limit[i]);
    return fullest;
}

/* What all arcs bear too much, in parts of their limits. */
static double find_excess(const banyan_branch_mover *g)
{
    double sum = 0;

    for (int i = 0; i < g->graph->arc_count; i++)
        sum += fmax(0, g->load[i] / g->problem->limit[i] - 1);
    return sum;
}

/* What was too full in spite of its price gets more expensive, and the rest cheaper. */
static void learn(banyan_branch_mover *g, int round)
{
    double step = LEARN / (1 + round / (double)LEARN_HALF_LIFE);

    for (int i = 0; i < g->graph->arc_count; i++) {
        double change = exp2(fmin(BANYAN_GRAFT_MOST, step * (g->load[i] / g->problem->limit[i] - 1)));

        g->base[i] = fmax(1 / MAX_PRICE, fmin(MAX_PRICE, g->base[i] * change));
    }
}

int banyan_branch_moves_applies(const banyan_graph *graph)
{
    return banyan_graph_all_branch(graph) && banyan_graph_has_helpers(graph) && !banyan_graph_is_dense(graph);
}

banyan_status banyan_branch_moves(const banyan_graph *graph, const banyan_subtree_moves_problem *problem,
                                  banyan_trees *trees, double *fullest, banyan_error *err)
{
    banyan_branch_mover g = {.graph = graph,
                             .problem = problem,
                             .node_count = graph->node_count,
                             .tree_count = (int)trees->tree_count};
    double excess;
    int idle = 0;
    banyan_trees better;
    banyan_status status = banyan_branch_mover_init(&g, err);

    banyan_trees_init(&better);
    for (int t = 0; !status && t < g.tree_count; t++)
        banyan_branch_moves_take_tree(&g, trees, t);
    excess = status ? 0 : find_excess(&g);
    for (int round = 0; !status && round < ROUNDS && excess > 0 && idle < IDLE_ROUNDS &&
                        !(problem->visit_limit && g.visits > problem->visit_limit);
         round++) {
        double before = excess;

        sweep(&g, round % 2);
        g.visits += (int64_t)g.tree_count * (g.node_count + graph->arc_count);
        learn(&g, round);
        banyan_branch_moves_stars(&g);
        if (problem->is_firm)
            banyan_branch_moves_swaps(&g);
        excess = find_excess(&g);
        idle = problem->is_firm && excess > before * IDLE_SHARE ? idle + 1 : 0;
    }
    for (int i = 0; !status && problem->learned && i < graph->arc_count; i++)
        problem->learned[i] = g.base[i];
    for (int t = 0; !status && t < g.tree_count; t++)
        banyan_branch_moves_give_tree(&g, t, &better);
    if (!status && better.failed)
        status = banyan_fail_memory(err);
    if (!status) {
        *fullest = find_fullest(&g);
        banyan_trees_fini(trees);
        *trees = better;
    } else {
        banyan_trees_fini(&better);
    }
    banyan_work_add(BANYAN_WORK_TREE, g.visits);
    banyan_branch_mover_fini(&g);
    return status;
}
