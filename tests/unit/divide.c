/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/divide.c: links unlike in the two directions: prices and trees that meet prove each other. */
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "core/random.h"
#include "solve/cut/split.h"
#include "solve/pack/pair_columns.h"
#include "solve/round/branch_moves.h"
#include "solve/round/rebalance.h"
#include "solve/round/subtree_moves.h"
#include "solve/start/grown_pairs.h"
#include "solve/start/pair_tools.h"

#define NODES 12
#define MOST 128

/* A ring both ways, so that everybody reaches everybody, and chords one way; the last nodes only forward. */
static banyan_graph *random_switched(banyan_random *random, int nodes, int forwarders)
{
    int src[MOST], dst[MOST], count = 0;
    unsigned char role[NODES];
    double capacity[MOST];
    banyan_graph_input input = {nodes, role, 0, src, dst, capacity, NULL};
    banyan_graph *graph;

    for (int v = 0; v < nodes; v++)
        role[v] = v < nodes - forwarders ? BANYAN_NODE_ACTIVE : 0;
    for (int v = 0; v < nodes; v++)
        for (int back = 0; back < 2; back++) {
            src[count] = back ? (v + 1) % nodes : v;
            dst[count] = back ? v : (v + 1) % nodes;
            capacity[count++] = 1 + banyan_random_below(random, 6);
        }
    for (int i = 0; i < 2 * nodes; i++) {
        src[count] = banyan_random_below(random, nodes);
        dst[count] = banyan_random_below(random, nodes);
        capacity[count] = 1 + banyan_random_below(random, 6);
        count += src[count] != dst[count];
    }
    input.arc_count = count;
    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    return graph;
}

static banyan_graph *random_graph(banyan_random *random, int nodes)
{
    return random_switched(random, nodes, 0);
}

