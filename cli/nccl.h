/* SPDX-License-Identifier: Apache-2.0 */
/* cli/nccl.h: the variables with which NCCL uses the plugin. */
#ifndef BANYAN_CLI_NCCL_H
#define BANYAN_CLI_NCCL_H

#include "core/status.h"

typedef void (*nccl_variable)(void *context, const char *name, const char *value);

/* Calls back for each. chooses: the plugin's tuner decides which all-reduces it serves, instead of all.
 * UNSUPPORTED: the plugin is not there. */
banyan_status nccl_variables(int chooses, nccl_variable each, void *context, banyan_error *err);

#endif
