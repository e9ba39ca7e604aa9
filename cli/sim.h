/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sim.h: what 'banyan sim' was asked for. */
#ifndef BANYAN_CLI_SIM_H
#define BANYAN_CLI_SIM_H

#include "question.h"

#define SIM_MAX_SIZES 64
#define SIM_MAX_ALGORITHMS 64

typedef struct {
    const cli_arguments *arguments;
    cli_question question;
    banyan_predict_config config;
    banyan_schedule *given; /* --schedule, or NULL */
    size_t sizes[SIM_MAX_SIZES];
    int size_count;
    char algorithms[SIM_MAX_ALGORITHMS][64];
    int algorithm_count, takes_all; /* all: whatever applies */
} sim_request;

/* The request may not be moved afterwards. */
banyan_status sim_request_read(const cli_arguments *arguments, sim_request *out, banyan_error *err);
void sim_request_fini(sim_request *request);

int sim_request_is_flit(const sim_request *request);

#endif
