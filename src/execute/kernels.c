/* SPDX-License-Identifier: Apache-2.0 */
/* execute/kernels.c: one loop a type and op, made by macros from one small function each.
 *
 * The loops go in blocks of constant length, which is what compilers vectorise at -O2, and through types
 * without alignment, because a user's buffer or a peer's slice may begin anywhere. Each element is read and
 * written once: the cost is that of memory, 3 bytes moved for 1 byte reduced. */
#include "execute/kernels.h"

#include <math.h>
#include <stdint.h>

#include "execute/half.h"
#include "execute/kernels_bf16.h"
#include "execute/kernels_f16c.h"

#define BLOCK 64

typedef uint8_t any_uint8;
typedef int8_t any_int8;
typedef uint16_t any_uint16 __attribute__((aligned(1), may_alias));
typedef uint32_t any_uint32 __attribute__((aligned(1), may_alias));
typedef int32_t any_int32 __attribute__((aligned(1), may_alias));
typedef uint64_t any_uint64 __attribute__((aligned(1), may_alias));
typedef int64_t any_int64 __attribute__((aligned(1), may_alias));
typedef float any_float __attribute__((aligned(1), may_alias));
typedef double any_double __attribute__((aligned(1), may_alias));

/* What happens to one pair of elements. */

#define INTEGER_ORDER(name, type)                                                                            \
    static inline type max_##name(type a, type b)                                                            \
    {                                                                                                        \
        return a > b ? a : b;                                                                                \
    }                                                                                                        \
    static inline type min_##name(type a, type b)                                                            \
    {                                                                                                        \
        return a < b ? a : b;                                                                                \
    }

/* Signed sums and products have the bits of the unsigned ones, and those are defined when they overflow. */
#define INTEGER_ARITHMETIC(name, type)                                                                       \
    static inline type sum_##name(type a, type b)                                                            \
    {                                                                                                        \
        return (type)(a + b);                                                                                \
    }                                                                                                        \
    static inline type prod_##name(type a, type b)                                                           \
    {                                                                                                        \
        return (type)(a * b);                                                                                \
    }

INTEGER_ORDER(int8, int8_t)
INTEGER_ORDER(uint8, uint8_t)
INTEGER_ORDER(int32, int32_t)
INTEGER_ORDER(uint32, uint32_t)
INTEGER_ORDER(int64, int64_t)
INTEGER_ORDER(uint64, uint64_t)
INTEGER_ARITHMETIC(uint8, uint8_t)
INTEGER_ARITHMETIC(uint32, uint32_t)
INTEGER_ARITHMETIC(uint64, uint64_t)

/* The order of the bits is the order of the numbers once negative ones are turned upside down. */
#define FLOATING(name, type, bits_type, key_type, sign_shift, nan_value)                                     \
    static inline bits_type bits_##name(type value)                                                          \
    {                                                                                                        \
        bits_type bits;                                                                                      \
                                                                                                             \
        memcpy(&bits, &value, sizeof bits);                                                                  \
        return bits;                                                                                         \
    }                                                                                                        \
    static inline key_type key_##name(type value)                                                            \
    {                                                                                                        \
        bits_type bits = bits_##name(value);                                                                 \
        bits_type negative = (bits_type)0 - (bits >> sign_shift);                                            \
                                                                                                             \
        return (key_type)(bits ^ (negative >> 1));                                                           \
    }                                                                                                        \
    static inline type sum_##name(type a, type b)                                                            \
    {                                                                                                        \
        type sum = a + b;                                                                                    \
                                                                                                             \
        return sum == sum ? sum : (nan_value);                                                               \
    }                                                                                                        \
    static inline type prod_##name(type a, type b)                                                           \
    {                                                                                                        \
        type product = a * b;                                                                                \
                                                                                                             \
        return product == product ? product : (nan_value);                                                   \
    }                                                                                                        \
    static inline type max_##name(type a, type b)                                                            \
    {                                                                                                        \
        type larger = key_##name(a) > key_##name(b) ? a : b;                                                 \
                                                                                                             \
        return a == a && b == b ? larger : (nan_value);                                                      \
    }                                                                                                        \
    static inline type min_##name(type a, type b)                                                            \
    {                                                                                                        \
        type smaller = key_##name(a) < key_##name(b) ? a : b;                                                \
                                                                                                             \
        return a == a && b == b ? smaller : (nan_value);                                                     \
    }

FLOATING(float32, float, uint32_t, int32_t, 31, banyan_float_of_bits(0x7fc00000u))
FLOATING(float64, double, uint64_t, int64_t, 63, (double)NAN)

/* Arithmetic goes through float32; the order needs the bits alone. */
static inline int16_t key_half(uint16_t bits)
{
    return (int16_t)(bits ^ ((0u - (bits >> 15)) & 0x7fffu));
}

