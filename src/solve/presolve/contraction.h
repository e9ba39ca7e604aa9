/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/contraction.h: a network in which nodes that are joined by cables without a price are one
 * node. */
#ifndef BANYAN_SOLVE_PRESOLVE_CONTRACTION_H
#define BANYAN_SOLVE_PRESOLVE_CONTRACTION_H

#include "solve/net/graph.h"

typedef struct {
    banyan_graph *graph; /* NULL: there is nothing to join, or all is one */
    int *part;           /* per node of the original: the node here that it is in */
    int *arc;            /* per arc of the original: the one here that it is in; -1: inside a node */
    int64_t *price;      /* per arc of the graph: the least price of those that it stands for */
} banyan_contraction;

/* Prices per arc, at least 0; nodes are joined that free arcs lead between both ways. A node here can do what
 * one of its nodes can; with merge, all arcs from one node to another are one arc. Whatever trees do in the
 * original they can do here, so that bounds of this network hold for that one; and under these prices the
 * cheapest trees cost the same in both. */
banyan_status banyan_contract(const banyan_graph *graph, const int64_t *price, int merge,
                              banyan_contraction *out, banyan_error *err);
void banyan_contraction_fini(banyan_contraction *contraction);

#endif
