/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/local_bounds.h: bounds of large networks, asymmetric links, from what is narrow in some small
 * place of them. */
#ifndef BANYAN_SOLVE_CUT_LOCAL_BOUNDS_H
#define BANYAN_SOLVE_CUT_LOCAL_BOUNDS_H

#include "solve/net/graph.h"

/* No node only forwards. If some place allows less than *value, in the graph's units, that is *value then,
 * and prices, per arc, prove it; else both stay. root, per node, is how much of the vector is best summed
 * there; where the network itself is small nothing changes. */
banyan_status banyan_local_bounds_lower(const banyan_graph *graph, int64_t *price, double *root,
                                        double *value, banyan_error *err);

#endif
