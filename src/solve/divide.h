/* SPDX-License-Identifier: Apache-2.0 */
/* solve/divide.h: links unlike in the two directions, every node active or a mere forwarder: how much of each arc serves the
 * reduce and how much the broadcast, and how much of the vector is summed at each node, for the best all-reduce. */
#ifndef BANYAN_SOLVE_DIVIDE_H
#define BANYAN_SOLVE_DIVIDE_H

#include "solve/fraction.h"
#include "solve/graph.h"

typedef struct {
    double total;   /* reached by this division, in the graph's units */
    double *sent;   /* per arc: what of its capacity is the broadcast's, */
    double *summed; /* and what the reduce's */
    double *root;   /* per node: what is summed there; total together */
    int64_t *price; /* per arc: prices that prove the bound */
    banyan_fraction bound;
    double bound_value;
    int rounds;
} banyan_division;

/* Every node with an arc must be active, or neither add nor copy. The bound exceeds the total by no more than the tolerance's share, unless
 * the rounds run out. */
banyan_status banyan_divide(const banyan_graph *graph, double tolerance, int round_limit,
                            banyan_division *out, banyan_error *err);
void banyan_division_fini(banyan_division *division);

#endif
