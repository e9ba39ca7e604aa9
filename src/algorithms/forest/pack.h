/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/pack.h: flows that together reach the best all-reduce of a network. */
#ifndef BANYAN_ALGORITHMS_FOREST_PACK_H
#define BANYAN_ALGORITHMS_FOREST_PACK_H

#include "algorithms/flows.h"
#include "bound/network.h"
#include "solve/pack/pair_columns.h"
#include "solve/presolve/contraction.h"

/* Share of the time that filling the trees may take; what deep trees must gain to be worth theirs. */
#define BANYAN_FOREST_FILLING 0.05

/* In the order of their names in banyan_forest_options_read. */
typedef enum { BANYAN_FOREST_GROW, BANYAN_FOREST_ELLIPSOID } banyan_forest_method;

typedef struct {
    banyan_relays relays;
    banyan_stages stages;
    banyan_forest_method method;
    int max_trees;
    int max_depth; /* 0: as shallow as costs nothing */
    const banyan_budget *budget;
    double wait_s_per_byte; /* of a vector of the current size, for messages alone; 0: it is large */
} banyan_forest_options;

/* From the problem's parameters. */
banyan_status banyan_forest_options_read(const banyan_problem *problem, banyan_forest_options *out,
                                         banyan_error *err);

/* Any network, pipelined: starts and rebalancing, until what they pack comes near to the bound. */
banyan_status banyan_forest_starts(const banyan_topology *topology, const banyan_graph *graph,
                                   const banyan_forest_options *options, banyan_flows *flows,
                                   banyan_error *err);

/* Flows of the contracted network, which reach this rate in the graph's units, laid into the graph; perhaps
 * no pairs come of it. */
banyan_status banyan_forest_lift(const banyan_graph *graph, const banyan_contraction *joined,
                                 const banyan_flows *small, double rate, banyan_pair_packing *packing,
                                 banyan_error *err);

banyan_status banyan_forest_pack(const banyan_problem *problem, const banyan_forest_options *options,
                                 banyan_flows *flows, banyan_error *err);

/* UNSUPPORTED with a sentence where the trees of an all-gather or a reduce-scatter would take too long. */
banyan_status banyan_forest_check_parts(const banyan_problem *problem, banyan_error *err);

/* The trees of an all-gather or a reduce-scatter, one or more for each rank. */
banyan_status banyan_forest_pack_parts(const banyan_problem *problem, banyan_relays relays,
                                       banyan_flows *flows, banyan_error *err);

#endif
