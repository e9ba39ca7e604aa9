/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/packed.h: flows that together reach the best all-reduce of a network. */
#ifndef BANYAN_ALGORITHMS_PACKED_H
#define BANYAN_ALGORITHMS_PACKED_H

#include "algorithms/flows.h"
#include "bound/network.h"
#include "solve/coupled.h"

typedef struct {
    banyan_relays relays;
    banyan_stages stages;
    int by_ellipsoid;
    int max_trees;
    int max_depth; /* 0: as shallow as costs nothing */
} banyan_packed_options;

/* From the problem's parameters. */
banyan_status banyan_packed_options_read(const banyan_problem *problem, banyan_packed_options *out,
                                         banyan_error *err);

banyan_status banyan_packed_find(const banyan_problem *problem, const banyan_packed_options *options,
                                 banyan_flows *flows, banyan_error *err);

#endif
