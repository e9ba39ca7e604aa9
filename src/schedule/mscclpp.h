/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/mscclpp.h: what the ranks of an MSCCL++ execution plan do, before it is written; for
 * schedule/mscclpp_operations.c and schedule/export_mscclpp.c only. */
#ifndef BANYAN_SCHEDULE_MSCCLPP_H
#define BANYAN_SCHEDULE_MSCCLPP_H

#include <stddef.h>
#include <stdint.h>

#include "schedule/schedule.h"

/* The executor's limits (mscclpp, execution_common.hpp). */
enum {
    BANYAN_MSCCLPP_OPERATIONS = 64, /* of a thread block */
    BANYAN_MSCCLPP_CHANNELS = 16,   /* of a thread block */
    BANYAN_MSCCLPP_PEERS = 8,       /* of an operation */
    BANYAN_MSCCLPP_SEMAPHORES = 16  /* of a rank */
};

/* Thread blocks of a rank spin while they wait, so all of them must fit on the smallest GPU. */
enum { BANYAN_MSCCLPP_LANES = 32 };

/* Those from READ_ADD on move data; those from ADD_SCRATCH on have no peers. */
typedef enum {
    BANYAN_MSCCLPP_NOP,
    BANYAN_MSCCLPP_SIGNAL,
    BANYAN_MSCCLPP_WAIT,
    BANYAN_MSCCLPP_READ_ADD,
    BANYAN_MSCCLPP_READ_COPY,
    BANYAN_MSCCLPP_READ_SCRATCH,
    BANYAN_MSCCLPP_ADD_SCRATCH,
    BANYAN_MSCCLPP_COPY_SCRATCH
} banyan_mscclpp_kind;

typedef struct {
    banyan_mscclpp_kind kind;
    int peer_count;
    int peers[BANYAN_MSCCLPP_PEERS]; /* ranks */
    int64_t index, size;             /* in chunks */
} banyan_mscclpp_operation;

/* What a rank does in a lane. */
typedef struct {
    banyan_mscclpp_operation *operations;
    size_t count, capacity;
} banyan_mscclpp_program;

typedef struct {
    int ranks, lanes;
    int64_t chunks;
    char *uses_scratch;               /* by rank */
    banyan_mscclpp_program *programs; /* ranks x lanes */
} banyan_mscclpp_plan;

/* On failure *out is empty, too. UNSUPPORTED where the schedule has no such form. */
banyan_status banyan_mscclpp_plan_init(const banyan_schedule *schedule, banyan_mscclpp_plan *out,
                                       banyan_error *err);
void banyan_mscclpp_plan_fini(banyan_mscclpp_plan *plan);

#endif
