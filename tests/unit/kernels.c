/* SPDX-License-Identifier: Apache-2.0 */
/* The reduce kernels: float16 and bfloat16 against an arithmetic definition, exhaustively; every type and op
 * against a plain loop; the corners (NaN, zeros, overflow, unaligned memory). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "execute/half.h"
#include "execute/kernels.h"

/* The number that the fields say, by arithmetic alone. */
static double value_of_fields(unsigned bits, int exponent_bits, int fraction_bits)
{
    int exponent = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    int bias = (1 << (exponent_bits - 1)) - 1;
    double fraction = bits & ((1u << fraction_bits) - 1u);
    double magnitude;

    if (exponent == (1 << exponent_bits) - 1)
        magnitude = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (!exponent)
        magnitude = ldexp(fraction, 1 - bias - fraction_bits);
    else
        magnitude = ldexp(1 + ldexp(fraction, -fraction_bits), exponent - bias);
    return bits >> (exponent_bits + fraction_bits) ? -magnitude : magnitude;
}

static double float16_value(uint16_t bits)
{
    return value_of_fields(bits, 5, 10);
}

static double bfloat16_value(uint16_t bits)
{
    return value_of_fields(bits, 8, 7);
}

/* Round to nearest, ties to even, by looking at the two neighbours. magnitudes grow with their bits. */
static uint16_t nearest(double value, double (*value_of)(uint16_t), unsigned infinity, unsigned nan_bits)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    unsigned low = 0, high = infinity;
    double below, above, beyond;

    if (isnan(value))
        return (uint16_t)nan_bits;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;

        if (value_of((uint16_t)middle) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    if (isinf(magnitude))
        return (uint16_t)(sign | infinity);
    below = value_of((uint16_t)low);
    /* infinity stands for the next number that there would be */
    beyond = 2 * value_of((uint16_t)(infinity - 1)) - value_of((uint16_t)(infinity - 2));
    above = high == infinity ? beyond : value_of((uint16_t)high);
    if (magnitude - below > above - magnitude || (magnitude - below == above - magnitude && (low & 1)))
        low = high;
    return (uint16_t)(sign | low);
}

static void every_float16_widens_exactly_and_narrows_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 0x10000; i++) {
        float wide = banyan_float16_widen((uint16_t)i);
        double expected = float16_value((uint16_t)i);

        if (isnan(expected)) {
            assert_true(isnan(wide));
            assert_int_equal(banyan_float16_narrow(wide), BANYAN_FLOAT16_NAN);
            continue;
        }
        assert_true((double)wide == expected && !signbit(wide) == !signbit(expected));
        assert_int_equal(banyan_float16_narrow(wide), i);
    }
}

static void every_bfloat16_widens_exactly_and_narrows_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 0x10000; i++) {
        float wide = banyan_bfloat16_widen((uint16_t)i);
        double expected = bfloat16_value((uint16_t)i);

        if (isnan(expected)) {
            assert_true(isnan(wide));
            assert_int_equal(banyan_bfloat16_narrow(wide), BANYAN_BFLOAT16_NAN);
            continue;
        }
        assert_true((double)wide == expected && !signbit(wide) == !signbit(expected));
        assert_int_equal(banyan_bfloat16_narrow(wide), i);
    }
}

static void check_narrowing_of_bits(uint32_t bits)
{
    float value = banyan_float_of_bits(bits);
    uint16_t expected16 = nearest((double)value, float16_value, 0x7c00u, BANYAN_FLOAT16_NAN);
    uint16_t expectedb = nearest((double)value, bfloat16_value, 0x7f80u, BANYAN_BFLOAT16_NAN);

    if (banyan_float16_narrow(value) != expected16 || banyan_bfloat16_narrow(value) != expectedb)
        fail_msg("float32 bits %08x narrow to %04x and %04x, not to %04x and %04x", (unsigned)bits,
                 banyan_float16_narrow(value), banyan_bfloat16_narrow(value), expected16, expectedb);
}

/* Every sign and exponent; the fractions around every rounding point of either type. */
static void narrowing_rounds_to_nearest_even_at_every_exponent(void **state)
{
    static const uint32_t offsets[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xfff, 0x1000, 0x1001, 0xffff};
    banyan_random random = {20240601};

    (void)state;
    for (uint32_t top = 0; top < 512; top++) {
        for (int step = 0; step < 24; step++) {
            uint32_t edge = step < 23 ? 1u << step : 0;

            check_narrowing_of_bits(top << 23 | edge);
            check_narrowing_of_bits((top << 23 | edge) + 1);
            check_narrowing_of_bits((top << 23 | edge) - 1);
        }
        for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
            for (uint32_t step = 0; step < 4; step++)
                check_narrowing_of_bits(top << 23 | step << 16 | offsets[i]);
        for (int i = 0; i < 50; i++)
            check_narrowing_of_bits(top << 23 | (uint32_t)banyan_random_below(&random, 1 << 23));
    }
}

