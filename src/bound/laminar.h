/* SPDX-License-Identifier: Apache-2.0 */
/* bound/laminar.h: the cuts that prove what a minimum spanning tree costs. */
#ifndef BANYAN_BOUND_LAMINAR_H
#define BANYAN_BOUND_LAMINAR_H

#include "bound/check.h"

/* Whether links and prices are the same in both directions, and idle nodes only forward. */
int banyan_laminar_applies(const banyan_graph *graph, const int64_t *price);

/* The family for the trees out of a root, and into one, which proves just what they cost. Empty where the
 * cuts would hold more than most nodes together. */
banyan_status banyan_laminar_cuts(const banyan_graph *graph, const int64_t *price, size_t most,
                                  banyan_cut_family *out, banyan_error *err);

#endif
