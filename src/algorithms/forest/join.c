/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/forest/join.c: idle workers behind switches. Cables to which the bound gives no price are wide
 * enough for whatever is done over them, so the nodes that they join are one node: a host with its ranks, or
 * all switches of a fat-tree. Trees are packed in that smaller network and lifted into this one. */
#include <string.h>

#include "algorithms/forest/parts.h"
#include "core/alloc.h"
#include "solve/net/effort.h"
#include "solve/presolve/contraction.h"

#define GOOD 0.995      /* of the smaller network's rate: trees are not lifted in pieces */
#define ROUNDS 3        /* where there are many workers; else there are other ways */
#define MOST_PIECES 128 /* of trees */

/* One try: whole trees, or pieces of them if these are too heavy. *found, in the graph's units: the best so
 * far, whose flows are there. */
static banyan_status try_joined(const banyan_graph *graph, const banyan_forest_options *options,
                                const int64_t *price, int merge, unsigned char *full, banyan_flows *flows,
                                double *found, banyan_error *err)
{
    banyan_contraction joined;
    banyan_flows small;
    double rate = 0, reached = 0;
    int most = options->max_trees < MOST_PIECES ? options->max_trees : MOST_PIECES;
    banyan_status status = banyan_contract(graph, price, merge, &joined, err);

    banyan_flows_init(&small);
    if (!status && joined.graph && joined.graph->active_count > 1)
        status = banyan_forest_small(joined.graph, options, &small, &rate, err);
    rate /= graph->unit;
    for (int pieces = 0; !status && pieces < 2 && small.flow_count && reached < GOOD * rate; pieces++) {
        banyan_flows laid;

        if (pieces && small.flow_count * 2 > (size_t)most)
            break;
        banyan_flows_init(&laid);
        status =
            banyan_forest_lift(graph, &joined, &small, rate, pieces ? most : 1, full, &laid, &reached, err);
        if (!status && reached > *found) {
            banyan_flows before = *flows;

            *flows = laid;
            laid = before;
            *found = reached;
        }
        banyan_flows_fini(&laid);
    }
    banyan_flows_fini(&small);
    banyan_contraction_fini(&joined);
    return status;
}

/* Cables that turn out to be too full, though they have no price, are not free the next time. */
banyan_status banyan_forest_join(const banyan_graph *graph, const banyan_forest_options *options,
                                 const banyan_allreduce_bound *bound, banyan_flows *flows, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    int64_t *price = banyan_alloc(arcs, sizeof *price);
    unsigned char *full = banyan_alloc(arcs, 1);
    double found = 0;
    banyan_status status = price && full ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status)
        memcpy(price, bound->price, arcs * sizeof *price);
    for (int round = 0, again = 1;
         !status && again && round < (graph->active_count > BANYAN_MANY_WORKERS ? ROUNDS : 1) &&
         found < BANYAN_TARGET_SHARE * bound->value;
         round++) {
        memset(full, 0, arcs);
        status = try_joined(graph, options, price, round == 0, full, flows, &found, err);
        again = round == 0;
        for (size_t i = 0; i < arcs; i++)
            if (full[i]) {
                price[i] = 1;
                again = 1;
            }
    }
    banyan_free(price);
    banyan_free(full);
    return status;
}
