/* SPDX-License-Identifier: Apache-2.0 */
/* comm/overhead.c: a walk with LogP's parameters: a message keeps its sender and its receiver busy and is under way
 * in between, longer between hosts, where it passes through the kernel, than within one. For long vectors it is
 * nothing beside the time on the links; for short ones it is nearly all there is. What a rank is busy with on average
 * counts once more: those cores are wanted by the job that computes beside us, or by other ranks where several share
 * a core. Six hosts of one core each finish 60 messages at once; on two cores they take turns.
 *
 * The figures are those of sockets and shared memory of today's machines, to the nearest handy number. */
#include "comm/overhead.h"

#include "core/alloc.h"

#define FAR_BUSY_S 4e-6
#define FAR_UNDER_WAY_S 15e-6
#define NEAR_BUSY_S 0.4e-6
#define NEAR_UNDER_WAY_S 0.6e-6

static int is_far(const banyan_topology *topology, const banyan_transfer *t)
{
    int host = topology->nodes[t->src].host;

    return host < 0 || host != topology->nodes[t->dst].host;
}

double banyan_comm_overhead(const banyan_schedule *schedule, const banyan_topology *topology)
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
    return last_s + busy_s / schedule->active_count;
}
