/* SPDX-License-Identifier: Apache-2.0 */
/* solve/ascent.c: dual ascent for directed Steiner trees (Wong 1984). While some active node cannot be
 * reached from the root over arcs of no cost left, every tree must still enter the set of nodes from which it
 * can be reached so: charge the cheapest entering arc to the bound, and lower all entering arcs by as much.
 * Sets never overlap in what they charge, so the sum is a lower bound on every tree. All nodes count as
 * branching here. */
#include "solve/ascent.h"

#include <string.h>

#include "core/alloc.h"

typedef struct {
    const banyan_graph *graph;
    int64_t *left; /* cost not yet charged, per arc */
    int *stack;
    unsigned char *in;
} ascent;

/* The nodes from which t (towards: which t) can be reached over free arcs; 1 if the root is among them. */
static int collect(ascent *a, int t, int root, int towards)
{
    const banyan_graph *graph = a->graph;
    const int *first = towards ? graph->out_first : graph->in_first;
    const int *list = towards ? graph->out_arc : graph->in_arc;
    int count = 0;

    memset(a->in, 0, (size_t)graph->node_count);
    a->in[t] = 1;
    a->stack[count++] = t;
    while (count) {
        int v = a->stack[--count];

        for (int i = first[v]; i < first[v + 1]; i++) {
            const banyan_arc *arc = &graph->arcs[list[i]];
            int u = towards ? arc->dst : arc->src;

            if (a->left[list[i]] == 0 && !a->in[u]) {
                a->in[u] = 1;
                a->stack[count++] = u;
            }
        }
    }
    return a->in[root];
}

/* Charges the cheapest arc that enters the collected set; -1 if none does. */
static int64_t charge(ascent *a, int towards)
{
    const banyan_graph *graph = a->graph;
    int64_t least = -1;

    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < graph->arc_count; i++) {
            int from = towards ? graph->arcs[i].dst : graph->arcs[i].src;
            int to = towards ? graph->arcs[i].src : graph->arcs[i].dst;

            if (a->in[from] || !a->in[to])
                continue;
            if (pass == 0 && (least < 0 || a->left[i] < least))
                least = a->left[i];
            if (pass == 1)
                a->left[i] -= least;
        }
    return least;
}

static banyan_wide bound_from(ascent *a, const int64_t *price, int root, int towards)
{
    const banyan_graph *graph = a->graph;
    banyan_wide sum = 0;

    memcpy(a->left, price, (size_t)graph->arc_count * sizeof *price);
    for (int again = 1; again;) {
        again = 0;
        for (int i = 0; i < graph->active_count; i++) { /* in turn, so that sets grow side by side */
            int64_t amount;

            if (graph->active[i] == root || collect(a, graph->active[i], root, towards))
                continue;
            amount = charge(a, towards);
            if (amount < 0)
                return -1;
            sum += amount;
            again = 1;
        }
    }
    return sum;
}

static int is_even(const banyan_graph *graph, const int64_t *price)
{
    for (int i = 0; i < graph->arc_count; i++)
        if (!graph->symmetric || price[i] != price[graph->arcs[i].twin])
            return 0;
    return 1;
}

banyan_status banyan_ascent_bound(const banyan_graph *graph, const int64_t *price, banyan_wide *out,
                                  banyan_error *err)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    ascent a = {.graph = graph, .left = banyan_alloc((size_t)graph->arc_count, sizeof *a.left)};
    banyan_status status;

    a.stack = banyan_alloc((size_t)graph->node_count, sizeof *a.stack);
    a.in = banyan_alloc((size_t)graph->node_count, 1);
    status = a.left && a.stack && a.in ? BANYAN_SUCCESS : banyan_fail_memory(err);
    *out = -1;
    if (!status &&
        is_even(graph, price)) { /* one tree serves both ways, and any active node can be its root */
        *out = bound_from(&a, price, graph->active[0], 0);
        *out = *out < 0 ? -1 : 2 * *out;
        goto out;
    }
    for (int v = 0; !status && v < graph->node_count; v++) {
        banyan_wide sum;

        if ((graph->role[v] & both) != both)
            continue;
        sum = bound_from(&a, price, v, 1);
        if (sum >= 0) {
            banyan_wide down = bound_from(&a, price, v, 0);

            sum = down < 0 ? -1 : sum + down;
        }
        if (sum >= 0 && (*out < 0 || sum < *out))
            *out = sum;
    }
out:
    banyan_free(a.left);
    banyan_free(a.stack);
    banyan_free(a.in);
    return status;
}
