/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/hierarchy.h: the active workers as leaves of a tree: of switches, of hosts, or as the user says.
 *
 *     hosts:2+3        root               nodes are in the order of a walk from the root, parents first, so
 *                     /    \              the nodes below node v are v + 1 .. end[v] - 1
 *                   h0      h1
 *                  /  \   /  |  \
 *                 0    1 2   3   4 */
#ifndef BANYAN_ALGORITHMS_HIERARCHY_H
#define BANYAN_ALGORITHMS_HIERARCHY_H

#include "algorithms/algorithms.h"

typedef struct {
    int node_count;
    size_t capacity;
    int *parent; /* -1 for the root, which is node 0 */
    int *end;
    int *rank; /* of a leaf; -1 for a branch */
    int *depth;
    int *degree;   /* children of a branch */
    int open_node; /* while building: the branch that is being filled, or -1 */
} banyan_hierarchy;

#define BANYAN_TREE_OPTION                                                                                   \
    {                                                                                                        \
        "tree", "TREE", "ranks in brackets, as in ((0,1),(2,3,4)), or switches, hosts, bandwidth, flat"      \
    }

/* From the option 'tree', or the first of these that the topology has: a tree of switches, several hosts,
 * links of different speeds; else all ranks below one root. Branches with a single child are left out,
 * unless the user drew them. */
banyan_status banyan_hierarchy_find(const banyan_problem *problem, banyan_hierarchy *out, banyan_error *err);
void banyan_hierarchy_fini(banyan_hierarchy *hierarchy);

/* Building, in the order of the walk. Return 0 when memory ran out. */
int banyan_hierarchy_open(banyan_hierarchy *hierarchy);
int banyan_hierarchy_leaf(banyan_hierarchy *hierarchy, int rank);
void banyan_hierarchy_close(banyan_hierarchy *hierarchy);

int banyan_hierarchy_depth(const banyan_hierarchy *hierarchy); /* of the deepest branch */

/* If all leaves are equally deep and all branches of a depth have the same degree, writes the degrees from
 * the root down and returns how many there are; else 0. */
int banyan_hierarchy_shape(const banyan_hierarchy *hierarchy, int *degrees, int most);

#endif
