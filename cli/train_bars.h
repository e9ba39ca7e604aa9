/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_bars.h: iterations on accelerators, as bars of text and as JSON. */
#ifndef BANYAN_CLI_TRAIN_BARS_H
#define BANYAN_CLI_TRAIN_BARS_H

#include "accelerate/iteration.h"
#include "cli.h"

enum { CLI_MAX_ITERATIONS = 32 };

typedef struct {
    const banyan_dnn *dnn;
    banyan_accelerator accelerator;
    int samples;
    const char *topology, *simulator;
    double largest_bytes; /* that was simulated */
    int count;
    banyan_iteration_row rows[CLI_MAX_ITERATIONS];
    char names[CLI_MAX_ITERATIONS][48]; /* algorithms */
    int is_overlapped[CLI_MAX_ITERATIONS];
} cli_iterations;

void cli_iterations_print(const cli_iterations *iterations);
banyan_status cli_iterations_print_json(const cli_iterations *iterations, banyan_error *err);

#endif
