/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/thin.h: the trees of a packing as pairs, and the heaviest of these. */
#ifndef BANYAN_SOLVE_PACK_THIN_H
#define BANYAN_SOLVE_PACK_THIN_H

#include "solve/pack/pair_columns.h"

/* Pairs that a pipelined packing's trees make: trees 0 and 1, in and out, are then the first, and so on. */
banyan_status banyan_thin_make_pairs(const banyan_graph *graph, banyan_pair_packing *packing,
                                     banyan_error *err);

/* The heaviest of its pairs, with the weights that they have. */
banyan_status banyan_thin_keep_heaviest(int pair_limit, banyan_pair_packing *packing, banyan_error *err);

#endif
