/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/alarms.h: numbered clocks, and which of them rings next; ties go to the lower number.
 *
 * A tournament: a leaf for each clock, and every place above holds the one of its two children that rings
 * first. A change plays its leaf's games again, upwards, until a game ends as before. Times that are not negative
 * have the order of their bits, so games are played between integers. */
#ifndef BANYAN_SIMULATE_ALARMS_H
#define BANYAN_SIMULATE_ALARMS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    int64_t time_bits; /* of a time in seconds; infinity: silent */
    int64_t number;
} banyan_alarm;

typedef struct {
    banyan_alarm *place; /* the winner is at 1, the children of i are 2i and 2i + 1 */
    int leaves;          /* a power of two; leaf i is at leaves + i */
} banyan_alarms;

int banyan_alarms_init(banyan_alarms *alarms, int clock_count); /* 0: memory ran out */
void banyan_alarms_fini(banyan_alarms *alarms);

static inline int64_t banyan_alarms_bits(double time_s)
{
    int64_t bits;

    memcpy(&bits, &time_s, sizeof bits);
    return bits;
}

/* Sets or moves an alarm to a time from 0 on; infinity switches it off. */
static inline void banyan_alarms_set(banyan_alarms *alarms, int number, double time_s)
{
    banyan_alarm *place = alarms->place, winner = {banyan_alarms_bits(time_s), number};
    size_t at = (size_t)(alarms->leaves + number);

    for (; at > 1; at /= 2) {
        const banyan_alarm *other = &place[at ^ 1];
        int is_other = other->time_bits < winner.time_bits + (int64_t)(at & 1); /* on the left it wins ties */

        place[at] = winner;
        winner.time_bits = is_other ? other->time_bits : winner.time_bits;
        winner.number = is_other ? other->number : winner.number;
        if (is_other && place[at / 2].number == winner.number)
            return;
    }
    place[1] = winner;
}

/* The one that rings next. */
static inline int banyan_alarms_first(const banyan_alarms *alarms)
{
    return (int)alarms->place[1].number;
}

/* And when; where all are silent, at infinity. */
static inline double banyan_alarms_next_s(const banyan_alarms *alarms)
{
    double time_s;

    memcpy(&time_s, &alarms->place[1].time_bits, sizeof time_s);
    return time_s;
}

#endif
