/* SPDX-License-Identifier: Apache-2.0 */
/* solve/through.h: idle nodes that only forward, beside many cables between active nodes. What each of them carries is laid out in
 * advance, as cables between two active nodes that run through it; what is left is a network in which every node is active. */
#ifndef BANYAN_SOLVE_THROUGH_H
#define BANYAN_SOLVE_THROUGH_H

#include "solve/trees.h"

typedef struct {
    banyan_graph *graph; /* nodes keep their numbers; NULL: the network is another */
    int *first; /* per arc, and one more: it runs over via[first[i] .. first[i + 1]) of the original */
    int *via;
} banyan_through;

/* Trees of out->graph are trees of the graph, so what they reach can be reached there; mostly it is all that can be. */
banyan_status banyan_through_make(const banyan_graph *graph, banyan_through *out, banyan_error *err);
void banyan_through_fini(banyan_through *through); /* also after a failure */

/* Prices that prove that it is all, if it is: each edge of a tree leaves an active node and enters one. */
void banyan_through_price(const banyan_graph *graph, int64_t *price);

#endif
