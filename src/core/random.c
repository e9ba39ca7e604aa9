/* SPDX-License-Identifier: Apache-2.0 */
/* core/random.c: splitmix64 (Steele, Lea, Flood 2014). */
#include "core/random.h"

uint64_t banyan_random_next(banyan_random *random)
{
    uint64_t z = (random->state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int banyan_random_below(banyan_random *random, int limit)
{
    return (int)(banyan_random_next(random) % (uint64_t)limit);
}

double banyan_random_unit(banyan_random *random)
{
    return (double)(banyan_random_next(random) >> 11) * 0x1p-53;
}
