/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_channel.c: the rings of delay lines grow. */
#include "simulate/flit_channel.h"

#include "core/alloc.h"

int flit_line_grow(flit_line *line)
{
    uint32_t capacity = line->capacity ? 2 * line->capacity : 4;
    flit_run *runs = banyan_alloc(capacity, sizeof *runs);

    if (!runs)
        return 0;
    for (uint32_t i = 0; i < line->count; i++)
        runs[i] = line->runs[(line->first + i) & (line->capacity - 1)];
    banyan_free(line->runs);
    line->runs = runs;
    line->first = 0;
    line->last = (line->count - 1) & (capacity - 1);
    line->capacity = capacity;
    return 1;
}

int flit_credits_grow(flit_credits *credits)
{
    uint32_t capacity = credits->capacity ? 2 * credits->capacity : 4;
    flit_credit_run *runs = banyan_alloc(capacity, sizeof *runs);

    if (!runs)
        return 0;
    for (uint32_t i = 0; i < credits->count; i++)
        runs[i] = credits->runs[(credits->first + i) & (credits->capacity - 1)];
    banyan_free(credits->runs);
    credits->runs = runs;
    credits->first = 0;
    credits->capacity = capacity;
    return 1;
}
