/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/alarms.h: numbered clocks, and which of them rings next; ties go to the lower number.
 *
 * A tournament of four: a leaf for each clock, and every place above holds the one of its four children,
 * which fill a line of the cache, that rings first. A change plays its leaf's games again, upwards, until a
 * game ends as before. Times that are not negative have the order of their bits, so games are played between
 * integers, without branches. */
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
    banyan_alarm *place; /* the winner is at 3, the children of i are 4(i - 2) .. 4(i - 2) + 3 */
    int first_leaf;
    void *memory;
} banyan_alarms;

int banyan_alarms_init(banyan_alarms *alarms, int clock_count); /* 0: memory ran out */
void banyan_alarms_fini(banyan_alarms *alarms);

static inline int64_t banyan_alarms_bits(double time_s)
{
    int64_t bits;

    memcpy(&bits, &time_s, sizeof bits);
    return bits;
}

enum { BANYAN_ALARMS_WINNER = 3 };

/* The first of four; the lower place wins ties. Which one is reckoned, as branches would be guessed wrong. */
static inline banyan_alarm banyan_alarms_play(const banyan_alarm four[4])
{
    size_t a = four[1].time_bits < four[0].time_bits, b = 2 + (size_t)(four[3].time_bits < four[2].time_bits);
    size_t is_b = four[b].time_bits < four[a].time_bits;

    return four[a ^ ((a ^ b) & (0 - is_b))];
}

/* Sets or moves an alarm to a time from 0 on; infinity switches it off. */
static inline void banyan_alarms_set(banyan_alarms *alarms, int number, double time_s)
{
    banyan_alarm *place = alarms->place, winner = {banyan_alarms_bits(time_s), number};
    size_t at = (size_t)(alarms->first_leaf + number);

    for (;;) {
        place[at] = winner;
        if (at == BANYAN_ALARMS_WINNER)
            return;
        winner = banyan_alarms_play(&place[at & ~(size_t)3]);
        at = at / 4 + 2;
        if (place[at].number == winner.number && place[at].time_bits == winner.time_bits)
            return;
    }
}

/* The one that rings next. */
static inline int banyan_alarms_first(const banyan_alarms *alarms)
{
    return (int)alarms->place[BANYAN_ALARMS_WINNER].number;
}

/* And when; where all are silent, at infinity. */
static inline double banyan_alarms_next_s(const banyan_alarms *alarms)
{
    double time_s;

    memcpy(&time_s, &alarms->place[BANYAN_ALARMS_WINNER].time_bits, sizeof time_s);
    return time_s;
}

#endif
