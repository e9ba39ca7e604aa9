/* SPDX-License-Identifier: Apache-2.0 */
/* execute/copy.h: copies that know where their bytes are.
 *
 * From far: out of memory or another core's cache. The processor fetches ahead by itself, but no further than
 * to the end of a page; asking a kilobyte ahead keeps it busy across.
 * Past the cache: an ordinary store first fetches the line that it is about to overwrite. Stores past the
 * cache do not, and do not push out what is still needed: for targets that are in no cache and are not read
 * soon. */
#ifndef BANYAN_EXECUTE_COPY_H
#define BANYAN_EXECUTE_COPY_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define BANYAN_COPY_LINE ((size_t)64)
#define BANYAN_COPY_AHEAD ((size_t)1024)

static inline void banyan_copy_from_far(char *into, const char *from, size_t bytes)
{
    size_t at = 0;

    for (; at + BANYAN_COPY_LINE <= bytes; at += BANYAN_COPY_LINE) {
        if (at + BANYAN_COPY_AHEAD < bytes)
            __builtin_prefetch(from + at + BANYAN_COPY_AHEAD);
        memcpy(into + at, from + at, BANYAN_COPY_LINE);
    }
    if (at < bytes)
        memcpy(into + at, from + at, bytes - at);
}

/* Others see it after banyan_copy_settle. */
static inline void banyan_copy_past_cache(char *into, const char *from, size_t bytes)
{
#if defined(__SSE2__)
    size_t at = (0u - (uintptr_t)into) & (BANYAN_COPY_LINE - 1);

    if (bytes < 2 * BANYAN_COPY_LINE) {
        memcpy(into, from, bytes);
        return;
    }
    memcpy(into, from, at);
    for (; at + BANYAN_COPY_LINE <= bytes; at += BANYAN_COPY_LINE) {
        __m128i line[4];

        if (at + BANYAN_COPY_AHEAD < bytes)
            __builtin_prefetch(from + at + BANYAN_COPY_AHEAD);
        for (int i = 0; i < 4; i++)
            line[i] = _mm_loadu_si128((const __m128i *)(const void *)(from + at + 16 * (size_t)i));
        for (int i = 0; i < 4; i++)
            _mm_stream_si128((__m128i *)(void *)(into + at + 16 * (size_t)i), line[i]);
    }
    memcpy(into + at, from + at, bytes - at);
#else
    banyan_copy_from_far(into, from, bytes);
#endif
}

static inline void banyan_copy_settle(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
