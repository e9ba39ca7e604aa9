/* SPDX-License-Identifier: Apache-2.0 */
/* solve/cut/worst_partition.c: the worst partition by Cunningham's greedy (1985), with loads that move from
 * node to node.
 *
 * Wanted is the partition with the least q·cross - p·parts. Every cable lays q times its capacity on its two
 * ends, divided between them as we like, and every set of nodes S that some node belongs to must have room
 * for all cables inside of it and for p more: z(S) >= q·inside(S) + p. The least room z is found node by
 * node: a new node bears all of its cables to those before it, and p; as much of that as can goes on over
 * cables to nodes that have room left, a maximum flow; what stays is its own room. Where the flow stopped is
 * a set that is just full, and such sets, joined where they meet, are the parts. In the end q·capacity -
 * z(all) is the least. Loads stay where they are for the next node, and room is mostly left near by, so that
 * each flow sees a small part of the network: 32x32 workers take milliseconds, and took seconds when every
 * node had a minimum cut of the whole.
 *
 *      new node:  p + 3 q     q |   neighbours take what they have room for, and may pass on
 *                   |---- q ----o   in turn what other cables lay on them
 *
 * A node that only forwards is in a part where that makes the cut around the part smaller, and need not be in
 * any: it is there from the beginning, with room for half of what its cables lay, and needs no p. Parts that
 * meet at such a node alone stay two. All numbers are doubled, so that halves are whole. */
#include "solve/cut/worst_partition.h"

#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"
#include "solve/net/work.h"

struct banyan_worst_partition {
    const banyan_graph *graph;
    int64_t *movable;  /* per arc: what its cable lays on the node that it leaves */
    int64_t *left;     /* per node: room */
    int *level, *next; /* of the nodes that a flow has met */
    int *met, met_count;
    int *path;
    int *top; /* of parts under way, as banyan_graph_find_top has them; -1: has not come yet */
    banyan_scratch memory;
};

banyan_status banyan_worst_partition_create(const banyan_graph *graph, banyan_worst_partition **out,
                                            banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;
    banyan_worst_partition *l = banyan_alloc(1, sizeof *l);

    *out = NULL;
    if (!l)
        return banyan_fail_memory(err);
    l->graph = graph;
    l->movable = banyan_scratch_take(&l->memory, (size_t)graph->arc_count, sizeof *l->movable);
    l->left = banyan_scratch_take(&l->memory, nodes, sizeof *l->left);
    l->level = banyan_scratch_take(&l->memory, nodes, sizeof *l->level);
    l->next = banyan_scratch_take(&l->memory, nodes, sizeof *l->next);
    l->met = banyan_scratch_take(&l->memory, nodes, sizeof *l->met);
    l->path = banyan_scratch_take(&l->memory, nodes, sizeof *l->path);
    l->top = banyan_scratch_take(&l->memory, nodes, sizeof *l->top);
    if (l->memory.failed) {
        banyan_worst_partition_destroy(l);
        return banyan_fail_memory(err);
    }
    *out = l;
    return BANYAN_SUCCESS;
}

void banyan_worst_partition_destroy(banyan_worst_partition *loads)
{
    if (!loads)
        return;
    banyan_scratch_free(&loads->memory);
    banyan_free(loads);
}

static void meet(banyan_worst_partition *l, int v, int level)
{
    l->level[v] = level;
    l->next[v] = l->graph->out_first[v];
    l->met[l->met_count++] = v;
}

/* Hops from the node over arcs that can take something, as far as to the nearest nodes with room; 0: there
 * are none, and what was met is the set that is full. */
static int number_levels(banyan_worst_partition *l, int from)
{
    const banyan_graph *graph = l->graph;
    int last = graph->node_count;

    for (int i = 0; i < l->met_count; i++)
        l->level[l->met[i]] = -1;
    l->met_count = 0;
    meet(l, from, 0);
    for (int i = 0; i < l->met_count && l->level[l->met[i]] < last; i++) {
        int v = l->met[i];

        for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
            int w = graph->arcs[graph->out_arc[j]].dst;

            if (l->movable[graph->out_arc[j]] == 0 || l->level[w] >= 0)
                continue;
            meet(l, w, l->level[v] + 1);
            if (l->left[w] > 0)
                last = l->level[w];
        }
    }
    return last < graph->node_count;
}

/* The next arc from v that leads one level on, or -1. */
static int advance(banyan_worst_partition *l, int v)
{
    const banyan_graph *graph = l->graph;

    for (; l->next[v] < graph->out_first[v + 1]; l->next[v]++) {
        int arc = graph->out_arc[l->next[v]];

        if (l->movable[arc] > 0 && l->level[graph->arcs[arc].dst] == l->level[v] + 1)
            return arc;
    }
    return -1;
}

/* As much as arcs and the last node's room allow goes along the path; how much of the path still can take
 * more. */
