/* SPDX-License-Identifier: Apache-2.0 */
/* planner/messages.h: what messages between processes cost beside the time on the links. */
#ifndef BANYAN_PLANNER_MESSAGES_H
#define BANYAN_PLANNER_MESSAGES_H

#include "algorithms/message_walk.h"
#include "schedule/schedule.h"
#include "topology/topology.h"

/* All 0 without memory: a guess is not worth a failure. */
typedef struct {
    banyan_message_walk walk;
    double headers_s; /* how long headers and acknowledgements occupy the link that they occupy the longest */
} banyan_message_costs;

banyan_message_costs banyan_message_costs_of(const banyan_schedule *schedule,
                                             const banyan_topology *topology);

#endif
