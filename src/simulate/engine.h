/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/engine.h: the fluid simulator's inside: the life of messages, from waiting to applied. */
#ifndef BANYAN_SIMULATE_ENGINE_H
#define BANYAN_SIMULATE_ENGINE_H

#include <stdint.h>

#include "schedule/dependencies.h"
#include "simulate/events.h"
#include "simulate/flows.h"
#include "simulate/fluid.h"
#include "simulate/slices.h"
#include "simulate/turns.h"

/* What a transfer waits for: parts of one list of transfers. */
typedef enum {
    BANYAN_BEFORE_SEND,
    BANYAN_BEFORE_APPLY,
    BANYAN_SENT_BEFORE_APPLY,
    BANYAN_BEFORE_ALL
} banyan_before;

/* A transfer sends message number 'sent' next and applies number 'applied' next. It waits for at most one
 * other transfer to send, and for one to apply; who waits for it hangs in one of its two lists. All that a
 * message asks of a transfer lies in one line of the cache: there are thousands, met in no order. */
typedef struct {
    double bytes; /* of each message */
    int count;    /* of messages */
    int path;
    int sent, arrived, applied;
    int waits_for_sent, waits_for_applied;  /* first of those who wait for it, or -1 */
    int next[2];                            /* in such a list: as one who wants to send, to apply */
    uint32_t before[BANYAN_BEFORE_ALL + 1]; /* in the engine's list: where each part begins, and the end */
    unsigned char is_applying;              /* its next message is being added, or waits for its turn */
    unsigned char is_carried;               /* there are bytes, and links to move them over */
    unsigned char is_aligned; /* all it waits for are cut like itself: message k waits for messages k */
    unsigned char is_added;   /* adding it takes time */
} banyan_transfer_state;

typedef struct {
    double latency_s;
    double bytes; /* that it carried */
} banyan_path_state;

typedef struct {
    const banyan_schedule *schedule;
    const banyan_topology *topology;
    const banyan_fluid_options *options;
    const banyan_dependencies *dependencies;
    const banyan_paths *paths;
    const banyan_slices *slices;
    size_t message_count;

    banyan_fluid_flows *flows;
    banyan_turn *turns; /* by transfer; NULL: messages share their path */
    banyan_events events;
    banyan_transfer_state *transfers;
    void *transfer_memory;
    int *before;                                 /* what transfers wait for */
    banyan_path_state *path;                     /* by path */
    double *adder_free_s;                        /* by node */
    int ready_first, ready_last;                 /* those to look at again, in order */
    size_t applied_count, round_end, round_left; /* lockstep: the current round ends before that transfer */
    double now_s;
    double shortest_s, window_s;  /* the shortest message; what counts as simultaneous */
    size_t seen_count, seen_work; /* messages and steps when the window was last looked at */
    banyan_timeline *timeline;
    int is_out_of_memory;
} banyan_fluid_engine;

/* Fills timeline and the bytes of paths. Everything above message_count is the caller's and set before; the
 * rest is made by init. */
banyan_status banyan_fluid_engine_init(banyan_fluid_engine *engine, banyan_error *err);
banyan_status banyan_fluid_engine_run(banyan_fluid_engine *engine, banyan_error *err);
void banyan_fluid_engine_fini(banyan_fluid_engine *engine);

#endif
