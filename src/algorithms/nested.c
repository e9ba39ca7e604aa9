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
