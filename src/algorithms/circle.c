/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/circle.c: reduce-scatter and all-gather around a circle, and chains along it.
 *
 *     a share's way home, four stops: it sets out behind its owner and collects      3 --> 0 --> 1 --> 2
 *     and its way round afterwards:                                                  2 --> 3 --> 0 --> 1
 *
 * All shares travel at once, each a stop further on, so every stop sends and receives in every round. */
#include "algorithms/circle.h"

static const banyan_stop *at(const banyan_stop *stops, int count, int place)
{
    return &stops[(place % count + count) % count];
}

int banyan_circle_reduce_scatter(banyan_builder *builder, int round, const banyan_stop *stops, int count,
                                 int flow)
{
    for (int step = 0; step < count - 1; step++, round++)
        for (int place = 0; place < count; place++) {
            const banyan_stop *share = at(stops, count, place - step - 1);

            if (share->piece_count > 0)
                banyan_builder_reduce(builder, round, stops[place].node, at(stops, count, place + 1)->node,
                                      share->first_piece, share->piece_count, flow);
        }
    return round;
}

int banyan_circle_all_gather(banyan_builder *builder, int round, const banyan_stop *stops, int count,
                             int flow)
{
    for (int step = 0; step < count - 1; step++, round++)
        for (int place = 0; place < count; place++) {
            const banyan_stop *share = at(stops, count, place - step);

            if (share->piece_count > 0)
                banyan_builder_copy(builder, round, stops[place].node, at(stops, count, place + 1)->node,
                                    share->first_piece, share->piece_count, flow);
        }
    return round;
}

int banyan_circle_broadcast(banyan_builder *builder, int round, const banyan_stop *stops, int count, int root,
                            int first_piece, int piece_count, int flow)
{
    for (int place = root; place < root + count - 1; place++, round++)
        banyan_builder_copy(builder, round, at(stops, count, place)->node, at(stops, count, place + 1)->node,
                            first_piece, piece_count, flow);
    return round;
}

int banyan_circle_reduce(banyan_builder *builder, int round, const banyan_stop *stops, int count, int root,
                         int first_piece, int piece_count, int flow)
{
    for (int place = root + 1; place < root + count; place++, round++)
        banyan_builder_reduce(builder, round, at(stops, count, place)->node,
                              at(stops, count, place + 1)->node, first_piece, piece_count, flow);
    return round;
}
