/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/fraction.c: fractions in lowest terms; finding the unit in which all bandwidths are whole
 * numbers.
 *
 * Bandwidths that people write are small multiples of something (25 GB/s, 12.5 GB/s, 10 Gbit/s): as integers
 * of that unit every cut is an integer, and bounds are exact. */
#include "solve/net/fraction.h"

#include "core/gcd.h"
#include "solve/net/tolerance.h"

#include <math.h>

#define THIN 16777216.0 /* units */

/* Of prices that a linear program found: those of small proportions have this denominator at most, and the
 * program's precision. */
#define SMALL_DENOMINATOR 2000
#define PRICE_SCALE 17179869184.0 /* 2^34 */

/* Sums over all links times the number of workers, which are at most as many, must stay below 63 bits. */
static int64_t largest_integer(int count, int bits, int least_bits, int most_bits)
{
    for (int64_t links = 1; links < count && bits > least_bits; links *= 2)
        bits -= 2;
    return (int64_t)1 << (bits < least_bits ? least_bits : bits > most_bits ? most_bits : bits);
}

static banyan_wide gcd_wide(banyan_wide a, banyan_wide b)
{
    while (b) {
        banyan_wide rest = a % b;

        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

banyan_fraction banyan_fraction_make(banyan_wide num, banyan_wide den)
{
    banyan_wide common = gcd_wide(num, den);
    banyan_fraction none = {0, 0}, f;

    if (common) {
        num /= common;
        den /= common;
    }
    if (num > INT64_MAX || num < -INT64_MAX || den > INT64_MAX || den <= 0)
        return none;
    f.num = (int64_t)num;
    f.den = (int64_t)den;
    return f;
}

int banyan_fraction_compare(banyan_fraction a, banyan_fraction b)
{
    banyan_wide left = (banyan_wide)a.num * b.den, right = (banyan_wide)b.num * a.den;

    return left < right ? -1 : left > right;
}

double banyan_fraction_value(banyan_fraction f)
{
    return f.den ? (double)f.num / (double)f.den : 0;
}

/* Multiplied by scale, are all values whole (to rounding) and not too large? */
static int whole_at(const double *value, int count, double scale, int64_t *integer)
{
    for (int i = 0; i < count; i++) {
        double scaled = value[i] * scale, whole = nearbyint(scaled);

        if (whole < 1 || whole > 9e15 || fabs(scaled - whole) > 4e-15 * whole)
            return 0;
        integer[i] = (int64_t)whole;
    }
    return 1;
}

/* Thin ones are rounded down, so that no plan gives them more than they can carry. Sums of them need some
 * bits, too. */
static void round_all(const double *value, int count, int64_t *integer, double *unit)
{
    double largest = 0;

    for (int i = 0; i < count; i++)
        largest = value[i] > largest ? value[i] : largest;
    *unit = largest / (double)largest_integer(count, 52, 32, 40);
    for (int i = 0; i < count; i++) {
        double units = value[i] / *unit;

        integer[i] = (int64_t)(units < THIN ? floor(units) : nearbyint(units));
        if (integer[i] < 1)
            integer[i] = 1; /* a link that is there counts, however thin */
    }
}

int banyan_fraction_common_unit(const double *value, int count, int64_t *integer, double *unit)
{
    int64_t common = 0, largest = 0;
    double scale = 0;

    if (count == 0) {
        *unit = 1;
        return 1;
    }
    for (int denominator = 1; denominator <= 1000 && scale == 0; denominator++)
        if (whole_at(value, count, denominator, integer))
            scale = denominator;
    for (int denominator = 1; denominator <= 60 && scale == 0; denominator++)
        if (whole_at(value, count, denominator / value[0], integer))
            scale = denominator / value[0];
    if (scale == 0) {
        round_all(value, count, integer, unit);
        return 0;
    }
    for (int i = 0; i < count; i++) {
        common = banyan_gcd(common, integer[i]);
        largest = integer[i] > largest ? integer[i] : largest;
    }
    if (largest / common > largest_integer(count, 60, 40, 46)) {
        round_all(value, count, integer, unit);
        return 0;
    }
    for (int i = 0; i < count; i++)
        integer[i] /= common;
    *unit = (double)common / scale;
    return 1;
}

int banyan_fraction_small_integers(const double *value, int count, int limit, double tolerance,
                                   int64_t *integer)
{
    double largest = 0;

    for (int i = 0; i < count; i++)
        largest = value[i] > largest ? value[i] : largest;
    if (largest <= 0)
        return 0;
    for (int denominator = 1; denominator <= limit; denominator++) {
        int good = 1;

        for (int i = 0; i < count && good; i++) {
            double scaled = value[i] / largest * denominator, whole = nearbyint(scaled);

            good = fabs(scaled - whole) <= tolerance * denominator;
            integer[i] = (int64_t)whole;
        }
        if (good)
            return 1;
    }
    return 0;
}

int banyan_fraction_small_prices(const double *value, int count, int64_t *integer)
{
    return banyan_fraction_small_integers(value, count, SMALL_DENOMINATOR, BANYAN_NEARLY_SAME, integer);
}

void banyan_fraction_scaled_prices(const double *value, int count, int64_t *integer)
{
    double largest = 0;

    for (int i = 0; i < count; i++)
        largest = fmax(largest, value[i]);
    for (int i = 0; i < count; i++)
        integer[i] = (int64_t)nearbyint(value[i] / largest * PRICE_SCALE);
}

void banyan_fraction_whole_prices(const double *value, int count, int64_t *integer)
{
    if (!banyan_fraction_small_prices(value, count, integer))
        banyan_fraction_scaled_prices(value, count, integer);
}
