/* SPDX-License-Identifier: Apache-2.0 */
/* calls/comm.h: what a communicator is: for the files of this module, and for those who make more of it. */
#ifndef BANYAN_CALLS_COMM_H
#define BANYAN_CALLS_COMM_H

#include "device/direct.h"
#include "group/group.h"
#include "group/world.h"
#include "probe/probe.h"

typedef struct banyan_worker banyan_worker;
typedef struct banyan_comm_device banyan_comm_device; /* calls/device.c */
typedef struct banyan_learning banyan_learning;
typedef struct banyan_stragglers banyan_stragglers;

struct banyan_comm {
    banyan_group *group;
    int rank;
    banyan_endpoint *endpoint; /* the world's, where ranks are processes */
    pthread_mutex_t lock;      /* one call after the other */
    char *scratch; /* for collectives that must not change what the user gave; grows, never shrinks */
    size_t scratch_bytes;
    banyan_part *parts; /* for vectors in segments; grows likewise */
    size_t part_count;
    banyan_error err;
    _Atomic(banyan_worker *) worker; /* the thread of asynchronous calls (calls/request.c); NULL: none yet */
    pthread_mutex_t device_lock;     /* of the next: made by the first call on a GPU */
    banyan_comm_device *device;
    banyan_direct *direct;         /* its part for ranks that reach each other's memory; NULL: none */
    uint64_t child_count;          /* groups that were made from this one */
    banyan_learning *learning;     /* NULL: there is nothing to learn (calls/learning.h) */
    banyan_stragglers *stragglers; /* NULL: nobody to compare with (calls/stragglers.h) */
    int is_bound; /* this rank may be a member of a group that this one shrank to (calls/shrink.c) */
};

/* comm.c: a handle on a world that has been joined; takes setup and world over, also on failure. */
banyan_status banyan_comm_wrap(banyan_setup *setup, banyan_world *world, banyan_comm **out,
                               banyan_error *err);

/* probing.c: puts one that plans for the network as it was measured in the place of *comm; ends it on
 * failure. */
banyan_status banyan_comm_plan_from_probe(banyan_comm **comm, banyan_error *err);

/* comm.c: handles for all ranks of a group of threads, with this setup, which is taken over on success. On
 * failure all are NULL. */
banyan_status banyan_comm_open_all(banyan_setup *setup, banyan_comm **comms, banyan_error *err);

/* clone.c: another communicator of the same ranks with the same setup, so that two calls can go on at a time.
 * Every rank calls it, equally often. */
banyan_status banyan_comm_clone(banyan_comm *comm, banyan_comm **out, banyan_error *err);

/* clone.c: gives back the handles of a group that nobody has taken, before it is destroyed. */
void banyan_clones_destroy(banyan_group *group);

/* comm.c: ends all calls of the whole group with this status and sentence; from any thread. */
void banyan_comm_end(banyan_comm *comm, banyan_status status, const char *sentence);

/* relay_process.c: serves the world's calls until it ends. */
banyan_status banyan_relay_serve(banyan_world *world, const banyan_setup *setup, banyan_error *err);

/* Writes the sentence where the config wants it. */
void banyan_comm_report(const banyan_config *config, const banyan_error *err);

/* request.c: waits for what has been asked for; ends the thread. */
void banyan_worker_stop(banyan_comm *comm);

/* What a call reads and writes: two buffers, or segments instead. */
typedef struct {
    const void *send;
    void *recv;
    const banyan_segment *segments;
    size_t segment_count;
    int ticket; /* of a staged call (device/staging.h) */
} banyan_buffers;

/* The elements of all segments; SIZE_MAX when they are too many to count. */
size_t banyan_buffers_count(const banyan_buffers *buffers);

/* request.c: a blocking call takes its turn behind the asynchronous ones. Returns 1 when it has been run by
 * the thread, and *status is its outcome. */
typedef banyan_status (*banyan_collective_function)(const banyan_buffers *buffers, const banyan_call *call,
                                                    banyan_comm *comm);
int banyan_worker_run(banyan_comm *comm, banyan_collective_function function, const banyan_buffers *buffers,
                      const banyan_call *call, banyan_status *status);

/* collectives.c: the calls themselves, with the handle's lock held. */
banyan_status banyan_comm_allreduce(const banyan_buffers *buffers, const banyan_call *call,
                                    banyan_comm *comm);
banyan_status banyan_comm_all_gather(const banyan_buffers *buffers, const banyan_call *call,
                                     banyan_comm *comm);

/* The one that the call names. */
banyan_status banyan_comm_run(const banyan_buffers *buffers, const banyan_call *call, banyan_comm *comm);

/* request.c: a call that nobody asks about any more goes behind the asynchronous ones; with is_waited_for
 * it is waited for. Its failure is the group's. */
banyan_status banyan_worker_submit(banyan_comm *comm, banyan_collective_function function,
                                   const banyan_buffers *buffers, const banyan_call *call, int is_waited_for);

/* request.c: takes the handle's lock, for what all ranks do together, behind the asynchronous calls. */
void banyan_comm_lock_in_turn(banyan_comm *comm);

/* device.c: ends what calls on GPUs need; waits for them. */
void banyan_comm_device_destroy(banyan_comm *comm);

#endif
