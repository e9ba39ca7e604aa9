/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_sets.h: who wants what in a router, as masks. Internal to the flit engine.
 *
 * Most routers have up to 64 input lanes, for which a set is one word: the functions take the router's shape,
 * and where that is constant nothing is left of the loops. */
#ifndef BANYAN_SIMULATE_FLIT_SETS_H
#define BANYAN_SIMULATE_FLIT_SETS_H

#include "simulate/flit_fabric.h"

/* What sets and lanes of a router look like. Common shapes are passed as constants. */
typedef struct {
    int words, input_words, output_words; /* of a set of input lanes, of inputs, of outputs */
    int shift;                            /* of lane numbers */
    int is_slow;                          /* a link takes less than a flit a cycle */
    int is_plain;                         /* nothing is done ahead of its time */
    int is_listed;                        /* what there is to do is in the agenda's lists */
} flit_shape;

/* Part of the caller, so that constants it is called with count. */
#define FLIT_INLINE static inline __attribute__((always_inline))

/* The lane itself of a numbered one. */
FLIT_INLINE int flit_lane_of(int id, flit_shape shape)
{
    return id & ((1 << shape.shift) - 1);
}

/* The first of a set in turn, from a place on. The set is not empty. */
FLIT_INLINE int flit_first_from(uint32_t set, int place)
{
    uint32_t rest = set & ~UINT32_C(0) << (place & 31) & -(uint32_t)((unsigned)place < 32);

    return __builtin_ctz(rest ? rest : set);
}

FLIT_INLINE int flit_word_of(int id, int words)
{
    return words == 1 ? 0 : id >> 6;
}

FLIT_INLINE void flit_set_add(uint64_t *set, int id, int words)
{
    set[flit_word_of(id, words)] |= UINT64_C(1) << (id & 63);
}

/* 1: the set is empty now. */
FLIT_INLINE int flit_set_drop(uint64_t *set, int id, int words)
{
    uint64_t left = 0;

    set[flit_word_of(id, words)] &= ~(UINT64_C(1) << (id & 63));
    for (int w = 0; w < words; w++)
        left |= set[w];
    return !left;
}

FLIT_INLINE int flit_set_has_any(const uint64_t *set, int words)
{
    uint64_t any = set[0];

    for (int w = 1; w < words; w++)
        any |= set[w];
    return any != 0;
}

FLIT_INLINE flit_shape flit_shape_of(const flit_router *r)
{
    return (flit_shape){r->words, r->input_words, r->output_words, r->lane_shift, r->has_slow_link, 0, 0};
}

/* Lanes that hold a lane of the output, with a flit and a credit. */
FLIT_INLINE uint64_t *flit_want_of(const flit_router *r, int output, flit_shape shape)
{
    return shape.words == 1 ? &r->outputs[output].want : r->sets + 2 * shape.words * output;
}

/* Lanes that ask for a lane of the output. */
FLIT_INLINE uint64_t *flit_waiting_of(const flit_router *r, int output, flit_shape shape)
{
    return shape.words == 1 ? &r->outputs[output].waiting : r->sets + 2 * shape.words * output + shape.words;
}

FLIT_INLINE uint32_t flit_place(const flit_router *r, int port)
{
    return (uint32_t)r->node << FLIT_PLACE_BITS | (uint32_t)port;
}

/* An input lane could send to the output, or cannot any more. */
FLIT_INLINE void flit_want_add(flit_router *r, int id, int output, flit_shape shape)
{
    uint64_t *set = flit_want_of(r, output, shape);

    if (shape.is_listed)
        flit_list_add_if(r->agenda->want_into, flit_place(r, output), !*set);
    else
        flit_set_add(r->wanted, output, shape.output_words);
    flit_set_add(set, id, shape.words);
}

