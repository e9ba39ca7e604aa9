/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/dual_ascent.h: a lower bound on what trees must cost, where the cheapest cannot be found. */
#ifndef BANYAN_SOLVE_ORACLE_DUAL_ASCENT_H
#define BANYAN_SOLVE_ORACLE_DUAL_ASCENT_H

#include "core/scratch.h"
#include "solve/net/fraction.h"
#include "solve/net/graph.h"

typedef struct {
    const banyan_graph *graph; /* may change its active nodes between two ascents */
    int64_t *left;             /* cost not yet charged, per arc */
    int *stack; /* first the nodes that were collected, in the order in which they were found */
    unsigned char *in;
    int *size; /* per active node: of its set, at least; -1: the root is in it */
    banyan_scratch memory;
} banyan_dual_ascent;

banyan_status banyan_dual_ascent_init(banyan_dual_ascent *ascent, const banyan_graph *graph,
                                      banyan_error *err);
void banyan_dual_ascent_fini(banyan_dual_ascent *ascent); /* also after an init that failed */

/* No tree from the root to all active nodes (towards: from these to it) costs less under the prices; -1:
 * there is none. In ascent->left is by how much arcs cost more than they were charged for: a tree costs at
 * least as much more as its arcs do. */
banyan_wide banyan_dual_ascent_from(banyan_dual_ascent *ascent, const int64_t *price, int root, int towards);

#endif
