/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/symmetrise.h: a network whose links are asymmetric, with cables of the mean width in their
 * place. */
#ifndef BANYAN_SOLVE_PRESOLVE_SYMMETRISE_H
#define BANYAN_SOLVE_PRESOLVE_SYMMETRISE_H

#include "solve/net/graph.h"

/* The narrower direction instead is what symmetric trees can surely use. */
typedef enum { BANYAN_EVEN_MEAN, BANYAN_EVEN_NARROW } banyan_evening;

typedef struct {
    banyan_graph *graph; /* symmetric; NULL: some node only adds, or only copies */
    int *arc;            /* per arc of the original: the one here that it is in, or -1 */
} banyan_symmetrised;

/* Nodes keep their numbers; all arcs between two nodes become one cable. Prices that are equal in both
 * directions say no more and no less of the original than of the mean network: a reduce tree and a broadcast
 * tree cost twice the cheapest tree, and the capacities of both directions together are worth as much. So the
 * bound of the mean network holds for the original, and mostly it is the best one. */
banyan_status banyan_symmetrised_make(const banyan_graph *graph, banyan_evening how, banyan_symmetrised *out,
                                      banyan_error *err);
void banyan_symmetrised_fini(banyan_symmetrised *mean);

#endif
