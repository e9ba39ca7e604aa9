/* SPDX-License-Identifier: Apache-2.0 */
/* calls/stragglers.h: which rank the others wait for, and which link: lines of rank 0's log (INFO, RAS), at
 * most once a minute.
 *
 * Who comes last to a call waits least in it. So over many calls the rank that has spent the least time in
 * them is the one that kept the others waiting, and no clocks are compared. That holds for calls in which
 * everybody needs everybody's data: all-reduce, reduce-scatter, all-gather and all-to-all.
 *
 * Of links each rank tells the one whose data it has waited for longest, where calls go over streams; side
 * by side in shared memory there are no links. Cost: an exchange of 32 bytes over the control tree about
 * once a minute. */
#ifndef BANYAN_CALLS_STRAGGLERS_H
#define BANYAN_CALLS_STRAGGLERS_H

#include "calls/comm.h"

/* What a rank tells all others. */
typedef struct {
    double in_calls_s; /* since the last report */
    double elapsed_s;
    double waited_s; /* for the data of one rank: the longest, */
    int waited_for;  /* and whose; -1: none */
    int calls;
} banyan_straggler_report;

/* What follows from all of them. */
typedef struct {
    int rank;
    double waited_s; /* for this rank: by the others, on average */
    int src, dst;    /* of the link whose data was waited for longest; -1: none */
    double link_s;
} banyan_stragglers_found;

banyan_stragglers_found banyan_stragglers_find(const banyan_straggler_report *all, int size);

/* How many more calls until the next exchange, after that many in elapsed_s: about as many as the rest of the
 * period has, at least MIN_CALLS, at most four times as many as there were. The same on all ranks, which go
 * by rank 0's report. */
int banyan_stragglers_pause(int calls, double elapsed_s, double period_s);

/* *out is NULL for groups of threads, of one rank, and with relays, which take part in no exchange. */
banyan_status banyan_stragglers_create(banyan_comm *comm, banyan_stragglers **out, banyan_error *err);
void banyan_stragglers_destroy(banyan_stragglers *stragglers); /* accepts NULL */
void banyan_stragglers_set_period(banyan_stragglers *stragglers, double period_s);

/* By node of the network as it is known now: where an execution adds what it waited for. NULL: nowhere. */
double *banyan_stragglers_waits(banyan_comm *comm);

/* A call has ended well after that many seconds; every rank says so of the same calls. */
banyan_status banyan_stragglers_note(banyan_comm *comm, banyan_collective collective, double seconds);

#endif
