/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/bypass.h: idle nodes that only forward, beside many cables between active nodes. What each
 * of them carries is laid out in advance, as cables between two active nodes that run through it; what is
 * left is a network in which every node is active. */
#ifndef BANYAN_SOLVE_PRESOLVE_BYPASS_H
#define BANYAN_SOLVE_PRESOLVE_BYPASS_H

#include "solve/net/trees.h"

typedef struct {
    banyan_graph *graph; /* nodes keep their numbers; NULL: the network is another */
    int *first; /* per arc, and one more: it runs over via[first[i] .. first[i + 1]) of the original */
    int *via;
} banyan_bypass;

/* Trees of out->graph are trees of the graph, so what they reach can be reached there; mostly it is all that
 * can be. */
banyan_status banyan_bypass_make(const banyan_graph *graph, banyan_bypass *out, banyan_error *err);
void banyan_bypass_fini(banyan_bypass *through); /* also after a failure */

/* Prices that prove that it is all, if it is: each edge of a tree leaves an active node and enters one. */
void banyan_bypass_price(const banyan_graph *graph, int64_t *price);

#endif
