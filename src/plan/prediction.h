/* SPDX-License-Identifier: Apache-2.0 */
/* plan/prediction.h: what a prediction holds. */
#ifndef BANYAN_PLAN_PREDICTION_H
#define BANYAN_PLAN_PREDICTION_H

#include "schedule/timeline.h"
#include "topology/topology.h"

struct banyan_prediction {
    banyan_prediction_info info;
    banyan_timeline *timeline;
    banyan_schedule *sliced; /* whose transfers the timeline is about; NULL: those of the schedule itself */
};

/* INVALID_ARGUMENT unless the schedule is for as many nodes as the network has. */
banyan_status banyan_prediction_check_nodes(const banyan_schedule *schedule, const banyan_topology *topology,
                                            banyan_error *err);

#endif
