/* SPDX-License-Identifier: Apache-2.0 */
/* execute/kernels_bf16.c: two bfloat16 lie in each 32 bits, and each is the upper half of a float32. So
 * nothing has to be moved apart and together again:
 *
 *     | odd | even |     odd: the lower half made zero      even: shifted up      both are float32, and are
 *                        added, rounded and put back where they were
 *
 * The bits are those of execute/half.h: rounded to nearest even, every NaN the one without payload. Elements
 * that do not fill a vector go through a padded one. */
#include "execute/kernels_bf16.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

/* The upper half has what remains, the lower one rubbish. */
AVX2 static inline __m256i round_avx2(__m256 value)
{
    const __m256i plain_nan = _mm256_set1_epi32(0x7fc00000);
    __m256i bits = _mm256_castps_si256(value);
    __m256i last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), last);
    __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));

    return _mm256_blendv_epi8(rounded, plain_nan, is_nan);
}

AVX2 static inline __m256i join_avx2(__m256 even, __m256 odd)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(round_avx2(even), 16), round_avx2(odd), 0xaa);
}

AVX2 static inline __m256 even_avx2(__m256i both)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
}

AVX2 static inline __m256 odd_avx2(__m256i both)
{
    return _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32((int)0xffff0000u)));
}

AVX512 static inline __m512i round_avx512(__m512 value)
{
    __m512i bits = _mm512_castps_si512(value);
    __m512i last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), last);

    return _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q),
                                 _mm512_set1_epi32(0x7fc00000));
}

AVX512 static inline __m512i join_avx512(__m512 even, __m512 odd)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(round_avx512(even), 16), round_avx512(odd));
}

AVX512 static inline __m512 even_avx512(__m512i both)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
}

AVX512 static inline __m512 odd_avx512(__m512i both)
{
    return _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32((int)0xffff0000u)));
}

#define LOAD_avx2(from) _mm256_loadu_si256((const __m256i *)(const void *)(from))
#define STORE_avx2(to, value) _mm256_storeu_si256((__m256i *)(void *)(to), value)
#define LOAD_avx512(from) _mm512_loadu_si512((const void *)(from))
#define STORE_avx512(to, value) _mm512_storeu_si512((void *)(to), value)

#define LOOP(set, target, vector, bytes, name, arithmetic)                                                   \
    target static inline vector name##_##set(vector a, vector b)                                             \
    {                                                                                                        \
        return join_##set(arithmetic(even_##set(a), even_##set(b)), arithmetic(odd_##set(a), odd_##set(b))); \
    }                                                                                                        \
    target void banyan_kernel_bf16_##set##_##name(void *into, const void *a, const void *b, size_t count)    \
    {                                                                                                        \
        char x[bytes] = {0}, y[bytes] = {0};                                                                 \
        size_t at = 0, end = count * sizeof(uint16_t);                                                       \
                                                                                                             \
        for (; end - at >= (bytes); at += (bytes))                                                           \
            STORE_##set((char *)into + at,                                                                   \
                        name##_##set(LOAD_##set((const char *)a + at), LOAD_##set((const char *)b + at)));   \
        memcpy(x, (const char *)a + at, end - at);                                                           \
        memcpy(y, (const char *)b + at, end - at);                                                           \
        STORE_##set(x, name##_##set(LOAD_##set(x), LOAD_##set(y)));                                          \
        memcpy((char *)into + at, x, end - at);                                                              \
    }

LOOP(avx2, AVX2, __m256i, 32, sum, _mm256_add_ps)
LOOP(avx2, AVX2, __m256i, 32, prod, _mm256_mul_ps)
LOOP(avx512, AVX512, __m512i, 64, sum, _mm512_add_ps)
LOOP(avx512, AVX512, __m512i, 64, prod, _mm512_mul_ps)
#else
typedef int banyan_kernels_bf16_are_for_x86; /* a file must hold something */
#endif
