/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/nested.h: rings within rings: all-reduce of p = p1 x p2 x ... x ph nodes.
 *
 *     2 x 3, nodes a..f     layer 1   a-b  c-d  e-f     rings of 2: a, c, e keep the first half, b, d, f
 *                                                       the second
 *                           layer 2   a-c-e  b-d-f      rings of 3 of those who kept the same half, in
 *                                                       thirds; then the same way back, gathering */
#ifndef BANYAN_ALGORITHMS_NESTED_H
#define BANYAN_ALGORITHMS_NESTED_H

#include "schedule/build.h"

#define BANYAN_MAX_LAYERS 32

/* Layer 1 comes first and joins nodes next to one another. The extents multiply to the number of nodes, which
 * is also the number of pieces that are used, from 0 on. */
typedef struct {
    int layer_count;
    int extent[BANYAN_MAX_LAYERS];
} banyan_layers;

int banyan_layers_size(const banyan_layers *shape); /* the product; INT_MAX where it overflows */

/* Appends 2 (sum of extents - layers) rounds; returns the round after, or -1 when memory ran out. With two
 * ways every ring runs both ways round with half of the vector each, and there are twice as many pieces. */
int banyan_nested_all_reduce(banyan_builder *builder, int round, const int *nodes, const banyan_layers *shape,
                             int ways);

/* Half of it, where node i is to end or to begin with a given block of as many equal ones as there are nodes,
 * in half the rounds. What a ring shares out is then no interval, so blocks travel one by one: p (p - 1)
 * transfers for each way. Way w has piece `ways` times the block plus w. */
int banyan_nested_reduce_scatter(banyan_builder *builder, int round, const int *nodes, const int *block,
                                 const banyan_layers *shape, int ways);
int banyan_nested_all_gather(banyan_builder *builder, int round, const int *nodes, const int *block,
                             const banyan_layers *shape, int ways);

/* Whichever of the three the collective is. */
int banyan_nested_append(banyan_builder *builder, int round, const int *nodes, const int *block,
                         const banyan_layers *shape, int ways, banyan_collective collective);

#endif
