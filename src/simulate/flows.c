/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flows.c: a pairing heap of flows for each path, by the meter's reading at which they are through,
 * and one heap of all moving paths, by the time at which their first flow is. Ties go to the lower
 * number, so that the order never depends on anything but the input. Cost: O(log) a flow and a rate. */
#include "simulate/flows.h"

#include <math.h>

#include "core/alloc.h"

typedef struct {
    double until; /* the meter's reading at which it is through */
    int child, sibling;
} flow;

typedef struct {
    double meter, read_s; /* the reading at that time */
    int first;            /* the flow that is through first, or -1 */
    int place;            /* in the heap of paths, or -1 */
} lane;

typedef struct {
    double time_s;
    int path;
} alarm;

struct banyan_flows {
    const banyan_paths *paths;
    banyan_sharing *sharing;
    flow *flows;   /* by transfer */
    lane *lanes;   /* by path */
    alarm *alarms; /* the heap of paths */
    int alarm_count;
};

banyan_status banyan_flows_create(const banyan_topology *topology, const banyan_paths *paths,
                                  size_t transfer_count, banyan_flows **out, banyan_error *err)
{
    banyan_flows *f = banyan_alloc(1, sizeof *f);
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (!f)
        return banyan_fail_memory(err);
    f->paths = paths;
    f->flows = banyan_alloc(transfer_count, sizeof *f->flows);
    f->lanes = banyan_alloc((size_t)paths->path_count, sizeof *f->lanes);
    f->alarms = banyan_alloc((size_t)paths->path_count, sizeof *f->alarms);
    status = f->flows && f->lanes && f->alarms ? banyan_sharing_create(topology, paths, &f->sharing, err)
                                               : banyan_fail_memory(err);
    if (status) {
        banyan_flows_destroy(f);
        return status;
    }
    for (int i = 0; i < paths->path_count; i++)
        f->lanes[i].first = f->lanes[i].place = -1;
    *out = f;
    return BANYAN_SUCCESS;
}

void banyan_flows_destroy(banyan_flows *f)
{
    if (!f)
        return;
    banyan_sharing_destroy(f->sharing);
    banyan_free(f->flows);
    banyan_free(f->lanes);
    banyan_free(f->alarms);
    banyan_free(f);
}

/* --- flows of one path ---------------------------------------------------------------------------- */

static int is_through_before(const banyan_flows *f, int a, int b)
{
    return f->flows[a].until < f->flows[b].until || (f->flows[a].until == f->flows[b].until && a < b);
}

static int join(banyan_flows *f, int a, int b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    if (is_through_before(f, b, a)) {
        int swap = a;

        a = b;
        b = swap;
    }
    f->flows[b].sibling = f->flows[a].child;
    f->flows[a].child = b;
    return a;
}

/* The children of a flow that is gone, joined in pairs and then from the last pair to the first. */
static int join_children(banyan_flows *f, int child)
{
    int pairs = -1, all = -1;

    while (child >= 0) {
        int second = f->flows[child].sibling, rest = second >= 0 ? f->flows[second].sibling : -1;
        int pair = join(f, child, second);

        f->flows[pair].sibling = pairs;
        pairs = pair;
        child = rest;
    }
    while (pairs >= 0) {
        int rest = f->flows[pairs].sibling;

        all = join(f, all, pairs);
        pairs = rest;
    }
    return all;
}

static void add_flow(banyan_flows *f, int transfer, double bytes)
{
    lane *l = &f->lanes[f->paths->path_of[transfer]];

    f->flows[transfer] = (flow){l->meter + bytes, -1, -1};
    l->first = join(f, l->first, transfer);
}

/* --- paths by time -------------------------------------------------------------------------------- */

static int rings_before(alarm a, alarm b)
{
    return a.time_s < b.time_s || (a.time_s == b.time_s && a.path < b.path);
}

static void place(banyan_flows *f, int at, alarm a)
{
    f->alarms[at] = a;
    f->lanes[a.path].place = at;
}

