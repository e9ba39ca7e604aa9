/* SPDX-License-Identifier: Apache-2.0 */
/* device/staging.h: all-reduce of vectors on a GPU by way of the host, for ranks that do not reach each
 * other's memory: other hosts, CPUs, devices without the direct way.
 *
 *     to the host    | 0 | 1 | 2 | 3 | ...           each row is a stream or a thread of its own, and a chunk
 *     all-reduce         | 0 | 1 | 2 | 3 | ...       moves on as soon as the one before it is out of the way
 *     to the device          | 0 | 1 | 2 | 3 | ...
 *
 * The vector goes in chunks through a few page-locked slots. In the long run the slowest row decides. */
#ifndef BANYAN_DEVICE_STAGING_H
#define BANYAN_DEVICE_STAGING_H

#include "device/device.h"

typedef struct banyan_staging banyan_staging;

typedef struct {
    int rank;
    banyan_device *device; /* NULL: this rank's vectors are the host's, and only cut into chunks */
    size_t chunk_bytes;    /* the same on all ranks; a multiple of 64 */
    int timeout_ms;
    void *context;
    /* In the host's memory, of all ranks; send and recv may be the same. */
    banyan_status (*allreduce)(void *context, const void *send, void *recv, size_t count,
                               banyan_datatype type, banyan_op op);
} banyan_staging_options;

typedef struct {
    const void *send;
    void *recv;
    size_t count;
    banyan_datatype type;
    banyan_op op;
    int ticket; /* that begin has given */
} banyan_staging_call;

banyan_status banyan_staging_create(const banyan_staging_options *options, banyan_staging **out,
                                    banyan_error *err);
/* No call may be under way. Accepts NULL. */
void banyan_staging_destroy(banyan_staging *staged);

/* By the caller: from here on the stream waits for the call's end. INVALID_USAGE: it is being captured. Every
 * ticket must be run. */
banyan_status banyan_staging_begin(banyan_staging *staged, void *stream, int *ticket, banyan_error *err);

/* By a thread that may block: does the call, in the order of tickets, and frees the stream, also on
 * failure. */
banyan_status banyan_staging_run(banyan_staging *staged, const banyan_staging_call *call, banyan_error *err);

#endif
