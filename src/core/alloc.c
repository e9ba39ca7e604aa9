/* SPDX-License-Identifier: Apache-2.0 */
/* core/alloc.c: calloc, realloc and free behind one counter that a test can set. */
#include "core/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static atomic_long calls_left = -1;

static int may_allocate(void)
{
    long left = atomic_load_explicit(&calls_left, memory_order_relaxed);

    if (left < 0)
        return 1;
    while (left > 0)
        if (atomic_compare_exchange_weak(&calls_left, &left, left - 1))
            return 1;
    return 0;
}

void *banyan_alloc(size_t count, size_t size)
{
    if (!may_allocate())
        return NULL;
    if (!count || !size)
        return calloc(1, 1);
    return calloc(count, size);
}

void *banyan_realloc(void *memory, size_t count, size_t size)
{
    if (!may_allocate())
        return NULL;
    if (!count || !size)
        return realloc(memory, 1);
    if (count > SIZE_MAX / size)
        return NULL;
    return realloc(memory, count * size);
}

char *banyan_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = banyan_alloc(bytes, 1);

    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

void banyan_free(void *memory)
{
    free(memory);
}

int banyan_grow_now(void **array, size_t *capacity, size_t size)
{
    size_t wanted = *capacity ? 2 * *capacity : 16;
    void *bigger = banyan_realloc(*array, wanted, size);

    if (!bigger)
        return 0;
    *array = bigger;
    *capacity = wanted;
    return 1;
}

void *banyan_malloc(size_t size)
{
    return may_allocate() ? malloc(size ? size : 1) : NULL;
}

void banyan_alloc_fail_after(long calls)
{
    atomic_store(&calls_left, calls);
}
