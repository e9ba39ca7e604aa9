/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/turns.h: who goes first among messages that wait for the same path.
 *
 * Trees that share a link have different shares of the vector. They finish together if each of them has
 * always sent the same part of what it has for this path, so the message goes first after which the least
 * part of its flow will have been sent over the path. Within a flow that is the order of rounds. */
#ifndef BANYAN_SIMULATE_TURNS_H
#define BANYAN_SIMULATE_TURNS_H

#include "simulate/paths.h"

/* Of a transfer: the part of its flow on its path that comes before it, and the part that it is. */
typedef struct {
    double before, part;
} banyan_turn;

/* By transfer; the caller frees. */
banyan_status banyan_turns_find(const banyan_schedule *schedule, const banyan_paths *paths, banyan_turn **out,
                                banyan_error *err);

#endif
