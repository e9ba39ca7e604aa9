/* SPDX-License-Identifier: Apache-2.0 */
/* bound/allreduce.h: the best all-reduce on a graph, and the prices that prove it. */
#ifndef BANYAN_BOUND_ALLREDUCE_H
#define BANYAN_BOUND_ALLREDUCE_H

#include "solve/net/fraction.h"
#include "solve/net/graph.h"

typedef struct {
    int64_t *price;           /* per arc, the caller's array */
    banyan_wide cost;         /* a reduce tree and a broadcast tree with one root cost at least this */
    double value;             /* capacity times price, over the cost; in the graph's units */
    banyan_fraction fraction; /* the same; den 0: does not fit */
    double reached;           /* by a packing that is known to exist; 0: none is */
    int is_quick; /* the caller's: what cuts prove will do, nothing is searched for (allreduce_search.c) */
} banyan_allreduce_bound;

banyan_status banyan_allreduce_solve(const banyan_graph *graph, banyan_allreduce_bound *out,
                                     banyan_error *err);

/* Sets value and fraction by price and cost. */
void banyan_allreduce_set_value(const banyan_graph *graph, banyan_allreduce_bound *bound);

/* Lowers a bound to the best, where idle nodes add and trees fall short of it. Symmetric links: up to 30
 * nodes; patient: asymmetric ones, too, up to 100, in some seconds. */
banyan_status banyan_allreduce_lower_by_search(const banyan_graph *graph, int patient,
                                               banyan_allreduce_bound *out, banyan_error *err);

/* Sets cost, value and fraction by nothing but the prices and the graph. Where trees are too many to be
 * searched, a quick proof is enough if it proves the value that is hoped for; else, and where that is 0, a
 * long one is tried, too. */
banyan_status banyan_allreduce_prove(const banyan_graph *graph, double hoped, banyan_allreduce_bound *bound,
                                     banyan_error *err);

#endif
