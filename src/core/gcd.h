/* SPDX-License-Identifier: Apache-2.0 */
/* core/gcd.h: Euclid's greatest common divisor, never negative; that of a and 0 is a. */
#ifndef BANYAN_CORE_GCD_H
#define BANYAN_CORE_GCD_H

#include <stdint.h>

static inline int64_t banyan_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

#endif
