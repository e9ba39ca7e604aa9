/* SPDX-License-Identifier: Apache-2.0 */
/* solve/presolve/symmetrise.c: arcs sorted by the two nodes that they join; each group becomes a cable. Cost:
 * O(arcs log arcs). */
#include "solve/presolve/symmetrise.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

typedef struct {
    int low, high; /* its ends */
    int arc;
} joint;

static int compare_joints(const void *left, const void *right)
{
    const joint *a = left, *b = right;

    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return a->arc < b->arc ? -1 : a->arc > b->arc;
}

static int is_even(const banyan_graph *graph)
{
    for (int v = 0; v < graph->node_count; v++)
        if (!(graph->role[v] & BANYAN_NODE_ADDS) != !(graph->role[v] & BANYAN_NODE_COPIES))
            return 0;
    return 1;
}

static void sort_joints(const banyan_graph *graph, joint *joints)
{
    for (int i = 0; i < graph->arc_count; i++) {
        int a = graph->arcs[i].src, b = graph->arcs[i].dst;

        joints[i] = (joint){a < b ? a : b, a < b ? b : a, i};
    }
    qsort(joints, (size_t)graph->arc_count, sizeof *joints, compare_joints);
}

typedef struct {
    int *src, *dst, *link;
    double *capacity;
} lists;

/* The arcs from joints[begin] to before joints[end] as one cable; arcs that it is not wide enough for are in
 * none. */
static void join(const banyan_graph *graph, banyan_evening how, const joint *joints, int begin, int end,
                 lists *l, int *count, int *arc)
{
    double there = 0, back = 0, width;

    for (int i = begin; i < end; i++) {
        const banyan_arc *a = &graph->arcs[joints[i].arc];

        *(a->src == joints[i].low ? &there : &back) += (double)a->capacity;
    }
    width = how == BANYAN_EVEN_MEAN ? (there + back) / 2 : there < back ? there : back;
    for (int i = begin; i < end; i++)
        arc[joints[i].arc] = width > 0 ? *count + (graph->arcs[joints[i].arc].src != joints[i].low) : -1;
    for (int way = 0; width > 0 && way < 2; way++) {
        l->src[*count] = way ? joints[begin].high : joints[begin].low;
        l->dst[*count] = way ? joints[begin].low : joints[begin].high;
        l->capacity[*count] = width * graph->unit;
        l->link[*count] = -1;
        for (int i = begin; i < end; i++)
            if (graph->arcs[joints[i].arc].src == l->src[*count])
                l->link[*count] = graph->arcs[joints[i].arc].link;
        ++*count;
    }
}

banyan_status banyan_symmetrised_make(const banyan_graph *graph, banyan_evening how, banyan_symmetrised *out,
                                      banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    joint *joints = banyan_alloc(arcs, sizeof *joints);
    lists l = {banyan_alloc(2 * arcs, sizeof(int)), banyan_alloc(2 * arcs, sizeof(int)),
               banyan_alloc(2 * arcs, sizeof(int)), banyan_alloc(2 * arcs, sizeof(double))};
    banyan_graph_input input = {graph->node_count, graph->role, 0, l.src, l.dst, l.capacity, l.link};
    banyan_status status;

    *out = (banyan_symmetrised){.arc = banyan_alloc(arcs, sizeof *out->arc)};
    status = joints && l.src && l.dst && l.link && l.capacity && out->arc ? BANYAN_SUCCESS
                                                                          : banyan_fail_memory(err);
    if (!status && is_even(graph)) {
        sort_joints(graph, joints);
        for (int begin = 0, end; begin < graph->arc_count; begin = end) {
            for (end = begin; end < graph->arc_count && joints[end].low == joints[begin].low &&
                              joints[end].high == joints[begin].high;)
                end++;
            join(graph, how, joints, begin, end, &l, &input.arc_count, out->arc);
        }
        status = banyan_graph_create(&input, &out->graph, err);
    }
    banyan_free(joints);
    banyan_free(l.src);
    banyan_free(l.dst);
    banyan_free(l.link);
    banyan_free(l.capacity);
    if (status)
        banyan_symmetrised_fini(out);
    return status;
}

void banyan_symmetrised_fini(banyan_symmetrised *mean)
{
    banyan_graph_destroy(mean->graph);
    banyan_free(mean->arc);
    memset(mean, 0, sizeof *mean);
}
