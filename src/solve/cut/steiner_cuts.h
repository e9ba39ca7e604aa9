/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/steiner_cuts.h: prices of cables from cuts, where idle nodes may help and the cheapest tree
 * cannot be found.
 *
 * Give every cable's capacity to its two directions in some proportion, so that as much as possible can flow
 * from one active node to each other one (each flow by itself). No packing of trees weighs more: directed
 * away from that node, its trees are such flows. This is the bidirected cut relaxation of Steiner trees;
 * where every node is active it is exact (Edmonds 1973), and elsewhere it is seldom far off. */
#ifndef BANYAN_SOLVE_CUT_STEINER_CUTS_H
#define BANYAN_SOLVE_CUT_STEINER_CUTS_H

#include "solve/net/graph.h"

/* Prices per arc (equal on twins), whole numbers in proportion, that bound the packings of a symmetric graph,
 * and the bound in its units. All nodes count as branching. It holds as far as linear programs can be
 * trusted: the prices are to be proven (solve/oracle/dual_ascent.h). INVALID_ARGUMENT where the active nodes
 * are not connected. */
banyan_status banyan_steiner_cuts_price(const banyan_graph *graph, int64_t *price, double *bound,
                                        banyan_error *err);

#endif
