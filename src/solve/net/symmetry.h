/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/symmetry.h: cables that are equivalent from every side. */
#ifndef BANYAN_SOLVE_NET_SYMMETRY_H
#define BANYAN_SOLVE_NET_SYMMETRY_H

#include "solve/net/graph.h"

/* group[arc]: 0..*group_count-1. Two arcs share a group when colour refinement cannot tell them apart: all
 * that symmetry maps onto each other do. Undirected: cables, so twins are the same. The graph must be
 * symmetric. */
banyan_status banyan_symmetry_find(const banyan_graph *graph, int directed, int *group, int *group_count,
                                   banyan_error *err);

#endif
