/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_measure.h: banyan train --measure: costs from a running job, and policies run on it for real. */
#ifndef BANYAN_CLI_TRAIN_MEASURE_H
#define BANYAN_CLI_TRAIN_MEASURE_H

#include "train_print.h"

#define CLI_MEASURE_OPTIONS                                                                                  \
    {"measure", 0, NULL, "measure the cost between real ranks, and run the policies on them"},               \
        {"ranks", 'n', "N",                                                                                  \
         "with --measure: processes to start here (default: 2, or what a launcher started)"},                \
        {"transport", 0, "NAME", "with --measure: auto, shm or tcp (default: auto)"},                        \
    {                                                                                                        \
        "iterations", 0, "N", "with --measure: iterations that are timed for each policy (default: 5)"       \
    }

typedef struct {
    banyan_comm *comm;
    int rank, size, iterations;
} cli_job;

/* Joins what a launcher has started, or forks ranks. In each rank the result is -1 and the job is there; in
 * the process that waits for forked ranks, and after a failure, it is the exit code. */
int cli_job_join(const cli_arguments *arguments, cli_job *out);

/* Every rank calls these. */
banyan_status cli_job_measure(cli_job *job, const banyan_model *model, cli_cost *out, banyan_error *err);
banyan_status cli_job_run(cli_job *job, cli_trainings *trainings, banyan_error *err);

#endif
