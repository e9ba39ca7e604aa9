/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flows.c: flows of each path in order, by the meter's reading at which they are through
 * or by their turns, and an alarm for each path, set to when its next flow is through. Ties go to the lower
 * number, so that the order never depends on anything but the input.
 *
 * A path that shares none of its links has all of their bandwidth all the time, so sharing need not hear of
 * its flows: on a ring or a torus no rate is ever computed anew. Cost: O(log) a flow and a change of
 * speed, and the flows of its path that a flow gets in front of. */
#include "simulate/flows.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "simulate/alarms.h"

typedef struct {
    double bytes;   /* in turn only */
    double since_s; /* it waits or moves */
} flow;

/* A flow among those of its path. */
typedef struct {
    double key; /* shared: the meter's reading at which it is through; in turn: its turn */
    int transfer;
} waiter;

typedef struct {
    double meter, read_s; /* the reading at that time */
    double speed;         /* of the meter */
    double until;         /* the reading at which the next flow is through */
    double alone;         /* the bandwidth of a path that shares no link, else 0 */
    uint32_t first, last; /* its flows in order: the first is through next, or in turn goes next */
    uint32_t places_begin, places_end;
    double moving_key; /* in turn: the turn of the flow that moves */
    int moving;        /* that flow, or -1 */
    int count;
    unsigned char is_used, in_turn;
    unsigned char
        is_waiting; /* in turn: in the list of paths that the next call has to look at; moving is not
                                 certain yet */
} lane;

struct banyan_fluid_flows {
    const banyan_paths *paths;
    banyan_sharing *sharing;
    flow *flows;     /* by transfer */
    lane *lanes;     /* by path */
    waiter *waiters; /* by path, in its places */
    banyan_alarms alarms;
    int *waiting, waiting_count;
    int finished; /* the path whose flow has just been taken out and whose alarm is stale, or -1 */
};

/* As many places for each path as it has transfers. */
static void give_places(banyan_fluid_flows *f, size_t transfer_count)
{
    uint32_t place = 0;

    for (size_t i = 0; i < transfer_count; i++)
        f->lanes[f->paths->path_of[i]].places_end++;
    for (int p = 0; p < f->paths->path_count; p++) {
        lane *l = &f->lanes[p];

        l->places_begin = l->first = l->last = place;
        l->places_end = place += l->places_end;
    }
}

banyan_status banyan_fluid_flows_create(const banyan_topology *topology, const banyan_paths *paths,
                                        size_t transfer_count, int in_turn, banyan_fluid_flows **out,
                                        banyan_error *err)
{
    banyan_fluid_flows *f = banyan_alloc(1, sizeof *f);
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (!f)
        return banyan_fail_memory(err);
    f->paths = paths;
    f->finished = -1;
    f->flows = banyan_alloc(transfer_count, sizeof *f->flows);
    f->lanes = banyan_alloc((size_t)paths->path_count, sizeof *f->lanes);
    f->waiters = banyan_alloc(transfer_count, sizeof *f->waiters);
    f->waiting = banyan_alloc((size_t)paths->path_count, sizeof *f->waiting);
    status =
        f->flows && f->lanes && f->waiters && f->waiting && banyan_alarms_init(&f->alarms, paths->path_count)
            ? banyan_sharing_create(topology, paths, &f->sharing, err)
            : banyan_fail_memory(err);
    if (status) {
        banyan_fluid_flows_destroy(f);
        return status;
    }
    give_places(f, transfer_count);
    for (int i = 0; i < paths->path_count; i++) {
        f->lanes[i].moving = -1;
        f->lanes[i].alone = banyan_sharing_alone(f->sharing, i);
        f->lanes[i].in_turn = in_turn && f->lanes[i].alone > 0;
    }
    *out = f;
    return BANYAN_SUCCESS;
}

