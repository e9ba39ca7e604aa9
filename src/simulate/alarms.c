/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/alarms.c: all games begin with silent clocks, won by the lower numbers. */
#include "simulate/alarms.h"

#include <math.h>

#include "core/alloc.h"

int banyan_alarms_init(banyan_alarms *alarms, int clock_count)
{
    int leaves = 1;

    while (leaves < clock_count)
        leaves *= 2;
    *alarms = (banyan_alarms){banyan_alloc(2 * (size_t)leaves, sizeof *alarms->place), leaves};
    if (!alarms->place)
        return 0;
    for (int i = 0; i < leaves; i++)
        alarms->place[leaves + i] = (banyan_alarm){banyan_alarms_bits(HUGE_VAL), i};
    for (int i = leaves - 1; i > 0; i--)
        alarms->place[i] = alarms->place[2 * i];
    return 1;
}

void banyan_alarms_fini(banyan_alarms *alarms)
{
    banyan_free(alarms->place);
    *alarms = (banyan_alarms){0};
}
