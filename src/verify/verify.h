/* SPDX-License-Identifier: Apache-2.0 */
/* verify/verify.h: proves that a schedule is the collective it claims to be, or names what is wrong first.
 *
 * Proven, for every element: it ends at every rank that must have it as the sum of every active worker's
 * contribution, each exactly once; nothing is read before it is there; no two changes race; routes use links
 * that exist and join up; switches do only what they can. */
#ifndef BANYAN_VERIFY_H
#define BANYAN_VERIFY_H

#include "schedule/schedule.h"
#include "topology/topology.h"

#define BANYAN_VERDICT_SHOWN 8

struct banyan_verdict {
    long problem_count;                       /* 0: proven */
    char problems[BANYAN_VERDICT_SHOWN][320]; /* the first few, one sentence each, in order of transfers */
    int orders_differ; /* correct, but ranks add in different orders: floating-point sums may differ */
    char note[320];    /* then: where; of a bound: what it only claims; else empty */
};

/* topology may be NULL: then links and abilities are not looked at. Fails only if memory runs out. */
banyan_status banyan_verify(const banyan_schedule *schedule, const banyan_topology *topology,
                            banyan_verdict *verdict, banyan_error *err);

/* A verdict with problems as a status: PLAN_INVALID with the first sentence. */
banyan_status banyan_verdict_status(const banyan_verdict *verdict, banyan_error *err);

#endif
