/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/saturation.h: asymmetric links, every node active: whether all of them can be full at once. */
#ifndef BANYAN_SOLVE_CUT_SATURATION_H
#define BANYAN_SOLVE_CUT_SATURATION_H

#include "solve/net/graph.h"

/* width, per arc, is what of it is to be used, in the graph's units. *full: trees that use it all are known
 * to be there; they come to all widths together over 2 (n - 1). Else nothing is said. */
banyan_status banyan_saturation_find(const banyan_graph *graph, const double *width, int *full,
                                     banyan_error *err);

#endif
