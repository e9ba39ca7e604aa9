/* SPDX-License-Identifier: Apache-2.0 */
/* core/alloc.h: the only way to the heap, so that a test can make the n-th allocation fail. */
#ifndef BANYAN_CORE_ALLOC_H
#define BANYAN_CORE_ALLOC_H

#include <stddef.h>

#include <banyan/status.h> /* banyan_free */

/* Zeroed memory for count things of size bytes; never NULL for count or size 0; NULL when memory runs out. */
void *banyan_alloc(size_t count, size_t size);

/* Like realloc for arrays; what is new is not zeroed. On NULL the old memory stays as it was. */
void *banyan_realloc(void *memory, size_t count, size_t size);

/* A copy of the text, or NULL. */
char *banyan_strdup(const char *text);

/* Makes room for one more in an array of *capacity things; doubles. Returns 0 when memory ran out. */
int banyan_grow_now(void **array, size_t *capacity, size_t size);

static inline int banyan_grow(void **array, size_t count, size_t *capacity, size_t size)
{
    return count < *capacity || banyan_grow_now(array, capacity, size);
}

/* malloc's own form, for libraries that let us give them an allocator. */
void *banyan_malloc(size_t size);

/* For tests: after this many further allocations every one fails; -1 never. */
void banyan_alloc_fail_after(long calls);

#endif
