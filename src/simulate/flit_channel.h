/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_channel.h: a delay line from a router's output (or an interface's port) to an input, which it
 * lies with, and the credits that come back for each of its virtual channels.
 *
 * What is on its way is kept as runs: flits of one packet that arrive in consecutive cycles are one run, and
 * so are credits that do. A packet of any length costs a run or two.
 *
 *     due 107, packet 5, 12 flits | due 119, packet 6, 3 flits    due: cycle in which the next one arrives
 */
#ifndef BANYAN_SIMULATE_FLIT_CHANNEL_H
#define BANYAN_SIMULATE_FLIT_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#define FLIT_NEVER INT64_MAX

/* One router of a path: which output, and which lanes of it (a bit for each). */
typedef struct {
    uint32_t lanes;
    int32_t output;
} flit_hop;

typedef struct {
    int64_t due;
    int32_t packet, count;
    int32_t flits; /* of the whole packet; 0: the head has gone before */
    int32_t hop;   /* of the router that it reaches, among the fabric's */
    /* That hop: who sends has it in its cache, who receives would have to wait for it. */
    uint32_t lanes;
    int16_t output;
    uint16_t lane; /* no byte: the compiler takes stores of bytes to change anything */
} flit_run;

typedef struct {
    flit_run *runs; /* a ring; capacity is a power of two */
    uint32_t first, last, count, capacity;
    int64_t *due; /* of the front run, or FLIT_NEVER; the router has those of all inputs side by side */
    int64_t sent; /* flits that ever were */
} flit_line;

typedef struct {
    int64_t due, count;
} flit_credit_run;

/* The credits of one lane: those here, the run that comes next, and a ring of those behind. They are counted
 * when somebody needs to know. */
typedef struct {
    int64_t due;  /* of the next run, or FLIT_NEVER */
    int64_t end;  /* the cycle after the last one's, of all that ever were on their way */
    int32_t next; /* credits in that run, or 0 */
    int32_t here;
    int32_t is_watched; /* somebody waits for them who cannot see what happens */
    uint32_t first, count, capacity;
    flit_credit_run *runs;
    int64_t place; /* whose they are, in an agenda (flit_cycle.c) */
} flit_credits;

int flit_line_grow(flit_line *line); /* 0: memory ran out */
int flit_credits_grow(flit_credits *credits);

static inline flit_run *flit_line_front(const flit_line *line)
{
    return &line->runs[line->first];
}

/* Takes one from the front run, or all of it; returns when the next one is due. */
static inline int64_t flit_line_take(flit_line *line)
{
    flit_run *run = flit_line_front(line);

    run->count--;
    run->flits = 0;
    return ++run->due;
}

static inline int64_t flit_line_pop(flit_line *line)
{
    int64_t due; /* read in any case: whether another one follows is anybody's guess */

    line->first = (line->first + 1) & (line->capacity - 1);
    due = flit_line_front(line)->due;
    return --line->count ? due : FLIT_NEVER;
}

/* More flits of a packet whose head has gone before, where they follow the last run at once. 0: they do
 * not. */
static inline int flit_line_extend(flit_line *line, int32_t packet, int64_t due, int32_t count)
{
    flit_run *last = &line->runs[line->last];

    if (!line->count || last->packet != packet || last->due + last->count != due)
        return 0;
    last->count += count;
    return 1;
}

/* A place for a run; NULL: memory ran out. */
static inline flit_run *flit_line_push(flit_line *line)
{
    if (line->count == line->capacity && !flit_line_grow(line))
        return NULL;
    line->count++;
    line->last = (line->last + 1) & (line->capacity - 1);
    return &line->runs[line->last];
}

/* Counts credits that are due before a cycle; returns how many are here. */
static inline int32_t flit_credits_collect(flit_credits *c, int64_t until)
{
    while (c->due < until) {
        if (until - c->due < c->next) {
            c->here += (int32_t)(until - c->due);
            c->next -= (int32_t)(until - c->due);
            c->due = until;
            break;
        }
        c->here += c->next;
        c->next = 0;
        c->due = FLIT_NEVER;
        if (c->count) {
            c->due = c->runs[c->first].due;
            c->next = (int32_t)c->runs[c->first].count;
            c->first = (c->first + 1) & (c->capacity - 1);
            c->count--;
        }
    }
    return c->here;
}

/* Returns count credits, the first due at a cycle. Those that are there for sure, as nobody will look at a
 * cycle before horizon, are counted on the way, so that few are ever kept as runs; not where somebody waits
 * for them. 0: memory ran out. */
static inline int flit_credits_return(flit_credits *c, int64_t due, int32_t count, int64_t horizon)
{
    if (c->due < horizon && c->here > 0 && !c->is_watched)
        flit_credits_collect(c, horizon);
    if (c->due == FLIT_NEVER) {
        c->due = due;
        c->next = count;
    } else if (c->end != due) {
        if (c->count == c->capacity && !flit_credits_grow(c))
            return 0;
        c->runs[(c->first + c->count++) & (c->capacity - 1)] = (flit_credit_run){due, count};
    } else if (c->count) {
        c->runs[(c->first + c->count - 1) & (c->capacity - 1)].count += count;
    } else {
        c->next += count;
    }
    c->end = due + count;
    return 1;
}

#endif
