/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_job.h: a schedule bound to bytes: what each transfer weighs, waits for and has done.
 * Internal to the flit engine. */
#ifndef BANYAN_SIMULATE_FLIT_JOB_H
#define BANYAN_SIMULATE_FLIT_JOB_H

#include "schedule/dependencies.h"
#include "simulate/flit.h"
#include "simulate/paths.h"

/* For each transfer those that wait for it: item[first[t] .. first[t+1]). */
typedef struct {
    size_t *first;
    int *item;
} flit_waiters;

typedef struct {
    const banyan_schedule *schedule;
    banyan_flit_settings settings;
    banyan_paths *paths;
    banyan_dependencies *dependencies;
    flit_waiters send_on_apply, apply_on_apply, apply_on_send;
    int64_t *start, *bytes; /* of each transfer's interval */
    int32_t *packets_left;  /* that have not arrived */
    size_t packets, packets_here;
    int32_t *send_wait, *apply_wait;
    uint8_t *has_arrived;
    int64_t *begin, *end; /* cycles: first flit, applied */
    /* A node's sends in the order of its table: send[send_first[v] .. send_first[v+1]). */
    size_t *send_first;
    int *send;
    int *round_left;      /* transfers of a round that are not applied */
    int barrier;          /* ideal lockstep: sends of this round may go */
    int64_t *round_flits; /* of the largest message of a round */
    size_t left;          /* transfers that are not applied */
    int64_t applied_at;
} flit_job;

banyan_status flit_job_create(const banyan_schedule *schedule, const banyan_topology *topology, size_t bytes,
                              const banyan_flit_settings *settings, flit_job **out, banyan_error *err);
void flit_job_destroy(flit_job *job); /* accepts NULL */

int64_t flit_job_packets(const flit_job *job, int transfer);
int64_t flit_job_flits(const flit_job *job, int transfer); /* heads included */

#endif
