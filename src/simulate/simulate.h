/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/simulate.h: how long a schedule takes on a topology. */
#ifndef BANYAN_SIMULATE_H
#define BANYAN_SIMULATE_H

#include "schedule/schedule.h"
#include "schedule/timeline.h"
#include "topology/topology.h"

/* The simple judge: one walk over the dependency graph, a transfer costs latency + bytes / bandwidth of its
 * slowest link, links serve one transfer after the other, slices of slice_bytes follow one another (0: 128
 * KiB). */
banyan_status banyan_walk(const banyan_schedule *schedule, const banyan_topology *topology, size_t bytes,
                          size_t slice_bytes, banyan_timeline **out, banyan_error *err);

typedef struct {
    double bytes_per_s; /* of vector, as size grows: latency 0, reduce and broadcast pipelined; inf without
                           traffic */
    int bottleneck;     /* the link that is full, or -1 */
    int full_links;     /* how many are as full as that one, or nearly */
    int crowd;          /* pairs of nodes that send over those links, summed over the links */
    double volume;      /* the most that any worker sends, in vectors */
    int depth;          /* hops between workers along the longest chain of dependent transfers */
} banyan_limits;

/* What holds in the bandwidth limit: the load of each link against its bandwidth. */
banyan_status banyan_bandwidth_limit(const banyan_schedule *schedule, const banyan_topology *topology,
                                     banyan_limits *out, banyan_error *err);

#endif
