/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/minimum_cut.h: the narrowest cut between active nodes. */
#ifndef BANYAN_SOLVE_CUT_MINIMUM_CUT_H
#define BANYAN_SOLVE_CUT_MINIMUM_CUT_H

#include "solve/net/graph.h"

/* The least capacity that leaves a set of nodes with active ones inside and outside, if it is below the
 * limit: inside, per node, is then that set. Else *width is the limit. Everything that is summed or sent
 * crosses it once, so no all-reduce is faster. */
banyan_status banyan_minimum_cut(const banyan_graph *graph, int64_t limit, int64_t *width,
                                 unsigned char *inside, banyan_error *err);

#endif
