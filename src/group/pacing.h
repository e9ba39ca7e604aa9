/* SPDX-License-Identifier: Apache-2.0 */
/* group/pacing.h: connections to other hosts send no faster than the plan of the call needs.
 *
 * A plan for a network whose speeds are known, told or learnt, says what each pair of ranks sends while its
 * fullest link is busy (simulate/paces.h). Paced to that, connections leave each other the shares that the
 * plan counts on, and queues in front of full links stay short. Plans that would be slower that way are not
 * paced (banyan_plan.is_paced).
 *
 * Speeds may be told too low, or a link may have got faster. A call that is faster than the plan's fullest
 * link allows says so, and the plan is not paced any more. Paced calls can be a little faster than that; the
 * first call of a plan runs unpaced, and then one of BANYAN_LOOSE_PERIOD at BANYAN_LOOSE times its pace. Each
 * rank decides for itself. */
#ifndef BANYAN_GROUP_PACING_H
#define BANYAN_GROUP_PACING_H

#include "group/plans.h"

#define BANYAN_LOOSE_PERIOD 16u   /* what these calls lose must not matter */
#define BANYAN_LOOSE 1.5          /* enough to tell a faster link by calls that start-ups make longer */
#define BANYAN_PACE_EXCEEDED 1.02 /* of the limit: more than clocks and measured speeds are wrong */

/* Before a call of the plan, by the node's own thread. */
banyan_status banyan_pacing_begin(const banyan_group_plan *plan, const banyan_setup *setup,
                                  banyan_endpoint *endpoint, banyan_error *err);

/* After it has succeeded. */
void banyan_pacing_end(const banyan_group_plan *plan, const banyan_endpoint *endpoint, size_t bytes,
                       double seconds);

/* Whatever comes next is not a call. */
void banyan_pacing_lift(banyan_endpoint *endpoint);

struct banyan_pacing {
    double *bytes_per_s; /* by node */
    double limit;        /* of the vector, by the plan's fullest link */
    unsigned calls;
    int is_paced; /* the call that runs now */
    int is_over;  /* the network is faster than that */
};
void banyan_pacing_destroy(banyan_pacing *pacing); /* accepts NULL */

#endif
