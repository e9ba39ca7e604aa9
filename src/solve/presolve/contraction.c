/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/contraction.c: union-find over free cables, then arcs sorted by the parts that they join.
 * Cost: O(arcs log arcs). */
#include "solve/presolve/contraction.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"

typedef struct {
    int from, to, arc; /* parts */
} joint;

static int compare_joints(const void *left, const void *right)
{
    const joint *a = left, *b = right;

    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return a->arc < b->arc ? -1 : a->arc > b->arc;
}

/* Numbers of the parts, in the order of their first nodes; returns how many nodes with arcs are not the first
 * of theirs. */
static int find_parts(const banyan_graph *graph, const int64_t *price, int *top, int *free_from, int *part,
                      int *part_count)
{
    int joined = 0;

    for (int v = 0; v < graph->node_count; v++) {
        top[v] = v;
        free_from[v] = -1;
    }
    for (int v = 0; v < graph->node_count; v++) {
        for (int i = graph->out_first[v]; i < graph->out_first[v + 1]; i++)
            if (!price[graph->out_arc[i]])
                free_from[graph->arcs[graph->out_arc[i]].dst] = v;
        for (int i = graph->in_first[v]; i < graph->in_first[v + 1]; i++) {
            int u = graph->arcs[graph->in_arc[i]].src;

            if (price[graph->in_arc[i]] || free_from[u] != v)
                continue;
            joined += banyan_graph_join_tops(top, u, v);
        }
    }
    *part_count = 0;
    for (int v = 0; v < graph->node_count; v++)
        part[v] = banyan_graph_find_top(top, v) == v ? (*part_count)++ : part[banyan_graph_find_top(top, v)];
    return joined;
}

static banyan_status join_arcs(const banyan_graph *graph, const unsigned char *role, int part_count,
                               int merge, banyan_contraction *out, banyan_error *err)
{
    banyan_scratch memory = {0};
    size_t arcs = (size_t)graph->arc_count;
    joint *joints = banyan_scratch_take(&memory, arcs, sizeof *joints);
    int *src = banyan_scratch_take(&memory, arcs, sizeof *src),
        *dst = banyan_scratch_take(&memory, arcs, sizeof *dst), count = 0;
    double *capacity = banyan_scratch_take(&memory, arcs, sizeof *capacity);
    banyan_graph_input input = {part_count, role, 0, src, dst, capacity, NULL};
    banyan_status status = banyan_scratch_check(&memory, err);

    for (int i = 0; !status && i < graph->arc_count; i++) {
        out->arc[i] = -1;
        if (out->part[graph->arcs[i].src] != out->part[graph->arcs[i].dst])
            joints[count++] = (joint){out->part[graph->arcs[i].src], out->part[graph->arcs[i].dst], i};
    }
    if (!status)
        qsort(joints, (size_t)count, sizeof *joints, compare_joints);
    for (int i = 0; !status && i < count; i++) {
        if (i == 0 || !merge || joints[i].from != joints[i - 1].from || joints[i].to != joints[i - 1].to) {
            src[input.arc_count] = joints[i].from;
            dst[input.arc_count] = joints[i].to;
            capacity[input.arc_count++] = 0;
        }
        out->arc[joints[i].arc] = input.arc_count - 1;
        capacity[input.arc_count - 1] += graph->unit * (double)graph->arcs[joints[i].arc].capacity;
    }
    if (!status && count)
        status = banyan_graph_create(&input, &out->graph, err);
    banyan_scratch_free(&memory);
    return status;
}

static banyan_status find_prices(const banyan_graph *graph, const int64_t *price, banyan_contraction *out,
                                 banyan_error *err)
{
    out->price = banyan_alloc((size_t)out->graph->arc_count, sizeof *out->price);
    if (!out->price)
        return banyan_fail_memory(err);
    for (int i = 0; i < out->graph->arc_count; i++)
        out->price[i] = INT64_MAX;
    for (int i = 0; i < graph->arc_count; i++)
        if (out->arc[i] >= 0 && price[i] < out->price[out->arc[i]])
            out->price[out->arc[i]] = price[i];
    return BANYAN_SUCCESS;
}

banyan_status banyan_contract(const banyan_graph *graph, const int64_t *price, int merge,
                              banyan_contraction *out, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;
    banyan_scratch memory = {0};
    int *top = banyan_scratch_take(&memory, nodes, sizeof *top),
        *free_from = banyan_scratch_take(&memory, nodes, sizeof *free_from), part_count = 0;
    unsigned char *role = banyan_scratch_take(&memory, nodes, 1);
    banyan_status status;

    *out = (banyan_contraction){.part = banyan_alloc(nodes, sizeof *out->part),
                                .arc = banyan_alloc((size_t)graph->arc_count, sizeof *out->arc)};
    status = !memory.failed && out->part && out->arc ? BANYAN_SUCCESS : banyan_fail_memory(err);
    if (!status && find_parts(graph, price, top, free_from, out->part, &part_count)) {
        for (int v = 0; v < graph->node_count; v++)
            role[out->part[v]] |= graph->role[v];
        status = join_arcs(graph, role, part_count, merge, out, err);
        if (!status && out->graph)
            status = find_prices(graph, price, out, err);
    }
    banyan_scratch_free(&memory);
    if (status)
        banyan_contraction_fini(out);
    return status;
}

void banyan_contraction_fini(banyan_contraction *contraction)
{
    banyan_graph_destroy(contraction->graph);
    banyan_free(contraction->part);
    banyan_free(contraction->arc);
    banyan_free(contraction->price);
    memset(contraction, 0, sizeof *contraction);
}
