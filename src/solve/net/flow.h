/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/flow.h: maximum flow and minimum cut on integer capacities (Dinic: level graphs and blocking
 * flows). The network is built once and its capacities set anew for each question. */
#ifndef BANYAN_SOLVE_NET_FLOW_H
#define BANYAN_SOLVE_NET_FLOW_H

#include <stdint.h>

#include "core/status.h"

typedef struct banyan_flow banyan_flow;

/* Its edges are joined to it next, all of them before anything else. */
banyan_status banyan_flow_create(int node_count, int edge_count, banyan_flow **out, banyan_error *err);

/* The next edge, in the order in which they are counted from 0 on. */
void banyan_flow_join(banyan_flow *flow, int src, int dst);
void banyan_flow_destroy(banyan_flow *flow); /* accepts NULL */

/* Capacity of edge i one way and back (0 for a one-way edge). Forgets the flow on it. */
void banyan_flow_set(banyan_flow *flow, int edge, int64_t capacity, int64_t back);

/* Largest flow from source to sink, at most limit. Uses up the capacities. */
int64_t banyan_flow_run(banyan_flow *flow, int source, int sink, int64_t limit);

/* After run: is the node on the source's side of the smallest minimum cut? Meaningless if the limit was
 * hit. */
int banyan_flow_reaches(const banyan_flow *flow, int node);

#endif
