/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/alarms.h: numbered clocks, and which of them rings next; ties go to the lower number.
 *
 * A tournament: a leaf for each clock, and every place above holds the one of its two children that rings
 * first. A change plays its leaf's games again, upwards, until a game ends as before. */
#ifndef BANYAN_SIMULATE_ALARMS_H
#define BANYAN_SIMULATE_ALARMS_H

typedef struct {
    double time_s; /* infinity: silent */
    int number;
} banyan_alarm;

typedef struct {
    banyan_alarm *place; /* the winner is at 1, the children of i are 2i and 2i + 1 */
    int leaves;          /* a power of two; leaf i is at leaves + i */
} banyan_alarms;

int banyan_alarms_init(banyan_alarms *alarms, int clock_count); /* 0: memory ran out */
void banyan_alarms_fini(banyan_alarms *alarms);

/* Sets or moves an alarm; infinity switches it off. */
static inline void banyan_alarms_set(banyan_alarms *alarms, int number, double time_s)
{
    banyan_alarm *place = alarms->place;
    int at = alarms->leaves + number;

    place[at].time_s = time_s;
    for (; at > 1; at /= 2) {
        banyan_alarm winner = place[at & ~1], right = place[at | 1];

        winner = right.time_s < winner.time_s ? right : winner;
        if (place[at / 2].number == winner.number && winner.number != number)
            return;
        place[at / 2] = winner;
    }
}

/* The one that rings next; where all are silent, at infinity. */
static inline banyan_alarm banyan_alarms_next(const banyan_alarms *alarms)
{
    return alarms->place[1];
}

#endif
