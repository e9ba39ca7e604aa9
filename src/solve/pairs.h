/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pairs.h: a limited number of pairs of trees (in, out, one root) that divide the arcs nearly as well as any number. */
#ifndef BANYAN_SOLVE_PAIRS_H
#define BANYAN_SOLVE_PAIRS_H

#include "solve/coupled.h"

/* Puts at most so many pairs in the place of the packing's trees, if these weigh more than least. root says how much of
 * the vector is best summed at each node; the packing's bound and prices are known. */
banyan_status banyan_pairs_find(const banyan_graph *graph, const double *root, int pair_limit, double least,
                                banyan_coupled *packing, banyan_error *err);

#endif
