/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/hierarchy_cost.h: what the papers' formulas say an all-reduce takes on a tree of ranks.
 * They know levels and speeds but no routes; `banyan plan` predicts from the schedule and the network
 * itself. */
#ifndef BANYAN_ALGORITHMS_HIERARCHY_COST_H
#define BANYAN_ALGORITHMS_HIERARCHY_COST_H

#include "algorithms/hierarchy.h"

typedef struct {
    const banyan_hierarchy *tree;
    const double *bytes_per_s; /* of each node of the tree: the links to its children; leaves do not count */
    double latency_s;          /* of one message */
} banyan_hierarchy_links;

/* FlexReduce, Eq. 6 of Lee et al. 2020, with levels by distance from the root. */
double banyan_hierarchy_flexreduce_s(const banyan_hierarchy_links *links, double bytes);

/* BlueConnect, Eq. 3 there with its slips mended; one ring where the tree is uneven. */
double banyan_hierarchy_blueconnect_s(const banyan_hierarchy_links *links, double bytes);

/* One ring of all ranks over the slowest links. */
double banyan_hierarchy_ring_s(const banyan_hierarchy_links *links, double bytes);

/* The most reduces that FlexReduce may call for at a rank on the root's level, Eq. 12. */
int banyan_hierarchy_most_calls(const banyan_hierarchy *tree, int rank);

#endif
