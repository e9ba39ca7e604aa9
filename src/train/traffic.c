/* SPDX-License-Identifier: Apache-2.0 */
/* train/traffic.c: the evaluator: all-reduces in flight, from event to event.
 *
 *     [ start-up a |======== on the wire: work / speed[c] ========]
 *
 * Groups start in their order: group g at the first moment, not before its last tensor is ready and not
 * before group g-1 started, at which at most level[g] earlier ones are in flight. Start-up takes time but no
 * bandwidth. Of c groups on the wire each proceeds at speed[c]. Between two events (a start-up is over, a
 * group ends, the moment that was asked for) all speeds are constant, so the walk is exact: no steps, no
 * pairwise penalties. A group costs at most three events.
 *
 * A level below the number of streams is how one-after-the-other (0), fully simultaneous (streams - 1) and
 * everything between are said in one word. */
#include "train/traffic.h"

#include <math.h>
#include <string.h>

/* The next thing that happens by itself. */
typedef struct {
    double when_s;
    int ending;  /* the flight that ends then, or -1: a start-up is over */
    int on_wire; /* until then */
} event;

/* Plain comparisons: this is where a search spends its time, and fmin is a call. */
static double earlier(double a, double b)
{
    return a < b ? a : b;
}

static event next_event(const banyan_traffic *traffic, const banyan_cost *cost)
{
    event next = {INFINITY, -1, 0};
    double end_s;
    int first = -1;

    for (int i = 0; i < traffic->count; i++) {
        const banyan_flight *flight = &traffic->flights[i];

        if (flight->wire_s > traffic->now_s) {
            next.when_s = earlier(next.when_s, flight->wire_s);
            continue;
        }
        next.on_wire++;
        if (first < 0 || flight->work_s < traffic->flights[first].work_s)
            first = i;
    }
    if (first < 0)
        return next;
    end_s = traffic->now_s + traffic->flights[first].work_s / cost->speed[next.on_wire];
    if (end_s <= next.when_s) {
        next.when_s = end_s;
        next.ending = first;
    }
    return next;
}

static void pass(banyan_traffic *traffic, double to_s, double speed)
{
    double done_s = (to_s - traffic->now_s) * speed;

    for (int i = 0; i < traffic->count; i++) {
        banyan_flight *flight = &traffic->flights[i];

        if (flight->wire_s <= traffic->now_s)
            flight->work_s = flight->work_s > done_s ? flight->work_s - done_s : 0;
    }
    traffic->now_s = to_s;
}

static void land(banyan_traffic *traffic, int i, double *ends_s)
{
    if (ends_s)
        ends_s[traffic->flights[i].group] = traffic->now_s;
    traffic->count--;
    memmove(&traffic->flights[i], &traffic->flights[i + 1],
            (size_t)(traffic->count - i) * sizeof *traffic->flights);
}

void banyan_traffic_wait(banyan_traffic *traffic, const banyan_cost *cost, double until_s, int most_in_flight,
                         double *ends_s)
{
    while (traffic->now_s < until_s || traffic->count > most_in_flight) {
        event next = next_event(traffic, cost);

        if (!traffic->count) {
            traffic->now_s = until_s;
            return;
        }
        if (traffic->now_s < until_s && until_s < next.when_s) {
            pass(traffic, until_s, cost->speed[next.on_wire]);
            continue;
        }
        pass(traffic, next.when_s, cost->speed[next.on_wire]);
        if (next.ending >= 0)
            land(traffic, next.ending, ends_s);
    }
}

void banyan_traffic_send(banyan_traffic *traffic, const banyan_cost *cost, int group, double bytes,
                         double ready_s, int level, double *ends_s)
{
    banyan_traffic_wait(traffic, cost, ready_s, level, ends_s);
    traffic->flights[traffic->count++] =
        (banyan_flight){traffic->now_s + cost->start_s, banyan_cost_work(cost, bytes), group};
}

double banyan_traffic_end(const banyan_traffic *traffic, const banyan_cost *cost)
{
    banyan_traffic rest = *traffic;

    banyan_traffic_wait(&rest, cost, rest.now_s, 0, NULL);
    return rest.now_s;
}

void banyan_traffic_send_units(banyan_traffic *traffic, const banyan_cost *cost,
                               const banyan_grouping_units *units, int first, int end, int level)
{
    banyan_traffic_send(traffic, cost, 0, units->bytes_before[end] - units->bytes_before[first],
                        units->ready_s[end - 1], level, NULL);
}

double banyan_grouping_cuts_end(const banyan_grouping_cuts *cuts, const banyan_grouping_units *units,
                                const banyan_cost *cost)
{
    banyan_traffic traffic = {.now_s = 0};
    int first = 0;

    for (int g = 0; g < cuts->count; first = cuts->cuts[g++].end) {
        const banyan_cut *cut = &cuts->cuts[g];

        banyan_traffic_send(&traffic, cost, g, units->bytes_before[cut->end] - units->bytes_before[first],
                            fmax(cut->release_s, units->ready_s[cut->end - 1]), cut->level, NULL);
    }
    return banyan_traffic_end(&traffic, cost);
}

double banyan_grouping_units_bound(const banyan_grouping_units *units, const banyan_cost *cost, int streams)
{
    double bound = 0, whole = units->bytes_before[units->count];
    banyan_floor floor;

    banyan_floor_find(cost, streams, whole, &floor);
    for (int i = 0; i < units->count; i++) {
        double alone_s = banyan_cost_seconds(cost, units->bytes_before[i + 1] - units->bytes_before[i]);
        double rest_s = banyan_floor_seconds(&floor, whole - units->bytes_before[i]);

        bound = fmax(bound, units->ready_s[i] + fmax(alone_s, rest_s));
    }
    return bound;
}
