/* SPDX-License-Identifier: Apache-2.0 */
/* planner/messages.c: a walk with LogP's parameters (topology/message.h). For long vectors they are nothing
 * beside the time on the links; for short ones they are nearly all there is. What a rank is busy with on
 * average is told apart: those cores are wanted by the job that computes beside us, or by other ranks where
 * several share a core. Six hosts of one core each finish 60 messages at once; on two cores they take
 * turns. */
#include "planner/messages.h"

#include <math.h>

#include "core/alloc.h"
#include "schedule/walk.h"
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

typedef struct {
    const banyan_schedule *schedule;
    const banyan_topology *topology;
    double *ready_s; /* by node */
    double *left_s;  /* by transfer */
    double busy_s;   /* of all nodes together */
} message_walk;

static banyan_status send(void *context, size_t transfer, banyan_error *err)
{
    message_walk *w = context;
    const banyan_transfer *t = &w->schedule->transfers[transfer];
    double busy_s = banyan_message_cost_of(is_far(w->topology, t)).busy_s;

    (void)err;
    w->busy_s += 2 * busy_s;
    w->ready_s[t->src] += busy_s;
    w->left_s[transfer] = w->ready_s[t->src];
    return BANYAN_SUCCESS;
}

static void apply(void *context, size_t transfer)
{
    message_walk *w = context;
    const banyan_transfer *t = &w->schedule->transfers[transfer];
    banyan_message_cost cost = banyan_message_cost_of(is_far(w->topology, t));
    double there_s = w->left_s[transfer] + cost.under_way_s;

    w->ready_s[t->dst] = fmax(there_s, w->ready_s[t->dst]) + cost.busy_s;
}

banyan_message_costs banyan_message_costs_of(const banyan_schedule *schedule, const banyan_topology *topology)
{
    static const banyan_walk_steps steps = {send, apply};
    message_walk w = {.schedule = schedule, .topology = topology};
    double last_s = 0;

    w.ready_s = banyan_alloc((size_t)schedule->node_count, sizeof *w.ready_s);
    w.left_s = banyan_alloc(schedule->transfer_count, sizeof *w.left_s);
    if (w.ready_s && w.left_s)
        banyan_schedule_walk(schedule, &steps, &w, NULL);
    for (int i = 0; w.ready_s && w.left_s && i < schedule->node_count; i++)
        last_s = fmax(last_s, w.ready_s[i]);
    banyan_free(w.ready_s);
    banyan_free(w.left_s);
    return (banyan_message_costs){last_s, w.busy_s / schedule->active_count,
                                  find_headers(schedule, topology)};
}
