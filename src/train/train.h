/* SPDX-License-Identifier: Apache-2.0 */
/* train/train.h: which gradients travel together, and when.
 *
 * Backward yields one tensor after the other; each must be all-reduced before the next iteration begins.
 *
 *     backward   |#1#|##2##|#3#|###4###|
 *     stream 0        [=== 1 ===][====== 3+4 ======]
 *     stream 1                 [== 2 ==]
 *                                      '-exposed---'
 *
 * A policy cuts the tensors, in the order in which they become ready, into groups; a group is one all-reduce.
 * One evaluator judges all policies in the same way, so that their figures can be compared. Everything here
 * is plain data: whoever runs a grouping for real needs no more than banyan_grouping. */
#ifndef BANYAN_TRAIN_H
#define BANYAN_TRAIN_H

#include <stddef.h>

#include "core/status.h"
#include "train/chakra.h"

#define BANYAN_MAX_STREAMS 8
#define BANYAN_MAX_TENSORS 16384

/* ---- What backward yields. */

typedef struct {
    char *name;
    size_t bytes;
    double ready_s; /* since backward began; never decreases from tensor to tensor */
} banyan_tensor;

typedef struct {
    char *name;
    int tensor_count;
    banyan_tensor *tensors; /* in the order in which they become ready */
    double forward_s, backward_s;
} banyan_model;

/* Reads the CSV form (docs/training.md): a header that names at least name, elements and t_b, then one line
 * a tensor. Forward is taken to be half of backward. A sentence names the line. */
banyan_status banyan_model_parse(const char *text, size_t length, const char *name, int element_bytes,
                                 banyan_model **out, banyan_error *err);

/* A file, or the name of a model that came with Banyan ('resnet152'). */
banyan_status banyan_model_load(const char *name, int element_bytes, banyan_model **out, banyan_error *err);

/* From a profile: tensor i has that many bytes and was ready so long after backward began. They may be in any
 * order; the model has them in the order of readiness, and order, unless it is NULL, gets which is where. */
banyan_status banyan_model_create(const char *name, int count, const char *const *names, const size_t *bytes,
                                  const double *ready_s, double forward_s, double backward_s, int *order,
                                  banyan_model **out, banyan_error *err);
void banyan_model_destroy(banyan_model *model); /* accepts NULL */

/* ---- What the network asks for: t(m) = start_s + work(m) alone, work being m s_per_byte, or what a table
 * says; while c are on the wire at a time each proceeds at speed[c] of that. */

#define BANYAN_MAX_POINTS 24

typedef struct {
    double bytes, work_s;
} banyan_cost_point;

typedef struct {
    double start_s;                              /* start-up: takes time but no bandwidth */
    double s_per_byte;                           /* the line, or the one that comes nearest to the table */
    double least_s_per_byte;                     /* no size takes less work a byte */
    double gamma;                                /* slow-down of each of two, as the paper's rules see it */
    double speed[BANYAN_MAX_STREAMS + 1];        /* speed[1] = 1; never increases; [0] is unused */
    int point_count;                             /* 0: a line */
    banyan_cost_point points[BANYAN_MAX_POINTS]; /* ascending; straight between, from nothing at 0 bytes */
} banyan_cost;

/* gamma: each of two takes gamma times as long per byte, each of c gamma^log2(c) times; link_s_per_byte: what
 * all together cannot fall below, 0 for no such cap. */
banyan_status banyan_cost_linear(double start_s, double s_per_byte, double gamma, double link_s_per_byte,
                                 banyan_cost *out, banyan_error *err);

/* 'linear:A,B[,GAMMA[,LINK]]'. GAMMA is 2 and LINK is B if left out: one all-reduce then fills the link. LINK
 * 'none' takes the cap away. Or 'table:BYTES=SECONDS,BYTES=SECONDS,...[;SPEED,...]', the speeds being those
 * of each of two, three, ... at a time. */
banyan_status banyan_cost_parse(const char *text, banyan_cost *out, banyan_error *err);

/* The line through measured (bytes, seconds) that errs least in proportion; worst_error is the largest
 * |fit / measured - 1|. Contention as for 'linear:A,B'. */
banyan_status banyan_cost_fit(const double *bytes, const double *seconds, int count, banyan_cost *out,
                              double *worst_error, banyan_error *err);

/* A table through measured (bytes, seconds), bytes ascending; where seconds fall, they are taken to stay.
 * Start-up is what the first two sizes leave for none at all. worst_error is that of the line beside it. */
banyan_status banyan_cost_table(const double *bytes, const double *seconds, int count, banyan_cost *out,
                                double *worst_error, banyan_error *err);

/* The cost as text that reads back as the same table; the caller frees it. A line becomes a table of two
 * sizes. */
