/* SPDX-License-Identifier: Apache-2.0 */
/* bound/check.c: why weighted cuts with potentials bound every packing of trees, in the code that checks
 * it.
 *
 * Trees lead from a root r to all n active nodes. A node that only forwards is left as often as it is
 * entered: streams do not meet or part there. A node that may branch (copies) is entered once and left at
 * least once, and at most n - 1 times, as there are active nodes to be reached behind each arc. Let cuts P
 * have weights l(P) > 0, nodes potentials m, and every arc u -> v the price
 *
 *     y(u,v) = max(0, m(u) - k(v) m(v) + sum of l(P) over the cuts that the arc enters: v in P, u not in P)
 *
 * where k(v) is n - 1 if v may branch and m(v) < 0, else 1. Summed over the arcs of a tree, the potential of
 * a node counts as often as the tree leaves it, less k times as often as it enters it: 0 where it only
 * forwards, and not negative where it branches; active nodes have m = 0. And every cut that does not hold r
 * holds some active node, so the tree enters it at least once. Hence the tree costs at least
 *
 *     cost(r) = sum of l(P) over the cuts that do not hold r.
 *
 * If the root is an idle node, that one is not entered, and nodes may be left n times: where m < 0, n m of
 * the root and m of the others are taken off.
 *
 * The links together can be paid at most the sum of capacity times price. If each of n active nodes is the
 * root of trees of weight x (all-gather), then x times the sum of cost(r) is at most that, and the
 * vector's rate is n x. A single cut without potentials is the well-known case: what enters it over what
 * is outside. Reduce-scatter is the same with all arcs turned, and adding instead of copying.
 *
 * All-reduce: a byte is summed at some root r, by a tree into it and a tree out of it. A family for either
 * kind gives prices; an arc's is the larger one, which pays for both. So the byte costs at least cost(r) of
 * both families together, and never less than that of the cheapest root. Where links are symmetric and
 * prices the same in both directions, the cheapest trees are one tree, which costs the same whichever of its
 * nodes is the root: what holds for one active node does for all then.
 *
 * Cost: the arcs at the nodes of all cuts. */
#include "bound/check.h"

#include "core/alloc.h"

/* How often a potential counts where a tree enters the node. */
static int64_t entries(const banyan_graph *graph, int towards, int64_t potential, int v)
{
    int branches = towards ? BANYAN_NODE_ADDS : BANYAN_NODE_COPIES;

    return potential < 0 && (graph->role[v] & branches) ? graph->active_count - 1 : 1;
}

static banyan_status check_potentials(const banyan_graph *graph, int towards, const int64_t *potential,
                                      const char *name, banyan_error *err)
{
    for (int v = 0; v < graph->node_count; v++) {
        int64_t most = BANYAN_CHECK_LIMIT / entries(graph, towards, potential[v], v);

        if (((graph->role[v] & BANYAN_NODE_ACTIVE) && potential[v]) || potential[v] > most ||
            potential[v] < -most)
            return banyan_fail(
                err, BANYAN_PLAN_INVALID, "%s: node %d, which is %s, cannot have the potential %lld", name, v,
                graph->role[v] & BANYAN_NODE_ACTIVE ? "active" : "idle", (long long)potential[v]);
    }
    return BANYAN_SUCCESS;
}

/* The weight of a cut on the arcs that enter it. */
static banyan_status add_cut(const banyan_graph *graph, int towards, const banyan_cut_family *family, int k,
                             const char *name, unsigned char *inside, int64_t *price, banyan_error *err)
{
    const int *first = towards ? graph->out_first : graph->in_first,
              *arc = towards ? graph->out_arc : graph->in_arc, *node = family->node;
    int held = 0;

    for (int i = family->first[k]; i < family->first[k + 1]; i++) {
        held += graph->role[node[i]] & BANYAN_NODE_ACTIVE;
        inside[node[i]] = 1;
    }
    for (int i = family->first[k]; i < family->first[k + 1]; i++)
        for (int j = first[node[i]]; j < first[node[i] + 1]; j++) {
            const banyan_arc *a = &graph->arcs[arc[j]];

            price[arc[j]] += inside[towards ? a->dst : a->src] ? 0 : family->weight[k];
        }
    for (int i = family->first[k]; i < family->first[k + 1]; i++)
        inside[node[i]] = 0;
    return held ? BANYAN_SUCCESS
                : banyan_fail(err, BANYAN_PLAN_INVALID, "cut %d of %s holds no active worker", k, name);
}

/* The prices of arcs that a family asks for. */
static banyan_status check_family(const banyan_graph *graph, int towards, const banyan_cut_family *family,
                                  const char *name, int64_t *price, banyan_error *err)
{
    unsigned char *inside = banyan_alloc((size_t)graph->node_count, 1);
    int64_t total = 0;
    banyan_status status =
        inside ? check_potentials(graph, towards, family->potential, name, err) : banyan_fail_memory(err);

    if (!status && family->count < 1)
        status = banyan_fail(err, BANYAN_PLAN_INVALID, "%s has no cut", name);

    for (int i = 0; !status && i < graph->arc_count; i++) {
        int from = towards ? graph->arcs[i].dst : graph->arcs[i].src,
            to = towards ? graph->arcs[i].src : graph->arcs[i].dst;
        int64_t into = family->potential[to];

        price[i] = family->potential[from] - entries(graph, towards, into, to) * into;
    }
    for (int k = 0; !status && k < family->count; k++) {
        if (family->weight[k] <= 0 || family->weight[k] > BANYAN_CHECK_LIMIT - total)
            status = banyan_fail(err, BANYAN_PLAN_INVALID, "%s: cut %d cannot have the weight %lld", name, k,
                                 (long long)family->weight[k]);
        else
            status = add_cut(graph, towards, family, k, name, inside, price, err);
        total += status ? 0 : family->weight[k];
    }
    for (int i = 0; !status && i < graph->arc_count; i++)
        price[i] = price[i] > 0 ? price[i] : 0;
    banyan_free(inside);
    return status;
}

