/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/soft_partitions.h: prices of very many partitions at once, where idle nodes could as well be in
 * one part as in another. */
#ifndef BANYAN_SOLVE_CUT_SOFT_PARTITIONS_H
#define BANYAN_SOLVE_CUT_SOFT_PARTITIONS_H

#include "solve/net/graph.h"

typedef struct banyan_soft_partitions banyan_soft_partitions;

/* The graph must live on. price, per arc, proves a bound: active nodes that arcs join which are free both
 * ways are one part. */
banyan_status banyan_soft_partitions_create(const banyan_graph *graph, const int64_t *price,
                                            banyan_soft_partitions **out, banyan_error *err);
void banyan_soft_partitions_destroy(banyan_soft_partitions *parts); /* accepts NULL */

/* Prices per arc under which no pair of trees, up and down, costs less than 1, where arcs have that much
 * left: idle nodes are in the parts that these join them to. Returns what they prove of what is left. */
double banyan_soft_partitions_mix(banyan_soft_partitions *parts, const double *left, double *price);

#endif
