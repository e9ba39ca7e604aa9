/* SPDX-License-Identifier: Apache-2.0 */
/* execute/sums.h: what an all-reduce adds up, in which order, whoever does it.
 *
 * A schedule says who sends what to whom; between ranks that see each other's memory that does not matter,
 * but the order of additions does, because it decides the bits. Here it is, piece by piece, taken from the
 * schedule by doing it with names instead of numbers:
 *
 *     ring of 4, a piece     ((0 + 1) + 2) + 3            recursive doubling     (0 + 1) + (2 + 3)
 *
 * Where all ranks end with the same sum, any of them may compute any part of it for the others. */
#ifndef BANYAN_EXECUTE_SUMS_H
#define BANYAN_EXECUTE_SUMS_H

#include "schedule/schedule.h"

/* into = a + b. Values below the number of ranks are the ranks' inputs, those from there on are kept in
 * places 0, 1, ...; a place is overwritten only by what is added to it. The last addition's into is the
 * sum. */
typedef struct {
    int into, a, b;
} banyan_addition;

typedef struct {
    const banyan_schedule *schedule; /* borrowed */
    int ranks;
    int place_count; /* that any piece needs at a time */
    int *first;      /* by piece: its additions are first[piece] .. first[piece + 1] - 1; at least one */
    banyan_addition *additions;
} banyan_sums;

/* *out is NULL after success where there is no such thing: the schedule is no all-reduce, leads through nodes
 * that are not ranks, leaves ranks with sums of different order, or is too large to be looked at. */
banyan_status banyan_sums_derive(const banyan_schedule *schedule, banyan_sums **out, banyan_error *err);
void banyan_sums_destroy(banyan_sums *sums); /* accepts NULL */

#endif