/* Every node but the root has one parent, the root is above all; the deepest node's hops. */
static int depth_of(const banyan_graph *graph, const banyan_trees *trees, size_t tree, int root, int towards)
{
    int parent[NODES], deepest = 0;

    for (int v = 0; v < graph->node_count; v++)
        parent[v] = -1;
    for (size_t e = trees->first_edge[tree]; e < banyan_trees_edges_end(trees, tree); e++) {
        int child = towards ? trees->edges[e].src : trees->edges[e].dst;

        assert_int_equal(parent[child], -1);
        parent[child] = towards ? trees->edges[e].dst : trees->edges[e].src;
    }
    for (int i = 0; i < graph->active_count; i++) {
        int depth = 0, u = graph->active[i];

        for (; parent[u] >= 0 && depth <= graph->node_count; u = parent[u])
            depth++;
        assert_int_equal(u, root);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

/* What arcs bear stays within their capacities, and as much goes out of every root as came in; the deepest
 * tree. */
static int check_packing(const banyan_graph *graph, const banyan_pair_packing *packing, uint64_t seed)
{
    double load[MOST] = {0}, in[NODES] = {0}, out[NODES] = {0}, total = 0;
    int deepest = 0;

    for (size_t t = 0; t < packing->trees.tree_count; t++) {
        int towards = packing->kind[t] == BANYAN_TREE_IN, root = packing->root[t];
        int depth = depth_of(graph, &packing->trees, t, root, towards);

        deepest = packing->weight[t] > 1e-9 && depth > deepest ? depth : deepest;
        for (size_t a = banyan_trees_arcs_begin(&packing->trees, t);
             a < banyan_trees_arcs_close(&packing->trees, t); a++)
            load[packing->trees.arcs[a]] += packing->weight[t];
        (towards ? in : out)[root] += packing->weight[t];
    }
    for (int v = 0; v < graph->node_count; v++)
        total += fmin(in[v], out[v]);
    for (int i = 0; i < graph->arc_count; i++)
        if (load[i] > (double)graph->arcs[i].capacity * (1 + 1e-6))
            fail_msg("seed %d: arc %d bears %g of %g", (int)seed, i, load[i],
                     (double)graph->arcs[i].capacity);
    if (total < packing->total * (1 - 1e-4))
        fail_msg("seed %d: trees weigh %.9g, not %.9g", (int)seed, total, packing->total);
    return deepest;
}

static double proven_by(const banyan_graph *graph, const int64_t *price)
{
    banyan_wide num, den;
    int proven;

    assert_int_equal(banyan_pair_prices_check(graph, price, &num, &den, &proven, NULL), BANYAN_SUCCESS);
    assert_true(proven && den > 0);
    return (double)num / (double)den;
}

TEST(prices_prove_what_the_division_reaches_with_and_without_forwarders)
{
    for (uint64_t seed = 1; seed <= 120; seed++) {
        banyan_random random = {seed};
        int nodes = 4 + (int)(seed % (NODES - 3)),
            forwarders = seed <= 60 ? 0 : 1 + (int)(seed % 3) * (nodes - 2) / 3;
        banyan_graph *graph = random_switched(&random, nodes, forwarders);
        banyan_split division;
        double bound;

        assert_int_equal(banyan_split_find(graph, 1e-10, &division, NULL), BANYAN_SUCCESS);
        bound = proven_by(graph, division.price);
        if (fabs(bound - division.bound_value) > 1e-9 * bound || fabs(division.total - bound) > 1e-6 * bound)
            fail_msg("seed %d: reaches %.9g, prices prove %.9g, said to be %.9g", (int)seed, division.total,
                     bound, division.bound_value);
        banyan_split_fini(&division);
        banyan_graph_destroy(graph);
    }
}

static banyan_pair_packing grow(const banyan_graph *graph, int pairs, int depth_limit)
{
    banyan_pair_packing packing = {0};
    banyan_grown_pairs_problem problem = {.pair_limit = pairs, .depth_limit = depth_limit};
    banyan_split division;

    assert_int_equal(banyan_split_find(graph, 1e-9, &division, NULL), BANYAN_SUCCESS);
    packing.bound_value = division.bound_value;
    problem.price = division.price;
    problem.root = division.root;
    assert_int_equal(banyan_grown_pairs_find(graph, &problem, &packing, NULL), BANYAN_SUCCESS);
    banyan_split_fini(&division);
    return packing;
}

/* Their weights come to the bound, and rebalancing brings them near to it. */
TEST(grown_pairs_rebalance_to_near_the_bound)
{
    double sum = 0;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        banyan_random random = {seed};
        banyan_graph *graph = random_switched(&random, NODES, seed <= 40 ? 0 : 4);
        banyan_pair_packing packing = grow(graph, 64, 0);
        banyan_rebalance_problem problem = {
            .aim = packing.bound_value, .enough = packing.bound_value, .turn_limit = 30, .more_hops = NODES};

        assert_true(fabs(packing.total / packing.bound_value - 1) < 1e-9);
        assert_int_equal(packing.trees.tree_count, 128);
        assert_int_equal(banyan_rebalance_packing(graph, &problem, &packing, NULL), BANYAN_SUCCESS);
        check_packing(graph, &packing, seed);
        sum += packing.total / packing.bound_value;
        banyan_pair_packing_fini(&packing);
        banyan_graph_destroy(graph);
    }
    if (sum < 0.98 * 60)
        fail_msg("%.4f of the bound on average", sum / 60);
}

static int deepest_of(const banyan_graph *graph, const banyan_pair_packing *packing)
{
    int above[64];

    return banyan_pair_tools_depth(graph, &packing->trees, above);
}

TEST(grown_pairs_keep_to_a_depth)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        banyan_random random = {seed};
        banyan_graph *graph = random_switched(&random, NODES, seed <= 40 ? 0 : 4);
        banyan_pair_packing packing = grow(graph, 16, 4);

        if (deepest_of(graph, &packing) > 4)
            fail_msg("seed %d: %d hops", (int)seed, deepest_of(graph, &packing));
        banyan_pair_packing_fini(&packing);
        banyan_graph_destroy(graph);
    }
}

/* Two independent ways to the best rate: cuts that divide the arcs, and trees one by one. */
TEST(cuts_and_columns_agree_behind_forwarders)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        banyan_random random = {seed};
        banyan_graph *graph = random_switched(&random, NODES, 2 + (int)(seed % 6));
        banyan_pair_packing_problem problem = {
            .stages = BANYAN_STAGES_PIPELINED, .tolerance = 1e-9, .round_limit = 1000};
        banyan_pair_packing by_columns;
        banyan_split by_cuts;

        assert_int_equal(banyan_split_find(graph, 1e-9, &by_cuts, NULL), BANYAN_SUCCESS);
        assert_int_equal(banyan_pair_packing_by_columns(graph, &problem, NULL, &by_columns, NULL),
                         BANYAN_SUCCESS);
        if (fabs(by_cuts.bound_value - by_columns.total) > 1e-6 * by_columns.total)
            fail_msg("seed %d: cuts say %.9g, trees weigh %.9g", (int)seed, by_cuts.bound_value,
                     by_columns.total);
        banyan_split_fini(&by_cuts);
        banyan_pair_packing_fini(&by_columns);
        banyan_graph_destroy(graph);
    }
}

/* One heavy tree and two light ones on two ways between two nodes: none is over when the light ones go
 * together. */
