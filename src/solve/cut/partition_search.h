/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/partition_search.h: partitions of a network with idle nodes that few cables cross, by local
 * search. */
#ifndef BANYAN_SOLVE_CUT_PARTITION_SEARCH_H
#define BANYAN_SOLVE_CUT_PARTITION_SEARCH_H

#include "solve/net/graph.h"

typedef struct banyan_partition_search banyan_partition_search;

/* The graph is symmetric and must live on. */
banyan_status banyan_partition_search_create(const banyan_graph *graph, banyan_partition_search **out,
                                             banyan_error *err);
void banyan_partition_search_destroy(banyan_partition_search *parting); /* accepts NULL */

/* Looks for a partition, with an active node in every part, of small crossing capacity / (parts - 1),
 * beginning where the prices per arc (equal on twins, not negative) are high. Returns that quotient: no
 * packing of trees weighs more, whichever idle nodes help. */
banyan_status banyan_partition_search_run(banyan_partition_search *parting, const double *price,
                                          double *quotient, banyan_error *err);

/* What the last search found: the part of each node, 0..*count-1; -1: it has no cable. */
const int *banyan_partition_search_parts(const banyan_partition_search *parting, int *count);

#endif
