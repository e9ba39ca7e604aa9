/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/halving.h: recursive vector halving and doubling among a power of two of positions.
 *
 *     near first, 4 positions (x: mine, the rest was sent away)         far first
 *     round 0   0 <-> 1:  0 xx..   1 ..xx                           0 <-> 2:  0 xx..   2 ..xx
 *     round 1   0 <-> 2:  0 x...   2 .x..                           0 <-> 1:  0 x...   1 .x..
 *
 * Near first sends the most to the nearest, and block b ends at the position whose number is b with its bits
 * turned round; far first ends with block s at position s. Doubling takes the same way back. */
#ifndef BANYAN_ALGORITHMS_HALVING_H
#define BANYAN_ALGORITHMS_HALVING_H

#include "schedule/build.h"

typedef struct {
    banyan_builder *builder;
    const int *node;  /* of each position */
    const int *begin; /* first piece of block b is begin[b], up to begin[b + 1] */
    int bits;         /* there are 1 << bits positions and blocks */
    int is_near_first;
} banyan_halving;

/* Each returns the round after. Scatter spreads the root's blocks, gather brings them to it. */
int banyan_halving_reduce_scatter(const banyan_halving *halving, int round);
int banyan_halving_all_gather(const banyan_halving *halving, int round);
int banyan_halving_scatter(const banyan_halving *halving, int round, int root_position);
int banyan_halving_gather(const banyan_halving *halving, int round, int root_position);

#endif
