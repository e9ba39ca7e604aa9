/* SPDX-License-Identifier: Apache-2.0 */
/* solve/graft.c: local search on trees with a direction that may branch at any node, active or not.
 *
 *        root              A branch over an arc that bears too much is cut off at the next node above that is active or has
 *        /  \              other branches: idle nodes between, which served it alone, leave the tree. Then it is
 *       A    i - - i       grafted on by the cheapest way to what is left of its tree, perhaps over other idle nodes,
 *       |x          \      which join. In every second round it may be joined by any of its nodes: then the way from there
 *       i            v     to its top turns round. Trees towards their roots are the same, backwards.
 *       |x
 *       v                  An arc's price grows exponentially with what it bears. That alone would level all arcs by
 * ways that are too long, for idle nodes let trees have more edges than need be. So prices learn: what is too full after a
 * round costs more from then on, and the others less, as the prices of a linear program would; with them, prices need
 * not be steep. And a part of each price is that of the proof, however little the arc bears. Where nearly all limits are held,
 * steep prices bring the rest to rest, and trees that swap arcs (solve/graft-swaps.c). Idle nodes also come and go with all
 * their branches at once (solve/graft-stars.c). Cost: a search for a shortest way an attempt, mostly a short one. */
#include "solve/graft.h"

#include <math.h>
#include <string.h>

#include "solve/graft-parts.h"

#define NEARLY 0.95  /* of the limit: branches over arcs that bear more may move; firm: of all of it */
#define LEARN 5      /* doublings of an arc's base price a round for each limit that it bears too much, */
#define DEAREST 1e12 /* up to this, and down to its inverse */
#define ROUNDS 8

/* The branch of top comes off, with the way above it that served it alone; what that costs if it is put back. */
static double cut_off(banyan_grafter *g, int top)
{
    double cost = 0;

    g->line_count = 0;
    for (int v = top, is_more = 1; is_more;) {
        int arc = g->up[v], next = banyan_graft_upper(g, arc);

        g->line[g->line_count] = v;
        g->cut[g->line_count++] = arc;
        is_more = banyan_graft_is_way(g, next);
        banyan_graft_leave(g, v);
        cost += g->price[arc];
        v = next;
    }
    return cost;
}

static void put_back(banyan_grafter *g)
{
    for (int i = g->line_count - 1; i >= 0; i--)
        banyan_graft_join(g, g->line[i], g->cut[i]);
}

/* Sides and depths after a cut; returns the hops from the top to the farthest node below. */
static int mark_sides(banyan_grafter *g, int top)
{
    int deepest = 0;

    memset(g->side, 0, (size_t)g->node_count * sizeof *g->side);
    g->side[top] = BRANCH;
    g->depth[top] = 0;
    for (int v = 0; v < g->node_count; v++) {
        int u = v, hops = 0, depth;
        banyan_graft_side mark;

        if (g->up[v] == BANYAN_GRAFT_OUTSIDE)
            continue;
        for (; !g->side[u] && g->up[u] >= 0; u = banyan_graft_upper(g, g->up[u]))
            hops++;
        mark = g->side[u] ? g->side[u] : STOCK;
        depth = (g->side[u] ? g->depth[u] : 0) + hops;
        deepest = mark == BRANCH && depth > deepest ? depth : deepest;
        for (u = v; !g->side[u]; u = banyan_graft_upper(g, g->up[u]), depth--) {
            g->side[u] = mark;
            g->depth[u] = depth;
            if (g->up[u] == BANYAN_GRAFT_ROOT)
                break;
        }
    }
    return deepest;
}

static void reach(banyan_grafter *g, int v, double distance, int via, int hops)
{
    if (g->distance[v] == HUGE_VAL)
        g->open[g->open_count++] = v;
    g->distance[v] = distance;
    g->via[v] = via;
    g->hops[v] = hops;
}

static int take_nearest(banyan_grafter *g)
{
    int next = 0, v;

    for (int i = 1; i < g->open_count; i++)
        next = g->distance[g->open[i]] < g->distance[g->open[next]] ? i : next;
    v = g->open[next];
    g->open[next] = g->open[--g->open_count];
    return v;
}

/* All nodes of the branch are where a way may begin; each at the price of turning round the way from there to the top. */
static void begin_everywhere(banyan_grafter *g, int top)
{
    for (int v = 0; v < g->node_count; v++) {
        double cost = 0;
        int u;

        if (g->side[v] != BRANCH || v == top)
            continue;
        for (u = v; u != top && g->back[g->up[u]] >= 0; u = banyan_graft_upper(g, g->up[u]))
            cost += g->price[g->back[g->up[u]]] - banyan_graft_refund(g, g->up[u]);
        if (u == top)
            reach(g, v, cost, -1, g->depth[v]);
    }
}

/* The cheapest way from the branch to the stock, at less than the cost, and not to where it would be too deep: its upper end, or
 * -1. */
static int find_end(banyan_grafter *g, int top, int everywhere, int most, double cost)
{
    for (int v = 0; v < g->node_count; v++)
        g->distance[v] = HUGE_VAL;
    g->open_count = 0;
    reach(g, top, 0, -1, 0);
    if (everywhere)
        begin_everywhere(g, top);
    while (g->open_count) {
        int v = take_nearest(g);
        double so_far = g->distance[v];

        if (so_far >= cost)
            break;
        if (g->side[v] == STOCK)
            return v;
        g->distance[v] = -HUGE_VAL; /* done: nothing is nearer */
        for (int i = g->up_first[v]; i < g->up_first[v + 1]; i++) {
            int arc = g->up_arc[i], w = banyan_graft_upper(g, arc);
            double sum = so_far + g->price[arc];

            if (g->side[w] == BRANCH || sum >= g->distance[w] || sum >= cost ||
                (g->side[w] == STOCK && g->depth[w] + g->hops[v] + 1 > most))
                continue;
            reach(g, w, sum, arc, g->hops[v] + 1);
        }
    }
    return -1;
}

