/* SPDX-License-Identifier: Apache-2.0 */
/* solve/spread.h: many different trees, all nearly cheapest under given prices: columns for one linear program. */
#ifndef BANYAN_SOLVE_SPREAD_H
#define BANYAN_SOLVE_SPREAD_H

#include "solve/packing.h"

typedef struct banyan_spread banyan_spread;

/* Prices per arc of a symmetric graph that prove that no packing weighs more than rate; all must live on. */
banyan_status banyan_spread_create(const banyan_graph *graph, const int64_t *price, double rate,
                                   banyan_spread **out, banyan_error *err);
void banyan_spread_destroy(banyan_spread *spread); /* accepts NULL */

/* From now on these prices count as much as the proven ones: per arc, in any unit. Borrowed. */
void banyan_spread_heed(banyan_spread *spread, const double *price);

/* Appends so many trees; a second call goes on from the first. */
banyan_status banyan_spread_trees(banyan_spread *spread, int count, banyan_tree_oracle oracle, void *context,
                                  banyan_trees *trees, banyan_error *err);

#endif
