/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/tree_layout.h: trees laid over the cables of a symmetric graph, and what the cables bear and
 * cost by that. Each tree is kept by the parents of its nodes; the way from a node to its parent is a path of
 * arcs. */
#ifndef BANYAN_SOLVE_ROUND_TREE_LAYOUT_H
#define BANYAN_SOLVE_ROUND_TREE_LAYOUT_H

#include "solve/net/trees.h"

enum { BANYAN_TREE_LAYOUT_OUTSIDE = -2, BANYAN_TREE_LAYOUT_ROOT = -1 };

/* The way from v to its parent in the tree goes, or once went, over the cable whose list this is in. */
typedef struct {
    int tree, v, next;
} banyan_tree_layout_user;

typedef struct {
    const banyan_graph *graph;
    const double *weight; /* per tree */
    int node_count, tree_count;
    int *parent;  /* [tree * node_count + v]: a node, ROOT or OUTSIDE */
    size_t *path; /* where the arcs from v to its parent begin, in arcs */
    int *path_length;
    int *arcs;
    size_t arc_count, arc_capacity;
    double *uses;                   /* per arc, kept on the cable: weight of the trees that use it */
    double *price;                  /* of one more use by a tree of price_weight, per arc */
    double price_weight, scale;     /* prices refer to a cable as full as scale */
    banyan_tree_layout_user *users; /* of all cables, as lists; some are out of date */
    int *first_user;                /* per cable, -1: none */
    int user_count, free_user;
    size_t user_capacity;
    int *depth; /* of the tree that was measured last */
    int failed; /* memory ran out */
} banyan_tree_layout;

/* Weights, one a tree, and the graph must live on. On failure fini is still to be called. */
banyan_status banyan_tree_layout_init(banyan_tree_layout *laid, const banyan_graph *graph,
                                      const double *weight, int tree_count, banyan_error *err);
void banyan_tree_layout_fini(banyan_tree_layout *laid);

/* All trees of a collection, each rooted in its middle at an active node; and one tree back, edges from the
 * root on. */
void banyan_tree_layout_take(banyan_tree_layout *laid, const banyan_trees *trees);
void banyan_tree_layout_give(banyan_tree_layout *laid, int tree, banyan_trees *out);

static inline size_t banyan_tree_layout_cell(const banyan_tree_layout *laid, int tree, int v)
{
    return (size_t)tree * (size_t)laid->node_count + (size_t)v;
}

int banyan_tree_layout_is_active(const banyan_tree_layout *laid, int v);

/* Weight over capacity. */
double banyan_tree_layout_load(const banyan_tree_layout *laid, int cable);

/* Prices for trees of one weight: all anew, or if the tree's is another. */
void banyan_tree_layout_price_all(banyan_tree_layout *laid);
void banyan_tree_layout_price_for(banyan_tree_layout *laid, int tree);

/* The way from v to its parent counts (sign 1) or no longer counts (-1) on its cables; what it costs. */
void banyan_tree_layout_count(banyan_tree_layout *laid, int tree, int v, int sign);
double banyan_tree_layout_path_price(const banyan_tree_layout *laid, int tree, int v);

/* Whether the cell's way to its parent goes over the cable. */
int banyan_tree_layout_path_uses(const banyan_tree_layout *laid, size_t cell, int cable);

/* The next user of the cable, from *link on: what is out of date leaves the list. NULL: there is none. */
const banyan_tree_layout_user *banyan_tree_layout_next_user(banyan_tree_layout *laid, int cable, int **link);

/* By node: 1 for what hangs below top, and top, 2 for the rest of the tree, 0 outside. */
void banyan_tree_layout_mark_part(const banyan_tree_layout *laid, int tree, int top, unsigned char *side);

/* Depths of the tree's nodes; returns the largest. */
int banyan_tree_layout_measure(banyan_tree_layout *laid, int tree);

/* Hangs the part below top on far, by the way that ends there: back over the arcs via[] to source, in the
 * part. Idle nodes that add, on the way, become nodes of the tree. */
void banyan_tree_layout_hang(banyan_tree_layout *laid, int tree, int top, int far, int source,
                             const int *via);

/* Makes room again where paths that were replaced have left much behind. */
void banyan_tree_layout_collect(banyan_tree_layout *laid);

#endif