static int64_t weight_of_all(const banyan_cut_family *family)
{
    int64_t total = 0;

    for (int k = 0; k < family->count; k++)
        total += family->weight[k];
    return total;
}

static banyan_wide worth_of_links(const banyan_graph *graph, const int64_t *price)
{
    banyan_wide worth = 0;

    for (int i = 0; i < graph->arc_count; i++)
        worth += (banyan_wide)graph->arcs[i].capacity * price[i];
    return worth;
}

banyan_status banyan_check_gather(const banyan_graph *graph, int towards, const banyan_cut_family *family,
                                  const char *name, int64_t *price, banyan_fraction *fraction, double *value,
                                  banyan_error *err)
{
    banyan_wide worth, cost;
    banyan_status status = check_family(graph, towards, family, name, price, err);

    if (status)
        return status;
    cost = (banyan_wide)weight_of_all(family) * graph->active_count;
    for (int k = 0; k < family->count; k++)
        for (int i = family->first[k]; i < family->first[k + 1]; i++)
            cost -= graph->role[family->node[i]] & BANYAN_NODE_ACTIVE ? family->weight[k] : 0;
    if (cost <= 0)
        return banyan_fail(err, BANYAN_PLAN_INVALID, "the cuts of %s do not separate active workers", name);
    worth = worth_of_links(graph, price) * graph->active_count;
    *fraction = banyan_fraction_make(worth, cost);
    *value = (double)worth / (double)cost;
    return BANYAN_SUCCESS;
}

/* Adds what trees of each root cost at least. */
static void add_costs(const banyan_graph *graph, int towards, const banyan_cut_family *family,
                      banyan_wide *cost)
{
    int64_t total = weight_of_all(family);
    banyan_wide idle = 0;

    for (int v = 0; v < graph->node_count; v++)
        if (entries(graph, towards, family->potential[v], v) > 1)
            idle += family->potential[v];
    for (int v = 0; v < graph->node_count; v++) {
        cost[v] += total;
        if (graph->role[v] & BANYAN_NODE_ACTIVE)
            continue;
        cost[v] += idle;
        if (entries(graph, towards, family->potential[v], v) > 1)
            cost[v] += (banyan_wide)family->potential[v] * (graph->active_count - 1);
    }
    for (int k = 0; k < family->count; k++)
        for (int i = family->first[k]; i < family->first[k + 1]; i++)
            cost[family->node[i]] -= family->weight[k];
}

/* Of the nodes that may be roots, which add and copy; even: of the active node by which most is proven. */
static banyan_wide least_cost(const banyan_graph *graph, int is_even, const banyan_wide *cost)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    banyan_wide least = cost[graph->active[0]];

    for (int i = 0; is_even && i < graph->active_count; i++)
        least = cost[graph->active[i]] > least ? cost[graph->active[i]] : least;
    for (int v = 0; !is_even && v < graph->node_count; v++)
        if ((graph->role[v] & both) == both && banyan_graph_is_joined(graph, v) && cost[v] < least)
            least = cost[v];
    return least;
}

/* By how much cuts ask for more than the prices, as a fraction above 0; and *free: what they ask for on arcs
 * without a price. */
static void compare_prices(const banyan_graph *graph, const int64_t *price, const int64_t *asked,
                           int64_t *more, int64_t *less, banyan_wide *free)
{
    *more = 0;
    *less = 1;
    for (int i = 0; i < graph->arc_count; i++) {
        if (price[i] <= 0)
            *free += asked[i];
        else if ((banyan_wide)asked[i] * *less > (banyan_wide)*more * price[i]) {
            *more = asked[i];
            *less = price[i];
        }
    }
}

banyan_status banyan_check_allreduce(const banyan_graph *graph, const int64_t *price,
                                     const banyan_cut_family *reduce, const banyan_cut_family *broadcast,
                                     banyan_fraction *fraction, double *value, banyan_error *err)
{
    const banyan_cut_family *family[] = {broadcast, reduce->count ? reduce : broadcast};
    int64_t *asked = banyan_alloc((size_t)graph->arc_count, sizeof *asked);
    banyan_wide *cost = banyan_alloc((size_t)graph->node_count, sizeof *cost), free = 0, whole = 0;
    int is_even = banyan_graph_has_even_prices(graph, price);
    int64_t more = 0, less = 1;
    banyan_status status = asked && cost ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int towards = 0; !status && towards < 2; towards++) {
        int64_t above, below;

        status = check_family(graph, towards, family[towards], towards ? "reduce" : "broadcast", asked, err);
        if (status)
            break;
        compare_prices(graph, price, asked, &above, &below, &free);
        if ((banyan_wide)above * less > (banyan_wide)more * below) {
            more = above;
            less = below;
        }
        add_costs(graph, towards, family[towards], cost);
    }
    if (!status)
        whole = least_cost(graph, is_even, cost) - free * graph->active_count;
    if (!status && (whole <= 0 || more <= 0))
        status = banyan_fail(err, BANYAN_PLAN_INVALID, "the cuts prove nothing: some tree may cost nothing");
    if (!status) { /* of a whole number a part is not enough; of an even tree's up and down neither */
        banyan_wide worth = worth_of_links(graph, price), step = is_even ? 2 : 1,
                    least = (whole * less + step * more - 1) / (step * more) * step;

        *fraction = banyan_fraction_make(worth, least);
        *value = (double)worth / (double)least;
    }
    banyan_free(asked);
    banyan_free(cost);
    return status;
}
