/* SPDX-License-Identifier: Apache-2.0 */
/* solve/partitions.h: the worst partition with capacities that change: for those who take trees away one by one. */
#ifndef BANYAN_SOLVE_PARTITIONS_H
#define BANYAN_SOLVE_PARTITIONS_H

#include "solve/graph.h"

typedef struct banyan_partitions banyan_partitions;

banyan_status banyan_partitions_create(const banyan_graph *graph, banyan_partitions **out, banyan_error *err);
void banyan_partitions_destroy(banyan_partitions *partitions); /* accepts NULL */

/* The least of  crossing capacity - rate * (parts - 1)  over all partitions, with capacity[arc] (twins alike)
 * in place of the graph's; part[v] is the partition that attains it, named by nodes. */
int64_t banyan_partitions_worst(banyan_partitions *partitions, const int64_t *capacity, int64_t rate,
                                int *part);

#endif
