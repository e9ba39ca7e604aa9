/* SPDX-License-Identifier: Apache-2.0 */
/* bound/balance.h: the best all-gather and reduce-scatter where nodes that only forward have unequal
 * widths in and out. */
#ifndef BANYAN_BOUND_BALANCE_H
#define BANYAN_BOUND_BALANCE_H

#include "bound/check.h"

typedef struct {
    banyan_cut_family family; /* proves the value; the caller's */
    double value;             /* the whole vector's rate, in the graph's units */

    /* By trees in which no idle node branches; 0: some may, so that it is not known what trees reach. */
    double reached;
} banyan_balance;

/* Some idle node has unequal widths in and out. */
int banyan_balance_is_needed(const banyan_graph *graph);

/* Some idle node copies (towards: adds), so that trees may branch there. */
int banyan_balance_branches(const banyan_graph *graph, int towards);

/* inside: a cut that proves the rate cut, which is to be lowered. Sets the family even where it proves no
 * less. */
banyan_status banyan_balance_solve(const banyan_graph *graph, int towards, double cut,
                                   const unsigned char *inside, banyan_balance *out, banyan_error *err);

#endif
