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

#define LOOP(name)                                                                                           \
    TARGET void banyan_kernel_f16c_##name(void *restrict into, const void *restrict from, size_t count)      \
    {                                                                                                        \
        char *x = into;                                                                                      \
        const char *y = from;                                                                                \
        size_t done = 0, left;                                                                               \
        uint16_t a[8] = {0}, b[8] = {0};                                                                     \
                                                                                                             \
        for (; count - done >= 8; done += 8, x += 16, y += 16)                                               \
            _mm_storeu_si128((__m128i *)(void *)x, name(_mm_loadu_si128((const __m128i *)(const void *)x),   \
                                                        _mm_loadu_si128((const __m128i *)(const void *)y))); \
        left = (count - done) * sizeof *a;                                                                   \
        memcpy(a, x, left);                                                                                  \
        memcpy(b, y, left);                                                                                  \
        _mm_storeu_si128((__m128i *)(void *)a, name(_mm_loadu_si128((const __m128i *)(const void *)a),       \
                                                    _mm_loadu_si128((const __m128i *)(const void *)b)));     \
        memcpy(x, a, left);                                                                                  \
    }

LOOP(sum)
LOOP(prod)
#else
typedef int banyan_kernels_f16c_are_for_x86; /* a file must hold something */
#endif
