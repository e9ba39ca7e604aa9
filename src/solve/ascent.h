/* SPDX-License-Identifier: Apache-2.0 */
/* solve/ascent.h: a lower bound on what trees must cost, where the cheapest cannot be found. */
#ifndef BANYAN_SOLVE_ASCENT_H
#define BANYAN_SOLVE_ASCENT_H

#include "solve/fraction.h"
#include "solve/graph.h"

/* No reduce tree and broadcast tree with one root cost less together than *out under the prices. */
banyan_status banyan_ascent_bound(const banyan_graph *graph, const int64_t *price, banyan_wide *out,
                                  banyan_error *err);

#endif
