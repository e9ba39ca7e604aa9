/* SPDX-License-Identifier: Apache-2.0 */
/* solve/proof/split_proof.c: what cuts and limits of nodes prove by themselves. Their weights become whole
 * numbers first; then each arc gets the price that these ask for, whatever the program's was, so that
 * roundings cost a little of the bound and never its truth. Cost: O(cuts (arcs + nodes)). */
#include "solve/cut/split_parts.h"

#include <math.h>

#include "core/alloc.h"

banyan_status banyan_split_find_whole(const banyan_divider *d, int64_t **out, banyan_error *err)
{
    const double *value = banyan_lp_values(d->lp) + d->first_limit;
    int count = d->first_cut - d->first_limit + (int)d->cut_count;
    double *weight = banyan_alloc((size_t)count + 1, sizeof *weight);
    int64_t *whole = banyan_alloc((size_t)count + 1, sizeof *whole);

    *out = NULL;
    if (!weight || !whole) {
        banyan_free(weight);
        banyan_free(whole);
        return banyan_fail_memory(err);
    }
    for (int i = 0; i < count; i++)
        weight[i] = fmax(0, value[i]);
    banyan_fraction_whole_prices(weight, count, whole);
    banyan_free(weight);
    *out = whole;
    return BANYAN_SUCCESS;
}

/* What the arc must cost at least, so that the cuts' weights are paid: as a part of the reduce, or of the
 * broadcast. */
static int64_t must_cost(const banyan_divider *d, const int64_t *whole, int arc, int reduce)
{
    const banyan_graph *graph = d->graph;
    const int *potential = d->potential + reduce * graph->node_count;
    int from = reduce ? graph->arcs[arc].src : graph->arcs[arc].dst,
        to = reduce ? graph->arcs[arc].dst : graph->arcs[arc].src, before = d->first_limit;
    int64_t cost = 0;

    for (size_t k = 0; k < d->cut_count; k++) {
        const unsigned char *cut = d->cuts + k * banyan_split_find_cut_bytes(d), *inside = cut + 1;

        if (*cut == reduce && inside[from] && !inside[to])
            cost += whole[(size_t)(d->first_cut - before) + k];
    }
    cost += potential[from] < 0
                ? 0
                : banyan_split_find_most_copies(graph, from, reduce) * whole[potential[from] - before];
    return cost - (potential[to] < 0 ? 0 : whole[potential[to] - before]);
}

/* What a root that is not active itself adds to the limits of helpers. */
static int64_t spent_on_helpers(const banyan_divider *d, const int64_t *whole, int root)
{
    const banyan_graph *graph = d->graph;
    int64_t sum = 0;

    for (int i = 0; i < 2 * graph->node_count && !(graph->role[root] & BANYAN_NODE_ACTIVE); i++) {
        int v = i % graph->node_count;

        if (d->potential[i] >= 0 && !banyan_split_find_forwards(graph, v, i / graph->node_count))
            sum += (v == root ? graph->active_count : 1) * whole[d->potential[i] - d->first_limit];
    }
    return sum;
}

banyan_status banyan_split_find_prove_by_cuts(const banyan_divider *d, int64_t *price, banyan_wide *worth,
                                              banyan_wide *least, banyan_error *err)
{
    const banyan_graph *graph = d->graph;
    int64_t *whole;
    banyan_status status = banyan_split_find_whole(d, &whole, err);

    *worth = 0;
    *least = -1;
    if (status)
        return status;
    for (int i = 0; i < graph->arc_count; i++) {
        int64_t sent = must_cost(d, whole, i, 0), summed = must_cost(d, whole, i, 1);

        price[i] = sent > summed ? sent : summed;
        price[i] = price[i] > 0 ? price[i] : 0;
        *worth += (banyan_wide)graph->arcs[i].capacity * price[i];
    }
    for (int i = 0; i < d->root_count; i++) {
        banyan_wide cost = -spent_on_helpers(d, whole, d->root_node[i]);

        for (size_t k = 0; k < d->cut_count; k++)
            if (!d->cuts[k * banyan_split_find_cut_bytes(d) + 1 + (size_t)d->root_node[i]])
                cost += whole[(size_t)(d->first_cut - d->first_limit) + k];
        *least = *least < 0 || cost < *least ? cost : *least;
    }
    banyan_free(whole);
    if (*least <= 0 || *worth <= 0)
        return banyan_fail(err, BANYAN_INTERNAL_ERROR, "the weights of %d cuts prove nothing",
                           (int)d->cut_count);
    return BANYAN_SUCCESS;
}
