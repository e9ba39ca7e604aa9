/* SPDX-License-Identifier: Apache-2.0 */
/* engine/engine.h: the training engine, behind banyan_train_*: gradients are all-reduced while backward
 * computes.
 *
 *     ready(3) ready(2) ...          the program's threads: mark gradients, wait
 *         |        |
 *     [ groups of the plan, in the one order that all ranks have ]
 *         |                 |
 *      stream 0          stream 1    a thread and a communicator each: takes the next group in its turn
 *         '- plans, between two iterations
 *
 * Why nothing stands still: the order of groups, and which stream takes which, are the same on all ranks. Of
 * the groups that are not done everywhere, take the first: on every rank all before it are done, so its
 * stream is free and as few are in flight as its level asks; it starts as soon as its gradients are there.
 *
 * Its files: engine.c (create, register, destroy, figures), agree.c (do all ranks mean the same), measure.c
 * (what an all-reduce costs), times.c (what all ranks saw), plan.c (plans), run.c (streams), step.c (begin,
 * ready, wait), fuse.c (one all-reduce over many gradients), unreduced.c (memory of gradients that are under
 * way). */
#ifndef BANYAN_ENGINE_ENGINE_H
#define BANYAN_ENGINE_ENGINE_H

#include "calls/comm.h"
#include "train/observe.h"
#include "train/train.h"

enum {
    BANYAN_ENGINE_STREAMS = 4, /* unless the config says otherwise */
    BANYAN_ENGINE_PROFILE = 3, /* iterations */
    BANYAN_ENGINE_WINDOW = 5,  /* iterations whose median is compared with the plan */
    BANYAN_ENGINE_RECENT = 16, /* iterations whose medians are shown */
    BANYAN_ENGINE_MEASURE_MS = 2000,
    BANYAN_ENGINE_NAME = 256 /* the longest name of a gradient, with its NUL */
};

typedef struct {
    char *name;
    void *data;
    void *own; /* zeros for one that has no memory and was not ready */
    size_t count;
    banyan_datatype type;
    /* guarded by the engine's lock, of this iteration: */
    int is_ready, is_done;
    int parts_left; /* not reduced yet */
    double ready_s; /* since begin */
} banyan_engine_tensor;

typedef struct {
    banyan_train *train;
    int number;
    banyan_comm *comm;
    pthread_t thread;
    int has_thread;
    /* for fuse.c: */
    banyan_segment *segments;
    size_t segment_capacity;
    unsigned char votes[16];
} banyan_engine_stream;

/* A grouping with what is needed to run it; but for what is seen of it, const once it is made. Its tensors
 * are numbered by readiness, and its times are since the first rank began. */
typedef struct {
    banyan_model *model;
    banyan_grouping *grouping;
    int *tensor_of;        /* the engine's number of the plan's tensor */
    int *place_of;         /* the other way; -1: it has no elements */
    int *first_part;       /* of the plan's tensor; one more at the end */
    int *group_of;         /* of a part */
    double *local_ready_s; /* of the plan's tensor on this rank, as it was when the plan was made */
    /* What it promises this rank: from its begin to the end, of that from its last gradient on, and the
     * least. */
    double step_s, exposed_s, bound_s;
    uint64_t digest;
    double *flight_s; /* this iteration's start and end of each group on this rank, since begin */
    banyan_observations flights;
} banyan_engine_plan;

/* What all ranks have seen: medians, then iteration by iteration, since the first rank began. */
typedef struct {
    double *ready_s;       /* by rank 0's numbers: on the last rank, since the first one began */
    double begin_s;        /* when that was, since the iteration before ended */
    double busy_s;         /* of an iteration, with something in flight on all ranks */
    double iteration_s;    /* from the end of one to that of the next */
    double *local_ready_s; /* by the engine's tensors, since this rank began */
    int rows;
    double *row_ready_s; /* rows of ready times like ready_s */
    double *row_late_s;  /* when this rank began */
    double *row_last_s;  /* when it had its last gradient */
} banyan_engine_times;

typedef struct {
    int count, next;
    double step_s[BANYAN_ENGINE_RECENT], exposed_s[BANYAN_ENGINE_RECENT], comm_s[BANYAN_ENGINE_RECENT];
} banyan_engine_figures;

