/* SPDX-License-Identifier: Apache-2.0 */
/* execute/crew.h: an all-reduce between ranks that have a board (transport/board.h): side by side, without
 * streams. */
#ifndef BANYAN_EXECUTE_CREW_H
#define BANYAN_EXECUTE_CREW_H

#include "execute/run_internal.h"

/* *out is NULL after success where the program cannot be run so. */
banyan_status banyan_crew_create(const banyan_program *program, banyan_board *board, banyan_crew **out,
                                 banyan_error *err);
void banyan_crew_destroy(banyan_crew *crew); /* accepts NULL */

/* The current run, as banyan_runner_run. It divides, too. */
banyan_status banyan_crew_run(banyan_crew *crew, banyan_runner *runner, banyan_error *err);

/* The current run goes over streams: whoever waits for us at the board is to know. */
void banyan_crew_announce(const banyan_runner *runner);

#endif
