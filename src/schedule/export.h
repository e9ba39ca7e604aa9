/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/export.h: a schedule in other people's forms. Each gives a text that the caller frees. */
#ifndef BANYAN_SCHEDULE_EXPORT_H
#define BANYAN_SCHEDULE_EXPORT_H

#include "core/text.h"
#include "schedule/schedule.h"
#include "schedule/timeline.h"

typedef struct {
    int max_steps;    /* per thread block: 64 in the Azure build (0: this default), 256 in microsoft/msccl */
    int max_channels; /* 0: 32 */
    size_t min_bytes, max_bytes; /* window of sizes that the file may serve; max 0: no limit */
} banyan_msccl_limits;

/* MSCCL XML for RCCL, the Azure executor and microsoft/msccl; UNSUPPORTED with the limit's name if it does
 * not fit. */
banyan_status banyan_schedule_export_msccl(const banyan_schedule *schedule, const banyan_msccl_limits *limits,
                                           char **out, banyan_error *err);

/* node_name may be NULL (then nodes are numbers); context is handed through. */
typedef const char *(*banyan_node_namer)(const void *context, int node);

banyan_status banyan_schedule_export_dot(const banyan_schedule *schedule, banyan_node_namer node_name,
                                         const void *context, char **out, banyan_error *err);

/* Chrome trace JSON (chrome://tracing, Perfetto): one process per node, sends and receives as lanes. */
banyan_status banyan_schedule_export_trace(const banyan_schedule *schedule, const banyan_timeline *timeline,
                                           size_t bytes, banyan_node_namer node_name, const void *context,
                                           char **out, banyan_error *err);

/* An execution plan of MSCCL++, JSON, for ranks that reach one another's memory; UNSUPPORTED with the
 * limit's name if it does not fit. */
banyan_status banyan_schedule_export_mscclpp(const banyan_schedule *schedule, char **out, banyan_error *err);

/* One rank's part as a Chakra execution trace, for a vector of that many bytes: bytes, not text. UNSUPPORTED
 * where nodes that are not ranks take part. */
banyan_status banyan_schedule_export_chakra(const banyan_schedule *schedule, size_t bytes, int rank,
                                            banyan_text *out, banyan_error *err);

/* The rounds as a table for people: at most max_rows lines of transfers, the rest counted. */
banyan_status banyan_schedule_export_text(const banyan_schedule *schedule, banyan_node_namer node_name,
                                          const void *context, size_t max_rows, char **out,
                                          banyan_error *err);

#endif
