/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/matroid_partition.h: spanning trees that share no more of a cable than there is. */
#ifndef BANYAN_SOLVE_START_MATROID_PARTITION_H
#define BANYAN_SOLVE_START_MATROID_PARTITION_H

#include "solve/net/trees.h"

/* Appends count spanning trees of all nodes of a symmetric graph; the cable of arc i is in at most room[i] of
 * them. *found is 0, and nothing is appended, where there are none such. */
banyan_status banyan_matroid_partition_trees(const banyan_graph *graph, const int64_t *room, int count,
                                             banyan_trees *trees, int *found, banyan_error *err);

#endif
