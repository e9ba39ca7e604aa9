/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/geometric_pairs.h: asymmetric links: few pairs of trees, one towards a root and one away from
 * it, each pair of another weight, that come near to the bound. */
#ifndef BANYAN_SOLVE_START_GEOMETRIC_PAIRS_H
#define BANYAN_SOLVE_START_GEOMETRIC_PAIRS_H

#include "solve/pack/pair_columns.h"

typedef struct {
    const double *width,
        *price; /* per arc: what of it can be used, and prices by which that limits the packing's bound */
    const double *root; /* per node: what should be summed there; NULL: where there is most to spare */
    int pair_limit;
} banyan_geometric_pairs_problem;

/* At most that many pairs take the place of the packing's trees if they weigh more than least together. Its
 * bound is known. */
banyan_status banyan_geometric_pairs_find(const banyan_graph *graph,
                                          const banyan_geometric_pairs_problem *problem, double least,
                                          banyan_pair_packing *packing, banyan_error *err);

#endif
