/* SPDX-License-Identifier: Apache-2.0 */
/* bound/check.c: why weighted cuts with potentials bound every packing of trees, in the code that checks
 * it.
 *
 * Trees lead from a root r to all active nodes. A node that may branch (copies) is entered once and left
 * at least once, a node that only forwards is left as often as it is entered: streams do not meet or part
 * there. Let cuts S have weights l(S) > 0, nodes potentials m, and every arc u -> v the price
 *
 *     y(u,v) = max(0, m(u) - m(v) + sum of l(S) over the cuts that the arc leaves: u in S, v not in S)
 *
 * Summed over the arcs of a tree, the potential of a node counts as often as the tree leaves it, less as
 * often as it enters it: 0 where it only forwards, and not negative where it branches if m is not negative
 * there; active nodes have m = 0. And every cut that holds r misses some active node, so the tree leaves
 * it at least once. Hence the tree costs at least
 *
 *     cost(r) = sum of l(S) over the cuts that hold r.
 *
 * The links together can be paid at most the sum of capacity times price. If each of n active nodes is the
 * root of trees of weight x (all-gather), then x times the sum of cost(r) is at most that, and the
 * vector's rate is n x. A single cut without potentials is the well-known case: what leaves it over what
 * is inside. Reduce-scatter is the same with all arcs turned, and adding instead of copying.
 *
 * Cost: cuts times arcs. */
#include "bound/check.h"

#include <string.h>

#include "core/alloc.h"

banyan_status banyan_cut_family_init(banyan_cut_family *out, int count, size_t members, int node_count,
                                     banyan_error *err)
{
    *out = (banyan_cut_family){.count = count, .first = banyan_alloc((size_t)count + 1, sizeof *out->first)};
    out->node = banyan_alloc(members, sizeof *out->node);
    out->weight = banyan_alloc((size_t)count, sizeof *out->weight);
    out->potential = banyan_alloc((size_t)node_count, sizeof *out->potential);
    if (out->first && out->node && out->weight && out->potential)
        return BANYAN_SUCCESS;
    banyan_cut_family_fini(out);
    return banyan_fail_memory(err);
}

void banyan_cut_family_fini(banyan_cut_family *family)
{
    banyan_free(family->first);
    banyan_free(family->node);
    banyan_free(family->weight);
    banyan_free(family->potential);
    *family = (banyan_cut_family){0};
}

static int has_arcs(const banyan_graph *graph, int v)
{
    return graph->out_first[v] < graph->out_first[v + 1] || graph->in_first[v] < graph->in_first[v + 1];
}

banyan_status banyan_cut_family_of_cut(const banyan_graph *graph, const unsigned char *inside,
                                       banyan_cut_family *out, banyan_error *err)
{
    banyan_status status = banyan_cut_family_init(out, 1, (size_t)graph->node_count, graph->node_count, err);

    if (status)
        return status;
    out->weight[0] = 1;
    for (int v = 0; v < graph->node_count; v++)
        if (inside[v])
            out->node[out->first[1]++] = v;
    return BANYAN_SUCCESS;
}

static void reduce(banyan_cut_family *family, int node_count)
{
    int64_t common = 0;

    for (int k = 0; k < family->count; k++)
        common = banyan_gcd(common, family->weight[k]);
    for (int v = 0; v < node_count; v++)
        common = banyan_gcd(common, family->potential[v] < 0 ? -family->potential[v] : family->potential[v]);
    for (int k = 0; common && k < family->count; k++)
        family->weight[k] /= common;
    for (int v = 0; common && v < node_count; v++)
        family->potential[v] /= common;
}

banyan_status banyan_cut_family_copy(const banyan_graph *graph, const banyan_cut_family *family,
                                     banyan_cut_family *out, banyan_error *err)
{
    banyan_status status = banyan_cut_family_init(out, family->count, (size_t)family->first[family->count],
                                                  graph->node_count, err);

    if (status)
        return status;
    for (int k = 0; k < family->count; k++) {
        out->weight[k] = family->weight[k];
        out->first[k + 1] = out->first[k];
        for (int i = family->first[k]; i < family->first[k + 1]; i++)
            if (has_arcs(graph, family->node[i]))
                out->node[out->first[k + 1]++] = family->node[i];
    }
    for (int v = 0; v < graph->node_count; v++)
        out->potential[v] = has_arcs(graph, v) ? family->potential[v] : 0;
    reduce(out, graph->node_count);
    return BANYAN_SUCCESS;
}

