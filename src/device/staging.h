/* SPDX-License-Identifier: Apache-2.0 */
/* device/staging.h: collectives on vectors of a GPU by way of the host, for ranks that do not reach each
 * other's memory: other hosts, CPUs, devices without the direct way.
 *
 *     to the host    | 0 | 1 | 2 | 3 | ...           the copies have a stream for each direction; a third
 *                                                    one tells the lanes what has come
 *     lane 0             |   0   |   2   | ...       each lane is a thread with a communicator of its own
 *     lane 1                 |   1   |   3   | ...
 *     to the device                  | 0 | 1 | 2 | 3 | ...
 *
 * The vector goes in chunks through page-locked slots, and a chunk moves on as soon as the one before it in
 * its row is out of the way. In the long run the slowest row decides: one core adds up less than PCIe brings,
 * so there are several lanes where there are cores for them.
 *
 * All copies of a call are put on their streams when it is made. Streams and lanes hand over by words of the
 * host's memory; lanes never call the driver. So nothing that a call waits for is put on a stream after it,
 * and a thread that waits in the driver for its streams, as one that loads a kernel does, holds nobody up.
 *
 * A collective may have a part of the vector for every rank: then a chunk is the same stretch of all parts,
 * which lie one after the other in the slot. */
#ifndef BANYAN_DEVICE_STAGING_H
#define BANYAN_DEVICE_STAGING_H

#include "device/device.h"

/* A core adds up some 15 GB/s and PCIe 5.0 brings 50: more than four, of all ranks that share a GPU, have
 * nothing to do. */
enum { BANYAN_STAGING_MAX_LANES = 4 };

typedef struct banyan_staging banyan_staging;

typedef struct {
    const void *send;
    void *recv;
    size_t count; /* elements of a part */
    banyan_datatype type;
    int send_parts, recv_parts; /* of this rank: how many of them lie at send and recv */
    int slot_parts;             /* room in a slot for that many; the same on all ranks. 1: both share it */
    const void *what;           /* for `run` */
    int ticket;                 /* that begin has given */
} banyan_staging_call;

typedef struct {
    int rank;
    banyan_device *device;         /* NULL: this rank's vectors are the host's, and only cut into chunks */
    size_t chunk_bytes;            /* the same on all ranks; a multiple of 64 */
    const _Atomic int *timeout_ms; /* borrowed; may change */
    int lane_count;                /* the same on all ranks */
    void *lanes[BANYAN_STAGING_MAX_LANES];
    /* In the host's memory, of all ranks, for these elements of each part; lanes run beside one another. */
    banyan_status (*run)(void *lane, const banyan_staging_call *call, const void *send, void *recv,
                         size_t count, banyan_error *err);
    void *context;
    banyan_status (*failure)(void *context); /* SUCCESS while the group works */
    /* Ends whatever `run` does, in all lanes and on all ranks. */
    void (*end)(void *context, banyan_status status, const char *sentence);
} banyan_staging_options;

banyan_status banyan_staging_create(const banyan_staging_options *options, banyan_staging **out,
                                    banyan_error *err);
/* No call may be under way. Accepts NULL. */
void banyan_staging_destroy(banyan_staging *staged);

/* By the caller, one after the other:
 * begin: a ticket, once fewer than 32 calls are under way. INVALID_USAGE: the stream is being captured.
 * UNSUPPORTED: a slot does not hold an element of each part. Every ticket must be run, or given back.
 * put: the copies on our streams, and the caller's stream waits for the last one. Beside run. */
banyan_status banyan_staging_begin(banyan_staging *staged, const banyan_staging_call *call, void *stream,
                                   int *ticket, banyan_error *err);
void banyan_staging_give_back(banyan_staging *staged);
banyan_status banyan_staging_put(banyan_staging *staged, const banyan_staging_call *call, void *stream,
                                 banyan_error *err);

/* By a thread that may block: does the call, in the order of tickets, and lets the streams go on, also on
 * failure, which has ended the group by then. */
banyan_status banyan_staging_run(banyan_staging *staged, const banyan_staging_call *call, banyan_error *err);

#endif
