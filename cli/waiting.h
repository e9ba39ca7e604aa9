/* SPDX-License-Identifier: Apache-2.0 */
/* cli/waiting.h: a sign of life for work that cannot say how far it is: the seconds that it has taken, on a
 * terminal. */
#ifndef BANYAN_CLI_WAITING_H
#define BANYAN_CLI_WAITING_H

#include <pthread.h>

#include "cli.h"
#include "core/progress.h"

typedef struct {
    banyan_progress bar;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_over; /* guarded by lock */
    int is_shown;
} cli_waiting;

/* Nothing is shown with --quiet, where standard error is no terminal, or where it is over at once. */
void cli_waiting_begin(cli_waiting *waiting, const cli_arguments *arguments, const char *label);
void cli_waiting_end(cli_waiting *waiting); /* call it before anything is printed */

/* The same where plans are counted as they are made: the problem then tells of each. */
void cli_planning_begin(cli_waiting *waiting, const cli_arguments *arguments, banyan_problem *problem);
void cli_planning_end(cli_waiting *waiting, banyan_problem *problem);

#endif
