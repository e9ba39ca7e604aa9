/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/grown_pairs.h: a limited number of pairs of trees on any network, for solve/round/rebalance.h
 * to begin with. */
#ifndef BANYAN_SOLVE_START_GROWN_PAIRS_H
#define BANYAN_SOLVE_START_GROWN_PAIRS_H

#include "solve/pack/pair_columns.h"

typedef struct {
    const int64_t *price; /* per arc: prices that prove the packing's bound */
    const double *root;   /* per node: how much of the vector is best summed there */
    int pair_limit;
    int64_t visit_limit; /* of work (solve/net/work.h): beyond it there are fewer pairs; 0: none */
    int are_equal;       /* all pairs weigh the same; else each a little less than the one before */
    int depth_limit;     /* hops of a tree at most, where they allow a tree at all; 0: any number */
    int keeps_room;      /* for what later pairs bring in any case: arcs are overloaded less, trees deeper */
} banyan_grown_pairs_problem;

/* Trees of the packing are replaced. Their weights come to its bound, though arcs may be overloaded. */
banyan_status banyan_grown_pairs_find(const banyan_graph *graph, const banyan_grown_pairs_problem *problem,
                                      banyan_pair_packing *packing, banyan_error *err);

#endif
