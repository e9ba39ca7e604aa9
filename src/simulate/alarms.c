/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/alarms.c: all games begin with silent clocks, won by the lower numbers. */
#include "simulate/alarms.h"

#include <math.h>

#include "core/alloc.h"

/* Four places, so that all children of a place lie in one line of the cache. */
enum { LINE_BYTES = 4 * sizeof(banyan_alarm) };

int banyan_alarms_init(banyan_alarms *alarms, int clock_count)
{
    size_t leaves = 4, first = BANYAN_ALARMS_WINNER + 1, offset;

    for (; leaves < (size_t)clock_count; leaves *= 4)
        first = 4 * (first - 2);
    *alarms = (banyan_alarms){.first_leaf = (int)first,
                              .memory = banyan_alloc(first + leaves + 4, sizeof *alarms->place)};
    if (!alarms->memory)
        return 0;
    offset = (uintptr_t)alarms->memory % LINE_BYTES;
    alarms->place = (banyan_alarm *)((char *)alarms->memory + (offset ? LINE_BYTES - offset : 0));
    for (size_t i = 0; i < leaves; i++)
        alarms->place[first + i] = (banyan_alarm){banyan_alarms_bits(HUGE_VAL), (int)i};
    for (size_t i = first - 1; i >= BANYAN_ALARMS_WINNER; i--)
        alarms->place[i] = alarms->place[4 * (i - 2)];
    return 1;
}

void banyan_alarms_fini(banyan_alarms *alarms)
{
    banyan_free(alarms->memory);
    *alarms = (banyan_alarms){0};
}
