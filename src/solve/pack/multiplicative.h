/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/multiplicative.h: many different trees, all nearly cheapest under given prices: columns for one
 * linear program. */
#ifndef BANYAN_SOLVE_PACK_MULTIPLICATIVE_H
#define BANYAN_SOLVE_PACK_MULTIPLICATIVE_H

#include "solve/pack/tree_columns.h"

typedef struct banyan_multiplicative banyan_multiplicative;

/* Prices per arc of a symmetric graph that prove that no packing weighs more than rate; all must live on. */
banyan_status banyan_multiplicative_create(const banyan_graph *graph, const int64_t *price, double rate,
                                           banyan_multiplicative **out, banyan_error *err);
void banyan_multiplicative_destroy(banyan_multiplicative *spread); /* accepts NULL */

/* From now on these prices count as much as the proven ones: per arc, in any unit. Borrowed. */
void banyan_multiplicative_heed(banyan_multiplicative *spread, const double *price);

/* Appends that many trees; a second call goes on from the first. */
banyan_status banyan_multiplicative_trees(banyan_multiplicative *spread, int count, banyan_tree_oracle oracle,
                                          void *context, banyan_trees *trees, banyan_error *err);

#endif
