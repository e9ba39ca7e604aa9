/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/bypass.h: nodes that only forward are taken out of a network, and cables that lead past them
 * take their place. */
#ifndef BANYAN_SOLVE_PRESOLVE_BYPASS_H
#define BANYAN_SOLVE_PRESOLVE_BYPASS_H

#include "solve/net/trees.h"

typedef struct {
    banyan_graph *graph; /* the same nodes; link: an index below */
    int *first, *second; /* arcs of the network; second -1: there is one only */
} banyan_bypass;

/* Whatever cannot be paired is left out, and so are arcs between two forwarders. NULL graph: nothing is left.
 */
banyan_status banyan_bypass_make(const banyan_graph *graph, banyan_bypass *out, banyan_error *err);
void banyan_bypass_fini(banyan_bypass *bypass);

/* Adds the trees, whose arcs are the bypass's, as trees of the network. */
void banyan_bypass_lift(const banyan_bypass *bypass, const banyan_trees *trees, banyan_trees *out);

#endif
