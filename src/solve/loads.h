/* SPDX-License-Identifier: Apache-2.0 */
/* solve/loads.h: the worst partition of a graph for one guess of its strength. */
#ifndef BANYAN_SOLVE_LOADS_H
#define BANYAN_SOLVE_LOADS_H

#include "solve/fraction.h"
#include "solve/graph.h"

typedef struct banyan_loads banyan_loads;

/* The graph is symmetric and lives on. */
banyan_status banyan_loads_create(const banyan_graph *graph, banyan_loads **out, banyan_error *err);
void banyan_loads_destroy(banyan_loads *loads); /* accepts NULL */

/* The least of  den * crossing capacity - num * parts  over all partitions of the nodes with cables. capacity: per arc, twins
 * alike; NULL: the graph's. part[v] is the partition that attains it, each part named by one of its nodes; -1 where there is
 * no cable. */
int64_t banyan_loads_worst(banyan_loads *loads, const int64_t *capacity, banyan_fraction guess, int *part);

/* What the crossing capacity of the worst partition is above  rate * (parts - 1),  or below, if it is negative. */
int64_t banyan_loads_spare(banyan_loads *loads, const int64_t *capacity, int64_t rate, int *part);

#endif
