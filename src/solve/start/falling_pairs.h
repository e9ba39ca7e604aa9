/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/falling_pairs.h: a limited number of pairs of trees, soon found, for solve/round/rebalance.h to
 * begin with. */
#ifndef BANYAN_SOLVE_START_FALLING_PAIRS_H
#define BANYAN_SOLVE_START_FALLING_PAIRS_H

#include "solve/pack/pair_columns.h"

typedef struct {
    const int64_t *price; /* per arc: prices that prove the packing's bound, or nearly */
    const double *root;   /* per node: how much of the vector is best summed there */
    int pair_limit;
} banyan_falling_pairs_problem;

/* Trees of the packing are replaced. Their weights come to its bound, though arcs may bear too much. */
banyan_status banyan_falling_pairs_find(const banyan_graph *graph,
                                        const banyan_falling_pairs_problem *problem,
                                        banyan_pair_packing *packing, banyan_error *err);

#endif
