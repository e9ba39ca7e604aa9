/* SPDX-License-Identifier: Apache-2.0 */
/* solve/laden.h: a limited number of pairs of trees, soon found, for solve/settle.h to begin with. */
#ifndef BANYAN_SOLVE_LADEN_H
#define BANYAN_SOLVE_LADEN_H

#include "solve/coupled.h"

typedef struct {
    const int64_t *price; /* per arc: prices that prove the packing's bound, or nearly */
    const double *root;   /* per node: how much of the vector is best summed there */
    int pair_limit;
} banyan_laden_problem;

/* Trees of the packing are replaced. Their weights come to its bound, though arcs may bear too much. */
banyan_status banyan_laden_pairs(const banyan_graph *graph, const banyan_laden_problem *problem,
                                 banyan_coupled *packing, banyan_error *err);

#endif
