/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench_processes.h: ranks of a benchmark as processes of their own. */
#ifndef BANYAN_CLI_BENCH_PROCESSES_H
#define BANYAN_CLI_BENCH_PROCESSES_H

#include <banyan/banyan.h>

/* Whether a launcher has started this process as one rank of several. */
int bench_is_launched(int *rank, int *size);

/* Starts that many processes, which share the id. In each *rank is its number and the result is -1; the
 * caller itself waits for all of them, and gets the exit code for the whole. */
int bench_fork(int ranks, const char *transport, int *rank, banyan_unique_id *id);

#endif
