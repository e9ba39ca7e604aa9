/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/star_trees.h: where nearly all pairs are cabled, trees through idle nodes and trees without
 * them can be packed apart. */
#ifndef BANYAN_SOLVE_START_STAR_TREES_H
#define BANYAN_SOLVE_START_STAR_TREES_H

#include "solve/net/fraction.h"
#include "solve/net/trees.h"

typedef struct {
    banyan_trees trees;       /* over cables of idle nodes only */
    double *weight, total;    /* per tree, and their sum, in the graph's units */
    banyan_graph *rest;       /* what is left of the cables between active nodes; its nodes are the graph's */
    banyan_fraction strength; /* of the rest, and the partition that attains it */
    int *part, part_count;
} banyan_star_trees;

/* Of a symmetric graph without nodes that only forward. *good: every idle node has cables to most active
 * ones, and these are connected without it; else out is empty. */
banyan_status banyan_star_trees_find(const banyan_graph *graph, banyan_star_trees *out, int *good,
                                     banyan_error *err);
void banyan_star_trees_fini(banyan_star_trees *stars);

/* Prices that bound what such graphs can pack, per arc: with k parts, k between them and k - 1 on cables
 * between an active and an idle node, so that a tree pays k (k - 1), with idle nodes or without. */
void banyan_star_trees_price(const banyan_graph *graph, const banyan_star_trees *stars, int64_t *price);

#endif