TEST(trees_of_unlike_weight_share_the_arcs_by_what_they_weigh)
{
    const int src[] = {0, 0, 1, 1}, dst[] = {1, 1, 0, 0}, root[] = {0, 0, 0, 0, 0, 0};
    const double capacity[] = {2, 2, 2, 2}, limit[] = {2, 2, 2, 2}, weight[] = {2, 2, 1, 1, 1, 1};
    unsigned char role[] = {1, 1};
    banyan_graph_input input = {2, role, 4, src, dst, capacity, NULL};
    banyan_subtree_moves_problem problem = {
        .root = root, .limit = limit, .depth_limit = 1, .attempt_limit = 1000, .weight = weight};
    banyan_graph *graph;
    banyan_trees trees;
    double fullest;

    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    banyan_trees_init(&trees);
    for (int t = 0; t < 6; t++) {
        banyan_trees_begin(&trees);
        banyan_trees_add_edge(&trees, t % 2 ? 0 : 1, t % 2 ? 1 : 0);
        banyan_trees_add_arc(&trees, t % 2 ? 0 : 2);
    }
    assert_int_equal(banyan_subtree_moves(graph, &problem, &trees, &fullest, NULL), BANYAN_SUCCESS);
    assert_true(fullest <= 1);
    banyan_trees_fini(&trees);
    banyan_graph_destroy(graph);
}

/* Out-trees from node 0 all over one of two ways around a ring; in-trees over the other one. */
TEST(trees_hung_anew_share_the_arcs_evenly)
{
    const int src[] = {0, 1, 2, 1, 2, 0}, dst[] = {1, 2, 0, 0, 1, 2}, root[] = {0, 0, 0, 0};
    const double capacity[] = {1, 1, 1, 1, 1, 1}, limit[] = {2, 1, 1, 2, 1, 2};
    unsigned char role[] = {1, 1, 1};
    banyan_graph_input input = {3, role, 6, src, dst, capacity, NULL};
    banyan_subtree_moves_problem problem = {
        .root = root, .limit = limit, .depth_limit = 2, .attempt_limit = 1000};
    banyan_graph *graph;
    banyan_trees trees;
    double fullest;

    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    banyan_trees_init(&trees);
    for (int t = 0; t < 4; t++) {
        banyan_trees_begin(&trees);
        banyan_trees_add_edge(&trees, t % 2 ? 0 : 1, t % 2 ? 1 : 0);
        banyan_trees_add_arc(&trees, t % 2 ? 0 : 3);
        banyan_trees_add_edge(&trees, t % 2 ? 1 : 2, t % 2 ? 2 : 1);
        banyan_trees_add_arc(&trees, t % 2 ? 1 : 4);
    }
    assert_int_equal(banyan_subtree_moves(graph, &problem, &trees, &fullest, NULL), BANYAN_SUCCESS);
    assert_true(fullest <= 1);
    for (size_t t = 0; t < 4; t++)
        assert_true(depth_of(graph, &trees, t, 0, t % 2 == 0) <= 2);
    banyan_trees_fini(&trees);
    banyan_graph_destroy(graph);
}

/* Two pairs, all trees one line of nodes from the root, over cables that do not bear so many; a cable is two
 * nodes and a limit. */
static void check_grafted(const unsigned char *role, int nodes, const int (*cable)[3], int cables,
                          const int *line, int length)
{
    int src[8], dst[8], root[] = {line[0], line[0], line[0], line[0]};
    double capacity[8], limit[8], fullest;
    banyan_graph_input input = {nodes, role, 2 * cables, src, dst, capacity, NULL};
    banyan_subtree_moves_problem problem = {.root = root, .limit = limit, .depth_limit = nodes};
    banyan_graph *graph;
    banyan_trees trees;

    for (int i = 0; i < 2 * cables; i++) {
        src[i] = cable[i / 2][i % 2];
        dst[i] = cable[i / 2][1 - i % 2];
        capacity[i] = limit[i] = cable[i / 2][2];
    }
    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    banyan_trees_init(&trees);
    for (int t = 0; t < 4; t++) {
        banyan_trees_begin(&trees);
        for (int i = 0; i + 1 < length; i++) {
            int from = t % 2 ? line[i] : line[i + 1], to = t % 2 ? line[i + 1] : line[i], arc = 0;

            while (src[arc] != from || dst[arc] != to)
                arc++;
            banyan_trees_add_edge(&trees, from, to);
            banyan_trees_add_arc(&trees, arc);
        }
    }
    assert_int_equal(banyan_branch_moves(graph, &problem, &trees, &fullest, NULL), BANYAN_SUCCESS);
    assert_true(fullest <= 1);
    banyan_trees_fini(&trees);
    banyan_graph_destroy(graph);
}

TEST(idle_nodes_join_trees_and_leave_them_with_the_branch_that_they_serve)
{
    const unsigned char role[] = {1, 6, 1, 6}; /* idle ones add and copy */
    const int cable[][3] = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 0, 1}}, line[] = {0, 1, 2};

    check_grafted(role, 4, cable, 4, line, 3);
}

