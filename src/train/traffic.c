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

/* The flight whose work is done first, among those on the wire; -1: none is. */
static int first_to_end(const banyan_traffic *traffic, int *on_wire)
{
    int first = -1;

    *on_wire = 0;
    for (int i = 0; i < traffic->count; i++)
        if (traffic->flights[i].wire_s <= traffic->now_s) {
            ++*on_wire;
            if (first < 0 || traffic->flights[i].work_s < traffic->flights[first].work_s)
                first = i;
        }
    return first;
}

static double next_on_wire(const banyan_traffic *traffic)
{
    double next = INFINITY;

    for (int i = 0; i < traffic->count; i++)
        if (traffic->flights[i].wire_s > traffic->now_s && traffic->flights[i].wire_s < next)
            next = traffic->flights[i].wire_s;
    return next;
}

static void pass(banyan_traffic *traffic, double to_s, double speed)
{
    double done_s = (to_s - traffic->now_s) * speed;

    for (int i = 0; i < traffic->count; i++)
        if (traffic->flights[i].wire_s <= traffic->now_s)
            traffic->flights[i].work_s = fmax(0, traffic->flights[i].work_s - done_s);
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
        int on_wire, ending = first_to_end(traffic, &on_wire);
        double next_s = next_on_wire(traffic), end_s = INFINITY;

        if (!traffic->count) {
            traffic->now_s = until_s;
            return;
        }
        if (ending >= 0)
            end_s = traffic->now_s + traffic->flights[ending].work_s / cost->speed[on_wire];
        if (traffic->now_s < until_s)
            next_s = fmin(next_s, until_s);
        pass(traffic, fmin(end_s, next_s), cost->speed[on_wire]);
        if (end_s <= next_s)
            land(traffic, ending, ends_s);
    }
}

void banyan_traffic_send(banyan_traffic *traffic, const banyan_cost *cost, int group, double bytes,
                         double ready_s, int level, double *ends_s)
{
    banyan_traffic_wait(traffic, cost, ready_s, level, ends_s);
    traffic->flights[traffic->count++] =
        (banyan_flight){traffic->now_s + cost->start_s, bytes * cost->s_per_byte, group};
}

double banyan_traffic_end(const banyan_traffic *traffic, const banyan_cost *cost)
{
    banyan_traffic rest = *traffic;

    banyan_traffic_wait(&rest, cost, rest.now_s, 0, NULL);
    return rest.now_s;
}

void banyan_traffic_send_units(banyan_traffic *traffic, const banyan_cost *cost, const banyan_units *units,
                               int first, int end, int level)
{
    banyan_traffic_send(traffic, cost, 0, units->bytes_before[end] - units->bytes_before[first],
                        units->ready_s[end - 1], level, NULL);
}

double banyan_cuts_end(const banyan_cuts *cuts, const banyan_units *units, const banyan_cost *cost)
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

double banyan_cost_gain(const banyan_cost *cost, int streams)
{
    double gain = 1;

    for (int c = 2; c <= streams; c++)
        gain = fmax(gain, c * cost->speed[c]);
    return gain;
}

double banyan_units_bound(const banyan_units *units, const banyan_cost *cost, int streams)
{
    double gain = banyan_cost_gain(cost, streams), bound = 0, whole = units->bytes_before[units->count];

    for (int i = 0; i < units->count; i++) {
        double alone = units->bytes_before[i + 1] - units->bytes_before[i];
        double rest = (whole - units->bytes_before[i]) / gain;

        bound = fmax(bound, units->ready_s[i] + cost->start_s + fmax(alone, rest) * cost->s_per_byte);
    }
    return bound;
}
