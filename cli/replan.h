/* SPDX-License-Identifier: Apache-2.0 */
/* cli/replan.h: banyan plan SPEC --without LINKS --slow LINKS --from FILE: a new plan when links were lost or
 * are slower. */
#ifndef BANYAN_CLI_REPLAN_H
#define BANYAN_CLI_REPLAN_H

#include "question.h"

#define CLI_REPLAN_OPTIONS                                                                                   \
    {"from", 0, "FILE", "tell what this plan, made for SPEC, reached before"},                               \
        {"without", 0, "LINKS", "links lost since, such as g0-g1,g2->g3"},                                   \
    {                                                                                                        \
        "slow", 0, "LINKS", "links that are slower, such as g0-g1:0.5 for half"                              \
    }

typedef struct {
    const char *path;
    banyan_schedule *old;
    double old_bytes_per_s; /* on the network as it was; NaN: not known */
} cli_replan;

/* Reads --from, --without and --slow. Afterwards the question is about the network as it is now. */
banyan_status cli_replan_load(const cli_arguments *arguments, cli_question *question, cli_replan *out,
                              banyan_error *err);
void cli_replan_fini(cli_replan *replan);

void cli_replan_print(const cli_replan *replan, const banyan_plan_info *figures);
void cli_replan_json(banyan_text *text, const cli_replan *replan);

#endif
