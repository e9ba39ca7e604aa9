/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/near_cuts.c: all pairs cabled, widths by chance, some nodes idle: prices of many cuts at once
 * still prove what they should, and few trees of weights that fall come near to the bound. */
#include "test.h"

#include "bound/allreduce.h"
#include "core/alloc.h"
#include "core/random.h"
#include "solve/cut/near_minimum_cuts.h"
#include "solve/oracle/steiner_heuristic.h"
#include "solve/start/geometric_trees.h"

#define NODES 20
#define ARCS (NODES * (NODES - 1))

static banyan_graph *make_full(banyan_random *random, int active)
{
    int src[ARCS], dst[ARCS], count = 0;
    unsigned char role[NODES];
    double capacity[ARCS];
    banyan_graph_input input = {NODES, role, ARCS, src, dst, capacity, NULL};
    banyan_graph *graph;

    for (int v = 0; v < NODES; v++)
        role[v] =
            (unsigned char)(BANYAN_NODE_ADDS | BANYAN_NODE_COPIES | (v < active ? BANYAN_NODE_ACTIVE : 0));
    for (int a = 0; a < NODES; a++)
        for (int b = a + 1; b < NODES; b++) {
            src[count] = dst[count + 1] = a;
            dst[count] = src[count + 1] = b;
            capacity[count] = capacity[count + 1] = 100 + banyan_random_below(random, 900);
            count += 2;
        }
    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    return graph;
}

static int64_t find_tree(void *helpers, const int64_t *cost, banyan_trees *trees)
{
    return banyan_steiner_heuristic_tree(helpers, cost, trees);
}

/* No tree, cheap or not, costs less than 1. */
static void check_prices(const banyan_graph *graph, const banyan_allreduce_bound *bound,
                         banyan_steiner_heuristic *helpers)
{
    double left[ARCS], mixed[ARCS], proven;
    int64_t cost[ARCS];
    banyan_near_minimum_cuts *cuts;
    banyan_trees trees;

    assert_int_equal(banyan_near_minimum_cuts_create(graph, bound->price, bound->value, &cuts, NULL),
                     BANYAN_SUCCESS);
    for (int i = 0; i < ARCS; i++)
        left[i] = (double)graph->arcs[i].capacity;
    proven = banyan_near_minimum_cuts_mix(cuts, left, bound->value, mixed);
    assert_true(proven >= bound->value * (1 - 1e-9) && proven < 1.1 * bound->value);
    for (int i = 0; i < ARCS; i++)
        cost[i] = (int64_t)((mixed[i] + mixed[graph->arcs[i].twin]) * 1e9);
    banyan_trees_init(&trees);
    assert_true(banyan_steiner_heuristic_tree(helpers, cost, &trees) >= 999999000);
    banyan_trees_fini(&trees);
    banyan_near_minimum_cuts_destroy(cuts);
}

TEST(few_trees_fill_cables_between_all_pairs_where_idle_nodes_help)
{
    static const int active[] = {18, 14, 10};

    for (int i = 0; i < 3; i++) {
        banyan_random random = {(uint64_t)i + 1};
        banyan_graph *graph = make_full(&random, active[i]);
        banyan_allreduce_bound bound = {.price = banyan_alloc(ARCS, sizeof(int64_t))};
        banyan_unit_weights_problem problem = {.enough = 0.9997, .tree_limit = 64, .oracle = find_tree};
        double *weight, total, load[ARCS] = {0};
        banyan_steiner_heuristic *helpers;
        banyan_trees trees;

        assert_int_equal(banyan_allreduce_solve(graph, &bound, NULL), BANYAN_SUCCESS);
        assert_int_equal(banyan_steiner_heuristic_create(graph, &helpers, NULL), BANYAN_SUCCESS);
        check_prices(graph, &bound, helpers);
        problem.price = bound.price;
        problem.bound = bound.value;
        problem.context = helpers;
        banyan_trees_init(&trees);
        assert_int_equal(banyan_geometric_trees_pack(graph, &problem, &trees, &weight, &total, NULL),
                         BANYAN_SUCCESS);
        assert_true(trees.tree_count <= 64);
        if (total < 0.99 * bound.value)
            fail_msg("%d active: %g of %g", active[i], total, bound.value);
        for (size_t t = 0; t < trees.tree_count; t++)
            for (size_t a = banyan_trees_arcs_begin(&trees, t); a < banyan_trees_arcs_close(&trees, t); a++)
                load[banyan_graph_cable(graph, trees.arcs[a])] += weight[t];
        for (int a = 0; a < ARCS; a++)
            assert_true(load[a] <= (double)graph->arcs[a].capacity * (1 + 1e-9));
        banyan_trees_fini(&trees);
        banyan_free(weight);
        banyan_steiner_heuristic_destroy(helpers);
        banyan_free(bound.price);
        banyan_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_trees_fill_cables_between_all_pairs_where_idle_nodes_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