void banyan_fluid_flows_destroy(banyan_fluid_flows *f)
{
    if (!f)
        return;
    banyan_sharing_destroy(f->sharing);
    banyan_alarms_fini(&f->alarms);
    banyan_free(f->flows);
    banyan_free(f->lanes);
    banyan_free(f->waiters);
    banyan_free(f->waiting);
    banyan_free(f);
}

/* --- flows of one path ---------------------------------------------------------------------------- */

static inline int comes_before(waiter a, waiter b)
{
    return a.key < b.key || (a.key == b.key && a.transfer < b.transfer);
}

/* Enters a flow at its place. Most come last: who has just sent has its next turn after the others. */
static inline void enter(banyan_fluid_flows *f, lane *l, double key, int transfer)
{
    waiter *waiters = f->waiters, w = {key, transfer};
    uint32_t i;

    if (l->last == l->places_end) {
        memmove(&waiters[l->places_begin], &waiters[l->first], (l->last - l->first) * sizeof *waiters);
        l->last -= l->first - l->places_begin;
        l->first = l->places_begin;
    }
    for (i = l->last++; i > l->first && comes_before(w, waiters[i - 1]); i--)
        waiters[i] = waiters[i - 1];
    waiters[i] = w;
}

static inline int has_waiters(const lane *l)
{
    return l->first != l->last;
}

/* --- one path ------------------------------------------------------------------------------------- */

static void read_meter(lane *l, double now_s)
{
    if (now_s <= l->read_s)
        return;
    l->meter += l->speed * (now_s - l->read_s);
    l->read_s = now_s;
}

static void set_alarm(banyan_fluid_flows *f, int path)
{
    const lane *l = &f->lanes[path];

    banyan_alarms_set(&f->alarms, path,
                      l->count && l->speed > 0 ? l->read_s + (l->until - l->meter) / l->speed : HUGE_VAL);
}

/* The speed of each flow that fair sharing grants. */
static double granted(const banyan_fluid_flows *f, int path)
{
    const lane *l = &f->lanes[path];

    if (!l->count)
        return 0;
    if (l->alone > 0)
        return l->alone / l->count;
    return banyan_sharing_rate(f->sharing, path);
}

static void change_count(banyan_fluid_flows *f, int path, int change)
{
    lane *l = &f->lanes[path];

    l->count += change;
    if (l->alone <= 0)
        banyan_sharing_change(f->sharing, path, change);
    else if (!l->is_used)
        banyan_sharing_use_alone(f->sharing, path);
    l->is_used = 1;
}

/* --- shared --------------------------------------------------------------------------------------- */

/* What is through next, and how fast: at the speed of now, until rates are computed anew. */
static void go_on_sharing(banyan_fluid_flows *f, int path)
{
    lane *l = &f->lanes[path];

    if (has_waiters(l))
        l->until = f->waiters[l->first].key;
    l->speed = granted(f, path);
}

static void start_shared(banyan_fluid_flows *f, int transfer, double bytes, int path, double now_s)
{
    lane *l = &f->lanes[path];

    if (has_waiters(l)) {
        read_meter(l, now_s);
    } else { /* idle: begins anew, so that sums do not grow for ever */
        l->meter = 0;
        l->read_s = now_s;
    }
    f->flows[transfer] = (flow){bytes, now_s};
    enter(f, l, l->meter + bytes, transfer);
    change_count(f, path, 1);
    go_on_sharing(f, path);
    set_alarm(f, path);
    if (f->finished == path)
        f->finished = -1;
}

static int finish_shared(banyan_fluid_flows *f, int path)
{
    int transfer = f->waiters[f->lanes[path].first++].transfer;

    change_count(f, path, -1);
    go_on_sharing(f, path);
    f->finished = path;
    return transfer;
}

/* --- in turn -------------------------------------------------------------------------------------- */

static void look_at_settling(banyan_fluid_flows *f, int path)
{
    if (f->lanes[path].is_waiting)
        return;
    f->lanes[path].is_waiting = 1;
    f->waiting[f->waiting_count++] = path;
}

