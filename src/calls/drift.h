/* SPDX-License-Identifier: Apache-2.0 */
/* calls/drift.h: whether the network between the ranks has changed, judged by what calls take.
 *
 *     times of calls   | | | |     | | | |        A disturbance ends by itself, and the next call takes as
 *                      | | | | | | | | | |        long as before: the network was the same all along.
 *                              ^
 *                                | | | |
 *                      | | | |   | | | |          On a network that has become slower no call does. What it
 *                      | | | | | | | | |          costs is at least what the fastest of them lost.
 *
 * Disturbances, such as a processor that is taken for a moment, or a congestion control that empties its
 * queues (BBR: 0.2 s of every 10 s), only make calls longer, so one call that takes as long as before proves
 * that nothing has changed. A row of calls that all take clearly more time may still be a long disturbance.
 * How long it will last nobody knows; so the network is surveyed when the row has lost as much time as a
 * survey takes. Whether it then ends or goes on for ever, at most twice the time is lost that had to be
 * (Karlin, Manasse, Rudolph and Sleator, "Competitive snoopy caching", Algorithmica 3, 1988). A single call
 * is no row.
 *
 * The same holds for calls that take clearly less time than they did, with what they save in place of what is
 * lost: a better plan may save as much again. */
#ifndef BANYAN_CALLS_DRIFT_H
#define BANYAN_CALLS_DRIFT_H

#include <stddef.h>

#define BANYAN_DRIFT_SLOWER 1.25 /* than before, and the call is late; */
#define BANYAN_DRIFT_FASTER 0.8  /* and early */
#define BANYAN_DRIFT_SAMPLES 3   /* of a size: their median is what calls took before */
#define BANYAN_DRIFT_SIZES (16 * 8 * sizeof(size_t))

/* What calls of about one size took at first. */
typedef struct {
    double times_s[BANYAN_DRIFT_SAMPLES];
    int count;
} banyan_drift_reference;

typedef struct {
    banyan_drift_reference references[BANYAN_DRIFT_SIZES]; /* sizes of one differ by less than 1/16 */
    int direction;                                         /* of the row: 1 late, -1 early, 0 there is none */
    int length;
    double nearest; /* of the row: the time / the reference that is closest to 1 */
    double usual_s; /* what all calls of the row would have taken before */
} banyan_drift;

/* Forgets what calls took. */
void banyan_drift_restart(banyan_drift *drift);

/* A call that has been watched, of which the size's reference is made; those after the first SAMPLES count
 * for nothing. */
void banyan_drift_learn(banyan_drift *drift, size_t bytes, double seconds);

/* The same later on: the last of that many calls since the one before. Whether the row that it belongs to has
 * lost or saved survey_s, which is what a survey takes. A size that is new is learnt. */
int banyan_drift_note(banyan_drift *drift, size_t bytes, double seconds, double calls, double survey_s);

#endif