/* Turns round the way from v up to the top of the branch, so that v is the top. */
static void turn_round(banyan_grafter *g, int v, int top)
{
    int length = 0;

    for (int u = v; u != top; u = banyan_graft_upper(g, g->up[u])) {
        g->line[length] = u;
        g->cut[length++] = g->up[u];
    }
    for (int i = 0; i < length; i++)
        banyan_graft_leave(g, g->line[i]);
    for (int i = length - 1; i >= 0; i--)
        banyan_graft_join(g, i + 1 < length ? g->line[i + 1] : top, g->back[g->cut[i]]);
}

/* The branch is joined to the stock by the way that was found. */
static void graft(banyan_grafter *g, int top, int end)
{
    int v = end;

    while (g->side[v] != BRANCH) {
        int below = banyan_graft_lower(g, g->via[v]);

        if (g->side[below] == BRANCH && below != top)
            turn_round(g, below, top);
        banyan_graft_join(g, below, g->via[v]);
        v = below;
    }
}

/* Some arc by which the branch can be joined at its top costs less: else no way from there does. */
static int has_cheaper(const banyan_grafter *g, int top, double cost)
{
    for (int i = g->up_first[top]; i < g->up_first[top + 1]; i++)
        if (g->price[g->up_arc[i]] < cost)
            return 1;
    return 0;
}

static void try_branch(banyan_grafter *g, int top, int everywhere)
{
    double cost = cut_off(g, top) * (1 - BANYAN_GRAFT_LEAST_GAIN);
    int end = -1;

    if (everywhere || has_cheaper(g, top, cost)) {
        int below = mark_sides(g, top);

        end = find_end(g, top, everywhere, g->problem->depth_limit - below, cost);
    }
    if (end < 0)
        put_back(g);
    else
        graft(g, top, end);
}

/* The way above v, as far as it serves v alone, is nearly full or more somewhere. */
static int is_over(const banyan_grafter *g, int v)
{
    double nearly = g->problem->is_firm ? 1 : NEARLY;

    do {
        int arc = g->up[v];

        if (g->load[arc] > nearly * g->problem->limit[arc])
            return 1;
        v = banyan_graft_upper(g, arc);
    } while (banyan_graft_is_way(g, v));
    return 0;
}

/* One round over all branches. */
static void sweep(banyan_grafter *g, int everywhere)
{
    for (int t = 0; t < g->tree_count; t++) {
        banyan_graft_take_up(g, t);
        for (int v = 0; v < g->node_count; v++) {
            if (g->up[v] >= 0 && !banyan_graft_is_way(g, v) && is_over(g, v))
                try_branch(g, v, everywhere);
        }
    }
}

static double find_fullest(const banyan_grafter *g)
{
    double fullest = 0;

    for (int i = 0; i < g->graph->arc_count; i++)
        fullest = fmax(fullest, g->load[i] / g->problem->limit[i]);
    return fullest;
}

/* What was too full in spite of its price gets dearer, and the rest cheaper. */
static void learn(banyan_grafter *g)
{
    for (int i = 0; i < g->graph->arc_count; i++) {
        double change = exp2(fmin(BANYAN_GRAFT_MOST, LEARN * (g->load[i] / g->problem->limit[i] - 1)));

        g->base[i] = fmax(1 / DEAREST, fmin(DEAREST, g->base[i] * change));
    }
}

int banyan_graft_applies(const banyan_graph *graph)
{
    for (int v = 0; v < graph->node_count; v++)
        if (graph->out_first[v + 1] > graph->out_first[v] &&
            (!(graph->role[v] & BANYAN_NODE_ADDS) || !(graph->role[v] & BANYAN_NODE_COPIES)))
            return 0;
    return banyan_graph_has_helpers(graph) && !banyan_graph_is_dense(graph);
}

banyan_status banyan_graft(const banyan_graph *graph, const banyan_rehang_problem *problem,
                           banyan_trees *trees, double *fullest, banyan_error *err)
{
    banyan_grafter g = {.graph = graph,
                        .problem = problem,
                        .node_count = graph->node_count,
                        .tree_count = (int)trees->tree_count};
    banyan_trees better;
    banyan_status status = banyan_grafter_init(&g, err);

    banyan_trees_init(&better);
    for (int t = 0; !status && t < g.tree_count; t++)
        banyan_graft_take_tree(&g, trees, t);
    for (int round = 0; !status && round < ROUNDS && find_fullest(&g) > 1; round++) {
        sweep(&g, round % 2);
        learn(&g);
        banyan_graft_stars(&g);
        if (problem->is_firm)
            banyan_graft_swaps(&g);
    }
    for (int i = 0; !status && problem->learned && i < graph->arc_count; i++)
        problem->learned[i] = g.base[i];
    for (int t = 0; !status && t < g.tree_count; t++)
        banyan_graft_give_tree(&g, t, &better);
    if (!status && better.failed)
        status = banyan_fail_memory(err);
    if (!status) {
        *fullest = find_fullest(&g);
        banyan_trees_fini(trees);
        *trees = better;
    } else {
        banyan_trees_fini(&better);
    }
    banyan_grafter_fini(&g);
    return status;
}
