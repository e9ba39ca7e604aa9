/* SPDX-License-Identifier: Apache-2.0 */
/* bound/check.h: weighted cuts with potentials, the certificate that bounds trees from below, and its
 * check: one pass over cuts and arcs in whole numbers, without a linear program, a flow or a search. */
#ifndef BANYAN_BOUND_CHECK_H
#define BANYAN_BOUND_CHECK_H

#include "solve/net/fraction.h"
#include "solve/net/graph.h"

/* Cut k is the set of nodes node[first[k] .. first[k+1]), ascending, with some active nodes inside and
 * some outside. */
typedef struct {
    int count;
    int *first, *node;
    int64_t *weight; /* by cut, above 0 */

    /* By node: free where it only forwards, not negative where it may branch, 0 where it is active. */
    int64_t *potential;
} banyan_cut_family;

/* Room for count cuts that hold members nodes together; potentials are 0. */
banyan_status banyan_cut_family_init(banyan_cut_family *out, int count, size_t members, int node_count,
                                     banyan_error *err);
void banyan_cut_family_fini(banyan_cut_family *family);

/* One cut of weight 1: the nodes that are marked. */
banyan_status banyan_cut_family_of_cut(const banyan_graph *graph, const unsigned char *inside,
                                       banyan_cut_family *out, banyan_error *err);

/* A copy without what does not matter: nodes that have no arcs, and what weights and potentials have in
 * common. */
banyan_status banyan_cut_family_copy(const banyan_graph *graph, const banyan_cut_family *family,
                                     banyan_cut_family *out, banyan_error *err);

/* Weights together, and each potential, are at most this: prices made of them are below 2^47, so that
 * prices times capacities times workers, summed over all arcs, stay within 128 bits. */
#define BANYAN_CHECK_LIMIT ((int64_t)1 << 45)

/* Whether the family is one for trees out of a root to all active nodes (towards: from all active nodes
 * into a root). If it is, sets the price of each arc, so that a tree with root r costs at least the weight
 * of the cuts that hold r. PLAN_INVALID with a sentence if not; name: of the collective, for the sentence. */
banyan_status banyan_check_family(const banyan_graph *graph, int towards, const banyan_cut_family *family,
                                  const char *name, int64_t *price, banyan_error *err);

/* What prices bound: the rate of the whole vector if each active node has as much of it, in the graph's
 * units. */
banyan_fraction banyan_check_gather(const banyan_graph *graph, const banyan_cut_family *family,
                                    const int64_t *price, double *value);

#endif
