/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/order.h: in which order a ring visits the ranks. */
#ifndef BANYAN_ALGORITHMS_ORDER_H
#define BANYAN_ALGORITHMS_ORDER_H

#include "algorithms/algorithms.h"

/* The option that ring-like algorithms share. */
#define BANYAN_ORDER_OPTION                                                                                  \
    {                                                                                                        \
        "order", "RANKS", "the ring's order, as in 0,2,1 or 0-3,7-4 (default: host by host, around grids)"   \
    }

/* Ranks in the order of the option, or of the default: host after host, along fast direct links where
 * there are some, so that steps do not meet on cables between switches; on a grid along a Hamiltonian
 * cycle where there is one, along a snake otherwise. On success the caller frees *out, active_count ranks. */
banyan_status banyan_problem_order(const banyan_problem *problem, int **out, banyan_error *err);

#endif
