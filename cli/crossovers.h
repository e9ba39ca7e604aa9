/* SPDX-License-Identifier: Apache-2.0 */
/* cli/crossovers.h: which algorithm is best at which size. */
#ifndef BANYAN_CLI_CROSSOVERS_H
#define BANYAN_CLI_CROSSOVERS_H

#include "planner/planner.h"
#include "problem.h"

/* Prints the table for --sizes FROM-TO, a step of four between sizes. */
banyan_status cli_crossovers(const cli_arguments *arguments, const cli_problem *problem, banyan_effort effort,
                             banyan_error *err);

#endif