static int move(banyan_worst_partition *l, int length, int64_t *moved)
{
    const banyan_arc *arcs = l->graph->arcs;
    int end = arcs[l->path[length - 1]].dst, kept = length;
    int64_t amount = l->left[end];

    for (int i = 0; i < length; i++)
        amount = l->movable[l->path[i]] < amount ? l->movable[l->path[i]] : amount;
    l->left[end] -= amount;
    for (int i = length - 1; i >= 0; i--) {
        l->movable[l->path[i]] -= amount;
        l->movable[arcs[l->path[i]].twin] += amount;
        if (l->movable[l->path[i]] == 0)
            kept = i;
    }
    *moved += amount;
    return kept;
}

/* Moves what can go by shortest ways. */
static int64_t move_by_levels(banyan_worst_partition *l, int from)
{
    const banyan_arc *arcs = l->graph->arcs;
    int64_t moved = 0;
    int length = 0;

    for (;;) {
        int v = length ? arcs[l->path[length - 1]].dst : from, arc;

        if (length && l->left[v] > 0) {
            length = move(l, length, &moved);
            continue;
        }
        arc = advance(l, v);
        if (arc >= 0) {
            l->path[length++] = arc;
        } else if (length) { /* a dead end: step back and never come here again */
            l->level[v] = l->graph->node_count;
            l->next[arcs[l->path[--length]].src]++;
        } else {
            return moved;
        }
    }
}

static int is_active(const banyan_worst_partition *l, int v)
{
    return l->graph->role[v] & BANYAN_NODE_ACTIVE;
}

/* What was met is one part now, together with all parts that it meets. */
static void join(banyan_worst_partition *l, int v)
{
    for (int i = 0; i < l->met_count; i++)
        if (is_active(l, l->met[i]))
            l->top[banyan_graph_find_top(l->top, l->met[i])] = v;
}

/* A cable between two that only forward lays half of its load on each. */
static void add_forwarder(banyan_worst_partition *l, const int64_t *capacity, banyan_fraction guess, int v)
{
    const banyan_graph *graph = l->graph;

    l->top[v] = v;
    for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
        int arc = graph->out_arc[j];
        int64_t half = guess.den * (capacity ? capacity[arc] : graph->arcs[arc].capacity);

        if (is_active(l, graph->arcs[arc].dst))
            l->left[v] += half;
        else
            l->movable[arc] = half;
    }
}

/* The room that the new node needs. */
static int64_t add_node(banyan_worst_partition *l, const int64_t *capacity, banyan_fraction guess, int v)
{
    const banyan_graph *graph = l->graph;
    int64_t room = 2 * guess.num, visits = 0;

    l->top[v] = v;
    for (int j = graph->out_first[v]; j < graph->out_first[v + 1]; j++) {
        int arc = graph->out_arc[j];

        if (l->top[graph->arcs[arc].dst] < 0)
            continue;
        l->movable[arc] = 2 * guess.den * (capacity ? capacity[arc] : graph->arcs[arc].capacity);
        room += l->movable[arc];
    }
    for (; number_levels(l, v); visits += l->met_count)
        room -= move_by_levels(l, v);
    banyan_work_add(BANYAN_WORK_FLOW, visits + l->met_count);
    l->left[v] = 2 * guess.num;
    join(l, v);
    return room;
}

int64_t banyan_worst_partition_worst(banyan_worst_partition *l, const int64_t *capacity,
                                     banyan_fraction guess, int *part)
{
    const banyan_graph *graph = l->graph;
    int64_t sum = 0;

    memset(l->movable, 0, (size_t)graph->arc_count * sizeof *l->movable);
    memset(l->left, 0, (size_t)graph->node_count * sizeof *l->left);
    l->met_count = 0;
    for (int v = 0; v < graph->node_count; v++)
        l->level[v] = l->top[v] = -1;
    for (int v = 0; v < graph->node_count; v++)
        if (!is_active(l, v))
            add_forwarder(l, capacity, guess, v);
    for (int v = 0; v < graph->node_count; v++)
        if (is_active(l, v) && graph->out_first[v] < graph->out_first[v + 1])
            sum -= add_node(l, capacity, guess, v);
    for (int i = 0; i < graph->arc_count; i++)
        if (is_active(l, graph->arcs[i].src))
            sum += guess.den * (capacity ? capacity[i] : graph->arcs[i].capacity);
    for (int v = 0; v < graph->node_count; v++)
        part[v] = l->top[v] < 0 || !is_active(l, v) ? -1 : banyan_graph_find_top(l->top, v);
    return sum;
}

int64_t banyan_worst_partition_spare(banyan_worst_partition *loads, const int64_t *capacity, int64_t rate,
                                     int *part)
{
    return banyan_worst_partition_worst(loads, capacity, (banyan_fraction){rate, 1}, part) / 2 + rate;
}
