/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/ellipsoid.h: the tree packing paper's way to a set of trees, in a form that works; for small
 * graphs. */
#ifndef BANYAN_SOLVE_PACK_ELLIPSOID_H
#define BANYAN_SOLVE_PACK_ELLIPSOID_H

#include "solve/net/trees.h"

#define BANYAN_ELLIPSOID_CABLES 40

typedef struct {
    long steps, oracle_calls;
} banyan_ellipsoid_effort;

/* Appends the distinct trees that the method meets on its way to the best prices, within tolerance of them.
 * The best packing of just these trees is within tolerance of the best of all. UNSUPPORTED beyond 40
 * cables; idle nodes must only forward. */
banyan_status banyan_ellipsoid_trees(const banyan_graph *graph, double tolerance, banyan_trees *trees,
                                     banyan_ellipsoid_effort *effort, banyan_error *err);

#endif