/* Active nodes may have no potential, nodes that branch none below 0. */
static banyan_status check_potentials(const banyan_graph *graph, int towards, const int64_t *potential,
                                      const char *name, banyan_error *err)
{
    int branches = towards ? BANYAN_NODE_ADDS : BANYAN_NODE_COPIES;

    for (int v = 0; v < graph->node_count; v++)
        if ((potential[v] && (graph->role[v] & BANYAN_NODE_ACTIVE)) ||
            (potential[v] < 0 && (graph->role[v] & branches)) || potential[v] > BANYAN_CHECK_LIMIT ||
            potential[v] < -BANYAN_CHECK_LIMIT)
            return banyan_fail(err, BANYAN_PLAN_INVALID,
                               "%s: node %d, which %s, cannot have the potential %lld", name, v,
                               graph->role[v] & BANYAN_NODE_ACTIVE ? "is active"
                               : graph->role[v] & branches         ? "may branch"
                                                                   : "forwards",
                               (long long)potential[v]);
    return BANYAN_SUCCESS;
}

/* Cut k as a mark for each node. */
static banyan_status mark_cut(const banyan_graph *graph, const banyan_cut_family *family, int k,
                              const char *name, unsigned char *inside, banyan_error *err)
{
    int held = 0;

    memset(inside, 0, (size_t)graph->node_count);
    for (int i = family->first[k]; i < family->first[k + 1]; i++)
        inside[family->node[i]] = 1;
    for (int i = 0; i < graph->active_count; i++)
        held += inside[graph->active[i]];
    if (held == 0 || held == graph->active_count)
        return banyan_fail(err, BANYAN_PLAN_INVALID, "the cut of %s does not separate active workers", name);
    return BANYAN_SUCCESS;
}

static void add_weight(const banyan_graph *graph, int towards, const unsigned char *inside, int64_t weight,
                       int64_t *price)
{
    for (int i = 0; i < graph->arc_count; i++) {
        int from = towards ? graph->arcs[i].dst : graph->arcs[i].src;
        int to = towards ? graph->arcs[i].src : graph->arcs[i].dst;

        if (inside[from] && !inside[to])
            price[i] += weight;
    }
}

banyan_status banyan_check_family(const banyan_graph *graph, int towards, const banyan_cut_family *family,
                                  const char *name, int64_t *price, banyan_error *err)
{
    unsigned char *inside = banyan_alloc((size_t)graph->node_count, 1);
    int64_t total = 0;
    banyan_status status =
        inside ? check_potentials(graph, towards, family->potential, name, err) : banyan_fail_memory(err);

    if (!status && family->count < 1)
        status = banyan_fail(err, BANYAN_PLAN_INVALID, "%s has no cut", name);

    for (int i = 0; !status && i < graph->arc_count; i++) {
        int64_t difference = family->potential[graph->arcs[i].src] - family->potential[graph->arcs[i].dst];

        price[i] = towards ? -difference : difference;
    }
    for (int k = 0; !status && k < family->count; k++) {
        if (family->weight[k] <= 0 || family->weight[k] > BANYAN_CHECK_LIMIT - total)
            status = banyan_fail(err, BANYAN_PLAN_INVALID, "%s: cut %d cannot have the weight %lld", name, k,
                                 (long long)family->weight[k]);
        else
            status = mark_cut(graph, family, k, name, inside, err);
        if (!status)
            add_weight(graph, towards, inside, family->weight[k], price);
        total += family->weight[k];
    }
    for (int i = 0; !status && i < graph->arc_count; i++)
        price[i] = price[i] > 0 ? price[i] : 0;
    banyan_free(inside);
    return status;
}

banyan_fraction banyan_check_gather(const banyan_graph *graph, const banyan_cut_family *family,
                                    const int64_t *price, double *value)
{
    banyan_wide worth = 0, cost = 0;

    for (int i = 0; i < graph->arc_count; i++)
        worth += (banyan_wide)graph->arcs[i].capacity * price[i];
    for (int k = 0; k < family->count; k++)
        for (int i = family->first[k]; i < family->first[k + 1]; i++)
            cost += graph->role[family->node[i]] & BANYAN_NODE_ACTIVE ? family->weight[k] : 0;
    worth *= graph->active_count;
    *value = (double)worth / (double)cost;
    return banyan_fraction_make(worth, cost);
}
