/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/split.h: asymmetric links: how much of the vector is summed at each node for the best all-reduce,
 * if each arc is split between the reduce and the broadcast as suits both. */
#ifndef BANYAN_SOLVE_CUT_SPLIT_H
#define BANYAN_SOLVE_CUT_SPLIT_H

#include "solve/net/fraction.h"
#include "solve/net/graph.h"

typedef struct banyan_split {
    double total;       /* reached by this division, in the graph's units */
    double *root;       /* per node: what is summed there; total together */
    int64_t *price;     /* per arc: prices that prove the bound, */
    banyan_wide cost;   /* as no reduce and broadcast tree with one root cost less together; */
    double bound_value; /* capacity times price, over the cost */
    int is_settled;     /* the total comes up to the bound, as far as was asked for; else it is an estimate */
    int rounds;
} banyan_split;

/* The bound exceeds the total by no more than the tolerance's share, unless it has not fallen for a while:
 * then no division may be known that reaches it. Where nodes add or copy that are not active, trees may not
 * fill the division: the bound holds, but it may not be reached. */
banyan_status banyan_split_find(const banyan_graph *graph, double tolerance, banyan_split *out,
                                banyan_error *err);

/* No reduce tree and broadcast tree with one root cost less together than *out under the prices: by cuts, so
 * that it holds for any nodes that help, but trees may cost more. What is hoped for will do; 0: the most that
 * can be found. */
banyan_status banyan_split_find_check(const banyan_graph *graph, const int64_t *price, banyan_wide hoped,
                                      banyan_wide *out, banyan_error *err);

/* The cuts and limits of nodes that prove it, in whole numbers. */
typedef struct {
    size_t count;
    int node_count;
    unsigned char *cuts; /* by cut: 1 if the reduce must leave it, 0 if the broadcast must enter it, then the
                            nodes inside */
    int64_t *weight;     /* by cut */
    int64_t *limit;      /* [reduce * node_count + v] */
} banyan_split_proof;

/* The same; the cuts may ask for a little more than the prices. */
banyan_status banyan_split_find_proof(const banyan_graph *graph, const int64_t *price, banyan_wide hoped,
                                      banyan_split_proof *out, banyan_error *err);
void banyan_split_proof_fini(banyan_split_proof *proof);

void banyan_split_fini(banyan_split *division);

#endif
