/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_replay.h: banyan train --replay. */
#ifndef BANYAN_CLI_TRAIN_REPLAY_H
#define BANYAN_CLI_TRAIN_REPLAY_H

#include "cli.h"

/* A Chakra trace of one rank on any network, with the plans of each algorithm. */
int cli_train_replay(const cli_arguments *arguments);

#endif
