/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_units.h: the messages of an MSCCL program chunk by chunk, on their way to become transfers;
 * for schedule/msccl_*.c only. */
#ifndef BANYAN_SCHEDULE_MSCCL_UNITS_H
#define BANYAN_SCHEDULE_MSCCL_UNITS_H

#include "schedule/msccl.h"

typedef struct {
    int src, dst, position, flow;
    int sender; /* step */
    int action; /* -1: still on its way */
    int sequence, round;
} banyan_msccl_unit;

/* round of to >= round of from + weight */
typedef struct {
    int from, to, weight;
} banyan_msccl_edge;

/* Sets the rounds, as low as they can be; UNSUPPORTED where there are none. */
banyan_status banyan_msccl_find_rounds(const banyan_msccl_program *program, banyan_msccl_unit *units,
                                       int count, const banyan_msccl_edge *edges, size_t edge_count,
                                       banyan_error *err);

/* Sorts the units and joins neighbours to transfers. */
banyan_status banyan_msccl_build_schedule(const banyan_msccl_program *program, int root,
                                          banyan_msccl_unit *units, int count, banyan_schedule **out,
                                          banyan_error *err);

#endif
