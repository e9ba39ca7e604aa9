/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_agenda.h: what there is to do in which cycle, over all routers: lists in place of masks.
 * Internal to the flit engine.
 *
 * Where single flits move everywhere, looking at every router in every cycle costs more than the flits do,
 * and how many there are in each is anybody's guess, for the processor too. So a cycle has one list of flits
 * that come, one of outputs that lanes want, and one of outputs with lanes asked for, and each is worked off
 * from end to end (flit_cycle.c). An output is in a list while its set is not empty: who makes it so enters
 * it. */
#ifndef BANYAN_SIMULATE_FLIT_AGENDA_H
#define BANYAN_SIMULATE_FLIT_AGENDA_H

#include "simulate/flit_channel.h"

/* Places: a router's number, and in the low bits an input or an output. */
enum { FLIT_PLACE_BITS = 8 };

typedef struct {
    uint32_t *places;
    uint32_t count;
} flit_list;

/* What comes in one cycle. */
typedef struct {
    flit_run *flits; /* due: the input's place */
    flit_credits **credits;
    uint32_t flit_count, credit_count;
} flit_day;

typedef struct flit_agenda {
    flit_day *days; /* by cycle, modulo their number */
    uint32_t day_mask;
    flit_list want[2], wait[2]; /* outputs that are wanted, that are waited for: in this cycle, in the next */
    flit_list *want_into, *wait_into;
    void *flits, *credits, *places; /* memory of the lists */
} flit_agenda;

static inline void flit_list_add_if(flit_list *list, uint32_t place, int is_so)
{
    list->places[list->count] = place;
    list->count += (uint32_t)is_so;
}

static inline flit_day *flit_agenda_day(const flit_agenda *agenda, int64_t cycle)
{
    return &agenda->days[(uint32_t)cycle & agenda->day_mask];
}

static inline flit_run *flit_agenda_expect(flit_agenda *agenda, int64_t due)
{
    flit_day *day = flit_agenda_day(agenda, due);

    return &day->flits[day->flit_count++];
}

static inline void flit_agenda_return(flit_agenda *agenda, flit_credits *credits, int64_t due)
{
    flit_day *day = flit_agenda_day(agenda, due);

    day->credits[day->credit_count++] = credits;
}

#endif