/* One rounding of the exact sum: float32 has twice the digits and two more, so the step between is
 * harmless. */
static void float16_sums_are_correctly_rounded(void **state)
{
    banyan_kernel sum = banyan_kernel_find(BANYAN_FLOAT16, BANYAN_SUM);
    banyan_random random = {7};

    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint16_t a = (uint16_t)banyan_random_below(&random, 0x10000);
        uint16_t b = (uint16_t)banyan_random_below(&random, 0x10000), result = a;
        uint16_t expected =
            nearest(float16_value(a) + float16_value(b), float16_value, 0x7c00u, BANYAN_FLOAT16_NAN);

        sum(&result, &result, &b, 1);
        if (result != expected)
            fail_msg("float16 %04x + %04x is %04x, not %04x", a, b, result, expected);
    }
}

/* A plain definition of each op on doubles or 64-bit integers, by type. */
static int is_floating(banyan_datatype type)
{
    return type == BANYAN_FLOAT16 || type == BANYAN_BFLOAT16 || type == BANYAN_FLOAT32 ||
           type == BANYAN_FLOAT64;
}

static double get_floating(banyan_datatype type, const unsigned char *at)
{
    uint16_t half;
    float single;
    double value;

    if (type == BANYAN_FLOAT64) {
        memcpy(&value, at, sizeof value);
        return value;
    }
    if (type == BANYAN_FLOAT32) {
        memcpy(&single, at, sizeof single);
        return (double)single;
    }
    memcpy(&half, at, sizeof half);
    return type == BANYAN_FLOAT16 ? float16_value(half) : bfloat16_value(half);
}

static int64_t get_integer(banyan_datatype type, const unsigned char *at)
{
    uint64_t bits = 0;
    size_t bytes = banyan_datatype_bytes(type);
    int is_signed = type == BANYAN_INT8 || type == BANYAN_INT32;

    memcpy(&bits, at, bytes); /* little-endian hosts only, as is the rest of this test */
    if (is_signed && bits >> (8 * bytes - 1))
        bits |= UINT64_MAX << (8 * bytes);
    return (int64_t)bits;
}

static void check_integer(banyan_datatype type, banyan_op op, const unsigned char *a, const unsigned char *b,
                          const unsigned char *result)
{
    int64_t x = get_integer(type, a), y = get_integer(type, b), expected;
    int x_below = type == BANYAN_UINT64 ? (uint64_t)x < (uint64_t)y : x < y;
    unsigned char bytes[8];

    if (op == BANYAN_SUM || op == BANYAN_AVG)
        expected = (int64_t)((uint64_t)x + (uint64_t)y);
    else if (op == BANYAN_PROD)
        expected = (int64_t)((uint64_t)x * (uint64_t)y);
    else
        expected = x_below == (op == BANYAN_MAX) ? y : x;
    memcpy(bytes, &expected, sizeof bytes);
    assert_memory_equal(bytes, result, banyan_datatype_bytes(type));
}

static void check_floating(banyan_datatype type, banyan_op op, const unsigned char *a, const unsigned char *b,
                           const unsigned char *result)
{
    double x = get_floating(type, a), y = get_floating(type, b), got = get_floating(type, result);
    double expected = op == BANYAN_PROD ? x * y : x + y;

    if (op == BANYAN_MAX)
        expected = isnan(x) || isnan(y) ? (double)NAN : fmax(x, y);
    if (op == BANYAN_MIN)
        expected = isnan(x) || isnan(y) ? (double)NAN : fmin(x, y);
    if (type == BANYAN_FLOAT32)
        expected = (double)(float)expected;
    if (type == BANYAN_FLOAT16)
        expected = float16_value(nearest(expected, float16_value, 0x7c00u, BANYAN_FLOAT16_NAN));
    if (type == BANYAN_BFLOAT16) /* by definition through float32 */
        expected =
            bfloat16_value(nearest((double)(float)expected, bfloat16_value, 0x7f80u, BANYAN_BFLOAT16_NAN));
    if (!(got == expected || (isnan(got) && isnan(expected))))
        fail_msg("%s %s of %a and %a is %a, not %a", banyan_datatype_string(type), banyan_op_string(op), x, y,
                 got, expected);
}

