/* SPDX-License-Identifier: Apache-2.0 */
/* planner/steps.h: the steps from an algorithm to a plan, for planner.c and candidates.c. */
#ifndef BANYAN_PLANNER_STEPS_H
#define BANYAN_PLANNER_STEPS_H

#include "planner/planner.h"

/* The schedule and what building it took; not proven yet. */
banyan_status banyan_plan_build(const banyan_algorithm *algorithm, const banyan_problem *problem,
                                banyan_effort effort, banyan_plan *out, banyan_error *err);

/* What messages cost, and least_s by that alone. */
void banyan_plan_weigh(banyan_plan *plan, const banyan_problem *problem);

/* The limits, and least_s by them, too. */
banyan_status banyan_plan_limit(banyan_plan *plan, const banyan_problem *problem, banyan_error *err);

banyan_status banyan_plan_prove(banyan_plan *plan, const banyan_problem *problem, banyan_error *err);

/* Predicts what has been weighed and has limits. */
banyan_status banyan_plan_judge(banyan_plan *plan, const banyan_problem *problem, banyan_effort effort,
                                banyan_error *err);

/* All of that; nothing is left of a plan for which it fails. */
banyan_status banyan_plan_make_with(const banyan_algorithm *algorithm, const banyan_problem *problem,
                                    banyan_effort effort, banyan_plan *out, banyan_error *err);

int banyan_plan_has_few_messages(const banyan_plan *plan, const banyan_problem *problem);

#endif
