/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/scarce_regions.h: where arcs are too few for the active nodes around them. */
#ifndef BANYAN_SOLVE_CUT_SCARCE_REGIONS_H
#define BANYAN_SOLVE_CUT_SCARCE_REGIONS_H

#include "solve/net/graph.h"

typedef struct {
    int node_limit, part_limit; /* nodes of a part, and parts, at most */
    double enough;              /* parts that allow that much are not scarce */
} banyan_scarce_regions_problem;

/* The scarcest parts of the network, that which allows least first: allowed[v] is lowered to what a part
 * allows, in the graph's units, where v is in its middle. A guess: trees may be able to do more or less. */
banyan_status banyan_scarce_regions_find(const banyan_graph *graph,
                                         const banyan_scarce_regions_problem *problem, double *allowed,
                                         banyan_error *err);

#endif
