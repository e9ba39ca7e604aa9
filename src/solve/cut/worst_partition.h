/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/worst_partition.h: the worst partition of a graph for one guess of its strength. */
#ifndef BANYAN_SOLVE_CUT_WORST_PARTITION_H
#define BANYAN_SOLVE_CUT_WORST_PARTITION_H

#include "solve/net/fraction.h"
#include "solve/net/graph.h"

typedef struct banyan_worst_partition banyan_worst_partition;

/* The graph is symmetric and lives on; nodes that are not active only forward. */
banyan_status banyan_worst_partition_create(const banyan_graph *graph, banyan_worst_partition **out,
                                            banyan_error *err);
void banyan_worst_partition_destroy(banyan_worst_partition *loads); /* accepts NULL */

/* The least of den * borders - 2 * num * parts over all partitions of the active nodes with cables, where
 * borders is the sum of the smallest cuts around the parts: twice what crosses between them, if nothing
 * forwards. capacity: per arc, the same for twins; NULL: the graph's. part[v] is the partition that attains
 * it, each part named by one of its nodes; -1 where the node has no cable or is not active. */
int64_t banyan_worst_partition_worst(banyan_worst_partition *loads, const int64_t *capacity,
                                     banyan_fraction guess, int *part);

/* All nodes are active. What the crossing capacity of the worst partition is above rate * (parts - 1), or
 * below if negative. */
int64_t banyan_worst_partition_spare(banyan_worst_partition *loads, const int64_t *capacity, int64_t rate,
                                     int *part);

#endif
