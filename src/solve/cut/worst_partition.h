/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/worst_partition.h: the worst partition of a graph for one guess of its strength. */
#ifndef BANYAN_SOLVE_CUT_WORST_PARTITION_H
#define BANYAN_SOLVE_CUT_WORST_PARTITION_H

#include "solve/net/fraction.h"
#include "solve/net/graph.h"

typedef struct banyan_worst_partition banyan_worst_partition;

/* The graph is symmetric and lives on. */
banyan_status banyan_worst_partition_create(const banyan_graph *graph, banyan_worst_partition **out,
                                            banyan_error *err);
void banyan_worst_partition_destroy(banyan_worst_partition *loads); /* accepts NULL */

/* The least of den * crossing capacity - num * parts over all partitions of the nodes with cables. capacity:
 * per arc, the same for twins; NULL: the graph's. part[v] is the partition that attains it, each part named
 * by one of its nodes; -1 where there is no cable. */
int64_t banyan_worst_partition_worst(banyan_worst_partition *loads, const int64_t *capacity,
                                     banyan_fraction guess, int *part);

/* What the crossing capacity of the worst partition is above rate * (parts - 1), or below if
 * negative. */
int64_t banyan_worst_partition_spare(banyan_worst_partition *loads, const int64_t *capacity, int64_t rate,
                                     int *part);

#endif