static void start_in_turn(banyan_fluid_flows *f, int transfer, double bytes, double turn, int path,
                          double now_s)
{
    lane *l = &f->lanes[path];

    f->flows[transfer] = (flow){bytes, now_s};
    enter(f, l, turn, transfer);
    change_count(f, path, 1);
    if (l->moving < 0)
        look_at_settling(f, path);
}

static int finish_in_turn(banyan_fluid_flows *f, int path)
{
    lane *l = &f->lanes[path];
    int transfer = l->moving;

    l->moving = -1;
    l->count--;
    f->finished = path;
    look_at_settling(f, path);
    return transfer;
}

/* The next flow begins when the one before was through, or when it came, if that was later. */
static void give_turn(banyan_fluid_flows *f, int path)
{
    lane *l = &f->lanes[path];
    flow *next;

    if (!has_waiters(l)) {
        banyan_alarms_set(&f->alarms, path, HUGE_VAL);
        return;
    }
    l->moving_key = f->waiters[l->first].key;
    l->moving = f->waiters[l->first++].transfer;
    next = &f->flows[l->moving];
    if (next->since_s < l->read_s)
        next->since_s = l->read_s;
    banyan_alarms_set(&f->alarms, path, next->since_s + next->bytes / l->alone);
}

/* Whoever went on at once gives way to those who have come at the same moment and are before it, so that the
 * choice does not depend on who came first. */
static void confirm_turn(banyan_fluid_flows *f, int path)
{
    lane *l = &f->lanes[path];
    waiter early = {l->moving_key, l->moving};

    l->is_waiting = 0;
    if (early.transfer >= 0 && (!has_waiters(l) || comes_before(early, f->waiters[l->first])))
        return;
    l->moving = -1;
    if (early.transfer >= 0)
        enter(f, l, early.key, early.transfer);
    give_turn(f, path);
}

/* --- what the engine calls ------------------------------------------------------------------------ */

void banyan_fluid_flows_start(banyan_fluid_flows *f, int transfer, double bytes, double turn, double now_s)
{
    int path = f->paths->path_of[transfer];

    if (f->lanes[path].in_turn)
        start_in_turn(f, transfer, bytes, turn, path, now_s);
    else
        start_shared(f, transfer, bytes, path, now_s);
}

/* A path whose flow is through mostly has another at once, so its alarm waits for that one. */
static void go_on(banyan_fluid_flows *f, int path)
{
    if (!f->lanes[path].in_turn)
        set_alarm(f, path);
    else if (f->lanes[path].moving < 0)
        give_turn(f, path);
}

double banyan_fluid_flows_next_s(banyan_fluid_flows *f)
{
    if (f->finished >= 0)
        go_on(f, f->finished);
    f->finished = -1;
    return banyan_alarms_next_s(&f->alarms);
}

int banyan_fluid_flows_finish(banyan_fluid_flows *f)
{
    int path = banyan_alarms_first(&f->alarms);
    lane *l = &f->lanes[path];

    l->read_s = banyan_alarms_next_s(&f->alarms);
    l->meter = l->until;
    return l->in_turn ? finish_in_turn(f, path) : finish_shared(f, path);
}

double banyan_fluid_flows_began_s(const banyan_fluid_flows *f, int transfer)
{
    return f->flows[transfer].since_s;
}

void banyan_fluid_flows_solve(banyan_fluid_flows *f, double now_s)
{
    const int *changed;
    int count;

    for (int i = 0; i < f->waiting_count; i++)
        confirm_turn(f, f->waiting[i]);
    f->waiting_count = 0;
    count = banyan_sharing_solve(f->sharing, &changed);
    for (int i = 0; i < count; i++) {
        lane *l = &f->lanes[changed[i]];
        double speed = granted(f, changed[i]);

        if (l->speed != speed)
            read_meter(l, now_s);
        l->speed = speed;
        set_alarm(f, changed[i]);
    }
}

const banyan_sharing *banyan_fluid_flows_sharing(const banyan_fluid_flows *f)
{
    return f->sharing;
}
