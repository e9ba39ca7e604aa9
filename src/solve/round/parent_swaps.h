/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/parent_swaps.h: out-trees become shallower while each arc carries as much as before, or less
 * than it may. */
#ifndef BANYAN_SOLVE_ROUND_PARENT_SWAPS_H
#define BANYAN_SOLVE_ROUND_PARENT_SWAPS_H

#include "solve/presolve/edge_splitting.h"

/* Trees of which each has one arc into every active node but its root. */
typedef struct {
    const banyan_joined_network *network;
    size_t tree_count;
    const int *root;       /* by tree */
    const int64_t *weight; /* by tree */
    int *via;              /* by tree and node: the arc into it; -1: none */
    int64_t *room;         /* by arc: what no tree uses */
} banyan_swapped_trees;

banyan_status banyan_parent_swaps_run(banyan_swapped_trees *trees, banyan_error *err);

#endif
