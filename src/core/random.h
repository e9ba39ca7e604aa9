/* SPDX-License-Identifier: Apache-2.0 */
/* core/random.h: seeded random numbers (splitmix64): the same seed gives the same numbers everywhere. */
#ifndef BANYAN_CORE_RANDOM_H
#define BANYAN_CORE_RANDOM_H

#include <stdint.h>

typedef struct {
    uint64_t state;
} banyan_random;

uint64_t banyan_random_next(banyan_random *random);
int banyan_random_below(banyan_random *random, int limit); /* 0..limit-1; limit > 0 */
double banyan_random_unit(banyan_random *random);          /* [0, 1) */

#endif
