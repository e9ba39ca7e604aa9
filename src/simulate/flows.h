/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flows.h: what is moving over the network, and which of it is through next.
 *
 * A flow is one message of one transfer; a transfer has at most one at a time. Flows on one path move at one
 * rate, so each path has a meter: the bytes that a flow would have moved since the path was last idle. A
 * flow is through when the meter has advanced by its size, whatever the rates were in between, and a change
 * of rate costs one update a path, not one a flow. */
#ifndef BANYAN_SIMULATE_FLOWS_H
#define BANYAN_SIMULATE_FLOWS_H

#include "simulate/sharing.h"

typedef struct banyan_flows banyan_flows;

banyan_status banyan_flows_create(const banyan_topology *topology, const banyan_paths *paths,
                                  size_t transfer_count, banyan_flows **out, banyan_error *err);
void banyan_flows_destroy(banyan_flows *flows); /* accepts NULL */

/* Rates follow with the next settling. The path must have links. */
void banyan_flows_start(banyan_flows *flows, int transfer, double bytes, double now_s);

/* When the next flow is through; infinity: nothing moves. */
double banyan_flows_next_s(const banyan_flows *flows);

/* Takes out the flow that is through next. */
int banyan_flows_finish(banyan_flows *flows);

/* Makes rates fair for what moves from now on. */
void banyan_flows_settle(banyan_flows *flows, double now_s);

const banyan_sharing *banyan_flows_sharing(const banyan_flows *flows);

#endif
