/* SPDX-License-Identifier: Apache-2.0 */
/* probe/infer.h: from what was measured between hosts to a topology. Pure functions: the same findings give
 * the same network everywhere. */
#ifndef BANYAN_PROBE_INFER_H
#define BANYAN_PROBE_INFER_H

#include "topology/topology.h"

/* One flow of a measurement in which all hosts sent at once, each to another one. */
typedef struct {
    int src, dst; /* hosts */
    double bytes_per_s;
} banyan_probe_load;

typedef struct {
    int rank_count, host_count;
    int *host_of;             /* by rank */
    const char **names;       /* by host */
    double *alone;            /* [src * host_count + dst]: bytes per second of one flow; 0: not measured */
    double *fan_out, *fan_in; /* by host: to or from many others at once; 0: not measured */
    double *local;            /* by host: what one of its ranks sends to its neighbour; 0: it has one rank */
    double *latency_s;        /* as alone; 0: not measured */
    double *local_latency_s;  /* by host */
    banyan_probe_load *loads;
    int load_count;
    size_t load_capacity;
    /* The second part, when racks are known. */
    int rack_count;
    int *rack_of;               /* by host */
    double *rack_out, *rack_in; /* by rack: to or from the others at once; 0: not measured */
} banyan_probe_findings;

banyan_status banyan_probe_findings_init(banyan_probe_findings *out, int rank_count, int host_count,
                                         banyan_error *err);
void banyan_probe_findings_fini(banyan_probe_findings *findings);
banyan_status banyan_probe_add_load(banyan_probe_findings *findings, int src, int dst, double bytes_per_s,
                                    banyan_error *err);

/* What a host can send and receive, as far as it has shown. */
double banyan_probe_host_out(const banyan_probe_findings *findings, int host);
double banyan_probe_host_in(const banyan_probe_findings *findings, int host);

/* Hosts that lose speed against each other, although each could be faster, are in different racks: fills
 * rack_of and rack_count. Hosts that lose none are all in rack 0. */
banyan_status banyan_probe_find_racks(banyan_probe_findings *findings, banyan_error *err);
int banyan_probe_rack_size(const banyan_probe_findings *findings, int rack);

/* Which hosts should send to which to fill a rack's trunk, one way: pairs[2i] to pairs[2i+1]; returns how
 * many, at most 2 * host_count. 0: it has no trunk, being one host or all of them. */
int banyan_probe_rack_flows(const banyan_probe_findings *findings, int rack, int is_out, int *pairs);

banyan_status banyan_probe_infer(const banyan_probe_findings *findings, banyan_topology **out,
                                 banyan_error *err);

#endif
