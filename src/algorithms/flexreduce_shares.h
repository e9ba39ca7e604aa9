/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/flexreduce_shares.h: what part of the vector the children of a branch deserve by the speed of
 * their links. */
#ifndef BANYAN_ALGORITHMS_FLEXREDUCE_SHARES_H
#define BANYAN_ALGORITHMS_FLEXREDUCE_SHARES_H

#include "algorithms/hierarchy.h"

/* Of each node of the tree: child c of a branch gets weight[c] / total[branch]. A total of 0 stands for equal
 * parts. Both arrays have room for all nodes and come zeroed. *differ: has any branch unequal parts? */
banyan_status banyan_shares_by_bandwidth(const banyan_problem *problem, const banyan_hierarchy *tree,
                                         int *weight, int *total, int *differ, banyan_error *err);

#endif
