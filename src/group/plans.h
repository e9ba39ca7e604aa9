/* SPDX-License-Identifier: Apache-2.0 */
/* group/plans.h: the plans that a group has made so far, each proven before it is kept, with what every node
 * needs to run it. */
#ifndef BANYAN_GROUP_PLANS_H
#define BANYAN_GROUP_PLANS_H

#include "bootstrap/setup.h"
#include "execute/run.h"
#include "planner/planner.h"
#include "schedule/dependencies.h"
#include "schedule/schedule.h"

#define BANYAN_GROUP_ANY_TYPE (-1)

typedef struct banyan_group_plan banyan_group_plan;
typedef struct banyan_pacing banyan_pacing;

struct banyan_group_plan {
    banyan_group_plan *next;
    banyan_collective collective;
    int root;
    size_t size_class; /* bytes that it was chosen for; 0: any */
    int type;          /* of the elements that it was chosen for, or BANYAN_GROUP_ANY_TYPE */
    banyan_schedule *schedule;
    uint64_t digest; /* of the schedule */
    banyan_dependencies *dependencies;
    int is_paced;   /* its connections share links as it wants them to (simulate/paces.h) */
    int has_relays; /* all its relays have been started */
    /* By node; each slot is used by that node's thread alone. */
    banyan_program **programs;
    banyan_runner **runners;
    banyan_pacing **pacings; /* group/pacing.h; NULL: not needed yet */
};

/* The plan for a vector of that many bytes of elements of a type, from the list or made, proven and put
 * there. It serves all types unless wisdom tells them apart. */
banyan_status banyan_group_plan_get(banyan_group_plan **plans, const banyan_setup *setup,
                                    banyan_collective collective, int root, size_t bytes,
                                    banyan_datatype type, banyan_group_plan **out, banyan_error *err);
/* What is to be planned for this group, and whether each node of a schedule is served by a process of it
 * (context: the setup). */
banyan_problem banyan_group_problem(const banyan_setup *setup, banyan_collective collective, int root,
                                    size_t bytes);
int banyan_group_is_usable(const void *context, const banyan_schedule *schedule);

/* What plan serves that many bytes: the bytes it is chosen for; the plan itself, or NULL. */
size_t banyan_group_plan_class(const banyan_setup *setup, banyan_collective collective, size_t bytes);
banyan_group_plan *banyan_group_plan_find(banyan_group_plan *plans, banyan_collective collective, int root,
                                          size_t size_class, banyan_datatype type);

/* Puts a plan that another rank has made, proven and sent onto the list; takes the schedule over, also on
 * failure. PLAN_INVALID when it is not for this group. */
banyan_status banyan_group_plan_adopt(banyan_group_plan **plans, const banyan_setup *setup,
                                      banyan_collective collective, int root, size_t size_class, int type,
                                      int is_paced, banyan_schedule *schedule, banyan_group_plan **out,
                                      banyan_error *err);
/* The plan's like on another network of the same workers, in no list. *gain: that much longer, of the new
 * one's time, the old one would take there. */
banyan_status banyan_group_plan_anew(const banyan_setup *setup, banyan_topology *topology,
                                     const banyan_group_plan *old, banyan_group_plan **out, double *gain,
                                     banyan_error *err);

/* How long the plan takes for that many bytes on this network of the same workers. */
banyan_status banyan_group_plan_predict(const banyan_setup *setup, const banyan_topology *topology,
                                        const banyan_group_plan *plan, size_t bytes, double *seconds,
                                        banyan_error *err);

/* From one list to another, where it is there. */
void banyan_group_plan_move(banyan_group_plan **from, banyan_group_plan **to, banyan_collective collective,
                            int root, size_t size_class, banyan_datatype type);
void banyan_group_plans_destroy(banyan_group_plan *plans);

/* The node's program and runner, made by its own thread when first asked for. */
banyan_status banyan_group_plan_runner(const banyan_group_plan *plan, const banyan_setup *setup,
                                       banyan_endpoint *endpoint, banyan_runner **out, banyan_error *err);

#endif
