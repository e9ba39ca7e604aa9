/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pair-coins.h: few pairs of trees (in, out, one root) of weights 2^k ... 4, 2, 1, where arcs are of many widths. */
#ifndef BANYAN_SOLVE_PAIR_COINS_H
#define BANYAN_SOLVE_PAIR_COINS_H

#include "solve/coupled.h"

/* Puts at most so many pairs in the place of the packing's trees, if these weigh more than least. root says how much of
 * the vector is best summed at each node; the packing's bound and prices are known. Nothing where so few pairs would be far
 * from the bound. */
banyan_status banyan_pair_coins_find(const banyan_graph *graph, const double *root, int pair_limit,
                                     double least, banyan_coupled *packing, banyan_error *err);

#endif