#define NARROW(name, infinity, nan_bits)                                                                     \
    static inline uint16_t sum_##name(uint16_t a, uint16_t b)                                                \
    {                                                                                                        \
        return banyan_##name##_narrow(banyan_##name##_widen(a) + banyan_##name##_widen(b));                  \
    }                                                                                                        \
    static inline uint16_t prod_##name(uint16_t a, uint16_t b)                                               \
    {                                                                                                        \
        return banyan_##name##_narrow(banyan_##name##_widen(a) * banyan_##name##_widen(b));                  \
    }                                                                                                        \
    static inline int has_nan_##name(uint16_t a, uint16_t b)                                                 \
    {                                                                                                        \
        return ((a & 0x7fffu) > (infinity)) | ((b & 0x7fffu) > (infinity));                                  \
    }                                                                                                        \
    static inline uint16_t max_##name(uint16_t a, uint16_t b)                                                \
    {                                                                                                        \
        uint16_t larger = key_half(a) > key_half(b) ? a : b;                                                 \
                                                                                                             \
        return has_nan_##name(a, b) ? (uint16_t)(nan_bits) : larger;                                         \
    }                                                                                                        \
    static inline uint16_t min_##name(uint16_t a, uint16_t b)                                                \
    {                                                                                                        \
        uint16_t smaller = key_half(a) < key_half(b) ? a : b;                                                \
                                                                                                             \
        return has_nan_##name(a, b) ? (uint16_t)(nan_bits) : smaller;                                        \
    }

NARROW(float16, 0x7c00u, BANYAN_FLOAT16_NAN)
NARROW(bfloat16, 0x7f80u, BANYAN_BFLOAT16_NAN)

/* The loops, once for the instructions that every processor of the architecture has, and on x86-64 once more
 * for AVX2 and once for AVX-512. It is the same code, without fused multiply-add, so the bits are the
 * same. */

/* No element depends on another one, also where the result overwrites a. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define LOOP_AS(set, attribute, function, type)                                                              \
    attribute static void set##_##function(void *into, const void *a, const void *b, size_t count)           \
    {                                                                                                        \
        const type *x = a, *y = b;                                                                           \
        type *z = into;                                                                                      \
        size_t done = 0;                                                                                     \
                                                                                                             \
        for (; count - done >= BLOCK; done += BLOCK, x += BLOCK, y += BLOCK, z += BLOCK) {                   \
            INDEPENDENT                                                                                      \
            for (int i = 0; i < BLOCK; i++)                                                                  \
                z[i] = function(x[i], y[i]);                                                                 \
        }                                                                                                    \
        for (; done < count; done++, x++, y++, z++)                                                          \
            *z = function(*x, *y);                                                                           \
    }

#if defined(__x86_64__)
#if defined(__clang__)
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"), min_vector_width(512)))
#else
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#define LOOP(function, type)                                                                                 \
    LOOP_AS(plain, , function, type)                                                                         \
    LOOP_AS(avx2, __attribute__((target("avx2"))), function, type)                                           \
    LOOP_AS(avx512, AVX512, function, type)
#else
#define LOOP(function, type) LOOP_AS(plain, , function, type)
#endif

#define LOOPS(name, type)                                                                                    \
    LOOP(sum_##name, type)                                                                                   \
    LOOP(prod_##name, type)                                                                                  \
    LOOP(max_##name, type)                                                                                   \
    LOOP(min_##name, type)

LOOPS(uint8, any_uint8)
LOOPS(uint32, any_uint32)
LOOPS(uint64, any_uint64)
LOOP_AS(plain, , sum_float16, any_uint16)
LOOP_AS(plain, , prod_float16, any_uint16)
LOOP(max_float16, any_uint16)
LOOP(min_float16, any_uint16)
LOOP_AS(plain, , sum_bfloat16, any_uint16)
LOOP_AS(plain, , prod_bfloat16, any_uint16)
LOOP(max_bfloat16, any_uint16)
LOOP(min_bfloat16, any_uint16)
LOOPS(float32, any_float)
LOOPS(float64, any_double)
LOOP(max_int8, any_int8)
LOOP(min_int8, any_int8)
LOOP(max_int32, any_int32)
LOOP(min_int32, any_int32)
LOOP(max_int64, any_int64)
LOOP(min_int64, any_int64)

/* There are instructions and ways for these that compilers do not find. */
#if defined(__x86_64__)
static void avx2_sum_float16(void *into, const void *a, const void *b, size_t count)
{
    banyan_kernel_f16c_sum(into, a, b, count);
}

static void avx2_prod_float16(void *into, const void *a, const void *b, size_t count)
{
    banyan_kernel_f16c_prod(into, a, b, count);
}
#endif

