/* SPDX-License-Identifier: Apache-2.0 */
/* execute/kernels_f16c.c: eight float16 at a time through float32 and back, in three instructions where the
 * portable way takes some seventy. The bits are the same: both round to nearest even, and both turn every NaN
 * into the one without payload. Elements that do not fill a vector go through a padded one. */
#include "execute/kernels_f16c.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define TARGET __attribute__((target("avx2,f16c")))

int banyan_kernels_f16c_work(void)
{
    unsigned a, b, c, d;

    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

TARGET static inline __m128i narrow(__m256 value)
{
    const __m256 plain_nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
    __m256 is_nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);

    return _mm256_cvtps_ph(_mm256_blendv_ps(value, plain_nan, is_nan), _MM_FROUND_TO_NEAREST_INT);
}

TARGET static inline __m128i sum(__m128i a, __m128i b)
{
    return narrow(_mm256_add_ps(_mm256_cvtph_ps(a), _mm256_cvtph_ps(b)));
}

TARGET static inline __m128i prod(__m128i a, __m128i b)
{
    return narrow(_mm256_mul_ps(_mm256_cvtph_ps(a), _mm256_cvtph_ps(b)));
}

#define LOAD(from) _mm_loadu_si128((const __m128i *)(const void *)(from))
#define STORE(to, value) _mm_storeu_si128((__m128i *)(void *)(to), value)

#define LOOP(name)                                                                                           \
    TARGET void banyan_kernel_f16c_##name(void *into, const void *a, const void *b, size_t count)            \
    {                                                                                                        \
        uint16_t x[8] = {0}, y[8] = {0};                                                                     \
        size_t done = 0, at = 0, left;                                                                       \
                                                                                                             \
        for (; count - done >= 8; done += 8, at += 16)                                                       \
            STORE((char *)into + at, name(LOAD((const char *)a + at), LOAD((const char *)b + at)));          \
        left = (count - done) * sizeof *x;                                                                   \
        memcpy(x, (const char *)a + at, left);                                                               \
        memcpy(y, (const char *)b + at, left);                                                               \
        STORE(x, name(LOAD(x), LOAD(y)));                                                                    \
        memcpy((char *)into + at, x, left);                                                                  \
    }

LOOP(sum)
LOOP(prod)
#else
typedef int banyan_kernels_f16c_are_for_x86; /* a file must hold something */
#endif
