/* SPDX-License-Identifier: Apache-2.0 */
/* execute/run.h: one node's part in a collective, on real memory, over a transport.
 *
 * A runner binds a program to an endpoint once; it can then run again and again, on any memory and count,
 * without allocating. The group's members are the nodes of the schedule: peer numbers are node ids. */
#ifndef BANYAN_EXECUTE_RUN_H
#define BANYAN_EXECUTE_RUN_H

#include "execute/program.h"
#include "execute/vector.h"
#include "schedule/timeline.h"
#include "transport/transport.h"

#define BANYAN_RUN_LABEL_BYTES 48 /* the longest label */
#define BANYAN_DEFAULT_SLICE_BYTES ((size_t)128 << 10)

typedef struct banyan_runner banyan_runner;

typedef struct {
    void *buffer;      /* count elements; no alignment needed. It ends as if it had held the input. */
    const void *input; /* what stays as it is and does not overlap the buffer; NULL: the buffer holds it */
    const banyan_part
        *parts; /* instead of both: the vector in parts, see execute/vector.h; NULL: one buffer */
    size_t part_count;
    size_t count; /* the whole vector of the schedule */
    banyan_datatype type;
    banyan_op op;
    int timeout_ms; /* from the start of the run; above 0 */
    banyan_timeline
        *timeline; /* NULL: none. Of each transfer, src writes begin_s and dst end_s; seconds since: */
    double origin_s;
    double
        *waited_s; /* NULL: none. By node: how long there was nothing to do until its data came, added up */
    /* What every stream begins with, so that two nodes which mean different calls notice before a byte is
     * applied; label_bytes 0: none. When a peer's label differs, explain writes the sentence for MISMATCH. */
    const void *label;
    size_t label_bytes;
    void (*explain)(void *context, int peer, const void *theirs, banyan_error *out);
    void *context;
} banyan_run_request;

/* Connects to all peers of the program. slice_bytes 0: the default. Both must outlive the runner. */
banyan_status banyan_runner_create(const banyan_program *program, banyan_endpoint *endpoint,
                                   size_t slice_bytes, int timeout_ms, banyan_runner **out,
                                   banyan_error *err);
void banyan_runner_destroy(banyan_runner *runner); /* accepts NULL */

/* Returns when this node's part is done and nobody reads the buffer any more, also on failure.
 * TIMEOUT: the sentence names whom we waited for; the group is aborted, so all others return as well, with
 * TIMEOUT and that sentence. Any other failure of the group: its status and sentence. After a failure
 * the buffer holds anything and the endpoint is of no use. */
banyan_status banyan_runner_run(banyan_runner *runner, const banyan_run_request *request, banyan_error *err);

#endif