TEST(a_branch_may_turn_round_to_be_joined_by_another_of_its_nodes)
{
    const unsigned char role[] = {1, 1, 1};
    const int cable[][3] = {{0, 1, 1}, {1, 2, 2}, {2, 0, 1}}, line[] = {0, 1, 2};

    check_grafted(role, 3, cable, 3, line, 3);
}

/* Node 2 hangs on 1 in the pair of weight 3, and on 0 in that of weight 2; its arcs bear just the other way
 * round, so neither can move alone. */
TEST(trees_of_unlike_weight_swap_arcs_where_neither_could_move)
{
    const unsigned char role[] = {1, 1, 1};
    const int src[] = {1, 0, 2, 1, 2, 0}, dst[] = {0, 1, 1, 2, 0, 2}, root[] = {0, 0, 0, 0};
    const double capacity[] = {9, 9, 2, 2, 3, 3}, weight[] = {3, 3, 2, 2};
    banyan_graph_input input = {3, role, 6, src, dst, capacity, NULL};
    banyan_subtree_moves_problem problem = {
        .root = root, .limit = capacity, .depth_limit = 2, .weight = weight, .is_firm = 1};
    banyan_graph *graph;
    banyan_trees trees;
    double fullest;

    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    banyan_trees_init(&trees);
    for (int t = 0; t < 4; t++) {
        const int arcs[] = {t % 2, 2 + t % 2 + (t < 2 ? 0 : 2)};

        banyan_trees_begin(&trees);
        for (int i = 0; i < 2; i++) {
            banyan_trees_add_edge(&trees, src[arcs[i]], dst[arcs[i]]);
            banyan_trees_add_arc(&trees, arcs[i]);
        }
    }
    assert_int_equal(banyan_branch_moves(graph, &problem, &trees, &fullest, NULL), BANYAN_SUCCESS);
    assert_true(fullest <= 1);
    banyan_trees_fini(&trees);
    banyan_graph_destroy(graph);
}

TEST(each_allocation_of_grown_pairs_may_fail)
{
    banyan_random random = {7};
    banyan_graph *graph = random_graph(&random, 6);
    banyan_split division;

    assert_int_equal(banyan_split_find(graph, 1e-9, &division, NULL), BANYAN_SUCCESS);
    for (int depth = 0; depth < 3; depth += 2) {
        banyan_grown_pairs_problem problem = {
            .price = division.price, .root = division.root, .pair_limit = 4, .depth_limit = depth};
        banyan_status status = BANYAN_INTERNAL_ERROR;

        for (long calls = 0; status; calls++) {
            banyan_pair_packing packing = {.bound_value = division.bound_value};

            banyan_alloc_fail_after(calls);
            status = banyan_grown_pairs_find(graph, &problem, &packing, NULL);
            banyan_alloc_fail_after(-1);
            assert_true(status == BANYAN_SUCCESS || status == BANYAN_SYSTEM_ERROR);
            banyan_pair_packing_fini(&packing);
        }
    }
    banyan_split_fini(&division);
    banyan_graph_destroy(graph);
}

TEST(each_allocation_of_a_division_may_fail)
{
    banyan_random random = {8};
    banyan_graph *graph = random_graph(&random, 6);
    banyan_status status = BANYAN_INTERNAL_ERROR;
    banyan_split division;

    for (long calls = 0; status; calls++) {
        banyan_alloc_fail_after(calls);
        status = banyan_split_find(graph, 1e-10, &division, NULL);
        banyan_alloc_fail_after(-1);
    }
    banyan_split_fini(&division);
    banyan_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_prove_what_the_division_reaches_with_and_without_forwarders),
        cmocka_unit_test(cuts_and_columns_agree_behind_forwarders),
        cmocka_unit_test(trees_of_unlike_weight_share_the_arcs_by_what_they_weigh),
        cmocka_unit_test(trees_hung_anew_share_the_arcs_evenly),
        cmocka_unit_test(idle_nodes_join_trees_and_leave_them_with_the_branch_that_they_serve),
        cmocka_unit_test(a_branch_may_turn_round_to_be_joined_by_another_of_its_nodes),
        cmocka_unit_test(trees_of_unlike_weight_swap_arcs_where_neither_could_move),
        cmocka_unit_test(grown_pairs_rebalance_to_near_the_bound),
        cmocka_unit_test(grown_pairs_keep_to_a_depth),
        cmocka_unit_test(each_allocation_of_grown_pairs_may_fail),
        cmocka_unit_test(each_allocation_of_a_division_may_fail),
    };

    return cmocka_run_group_tests_name("divide", tests, NULL, NULL);
}