#define avx512_sum_float16 avx2_sum_float16
#define avx512_prod_float16 avx2_prod_float16
#define avx2_sum_bfloat16 banyan_kernel_bf16_avx2_sum
#define avx2_prod_bfloat16 banyan_kernel_bf16_avx2_prod
#define avx512_sum_bfloat16 banyan_kernel_bf16_avx512_sum
#define avx512_prod_bfloat16 banyan_kernel_bf16_avx512_prod

#define ROW(set, type, arithmetic, order)                                                                    \
    [BANYAN_##type] = {[BANYAN_SUM] = set##_sum_##arithmetic,                                                \
                       [BANYAN_PROD] = set##_prod_##arithmetic,                                              \
                       [BANYAN_MAX] = set##_max_##order,                                                     \
                       [BANYAN_MIN] = set##_min_##order,                                                     \
                       [BANYAN_AVG] = set##_sum_##arithmetic}

#define TABLE(set)                                                                                           \
    {                                                                                                        \
        ROW(set, INT8, uint8, int8), ROW(set, UINT8, uint8, uint8), ROW(set, INT32, uint32, int32),          \
            ROW(set, UINT32, uint32, uint32), ROW(set, INT64, uint64, int64),                                \
            ROW(set, UINT64, uint64, uint64), ROW(set, FLOAT16, float16, float16),                           \
            ROW(set, FLOAT32, float32, float32), ROW(set, FLOAT64, float64, float64),                        \
            ROW(set, BFLOAT16, bfloat16, bfloat16),                                                          \
    }

/* Best last. */
static const struct {
    const char *name;
    banyan_kernel kernels[BANYAN_BFLOAT16 + 1][BANYAN_AVG + 1];
} sets[] = {
    {"plain", TABLE(plain)},
#if defined(__x86_64__)
    {"avx2", TABLE(avx2)},
    {"avx512", TABLE(avx512)},
#endif
};

int banyan_kernel_set_count(void)
{
    return (int)(sizeof sets / sizeof *sets);
}

const char *banyan_kernel_set_name(int set)
{
    return sets[set].name;
}

int banyan_kernel_set_works(int set)
{
#if defined(__x86_64__)
    if (set == 2 && !(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")))
        return 0;
    return set == 0 || banyan_kernels_f16c_work();
#else
    return set == 0;
#endif
}

banyan_kernel banyan_kernel_find_in(int set, banyan_datatype type, banyan_op op)
{
    if (!banyan_datatype_bytes(type) || (unsigned)op > BANYAN_AVG)
        return NULL;
    return sets[set].kernels[type][op];
}

int banyan_kernel_best_set(void)
{
    int set = banyan_kernel_set_count() - 1;

    while (!banyan_kernel_set_works(set))
        set--;
    return set;
}

banyan_kernel banyan_kernel_find(banyan_datatype type, banyan_op op)
{
    return banyan_kernel_find_in(banyan_kernel_best_set(), type, op);
}

#define DIVIDE(type, expression)                                                                             \
    {                                                                                                        \
        type *x = elements;                                                                                  \
                                                                                                             \
        for (; count >= BLOCK; count -= BLOCK, x += BLOCK)                                                   \
            for (int i = 0; i < BLOCK; i++)                                                                  \
                x[i] = (expression);                                                                         \
        for (size_t i = 0; i < count; i++)                                                                   \
            x[i] = (expression);                                                                             \
        break;                                                                                               \
    }

/* A NaN divided by one could keep a payload; the sum before has made it the plain one already. */
void banyan_kernel_divide(banyan_datatype type, void *elements, size_t count, int divisor)
{
    float single = (float)divisor;

    switch (type) {
    case BANYAN_INT8:
        DIVIDE(any_int8, (int8_t)(x[i] / divisor))
    case BANYAN_UINT8:
        DIVIDE(any_uint8, (uint8_t)(x[i] / divisor))
    case BANYAN_INT32:
        DIVIDE(any_int32, x[i] / divisor)
    case BANYAN_UINT32:
        DIVIDE(any_uint32, x[i] / (uint32_t)divisor)
    case BANYAN_INT64:
        DIVIDE(any_int64, x[i] / divisor)
    case BANYAN_UINT64:
        DIVIDE(any_uint64, x[i] / (uint64_t)divisor)
    case BANYAN_FLOAT16:
        DIVIDE(any_uint16, banyan_float16_narrow(banyan_float16_widen(x[i]) / single))
    case BANYAN_FLOAT32:
        DIVIDE(any_float, x[i] / single)
    case BANYAN_FLOAT64:
        DIVIDE(any_double, x[i] / divisor)
    case BANYAN_BFLOAT16:
        DIVIDE(any_uint16, banyan_bfloat16_narrow(banyan_bfloat16_widen(x[i]) / single))
    }
}
