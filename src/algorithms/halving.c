/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/halving.c: see halving.h for the drawing.
 * In step i partners differ in one bit of their seat and agree on the blocks that they still share; the one
 * with the bit clear keeps the lower half. */
#include "algorithms/halving.h"

static int bit_of_step(const banyan_halving *halving, int step)
{
    return halving->is_near_first ? step : halving->bits - 1 - step;
}

static int partner(const banyan_halving *halving, int seat, int step)
{
    return seat ^ (1 << bit_of_step(halving, step));
}

/* First block of those that a seat is left with after that many steps; there are 1 << (bits - steps). */
static int kept(const banyan_halving *halving, int seat, int steps)
{
    int block = 0;

    for (int i = 0; i < steps; i++)
        if (seat >> bit_of_step(halving, i) & 1)
            block += 1 << (halving->bits - 1 - i);
    return block;
}

/* From seat to seat, the blocks that owner is left with after that many steps. */
static void send(const banyan_halving *halving, banyan_action action, int round, int src, int dst, int owner,
                 int steps)
{
    int block = kept(halving, owner, steps), blocks = 1 << (halving->bits - steps);
    int first = halving->begin[block], count = halving->begin[block + blocks] - first;

    if (count > 0)
        banyan_builder_add(halving->builder, (banyan_transfer){round, halving->node[src], halving->node[dst],
                                                               first, count, action, 0, -1});
}

int banyan_halving_reduce_scatter(const banyan_halving *halving, int round)
{
    for (int step = 0; step < halving->bits; step++, round++)
        for (int seat = 0; seat < 1 << halving->bits; seat++) {
            int other = partner(halving, seat, step);

            send(halving, BANYAN_ACTION_REDUCE, round, seat, other, other, step + 1);
        }
    return round;
}

int banyan_halving_all_gather(const banyan_halving *halving, int round)
{
    for (int step = halving->bits - 1; step >= 0; step--, round++)
        for (int seat = 0; seat < 1 << halving->bits; seat++)
            send(halving, BANYAN_ACTION_COPY, round, seat, partner(halving, seat, step), seat, step + 1);
    return round;
}

/* Do the seats agree in the bits of this and all later steps? Such seats have been reached, or not left. */
static int agree_from(const banyan_halving *halving, int seat, int root, int step)
{
    for (; step < halving->bits; step++)
        if ((seat ^ root) >> bit_of_step(halving, step) & 1)
            return 0;
    return 1;
}

int banyan_halving_scatter(const banyan_halving *halving, int round, int root_seat)
{
    for (int step = 0; step < halving->bits; step++, round++)
        for (int seat = 0; seat < 1 << halving->bits; seat++) {
            int other = partner(halving, seat, step);

            if (agree_from(halving, seat, root_seat, step))
                send(halving, BANYAN_ACTION_COPY, round, seat, other, other, step + 1);
        }
    return round;
}

int banyan_halving_gather(const banyan_halving *halving, int round, int root_seat)
{
    for (int step = halving->bits - 1; step >= 0; step--, round++)
        for (int seat = 0; seat < 1 << halving->bits; seat++)
            if (agree_from(halving, seat, root_seat, step))
                send(halving, BANYAN_ACTION_COPY, round, partner(halving, seat, step), seat,
                     partner(halving, seat, step), step + 1);
    return round;
}
