/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/closure.c: Dijkstra from every chosen node, never leaving another chosen node: a path through
 * one is two edges of a tree, not one. Without other nodes the matrix is the arcs themselves. */
#include "solve/oracle/closure.h"

#include <string.h>

banyan_status banyan_closure_init(banyan_closure *closure, const banyan_graph *graph, unsigned roles,
                                  banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;

    memset(closure, 0, sizeof *closure);
    closure->graph = graph;
    for (int v = 0; v < graph->node_count; v++)
        closure->count += (graph->role[v] & roles) != 0;
    if (closure->count > 2048)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "%d workers with asymmetric links: planning them is limited to 2048",
                           closure->count);
    closure->node = banyan_scratch_take(&closure->memory, nodes, sizeof(int));
    closure->index = banyan_scratch_take(&closure->memory, nodes, sizeof(int));
    closure->distance = banyan_scratch_take(&closure->memory, (size_t)closure->count * (size_t)closure->count,
                                            sizeof(int64_t));
    closure->via = banyan_scratch_take(&closure->memory, (size_t)closure->count * nodes, sizeof(int));
    closure->scratch = banyan_scratch_take(&closure->memory, nodes, sizeof(int64_t));
    closure->heap = banyan_scratch_take(&closure->memory, nodes, sizeof(int));
    if (closure->memory.failed) {
        banyan_closure_fini(closure);
        return banyan_fail_memory(err);
    }
    closure->count = 0;
    for (int v = 0; v < graph->node_count; v++) {
        closure->index[v] = -1;
        if (graph->role[v] & roles) {
            closure->index[v] = closure->count;
            closure->node[closure->count++] = v;
        }
    }
    return BANYAN_SUCCESS;
}

void banyan_closure_fini(banyan_closure *closure)
{
    banyan_scratch_free(&closure->memory);
    memset(closure, 0, sizeof *closure);
}

/* Relaxes the arcs that leave v; forwarders that come nearer are put on the list of open nodes. */
static void relax(banyan_closure *closure, const int64_t *cost, int v, int *via, int *open, int *open_count)
{
    const banyan_graph *graph = closure->graph;
    int64_t *far = closure->scratch;

    for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++) {
        int arc = graph->out_arc[i], w = graph->arcs[arc].dst;

        if (far[v] + cost[arc] >= far[w])
            continue;
        if (closure->index[w] < 0 && far[w] == BANYAN_FAR)
            open[(*open_count)++] = w;
        far[w] = far[v] + cost[arc];
        via[w] = arc;
    }
}

/* Forwarders are few, so the nearest open one is found by looking at all of them. A forwarder that has been
 * closed cannot come nearer (costs are not negative). */
static void measure_from(banyan_closure *closure, const int64_t *cost, int from)
{
    int *via = closure->via + (size_t)from * (size_t)closure->graph->node_count, *open = closure->heap;
    int open_count = 0, start = closure->node[from];

    for (int v = 0; v < closure->graph->node_count; v++) {
        closure->scratch[v] = BANYAN_FAR;
        via[v] = -1;
    }
    closure->scratch[start] = 0;
    relax(closure, cost, start, via, open, &open_count);
    while (open_count) {
        int nearest = 0, v;

        for (int i = 1; i < open_count; i++)
            if (closure->scratch[open[i]] < closure->scratch[open[nearest]])
                nearest = i;
        v = open[nearest];
        open[nearest] = open[--open_count];
        relax(closure, cost, v, via, open, &open_count);
    }
    for (int j = 0; j < closure->count; j++)
        closure->distance[(size_t)from * (size_t)closure->count + (size_t)j] =
            closure->scratch[closure->node[j]];
}

void banyan_closure_measure(banyan_closure *closure, const int64_t *cost)
{
    for (int i = 0; i < closure->count; i++)
        measure_from(closure, cost, i);
}

void banyan_closure_add_path(const banyan_closure *closure, int i, int j, banyan_trees *trees)
{
    const banyan_graph *graph = closure->graph;
    const int *via = closure->via + (size_t)i * (size_t)graph->node_count;
    int end = closure->node[j], hops = 0;

    banyan_trees_add_edge(trees, closure->node[i], end);
    for (int v = end; v != closure->node[i]; v = graph->arcs[via[v]].src)
        hops++;
    for (; hops > 0; hops--) {
        int v = end;

        for (int k = 1; k < hops; k++)
            v = graph->arcs[via[v]].src;
        banyan_trees_add_arc(trees, via[v]);
    }
}

banyan_status banyan_closure_graph(const banyan_closure *closure, banyan_graph **out, banyan_error *err)
{
    banyan_scratch memory = {0};
    size_t count = (size_t)closure->count, arcs = count * count;
    unsigned char *role = banyan_scratch_take(&memory, count, 1);
    int *src = banyan_scratch_take(&memory, arcs, sizeof *src),
        *dst = banyan_scratch_take(&memory, arcs, sizeof *dst);
    double *capacity = banyan_scratch_take(&memory, arcs, sizeof *capacity);
    banyan_graph_input input = {closure->count, role, 0, src, dst, capacity, NULL};
    banyan_status status = banyan_scratch_check(&memory, err);

    for (int i = 0; !status && i < closure->count; i++)
        role[i] = closure->graph->role[closure->node[i]];
    for (int j = 0; !status && j < closure->count; j++) /* arcs that enter a node lie together */
        for (int i = 0; i < closure->count; i++) {
            if (i == j || closure->distance[(size_t)i * count + (size_t)j] >= BANYAN_FAR)
                continue;
            src[input.arc_count] = i;
            dst[input.arc_count] = j;
            capacity[input.arc_count++] = 1;
        }
    if (!status)
        status = banyan_graph_create(&input, out, err);
    banyan_scratch_free(&memory);
    return status;
}

void banyan_closure_costs(const banyan_closure *closure, const banyan_graph *ways, int64_t *cost)
{
    for (int i = 0; i < ways->arc_count; i++)
        cost[i] =
            closure->distance[(size_t)ways->arcs[i].src * (size_t)closure->count + (size_t)ways->arcs[i].dst];
}
