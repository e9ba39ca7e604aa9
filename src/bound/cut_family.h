/* SPDX-License-Identifier: Apache-2.0 */
/* bound/cut_family.h: weighted cuts with potentials of nodes, the certificate that bound/check.h checks:
 * sets of nodes that every tree must enter, with weights that say how much each counts. bound/check.c says
 * why they bound all trees; bound/cut_proof.h and bound/gather.h find them. */
#ifndef BANYAN_BOUND_CUT_FAMILY_H
#define BANYAN_BOUND_CUT_FAMILY_H

#include "solve/net/fraction.h"
#include "solve/net/graph.h"

/* Cut k is the set of nodes node[first[k] .. first[k+1]), ascending, with some active node inside: what it
 * does not have must come into it (towards a root: what it has must leave it). */
typedef struct {
    int count;
    int *first, *node;
    int64_t *weight; /* by cut, above 0 */

    int64_t *potential; /* by node, 0 where it is active */
} banyan_cut_family;

/* Room for count cuts that hold members nodes together; potentials are 0. */
banyan_status banyan_cut_family_init(banyan_cut_family *out, int count, size_t members, int node_count,
                                     banyan_error *err);
void banyan_cut_family_fini(banyan_cut_family *family);

/* One cut of weight 1: the nodes that are not marked, which those that are send to. */
banyan_status banyan_cut_family_of_cut(const banyan_graph *graph, const unsigned char *sends,
                                       banyan_cut_family *out, banyan_error *err);

/* A copy without nodes that have no arcs. */
banyan_status banyan_cut_family_copy(const banyan_graph *graph, const banyan_cut_family *family,
                                     banyan_cut_family *out, banyan_error *err);

/* Divides weights and potentials of one or two families by what they have in common. other may be NULL. */
void banyan_cut_family_reduce(banyan_cut_family *family, banyan_cut_family *other, int node_count);

#endif
