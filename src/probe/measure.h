/* SPDX-License-Identifier: Apache-2.0 */
/* probe/measure.h: one measurement: some ranks send to some others at the same time, and all ranks learn how
 * fast each of these flows was. Every rank makes the same calls in the same order. */
#ifndef BANYAN_PROBE_MEASURE_H
#define BANYAN_PROBE_MEASURE_H

#include "probe/probe.h"

typedef struct {
    int src, dst;              /* ranks */
    double seconds, max_bytes; /* it ends after about that long, or when that many bytes have been sent */
    double under_way_bytes;    /* the most at a time */
    int is_alone;              /* no other flow uses its links */
} banyan_probe_flow;

typedef struct banyan_probe_gauge banyan_probe_gauge;

/* The options must outlive the gauge. */
banyan_status banyan_probe_gauge_create(const banyan_probe_options *options, banyan_probe_gauge **out,
                                        banyan_error *err);
void banyan_probe_gauge_destroy(banyan_probe_gauge *gauge); /* accepts NULL */

/* All flows at once: bytes_per_s[i] of flow i on the wire, the same on all ranks. */
banyan_status banyan_probe_flows(banyan_probe_gauge *gauge, const banyan_probe_flow *flows, int count,
                                 double *bytes_per_s, banyan_error *err);

/* A few bytes to and fro between each pair, the pairs at once: half a round trip, the median of several. A
 * rank is in one pair at the most. Only the ends of flows matter here. */
banyan_status banyan_probe_pings(banyan_probe_gauge *gauge, const banyan_probe_flow *pairs, int count,
                                 double *latency_s, banyan_error *err);

/* What this rank has sent so far. */
uint64_t banyan_probe_sent_bytes(const banyan_probe_gauge *gauge);

/* This rank has spent that long on measuring, and on what follows from it. */
void banyan_probe_spend_time(banyan_probe_gauge *gauge, double seconds);

/* What all ranks have sent, and the time that rank 0 has spent, when the last measurement ended: the same on
 * all ranks. */
double banyan_probe_all_bytes(const banyan_probe_gauge *gauge);
double banyan_probe_all_seconds(const banyan_probe_gauge *gauge);

#endif
