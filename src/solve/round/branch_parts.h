/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/branch_parts.h: what the files that move branches of trees share. */
#ifndef BANYAN_SOLVE_ROUND_BRANCH_PARTS_H
#define BANYAN_SOLVE_ROUND_BRANCH_PARTS_H

#include <math.h>

#include "solve/round/branch_moves.h"

/* Doublings of a price at most, so that sums are still numbers. */
#define BANYAN_GRAFT_MOST 600

/* In the place of the arc above a node: it has none, or is not in the tree. */
enum { BANYAN_GRAFT_ROOT = -1, BANYAN_GRAFT_OUTSIDE = -2 };

typedef struct {
    const banyan_graph *graph;
    const banyan_subtree_moves_problem *problem;
    int node_count, tree_count;
    int *above;     /* [tree * node_count + v]: the arc between v and the node above, or ROOT, or OUTSIDE */
    int *children;  /* the same: how many are below v */
    int *back;      /* per arc: one in the other direction, or -1 */
    int64_t visits; /* of arcs and nodes that are looked at */
    double *base;   /* per arc: what it costs when it is full, */
    double *proof;  /* and what, besides, in any case */
    double steep;
    int *by_weight;     /* pairs, the heaviest first */
    double *load;       /* per arc: what its users weigh */
    double *full;       /* per arc: 2^(steep (load / limit - 1)) */
    double *growth;     /* [pair * arc_count + arc]: by how many times a tree of the pair makes that more */
    double *price;      /* per arc, of one more user: the current tree, */
    const double *grow; /* of the pair growth */
    double weight;      /* which weighs that much */
    int towards;        /* and leads to its root: */
    const int *up_first, *up_arc, *down_first,
        *down_arc;             /* arcs by which a node can be attached to others, and others to it */
    int *up;                   /* its part of above, */
    int *below;                /* and of children */
    int *branch, branch_count; /* nodes below the cut, its top first, each after the one above it, */
    int *depth;                /* how far below the top they are, */
    double *turning;           /* what it costs to make them the top, */
    unsigned char *is_branch;  /* and whether a node is one of them */
    double *distance;
    int *via, *hops; /* per node: by which arc it was reached, and over how many */
    int *open, open_count, *met, met_count;
    int *line, line_count; /* nodes that lost their arc, from the branch's top upwards; and their arcs */
    int *cut;
    banyan_scratch memory;
} banyan_branch_mover;

static inline double banyan_branch_moves_weight(const banyan_branch_mover *g, int tree)
{
    return g->problem->weight ? g->problem->weight[tree] : 1;
}

/* The end of an arc that is nearer to the root of the current tree. */
static inline int banyan_branch_moves_upper(const banyan_branch_mover *g, int arc)
{
    return g->towards ? g->graph->arcs[arc].dst : g->graph->arcs[arc].src;
}

static inline int banyan_branch_moves_lower(const banyan_branch_mover *g, int arc)
{
    return g->towards ? g->graph->arcs[arc].src : g->graph->arcs[arc].dst;
}

static inline int banyan_branch_moves_is_idle(const banyan_branch_mover *g, int v)
{
    return !(g->graph->role[v] & BANYAN_NODE_ACTIVE);
}

/* Nothing but a way to the one node below. */
static inline int banyan_branch_moves_is_way(const banyan_branch_mover *g, int v)
{
    return banyan_branch_moves_is_idle(g, v) && g->up[v] >= 0 && g->below[v] == 1;
}

/* What the program of all prices gains when the current tree leaves the arc. */
static inline double banyan_branch_moves_refund(const banyan_branch_mover *g, int arc)
{
    return g->base[arc] * g->full[arc] * g->grow[arc] / (1 + g->grow[arc]) + g->proof[arc] * g->weight;
}

static inline void banyan_branch_moves_add_load(banyan_branch_mover *g, int arc, double more)
{
    g->load[arc] += more;
    g->full[arc] = exp2(fmin(BANYAN_GRAFT_MOST, g->steep * (g->load[arc] / g->problem->limit[arc] - 1)));
}

/* What is set is the graph, the problem and how many nodes and trees there are. */
banyan_status banyan_branch_mover_init(banyan_branch_mover *grafter, banyan_error *err);
void banyan_branch_mover_fini(banyan_branch_mover *grafter);

/* Ways of several arcs may meet: of all arcs of a tree those remain by which each node is first reached from
 * the root. */
void banyan_branch_moves_take_tree(banyan_branch_mover *grafter, const banyan_trees *trees, int tree);

/* An edge for each node but those on the ways of others. */
void banyan_branch_moves_give_tree(banyan_branch_mover *grafter, int tree, banyan_trees *trees);

/* Trees towards their roots, or away from them, are looked at now. */
void banyan_branch_moves_face(banyan_branch_mover *grafter, int towards);

/* The tree is the current one now. */
void banyan_branch_moves_take_up(banyan_branch_mover *grafter, int tree);

/* v is attached to the arc's upper end in the current tree, or to nothing any more. */
void banyan_branch_moves_join(banyan_branch_mover *grafter, int v, int arc);
void banyan_branch_moves_leave(banyan_branch_mover *grafter, int v);

/* An idle node that serves nobody leaves the current tree, and so do those above it that served it alone. */
void banyan_branch_moves_drop(banyan_branch_mover *grafter, int v);

/* up is a tree's part of above. Hops from u to the root, or -1 if u is v or below it. */
int banyan_branch_moves_climb(const banyan_branch_mover *grafter, const int *up, int u, int v);

/* Hops from v to the farthest node below it, in a tree with that many below each. */
int banyan_branch_moves_height(const banyan_branch_mover *grafter, const int *up, const int *below, int v);

/* Idle nodes join trees with all that are better attached to them, or leave them: a round over all trees
 * (solve/round/branch_stars.c). */
void banyan_branch_moves_stars(banyan_branch_mover *grafter);

/* Trees of different weights exchange arcs at a node where one bears too much (solve/round/branch_swaps.c).
 * */
void banyan_branch_moves_swaps(banyan_branch_mover *grafter);

#endif
