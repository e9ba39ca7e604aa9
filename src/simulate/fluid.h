/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/fluid.h: the planner's judge: transfers as fluids that share links max-min fairly.
 *
 * A message leaves as soon as its elements are there, moves at the rate that fair sharing grants along its
 * route (messages with one route take turns, as they do on a real connection), arrives the route's
 * latency after its last byte has left, and is added or copied in the order that the schedule demands. Nobody
 * waits for rounds unless lockstep is asked for. Switches that can multicast or reduce act like workers whose
 * additions are free. docs/simulation.md tells more. */
#ifndef BANYAN_SIMULATE_FLUID_H
#define BANYAN_SIMULATE_FLUID_H

#include "schedule/schedule.h"
#include "schedule/timeline.h"
#include "topology/topology.h"

/* How transfers with the same route divide what they get of it. */
typedef enum {
    BANYAN_SERVICE_TURNS, /* one message moves, the others wait; simulate/turns.h says who is next */
    BANYAN_SERVICE_SHARED /* all of their messages move at once, equally fast */
} banyan_service;

typedef struct {
    size_t slice_bytes;        /* transfers travel in messages of this size; 0: chosen for the schedule */
    double overhead_s;         /* before the first byte of every message */
    double reduce_bytes_per_s; /* at which a worker adds, one message after the other; 0: at once */
    banyan_service service;
    int is_paced;      /* each route gets no more than the plan needs of it (simulate/paces.h) */
    int lockstep;      /* a round begins when the one before has ended everywhere */
    size_t work_limit; /* give up with UNSUPPORTED after that many steps; 0: never */
    void (*progress)(void *context, size_t done, size_t total); /* messages; NULL: none */
    void *context;
} banyan_fluid_options;

typedef struct {
    banyan_timeline *timeline;
    int link_count;
    double *link_bytes; /* by link: what it carried */
    double *link_peak;  /* by link: the largest share of its bandwidth that was in use at any moment */
    int bottleneck;     /* the link that was used the most, for its bandwidth, or -1 */
    double busiest;     /* share of the total time at full bandwidth that the bottleneck's bytes take */
    double utilization; /* the same for all links together, by bandwidth */
    size_t message_count, work;
} banyan_fluid_result;

/* options may be NULL. INVALID_ARGUMENT with a sentence where the schedule does not fit the topology. The
 * caller hands the result to banyan_fluid_fini. */
banyan_status banyan_fluid(const banyan_schedule *schedule, const banyan_topology *topology, size_t bytes,
                           const banyan_fluid_options *options, banyan_fluid_result *out, banyan_error *err);
void banyan_fluid_fini(banyan_fluid_result *result);

#endif
