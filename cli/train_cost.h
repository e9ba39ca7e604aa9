/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_cost.h: where banyan train has its costs from. */
#ifndef BANYAN_CLI_TRAIN_COST_H
#define BANYAN_CLI_TRAIN_COST_H

#include "cli.h"
#include "train/train.h"

typedef struct {
    banyan_cost cost;
    double worst_error; /* of the fit; 0 for a cost that was given */
    char source[256];   /* for people: 'linear:1.4e-3,1.7e-9,1.5', 'ring on torus:4x4' */
} cli_cost;

/* From --cost, or from the planner by --topo and --algo. */
banyan_status cli_cost_load(const cli_arguments *arguments, const banyan_model *model, cli_cost *out,
                            banyan_error *err);

#endif
