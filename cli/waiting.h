/* SPDX-License-Identifier: Apache-2.0 */
/* cli/waiting.h: a sign of life for work that cannot say how far it is: the seconds that it has taken; and
 * a bar for work in steps, some of which take long. On a terminal. */
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
    int is_over; /* guarded by lock, as is the bar */
    int is_shown;
    int is_counted; /* in steps, not in seconds */
} cli_waiting;

/* Nothing is shown with --quiet, where standard error is no terminal, or where it is over at once. */
void cli_waiting_begin(cli_waiting *waiting, const cli_arguments *arguments, const char *label);
void cli_waiting_end(cli_waiting *waiting); /* call it before anything is printed */

/* The same where plans are counted as they are made: cli_planning_count is to be called after each, with
 * the cli_waiting as its context, cli_planning_name before each. Ends with cli_waiting_end. */
void cli_planning_begin(cli_waiting *waiting, const cli_arguments *arguments);
void cli_planning_count(void *waiting, int done, int all);
void cli_planning_name(void *waiting, const char *algorithm);

#endif
