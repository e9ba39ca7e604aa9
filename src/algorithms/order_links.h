/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/order_links.h: a ring's order made better where workers are joined to one another directly. */
#ifndef BANYAN_ALGORITHMS_ORDER_LINKS_H
#define BANYAN_ALGORITHMS_ORDER_LINKS_H

#include "algorithms/algorithms.h"

/* Changes the order of ranks so that neighbours are joined by links, and by fast ones. Leaves it alone where
 * no two active workers are joined, or where there are too many ranks to look at all pairs. */
banyan_status banyan_order_by_links(const banyan_problem *problem, int *order, banyan_error *err);

#endif
