/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/nested.c: see nested.h for the drawing.
 * A node's number in the shape's digits, layer 1 the lowest, says who is in its ring of each layer and which
 * part of the vector they share. */
#include "algorithms/nested.h"

#include <limits.h>

#include "algorithms/circle.h"
#include "core/alloc.h"

typedef struct {
    const int *nodes;
    const banyan_layers *shape;
    int size, ways;
    banyan_stop *stops;
} nesting;

int banyan_layers_size(const banyan_layers *shape)
{
    int size = 1;

    for (int i = 0; i < shape->layer_count; i++) {
        if (size > INT_MAX / shape->extent[i])
            return INT_MAX;
        size *= shape->extent[i];
    }
    return size;
}

/* The stops of the ring of a layer that begins with this node: what they share, in equal parts. */
static void find_stops(const nesting *n, int layer, int stride, int first_node, int way)
{
    int part = n->size, first = 0, rest = first_node, extent = n->shape->extent[layer];

    for (int i = 0; i < layer; i++) {
        part /= n->shape->extent[i];
        first += rest % n->shape->extent[i] * part;
        rest /= n->shape->extent[i];
    }
    part /= extent;
    first += way * n->size;
    for (int i = 0; i < extent; i++)
        n->stops[way ? extent - 1 - i : i] =
            (banyan_stop){n->nodes[first_node + i * stride], first + i * part, part};
}

typedef int (*circle_phase)(banyan_builder *builder, int round, const banyan_stop *stops, int count,
                            int flow);

static int run_layer(const nesting *n, banyan_builder *builder, circle_phase phase, int round, int layer)
{
    int stride = 1, extent = n->shape->extent[layer], after = round;

    for (int i = 0; i < layer; i++)
        stride *= n->shape->extent[i];
    for (int node = 0; node < n->size; node++)
        if (node / stride % extent == 0) {
            for (int way = 0; way < n->ways; way++) {
                find_stops(n, layer, stride, node, way);
                after = phase(builder, round, n->stops, extent, way);
            }
        }
    return after;
}

int banyan_nested_all_reduce(banyan_builder *builder, int round, const int *nodes, const banyan_layers *shape,
                             int ways)
{
    nesting n = {nodes, shape, banyan_layers_size(shape), ways, NULL};

    n.stops = banyan_alloc((size_t)n.size, sizeof *n.stops);
    if (!n.stops)
        return -1;
    for (int layer = 0; layer < shape->layer_count; layer++)
        round = run_layer(&n, builder, banyan_circle_reduce_scatter, round, layer);
    for (int layer = shape->layer_count - 1; layer >= 0; layer--)
        round = run_layer(&n, builder, banyan_circle_all_gather, round, layer);
    banyan_free(n.stops);
    return round;
}

typedef struct {
    banyan_builder *builder;
    const int *nodes, *block;
    int size, ways;
    int stride, extent; /* of the layer */
    int gathers;
} scatter;

static int member(const scatter *s, int first_node, int place)
{
    return first_node + (place % s->extent + s->extent) % s->extent * s->stride;
}

/* Sends what one member of a ring shall keep from another one to the next. */
static void send_share(const scatter *s, int round, int from, int to, int keeper, int way)
{
    int step = s->stride * s->extent;

    for (int i = keeper % step; i < s->size; i += step) {
        int piece = s->block[i] * s->ways + way;

        if (s->gathers)
            banyan_builder_copy(s->builder, round, s->nodes[from], s->nodes[to], piece, 1, way);
        else
            banyan_builder_reduce(s->builder, round, s->nodes[from], s->nodes[to], piece, 1, way);
    }
}

/* As banyan_circle_reduce_scatter and banyan_circle_all_gather, for all rings of the layer. */
static int scatter_layer(const scatter *s, int round)
{
    for (int step = 0; step < s->extent - 1; step++, round++)
        for (int node = 0; node < s->size; node++)
            for (int way = 0; way < s->ways; way++) {
                int place = node / s->stride % s->extent, first = node - place * s->stride;
                int ahead = way ? -1 : 1, back = s->gathers ? step : step + 1;

                send_share(s, round, node, member(s, first, place + ahead),
                           member(s, first, place - ahead * back), way);
            }
    return round;
}

int banyan_nested_reduce_scatter(banyan_builder *builder, int round, const int *nodes, const int *block,
                                 const banyan_layers *shape, int ways)
{
    scatter s = {builder, nodes, block, banyan_layers_size(shape), ways, 1, 1, 0};

    for (int layer = 0; layer < shape->layer_count; layer++) {
        s.extent = shape->extent[layer];
        round = scatter_layer(&s, round);
        s.stride *= s.extent;
    }
    return round;
}

int banyan_nested_all_gather(banyan_builder *builder, int round, const int *nodes, const int *block,
                             const banyan_layers *shape, int ways)
{
    scatter s = {builder, nodes, block, banyan_layers_size(shape), ways, banyan_layers_size(shape), 1, 1};

    for (int layer = shape->layer_count - 1; layer >= 0; layer--) {
        s.extent = shape->extent[layer];
        s.stride /= s.extent;
        round = scatter_layer(&s, round);
    }
    return round;
}

int banyan_nested_append(banyan_builder *builder, int round, const int *nodes, const int *block,
                         const banyan_layers *shape, int ways, banyan_collective collective)
{
    switch (collective) {
    case BANYAN_COLLECTIVE_REDUCE_SCATTER:
        return banyan_nested_reduce_scatter(builder, round, nodes, block, shape, ways);
    case BANYAN_COLLECTIVE_ALLGATHER:
        return banyan_nested_all_gather(builder, round, nodes, block, shape, ways);
    default:
        return banyan_nested_all_reduce(builder, round, nodes, shape, ways);
    }
}
