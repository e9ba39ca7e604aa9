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

#include "core/alloc.h"
#include "solve/net/work.h"
#include "solve/oracle/closure.h"

#define MOST_JOINED 400 /* nodes that add: the network of ways has an arc for each two of them */

#define ROOTS 4 /* to begin with, at most */

banyan_status banyan_dual_ascent_init(banyan_dual_ascent *a, const banyan_graph *graph, banyan_error *err)
{
    size_t nodes = (size_t)graph->node_count;

    a->graph = graph;
    a->left = banyan_alloc((size_t)graph->arc_count, sizeof *a->left);
    a->stack = banyan_alloc(nodes, sizeof *a->stack);
    a->in = banyan_alloc(nodes, 1);
    a->size = banyan_alloc(nodes, sizeof *a->size);
    return a->left && a->stack && a->in && a->size ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

void banyan_dual_ascent_fini(banyan_dual_ascent *a)
{
    banyan_free(a->left);
    banyan_free(a->stack);
    banyan_free(a->in);
    banyan_free(a->size);
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

/* Cables without a price join nodes to parts; between those that hold active nodes a tree takes as many
 * cables as there are, less one, and each costs the least price or more. */
static banyan_wide bound_of_parts(banyan_dual_ascent *a, const int64_t *price)
{
    const banyan_graph *graph = a->graph;
    int *top = a->stack, parts = 0;
    int64_t least = 0;

    for (int v = 0; v < graph->node_count; v++)
        top[v] = v;
    for (int i = 0; i < graph->arc_count; i++)
        if (price[i] == 0)
            top[banyan_graph_find_top(top, graph->arcs[i].src)] =
                banyan_graph_find_top(top, graph->arcs[i].dst);
        else
            least = least == 0 || price[i] < least ? price[i] : least;
    memset(a->in, 0, (size_t)graph->node_count);
    for (int i = 0; i < graph->active_count; i++) {
        int part = banyan_graph_find_top(top, graph->active[i]);

        parts += !a->in[part];
        a->in[part] = 1;
    }
    return (banyan_wide)least * (parts - 1);
}

/* One tree serves both ways, and any active node can be its root; which one is the best to begin with is not
 * known. */
static banyan_wide bound_of_trees(banyan_dual_ascent *a, const int64_t *price)
{
    const banyan_graph *graph = a->graph;
    banyan_wide best = bound_of_parts(a, price);
    int step = (graph->active_count + ROOTS - 1) / ROOTS;

    for (int i = 0; i < graph->active_count; i += step) {
        banyan_wide sum = banyan_dual_ascent_from(a, price, graph->active[i], 0);

        if (sum < 0)
            return -1;
        best = sum > best ? sum : best;
    }
    return 2 * best;
}

static int count_adders(const banyan_graph *graph)
{
    int count = 0;

    for (int v = 0; v < graph->node_count; v++)
        count += (graph->role[v] & BANYAN_NODE_ADDS) != 0;
    return count;
}

static banyan_status bound_of_ways(const banyan_graph *graph, const int64_t *price, banyan_wide *out,
                                   banyan_error *err)
{
    banyan_closure closure;
    banyan_graph *ways = NULL;
    int64_t *cost = NULL;
    banyan_status status = banyan_closure_init(&closure, graph, BANYAN_NODE_ADDS, err);

    if (status)
        return status;
    banyan_closure_measure(&closure, price);
    status = banyan_closure_graph(&closure, &ways, err);
    if (!status) {
        cost = banyan_alloc((size_t)ways->arc_count, sizeof *cost);
        status = cost ? BANYAN_SUCCESS : banyan_fail_memory(err);
    }
    if (!status) {
        banyan_closure_costs(&closure, ways, cost);
        status = banyan_dual_ascent_bound(ways, cost, out, err);
    }
    banyan_graph_destroy(ways);
    banyan_free(cost);
    banyan_closure_fini(&closure);
    return status;
}

banyan_status banyan_dual_ascent_bound(const banyan_graph *graph, const int64_t *price, banyan_wide *out,
                                       banyan_error *err)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    banyan_dual_ascent a;
    banyan_status status;

    if (banyan_graph_has_forwarders(graph) && banyan_graph_has_even_prices(graph, price) &&
        count_adders(graph) <= MOST_JOINED)
        return bound_of_ways(graph, price, out, err);
    status = banyan_dual_ascent_init(&a, graph, err);
    *out = -1;
    if (!status && banyan_graph_has_even_prices(graph, price)) {
        *out = bound_of_trees(&a, price);
        goto out;
    }
    for (int v = 0; !status && v < graph->node_count; v++) {
        banyan_wide sum;

        if ((graph->role[v] & both) != both)
            continue;
        sum = banyan_dual_ascent_from(&a, price, v, 1);
        if (sum >= 0) {
            banyan_wide down = banyan_dual_ascent_from(&a, price, v, 0);

            sum = down < 0 ? -1 : sum + down;
        }
        if (sum >= 0 && (*out < 0 || sum < *out))
            *out = sum;
    }
out:
    banyan_dual_ascent_fini(&a);
    return status;
}
