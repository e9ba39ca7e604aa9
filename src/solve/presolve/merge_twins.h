/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/merge_twins.h: idle nodes that do the same at the same places are one idle node. */
#ifndef BANYAN_SOLVE_PRESOLVE_MERGE_TWINS_H
#define BANYAN_SOLVE_PRESOLVE_MERGE_TWINS_H

#include "solve/net/graph.h"

typedef struct {
    banyan_graph
        *graph;    /* NULL: there are no twins. Nodes keep their numbers; those that are gone have no arcs */
    int *arc;      /* per arc of the original: the arc here that it is in */
    int *node;     /* per node of the original: the node here that it is in, */
    double *share; /* and its part of that one's width */
} banyan_twins;

/* Twins are not active, add or copy both, and have arcs to and from the same nodes, wide in the same
 * proportion; with prices (or NULL: none) also at the same ones. Whatever trees do with the one node, its
 * twins can do in the proportion of their widths, and no tree needs two of them: the best packing stays what
 * it was. */
banyan_status banyan_twins_merge(const banyan_graph *graph, const int64_t *price, banyan_twins *out,
                                 banyan_error *err);
void banyan_twins_fini(banyan_twins *twins);

#endif
