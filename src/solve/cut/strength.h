/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/strength.h: the strength of an undirected graph: the smallest capacity between the parts of a
 * partition, divided by the number of parts less one. It is the largest packing of spanning trees (Tutte,
 * Nash-Williams 1961), hence the best all-reduce of a symmetric network whose workers are all active. Where
 * nodes only forward, as switches do, half the capacity of the smallest cuts around all parts takes the place
 * of what is between them: such nodes can be taken out, pair of arcs by pair of arcs, without making any cut
 * between workers smaller (Bang-Jensen, Frank, Jackson 1995). */
#ifndef BANYAN_SOLVE_CUT_STRENGTH_H
#define BANYAN_SOLVE_CUT_STRENGTH_H

#include "solve/net/fraction.h"
#include "solve/net/graph.h"

/* part[v]: 0..*part_count-1, the partition that attains it, and which nodes that only forward belong to the
 * smallest cut around a part; -1: to none, or the node has no cable. The graph must be symmetric, nodes that
 * are not active must only forward, and the active ones, two at least, must be connected. */
banyan_status banyan_strength(const banyan_graph *graph, banyan_fraction *out, int *part, int *part_count,
                              banyan_error *err);

/* The same with prices of arcs under which every in-tree or out-tree costs at least *cost: an arc pays where
 * it leaves a part and where it enters one. */
banyan_status banyan_strength_prices(const banyan_graph *graph, banyan_fraction *out, int64_t *price,
                                     banyan_wide *cost, banyan_error *err);

#endif
