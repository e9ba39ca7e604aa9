/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/branch_stars.c: idle nodes join trees, and leave them, with all their branches at once.
 *
 *        p                     p       An idle node is worth its arcs as a parent of several; by the first
 *      /   \                   |       alone a tree only gets longer. So branches that move one by one seldom
 *     a     b     <=>          i       bring it in, and seldom out. Here it joins by the arc above which it
 *      \     \               / | \     gains most, with all neighbours to which it is a cheaper parent than
 *       c     d             a  c  d    where they are; or it leaves, and each branch goes to the neighbour
 *                                      that has it most cheaply, if that is a gain in all.
 *
 * Cost: for each idle node of each tree, a way to the root from some of its neighbours' neighbours. */
#include "solve/round/branch_parts.h"

#define MOST_BRANCHES 64

/* v's branch on the arc, which need not be in the tree, p being where it leads: neither a circle nor too deep
 * a tree. */
static int can_attach(const banyan_branch_mover *g, int v, int p, int hops)
{
    int depth = banyan_branch_moves_climb(g, g->up, p, v), most = g->problem->depth_limit;

    return depth >= 0 && depth + hops <= most &&
           (g->below[v] == 0 || depth + hops + banyan_branch_moves_height(g, g->up, g->below, v) <= most);
}

/* What is gained if v leaves the way above it, which ends below p at the latest, for the arc. */
static double gain_of(const banyan_branch_mover *g, int v, int arc, int p)
{
    double gain = -g->price[arc];

    do {
        gain += banyan_branch_moves_refund(g, g->up[v]);
        v = banyan_branch_moves_upper(g, g->up[v]);
    } while (v != p && banyan_branch_moves_is_way(g, v));
    return gain;
}

/* Whether v, by its arc to the idle node, is better off there if that is attached to p; the gain. */
static int is_better(const banyan_branch_mover *g, int arc, int p, double *gain)
{
    int v = banyan_branch_moves_lower(g, arc);

    if (g->up[v] < 0 || v == p)
        return 0;
    *gain = gain_of(g, v, arc, p);
    return *gain > 0 && can_attach(g, v, p, 2);
}

/* The idle node is attached to the arc's upper end, and to it all that are better off so. */
static void bring_in(banyan_branch_mover *g, int idle, int arc)
{
    int p = banyan_branch_moves_upper(g, arc);
    double gain;

    banyan_branch_moves_join(g, idle, arc);
    for (int j = g->down_first[idle]; j < g->down_first[idle + 1]; j++) {
        int v = banyan_branch_moves_lower(g, g->down_arc[j]), before;

        if (!is_better(g, g->down_arc[j], p, &gain))
            continue;
        before = banyan_branch_moves_upper(g, g->up[v]);
        banyan_branch_moves_leave(g, v);
        banyan_branch_moves_join(g, v, g->down_arc[j]);
        banyan_branch_moves_drop(g, before);
    }
    banyan_branch_moves_drop(g, idle);
}

static void try_in(banyan_branch_mover *g, int idle)
{
    int downwards = g->down_first[idle + 1] - g->down_first[idle];
    double most = 0;
    int best = -1;

    for (int i = g->up_first[idle]; i < g->up_first[idle + 1]; i++) {
        int arc = g->up_arc[i], p = banyan_branch_moves_upper(g, arc);
        double sum = -g->price[arc] * (1 + BANYAN_MIN_MOVE_GAIN), gain;

        if (g->up[p] == BANYAN_GRAFT_OUTSIDE)
            continue;
        g->visits += downwards;
        for (int j = g->down_first[idle]; j < g->down_first[idle + 1]; j++)
            sum += is_better(g, g->down_arc[j], p, &gain) ? gain : 0;
        if (sum > most) {
            most = sum;
            best = arc;
        }
    }
    if (best >= 0)
        bring_in(g, idle, best);
}

/* The cheapest arc by which v can be attached elsewhere; possible: perhaps it cannot. -1: there is none. */
static int find_other(const banyan_branch_mover *g, int v, int idle, int possible)
{
    int best = -1;

    for (int i = g->up_first[v]; i < g->up_first[v + 1]; i++) {
        int arc = g->up_arc[i], p = banyan_branch_moves_upper(g, arc);

        if (p != idle && g->up[p] != BANYAN_GRAFT_OUTSIDE && (best < 0 || g->price[arc] < g->price[best]) &&
            (possible || can_attach(g, v, p, 1)))
            best = arc;
    }
    return best;
}

/* It may be a gain to leave out the idle node, if all branches can have what is cheapest. */
static int may_leave(const banyan_branch_mover *g, int idle)
{
    double gain = banyan_branch_moves_refund(g, g->up[idle]), least = gain * BANYAN_MIN_MOVE_GAIN;
    int count = 0;

    for (int j = g->down_first[idle]; j < g->down_first[idle + 1]; j++) {
        int arc = g->down_arc[j], v = banyan_branch_moves_lower(g, arc), other;

        if (g->up[v] != arc)
            continue;
        other = find_other(g, v, idle, 1);
        if (other < 0)
            return 0;
        gain += banyan_branch_moves_refund(g, arc) - g->price[other];
        count++;
    }
    return gain > least && count <= MOST_BRANCHES;
}

static void try_out(banyan_branch_mover *g, int idle)
{
    double gain = banyan_branch_moves_refund(g, g->up[idle]), least = gain * BANYAN_MIN_MOVE_GAIN;
    int moved[MOST_BRANCHES], from[MOST_BRANCHES], count = 0, good = may_leave(g, idle);

    for (int j = g->down_first[idle]; good && j < g->down_first[idle + 1]; j++) {
        int arc = g->down_arc[j], v = banyan_branch_moves_lower(g, arc), other;

        if (g->up[v] != arc)
            continue;
        other = find_other(g, v, idle, 0);
        good = other >= 0;
        if (!good)
            break;
        gain += banyan_branch_moves_refund(g, arc) - g->price[other];
        moved[count] = v;
        from[count++] = arc;
        banyan_branch_moves_leave(g, v);
        banyan_branch_moves_join(g, v, other);
    }
    if (good && gain > least) {
        banyan_branch_moves_drop(g, idle);
        return;
    }
    while (count--) {
        banyan_branch_moves_leave(g, moved[count]);
        banyan_branch_moves_join(g, moved[count], from[count]);
    }
}

void banyan_branch_moves_stars(banyan_branch_mover *g)
{
    for (int t = 0; t < g->tree_count; t++) {
        banyan_branch_moves_take_up(g, t);
        for (int v = 0; v < g->node_count; v++) {
            if (!banyan_branch_moves_is_idle(g, v))
                continue;
            if (g->up[v] == BANYAN_GRAFT_OUTSIDE)
                try_in(g, v);
            else if (g->up[v] >= 0)
                try_out(g, v);
        }
    }
}
