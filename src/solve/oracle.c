/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle.c: one door to the two ways of finding a cheapest tree, solve/spanning.h and solve/steiner.h. */
#include "solve/oracle.h"

#include "core/alloc.h"
#include "solve/spanning.h"
#include "solve/steiner.h"

struct banyan_oracle {
    banyan_spanning *spanning; /* NULL: Steiner trees */
    banyan_closure closure;
    banyan_steiner *steiner;
};

banyan_status banyan_oracle_create(const banyan_graph *graph, banyan_oracle **out, banyan_error *err)
{
    banyan_oracle *oracle = banyan_alloc(1, sizeof *oracle);
    banyan_status status;

    *out = NULL;
    if (!oracle)
        return banyan_fail_memory(err);
    if (banyan_graph_has_idle_adders(graph)) {
        status = banyan_closure_init(&oracle->closure, graph, BANYAN_NODE_ADDS, err);
        if (!status)
            status = banyan_steiner_create(&oracle->closure, &oracle->steiner, err);
    } else {
        status = banyan_spanning_create(graph, &oracle->spanning, err);
    }
    if (status)
        banyan_oracle_destroy(oracle);
    else
        *out = oracle;
    return status;
}

void banyan_oracle_destroy(banyan_oracle *oracle)
{
    if (!oracle)
        return;
    banyan_spanning_destroy(oracle->spanning);
    banyan_steiner_destroy(oracle->steiner);
    banyan_closure_fini(&oracle->closure);
    banyan_free(oracle);
}

int banyan_oracle_is_exact(const banyan_oracle *oracle)
{
    return oracle->spanning || banyan_steiner_is_exact(oracle->steiner);
}

int64_t banyan_oracle_tree(void *context, const int64_t *cost, banyan_trees *trees)
{
    banyan_oracle *oracle = context;

    if (oracle->spanning)
        return banyan_spanning_tree(oracle->spanning, NULL, cost, trees);
    banyan_closure_measure(&oracle->closure, cost);
    banyan_steiner_prepare(oracle->steiner, 0);
    return banyan_steiner_tree(oracle->steiner, oracle->closure.index[oracle->closure.graph->active[0]],
                               trees);
}
