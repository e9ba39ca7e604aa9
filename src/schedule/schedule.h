/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/schedule.h: a collective as an array of transfers between nodes.
 *
 * Meaning: rounds in order; within a round everything is read before anything changes, and changes to one
 * piece at one node are applied in the order of the array. Doing: nobody waits for rounds; a transfer waits
 * only for what it shares a piece with (schedule/dependencies.h). There are no sizes and no pointers to data:
 * one schedule serves every tensor. Built once (schedule/build.h), then const. What users of the library may
 * do with it is declared in <banyan/plan.h>. */
#ifndef BANYAN_SCHEDULE_H
#define BANYAN_SCHEDULE_H

#include <banyan/plan.h>

#include "core/status.h"

/* X(NAME, text). */
#define BANYAN_COLLECTIVE_MAP(X)                                                                             \
    X(ALLREDUCE, "allreduce")                                                                                \
    X(REDUCE_SCATTER, "reducescatter")                                                                       \
    X(ALLGATHER, "allgather")                                                                                \
    X(BROADCAST, "broadcast")                                                                                \
    X(REDUCE, "reduce")                                                                                      \
    X(GATHER, "gather")                                                                                      \
    X(SCATTER, "scatter")                                                                                    \
    X(ALLTOALL, "alltoall")

typedef enum {
#define BANYAN_COLLECTIVE_ENTRY(name, text) BANYAN_COLLECTIVE_##name,
    BANYAN_COLLECTIVE_MAP(BANYAN_COLLECTIVE_ENTRY)
#undef BANYAN_COLLECTIVE_ENTRY
        BANYAN_COLLECTIVE_COUNT
} banyan_collective;

const char *banyan_collective_name(banyan_collective collective);
int banyan_collective_find(const char *name); /* also all-reduce, all_reduce; -1: no such collective */
int banyan_collective_has_root(banyan_collective collective);
int banyan_collective_reduces(banyan_collective collective); /* else it only moves */

/* The equal parts of the vector that each rank's count is one of: 1, size, or size * size for an all-to-all,
 * whose vector has a row for each source and in it a part for each destination. */
size_t banyan_collective_parts(banyan_collective collective, int size);

typedef enum {
    BANYAN_ACTION_REDUCE, /* add into dst */
    BANYAN_ACTION_COPY    /* overwrite dst */
} banyan_action;

typedef struct {
    int round;
    int src, dst; /* node ids of the topology */
    int first_piece, piece_count;
    banyan_action action;
    int flow;  /* the tree or ring it belongs to */
    int route; /* index in the schedule's routes, or -1 for the topology's default route */
} banyan_transfer;

struct banyan_schedule {
    banyan_collective collective;
    int root;        /* rank; of collectives that have a root, else 0 */
    char *topology;  /* its name: a label, never looked up */
    char *algorithm; /* who made it: a label */
    int node_count;  /* every src, dst and active id is below this */
    int active_count;
    int *active;   /* node id of rank r, ascending */
    int64_t whole; /* cut[0] = 0 < cut[1] < ... < cut[piece_count] = whole */
    int piece_count;
    int64_t *cut;
    int *owner; /* of collectives with parts: the rank whose piece it is, which brings it in all-gather and
                   gather and gets it in reduce-scatter, scatter and all-to-all; else NULL */
    int route_count;
    int *route_first; /* links of route i: route_link[route_first[i] .. route_first[i+1]) */
    int *route_link;
    size_t transfer_count;
    banyan_transfer *transfers; /* ascending by round */
    int round_count, flow_count;
    int barrier; /* the round that begins only when all before it is done everywhere; 0: none. For plans in
                    stages, as older systems have them: models of time keep to it, runs have no need to */
};

/* The text form (docs/formats/schedule.md); the caller frees *out. */
banyan_status banyan_schedule_format(const banyan_schedule *schedule, char **out, banyan_error *err);

int banyan_schedule_rank(const banyan_schedule *schedule, int node); /* -1: not active */

/* The same of all nodes at once; the caller frees it. NULL: out of memory. */
int *banyan_schedule_make_ranks(const banyan_schedule *schedule);

/* The rank that brings the piece; -1: every rank does, and they are added. */
int banyan_schedule_source(const banyan_schedule *schedule, int piece);

/* Whether the rank must end with the piece. */
int banyan_schedule_is_result(const banyan_schedule *schedule, int rank, int piece);

/* One past the last transfer of the round that begins with this one. */
size_t banyan_schedule_round_end(const banyan_schedule *schedule, size_t begin);

/* Bound to count elements, pieces first..first+n-1 are elements begin..end-1: floor(count * cut / whole). */
void banyan_schedule_elements(const banyan_schedule *schedule, size_t count, int first_piece, int piece_count,
                              size_t *begin, size_t *end);

/* The share of the whole vector that the pieces make up, 0..1. */
double banyan_schedule_share(const banyan_schedule *schedule, int first_piece, int piece_count);

/* Sixteen hex digits of everything but the labels: ranks that agree on it do the same. */
void banyan_schedule_digest(const banyan_schedule *schedule, char out[17]);

#endif
