/* SPDX-License-Identifier: Apache-2.0 */
/* planner/planner.h: from a problem to a plan that is built, proven and predicted, and the choice among
 * plans. */
#ifndef BANYAN_PLANNER_H
#define BANYAN_PLANNER_H

#include "algorithms/algorithms.h"
#include "simulate/simulate.h"

typedef struct {
    const banyan_algorithm *algorithm;
    banyan_schedule *schedule; /* NULL when the algorithm does not apply */
    banyan_limits limits;
    double predicted_s; /* at the problem's size */
    const char *model;  /* who predicted: «fluid», or «walk» where that would take too long */
    double planning_s;  /* building and proving, CPU time */
    banyan_error why_not;
} banyan_plan;

/* Builds with one algorithm, proves and predicts. PLAN_INVALID if the proof fails: then nothing is given out.
 */
banyan_status banyan_plan_make(const banyan_algorithm *algorithm, const banyan_problem *problem,
                               banyan_plan *out, banyan_error *err);

/* Every algorithm; those that do not apply say why. Sorted by prediction, the unapplicable last. The caller
 * frees with banyan_plans_destroy. */
banyan_status banyan_plan_all(const banyan_problem *problem, banyan_plan **out, int *count,
                              banyan_error *err);

/* The algorithm of that name; a sentence guesses what was meant. */
banyan_status banyan_plan_find(const char *name, const banyan_algorithm **out, banyan_error *err);

/* The plan of the named algorithm, or, for «auto», the one with the best prediction. */
banyan_status banyan_plan_choose(const char *algorithm, const banyan_problem *problem, banyan_plan *out,
                                 banyan_error *err);

/* Whether the algorithm has options for all of the problem's parameters; where many algorithms are asked, the
 * others are asked without. */
int banyan_plan_takes_parameters(const banyan_algorithm *algorithm, const banyan_problem *problem);

void banyan_plan_fini(banyan_plan *plan);
void banyan_plans_destroy(banyan_plan *plans, int count);

#endif
