/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/take.h: packings become flows. A packing has weights for in-trees and for out-trees,
 * each with a root; a flow needs one of either with the same root and one weight (algorithms/flows.h). */
#ifndef BANYAN_ALGORITHMS_FOREST_TAKE_H
#define BANYAN_ALGORITHMS_FOREST_TAKE_H

#include "algorithms/flows.h"
#include "solve/pack/pair_columns.h"

/* At each root, the in-trees' weights laid end to end against the out-trees': every overlap is a flow. */
void banyan_forest_take_pairs(banyan_flows *flows, const banyan_graph *graph,
                              const banyan_pair_packing *packing);

#endif
