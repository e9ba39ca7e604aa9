/* SPDX-License-Identifier: Apache-2.0 */
/* cli/question.h: what planning verbs ask the library, as <banyan/plan.h> takes it. */
#ifndef BANYAN_CLI_QUESTION_H
#define BANYAN_CLI_QUESTION_H

#include "cli.h"

/* SPEC, --active, --collective, --root, --bytes, --effort, and algorithms' parameters. Not to be moved:
 * config points into it. */
typedef struct {
    banyan_topology *topology;
    banyan_topology_info network;
    banyan_plan_config config; /* its texts are the arguments' */
    const char *parameters[2 * CLI_MAX_WORDS + 1];
} cli_question;

banyan_status cli_question_load(const cli_arguments *arguments, const char *spec, cli_question *out,
                                banyan_error *err);
void cli_question_fini(cli_question *question);

/* Puts another network in place of the question's, and takes it over. */
banyan_status cli_question_replace(cli_question *question, banyan_topology *topology, banyan_error *err);

/* The bound that the schedule's rate is compared with; NaN where it is not known (broadcast, reduce) or
 * would take long to find (more than CLI_BOUND_WORKERS active workers, for which there is 'banyan
 * bound'). */
banyan_status cli_question_bound(const cli_question *question, const banyan_schedule *schedule,
                                 double *bytes_per_s, banyan_error *err);

#endif
