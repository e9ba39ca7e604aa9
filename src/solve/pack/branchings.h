/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/branchings.h: spanning out-trees, as many from every active node, packed into a network's arcs
 * without loss. */
#ifndef BANYAN_SOLVE_PACK_BRANCHINGS_H
#define BANYAN_SOLVE_PACK_BRANCHINGS_H

#include "solve/net/trees.h"
#include "solve/presolve/edge_splitting.h"

/* Trees in the order of their roots, which are the active nodes in theirs; edges in the order of nodes.
 * Of a network with its arcs turned they lead into the root, and edges are those of the graph. */
typedef struct {
    banyan_trees trees;
    int *root;       /* per tree, a node */
    int64_t *weight; /* per tree; those of a root add up to the demand */
    size_t capacity;
} banyan_branchings;

/* Every node with arcs that are alive must be active. */
banyan_status banyan_branchings_pack(const banyan_joined_network *network, banyan_branchings *out,
                                     banyan_error *err);
void banyan_branchings_fini(banyan_branchings *branchings);

#endif
