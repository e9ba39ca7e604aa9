/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/slices.h: in how many messages a transfer travels, and which messages one must wait for.
 *
 * A transfer of b bytes travels as ceil(b / slice) messages of equal size, in the order of the vector, one
 * after the other. What holds for transfers holds element by element, so a message waits for those messages
 * of an earlier transfer that hold the same elements. */
#ifndef BANYAN_SIMULATE_SLICES_H
#define BANYAN_SIMULATE_SLICES_H

#include "simulate/paths.h"

#define BANYAN_SLICE_BYTES 131072 /* where slices help and nobody says how large */

typedef struct {
    double bytes; /* of each message */
    int count;
} banyan_slices;

/* By transfer; the caller frees. slice_bytes 0: chosen for the schedule. *total: messages in all. */
banyan_status banyan_slices_cut(const banyan_schedule *schedule, const banyan_topology *topology,
                                const banyan_paths *paths, size_t bytes, size_t slice_bytes,
                                banyan_slices **out, size_t *total, banyan_error *err);

/* Seconds that the rounds would take one after the other: in each the fullest link, and the longest
 * latency. */
banyan_status banyan_slices_time_rounds(const banyan_schedule *schedule, const banyan_topology *topology,
                                        const banyan_paths *paths, size_t bytes, double *out_s,
                                        banyan_error *err);

/* Whether flows meet on a path that has its links for itself: whole messages of theirs may get out of step
 * with the rounds, since nobody waits for rounds. */
banyan_status banyan_slices_find_meeting(const banyan_schedule *schedule, const banyan_topology *topology,
                                         const banyan_paths *paths, int *flows_meet, banyan_error *err);

/* How many messages of the transfer 'before' must be done for message number k (from 0) of the other. */
int banyan_slices_needed(const banyan_schedule *schedule, const banyan_slices *slices, int transfer, int k,
                         int before);

#endif