static void every_type_and_op_agrees_with_a_plain_definition_at_odd_lengths_and_addresses(void **state)
{
    enum { COUNT = 331 };
    static unsigned char a[COUNT * 8 + 16], b[COUNT * 8 + 16], result[COUNT * 8 + 16];
    banyan_random random = {99};

    (void)state;
    for (int type = 0; type <= BANYAN_BFLOAT16; type++)
        for (int op = 0; op <= BANYAN_AVG; op++)
            for (size_t shift = 0; shift < 4; shift++) {
                size_t bytes = banyan_datatype_bytes((banyan_datatype)type);
                banyan_kernel kernel = banyan_kernel_find((banyan_datatype)type, (banyan_op)op);

                for (size_t i = 0; i < sizeof a; i++) {
                    a[i] = (unsigned char)banyan_random_next(&random);
                    b[i] = (unsigned char)banyan_random_next(&random);
                }
                memcpy(result, a, sizeof a);
                kernel(result + shift, result + shift, b + 3 - shift, COUNT);
                for (size_t i = 0; i < COUNT; i++)
                    (is_floating((banyan_datatype)type) ? check_floating : check_integer)(
                        (banyan_datatype)type, (banyan_op)op, a + shift + i * bytes,
                        b + 3 - shift + i * bytes, result + shift + i * bytes);
                assert_memory_equal(result, a, shift);
                assert_memory_equal(result + shift + COUNT * bytes, a + shift + COUNT * bytes,
                                    sizeof a - shift - COUNT * bytes);
            }
}

static void every_set_of_kernels_gives_the_same_bits(void **state)
{
    enum { BYTES = 4096 };
    static unsigned char a[BYTES], b[BYTES], plain[BYTES], other[BYTES];
    banyan_random random = {4711};

    (void)state;
    for (int set = 1; set < banyan_kernel_set_count(); set++)
        for (int i = 0; banyan_kernel_set_works(set) && i < 40 * (BANYAN_BFLOAT16 + 1) * BANYAN_AVG; i++) {
            banyan_datatype type = (banyan_datatype)(i % (BANYAN_BFLOAT16 + 1));
            banyan_op op = (banyan_op)(i / (BANYAN_BFLOAT16 + 1) % BANYAN_AVG);
            size_t count = BYTES / banyan_datatype_bytes(type) - (size_t)banyan_random_below(&random, 40);

            for (size_t j = 0; j < BYTES; j++) {
                a[j] = (unsigned char)banyan_random_next(&random);
                b[j] = (unsigned char)banyan_random_next(&random);
            }
            memcpy(plain, a, BYTES);
            memcpy(other, a, BYTES);
            banyan_kernel_find_in(0, type, op)(plain, plain, b, count);
            banyan_kernel_find_in(set, type, op)(other, i % 2 ? a : other, b, count);
            if (memcmp(plain, other, BYTES))
                fail_msg("%s and %s differ for %s %s (draw %d)", banyan_kernel_set_name(0),
                         banyan_kernel_set_name(set), banyan_datatype_string(type), banyan_op_string(op), i);
        }
}

static void floating_kernels_commute_to_the_last_bit(void **state)
{
    static const banyan_datatype types[] = {BANYAN_FLOAT16, BANYAN_BFLOAT16, BANYAN_FLOAT32, BANYAN_FLOAT64};
    static const uint64_t corners[] = {0, 1, 0x7c00, 0x7c01, 0x7e01, 0x7f80, 0x7f81, 0x7fc1, 0x7fff};
    enum { CORNERS = sizeof corners / sizeof *corners };

    (void)state;
    for (int t = 0; t < 4; t++)
        for (int op = 0; op < BANYAN_AVG; op++)
            for (int i = 0; i < 4 * CORNERS * CORNERS; i++) {
                size_t bytes = banyan_datatype_bytes(types[t]);
                int shift = 8 * (int)bytes - 16;
                uint64_t sign = 0x8000;
                uint64_t x = (corners[i % CORNERS] | (i & 1 ? sign : 0)) << shift;
                uint64_t y = (corners[i / CORNERS % CORNERS] | (i & 2 ? sign : 0)) << shift, xy = x, yx = y;
                banyan_kernel kernel = banyan_kernel_find(types[t], (banyan_op)op);

                kernel(&xy, &xy, &y, 1);
                kernel(&yx, &yx, &x, 1);
                assert_int_equal(xy, yx);
            }
}

static void max_and_min_order_the_zeros_and_propagate_nan(void **state)
{
    float plus[] = {0.0f, -0.0f, 1.0f, NAN}, from[] = {-0.0f, 0.0f, NAN, 1.0f}, least[4];

    (void)state;
    memcpy(least, plus, sizeof plus);
    banyan_kernel_find(BANYAN_FLOAT32, BANYAN_MAX)(plus, plus, from, 4);
    banyan_kernel_find(BANYAN_FLOAT32, BANYAN_MIN)(least, least, from, 4);
    assert_false(signbit(plus[0]) || signbit(plus[1]));
    assert_true(signbit(least[0]) && signbit(least[1]));
    assert_true(isnan(plus[2]) && isnan(plus[3]) && isnan(least[2]) && isnan(least[3]));
}

