/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/branch_swaps.c: arcs are levelled finely by two trees at a time.
 *
 *      q     p        Node v has parent p in tree A and q in tree B. Where its arc to p bears too much and
 *       \   /         A is heavier than B, they swap: then that arc bears less by what A weighs more than B,
 *        \ /          and the one to q as much more. A tree that moves alone changes an arc's load by all it
 *         v           weighs, which is often more than there is room for; differences of two weights are as
 *                     small as one likes.
 *
 * Loads beyond the limits count by their squares, so what is too much spreads over an arc's neighbours, and
 * theirs, until there is room. Nodes stay in their trees. Cost: at an arc that bears too much, all pairs of
 * trees of nearly equal weight; some passes over these. */
#include "solve/round/branch_parts.h"

#include "solve/net/tolerance.h"

#define PASSES 8

typedef struct {
    int v, lighter, heavier;
    double gain;
} swap;

static double excess(const banyan_branch_mover *g, int arc, double more)
{
    double over = g->load[arc] + more - g->problem->limit[arc];

    return over > 0 ? over * over / g->problem->limit[arc] : 0;
}

/* v can be attached to the arc's other end in the tree, which is not below it, and does not get too
 * deep. */
static int can_attach(const banyan_branch_mover *g, int tree, int v, int arc)
{
    size_t first = (size_t)tree * (size_t)g->node_count;
    const int *up = g->above + first, *below = g->children + first;
    int depth, top = banyan_branch_moves_upper(g, arc);

    if (up[top] == BANYAN_GRAFT_OUTSIDE)
        return 0;
    depth = banyan_branch_moves_climb(g, up, top, v);
    return depth >= 0 && (below[v] == 0 ? depth + 1 <= g->problem->depth_limit
                                        : depth + 1 + banyan_branch_moves_height(g, up, below, v) <=
                                              g->problem->depth_limit);
}

static int *arc_above(const banyan_branch_mover *g, int tree, int v)
{
    return &g->above[(size_t)tree * (size_t)g->node_count + (size_t)v];
}

/* A swap that moves more than this makes some other arc at v worse than the arc gets better, even if it gets
 * quite well. */
static double find_span(const banyan_branch_mover *g, int arc, int v)
{
    double gain = excess(g, arc, 0), span = 0;

    for (int i = g->up_first[v]; i < g->up_first[v + 1]; i++) {
        int other = g->up_arc[i];
        double limit = g->problem->limit[other], over = g->load[other] - limit;

        if (other != arc)
            span = fmax(span, sqrt(limit * (gain + excess(g, other, 0))) - over);
    }
    return span;
}

/* The best swap by which a heavier tree leaves the arc to a lighter one. */
static void look_at(banyan_branch_mover *g, int arc, swap *best)
{
    double before = excess(g, arc, 0), span = find_span(g, arc, best->v);
    int pairs = g->tree_count / 2;

    for (int i = 0; i < pairs; i++) {
        int a = 2 * g->by_weight[i] + !g->towards;

        if (*arc_above(g, a, best->v) != arc)
            continue;
        for (int j = i + 1; j < pairs; j++) {
            int b = 2 * g->by_weight[j] + !g->towards, other = *arc_above(g, b, best->v);
            double less = banyan_branch_moves_weight(g, a) - banyan_branch_moves_weight(g, b), gain;

            if (less >= span)
                break;
            g->visits++;
            if (other < 0 || other == arc || less <= 0)
                continue;
            gain = before - excess(g, arc, -less) + excess(g, other, 0) - excess(g, other, less);
            if (gain <= best->gain || !can_attach(g, a, best->v, other) || !can_attach(g, b, best->v, arc))
                continue;
            *best = (swap){best->v, b, a, gain};
        }
    }
}

static void attach(banyan_branch_mover *g, int tree, int v, int arc)
{
    int *children = g->children + (size_t)tree * (size_t)g->node_count, *up = arc_above(g, tree, v);

    children[banyan_branch_moves_upper(g, *up)]--;
    children[banyan_branch_moves_upper(g, arc)]++;
    banyan_branch_moves_add_load(g, *up, -banyan_branch_moves_weight(g, tree));
    banyan_branch_moves_add_load(g, arc, banyan_branch_moves_weight(g, tree));
    *up = arc;
}

/* Both nodes that an arc joins may have it above them, in trees of either direction. */
static int relieve(banyan_branch_mover *g, int arc)
{
    int count = 0;

    for (int towards = 0; towards < 2 && g->load[arc] > g->problem->limit[arc]; towards++) {
        swap best = {.heavier = -1, .gain = BANYAN_SAME * g->problem->limit[arc]};

        banyan_branch_moves_face(g, towards);
        best.v = banyan_branch_moves_lower(g, arc);
        look_at(g, arc, &best);
        if (best.heavier < 0)
            continue;
        attach(g, best.heavier, best.v, *arc_above(g, best.lighter, best.v));
        attach(g, best.lighter, best.v, arc);
        count++;
    }
    return count;
}

void banyan_branch_moves_swaps(banyan_branch_mover *g)
{
    for (int pass = 0, count = 1; count && pass < PASSES; pass++) {
        count = 0;
        for (int i = 0; i < g->graph->arc_count; i++)
            count += relieve(g, i);
    }
}
