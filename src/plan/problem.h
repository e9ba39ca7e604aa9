/* SPDX-License-Identifier: Apache-2.0 */
/* plan/problem.h: what a caller of plan.h asks for, as planners see it. */
#ifndef BANYAN_PLAN_PROBLEM_H
#define BANYAN_PLAN_PROBLEM_H

#include "planner/planner.h"

/* The size of vectors where none is asked for: large enough that latencies hardly count. */
#define BANYAN_PLAN_DEFAULT_BYTES ((size_t)64 << 20)

/* Sizes up to here are exact as doubles, which models of time compute with. */
#define BANYAN_PLAN_MAX_BYTES ((size_t)1 << 53)

typedef struct {
    banyan_problem problem;
    banyan_effort effort;
    int *active;                  /* own */
    banyan_parameter *parameters; /* own, over the caller's texts */
} banyan_plan_problem;

/* The caller's config, or NULL, over *out, which holds the initializer. */
banyan_status banyan_read_plan_config(const banyan_plan_config *config, banyan_plan_config *out,
                                      banyan_error *err);

/* topology is not NULL, config has been read. */
banyan_status banyan_plan_problem_init(const banyan_topology *topology, const banyan_plan_config *config,
                                       banyan_plan_problem *out, banyan_error *err);
void banyan_plan_problem_fini(banyan_plan_problem *problem);

/* INVALID_ARGUMENT beyond BANYAN_PLAN_MAX_BYTES. */
banyan_status banyan_check_vector_bytes(size_t bytes, banyan_error *err);

#endif
