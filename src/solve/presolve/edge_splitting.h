/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/edge_splitting.h: idle nodes are taken out of a network in which every active node sends as
 * much to all others: what runs through them becomes arcs between active nodes. */
#ifndef BANYAN_SOLVE_PRESOLVE_EDGE_SPLITTING_H
#define BANYAN_SOLVE_PRESOLVE_EDGE_SPLITTING_H

#include "solve/net/fraction.h"
#include "solve/net/graph.h"

/* An arc of the graph (second is -1), or two arcs of this list one after the other. */
typedef struct {
    int src, dst;
    int64_t capacity; /* 0: it was split off */
    int first, second;
} banyan_joined_arc;

/* Every active node sends demand to each other one; capacities are in the same units. */
typedef struct {
    const banyan_graph *graph;
    int towards; /* all arcs are turned, as for a reduce-scatter */
    int64_t demand;
    banyan_joined_arc *arcs; /* the first are the graph's, in its order */
    size_t arc_count, arc_capacity;
} banyan_joined_network;

/* rate: of all active nodes together, in the graph's units, which cuts allow. Capacities are multiplied so
 * that each of them has a whole number of units of it; beyond many units, both are rounded down. Then every
 * idle node is split off: the demand stays as it is where idle nodes have as much capacity in as out, and
 * falls elsewhere, perhaps to 0. */
banyan_status banyan_joined_network_init(banyan_joined_network *out, const banyan_graph *graph, int towards,
                                         banyan_fraction rate, banyan_error *err);
void banyan_joined_network_fini(banyan_joined_network *network);

#endif
