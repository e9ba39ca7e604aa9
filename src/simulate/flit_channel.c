/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_channel.c: the ring of a delay line grows. */
#include "simulate/flit_channel.h"

#include "core/alloc.h"

static int grow(flit_line *line)
{
    uint32_t capacity = line->capacity ? 2 * line->capacity : 8;
    flit_run *runs = banyan_alloc(capacity, sizeof *runs);

    if (!runs)
        return 0;
    for (uint32_t i = 0; i < line->count; i++)
        runs[i] = line->runs[(line->first + i) & (line->capacity - 1)];
    banyan_free(line->runs);
    line->runs = runs;
    line->first = 0;
    line->capacity = capacity;
    return 1;
}

int flit_line_push(flit_line *line, int64_t due, int32_t packet, int32_t count, int lane, int hop,
                   int has_head)
{
    flit_run *run;

    if (line->count == line->capacity && !grow(line))
        return 0;
    line->count++;
    run = flit_line_back(line);
    run->due = due;
    run->packet = packet;
    run->count = count;
    run->lane = (int16_t)lane;
    run->hop = (uint16_t)hop;
    run->has_head = has_head;
    return 1;
}
