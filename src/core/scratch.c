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

banyan_status banyan_scratch_check(const banyan_scratch *scratch, banyan_error *err)
{
    return scratch->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

void banyan_scratch_free(banyan_scratch *scratch)
{
    while (scratch->count)
        banyan_free(scratch->block[--scratch->count]);
    banyan_free(scratch->block);
    memset(scratch, 0, sizeof *scratch);
}
