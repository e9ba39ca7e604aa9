/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/matroid_partition.c: matroid partition (Edmonds 1965) for forests.
 *
 * Strands, the units of cables, are given to count forests one by one. A strand that closes a circle in every
 * forest may push out one of that circle, which then looks for a forest itself, and so on: a search in
 * breadth finds the shortest such chain, after which all are forests still and hold one strand more. If there
 * is none, no other choice of strands would have room for it either. Cost: O(strands x what a search meets);
 * meant for few trees. */
#include "solve/start/matroid_partition.h"

#include <string.h>

#include "core/scratch.h"

typedef struct {
    const banyan_graph *graph;
    int node_count, forest_count, strand_count;
    int *arc;    /* per strand */
    int *forest; /* per strand; -1: in none */
    int *before; /* per strand: the one that would take its place; -1: the first of the search; -2: not met */
    int *queue;
    int *top, *parent, *depth,
        *up;                   /* by forest and node: root, parent, hops to the root, strand to the parent */
    int *first, *next, *stack; /* scratch: half strands at a node, as lists */
    banyan_scratch memory;
} keeper;

static int strands_of(const keeper *k, const int64_t *room, int arc)
{
    if (banyan_graph_cable(k->graph, arc) != arc || room[arc] <= 0)
        return 0;
    return room[arc] < k->forest_count ? (int)room[arc] : k->forest_count;
}

static banyan_status keeper_init(keeper *k, const banyan_graph *graph, const int64_t *room, int count,
                                 banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count, cells = nodes * (size_t)count, strands = 0;

    *k = (keeper){.graph = graph, .node_count = graph->node_count, .forest_count = count};
    for (int i = 0; i < graph->arc_count; i++)
        strands += (size_t)strands_of(k, room, i);
    k->arc = banyan_scratch_take(&k->memory, strands, sizeof(int));
    k->forest = banyan_scratch_take(&k->memory, strands, sizeof(int));
    k->before = banyan_scratch_take(&k->memory, strands, sizeof(int));
    k->queue = banyan_scratch_take(&k->memory, strands, sizeof(int));
    k->top = banyan_scratch_take(&k->memory, cells, sizeof(int));
    k->parent = banyan_scratch_take(&k->memory, cells, sizeof(int));
    k->depth = banyan_scratch_take(&k->memory, cells, sizeof(int));
    k->up = banyan_scratch_take(&k->memory, cells, sizeof(int));
    k->first = banyan_scratch_take(&k->memory, nodes, sizeof(int));
    k->next = banyan_scratch_take(&k->memory, 2 * strands, sizeof(int));
    k->stack = banyan_scratch_take(&k->memory, nodes, sizeof(int));
    if (k->memory.failed)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->arc_count; i++)
        for (int j = strands_of(k, room, i); j > 0; j--) {
            k->forest[k->strand_count] = -1;
            k->arc[k->strand_count++] = i;
        }
    for (size_t i = 0; i < cells; i++) {
        k->top[i] = (int)(i % nodes);
        k->parent[i] = -1;
    }
    return BANYAN_SUCCESS;
}

static const banyan_arc *ends_of(const keeper *k, int strand)
{
    return &k->graph->arcs[k->arc[strand]];
}

/* Roots and parents of a forest, from its strands. */
static void root_forest(keeper *k, int forest)
{
    size_t begin = (size_t)forest * (size_t)k->node_count;
    int *top = k->top + begin, *parent = k->parent + begin, *depth = k->depth + begin, *up = k->up + begin;

    memset(k->first, -1, (size_t)k->node_count * sizeof(int));
    memset(top, -1, (size_t)k->node_count * sizeof(int));
    for (int s = 0; s < k->strand_count; s++)
        for (int half = 2 * s; k->forest[s] == forest && half < 2 * s + 2; half++) {
            int v = half & 1 ? ends_of(k, s)->dst : ends_of(k, s)->src;

            k->next[half] = k->first[v];
            k->first[v] = half;
        }
    for (int root = 0; root < k->node_count; root++) {
        int count = 0;

        if (top[root] >= 0)
            continue;
        top[root] = root;
        parent[root] = -1;
        depth[root] = 0;
        k->stack[count++] = root;
        while (count) {
            int v = k->stack[--count];

            for (int half = k->first[v]; half >= 0; half = k->next[half]) {
                int w = half & 1 ? ends_of(k, half / 2)->src : ends_of(k, half / 2)->dst;

                if (top[w] >= 0)
                    continue;
                top[w] = root;
                parent[w] = v;
                depth[w] = depth[v] + 1;
                up[w] = half / 2;
                k->stack[count++] = w;
            }
        }
    }
}

/* The strand joins the forest, the one before it takes its place, and so on. */
static void shift(keeper *k, int strand, int forest)
{
    while (strand >= 0) {
        int left = k->forest[strand];

        k->forest[strand] = forest;
        root_forest(k, forest);
        forest = left;
        strand = k->before[strand];
    }
}

/* Puts the strands of the circle that this one closes in the forest at the end of the queue. */
static void meet_circle(keeper *k, int strand, int forest, int *count)
{
    size_t begin = (size_t)forest * (size_t)k->node_count;
    const int *parent = k->parent + begin, *depth = k->depth + begin, *up = k->up + begin;
    int a = ends_of(k, strand)->src, b = ends_of(k, strand)->dst;

    while (a != b) {
        int *lower = depth[a] >= depth[b] ? &a : &b, met = up[*lower];

        *lower = parent[*lower];
        if (k->before[met] == -2) {
            k->before[met] = strand;
            k->queue[(*count)++] = met;
        }
    }
}

/* 0: no forest has room for the strand. */
static int insert(keeper *k, int strand)
{
    int count = 0;

    for (int s = 0; s < k->strand_count; s++)
        k->before[s] = -2;
    k->before[strand] = -1;
    k->queue[count++] = strand;
    for (int at = 0; at < count; at++)
        for (int forest = 0; forest < k->forest_count; forest++) {
            const int *top = k->top + (size_t)forest * (size_t)k->node_count;
            int s = k->queue[at];

            if (k->forest[s] == forest)
                continue;
            if (top[ends_of(k, s)->src] != top[ends_of(k, s)->dst]) {
                shift(k, s, forest);
                return 1;
            }
            meet_circle(k, s, forest, &count);
        }
    return 0;
}

static void give_trees(const keeper *k, banyan_trees *trees)
{
    for (int forest = 0; forest < k->forest_count; forest++) {
        banyan_trees_begin(trees);
        for (int s = 0; s < k->strand_count; s++)
            if (k->forest[s] == forest) {
                banyan_trees_add_edge(trees, ends_of(k, s)->src, ends_of(k, s)->dst);
                banyan_trees_add_arc(trees, k->arc[s]);
            }
    }
}

banyan_status banyan_matroid_partition_trees(const banyan_graph *graph, const int64_t *room, int count,
                                             banyan_trees *trees, int *found, banyan_error *err)
{
    keeper k;
    int placed = 0, wanted = count * (graph->active_count - 1);
    banyan_status status = keeper_init(&k, graph, room, count, err);

    *found = 0;
    for (int s = 0; !status && s < k.strand_count && placed < wanted; s++)
        placed += insert(&k, s);
    if (!status && placed == wanted) {
        give_trees(&k, trees);
        *found = 1;
        if (trees->failed)
            status = banyan_fail_memory(err);
    }
    banyan_scratch_free(&k.memory);
    return status;
}
