/* SPDX-License-Identifier: Apache-2.0 */
/* comm/overhead.h: what messages between processes cost beside the time on the links. */
#ifndef BANYAN_COMM_OVERHEAD_H
#define BANYAN_COMM_OVERHEAD_H

#include "schedule/schedule.h"
#include "topology/topology.h"

/* All 0 without memory: a guess is not worth a failure. */
typedef struct {
    double last_s; /* until the last node is done, if messages had no bytes */
    double busy_s; /* for so long is a node busy on average */
    double
        heads_s; /* for so long is the link busy that messages' heads and acknowledgements keep busy the longest */
} banyan_comm_overhead;

banyan_comm_overhead banyan_comm_overhead_of(const banyan_schedule *schedule,
                                             const banyan_topology *topology);

#endif
