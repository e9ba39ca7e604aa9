/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_figures.h: rows of figures as JSON, for whatever banyan train has found. */
#ifndef BANYAN_CLI_TRAIN_FIGURES_H
#define BANYAN_CLI_TRAIN_FIGURES_H

#include "cli.h"

typedef struct {
    const char *key;
    double value;
} cli_figure;

/* '"key":value,"key":value', without braces; the list ends with a key of NULL. */
void cli_add_figures(banyan_text *text, const cli_figure *figures);

/* The figures that each row of 'results' has, however it was found. */
void cli_add_iteration(banyan_text *text, double iteration_s, double forward_s, double backward_s,
                       double exposed_s);

#endif