static void integers_wrap_around(void **state)
{
    int32_t a = INT32_MAX, one = 1;
    int64_t b = INT64_MIN, minus = -1;
    int8_t c = -128, d = -128;

    (void)state;
    banyan_kernel_find(BANYAN_INT32, BANYAN_SUM)(&a, &a, &one, 1);
    banyan_kernel_find(BANYAN_INT64, BANYAN_PROD)(&b, &b, &minus, 1);
    banyan_kernel_find(BANYAN_INT8, BANYAN_SUM)(&c, &c, &d, 1);
    assert_int_equal(a, INT32_MIN);
    assert_true(b == INT64_MIN);
    assert_int_equal(c, 0);
}

static void division_cuts_integers_towards_zero_and_rounds_halves(void **state)
{
    int8_t bytes[] = {-7, 7, -128, 127};
    uint8_t small[] = {255, 199};
    int64_t wide[] = {INT64_MIN, -1};
    uint64_t unsigned_wide[] = {UINT64_MAX};
    uint16_t half[] = {0x3c00, 0x0001, BANYAN_FLOAT16_NAN}; /* 1, 2^-24, NaN */
    float single[] = {1.0f};

    (void)state;
    banyan_kernel_divide(BANYAN_INT8, bytes, 4, 2);
    assert_true(bytes[0] == -3 && bytes[1] == 3 && bytes[2] == -64 && bytes[3] == 63);
    banyan_kernel_divide(BANYAN_UINT8, small, 2, 200);
    assert_true(small[0] == 1 && small[1] == 0);
    banyan_kernel_divide(BANYAN_INT64, wide, 2, 3);
    assert_true(wide[0] == INT64_MIN / 3 && wide[1] == 0);
    banyan_kernel_divide(BANYAN_UINT64, unsigned_wide, 1, 2);
    assert_true(unsigned_wide[0] == UINT64_MAX / 2);
    banyan_kernel_divide(BANYAN_FLOAT16, half, 3, 2);
    assert_int_equal(half[0], 0x3800);
    assert_int_equal(half[1], 0); /* a tie, to even */
    assert_int_equal(half[2], BANYAN_FLOAT16_NAN);
    banyan_kernel_divide(BANYAN_FLOAT32, single, 1, 3);
    assert_true(single[0] == 1.0f / 3.0f);
}

static void division_reaches_each_element_of_any_length_and_none_behind(void **state)
{
    enum { MOST = 200 };
    float single[MOST + 1];
    double wide[MOST + 1];

    (void)state;
    for (size_t count = 0; count <= MOST; count++) {
        for (size_t i = 0; i <= MOST; i++)
            wide[i] = single[i] = (float)i + 1;
        banyan_kernel_divide(BANYAN_FLOAT32, single, count, 7);
        banyan_kernel_divide(BANYAN_FLOAT64, wide, count, 7);
        for (size_t i = 0; i <= MOST; i++) {
            float whole = (float)i + 1;

            assert_true(single[i] == (i < count ? whole / 7.0f : whole));
            assert_true(wide[i] == (i < count ? (double)whole / 7.0 : (double)whole));
        }
    }
}

static void there_is_no_kernel_outside_the_lists(void **state)
{
    (void)state;
    assert_null(banyan_kernel_find((banyan_datatype)10, BANYAN_SUM));
    assert_null(banyan_kernel_find((banyan_datatype)-1, BANYAN_SUM));
    assert_null(banyan_kernel_find(BANYAN_INT8, (banyan_op)5));
    assert_null(banyan_kernel_find(BANYAN_INT8, (banyan_op)-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_float16_widens_exactly_and_narrows_back),
        cmocka_unit_test(every_bfloat16_widens_exactly_and_narrows_back),
        cmocka_unit_test(narrowing_rounds_to_nearest_even_at_every_exponent),
        cmocka_unit_test(float16_sums_are_correctly_rounded),
        cmocka_unit_test(every_type_and_op_agrees_with_a_plain_definition_at_odd_lengths_and_addresses),
        cmocka_unit_test(every_set_of_kernels_gives_the_same_bits),
        cmocka_unit_test(floating_kernels_commute_to_the_last_bit),
        cmocka_unit_test(max_and_min_order_the_zeros_and_propagate_nan),
        cmocka_unit_test(integers_wrap_around),
        cmocka_unit_test(division_cuts_integers_towards_zero_and_rounds_halves),
        cmocka_unit_test(division_reaches_each_element_of_any_length_and_none_behind),
        cmocka_unit_test(there_is_no_kernel_outside_the_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
