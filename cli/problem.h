/* SPDX-License-Identifier: Apache-2.0 */
/* cli/problem.h: what the files of train share that plan with the library's own parts; others ask through
 * <banyan/plan.h> (question.h). */
#ifndef BANYAN_CLI_PROBLEM_H
#define BANYAN_CLI_PROBLEM_H

#include "algorithms/algorithms.h"
#include "cli.h"
#include "planner/planner.h"
#include "topology/topology.h"

/* What planning verbs share: SPEC, --active, --collective, --root, --bytes, --effort, and algorithms'
 * parameters. */
typedef struct {
    banyan_topology *topology;
    int *active;
    banyan_parameter parameters[CLI_MAX_WORDS];
    banyan_problem problem;
    banyan_effort effort; /* of plans */
} cli_problem;

banyan_status cli_problem_load(const cli_arguments *arguments, const char *spec, cli_problem *out,
                               banyan_error *err);
void cli_problem_fini(cli_problem *problem);

#endif
