/* SPDX-License-Identifier: Apache-2.0 */
/* train/traffic.h: the evaluator: all-reduces in flight, from event to event.
 * It is the one judge of all policies, and small enough to be carried along by a search. */
#ifndef BANYAN_TRAIN_TRAFFIC_H
#define BANYAN_TRAIN_TRAFFIC_H

#include "train/decision.h"

typedef struct {
    double wire_s; /* when its start-up is over */
    double work_s; /* what is left of it, in seconds on an empty network */
    int group;
} banyan_flight;

typedef struct {
    double now_s;
    int count;
    banyan_flight flights[BANYAN_MAX_STREAMS]; /* in the order of their starts */
} banyan_traffic;

/* Lets time pass until it is until_s or later and at most this many are in flight. ends_s, by group, may be
 * NULL. */
void banyan_traffic_wait(banyan_traffic *traffic, const banyan_cost *cost, double until_s, int most_in_flight,
                         double *ends_s);

/* Waits as level asks, then starts the group at traffic->now_s. */
void banyan_traffic_send(banyan_traffic *traffic, const banyan_cost *cost, int group, double bytes,
                         double ready_s, int level, double *ends_s);

/* When the last one in flight ends; or now. The traffic itself stays as it is. */
double banyan_traffic_end(const banyan_traffic *traffic, const banyan_cost *cost);

/* Sends the units from first up to end as one group. */
void banyan_traffic_send_units(banyan_traffic *traffic, const banyan_cost *cost,
                               const banyan_grouping_units *units, int first, int end, int level);

/* When all groups of the cuts have ended. */
double banyan_grouping_cuts_end(const banyan_grouping_cuts *cuts, const banyan_grouping_units *units,
                                const banyan_cost *cost);

/* What no grouping of these units with that many streams can beat: everything from unit i on still has to
 * start up and pass after i is ready, at the best joint rate; and each unit has to pass alone. */
double banyan_grouping_units_bound(const banyan_grouping_units *units, const banyan_cost *cost, int streams);

/* The best that c <= streams together do, in all-reduces at full speed. */
double banyan_cost_gain(const banyan_cost *cost, int streams);

/* train/floor.c: how long bytes take at the least from when the first of them is ready, however they are
 * grouped, with each other or with others of the most_bytes that there are. */
enum { BANYAN_FLOOR_MIXTURES = 17 };

typedef struct {
    double start_s[BANYAN_FLOOR_MIXTURES], s_per_byte[BANYAN_FLOOR_MIXTURES]; /* each is a bound */
} banyan_floor;

void banyan_floor_find(const banyan_cost *cost, int streams, double most_bytes, banyan_floor *out);
double banyan_floor_seconds(const banyan_floor *floor, double bytes);

#endif
