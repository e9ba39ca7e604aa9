/* SPDX-License-Identifier: Apache-2.0 */
/* solve/divide.h: links unlike in the two directions: how much of each arc serves the
 * reduce and how much the broadcast, and how much of the vector is summed at each node, for the best all-reduce. */
#ifndef BANYAN_SOLVE_DIVIDE_H
#define BANYAN_SOLVE_DIVIDE_H

#include "solve/fraction.h"
#include "solve/graph.h"

typedef struct banyan_division {
    double total;   /* reached by this division, in the graph's units */
    double *sent;   /* per arc: what of its capacity is the broadcast's, */
    double *summed; /* and what the reduce's */
    double *root;   /* per node: what is summed there; total together */
    int64_t *price; /* per arc: prices that prove the bound */
    banyan_fraction bound;
    double bound_value;
    int is_settled; /* the total comes up to the bound, as far as was asked for; else it is an estimate */
    int rounds;
} banyan_division;

/* The bound exceeds the total by no more than the tolerance's share, unless the rounds run out. Where nodes add or copy that
 * are not active, trees may not fill the division: the bound holds, but it may not be reached. */
banyan_status banyan_divide(const banyan_graph *graph, double tolerance, int round_limit,
                            banyan_division *out, banyan_error *err);

/* The same, but it stops when the bound has not fallen for a while, though no division may be known that reaches it. */
banyan_status banyan_divide_soon(const banyan_graph *graph, double tolerance, banyan_division *out,
                                 banyan_error *err);

/* No reduce tree and broadcast tree with one root cost less together than *out under the prices: by cuts, so that it holds
 * for any nodes that help, but trees may cost more. What is hoped for will do; 0: the most that can be found. */
banyan_status banyan_divide_check(const banyan_graph *graph, const int64_t *price, banyan_wide hoped,
                                  banyan_wide *out, banyan_error *err);

void banyan_division_fini(banyan_division *division);

#endif
