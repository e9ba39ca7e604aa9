/* SPDX-License-Identifier: Apache-2.0 */
/* solve/round/parent_swaps.c: two trees of one weight that enter a node by different arcs may swap these; a
 * tree may enter it by an arc that has room. Either is done where the sum of squared depths falls, which
 * counts deep nodes most, until nothing changes. The sum is a whole number, so that this ends.
 *
 * Cost of a pass: O(nodes * trees^2) comparisons. */
#include "solve/round/parent_swaps.h"

#include <string.h>

#include "core/scratch.h"

/* Beyond these, what is left to gain has been small on all networks that were tried: most need 3 to 6. */
#define MAX_PASSES 16

typedef struct {
    banyan_swapped_trees *trees;
    int nodes;
    int *depth;            /* by tree and node, as the next two */
    int64_t *size;         /* nodes of the subtree, */
    int64_t *sum;          /* and their depths together */
    int *order;            /* nodes, by depth */
    int *first, *entering; /* arcs into v: entering[first[v] .. first[v+1]) */
    banyan_scratch memory;
} swapper;

static int *via_of(const swapper *s, size_t tree)
{
    return s->trees->via + tree * (size_t)s->nodes;
}

static int parent_of(const swapper *s, size_t tree, int v)
{
    int arc = via_of(s, tree)[v];

    return arc < 0 ? -1 : s->trees->network->arcs[arc].src;
}

/* By way of parents whose depth is known. */
static int find_depth(const swapper *s, size_t tree, int v)
{
    int *depth = s->depth + tree * (size_t)s->nodes, up = 0, top = v;

    for (; depth[top] < 0; top = parent_of(s, tree, top))
        up++;
    for (int w = v, d = depth[top] + up; depth[w] < 0; w = parent_of(s, tree, w))
        depth[w] = d--;
    return depth[v];
}

/* Depths, then subtrees from the deepest nodes up: nodes are sorted by depth in two counting passes. */
static void measure(swapper *s, size_t tree)
{
    const banyan_graph *graph = s->trees->network->graph;
    size_t base = tree * (size_t)s->nodes;
    int count = 0;

    for (int v = 0; v < s->nodes; v++)
        s->depth[base + (size_t)v] = -1;
    s->depth[base + (size_t)s->trees->root[tree]] = 0;
    for (int i = 0; i < graph->active_count; i++) {
        int v = graph->active[i], depth = find_depth(s, tree, v);

        s->size[base + (size_t)v] = 1;
        s->sum[base + (size_t)v] = depth;
    }
    for (int d = 0; count < graph->active_count; d++)
        for (int i = 0; i < graph->active_count; i++)
            if (s->depth[base + (size_t)graph->active[i]] == d)
                s->order[count++] = graph->active[i];
    while (count-- > 1) {
        int v = s->order[count], parent = parent_of(s, tree, v);

        s->size[base + (size_t)parent] += s->size[base + (size_t)v];
        s->sum[base + (size_t)parent] += s->sum[base + (size_t)v];
    }
}

static void list_entering(swapper *s)
{
    const banyan_joined_network *network = s->trees->network;

    for (size_t i = 0; i < network->arc_count; i++)
        s->first[network->arcs[i].dst + 2]++;
    for (int v = 0; v < s->nodes; v++)
        s->first[v + 2] += s->first[v + 1];
    for (size_t i = 0; i < network->arc_count; i++)
        s->entering[s->first[network->arcs[i].dst + 1]++] = (int)i;
}

static banyan_status swapper_init(swapper *s, banyan_swapped_trees *trees, banyan_error *err)
{
    size_t nodes = (size_t)trees->network->graph->node_count, cells = trees->tree_count * nodes;

    *s = (swapper){.trees = trees, .nodes = (int)nodes};
    s->depth = banyan_scratch_take(&s->memory, cells, sizeof *s->depth);
    s->size = banyan_scratch_take(&s->memory, cells, sizeof *s->size);
    s->sum = banyan_scratch_take(&s->memory, cells, sizeof *s->sum);
    s->order = banyan_scratch_take(&s->memory, nodes, sizeof *s->order);
    s->first = banyan_scratch_take(&s->memory, nodes + 2, sizeof *s->first);
    s->entering = banyan_scratch_take(&s->memory, trees->network->arc_count, sizeof *s->entering);
    if (s->memory.failed)
        return banyan_fail_memory(err);
    for (size_t t = 0; t < trees->tree_count; t++)
        measure(s, t);
    list_entering(s);
    return BANYAN_SUCCESS;
}

static int is_below(const swapper *s, size_t tree, int v, int top)
{
    while (v >= 0 && v != top)
        v = parent_of(s, tree, v);
    return v == top;
}

/* By how much the tree's squared depths change if v is entered from there. */
static int64_t find_change(const swapper *s, size_t tree, int v, int from)
{
    size_t base = tree * (size_t)s->nodes;
    int64_t shift = s->depth[base + (size_t)from] + 1 - s->depth[base + (size_t)v];

    return 2 * shift * s->sum[base + (size_t)v] + shift * shift * s->size[base + (size_t)v];
}

static int try_swap(swapper *s, int v, size_t a, size_t b)
{
    int *via_a = &via_of(s, a)[v], *via_b = &via_of(s, b)[v], arc = *via_a;
    int from_a, from_b;

    if (*via_a < 0 || *via_b < 0 || *via_a == *via_b)
        return 0;
    from_a = parent_of(s, a, v);
    from_b = parent_of(s, b, v);
    if (find_change(s, a, v, from_b) + find_change(s, b, v, from_a) >= 0 || is_below(s, a, from_b, v) ||
        is_below(s, b, from_a, v))
        return 0;
    *via_a = *via_b;
    *via_b = arc;
    measure(s, a);
    measure(s, b);
    return 1;
}

static int try_room(swapper *s, int v, size_t tree)
{
    int *via = &via_of(s, tree)[v], is_changed = 0;
    int64_t weight = s->trees->weight[tree];

    for (int i = s->first[v]; *via >= 0 && i < s->first[v + 1]; i++) {
        int arc = s->entering[i], from = s->trees->network->arcs[arc].src;

        if (s->trees->room[arc] < weight || find_change(s, tree, v, from) >= 0 || is_below(s, tree, from, v))
            continue;
        s->trees->room[arc] -= weight;
        s->trees->room[*via] += weight;
        *via = arc;
        measure(s, tree);
        is_changed = 1;
    }
    return is_changed;
}

static int pass(swapper *s)
{
    const banyan_graph *graph = s->trees->network->graph;
    int is_changed = 0;

    for (int i = 0; i < graph->active_count; i++)
        for (size_t a = 0; a < s->trees->tree_count; a++) {
            is_changed |= try_room(s, graph->active[i], a);
            for (size_t b = a + 1; b < s->trees->tree_count; b++)
                if (s->trees->weight[a] == s->trees->weight[b])
                    is_changed |= try_swap(s, graph->active[i], a, b);
        }
    return is_changed;
}

banyan_status banyan_parent_swaps_run(banyan_swapped_trees *trees, banyan_error *err)
{
    swapper s;
    banyan_status status = swapper_init(&s, trees, err);

    for (int i = 0; !status && i < MAX_PASSES && pass(&s); i++)
        ;
    banyan_scratch_free(&s.memory);
    return status;
}
