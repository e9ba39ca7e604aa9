/* SPDX-License-Identifier: Apache-2.0 */
/* planner/predict.h: how long a schedule will take, by the best model that is quick enough. */
#ifndef BANYAN_PLANNER_PREDICT_H
#define BANYAN_PLANNER_PREDICT_H

#include "schedule/timeline.h"
#include "topology/topology.h"

/* slice_bytes as in banyan_fluid_options. *model is 'fluid' or 'walk', a constant. */
banyan_status banyan_predict(const banyan_schedule *schedule, const banyan_topology *topology, size_t bytes,
                             size_t slice_bytes, banyan_timeline **out, const char **model,
                             banyan_error *err);

/* The same for connections that are paced (simulate/paces.h): *seconds, by the fluid simulator alone;
 * UNSUPPORTED where that would take too long. */
banyan_status banyan_predict_paced(const banyan_schedule *schedule, const banyan_topology *topology,
                                   size_t bytes, size_t slice_bytes, double *seconds, banyan_error *err);

#endif
