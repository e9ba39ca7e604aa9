/* SPDX-License-Identifier: Apache-2.0 */
/* probe/probe.h: what the network between ranks is like, found out by sending bytes over it.
 *
 *     pings ───────────────────────────> latencies
 *     many flows at once, in rounds ───> how fast each host sends and receives, and which flows lack speed
 *     across and within racks ─────────> which hosts share a trunk, and how fast it is
 *
 * The result is a tree: ranks on their host's switch, hosts on their rack's switch or on the switch 'net',
 * racks on 'net'. Bandwidths are those of the wire, headers included. It takes about half a second and stops
 * being right when the network changes. */
#ifndef BANYAN_PROBE_H
#define BANYAN_PROBE_H

#include "topology/topology.h"
#include "transport/transport.h"

typedef struct {
    banyan_endpoint *endpoint; /* member r is rank r */
    banyan_exchange exchange;  /* between all ranks, in their order */
    int rank, size;
    const char *const *hosts; /* by rank: the same for ranks of one host */
    const char *const *names; /* by rank: the host's name, for people */
    int timeout_ms;           /* of each measurement */
    void *context;
    void (*progress)(void *context, int done, int total); /* NULL: nobody looks; total is a guess */
} banyan_probe_options;

typedef struct {
    double seconds;
    uint64_t bytes; /* that all ranks sent */
    int measurement_count, host_count, rack_count;
} banyan_probe_report;

/* Every rank calls it, and gets the same. Worker r of *out is rank r. report may be NULL. After a failure the
 * endpoint is of no use any more. */
banyan_status banyan_probe_run(const banyan_probe_options *options, banyan_topology **out,
                               banyan_probe_report *report, banyan_error *err);

#endif
