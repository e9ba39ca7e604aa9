/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/equal_pairs.h: a limited number of pairs of trees (in, out, one root) that divide the arcs
 * nearly as well as any number. */
#ifndef BANYAN_SOLVE_START_EQUAL_PAIRS_H
#define BANYAN_SOLVE_START_EQUAL_PAIRS_H

#include "solve/pack/pair_columns.h"

typedef struct {
    const double *root; /* per node: how much of the vector is best summed there */
    int pair_limit;
    double least;  /* what the packing's trees are worth, in the graph's units: pairs must weigh more */
    double enough; /* and what will do; 0: whatever they weigh at once will */
    int in_hurry;  /* there is another way where that is out of reach */
} banyan_equal_pairs_problem;

/* Puts at most that many pairs in the place of the packing's trees, if these weigh enough; its bound and
 * prices are known. */
banyan_status banyan_equal_pairs_find(const banyan_graph *graph, const banyan_equal_pairs_problem *problem,
                                      banyan_pair_packing *packing, banyan_error *err);

#endif
