/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flows.h: what is moving over the network, and which of it is through next.
 *
 * A flow is one message of one transfer; a transfer has at most one at a time. Paths share links max-min
 * fairly, each with as many shares as it has flows. What a path gets its flows divide in one of two ways:
 *
 *   shared    all move at once and equally fast;
 *   in turn   one moves, the others wait, and the one with the least turn goes next.
 *
 * Either way a path has one speed and one meter: the bytes that have moved since it was last idle, of each
 * flow or of the one whose turn it is. A flow is through when the meter has advanced by its size, whatever
 * the speeds were in between, and a change of speed costs one update per path, not one per flow. */
#ifndef BANYAN_SIMULATE_FLOWS_H
#define BANYAN_SIMULATE_FLOWS_H

#include "simulate/sharing.h"

typedef struct banyan_fluid_flows banyan_fluid_flows;

banyan_status banyan_fluid_flows_create(const banyan_topology *topology, const banyan_paths *paths,
                                        size_t transfer_count, int in_turn, banyan_fluid_flows **out,
                                        banyan_error *err);
void banyan_fluid_flows_destroy(banyan_fluid_flows *flows); /* accepts NULL */

/* Speeds follow with the next banyan_fluid_flows_solve. The path must have links. The turn counts only in
 * turn. */
void banyan_fluid_flows_start(banyan_fluid_flows *flows, int transfer, double bytes, double turn,
                              double now_s);

/* When the next flow is through; infinity: nothing moves. */
double banyan_fluid_flows_next_s(banyan_fluid_flows *flows);

/* Takes out the flow that is through next. */
int banyan_fluid_flows_finish(banyan_fluid_flows *flows);

/* When the transfer's last flow, which is through, began to move. */
double banyan_fluid_flows_began_s(const banyan_fluid_flows *flows, int transfer);

/* Gives paths without a moving flow the next one, and makes speeds fair for what moves from now on. */
void banyan_fluid_flows_solve(banyan_fluid_flows *flows, double now_s);

const banyan_sharing *banyan_fluid_flows_sharing(const banyan_fluid_flows *flows);

#endif
