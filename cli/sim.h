/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sim.h: what «banyan sim» was asked for. */
#ifndef BANYAN_CLI_SIM_H
#define BANYAN_CLI_SIM_H

#include "problem.h"
#include "sim_engines.h"

#define SIM_MOST_SIZES 64
#define SIM_MOST_ALGORITHMS 64

typedef struct {
    const cli_arguments *arguments;
    cli_problem problem;
    sim_settings settings;
    const sim_engine *engine;
    banyan_schedule *given; /* --schedule, or NULL */
    size_t sizes[SIM_MOST_SIZES];
    int size_count;
    const banyan_algorithm *algorithms[SIM_MOST_ALGORITHMS];
    int algorithm_count, takes_all; /* all: whatever applies */
} sim_request;

banyan_status sim_request_read(const cli_arguments *arguments, sim_request *out, banyan_error *err);
void sim_request_fini(sim_request *request);

#endif
