/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_weave.h: the stages from a schedule to an MSCCL program; for schedule/msccl_*.c only.
 *
 *   schedule -- refine --> parts -- lay lanes --> connections, blocks -- weave --> steps -- assemble -->
 * program
 *
 * A part is a transfer between ranks, or a share of one, that fits in one step. */
#ifndef BANYAN_SCHEDULE_MSCCL_WEAVE_H
#define BANYAN_SCHEDULE_MSCCL_WEAVE_H

#include "schedule/dependencies.h"
#include "schedule/export.h"
#include "schedule/msccl.h"

/* The schedule between ranks (src and dst are ranks), cut in chunks (cut points are chunk numbers, whole is
 * the number of chunks), no transfer above what a step may move. Transfers stay in their order. *window is
 * the number of chunks after which the parts are independent of the ones before; whole where nothing had to
 * be split. */
banyan_status banyan_msccl_refine(const banyan_schedule *schedule, banyan_schedule **out, int64_t *window,
                                  banyan_error *err);

typedef struct {
    int src, dst, chan;
    int first, count;           /* its parts, in queue, in the order of sending */
    int sent, received;         /* so far, while weaving */
    int send_block, recv_block; /* global numbers of blocks */
    int fed_by;                 /* the connection into src that shares the block; -1: none */
    int feeds;                  /* the connection out of dst that shares the block; -1: none */
} banyan_msccl_connection;

typedef struct {
    const banyan_schedule *parts;
    const banyan_dependencies *dependencies;
    int part_count;
    int64_t *turn;   /* by part: its place in (window, round); equal for parts that may go together */
    int *connection; /* by part */
    int *place;      /* by part: its index in the queue */
    int *queue;      /* parts, connection by connection */
    int connection_count;
    banyan_msccl_connection *connections;
    int *forward;     /* by part: the part that takes it on in the same step, -1: none */
    int *forwards;    /* by part: the part that it takes on, -1: none */
    int *needs_store; /* by part: what it brings is needed at dst beyond the forward */
    int block_count;
    int *block_rank, *block_id; /* by global number of block */
} banyan_msccl_lanes;

/* Shares the parts out over channel_count channels: by flow, and inside a flow by position in the vector. */
banyan_status banyan_msccl_lay_lanes(const banyan_schedule *parts, const banyan_dependencies *dependencies,
                                     int64_t window, int channel_count, int groups, banyan_msccl_lanes **out,
                                     banyan_error *err);
void banyan_msccl_lanes_destroy(banyan_msccl_lanes *lanes); /* accepts NULL */

/* The program. UNSUPPORTED with a sentence that names the limit where it does not fit; *is_crowded tells
 * whether more channels may help (or, if not, fewer). */
banyan_status banyan_msccl_weave(banyan_msccl_lanes *lanes, int max_steps, banyan_msccl_program **out,
                                 int *is_crowded, banyan_error *err);

/* steps are in any order that keeps the order of each block; their blocks are global numbers of the lanes.
 * step_counts: by block. */
banyan_status banyan_msccl_assemble(const banyan_msccl_lanes *lanes, const banyan_msccl_step *steps,
                                    size_t step_count, const int *step_counts, banyan_msccl_program **out,
                                    banyan_error *err);

#endif
