/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/paths.h: the links that each transfer of a schedule runs over, default routes filled in. */
#ifndef BANYAN_SIMULATE_PATHS_H
#define BANYAN_SIMULATE_PATHS_H

#include "schedule/schedule.h"
#include "topology/topology.h"

typedef struct {
    int path_count;
    int *first; /* links of path i: link[first[i] .. first[i+1]) */
    int *link;
    int *path_of; /* by transfer: its path; transfers that share a route share a path */
} banyan_paths;

banyan_status banyan_paths_find(const banyan_schedule *schedule, const banyan_topology *topology,
                                banyan_paths **out, banyan_error *err);
void banyan_paths_destroy(banyan_paths *paths); /* accepts NULL */

#endif
