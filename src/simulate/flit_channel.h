/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_channel.h: a delay line from a router's output (or an interface's port) to an input.
 *
 * What is on its way is kept as runs: flits of one packet that arrive in consecutive cycles are one run, and
 * so are credits of one virtual channel on their way back. A packet of any length costs a run or two.
 *
 *     due 107, packet 5, 12 flits | due 119, packet 6, 3 flits        due: cycle in which the next one
 * arrives
 */
#ifndef BANYAN_SIMULATE_FLIT_CHANNEL_H
#define BANYAN_SIMULATE_FLIT_CHANNEL_H

#include <stdint.h>

#define FLIT_NEVER INT64_MAX

typedef struct {
    int64_t due;
    int32_t packet, count;
    int32_t hop;             /* of the router that it comes to, among the fabric's */
    uint16_t lane, has_head; /* no bytes: the compiler takes stores of bytes to change anything */
} flit_run;

typedef struct {
    flit_run *runs; /* a ring; capacity is a power of two */
    uint32_t first, last, count, capacity;
} flit_line;

typedef struct {
    flit_line flits, credits;
    int64_t *flit_due, *credit_due; /* of the front runs, or FLIT_NEVER; kept with those who receive */
    int src, dst;                   /* nodes; the same one for an interface's port */
    int src_output, dst_input;
    int latency;
    int64_t interval; /* cycles a flit keeps the link, in 1/65536; 65536 or less: one a cycle */
    int64_t free_at;  /* in 1/65536 cycles */
    int64_t sent;
} flit_channel;

int flit_line_grow(flit_line *line); /* 0: memory ran out */

static inline flit_run *flit_line_front(const flit_line *line)
{
    return &line->runs[line->first];
}

static inline flit_run *flit_line_back(const flit_line *line)
{
    return &line->runs[line->last];
}

static inline void flit_line_pop(flit_line *line)
{
    line->first = (line->first + 1) & (line->capacity - 1);
    line->count--;
}

/* Appends a run; 0: memory ran out. */
static inline int flit_line_push(flit_line *line, flit_run run)
{
    if (line->count == line->capacity && !flit_line_grow(line))
        return 0;
    line->count++;
    line->last = (line->last + 1) & (line->capacity - 1);
    *flit_line_back(line) = run;
    return 1;
}

/* Takes count from the front run; returns when the next one is due. */
static inline int64_t flit_line_take(flit_line *line, int32_t count)
{
    flit_run *run = flit_line_front(line);

    run->count -= count;
    run->due += count;
    run->has_head = 0;
    if (run->count == 0)
        flit_line_pop(line);
    return line->count ? flit_line_front(line)->due : FLIT_NEVER;
}

/* Sends count flits of a packet, the first of them due at a cycle, the others in the next ones. */
static inline int flit_channel_send(flit_channel *c, flit_run run)
{
    if (!run.has_head && c->flits.count) {
        flit_run *last = flit_line_back(&c->flits);

        if (last->packet == run.packet && last->due + last->count == run.due) {
            last->count += run.count;
            return 1;
        }
    }
    if (!flit_line_push(&c->flits, run))
        return 0;
    if (c->flits.count == 1)
        *c->flit_due = run.due;
    return 1;
}

/* Returns count credits of a lane, the first due at a cycle. */
static inline int flit_channel_return(flit_channel *c, int64_t due, int lane, int32_t count)
{
    if (c->credits.count) {
        flit_run *last = flit_line_back(&c->credits);

        if (last->lane == lane && last->due + last->count == due) {
            last->count += count;
            return 1;
        }
    }
    if (!flit_line_push(&c->credits, (flit_run){.due = due, .count = count, .lane = (uint16_t)lane}))
        return 0;
    if (c->credits.count == 1)
        *c->credit_due = due;
    return 1;
}

#endif
