/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/weigh.h: the weights by which given pairs of trees carry the most. */
#ifndef BANYAN_SOLVE_PACK_WEIGH_H
#define BANYAN_SOLVE_PACK_WEIGH_H

#include "solve/net/lp.h"
#include "solve/pack/pair_columns.h"

/* Trees stand in, out, in, out, ...; unit: about what all of them carry, in the graph's units, as are weights
 * (per pair) and *total. *lp: NULL, or that of a call before, with which this one begins; the caller destroys
 * it in the end. */
banyan_status banyan_weigh_pairs(const banyan_graph *graph, double unit, const banyan_trees *trees,
                                 banyan_lp **lp, double *weight, double *total, banyan_error *err);

/* Undirected trees as pairs, in that way; the packing is new. */
banyan_status banyan_weigh_trees(const banyan_graph *graph, double unit, const banyan_trees *trees,
                                 banyan_pair_packing *packing, banyan_error *err);

#endif
