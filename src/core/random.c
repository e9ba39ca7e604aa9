/* SPDX-License-Identifier: Apache-2.0 */
/* core/random.c: random numbers made into ranges. */
#include "core/random.h"

int banyan_random_below(banyan_random *random, int limit)
{
    return (int)(banyan_random_next(random) % (uint64_t)limit);
}

double banyan_random_unit(banyan_random *random)
{
    return (double)(banyan_random_next(random) >> 11) * 0x1p-53;
}
