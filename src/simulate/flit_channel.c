/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_channel.c: the rings of delay lines grow. */
#include "simulate/flit_channel.h"

#include "core/alloc.h"

/* Runs of credits that a lane has place for at first: what most never need more than between two counts. */
enum { FIRST_CREDITS = 16 };

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

static int lengthen(flit_credits *c)
{
    uint32_t places = c->capacity ? 2 * c->capacity : FIRST_CREDITS;
    flit_credit_run *runs = banyan_alloc(places, sizeof *runs);

    if (!runs)
        return 0;
    for (uint32_t i = c->first; i != c->last; i++)
        runs[i & (places - 1)] = c->runs[i & (c->capacity - 1)];
    banyan_free(c->runs);
    c->runs = runs;
    c->capacity = places;
    return 1;
}

int flit_credits_make_room(flit_credits *c, int64_t settled)
{
    if (c->here > 0 && !c->is_watched)
        flit_credits_settle(c, settled);
    return c->last - c->first < c->capacity || lengthen(c);
}
