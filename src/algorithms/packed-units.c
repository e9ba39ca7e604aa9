/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/packed-units.c: where the best packing has more trees than are allowed, trees of whole units, found for
 * that number from the beginning, lose less than the heaviest of the packing do. */
#include "algorithms/packed-parts.h"
#include "core/alloc.h"
#include "solve/units.h"
#include "solve/weighing.h"

#define ENOUGH 0.9905  /* of the bound, */
#define ROUNDS 24      /* after so many at most; */
#define MANY_ARCS 2000 /* nothing else is found in good time for so many, so that less will do, */
#define LEAST 0.5      /* down to this */

/* Other weights than whole units may reach more. */
static banyan_status weigh_and_take(const banyan_graph *graph, const banyan_trees *trees, double enough,
                                    banyan_flows *flows, int *good, banyan_error *err)
{
    banyan_weighing *weighing;
    double total = 0;
    banyan_status status = banyan_weighing_create(graph, trees, &weighing, err);

    if (!status)
        status = banyan_weighing_solve(weighing, &total, err);
    *good = !status && total >= enough;
    for (size_t t = 0; *good && t < trees->tree_count; t++)
        if (banyan_weighing_weight(weighing, t) > 1e-9 * total)
            banyan_flows_add_tree(flows, graph, trees, t, -1, banyan_weighing_weight(weighing, t));
    banyan_weighing_destroy(weighing);
    return status;
}

banyan_status banyan_packed_units(const banyan_graph *graph, const int64_t *price, double bound,
                                  const banyan_packed_options *options, banyan_tree_oracle oracle,
                                  void *context, banyan_flows *flows, int *good, banyan_error *err)
{
    banyan_units_problem problem = {.price = price,
                                    .bound = bound,
                                    .enough = ENOUGH,
                                    .tree_limit = options->max_trees,
                                    .round_limit = ROUNDS,
                                    .oracle = oracle,
                                    .context = context};
    double *weight = NULL;
    banyan_trees trees;
    banyan_status status;

    banyan_trees_init(&trees);
    status = banyan_units_pack(graph, &problem, &trees, &weight, good, err);
    if (!status && (*good || (graph->arc_count > MANY_ARCS && trees.tree_count > 0)))
        status = weigh_and_take(graph, &trees, (*good ? 0.99 : LEAST) * bound, flows, good, err);
    banyan_trees_fini(&trees);
    banyan_free(weight);
    return status;
}
