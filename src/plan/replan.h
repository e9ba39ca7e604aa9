/* SPDX-License-Identifier: Apache-2.0 */
/* plan/replan.h: a plan from an older one, when links were lost or are slower. */
#ifndef BANYAN_PLAN_REPLAN_H
#define BANYAN_PLAN_REPLAN_H

#include "planner/planner.h"

/* The problem is on the network as it is now. algorithm: what the user named, or NULL. INVALID_ARGUMENT
 * where the old schedule is not a forest of this collective between these workers. */
banyan_status banyan_plan_from(const banyan_problem *problem, const banyan_schedule *old,
                               const char *algorithm, banyan_plan *out, banyan_error *err);

#endif
