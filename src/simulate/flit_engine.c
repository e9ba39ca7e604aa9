/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_engine.c: lets every node run by itself for as long as nothing can reach it.
 *
 * What a node sends arrives a link's latency later at the earliest, so within a window of the least latency
 * nodes do not affect each other: each is run through the window alone, in the order of their numbers, and
 * skips cycles in which it has nothing to do. The result is the one of running all nodes cycle by cycle. When
 * no node has anything left to do and the job is not done, packets wait for each other in a circle: that is
 * found at once and said. */
#include "simulate/flit_engine.h"

#include <math.h>
#include <stdio.h>

/* Flits that a packet may wait for in any case. */
#define MIN_PATIENCE 1e7

static int64_t earliest_wake(const flit_fabric *f)
{
    int64_t wake = FLIT_NEVER;

    for (int v = 0; v < f->router_count; v++)
        wake = flit_earlier(wake, f->wake[v]);
    return wake;
}

/* 'message of transfer 3, flow 1, from g0 to g2' */
static void name_packet(const flit_fabric *f, const flit_job *job, const flit_lane *lane, char *buffer,
                        size_t size)
{
    int32_t owner = f->packets[lane->packet].owner;

    if (owner < 0 || !job) {
        snprintf(buffer, size, "a normal packet from %.40s",
                 banyan_topology_node_name(f->topology, -1 - owner));
        return;
    }
    snprintf(buffer, size, "transfer %d (flow %d) from %.40s to %.40s", (int)owner,
             job->schedule->transfers[owner].flow,
             banyan_topology_node_name(f->topology, job->schedule->transfers[owner].src),
             banyan_topology_node_name(f->topology, job->schedule->transfers[owner].dst));
}

/* Why the network stands still, or a packet in it. */
typedef enum { DEADLOCK, STARVATION } stop;

/* Of packets that wait for each other we name one that waits for a lane, if there is one. */
static int is_worse(const flit_lane *a, const flit_lane *b, stop why)
{
    int a_waits = why == DEADLOCK && a->state == LANE_WAITING;
    int b_waits = why == DEADLOCK && b->state == LANE_WAITING;

    return a_waits != b_waits ? a_waits : a->since < b->since;
}

/* The packet that has not moved for longest at a router, if any is there. Who waits for the rest of itself
 * does not starve here. */
static const flit_lane *longest_waiter(const flit_fabric *f, stop why, const flit_router **where)
{
    const flit_lane *longest = NULL;

    for (int v = 0; v < f->router_count; v++)
        for (int i = 0; i < f->routers[v].input_count << f->lane_shift; i++) {
            const flit_lane *lane = &f->routers[v].lanes[i];

            if (lane->packet < 0 || (why == STARVATION && !lane->available))
                continue;
            if (!longest || is_worse(lane, longest, why)) {
                longest = lane;
                *where = &f->routers[v];
            }
        }
    return longest;
}

static void name_wait(const flit_fabric *f, const flit_router *r, const flit_lane *lane, char *buffer,
                      size_t size)
{
    char link[128];

    if (lane->output >= r->link_outputs)
        snprintf(buffer, size, "at %.40s for the interface", banyan_topology_node_name(f->topology, r->node));
    else
        snprintf(buffer, size, "at %.40s for %s of link %.80s",
                 banyan_topology_node_name(f->topology, r->node),
                 lane->state == LANE_WAITING ? "a virtual channel" : "credits",
                 banyan_topology_link_name(
                     f->topology, f->topology->out_link[f->topology->out_first[r->node] + lane->output], link,
                     sizeof link));
}

static banyan_status fail_stuck(const flit_fabric *f, const flit_job *job, int64_t now, stop why,
                                banyan_error *err)
{
    const char *what = why == DEADLOCK ? "deadlock" : "starvation";
    const flit_router *where = NULL;
    const flit_lane *lane = longest_waiter(f, why, &where);
    char packet[160], wait[200];

    if (!lane)
        return banyan_fail(err, BANYAN_PLAN_INVALID,
                           "%s in cycle %lld: %zu transfers wait for data that nobody sends", what,
                           (long long)now, job ? job->left : 0);
    name_packet(f, job, lane, packet, sizeof packet);
    name_wait(f, where, lane, wait, sizeof wait);
    return banyan_fail(err, BANYAN_PLAN_INVALID, "%s in cycle %lld: %s has waited since cycle %lld %s", what,
                       (long long)now, packet, (long long)lane->since, wait);
}

