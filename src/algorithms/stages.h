/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/stages.h: how long trees take, from what each link has to carry at each stage of theirs. */
#ifndef BANYAN_ALGORITHMS_STAGES_H
#define BANYAN_ALGORITHMS_STAGES_H

#include "schedule/schedule.h"
#include "topology/topology.h"

typedef enum {
    BANYAN_STAGE_IS_ROUND, /* one message on a link at a time, in the rounds of the schedule */
    BANYAN_STAGE_IS_LEVEL  /* everything leaves as soon as it can, and shares links */
} banyan_stage_kind;

/* The seconds for a vector of that many bytes, of which every transfer moves that many slices (1: whole). */
banyan_status banyan_stages_seconds(const banyan_schedule *schedule, const banyan_topology *topology,
                                    banyan_stage_kind kind, double bytes, int slices, double *seconds,
                                    banyan_error *err);

/* The same for whole messages that leave as soon as they are there and their links are free, those of earlier
 * rounds first: what rounds hide of the latency, and what they do not. Every flow is a tree, of which a node
 * has one copy. */
banyan_status banyan_stages_walk(const banyan_schedule *schedule, const banyan_topology *topology,
                                 double bytes, double *seconds, banyan_error *err);

#endif
