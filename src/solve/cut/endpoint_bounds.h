/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/endpoint_bounds.h: asymmetric links, and no node helps that is not active: bounds that are easily
 * found, and pairs of trees that come near to them. Most networks have one of these bounds, and then need no
 * division (solve/cut/split.h). */
#ifndef BANYAN_SOLVE_CUT_ENDPOINT_BOUNDS_H
#define BANYAN_SOLVE_CUT_ENDPOINT_BOUNDS_H

#include "solve/pack/pair_columns.h"

typedef struct {
    int pair_limit;
    double aim, least;          /* shares of the bound that pairs should and must reach; */
    const int64_t *known_price; /* per arc, of a bound that is known, or NULL; */
    double known_bound;         /* and that one, or 0 */
} banyan_endpoint_problem;

/* At most that many pairs of trees, and the least of the easy bounds and the known one, with prices that
 * prove it. *good: pairs reach what they must, and out is the caller's; else it is empty. */
banyan_status banyan_endpoint_pairs(const banyan_graph *graph, const banyan_endpoint_problem *problem,
                                    int *good, banyan_pair_packing *out, banyan_error *err);

/* The least of the easy bounds and the prices that prove it, per arc; *good: it is known to be reached (to
 * within 1e-9). */
banyan_status banyan_endpoint_bound(const banyan_graph *graph, int *good, int64_t *price, double *value,
                                    banyan_error *err);

#endif