/* When the last credit is home. */
static int64_t last_credit(const flit_fabric *f)
{
    int64_t last = 0;

    for (int v = 0; v < f->router_count; v++)
        for (int i = 0; i < f->routers[v].link_outputs << f->lane_shift; i++) {
            int64_t end = f->routers[v].output_lanes[i].credits.end;

            last = end - 1 > last ? end - 1 : last;
        }
    return last;
}

/* Cycles that a flit keeps the slowest link, at least one. */
static double slowest_interval(const flit_fabric *f)
{
    double interval = 1;

    for (int v = 0; v < f->router_count; v++)
        for (int o = 0; o < f->routers[v].link_outputs; o++)
            interval = fmax(interval, (double)f->routers[v].paces[o].interval / 65536);
    return interval;
}

/* Nobody waits for longer than all flits of the job would take one after the other; between other packets
 * each has its turn once a lane. */
static int64_t patience(const flit_fabric *f, const flit_job *job)
{
    double flits = MIN_PATIENCE;

    if (f->settings.patience_cycles)
        return f->settings.patience_cycles;
    for (size_t i = 0; job && i < job->schedule->transfer_count; i++) {
        int path = job->paths->path_of[i];

        flits += (double)flit_job_flits(job, (int)i) * (f->path_first[path + 1] - f->path_first[path]);
    }
    return (int64_t)fmin(flits * slowest_interval(f) * (f->normal_port >= 0 ? f->lane_count : 1), 0x1p60);
}

static int has_starved(const flit_fabric *f, int64_t now, int64_t allowed)
{
    const flit_router *where;
    const flit_lane *lane = longest_waiter(f, STARVATION, &where);

    return lane && lane->since < now - allowed;
}

/* Other traffic alone, where it suits. */
static banyan_status run_traffic(flit_fabric *f, int64_t until, banyan_error *err)
{
    int64_t allowed = patience(f, NULL);
    banyan_status status = flit_cycle_prepare(f, err);

    for (int64_t now = 0, end; !status && now < until; now = end) {
        end = flit_earlier(until, now + allowed + 1);
        flit_cycle_run(f, now, end);
        if (f->has_failed)
            status = banyan_fail_memory(err);
        else if (end < until && has_starved(f, end, allowed))
            status = fail_stuck(f, NULL, end, STARVATION, err);
    }
    return status;
}

/* Every few hundred windows of cycles, which take milliseconds. */
static void tell(const flit_job *job, int64_t window)
{
    if (job && job->settings.progress && window % 256 == 0)
        job->settings.progress(job->settings.context, job->packets_here, job->packets);
}

banyan_status flit_engine_run(flit_fabric *f, const flit_job *job, int64_t until, banyan_error *err)
{
    int64_t allowed = patience(f, job), look_at = allowed, now, last = -1, windows = 0;

    if (!job && flit_cycle_suits(f))
        return run_traffic(f, until, err);
    while ((now = earliest_wake(f)) < until && (!job || job->left)) {
        int64_t end;

        if (f->settings.is_plain)
            now = ++last;
        else
            f->horizon = now;
        last = now;
        end = flit_earlier(until, now + f->window);
        for (int v = 0; v < f->router_count; v++)
            if (f->wake[v] < end || f->settings.is_plain)
                f->wake[v] = flit_router_run(f, &f->routers[v], f->settings.is_plain ? now : f->wake[v], end);
        if (f->has_failed)
            return banyan_fail_memory(err);
        tell(job, ++windows);
        if (now >= look_at) {
            if (has_starved(f, now, allowed))
                return fail_stuck(f, job, now, STARVATION, err);
            look_at = now + allowed;
        }
    }
    if (job && job->left)
        return fail_stuck(f, job, last, DEADLOCK, err);
    f->last_credit = last_credit(f);
    return BANYAN_SUCCESS;
}
