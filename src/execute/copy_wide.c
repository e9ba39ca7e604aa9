/* SPDX-License-Identifier: Apache-2.0 */
/* execute/copy_wide.c: AVX-512 where it is there. */
#include "execute/copy_wide.h"

#include <string.h>

#include "execute/copy.h"

static void copy_plainly(char *into, const char *from, size_t bytes)
{
    memcpy(into, from, bytes);
}

static void copy_past_cache(char *into, const char *from, size_t bytes)
{
    banyan_copy_past_cache(into, from, bytes);
}

#if defined(__x86_64__)
#include <immintrin.h>

#define WIDE __attribute__((target("avx512f")))

WIDE static void copy_wide(char *into, const char *from, size_t bytes)
{
    size_t at = 0;

    for (; at + BANYAN_COPY_LINE <= bytes; at += BANYAN_COPY_LINE)
        _mm512_storeu_si512(into + at, _mm512_loadu_si512(from + at));
    memcpy(into + at, from + at, bytes - at);
}

WIDE static void copy_wide_past_cache(char *into, const char *from, size_t bytes)
{
    size_t at = (0u - (uintptr_t)into) & (BANYAN_COPY_LINE - 1);

    if (at > bytes)
        at = bytes;
    memcpy(into, from, at);
    for (; at + BANYAN_COPY_LINE <= bytes; at += BANYAN_COPY_LINE)
        _mm512_stream_si512((void *)(into + at), _mm512_loadu_si512(from + at));
    memcpy(into + at, from + at, bytes - at);
}

banyan_copies banyan_copies_best(void)
{
    if (__builtin_cpu_supports("avx512f"))
        return (banyan_copies){copy_wide, copy_wide_past_cache};
    return (banyan_copies){copy_plainly, copy_past_cache};
}
#else
banyan_copies banyan_copies_best(void)
{
    return (banyan_copies){copy_plainly, copy_past_cache};
}
#endif
