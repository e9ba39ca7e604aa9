/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/grid_trees.c: combs. A tree has an order of dimensions and a base point; every node steps
 * towards the base along the last dimension, in that order, in which it is not yet there.
 *
 *     order: down, then along           order: along, then down
 *         o-o-o-o                           o o o o
 *           |                               | | | |
 *         o-o-o-o                           o-o-o-o
 *           |                               | | | |
 *         o-o-o-o                           o o o o
 *
 * With equal weights on all combs of a square mesh every cable carries the same: 2 / (1 + 1/k) on k x k, the
 * optimum; a torus gets 2 less the one cable a ring that each comb leaves out. No comb is deeper than the
 * grid's radius plus what its base lies off the middle. */
#include "algorithms/grid_trees.h"

#include "core/alloc.h"

typedef struct {
    const banyan_topology *topology;
    const banyan_graph *graph;
    const banyan_grid *grid;
    int count;
    int stride[BANYAN_MAX_DIMENSIONS];
    int base[BANYAN_MAX_DIMENSIONS];
} comb;

int banyan_grid_trees_apply(const banyan_topology *topology, const banyan_graph *graph)
{
    int size = 1;

    for (int d = 0; d < topology->grid.dimension_count; d++)
        size *= topology->grid.extent[d];
    return topology->grid.dimension_count >= 2 && size == graph->active_count &&
           size == topology->node_count && graph->symmetric;
}

static int coordinate(const comb *c, int v, int d)
{
    return v / c->stride[d] % c->grid->extent[d];
}

/* The neighbour one step nearer to the base along d. */
static int step(const comb *c, int v, int d)
{
    int at = coordinate(c, v, d), extent = c->grid->extent[d], ahead = (c->base[d] - at + extent) % extent,
        to;

    if (c->grid->wraps[d])
        to = 2 * ahead <= extent ? (at + 1) % extent : (at + extent - 1) % extent;
    else
        to = at < c->base[d] ? at + 1 : at - 1;
    return v + (to - at) * c->stride[d];
}

static int find_arc(const banyan_graph *graph, int src, int dst)
{
    for (int i = graph->out_first[src]; i < graph->out_first[src + 1]; i++)
        if (graph->arcs[graph->out_arc[i]].dst == dst)
            return graph->out_arc[i];
    return -1;
}

/* Appends the comb with dimension first + 1, first + 2, ... as its order (cyclic); 0 where a cable is
 * missing. */
static int add_comb(const comb *c, int first, banyan_trees *trees)
{
    int dimensions = c->grid->dimension_count;

    banyan_trees_begin(trees);
    for (int v = 0; v < c->count; v++) {
        int last = -1, near, arc;

        for (int i = 0; i < dimensions; i++) {
            int d = (first + i) % dimensions;

            if (coordinate(c, v, d) != c->base[d])
                last = d;
        }
        if (last < 0)
            continue;
        near = step(c, v, last);
        arc = find_arc(c->graph, near, v);
        if (arc < 0) {
            banyan_trees_drop_last(trees);
            return 0;
        }
        banyan_trees_add_edge(trees, near, v);
        banyan_trees_add_arc(trees, arc);
    }
    return 1;
}

/* Counts through all bases; the first dimension of the order stays in the middle, or, on a ring, follows the
 * others so that what combs leave out is spread. */
static void add_order(comb *c, int first, size_t limit, banyan_trees *trees)
{
    int dimensions = c->grid->dimension_count, bases = c->count / c->grid->extent[first];

    for (int i = 0; i < bases && trees->tree_count < limit && !trees->failed; i++) {
        int rest = i, sum = 0;

        for (int k = 1; k < dimensions; k++) {
            int d = (first + k) % dimensions;

            c->base[d] = rest % c->grid->extent[d];
            rest /= c->grid->extent[d];
            sum += c->base[d];
        }
        c->base[first] = c->grid->wraps[first] ? sum % c->grid->extent[first] : c->grid->extent[first] / 2;
        add_comb(c, first, trees);
    }
}

banyan_status banyan_grid_trees_add(const banyan_topology *topology, const banyan_graph *graph, size_t limit,
                                    banyan_trees *trees, banyan_error *err)
{
    comb c = {.topology = topology, .graph = graph, .grid = &topology->grid, .count = graph->active_count};
    int stride = 1;

    for (int d = topology->grid.dimension_count - 1; d >= 0; d--) {
        c.stride[d] = stride;
        stride *= topology->grid.extent[d];
    }
    for (int first = 0; first < topology->grid.dimension_count; first++)
        add_order(&c, first, limit, trees);
    return trees->failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}
