/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/alarms.c: a heap with four children a place, half as deep as one of two, and they lie side by
 * side. Every clock knows its place, so an alarm can be moved. Cost: O(log) a change. */
#include "simulate/alarms.h"

#include "core/alloc.h"

int banyan_alarms_init(banyan_alarms *alarms, int clock_count)
{
    *alarms = (banyan_alarms){.heap = banyan_alloc((size_t)clock_count, sizeof *alarms->heap),
                              .place = banyan_alloc((size_t)clock_count, sizeof *alarms->place)};
    for (int i = 0; alarms->place && i < clock_count; i++)
        alarms->place[i] = -1;
    return alarms->heap && alarms->place;
}

void banyan_alarms_fini(banyan_alarms *alarms)
{
    banyan_free(alarms->heap);
    banyan_free(alarms->place);
    *alarms = (banyan_alarms){0};
}

static int rings_before(banyan_alarm a, banyan_alarm b)
{
    return a.time_s < b.time_s || (a.time_s == b.time_s && a.number < b.number);
}

static void put(banyan_alarms *alarms, int at, banyan_alarm a)
{
    alarms->heap[at] = a;
    alarms->place[a.number] = at;
}

static int first_child(const banyan_alarms *alarms, int at)
{
    int first = 4 * at + 1, last = first + 4 < alarms->count ? first + 4 : alarms->count, best = first;

    for (int child = first + 1; child < last; child++)
        if (rings_before(alarms->heap[child], alarms->heap[best]))
            best = child;
    return best;
}

static void sink(banyan_alarms *alarms, int at, banyan_alarm a)
{
    while (4 * at + 1 < alarms->count) {
        int child = first_child(alarms, at);

        if (!rings_before(alarms->heap[child], a))
            break;
        put(alarms, at, alarms->heap[child]);
        at = child;
    }
    put(alarms, at, a);
}

static void rise(banyan_alarms *alarms, int at, banyan_alarm a)
{
    for (; at > 0 && rings_before(a, alarms->heap[(at - 1) / 4]); at = (at - 1) / 4)
        put(alarms, at, alarms->heap[(at - 1) / 4]);
    put(alarms, at, a);
}

static void move(banyan_alarms *alarms, int at, banyan_alarm a)
{
    if (at > 0 && rings_before(a, alarms->heap[(at - 1) / 4]))
        rise(alarms, at, a);
    else
        sink(alarms, at, a);
}

void banyan_alarms_set(banyan_alarms *alarms, int number, double time_s)
{
    int at = alarms->place[number];

    move(alarms, at < 0 ? alarms->count++ : at, (banyan_alarm){time_s, number});
}

void banyan_alarms_silence(banyan_alarms *alarms, int number)
{
    int at = alarms->place[number];
    banyan_alarm last;

    if (at < 0)
        return;
    alarms->place[number] = -1;
    last = alarms->heap[--alarms->count];
    if (at < alarms->count)
        move(alarms, at, last);
}
