/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/pods.h: what links at workers and between switches allow together, where idle workers help. A
 * pod is a switch that only forwards, with the workers behind it. */
#ifndef BANYAN_SOLVE_CUT_PODS_H
#define BANYAN_SOLVE_CUT_PODS_H

#include "core/scratch.h"
#include "solve/net/fraction.h"
#include "solve/net/graph.h"

typedef struct {
    int count;
    int *home;          /* per cell: its switch */
    int *cell;          /* per node, a switch or a worker; -1: none */
    int *active, *idle; /* per cell: how many workers */
    banyan_scratch memory;
} banyan_pods;

/* None (count 0) unless every worker adds and copies, and has all its links to and from one switch. */
banyan_status banyan_pods_find(const banyan_graph *graph, banyan_pods *out, banyan_error *err);
void banyan_pods_fini(banyan_pods *cells);

/* No in-tree and out-tree with one root cost less together, by this kind of proof; -1: it does not apply. */
banyan_status banyan_pods_cost(const banyan_graph *graph, const int64_t *price, banyan_wide *out,
                               banyan_error *err);

/* The best prices that are the same for all links of a kind in each cell; *value is what they prove, in the
 * graph's units, or HUGE_VAL. */
banyan_status banyan_pods_price(const banyan_graph *graph, int64_t *price, double *value, banyan_error *err);

#endif
