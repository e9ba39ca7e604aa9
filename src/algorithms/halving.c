/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/halving.c: see halving.h for the drawing.
 * In step i partners differ in one bit of their position and agree on the blocks that they still share; the
 * one with the bit clear keeps the lower half. */
#include "algorithms/halving.h"

static int bit_of_step(const banyan_halving *halving, int step)
{
    return halving->is_near_first ? step : halving->bits - 1 - step;
}

static int partner(const banyan_halving *halving, int position, int step)
{
    return position ^ (1 << bit_of_step(halving, step));
}

/* First block of those that a position is left with after that many steps; there are 1 << (bits - steps). */
static int kept(const banyan_halving *halving, int position, int steps)
{
    int block = 0;

    for (int i = 0; i < steps; i++)
        if (position >> bit_of_step(halving, i) & 1)
            block += 1 << (halving->bits - 1 - i);
    return block;
}

/* From position to position, the blocks that owner is left with after that many steps. */
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
        for (int position = 0; position < 1 << halving->bits; position++) {
            int other = partner(halving, position, step);

            send(halving, BANYAN_ACTION_REDUCE, round, position, other, other, step + 1);
        }
    return round;
}

int banyan_halving_all_gather(const banyan_halving *halving, int round)
{
    for (int step = halving->bits - 1; step >= 0; step--, round++)
        for (int position = 0; position < 1 << halving->bits; position++)
            send(halving, BANYAN_ACTION_COPY, round, position, partner(halving, position, step), position,
                 step + 1);
    return round;
}

/* Do the positions agree in the bits of this and all later steps? Such positions have been reached, or not
 * left. */
static int agree_from(const banyan_halving *halving, int position, int root, int step)
{
    for (; step < halving->bits; step++)
        if ((position ^ root) >> bit_of_step(halving, step) & 1)
            return 0;
    return 1;
}

int banyan_halving_scatter(const banyan_halving *halving, int round, int root_position)
{
    for (int step = 0; step < halving->bits; step++, round++)
        for (int position = 0; position < 1 << halving->bits; position++) {
            int other = partner(halving, position, step);

            if (agree_from(halving, position, root_position, step))
                send(halving, BANYAN_ACTION_COPY, round, position, other, other, step + 1);
        }
    return round;
}

int banyan_halving_gather(const banyan_halving *halving, int round, int root_position)
{
    for (int step = halving->bits - 1; step >= 0; step--, round++)
        for (int position = 0; position < 1 << halving->bits; position++)
            if (agree_from(halving, position, root_position, step))
                send(halving, BANYAN_ACTION_COPY, round, partner(halving, position, step), position,
                     partner(halving, position, step), step + 1);
    return round;
}
