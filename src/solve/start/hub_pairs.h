/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/hub_pairs.h: pairs of trees (in, out, one root) for workers behind switches, of which some are
 * idle and add. */
#ifndef BANYAN_SOLVE_START_HUB_PAIRS_H
#define BANYAN_SOLVE_START_HUB_PAIRS_H

#include "solve/pack/pair_columns.h"

typedef struct {
    int pair_limit;
    double enough; /* what will do, in the graph's units */
} banyan_hub_pairs_problem;

/* Whether every node that adds also copies, and has all its links to and from one switch that only
 * forwards. */
int banyan_hub_pairs_apply(const banyan_graph *graph);

/* Whether the switch's links to other switches are much narrower than those to workers. */
int banyan_hub_pairs_blocks(const banyan_graph *graph, int s);

/* What that many pairs of one weight can reach of this rate, in the graph's units: less where active workers
 * have little to give, and whole hubs do not suit it. */
double banyan_hub_pairs_whole(const banyan_graph *graph, double rate, int pairs);

/* At most that many pairs, or none; the packing's bound is known. */
banyan_status banyan_hub_pairs_find(const banyan_graph *graph, const banyan_hub_pairs_problem *problem,
                                    banyan_pair_packing *packing, banyan_error *err);

#endif
