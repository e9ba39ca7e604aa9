/* SPDX-License-Identifier: Apache-2.0 */
/* comm/overhead.c: a walk with LogP's parameters: a message keeps its sender and its receiver busy and is under way
 * in between, longer between hosts, where it passes through the kernel, than within one. For long vectors it is
 * nothing beside the time on the links; for short ones it is nearly all there is. What a rank is busy with on average
 * is told apart: those cores are wanted by the job that computes beside us, or by other ranks where several share
 * a core. Six hosts of one core each finish 60 messages at once; on two cores they take turns.
 *
 * The figures are those of sockets and shared memory of today's machines, to the nearest handy number. */
#include "comm/overhead.h"

#include <math.h>

#include "core/alloc.h"
#include "simulate/paths.h"

#define FAR_BUSY_S 4e-6
#define FAR_UNDER_WAY_S 15e-6
#define NEAR_BUSY_S 0.4e-6
#define NEAR_UNDER_WAY_S 0.6e-6
#define FAR_HEAD_BYTES                                                                                       \
    150 /* frames, TCP, IP and Ethernet, and most messages are acknowledged by themselves */

static int is_far(const banyan_topology *topology, const banyan_transfer *t)
{
    int host = topology->nodes[t->src].host;

    return host < 0 || host != topology->nodes[t->dst].host;
}

static double find_heads(const banyan_schedule *schedule, const banyan_topology *topology)
{
    double *busy_s = banyan_alloc((size_t)topology->link_count, sizeof *busy_s), longest_s = 0;
    banyan_paths *paths = NULL;
    banyan_error ignored;

    if (busy_s && !banyan_paths_find(schedule, topology, &paths, &ignored))
        for (size_t i = 0; i < schedule->transfer_count; i++)
            for (int k = paths->first[paths->path_of[i]]; k < paths->first[paths->path_of[i] + 1]; k++)
                if (is_far(topology, &schedule->transfers[i])) {
                    int link = paths->link[k];

                    busy_s[link] += FAR_HEAD_BYTES / topology->links[link].bytes_per_s;
                    longest_s = fmax(longest_s, busy_s[link]);
                }
    banyan_paths_destroy(paths);
    banyan_free(busy_s);
    return longest_s;
}

banyan_comm_overhead banyan_comm_overhead_of(const banyan_schedule *schedule, const banyan_topology *topology)
{
    double *ready_s = banyan_alloc((size_t)schedule->node_count, sizeof *ready_s);
    double *left_s = banyan_alloc(schedule->transfer_count, sizeof *left_s), last_s = 0, busy_s = 0;

    for (size_t begin = 0, end; ready_s && left_s && begin < schedule->transfer_count; begin = end) {
        for (end = begin; end < schedule->transfer_count; end++) {
            const banyan_transfer *t = &schedule->transfers[end];

            if (t->round != schedule->transfers[begin].round)
                break;
            busy_s += 2 * (is_far(topology, t) ? FAR_BUSY_S : NEAR_BUSY_S);
            ready_s[t->src] += is_far(topology, t) ? FAR_BUSY_S : NEAR_BUSY_S;
            left_s[end] = ready_s[t->src];
        }
        for (size_t i = begin; i < end; i++) {
            const banyan_transfer *t = &schedule->transfers[i];
            int far = is_far(topology, t);
            double there_s = left_s[i] + (far ? FAR_UNDER_WAY_S : NEAR_UNDER_WAY_S);

            ready_s[t->dst] =
                (there_s > ready_s[t->dst] ? there_s : ready_s[t->dst]) + (far ? FAR_BUSY_S : NEAR_BUSY_S);
        }
    }
    for (int i = 0; ready_s && left_s && i < schedule->node_count; i++)
        last_s = ready_s[i] > last_s ? ready_s[i] : last_s;
    banyan_free(ready_s);
    banyan_free(left_s);
    return (banyan_comm_overhead){last_s, busy_s / schedule->active_count, find_heads(schedule, topology)};
}
