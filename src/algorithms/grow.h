/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/grow.h: one broadcast tree per rank, grown together on the links that are free in each time
 * step. This is the planning half of MultiTree (multitree.c); the other half turns edges into transfers. */
#ifndef BANYAN_ALGORITHMS_GROW_H
#define BANYAN_ALGORITHMS_GROW_H

#include "algorithms/algorithms.h"

/* Which neighbours on a grid are tried first. */
typedef enum {
    BANYAN_GROW_SPLIT, /* one way along the first dimension, the other dimensions, then the other way */
    BANYAN_GROW_YX,    /* first dimension first */
    BANYAN_GROW_XY     /* last dimension first */
} banyan_grow_order;

/* An edge of the tree that is rooted at a rank: child joins parent in a step (from 1). */
typedef struct {
    int root, parent, child; /* ranks */
    int step;
    int path_first, path_count; /* the links from parent to child, in the trees' path array */
} banyan_grow_edge;

typedef struct {
    banyan_grow_edge *edges; /* in the order in which they were found: ascending steps */
    size_t edge_count;
    int *path_link;
    size_t path_capacity;
    int path_used;
    int step_count;
} banyan_grown_trees;

typedef struct {
    banyan_grow_order order;
    int is_deep_first;       /* trees whose farthest rank is farther away have their turn before others */
    int ends_with_last_tree; /* a step ends when the last tree of a round does not grow */
} banyan_grow_options;

banyan_status banyan_grow_trees(const banyan_problem *problem, banyan_grow_options options,
                                banyan_grown_trees *out, banyan_error *err);
void banyan_grown_trees_fini(banyan_grown_trees *trees);

#endif
