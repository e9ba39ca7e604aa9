/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/order_switches.h: a ring's order made better where its steps meet on cables between switches. */
#ifndef BANYAN_ALGORITHMS_ORDER_SWITCHES_H
#define BANYAN_ALGORITHMS_ORDER_SWITCHES_H

#include "algorithms/algorithms.h"

/* Where a worker belongs: its host, plus the number of nodes; without a host the switch that its only link
 * leads to; else the worker itself. Workers of one home are neighbours in a ring. */
int banyan_order_home(const banyan_topology *topology, int node);

/* Changes the order in which a ring visits homes, each as one block, so that as few of its steps as possible
 * meet on the link that is fullest. Leaves it alone where that link carries one step, or where there are too
 * many blocks to look at all pairs. */
banyan_status banyan_order_by_switches(const banyan_problem *problem, int *order, banyan_error *err);

#endif
