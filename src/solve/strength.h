/* SPDX-License-Identifier: Apache-2.0 */
/* solve/strength.h: the strength of an undirected graph: the smallest capacity between the parts of a
 * partition, divided by the number of parts less one. It is the largest packing of spanning trees (Tutte,
 * Nash-Williams 1961), hence the best all-reduce of a symmetric network without switches whose workers are
 * all active. */
#ifndef BANYAN_SOLVE_STRENGTH_H
#define BANYAN_SOLVE_STRENGTH_H

#include "solve/fraction.h"
#include "solve/graph.h"

/* part[v]: 0..*part_count-1, the partition that attains it. The graph must be symmetric and connected with at
 * least two nodes of degree > 0; isolated nodes get part -1 and do not count. */
banyan_status banyan_strength(const banyan_graph *graph, banyan_fraction *out, int *part, int *part_count,
                              banyan_error *err);

/* The same search with capacities that change: for those who take trees away one by one. */
typedef struct banyan_partitions banyan_partitions;

banyan_status banyan_partitions_create(const banyan_graph *graph, banyan_partitions **out, banyan_error *err);
void banyan_partitions_destroy(banyan_partitions *partitions); /* accepts NULL */

/* The least of  crossing capacity - rate * (parts - 1)  over all partitions, with capacity[arc] (twins alike)
 * in place of the graph's; part[v] is the partition that attains it, named by nodes. */
int64_t banyan_partitions_worst(banyan_partitions *partitions, const int64_t *capacity, int64_t rate,
                                int *part);

#endif
