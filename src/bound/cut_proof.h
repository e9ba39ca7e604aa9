/* SPDX-License-Identifier: Apache-2.0 */
/* bound/cut_proof.h: weighted cuts that prove what prices of links do, so that checking takes one pass
 * (bound/check.h). */
#ifndef BANYAN_BOUND_CUT_PROOF_H
#define BANYAN_BOUND_CUT_PROOF_H

#include "bound/check.h"

/* Families for the trees into a root and out of it that bound the all-reduce by value, in the graph's units,
 * together with the prices, which are known to do so; reduce is empty where it is as broadcast. Both
 * are empty where there are none, or none that are found in good time. They are the caller's. */
banyan_status banyan_cut_proof_find(const banyan_graph *graph, const int64_t *price, double value,
                                    banyan_cut_family *reduce, banyan_cut_family *broadcast,
                                    banyan_error *err);

#endif
