/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/lane.h: a communicator with a thread that does the calls it is given, one after the other, so that
 * NCCL's proxy thread never waits for the network. */
#ifndef BANYAN_NCCL_LANE_H
#define BANYAN_NCCL_LANE_H

#include <banyan/banyan.h>
#include <stdatomic.h>

typedef struct banyan_nccl_lane banyan_nccl_lane;

typedef enum { BANYAN_NCCL_ALLREDUCE, BANYAN_NCCL_GATHER, BANYAN_NCCL_SCATTER } banyan_nccl_kind;

/* One call. Gathering and scattering do the window of a vector of bytes_per_rank bytes per rank: the buffer
 * that holds all ranks' parts begins with the window, the other one with what this rank's part has in it. */
typedef struct {
    banyan_nccl_kind kind;
    const void *send;
    void *recv;
    size_t count; /* elements of an all-reduce */
    banyan_datatype type;
    banyan_op op;
    size_t bytes_per_rank, window_offset, window_bytes;
    _Atomic int is_done;
    banyan_status status; /* once it is done */
} banyan_nccl_call;

/* Called by the lane's thread when a call has failed. */
typedef void (*banyan_nccl_failure)(void *context, banyan_status status, const char *sentence);

/* Takes comm over, also on failure. */
banyan_status banyan_nccl_lane_create(banyan_comm *comm, banyan_nccl_failure failure, void *context,
                                      banyan_nccl_lane **out);

/* The call is the lane's until it is done. 0: the lane has too many. */
int banyan_nccl_lane_put(banyan_nccl_lane *lane, banyan_nccl_call *call);

/* Ends what is under way, on all ranks, which are told why. */
void banyan_nccl_lane_end(banyan_nccl_lane *lane, banyan_status status, const char *sentence);

/* Waits until all calls are done, after which nothing of the lane runs any more. */
void banyan_nccl_lane_stop(banyan_nccl_lane *lane);

/* Once it has stopped. */
void banyan_nccl_lane_destroy(banyan_nccl_lane *lane);

#endif
