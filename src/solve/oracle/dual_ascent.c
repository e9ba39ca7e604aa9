/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/dual_ascent.c: dual ascent for directed Steiner trees (Wong 1984). While some active node
 * cannot be reached from the root over arcs of no cost left, every tree must still enter the set of nodes
 * from which it can be reached so: charge the cheapest entering arc to the bound, and lower all entering arcs
 * by as much. Sets never overlap in what they charge, so the sum is a lower bound on every tree. The smallest
 * set is always charged first: a large one, charged before those it will swallow, would pay for what they
 * could have been charged for.
 *
 * All nodes count as branching in that. A switch that only forwards does not branch: two branches that meet
 * there pay its cables twice. So with such nodes, and prices equal both ways, we look at the network of the
 * others, each two of them joined at the price of the cheapest way between them through nodes that only
 * forward. This bounds no less: an edge of any tree is such a way and costs at least the cheapest one, so a
 * tree at the same ends and of no greater cost is there in that network, and the sum is a lower bound on it.
 * Four machines on one such switch: a tree takes three ways of two cables each, 6, where a branching switch
 * would let it get by with 4. */
#include "solve/oracle/dual_ascent.h"

#include <string.h>

#include "solve/net/work.h"
#include "solve/oracle/closure.h"

banyan_status banyan_dual_ascent_init(banyan_dual_ascent *a, const banyan_graph *graph, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;

    a->graph = graph;
    a->left = banyan_scratch_take(&a->memory, (size_t)graph->arc_count, sizeof *a->left);
    a->stack = banyan_scratch_take(&a->memory, nodes, sizeof *a->stack);
    a->in = banyan_scratch_take(&a->memory, nodes, 1);
    a->size = banyan_scratch_take(&a->memory, nodes, sizeof *a->size);
    return banyan_scratch_check(&a->memory, err);
}

void banyan_dual_ascent_fini(banyan_dual_ascent *a)
{
    banyan_scratch_free(&a->memory);
}

/* The nodes from which t (towards: which t) can be reached over free arcs; returns how many, or -1 if the
 * root is one of them. */
static int collect(banyan_dual_ascent *a, int t, int root, int towards)
{
    const banyan_graph *graph = a->graph;
    const int *first = towards ? graph->out_first : graph->in_first;
    const int *list = towards ? graph->out_arc : graph->in_arc;
    int size = 1;

    memset(a->in, 0, (size_t)graph->node_count);
    a->in[t] = 1;
    a->stack[0] = t;
    for (int k = 0; k < size; k++)
        for (int i = first[a->stack[k]]; i < first[a->stack[k] + 1]; i++) {
            int arc = list[i], u;

            if (a->left[arc])
                continue;
            u = towards ? graph->arcs[arc].dst : graph->arcs[arc].src;
            if (u == root)
                return -1;
            if (!a->in[u]) {
                a->in[u] = 1;
                a->stack[size++] = u;
            }
        }
    return size;
}

/* Charges the cheapest arc that enters the collected set, of this size; -1 if none does. Most sets are small,
 * so only the arcs at their nodes are looked at. */
static int64_t charge(banyan_dual_ascent *a, int size, int towards)
{
    const banyan_graph *graph = a->graph;
    const int *first = towards ? graph->out_first : graph->in_first;
    const int *list = towards ? graph->out_arc : graph->in_arc;
    int64_t least = -1;

    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < size; k++)
            for (int i = first[a->stack[k]]; i < first[a->stack[k] + 1]; i++) {
                int arc = list[i], from = towards ? graph->arcs[arc].dst : graph->arcs[arc].src;

                if (a->in[from])
                    continue;
                if (pass == 0 && (least < 0 || a->left[arc] < least))
                    least = a->left[arc];
                if (pass == 1)
                    a->left[arc] -= least;
            }
    return least;
}

/* The node whose set was the smallest when it was last looked at: sets only grow. -1: all are joined to the
 * root. */
static int smallest(const banyan_dual_ascent *a)
{
    int best = -1;

    for (int i = 0; i < a->graph->active_count; i++)
        if (a->size[i] >= 0 && (best < 0 || a->size[i] < a->size[best]))
            best = i;
    return best;
}

banyan_wide banyan_dual_ascent_from(banyan_dual_ascent *a, const int64_t *price, int root, int towards)
{
    const banyan_graph *graph = a->graph;
    banyan_wide sum = 0;
    int next;

    banyan_work_add(BANYAN_WORK_TREE, (int64_t)graph->active_count * graph->arc_count);
    memcpy(a->left, price, (size_t)graph->arc_count * sizeof *price);
    for (int i = 0; i < graph->active_count; i++)
        a->size[i] = graph->active[i] == root ? -1 : 0;
    while ((next = smallest(a)) >= 0) {
        int size = collect(a, graph->active[next], root, towards);
        int64_t amount;

        if (size < 0 || size > a->size[next]) {
            a->size[next] = size;
        } else {
            amount = charge(a, size, towards);
            if (amount < 0)
                return -1;
            sum += amount;
        }
    }
    return sum;
}
