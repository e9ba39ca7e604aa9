/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_accelerator.h: banyan train --accelerator. */
#ifndef BANYAN_CLI_TRAIN_ACCELERATOR_H
#define BANYAN_CLI_TRAIN_ACCELERATOR_H

#include "cli.h"

/* One iteration of a network of layers on accelerators, for each algorithm, overlapped and not. */
int cli_train_accelerator(const cli_arguments *arguments);

#endif
