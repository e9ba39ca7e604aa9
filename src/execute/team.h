/* SPDX-License-Identifier: Apache-2.0 */
/* execute/team.h: an all-reduce between ranks with workspaces (transport/workspaces.h): side by side, without
 * streams. */
#ifndef BANYAN_EXECUTE_TEAM_H
#define BANYAN_EXECUTE_TEAM_H

#include "execute/run_internal.h"

/* *out is NULL after success where the program cannot be run so. */
banyan_status banyan_team_create(const banyan_program *program, banyan_workspaces *workspaces,
                                 banyan_team **out, banyan_error *err);
void banyan_team_destroy(banyan_team *team); /* accepts NULL */

/* The current run, as banyan_runner_run. It divides, too. */
banyan_status banyan_team_run(banyan_team *team, banyan_runner *runner, banyan_error *err);

/* The current run goes over streams: whoever waits for our workspace is to know. */
void banyan_team_announce(const banyan_runner *runner);

#endif
