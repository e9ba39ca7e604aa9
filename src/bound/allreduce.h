/* SPDX-License-Identifier: Apache-2.0 */
/* bound/allreduce.h: the best all-reduce on a graph, and the prices that prove it. */
#ifndef BANYAN_BOUND_ALLREDUCE_H
#define BANYAN_BOUND_ALLREDUCE_H

#include "solve/net/fraction.h"
#include "solve/net/graph.h"

typedef struct {
    banyan_fraction fraction; /* in the graph's units; den 0: does not fit */
    double value;
    double reached; /* by a packing that was found; 0: none was looked for */
    int64_t *price; /* per arc, the caller's array */
} banyan_allreduce_bound;

banyan_status banyan_allreduce_solve(const banyan_graph *graph, banyan_allreduce_bound *out,
                                     banyan_error *err);

/* Symmetric links, but some nodes only add or only copy: mostly that brings nothing, and then the prices of
 * the network in which they just forward prove as much. *good says so, and out is set; else that is not
 * known. */
banyan_status banyan_allreduce_solve_even(const banyan_graph *graph, banyan_allreduce_bound *out, int *good,
                                          banyan_error *err);

/* Asymmetric links, without and with nodes that help though they are not active. */
banyan_status banyan_allreduce_solve_divided(const banyan_graph *graph, banyan_allreduce_bound *out,
                                             banyan_error *err);
banyan_status banyan_allreduce_solve_helped(const banyan_graph *graph, banyan_allreduce_bound *out,
                                            banyan_error *err);

/* Lowers a bound that is known to what links at workers allow, where idle ones help (solve/cut/pods.h, or
 * solve/cut/endpoint_service.h), if that is less. */
banyan_status banyan_allreduce_lower_by_cells(const banyan_graph *graph, banyan_allreduce_bound *out,
                                              banyan_error *err);

/* Lowers one to the best, where idle nodes add and trees fall short of it. Symmetric links: up to 30 nodes;
 * patient: whatever the directions, up to 100, in some seconds. */
banyan_status banyan_allreduce_lower_by_search(const banyan_graph *graph, int patient,
                                               banyan_allreduce_bound *out, banyan_error *err);

/* What prices prove: *value * 1 unit. Uses nothing but the prices and the graph. Where trees are too many to
 * be searched, a quick proof is enough if it proves what is hoped for; else, and where that is 0, a long one
 * is tried, too. */
banyan_status banyan_allreduce_prove(const banyan_graph *graph, const int64_t *price, double hoped,
                                     banyan_fraction *fraction, double *value, banyan_error *err);

#endif
