/* SPDX-License-Identifier: Apache-2.0 */
/* execute/run_internal.h: what a runner is, for the run*.c files. */
#ifndef BANYAN_EXECUTE_RUN_INTERNAL_H
#define BANYAN_EXECUTE_RUN_INTERNAL_H

#include "execute/kernels.h"
#include "execute/run.h"
#include "execute/vector.h"

/* How far one operation has come, in elements of the vector. */
typedef struct {
    size_t begin, end, position;
} run_progress;

typedef struct {
    int head;          /* the operation that is offered or received now */
    int last;          /* one past the stream's operations */
    int unsent;        /* sends: the first operation whose memory the transport still needs */
    size_t offered;    /* sends: bytes of head that the transport has taken */
    uint64_t credited; /* sends: bytes of the stream's life that are accounted for */
    char *staging;     /* receives: made when first needed */
    size_t staged_begin, staged_end;
    size_t label_left;                  /* bytes of the label that are still to be offered or received */
    char label[BANYAN_RUN_LABEL_BYTES]; /* receives: the peer's */
} run_flow;

typedef struct banyan_team banyan_team; /* execute/team.h */

struct banyan_runner {
    const banyan_program *program;
    banyan_endpoint *endpoint;
    const banyan_transport *transport;
    size_t slice_bytes;
    int kernel_set;
    banyan_workspaces *workspaces; /* NULL: some ranks do not share memory */
    banyan_team *team;             /* NULL: runs go over streams */
    run_progress *progress;        /* by operation */
    run_flow *flows;               /* by stream of the program */
    size_t bound_count;            /* the count that progress is laid out for */
    int is_bound;
    /* of the current run */
    const banyan_run_request *request;
    banyan_part whole; /* the vector's only part, where the request names one buffer */
    banyan_vector vector;
    int reads_input;   /* what has not changed yet is read where the caller gave it, */
    int is_apart;      /* and nowhere is that where results go */
    int divides_early; /* this is an average, and whoever completes a sum divides it */
    banyan_kernel kernel;
    size_t element_bytes, slice_elements;
    double idle_s; /* of the wait that has just ended, until it is known whose data ended it */
    int out_of_memory;
    const banyan_stream *strange; /* whose label differs from ours */
};

/* run.c: up to where the operation may work, having come to element `from`: at least from. */
size_t banyan_run_allowed(const banyan_runner *runner, int operation, size_t from);
void banyan_run_skip_finished(const banyan_runner *runner, int *operation, int last);
double banyan_run_now_s(const banyan_runner *runner);

/* run_send.c, run_receive.c: one look at a stream; whether anything moved. */
int banyan_run_advance_send(banyan_runner *runner, const banyan_stream *stream, run_flow *flow);
int banyan_run_advance_receive(banyan_runner *runner, const banyan_stream *stream, run_flow *flow);

/* Copies what has arrived, but must not be applied yet, behind what is staged, up to `room` bytes. */
int banyan_run_stage(banyan_runner *runner, const banyan_stream *stream, run_flow *flow, size_t room);

static inline int banyan_run_is_done(const run_flow *flow, int is_send)
{
    return (is_send ? flow->unsent : flow->head) == flow->last;
}

/* run_failure.c: each ends the group and says why. */
banyan_status banyan_run_time_out(const banyan_runner *runner, banyan_error *err);
banyan_status banyan_run_out_of_memory(const banyan_runner *runner, banyan_error *err);
banyan_status banyan_run_meet_stranger(const banyan_runner *runner, banyan_error *err);

#endif
