/* SPDX-License-Identifier: Apache-2.0 */
/* solve/proof/pair_prices.c: what prices prove, by the cheapest trees of both kinds. */
#include <string.h>

#include "core/alloc.h"
#include "solve/oracle/pair_oracle.h"
#include "solve/pack/pair_columns.h"

/* Prices are equal both ways, whatever the widths are. Then a tree costs the same from whichever of its nodes
 * it is rooted, and as every tree holds all active nodes, one of these is as good a root as any node. */
static int roots_are_alike(const banyan_graph *graph, const int64_t *price)
{
    for (int i = 0; i < graph->arc_count; i++) {
        const banyan_arc *arc = &graph->arcs[i];

        if (arc->twin >= 0 ? price[i] != price[arc->twin]
                           : banyan_graph_price_between(graph, price, arc->src, arc->dst) !=
                                 banyan_graph_price_between(graph, price, arc->dst, arc->src))
            return 0;
    }
    return 1;
}

/* What the arcs that leave (enter) a node cost, if that is the same for all of them; -1: it is not. */
static int64_t price_at(const banyan_graph *graph, const int64_t *price, int v, int entering)
{
    const int *first = entering ? graph->in_first : graph->out_first,
              *arc = entering ? graph->in_arc : graph->out_arc;

    for (int j = first[v]; j < first[v + 1]; j++)
        if (price[arc[j]] != price[arc[first[v]]])
            return -1;
    return first[v] < first[v + 1] ? price[arc[first[v]]] : 0;
}

/* Every node active, and prices equal on all arcs that leave a node, and on all that enter one: each node but
 * the root has one edge up and one down, so that all trees of a root cost the same. 0: it is not so. */
static int is_told_by_ends(const banyan_graph *graph, const int64_t *price, banyan_wide *least)
{
    int64_t highest = 0;

    if (!banyan_graph_all_active(graph))
        return 0;
    *least = 0;
    for (int v = 0; v < graph->node_count; v++) {
        int64_t out = price_at(graph, price, v, 0), in = price_at(graph, price, v, 1);

        if (out < 0 || in < 0)
            return 0;
        *least += (banyan_wide)out + in;
        highest = out + in > highest ? out + in : highest;
    }
    *least -= highest;
    return 1;
}

banyan_status banyan_pair_prices_check(const banyan_graph *graph, const int64_t *price, banyan_wide *num,
                                       banyan_wide *den, int *proven, banyan_error *err)
{
    banyan_pair_oracle o;
    int found = 0;
    banyan_status status;

    *num = banyan_graph_worth(graph, price);
    *proven = 1;
    if (is_told_by_ends(graph, price, den))
        return BANYAN_SUCCESS;
    *den = 0;
    status = banyan_pair_oracle_init(&o, graph, err);
    if (!status) {
        banyan_pair_packing_measure_in(&o, price);
        banyan_pair_packing_measure_out(&o, price);
        if (roots_are_alike(graph, price)) {
            o.root[0] = graph->active[0];
            o.root_count = 1;
        }
        for (int i = 0; i < o.root_count; i++) {
            int64_t in = banyan_pair_packing_in_tree(&o, o.root[i], NULL),
                    out = banyan_pair_packing_out_tree(&o, o.root[i], NULL);

            if (in >= 0 && out >= 0 && (!found || (banyan_wide)in + out < *den)) {
                *den =
                    (banyan_wide)in + out; /* may be 0: then nothing is proven, whatever other roots cost */
                found = 1;
            }
        }
        *proven = banyan_pair_oracle_is_exact(&o);
    }
    banyan_pair_oracle_fini(&o);
    return status;
}

/* Out-trees run in the second stage, or in either where stages overlap: the cheaper one counts. */
static void least_of_stages(banyan_pair_oracle *o, banyan_stages stages, const int64_t *price,
                            int64_t *out_cost, banyan_wide *least, int *found)
{
    for (int i = 0; i < o->root_count; i++)
        out_cost[i] = -1;
    for (int later = stages == BANYAN_STAGES_SEQUENTIAL; later < 2; later++) {
        banyan_pair_packing_measure_out(o, price + (later ? o->graph->arc_count : 0));
        for (int i = 0; i < o->root_count; i++) {
            int64_t cost = banyan_pair_packing_out_tree(o, o->root[i], NULL);

            out_cost[i] = cost >= 0 && (out_cost[i] < 0 || cost < out_cost[i]) ? cost : out_cost[i];
        }
    }
    banyan_pair_packing_measure_in(o, price);
    for (int i = 0; i < o->root_count; i++) {
        int64_t in = banyan_pair_packing_in_tree(o, o->root[i], NULL);

        if (in < 0 || out_cost[i] < 0 || (*found && (banyan_wide)in + out_cost[i] >= *least))
            continue;
        *least = (banyan_wide)in + out_cost[i];
        *found = 1;
    }
}

banyan_status banyan_pair_prices_check_stages(const banyan_graph *graph, banyan_stages stages,
                                              const int64_t *price, banyan_wide *num, banyan_wide *den,
                                              int *proven, banyan_error *err)
{
    banyan_pair_oracle o = {0};
    int found = 0;
    int64_t *out_cost;
    banyan_status status;

    if (stages == BANYAN_STAGES_PIPELINED)
        return banyan_pair_prices_check(graph, price, num, den, proven, err);
    *num = *den = 0;
    out_cost = banyan_alloc((size_t)graph->node_count, sizeof *out_cost);
    status = out_cost ? banyan_pair_oracle_init(&o, graph, err) : banyan_fail_memory(err);
    if (!status) {
        least_of_stages(&o, stages, price, out_cost, den, &found);
        for (int r = 0; r < 2 * graph->arc_count; r++)
            *num += (banyan_wide)graph->arcs[r % graph->arc_count].capacity * price[r];
        *proven = banyan_pair_oracle_is_exact(&o);
    }
    banyan_pair_oracle_fini(&o);
    banyan_free(out_cost);
    return status;
}