banyan_status banyan_cost_format(const banyan_cost *cost, char **out, banyan_error *err);

/* cost.c's helper for 'table:...'. */
banyan_status banyan_cost_parse_table(const char *text, banyan_cost *out, banyan_error *err);

/* Everything takes that many times as long. */
void banyan_cost_scale(banyan_cost *cost, double factor);

/* Contention as measured: of each of 1, 2, ... count at a time, its speed against one alone. Beyond count the
 * joint rate grows no more. */
banyan_status banyan_cost_set_speeds(banyan_cost *cost, const double *speeds, int count, banyan_error *err);

double banyan_cost_work(const banyan_cost *cost, double bytes);    /* without start-up */
double banyan_cost_seconds(const banyan_cost *cost, double bytes); /* of one all-reduce alone */

/* ---- The outcome. */

/* A tensor, or an interval of one where tensors are split. */
typedef struct {
    int tensor;
    size_t offset_bytes, bytes;
} banyan_gradient_part;

typedef struct {
    int first_part, part_count;
    size_t bytes;
    int level;             /* starts once at most that many earlier groups are in flight */
    double release_s;      /* it waits for this moment, and for its last tensor */
    int stream;            /* 0..streams-1: which of them it takes */
    double start_s, end_s; /* since backward began */
} banyan_gradient_group;

/* Groups start in their order on every rank, whatever the order of readiness there. */
typedef struct {
    int part_count, group_count, streams;
    banyan_gradient_part *parts;
    banyan_gradient_group *groups;
    double forward_s, backward_s;
    double iteration_s;    /* forward + the later of backward and the last all-reduce */
    double exposed_comm_s; /* of that, what is neither forward nor backward */
    double bound_s;        /* no grouping with as many streams is faster */
    double planning_s;     /* CPU time */
} banyan_grouping;

void banyan_grouping_destroy(banyan_grouping *grouping); /* accepts NULL */

/* Plays the grouping on a model of as many tensors (the one it was made for, or as it was observed since)
 * and writes streams, times and bound. */
banyan_status banyan_grouping_judge(banyan_grouping *grouping, const banyan_model *model,
                                    const banyan_cost *cost, banyan_error *err);

/* How far groups become ready from when they were thought to, at the most, as a share of backward: a reason
 * to plan again. Both models must have the tensors that the grouping is for, in the same order. */
double banyan_grouping_drift(const banyan_grouping *grouping, const banyan_model *planned,
                             const banyan_model *observed);

/* Sixteen hex digits and a NUL over parts, groups and levels, so that ranks can agree on what they run. */
void banyan_grouping_digest(const banyan_grouping *grouping, char out[17]);

/* The text form (docs/formats/grouping.md): decisions only. What is read holds every byte of the model's
 * tensors once; its times are those of judging. */
banyan_status banyan_grouping_format(const banyan_grouping *grouping, char **out, banyan_error *err);
banyan_status banyan_grouping_parse(const char *text, size_t length, const banyan_model *model,
                                    const banyan_cost *cost, banyan_grouping **out, banyan_error *err);

/* ---- Policies: one file each, one line in train/list.h. */

typedef struct {
    const banyan_model *model;
    const banyan_cost *cost;
    int streams;      /* the most all-reduces in flight; 0: as the policy likes it */
    int most_streams; /* what it may choose from then; 0: its own limit */
} banyan_train_problem;

struct banyan_decision; /* train/decision.h */

typedef struct {
    const char *name;
    const char *summary; /* one line */
    const char *paper;   /* NULL for folklore */
    int streams;         /* in flight at a time where the user says nothing; 0: it chooses */
    banyan_status (*decide)(const banyan_train_problem *problem, struct banyan_decision *decision,
                            banyan_error *err);
} banyan_policy;

int banyan_policy_count(void);
const banyan_policy *banyan_policy_at(int i);
const banyan_policy *banyan_policy_find(const char *name); /* NULL: none */

/* Lets the policy decide, and judges what it decided. */
banyan_status banyan_policy_plan(const banyan_policy *policy, const banyan_train_problem *problem,
                                 banyan_grouping **out, banyan_error *err);

/* ---- Pictures of one or more groupings of the same model: each gives a text that the caller frees. */

typedef struct {
    const char *title;
    const banyan_grouping *grouping;
} banyan_training;

banyan_status banyan_training_draw_svg(const banyan_model *model, const banyan_training *trainings, int count,
                                       char **out, banyan_error *err);

/* Chrome trace JSON (chrome://tracing, Perfetto): a process a grouping, a lane a stream. */
banyan_status banyan_training_export_trace(const banyan_model *model, const banyan_training *trainings,
                                           int count, char **out, banyan_error *err);

#endif
