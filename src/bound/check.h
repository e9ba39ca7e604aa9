/* SPDX-License-Identifier: Apache-2.0 */
/* bound/check.h: weighted cuts with potentials, the certificate that bounds trees from below, and its
 * check: one pass over cuts and arcs in whole numbers, without a linear program, a flow or a search. */
#ifndef BANYAN_BOUND_CHECK_H
#define BANYAN_BOUND_CHECK_H

#include "bound/cut_family.h"
#include "solve/net/fraction.h"

/* Weights together, and each potential, are at most this: prices made of them are below 2^47, so that
 * prices times capacities times workers, summed over all arcs, stay within 128 bits. */
#define BANYAN_CHECK_LIMIT ((int64_t)1 << 45)

/* The rate of the whole vector, in the graph's units, if each active node has as much of it and sends it to
 * all others by trees (towards: sums what they have for it). Sets the price of each arc. PLAN_INVALID with a
 * sentence where the family proves nothing; name: of the collective, for the sentence. */
banyan_status banyan_check_gather(const banyan_graph *graph, int towards, const banyan_cut_family *family,
                                  const char *name, int64_t *price, banyan_fraction *fraction, double *value,
                                  banyan_error *err);

/* All-reduce: a tree into a root (reduce) and one out of it (broadcast) share the links. The rate that the
 * families prove no packing can pass, by the prices of arcs, which are whole numbers and not negative; in the
 * graph's units. Families may ask for more or less than the prices, in proportion; reduce may be empty: it is
 * the same as broadcast, with all arcs turned. PLAN_INVALID with a sentence where they prove nothing. */
banyan_status banyan_check_allreduce(const banyan_graph *graph, const int64_t *price,
                                     const banyan_cut_family *reduce, const banyan_cut_family *broadcast,
                                     banyan_fraction *fraction, double *value, banyan_error *err);

#endif
