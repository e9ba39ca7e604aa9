/* SPDX-License-Identifier: Apache-2.0 */
/* cli/plan_json.h: a plan's figures as one JSON object, the same in every verb that prints plans. The
 * bound may be NaN: not known. */
#ifndef BANYAN_CLI_PLAN_JSON_H
#define BANYAN_CLI_PLAN_JSON_H

#include "cli.h"

/* more: further fields, each after a comma, or "". */
banyan_status cli_plan_json(banyan_text *text, const banyan_plan *plan, const banyan_topology *topology,
                            double bound_bytes_per_s, const char *more, banyan_error *err);

#endif
