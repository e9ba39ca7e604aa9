/* SPDX-License-Identifier: Apache-2.0 */
/* train/floor.c: how long bytes take at the least, however they are grouped.
 *
 * With k streams, groups of m_1, m_2, ... bytes, work(m) on the wire and a start-up a take
 *
 *     at least  a + sum of work(m_g) / gain    for together they are no faster than that on the wire,
 *     at least  sum of (a + work(m_g)) / k     for a stream has one group at a time, and start-ups take time,
 *
 * and so any mixture of the two, s : 1 - s. A mixture costs a group of m bytes that much a byte, and no size
 * less than the cheapest; between the sizes of a table that is reached at one of them. Alone, the first says
 * nothing where small all-reduces are all start-up, as measured ones are, and the second nothing where
 * start-ups hide each other. */
#include <math.h>

#include "train/traffic.h"

double banyan_cost_gain(const banyan_cost *cost, int streams)
{
    double gain = 1;

    for (int c = 2; c <= streams; c++)
        gain = fmax(gain, c * cost->speed[c]);
    return gain;
}

static double mixed_s(const banyan_cost *cost, double share, double gain, int streams, double bytes)
{
    double work_s = banyan_cost_work(cost, bytes);

    return share * work_s / gain + (1 - share) * (cost->start_s + work_s) / streams;
}

void banyan_floor_find(const banyan_cost *cost, int streams, double most_bytes, banyan_floor *out)
{
    double gain = banyan_cost_gain(cost, streams);

    for (int i = 0; i < BANYAN_FLOOR_MIXTURES; i++) {
        double share = (double)i / (BANYAN_FLOOR_MIXTURES - 1);
        double least = mixed_s(cost, share, gain, streams, most_bytes) / most_bytes;

        for (int p = 0; p < cost->point_count && cost->points[p].bytes < most_bytes; p++)
            least = fmin(least,
                         mixed_s(cost, share, gain, streams, cost->points[p].bytes) / cost->points[p].bytes);
        out->start_s[i] = share * cost->start_s;
        out->s_per_byte[i] = least;
    }
}

double banyan_floor_seconds(const banyan_floor *floor, double bytes)
{
    double seconds = 0;

    for (int i = 0; i < BANYAN_FLOOR_MIXTURES; i++)
        seconds = fmax(seconds, floor->start_s[i] + bytes * floor->s_per_byte[i]);
    return seconds;
}