struct banyan_train {
    banyan_comm *comm; /* until it is committed */
    int rank, size, timeout_ms;
    banyan_train_config config;
    char *policy_text, *cost_text;
    const banyan_policy *policy;
    int policy_streams; /* 0: it chooses */
    banyan_cost cost;   /* guarded by lock once it is committed */
    double scale;       /* of it against what commit measured */
    int tensor_count;
    size_t tensor_capacity;
    banyan_engine_tensor *tensors; /* as registered here */
    int *local_of;                 /* by the number on rank 0 */
    int stream_count;              /* grows in commit, with the lock held */
    banyan_engine_stream streams[BANYAN_MAX_STREAMS];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock: */
    banyan_error err;      /* of the last call that failed */
    banyan_error err_told; /* as the program has it */
    banyan_status failure;
    banyan_error failure_text;
    int is_failure_told; /* done has been called for all that are lost */
    int is_committed, is_ending;
    int is_planning;  /* no group is launched; stream 0 makes a new plan with the others */
    int wants_replan; /* the program's wish */
    int plan_number;
    double planned_s;    /* of an iteration under the policy's first plan */
    int is_declined;     /* the groups of `ddp` are on trial, or took no longer and stay */
    uint64_t planned_at; /* the iteration after which the latest of the first plans was asked for */
    banyan_engine_plan *plan;
    uint64_t iterations; /* that have begun */
    int is_open;         /* begun, and not waited for */
    int is_bound;        /* the plan's groups count this iteration's gradients */
    int is_finished;     /* all its groups are done */
    int is_disturbed;    /* a plan was made meanwhile: its times say little */
    int64_t begin_ns;
    int ready_count;
    int next_group, in_flight, groups_done; /* next_group: the first that is not launched */
    int *missing;                           /* by group: parts that are not ready */
    int *unreduced; /* gradients that are ready and not reduced, ascending by where they lie; room for all */
    int unreduced_count;
    int64_t busy_from_ns;
    double busy_s;                /* while something was in flight */
    uint64_t events;              /* whatever happens */
    int votes;                    /* what came of the last group: somebody wants a new plan */
    banyan_observations observed; /* of each gradient, when it was ready; last, when backward began */
    double *row_s;                /* room for one of its rows */
    int patience;                 /* iterations before a drift counts */
    double drift;
    int64_t ended_ns;     /* when the last group of the iteration before was done */
    int64_t idle_from_ns; /* when that had been waited for */
    double other_s[BANYAN_ENGINE_RECENT];
    int other_count;
    banyan_engine_figures figures; /* since the plan was made */
};

/* The first failure ends the engine on all ranks: streams are aborted with these words, whoever waits is
 * woken, and done is told of every gradient that is not. */
void banyan_engine_fail(banyan_train *train, banyan_status status, const char *sentence);

/* agree.c: whether all ranks have registered the same; fills local_of. Nobody is told of a failure yet. */
banyan_status banyan_engine_agree(banyan_train *train, banyan_error *err);

/* measure.c: makes the streams that are worth having, and finds the cost unless it was given. */
banyan_status banyan_engine_measure(banyan_train *train, banyan_error *err);

/* times.c: with all ranks, on stream 0, while nothing else happens. */
banyan_status banyan_engine_times_share(banyan_train *train, banyan_engine_times *out, banyan_error *err);
void banyan_engine_times_fini(banyan_engine_times *times);

/* plan.c: the plan before anything is known, and the one by what was observed, with all ranks. */
banyan_status banyan_engine_plan_first(banyan_train *train, banyan_engine_plan **out, banyan_error *err);
banyan_status banyan_engine_plan_again(banyan_train *train, banyan_engine_plan **out, banyan_error *err);
void banyan_engine_plan_destroy(banyan_engine_plan *plan); /* accepts NULL */

/* Whether the groups of `ddp` are tried after the first plan. */
int banyan_engine_tries_both(const banyan_train *train);

/* How far this rank's ready times are from those that the plan was made by, as a share of backward. ready_s
 * by the engine's tensors. */
double banyan_engine_plan_drift(const banyan_engine_plan *plan, const double *ready_s);

/* fuse.c: all-reduces the parts of a group in place. votes: NULL, or goes along: 1 where somebody has one. */
banyan_status banyan_engine_reduce(banyan_engine_stream *stream, const banyan_engine_plan *plan, int group,
                                   int *votes, banyan_error *err);

/* unreduced.c, with the lock held: a gradient's memory becomes the engine's, or the caller's again. The first
 * returns -1, or a gradient under way that shares memory with it; then nothing is added. */
int banyan_engine_add_unreduced(banyan_train *train, int tensor);
void banyan_engine_give_back(banyan_train *train, int tensor);

/* run.c: a thread per stream. */
banyan_status banyan_engine_start(banyan_train *train, banyan_error *err);
void banyan_engine_stop(banyan_train *train);

/* step.c, with the lock held: this iteration's gradients are counted by the plan that there is now. */
void banyan_engine_bind(banyan_train *train);

/* engine.c: what an API function returns: keeps the sentence for banyan_train_last_error; with the lock
 * held. */
banyan_status banyan_engine_refuse(banyan_train *train, banyan_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
