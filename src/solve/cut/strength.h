/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/strength.h: the strength of an undirected graph: the smallest capacity between the parts of a
 * partition, divided by the number of parts less one. It is the largest packing of spanning trees (Tutte,
 * Nash-Williams 1961), hence the best all-reduce of a symmetric network without switches whose workers are
 * all active. */
#ifndef BANYAN_SOLVE_CUT_STRENGTH_H
#define BANYAN_SOLVE_CUT_STRENGTH_H

#include "solve/net/fraction.h"
#include "solve/net/graph.h"

/* part[v]: 0..*part_count-1, the partition that attains it. The graph must be symmetric and connected with at
 * least two nodes of degree > 0; isolated nodes get part -1 and do not count. */
banyan_status banyan_strength(const banyan_graph *graph, banyan_fraction *out, int *part, int *part_count,
                              banyan_error *err);

#endif
