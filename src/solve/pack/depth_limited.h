/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/depth_limited.h: pairs of an in-tree and an out-tree with one root, all no deeper than
 * wanted. */
#ifndef BANYAN_SOLVE_PACK_DEPTH_LIMITED_H
#define BANYAN_SOLVE_PACK_DEPTH_LIMITED_H

#include "solve/pack/pair_columns.h"

/* Puts pairs in the place of the packing's trees, until they weigh enough or little is gained; idle nodes
 * only forward. Trees have at most that many hops (0: some more than are needed); where no root has all
 * others so near, as many as the best root needs. Bound and prices stay. */
banyan_status banyan_depth_limited_pairs(const banyan_graph *graph, int depth_limit, double enough,
                                         banyan_pair_packing *packing, banyan_error *err);

/* Whether a tree that carries something is deeper than the limit. */
banyan_status banyan_depth_limited_find_deeper(const banyan_graph *graph, const banyan_pair_packing *packing,
                                               int limit, int *deeper, banyan_error *err);

#endif
