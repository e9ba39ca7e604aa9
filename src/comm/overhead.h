/* SPDX-License-Identifier: Apache-2.0 */
/* comm/overhead.h: what messages between processes cost beside the time on the links. */
#ifndef BANYAN_COMM_OVERHEAD_H
#define BANYAN_COMM_OVERHEAD_H

#include "schedule/schedule.h"
#include "topology/topology.h"

/* Seconds until the last node is done, if messages had no bytes. 0 without memory: a guess is not worth a failure. */
double banyan_comm_overhead(const banyan_schedule *schedule, const banyan_topology *topology);

#endif
