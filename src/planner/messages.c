/* SPDX-License-Identifier: Apache-2.0 */
/* planner/messages.c: the walk of all messages (algorithms/message_walk.h), and their headers on links. */
#include "planner/messages.h"

#include <math.h>

#include "algorithms/message_walk.h"
#include "core/alloc.h"
#include "simulate/paths.h"
#include "topology/message.h"

#define FAR_HEADER_BYTES                                                                                     \
    150 /* frames, TCP, IP and Ethernet, and most messages are acknowledged by themselves */

static int is_far(const banyan_topology *topology, const banyan_transfer *t)
{
    return banyan_message_is_far(topology, t->src, t->dst);
}

static int has_far(const banyan_schedule *schedule, const banyan_topology *topology)
{
    for (size_t i = 0; i < schedule->transfer_count; i++)
        if (is_far(topology, &schedule->transfers[i]))
            return 1;
    return 0;
}

static double find_headers(const banyan_schedule *schedule, const banyan_topology *topology)
{
    double *busy_s = banyan_alloc((size_t)topology->link_count, sizeof *busy_s), longest_s = 0;
    banyan_paths *paths = NULL;
    banyan_error ignored;

    if (busy_s && has_far(schedule, topology) && !banyan_paths_find(schedule, topology, &paths, &ignored))
        for (size_t i = 0; i < schedule->transfer_count; i++)
            for (int k = paths->first[paths->path_of[i]]; k < paths->first[paths->path_of[i] + 1]; k++)
                if (is_far(topology, &schedule->transfers[i])) {
                    int link = paths->link[k];

                    busy_s[link] += FAR_HEADER_BYTES / topology->links[link].bytes_per_s;
                    longest_s = fmax(longest_s, busy_s[link]);
                }
    banyan_paths_destroy(paths);
    banyan_free(busy_s);
    return longest_s;
}

banyan_message_costs banyan_message_costs_of(const banyan_schedule *schedule, const banyan_topology *topology)
{
    return (banyan_message_costs){banyan_message_walk_of(schedule, topology),
                                  find_headers(schedule, topology)};
}