FLIT_INLINE void flit_want_drop(flit_router *r, int id, int output, flit_shape shape)
{
    int is_empty = flit_set_drop(flit_want_of(r, output, shape), id, shape.words);

    if (shape.is_listed)
        return;
    r->wanted[flit_word_of(output, shape.output_words)] &= ~((uint64_t)is_empty << (output & 63));
}

/* A lane that is held has no credits, or has some again. */
FLIT_INLINE void flit_lane_starve(flit_router *r, int output, int v, flit_shape shape)
{
    r->outputs[output].starved |= UINT32_C(1) << v;
    r->output_lanes[output << shape.shift | v].credits.is_watched = shape.is_listed;
    flit_set_add(r->hungry, output, shape.output_words);
}

FLIT_INLINE void flit_lane_feed(flit_router *r, int output, int v, flit_shape shape)
{
    int holder = r->output_lanes[output << shape.shift | v].holder;

    r->outputs[output].starved &= ~(UINT32_C(1) << v);
    if (!r->outputs[output].starved)
        flit_set_drop(r->hungry, output, shape.output_words);
    if (r->lanes[holder].available > 0)
        flit_want_add(r, holder, output, shape);
}

/* A flit reaches an input in a cycle of the window. */
FLIT_INLINE void flit_expect_in(flit_fabric *f, int input, uint64_t cycle, int input_words)
{
    f->arrivals[cycle * (uint64_t)input_words + (uint64_t)flit_word_of(input, input_words)] |=
        UINT64_C(1) << (input & 63);
}

/* A flit reaches an input. What comes after the window is noted right behind it, where nobody looks:
 * anything but a branch, which would be taken at random. */
FLIT_INLINE void flit_expect(flit_fabric *f, int input, int64_t due, int input_words)
{
    uint64_t cycle = (uint64_t)(due - f->begin), length = (uint64_t)(f->end - f->begin);

    flit_expect_in(f, input, cycle < length ? cycle : length, input_words);
}

/* The packet at the front of an input lane gets a lane of its output. */
FLIT_INLINE void flit_lane_give(flit_fabric *f, flit_router *r, int id, int v, flit_shape shape)
{
    flit_lane *lane = &r->lanes[id];
    flit_output *output = &r->outputs[lane->output];
    int target = lane->output << shape.shift | v, is_empty;
    flit_output_lane *output_lane = &r->output_lanes[target];

    output->taken |= UINT32_C(1) << v;
    output_lane->holder = id;
    output_lane->grant = id + 1;
    lane->target = target;
    lane->accept = target + 1;
    lane->state = LANE_ACTIVE;
    f->arbitrations++;
    is_empty = flit_set_drop(flit_waiting_of(r, lane->output, shape), id, shape.words);
    if (!shape.is_listed)
        r->waited[flit_word_of(lane->output, shape.output_words)] &=
            ~((uint64_t)is_empty << (lane->output & 63));
    if (output_lane->credits.here == 0)
        flit_lane_starve(r, lane->output, v, shape);
    else if (lane->available > 0)
        flit_want_add(r, id, lane->output, shape);
}

/* Lanes of the output that the waiting packet may take. Cut-through wants room for all of it, or for a
 * sub-packet. */
FLIT_INLINE uint32_t flit_lanes_open(const flit_fabric *f, flit_router *r, const flit_lane *lane, int64_t now,
                                     flit_shape shape)
{
    flit_output_lane *lanes = r->output_lanes + (lane->output << shape.shift);
    uint32_t open = lane->range & ~r->outputs[lane->output].taken;
    int32_t need = lane->left < f->unit ? lane->left : f->unit;

    for (uint32_t rest = need ? open : 0; rest; rest &= rest - 1) {
        int v = __builtin_ctz(rest);

        if (lanes[v].credits.here < need && flit_credits_collect(&lanes[v].credits, now + 1) < need)
            open &= ~(UINT32_C(1) << v);
    }
    return open;
}

/* Several packets ask for lanes of an output; 1: some got one (flit_contest.c). */
int flit_contest(flit_fabric *fabric, flit_router *router, int output, int64_t now);

#endif
