/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/fraction.h: exact fractions of 64-bit integers, and doubles read as such. */
#ifndef BANYAN_SOLVE_NET_FRACTION_H
#define BANYAN_SOLVE_NET_FRACTION_H

#include <stdint.h>

/* Sums of products of two 64-bit numbers. */
__extension__ typedef __int128 banyan_wide;

typedef struct {
    int64_t num, den; /* lowest terms, den > 0; {0, 0}: none */
} banyan_fraction;

/* num / den in lowest terms; {0, 0} where the terms do not fit into 64 bits. den > 0. */
banyan_fraction banyan_fraction_make(banyan_wide num, banyan_wide den);

/* Less, equal, greater: -1, 0, 1. Both must have a denominator. */
int banyan_fraction_compare(banyan_fraction a, banyan_fraction b);

double banyan_fraction_value(banyan_fraction f); /* 0 for none */

/* The common unit of count positive values: value[i] = integer[i] * unit. Returns 1 where that is exact (to
 * the last bits of a double), 0 where the values were rounded to 32 to 40 bits of the largest. */
int banyan_fraction_common_unit(const double *value, int count, int64_t *integer, double *unit);

/* Smallest integers in the proportion of the count values (not negative), when some denominator up to limit
 * makes them all whole within tolerance of the largest; 0 if none does. */
int banyan_fraction_small_integers(const double *value, int count, int limit, double tolerance,
                                   int64_t *integer);

/* Prices that a linear program found, as integers. small: the same, with the limit and tolerance that suit
 * them. scaled: the largest is 2^34, so that what trees pay together stays within 64 bits. whole: small ones
 * where there are some, else scaled ones. */
int banyan_fraction_small_prices(const double *value, int count, int64_t *integer);
void banyan_fraction_scaled_prices(const double *value, int count, int64_t *integer);
void banyan_fraction_whole_prices(const double *value, int count, int64_t *integer);

#endif
