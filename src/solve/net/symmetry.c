/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/symmetry.c: colour refinement. Nodes begin with their role as colour; then a node's new colour is
 * its old one with the multiset of (capacity, colour) at its arcs, until the number of colours stays. The
 * multiset is a sum of mixed 64-bit numbers, so the order of arcs does not matter. Cost: O(rounds (V log V +
 * E)). A false merge by a collision of sums could only make prices coarser than they need be; bounds are
 * proven from the prices afterwards. */
#include "solve/net/symmetry.h"

#include <stdlib.h>

#include "core/alloc.h"

typedef struct {
    uint64_t key;
    int item;
} keyed;

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int compare_keys(const void *left, const void *right)
{
    const keyed *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

/* Equal keys get equal numbers, in the order of the keys; returns how many there are. */
static int number_keys(keyed *keys, int count, int *number)
{
    int distinct = 0;

    qsort(keys, (size_t)count, sizeof *keys, compare_keys);
    for (int i = 0; i < count; i++) {
        if (i > 0 && keys[i].key != keys[i - 1].key)
            distinct++;
        number[keys[i].item] = distinct;
    }
    return count ? distinct + 1 : 0;
}

static int refine_once(const banyan_graph *graph, int *colour, keyed *keys)
{
    for (int v = 0; v < graph->node_count; v++) {
        uint64_t sum = 0;

        for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
            const banyan_arc *arc = &graph->arcs[graph->out_arc[i]];

            sum += mix((uint64_t)arc->capacity * 0x9e3779b97f4a7c15u + (uint64_t)colour[arc->dst] + 1);
        }
        keys[v].key = mix(sum + mix((uint64_t)colour[v] + 0x1234567u));
        keys[v].item = v;
    }
    return number_keys(keys, graph->node_count, colour);
}

banyan_status banyan_symmetry_find(const banyan_graph *graph, int directed, int *group, int *group_count,
                                   banyan_error *err)
{
    int size = graph->node_count > graph->arc_count ? graph->node_count : graph->arc_count, colours = 0,
        before;
    int *colour = banyan_alloc((size_t)graph->node_count, sizeof *colour);
    keyed *keys = banyan_alloc((size_t)size, sizeof *keys);
    banyan_status status = colour && keys ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status) {
        for (int v = 0; v < graph->node_count; v++)
            colour[v] = graph->role[v];
        do {
            before = colours;
            colours = refine_once(graph, colour, keys);
        } while (colours > before);
        for (int i = 0; i < graph->arc_count; i++) {
            uint64_t a = (uint64_t)colour[graph->arcs[i].src], b = (uint64_t)colour[graph->arcs[i].dst];

            if (!directed && a > b) {
                uint64_t swap = a;

                a = b;
                b = swap;
            }
            keys[i].key = mix(a * 0x9e3779b97f4a7c15u + mix(b)) + mix((uint64_t)graph->arcs[i].capacity);
            keys[i].item = i;
        }
        *group_count = number_keys(keys, graph->arc_count, group);
    }
    banyan_free(colour);
    banyan_free(keys);
    return status;
}
