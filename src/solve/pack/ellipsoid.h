/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/ellipsoid.h: the tree packing paper's way to a packing, in a form that works; for small
 * graphs. */
#ifndef BANYAN_SOLVE_PACK_ELLIPSOID_H
#define BANYAN_SOLVE_PACK_ELLIPSOID_H

#include "solve/pack/pair_columns.h"

#define BANYAN_ELLIPSOID_PRICES 40

/* The best packing of the pairs that the method meets on its way to the best prices, within tolerance of
 * them. It is within tolerance of the best of all where the oracle is exact (solve/oracle/pair_oracle.h).
 * UNSUPPORTED beyond 40 prices: cables where links are symmetric, else arcs. *packing is empty before. */
banyan_status banyan_pair_packing_by_ellipsoid(const banyan_graph *graph, double tolerance,
                                               banyan_pair_packing *packing, banyan_error *err);

#endif
