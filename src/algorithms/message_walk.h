/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/message_walk.h: what the messages of a schedule cost ranks, beside the time on the links. */
#ifndef BANYAN_ALGORITHMS_MESSAGE_WALK_H
#define BANYAN_ALGORITHMS_MESSAGE_WALK_H

#include "schedule/schedule.h"
#include "topology/topology.h"

typedef struct {
    double last_s; /* until the last node is done, if messages had no bytes */
    double busy_s; /* how long a node is busy with messages, on average */
} banyan_message_walk;

/* Nodes work on messages while the links carry others. */
static inline double banyan_message_walk_time(const banyan_message_walk *walk, double network_s)
{
    return walk->last_s + (network_s > walk->busy_s ? network_s : walk->busy_s);
}

/* Both are 0 where memory runs out. */
banyan_message_walk banyan_message_walk_of(const banyan_schedule *schedule, const banyan_topology *topology);

#endif
