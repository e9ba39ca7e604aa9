/* SPDX-License-Identifier: Apache-2.0 */
/* cli/crossovers.h: which algorithm is best at which size. */
#ifndef BANYAN_CLI_CROSSOVERS_H
#define BANYAN_CLI_CROSSOVERS_H

#include "question.h"

/* Prints the table for --sizes FROM-TO, a step of four between sizes; the question's size is the last one
 * afterwards. */
banyan_status cli_crossovers(const cli_arguments *arguments, cli_question *question, banyan_error *err);

#endif
