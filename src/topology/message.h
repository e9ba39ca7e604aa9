/* SPDX-License-Identifier: Apache-2.0 */
/* topology/message.h: what a message costs beside its bytes, by LogP's parameters: it keeps its sender and
 * its receiver busy and is under way in between, longer between hosts, where it passes through the kernel,
 * than within one. The figures are those of sockets and shared memory of today's machines, to the nearest
 * handy number. */
#ifndef BANYAN_TOPOLOGY_MESSAGE_H
#define BANYAN_TOPOLOGY_MESSAGE_H

#include "topology/topology.h"

typedef struct {
    double busy_s, under_way_s;
} banyan_message_cost;

static inline int banyan_message_is_far(const banyan_topology *topology, int src, int dst)
{
    int host = topology->nodes[src].host;

    return host < 0 || host != topology->nodes[dst].host;
}

static inline banyan_message_cost banyan_message_cost_of(int is_far)
{
    return is_far ? (banyan_message_cost){4e-6, 15e-6} : (banyan_message_cost){0.4e-6, 0.6e-6};
}

#endif
