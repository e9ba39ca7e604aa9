/* SPDX-License-Identifier: Apache-2.0 */
/* plan/closed_form.h: what an algorithm's formula says about its time, to compare simulations with. */
#ifndef BANYAN_PLAN_CLOSED_FORM_H
#define BANYAN_PLAN_CLOSED_FORM_H

#include "algorithms/algorithms.h"

/* NaN where the formula does not hold: other collectives than all-reduce, routes that differ, a link that
 * serves two transfers of a round, or a schedule of no known algorithm. overhead_s comes on top of each
 * message. */
banyan_status banyan_closed_form_find(const banyan_schedule *schedule, const banyan_topology *topology,
                                      double bytes, double overhead_s, double *out, banyan_error *err);

#endif
