/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/tree_oracle.c: one door to the ways of finding a cheapest tree, solve/oracle/spanning.h,
 * solve/oracle/steiner.h and solve/oracle/steiner_heuristic.h, and the search for it,
 * solve/oracle/branch_and_bound.h. */
#include "solve/oracle/tree_oracle.h"

#include "core/alloc.h"
#include "solve/oracle/branch_and_bound.h"
#include "solve/oracle/spanning.h"
#include "solve/oracle/steiner.h"
#include "solve/oracle/steiner_heuristic.h"

struct banyan_oracle {
    banyan_spanning *spanning;         /* NULL: Steiner trees */
    banyan_steiner_heuristic *helpers; /* NULL: with nodes that only forward */
    banyan_closure closure;
    banyan_steiner *steiner;
    banyan_branch_and_bound *exhaust; /* NULL: not allowed */
    banyan_trees found;
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
        if (!status && graph->symmetric)
            banyan_steiner_take_undirected(oracle->steiner);
        if (!status && !banyan_graph_has_forwarders(graph))
            status = banyan_steiner_heuristic_create(graph, &oracle->helpers, err);
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
    banyan_steiner_heuristic_destroy(oracle->helpers);
    banyan_steiner_destroy(oracle->steiner);
    banyan_closure_fini(&oracle->closure);
    banyan_branch_and_bound_destroy(oracle->exhaust);
    banyan_trees_fini(&oracle->found);
    banyan_free(oracle);
}

int64_t banyan_oracle_tree(void *context, const int64_t *cost, banyan_trees *trees)
{
    banyan_oracle *oracle = context;

    if (oracle->spanning)
        return banyan_spanning_tree(oracle->spanning, NULL, cost, trees);
    if (oracle->helpers && !banyan_steiner_is_exact(oracle->steiner))
        return banyan_steiner_heuristic_tree(oracle->helpers, cost, trees);
    banyan_closure_measure(&oracle->closure, cost);
    banyan_steiner_prepare(oracle->steiner, 0);
    return banyan_steiner_tree(oracle->steiner, oracle->closure.index[oracle->closure.graph->active[0]],
                               trees);
}

banyan_status banyan_oracle_allow_search(banyan_oracle *oracle, int effort, banyan_error *err)
{
    return banyan_branch_and_bound_create(oracle->closure.graph, effort, &oracle->exhaust, err);
}

int64_t banyan_oracle_search(void *context, const int64_t *cost, banyan_trees *trees)
{
    banyan_oracle *oracle = context;
    int64_t least = banyan_oracle_tree(oracle, cost, trees);

    if (least < 0)
        return least;
    least = banyan_branch_and_bound_search(oracle->exhaust, cost, least, &oracle->found);
    if (oracle->found.tree_count) {
        banyan_trees_drop_last(trees);
        banyan_trees_copy(trees, &oracle->found, 0);
        banyan_trees_drop_last(&oracle->found);
    }
    trees->failed |= oracle->found.failed;
    return least;
}

struct banyan_rooted_oracle {
    banyan_closure closure;
    banyan_steiner *steiner;
    int *root; /* indices of the closure */
    int root_count;
};

banyan_status banyan_rooted_oracle_create(const banyan_graph *graph, int root, banyan_rooted_oracle **out,
                                          banyan_error *err)
{
    const unsigned both = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    banyan_rooted_oracle *oracle = banyan_alloc(1, sizeof *oracle);
    banyan_status status;

    *out = NULL;
    if (!oracle)
        return banyan_fail_memory(err);
    oracle->root = banyan_alloc((size_t)graph->node_count, sizeof *oracle->root);
    status = oracle->root ? banyan_closure_init(&oracle->closure, graph, BANYAN_NODE_COPIES, err)
                          : banyan_fail_memory(err);
    if (!status)
        status = banyan_steiner_create(&oracle->closure, &oracle->steiner, err);
    if (!status)
        status = banyan_steiner_free_root(oracle->steiner, err);
    if (status) {
        banyan_rooted_oracle_destroy(oracle);
        return status;
    }
    for (int v = 0; v < graph->node_count; v++)
        if (root < 0 ? (graph->role[v] & both) == both : v == root)
            oracle->root[oracle->root_count++] = oracle->closure.index[v];
    *out = oracle;
    return BANYAN_SUCCESS;
}

void banyan_rooted_oracle_destroy(banyan_rooted_oracle *oracle)
{
    if (!oracle)
        return;
    banyan_steiner_destroy(oracle->steiner);
    banyan_closure_fini(&oracle->closure);
    banyan_free(oracle->root);
    banyan_free(oracle);
}

int banyan_rooted_oracle_is_exact(const banyan_rooted_oracle *oracle)
{
    return banyan_steiner_is_exact(oracle->steiner);
}

int64_t banyan_rooted_oracle_tree(void *context, const int64_t *cost, banyan_trees *trees)
{
    banyan_rooted_oracle *oracle = context;

    banyan_closure_measure(&oracle->closure, cost);
    banyan_steiner_prepare(oracle->steiner, 0);
    return banyan_steiner_best_tree(oracle->steiner, oracle->root, oracle->root_count, trees);
}
