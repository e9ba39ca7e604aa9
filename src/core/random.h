/* SPDX-License-Identifier: Apache-2.0 */
/* core/random.h: seeded random numbers (splitmix64, Steele, Lea, Flood 2014): the same seed gives the same
 * numbers everywhere. */
#ifndef BANYAN_CORE_RANDOM_H
#define BANYAN_CORE_RANDOM_H

#include <stdint.h>

typedef struct {
    uint64_t state;
} banyan_random;

static inline uint64_t banyan_random_next(banyan_random *random)
{
    uint64_t z = (random->state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int banyan_random_below(banyan_random *random, int limit); /* 0..limit-1; limit > 0 */
double banyan_random_unit(banyan_random *random);          /* [0, 1) */

#endif
