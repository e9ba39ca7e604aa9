/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_print.h: what banyan train found, for people and for programs. */
#ifndef BANYAN_CLI_TRAIN_PRINT_H
#define BANYAN_CLI_TRAIN_PRINT_H

#include "train_cost.h"

enum { CLI_MOST_TRAININGS = 64 };

typedef struct {
    banyan_model *model;
    cli_cost cost;
    int count;
    char names[CLI_MOST_TRAININGS][48];
    banyan_training trainings[CLI_MOST_TRAININGS]; /* the same, for pictures */
    banyan_grouping *groupings[CLI_MOST_TRAININGS];
} cli_trainings;

void cli_trainings_print(const cli_trainings *trainings);
banyan_status cli_trainings_print_json(const cli_trainings *trainings, banyan_error *err);

#endif
