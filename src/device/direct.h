/* SPDX-License-Identifier: Apache-2.0 */
/* device/direct.h: all-reduce between ranks of one host whose vectors lie on GPUs that reach each other's
 * memory, or on the same one: nothing passes through the host.
 *
 *     rank 1's stream    ... arrived ┐                        ┌ done ...
 *     rank 2's stream    ... arrived ┤                        ├ done ...
 *     rank 0's stream    ... arrived ┴> host: go ─> kernel ───┴ ...          rank 0 is the leader
 *
 * Every device has a leader, its lowest rank. A leader reads its share of the vector from all ranks' inputs
 * and writes the result to all outputs, in one kernel on its own stream; with one device it does so for the
 * whole vector. Streams hand over by words of the host's memory, which all processes have mapped: a kernel
 * never waits for another process. Once all ranks' streams have arrived, the leader's thread writes down
 * where everybody's memory is and lets its own stream go. The caller's thread is never blocked, unless it is
 * 32 calls ahead of its stream.
 *
 * Words are handed to and fro (1 by one side, back to 0 by the other), so the steps of a stream do not depend
 * on how many calls there were: captured in a graph, they can be done any number of times. */
#ifndef BANYAN_DEVICE_DIRECT_H
#define BANYAN_DEVICE_DIRECT_H

#include "device/device.h"
#include "schedule/schedule.h"

typedef struct banyan_direct banyan_direct;

/* Who the ranks are, and how they hear of each other. */
typedef struct {
    int rank, size;
    banyan_device *device;         /* NULL: this rank has none, and there will be no direct way */
    const _Atomic int *timeout_ms; /* borrowed; may change */
    void *context;
    /* Everybody's bytes to everybody; every rank calls it equally often. */
    banyan_status (*gather)(void *context, const void *mine, size_t bytes, void *all, banyan_error *err);
    banyan_status (*failure)(void *context); /* SUCCESS while the group works */
    void (*abort)(void *context, banyan_status status, const char *sentence);
} banyan_direct_options;

typedef struct {
    uint64_t number;                 /* among the group's calls */
    uint64_t digest;                 /* of the plan */
    const banyan_schedule *schedule; /* must outlive the direct way */
    const void *send;
    void *recv;
    size_t count; /* at least 1 */
    banyan_datatype type;
    banyan_op op;
} banyan_direct_call;

/* Every rank calls it. *out is NULL after success, on all ranks, where some rank has no device or
 * cannot reach another's memory. */
banyan_status banyan_direct_create(const banyan_direct_options *options, banyan_direct **out,
                                   banyan_error *err);

/* Waits until this rank's streams have passed its calls, for the time-out at most. Accepts NULL. */
void banyan_direct_destroy(banyan_direct *direct);

/* Whether calls with this schedule can go this way: the same answer on all ranks. */
banyan_status banyan_direct_can_run(banyan_direct *direct, const banyan_schedule *schedule, int *can_run,
                                    banyan_error *err);

/* This rank's call of that number is none of these, but on the host's memory. Ranks that have put theirs on
 * a stream find it, and end the group. */
void banyan_direct_note_host_call(banyan_direct *direct, uint64_t number);

/* Puts the call on the stream. One call at a time; what goes wrong later ends the group. */
banyan_status banyan_direct_post(banyan_direct *direct, const banyan_direct_call *call, void *stream,
                                 banyan_error *err);

#endif
