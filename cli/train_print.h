/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_print.h: what banyan train found, for people and for programs. */
#ifndef BANYAN_CLI_TRAIN_PRINT_H
#define BANYAN_CLI_TRAIN_PRINT_H

#include "train_cost.h"

enum { CLI_MAX_TRAININGS = 64 };

/* What became of a policy on real ranks. */
typedef struct {
    int streams, groups;
    double predicted_s, predicted_exposed_s; /* by the profile that its plan was made from */
    double measured_s, measured_exposed_s;
    double hidden; /* share of the communication */
} cli_live;

typedef struct {
    banyan_model *model;
    cli_cost cost;
    int count;
    char names[CLI_MAX_TRAININGS][48];
    banyan_training trainings[CLI_MAX_TRAININGS]; /* the same, for pictures */
    banyan_grouping *groupings[CLI_MAX_TRAININGS];
    int live_count; /* 0: nothing was run */
    cli_live lives[CLI_MAX_TRAININGS];
} cli_trainings;

void cli_trainings_print(const cli_trainings *trainings);
banyan_status cli_trainings_print_json(const cli_trainings *trainings, banyan_error *err);

#endif
