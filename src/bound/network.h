/* SPDX-License-Identifier: Apache-2.0 */
/* bound/network.h: a topology with active workers as the graph that solvers see. */
#ifndef BANYAN_BOUND_NETWORK_H
#define BANYAN_BOUND_NETWORK_H

#include "solve/net/graph.h"
#include "topology/topology.h"

/* What idle workers do: add and copy like active ones, only forward, or nothing. */
typedef enum { BANYAN_RELAYS_ADD, BANYAN_RELAYS_FORWARD, BANYAN_RELAYS_NONE } banyan_relays;

/* Reads 'add', 'forward' or 'none'; INVALID_ARGUMENT otherwise. */
banyan_status banyan_relays_parse(const char *text, banyan_relays *out, banyan_error *err);

/* Nodes keep their numbers; arcs carry the number of their link. Idle workers and switches that cannot lie on
 * the way between two active workers, nor be of use beside it, lose their links, so they do not burden the
 * solvers. INVALID_ARGUMENT where the active workers do not all reach each other in it. */
banyan_status banyan_network_graph(const banyan_topology *topology, const int *active, int active_count,
                                   banyan_relays relays, banyan_graph **out, banyan_error *err);

#endif
