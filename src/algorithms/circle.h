/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/circle.h: the steps that all ring-like algorithms share, on any circle of nodes. */
#ifndef BANYAN_ALGORITHMS_CIRCLE_H
#define BANYAN_ALGORITHMS_CIRCLE_H

#include "schedule/build.h"

/* One stop of a circle: a node, and the interval of pieces that is its own. */
typedef struct {
    int node;
    int first_piece, piece_count;
} banyan_stop;

/* Each appends count - 1 rounds and returns the round after. An interval of no pieces is skipped. */
int banyan_circle_reduce_scatter(banyan_builder *builder, int round, const banyan_stop *stops, int count,
                                 int flow);
int banyan_circle_all_gather(banyan_builder *builder, int round, const banyan_stop *stops, int count,
                             int flow);

/* The interval goes from stop to stop, from the one at place root; or towards it, adding up. */
int banyan_circle_broadcast(banyan_builder *builder, int round, const banyan_stop *stops, int count, int root,
                            int first_piece, int piece_count, int flow);
int banyan_circle_reduce(banyan_builder *builder, int round, const banyan_stop *stops, int count, int root,
                         int first_piece, int piece_count, int flow);

#endif
