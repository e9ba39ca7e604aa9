/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_host.h: a host of a test network: namespaces that a process, the holder, keeps alive.
 *
 * Files are the launcher's own: whoever enters a host keeps the root folder and the working folder of the
 * launcher, also where that one runs in a chroot. */
#ifndef BANYAN_CLI_RUN_HOST_H
#define BANYAN_CLI_RUN_HOST_H

#include <sys/types.h>

#include "run_tree.h"

enum { RUN_HOST_SWITCHES = -1 }; /* instead of a host's number: the network namespace of all switches */

/* The host's address, such as 10.77.0.1. */
const char *run_host_address(int host, char *buffer, size_t size);

/* Starts the holder. It ends with this process, or by run_host_end. */
banyan_status run_host_start(const run_tree *tree, int host, pid_t *holder, banyan_error *err);
void run_host_end(pid_t holder);

/* Moves the calling process into the holder's host, or into its network alone. After a failure the process
 * may be halfway there and must end. */
banyan_status run_host_enter(pid_t holder, banyan_error *err);
banyan_status run_host_enter_network(pid_t holder, banyan_error *err);

#endif
