/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/star_pairs.h: idle nodes that have cables to all active ones are the middle of stars. */
#ifndef BANYAN_SOLVE_START_STAR_PAIRS_H
#define BANYAN_SOLVE_START_STAR_PAIRS_H

#include "solve/presolve/bypass.h"

typedef struct {
    banyan_trees trees;    /* in, out, in, out, ... */
    int *root;             /* per tree */
    double *weight, total; /* per pair, and their sum, in the graph's units */
    banyan_bypass rest;    /* what is left of the arcs; NULL graph: nothing */
} banyan_star_pairs;

/* The heaviest star first, and at most that many; no star: all is empty. */
banyan_status banyan_star_pairs_find(const banyan_graph *graph, int limit, banyan_star_pairs *out,
                                     banyan_error *err);
void banyan_star_pairs_fini(banyan_star_pairs *stars);

#endif
