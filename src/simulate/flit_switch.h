/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_switch.h: which lanes get the switch in a cycle (SA, iSLIP with one round). Internal to the
 * flit engine.
 *
 * An output grants itself to the first input in turn that has a lane which wants it, and there to the lane
 * whose turn it is; an input that was granted several outputs accepts the first in turn. Cost: the outputs
 * that are wanted. */
#ifndef BANYAN_SIMULATE_FLIT_SWITCH_H
#define BANYAN_SIMULATE_FLIT_SWITCH_H

#include "simulate/flit_sets.h"

/* Of the lanes in a set the one that goes: the first input from a place on, and its lane whose turn it is. */
FLIT_INLINE int flit_first_lane(const flit_router *r, const uint64_t *set, int input, flit_shape shape)
{
    /* The place behind the last one is the first one: of one word because 64 bits are no shift, or nothing is
     * there. */
    int at = input << shape.shift < 64 * shape.words || shape.words == 1 ? input << shape.shift : 0;
    int word = flit_word_of(at, shape.words);
    uint64_t rest = set[word] & ~UINT64_C(0) << (at & 63);
    uint32_t lanes, later;

    if (shape.words == 1) {
        if (!(set[0] & (set[0] - 1)))
            return __builtin_ctzll(set[0]);
        rest = rest ? rest : set[0];
    } else {
        while (!rest) {
            word = word + 1 < shape.words ? word + 1 : 0;
            rest = set[word];
        }
    }
    input = (word * 64 + __builtin_ctzll(rest)) >> shape.shift;
    at = input << shape.shift;
    lanes = (uint32_t)(set[word] >> (at & 63)) & (uint32_t)((UINT64_C(1) << (1 << shape.shift)) - 1);
    later = lanes & ~UINT32_C(0) << r->inputs[input].turn;
    return at | __builtin_ctz(later ? later : lanes);
}

FLIT_INLINE int flit_distance(int from, int to, int size)
{
    return to >= from ? to - from : to - from + size;
}

/* The lane's input accepts the output if that is the best that it was granted; 1: it was granted another one
 * too. */
FLIT_INLINE int flit_accept(flit_router *r, int id, int output, int64_t now, flit_shape shape)
{
    flit_input *input = &r->inputs[id >> shape.shift];
    int is_second = input->stamp == now;

    if (!is_second || flit_distance(input->accept, output, r->output_count) <=
                          flit_distance(input->accept, input->best_output, r->output_count))
        input->best_output = output;
    input->stamp = now;
    return is_second;
}

/* Those that were granted an output and did not accept it stay. */
FLIT_INLINE int flit_drop_refused(flit_router *r, int count, flit_shape shape)
{
    int kept = 0;

    for (int i = 0; i < count; i++) {
        int id = r->moves[i];

        if (r->inputs[id >> shape.shift].best_output == r->lanes[id].output)
            r->moves[kept++] = id;
    }
    return kept;
}

/* Ports that are asked in one cycle deliver in the order of those that asked first. */
static void flit_order_ports(flit_router *r, int first, int count)
{
    flit_shape shape = flit_shape_of(r);

    for (int i = first + 1; i < count; i++) {
        int id = r->moves[i], k = i;
        int asked = flit_first_lane(r, flit_want_of(r, r->lanes[id].output, shape), 0, shape);

        for (; k > first; k--) {
            int before = r->lanes[r->moves[k - 1]].output;

            if (flit_first_lane(r, flit_want_of(r, before, shape), 0, shape) <= asked)
                break;
            r->moves[k] = r->moves[k - 1];
        }
        r->moves[k] = id;
    }
}

/* Which lanes move a flit: their number, in moves[]. */
FLIT_INLINE int flit_allocate_switch(flit_router *r, int64_t now, flit_shape shape)
{
    int count = 0, links, conflicts = 0;

    for (int w = 0; w < shape.output_words; w++)
        for (uint64_t rest = r->wanted[w]; rest; rest &= rest - 1) {
            int output = w * 64 + __builtin_ctzll(rest), id;

            if (shape.is_slow && output < r->link_outputs && r->paces[output].free_at > now << 16)
                continue;
            id = flit_first_lane(r, flit_want_of(r, output, shape), r->outputs[output].grant, shape);
            conflicts |= flit_accept(r, id, output, now, shape);
            r->moves[count++] = id;
        }
    for (links = count; links && r->lanes[r->moves[links - 1]].output >= r->link_outputs; links--)
        ;
    if (count - links > 1)
        flit_order_ports(r, links, count);
    return conflicts ? flit_drop_refused(r, count, shape) : count;
}

#endif
