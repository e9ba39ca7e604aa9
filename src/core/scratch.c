/* SPDX-License-Identifier: Apache-2.0 */
/* core/scratch.c: a list of what was taken. */
#include "core/scratch.h"

#include <string.h>

#include "core/alloc.h"

void *banyan_scratch_take(banyan_scratch *scratch, size_t count, size_t size)
{
    void *memory = NULL;

    if (banyan_grow((void **)&scratch->block, scratch->count, &scratch->capacity, sizeof *scratch->block))
        memory = banyan_alloc(count, size);
    if (memory)
        scratch->block[scratch->count++] = memory;
    else
        scratch->failed = 1;
    return memory;
}

void banyan_scratch_free(banyan_scratch *scratch)
{
    while (scratch->count)
        banyan_free(scratch->block[--scratch->count]);
    banyan_free(scratch->block);
    memset(scratch, 0, sizeof *scratch);
}
