/* SPDX-License-Identifier: Apache-2.0 */
/* execute/program.h: a schedule as one node sees it: what it sends and receives, on which stream, after what.
 *
 * A stream leads from one node to another and carries the transfers of one flow and action, ordered by
 * (round, first piece, position in the schedule): results that are copied on do not queue behind sums that
 * are still being made. Both ends sort in the same way, so they agree without a word. Transfers of one stream
 * and round never overlap: where they would, later ones move to another lane, a stream of its own. That order
 * is half of the proof that no execution stands still (execute/run.c).
 *
 * Compiled once, then const: every run and every thread may share it. */
#ifndef BANYAN_EXECUTE_PROGRAM_H
#define BANYAN_EXECUTE_PROGRAM_H

#include "schedule/dependencies.h"
#include "schedule/schedule.h"

typedef struct {
    int transfer; /* in the schedule */
    int first_piece, piece_count;
    banyan_action action;     /* of what is received */
    int is_fresh;             /* no receive has changed these pieces here before */
    int completes;            /* with it, these pieces contain every rank's values */
    size_t first_predecessor; /* up to the next operation's */
} banyan_operation;

typedef struct {
    int peer;   /* a node */
    int number; /* among the streams that lead the same way between the two */
    int is_send;
    int first, count; /* its operations, in the order in which they travel */
} banyan_stream;

typedef struct {
    const banyan_schedule *schedule; /* borrowed */
    int node;
    int rank;       /* -1: it relays */
    int is_changed; /* something is received: the buffer does not stay as it was */
    int operation_count;
    banyan_operation *operations; /* one more than operation_count, as an end mark */
    int stream_count;
    banyan_stream *streams;
    int *predecessors;  /* operations of this node whose elements must be done first */
    int mixes_inputs;   /* some operation meets pieces that have changed and others that have not */
    char *is_kept;      /* by piece: part of this node's result, and no receive changes it */
    int divides_at_end; /* an average is made of the result, not of what completes it */
} banyan_program;

/* The schedule must outlive the program; the dependencies need not. */
banyan_status banyan_program_compile(const banyan_schedule *schedule, const banyan_dependencies *dependencies,
                                     int node, banyan_program **out, banyan_error *err);
void banyan_program_destroy(banyan_program *program); /* accepts NULL */

/* program_inputs.c, a step of compiling: fills is_fresh, mixes_inputs and is_kept. 0: no memory. */
int banyan_program_find_inputs(banyan_program *program, const int *operation_of);

/* program_whole.c, likewise: fills completes and divides_at_end. */
int banyan_program_find_whole(banyan_program *program, const int *operation_of);

/* 'rank 3', or 'relay node 7' for a node that is not active. */
const char *banyan_program_node_name(const banyan_schedule *schedule, int node, char *buffer, size_t size);

#endif