/* The heap has four children a place: half as deep as one of two, and they lie side by side. */
static int first_child(const banyan_flows *f, int at)
{
    int first = 4 * at + 1, last = first + 4 < f->alarm_count ? first + 4 : f->alarm_count, best = first;

    for (int child = first + 1; child < last; child++)
        if (rings_before(f->alarms[child], f->alarms[best]))
            best = child;
    return best;
}

static void sink(banyan_flows *f, int at, alarm a)
{
    while (4 * at + 1 < f->alarm_count) {
        int child = first_child(f, at);

        if (!rings_before(f->alarms[child], a))
            break;
        place(f, at, f->alarms[child]);
        at = child;
    }
    place(f, at, a);
}

static void rise(banyan_flows *f, int at, alarm a)
{
    for (; at > 0 && rings_before(a, f->alarms[(at - 1) / 4]); at = (at - 1) / 4)
        place(f, at, f->alarms[(at - 1) / 4]);
    place(f, at, a);
}

static void move_alarm(banyan_flows *f, int at, alarm a)
{
    if (at > 0 && rings_before(a, f->alarms[(at - 1) / 4]))
        rise(f, at, a);
    else
        sink(f, at, a);
}

static void silence(banyan_flows *f, int path)
{
    int at = f->lanes[path].place;
    alarm last;

    if (at < 0)
        return;
    f->lanes[path].place = -1;
    last = f->alarms[--f->alarm_count];
    if (at < f->alarm_count)
        move_alarm(f, at, last);
}

/* Sets or moves the time at which the path's first flow is through. */
static void set_alarm(banyan_flows *f, int path)
{
    lane *l = &f->lanes[path];
    double rate = banyan_sharing_rate(f->sharing, path);

    if (l->first < 0 || !(rate > 0)) {
        silence(f, path);
        return;
    }
    if (l->place < 0)
        l->place = f->alarm_count++;
    move_alarm(f, l->place, (alarm){l->read_s + (f->flows[l->first].until - l->meter) / rate, path});
}

/* --- what the engine calls ------------------------------------------------------------------------ */

static void read_meter(lane *l, double rate, double now_s)
{
    if (now_s <= l->read_s)
        return;
    l->meter += rate * (now_s - l->read_s);
    l->read_s = now_s;
}

void banyan_flows_start(banyan_flows *f, int transfer, double bytes, double now_s)
{
    int path = f->paths->path_of[transfer];
    lane *l = &f->lanes[path];

    if (l->first < 0) { /* idle: begins anew, so that sums do not grow for ever */
        l->meter = 0;
        l->read_s = now_s;
    } else {
        read_meter(l, banyan_sharing_rate(f->sharing, path), now_s);
    }
    add_flow(f, transfer, bytes);
    banyan_sharing_change(f->sharing, path, 1);
    set_alarm(f, path);
}

double banyan_flows_next_s(const banyan_flows *f)
{
    return f->alarm_count ? f->alarms[0].time_s : HUGE_VAL;
}

int banyan_flows_finish(banyan_flows *f)
{
    int path = f->alarms[0].path, transfer = f->lanes[path].first;
    lane *l = &f->lanes[path];

    l->read_s = f->alarms[0].time_s;
    l->meter = f->flows[transfer].until;
    l->first = join_children(f, f->flows[transfer].child);
    banyan_sharing_change(f->sharing, path, -1);
    set_alarm(f, path);
    return transfer;
}

void banyan_flows_settle(banyan_flows *f, double now_s)
{
    const int *changed;
    int count = banyan_sharing_settle(f->sharing, &changed);

    for (int i = 0; i < count; i++) {
        double before = banyan_sharing_rate_before(f->sharing, changed[i]);

        if (before != banyan_sharing_rate(f->sharing, changed[i]))
            read_meter(&f->lanes[changed[i]], before, now_s);
        set_alarm(f, changed[i]);
    }
}

const banyan_sharing *banyan_flows_sharing(const banyan_flows *f)
{
    return f->sharing;
}
