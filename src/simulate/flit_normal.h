/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_normal.h: other traffic: packets from every worker to workers picked at random.
 * Internal to the flit engine. */
#ifndef BANYAN_SIMULATE_FLIT_NORMAL_H
#define BANYAN_SIMULATE_FLIT_NORMAL_H

#include "simulate/flit_interface.h"

typedef struct {
    int worker_count;
    int *pair_first; /* paths from worker a to b: pair_first[a*n+b] .. pair_first[a*n+b+1] */
    int *worker_of;  /* by node; -1: a switch */
} flit_normal;

/* Sets the fabric's paths: the job's (may be NULL), then those between all workers where there is other
 * traffic. */
banyan_status flit_normal_set_paths(flit_fabric *fabric, const flit_job *job, flit_normal **out,
                                    banyan_error *err);
void flit_normal_destroy(flit_normal *normal); /* accepts NULL */

/* From now on the interface makes packets. */
void flit_normal_start(flit_interface *interface, flit_normal *normal, int64_t until);

#endif
