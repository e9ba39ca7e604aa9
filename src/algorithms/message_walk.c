/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/message_walk.c: a walk with LogP's parameters (topology/message.h). For long vectors they are
 * nothing beside the time on the links; for short ones they are nearly all there is. What a rank is busy with
 * on average is told apart: those cores are wanted by the job that computes beside us, or by other ranks
 * where several share a core. Six hosts of one core each finish 60 messages at once; on two cores they take
 * turns. */
#include "algorithms/message_walk.h"

#include <math.h>

#include "core/alloc.h"
#include "schedule/walk.h"
#include "topology/message.h"

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
    double busy_s = banyan_message_cost_of(banyan_message_is_far(w->topology, t->src, t->dst)).busy_s;

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
    banyan_message_cost cost = banyan_message_cost_of(banyan_message_is_far(w->topology, t->src, t->dst));
    double there_s = w->left_s[transfer] + cost.under_way_s;

    w->ready_s[t->dst] = fmax(there_s, w->ready_s[t->dst]) + cost.busy_s;
}

banyan_message_walk banyan_message_walk_of(const banyan_schedule *schedule, const banyan_topology *topology)
{
    static const banyan_walk_steps steps = {send, apply};
    message_walk w = {.schedule = schedule, .topology = topology};
    banyan_message_walk out = {0, 0};

    w.ready_s = banyan_alloc((size_t)schedule->node_count, sizeof *w.ready_s);
    w.left_s = banyan_alloc(schedule->transfer_count, sizeof *w.left_s);
    if (w.ready_s && w.left_s)
        banyan_schedule_walk(schedule, &steps, &w, NULL);
    for (int i = 0; w.ready_s && w.left_s && i < schedule->node_count; i++)
        out.last_s = fmax(out.last_s, w.ready_s[i]);
    out.busy_s = w.busy_s / schedule->active_count;
    banyan_free(w.ready_s);
    banyan_free(w.left_s);
    return out;
}
