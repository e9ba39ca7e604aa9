/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/fitted.c: trees of weights that fall from one to the next fill cables of all widths. */
#include "test.h"

#include "bound/allreduce.h"
#include "core/alloc.h"
#include "core/random.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/start/geometric_trees.h"

enum { MOST_NODES = 64 };

typedef struct {
    banyan_graph *graph;
    banyan_allreduce_bound bound;
    banyan_oracle *oracle;
} network;

/* Cables between all workers, or from each worker to two of some switches and between all of these; widths as
 * chance has it. */
static network open_network(int workers, int switches, int seed)
{
    int src[2 * MOST_NODES * MOST_NODES], dst[2 * MOST_NODES * MOST_NODES], nodes = workers + switches;
    double capacity[2 * MOST_NODES * MOST_NODES];
    unsigned char role[MOST_NODES];
    banyan_graph_input input = {nodes, role, 0, src, dst, capacity, NULL};
    banyan_random random = {(uint64_t)seed};
    network n = {.bound = {.price = NULL}};

    for (int a = 0; a < nodes; a++) {
        role[a] = a < workers ? BANYAN_NODE_ACTIVE : 0;
        for (int b = 0; b < a; b++) {
            double width = 1 + 9 * banyan_random_unit(&random);

            if (switches && b < workers && (a < workers || (a + b) % switches > 1))
                continue;
            for (int back = 0; back < 2; back++) {
                src[input.arc_count] = back ? b : a;
                dst[input.arc_count] = back ? a : b;
                capacity[input.arc_count++] = width;
            }
        }
    }
    assert_int_equal(banyan_graph_create(&input, &n.graph, NULL), BANYAN_SUCCESS);
    n.bound.price = banyan_alloc((size_t)n.graph->arc_count, sizeof(int64_t));
    assert_int_equal(banyan_allreduce_solve(n.graph, &n.bound, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_oracle_create(n.graph, &n.oracle, NULL), BANYAN_SUCCESS);
    return n;
}

static void close_network(network *n)
{
    banyan_oracle_destroy(n->oracle);
    banyan_free(n->bound.price);
    banyan_graph_destroy(n->graph);
}

static banyan_unit_weights_problem problem_of(const network *n, int tree_limit)
{
    return (banyan_unit_weights_problem){.price = n->bound.price,
                                         .bound = n->bound.value,
                                         .enough = 0.995,
                                         .tree_limit = tree_limit,
                                         .round_limit = 9,
                                         .oracle = banyan_oracle_tree,
                                         .context = n->oracle};
}

static double fullest_cable(const banyan_graph *graph, const banyan_trees *trees, const double *weight)
{
    double *load = banyan_alloc((size_t)graph->arc_count, sizeof *load), fullest = 0;

    for (size_t t = 0; t < trees->tree_count; t++)
        for (size_t a = banyan_trees_arcs_begin(trees, t); a < banyan_trees_arcs_close(trees, t); a++)
            load[banyan_graph_cable(graph, trees->arcs[a])] += weight[t];
    for (int i = 0; i < graph->arc_count; i++)
        if (load[i] > fullest * (double)graph->arcs[i].capacity)
            fullest = load[i] / (double)graph->arcs[i].capacity;
    banyan_free(load);
    return fullest;
}

static void check_network(int workers, int switches, int seed, double wanted)
{
    network n = open_network(workers, switches, seed);
    banyan_unit_weights_problem problem = problem_of(&n, 64);
    double *weight = NULL, total, sum = 0;
    banyan_trees trees;

    banyan_trees_init(&trees);
    assert_int_equal(banyan_geometric_trees_pack(n.graph, &problem, &trees, &weight, &total, NULL),
                     BANYAN_SUCCESS);
    for (size_t t = 0; t < trees.tree_count; t++) {
        assert_true(banyan_trees_edges_end(&trees, t) - trees.first_edge[t] == (size_t)workers - 1);
        sum += weight[t];
    }
    if (trees.tree_count > 64 || total < wanted * n.bound.value || total > sum * (1 + 1e-9) ||
        fullest_cable(n.graph, &trees, weight) > 1 + 1e-6)
        fail_msg("seed %d, %d workers, %d switches: %zu trees reach %.4f of the bound, the fullest cable "
                 "bears %.4f",
                 seed, workers, switches, trees.tree_count, total / n.bound.value,
                 fullest_cable(n.graph, &trees, weight));
    banyan_trees_fini(&trees);
    banyan_free(weight);
    close_network(&n);
}

TEST(weights_that_fall_fill_more_cables_than_trees_could_use_twice)
{
    for (int seed = 1; seed <= 3; seed++) {
        check_network(16, 0, seed, 0.994);
        check_network(32, 0, seed, 0.994);
        check_network(48, 0, seed, 0.99);
    }
}

static double total_of(int workers, double least_width, int seed)
{
    network n = open_network(workers, 0, seed);
    banyan_unit_weights_problem problem;
    double *weight = NULL, total, share;
    banyan_trees trees;

    for (int i = 0; i < n.graph->arc_count; i++) /* two widths only */
        n.graph->arcs[i].capacity = (double)n.graph->arcs[i].capacity * n.graph->unit < least_width ? 1 : 2;
    n.graph->unit = 1;
    assert_int_equal(banyan_allreduce_solve(n.graph, &n.bound, NULL), BANYAN_SUCCESS);
    problem = problem_of(&n, 64);
    banyan_trees_init(&trees);
    assert_int_equal(banyan_geometric_trees_pack(n.graph, &problem, &trees, &weight, &total, NULL),
                     BANYAN_SUCCESS);
    assert_true(fullest_cable(n.graph, &trees, weight) <= 1 + 1e-6);
    share = total / n.bound.value;
    banyan_trees_fini(&trees);
    banyan_free(weight);
    close_network(&n);
    return share;
}

TEST(cables_of_two_widths_are_filled_by_weights_that_fall)
{
    for (int seed = 1; seed <= 3; seed++)
        if (!(total_of(32, 3, seed) >= 0.99))
            fail_msg("seed %d: %.4f of the bound", seed, total_of(32, 3, seed));
}

TEST(trees_are_packed_or_memory_is_said_to_be_short)
{
    network n = open_network(8, 0, 3);
    banyan_unit_weights_problem problem = problem_of(&n, 64);
    banyan_status status = BANYAN_SYSTEM_ERROR;
    double *weight = NULL, total;
    banyan_trees trees;

    for (long calls = 0; status; calls += 1 + calls / 16) {
        banyan_trees_init(&trees);
        banyan_alloc_fail_after(calls);
        status = banyan_geometric_trees_pack(n.graph, &problem, &trees, &weight, &total, NULL);
        banyan_alloc_fail_after(-1);
        assert_true(!status || !weight);
    }
    assert_true(trees.tree_count > 0);
    banyan_trees_fini(&trees);
    banyan_free(weight);
    close_network(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_that_fall_fill_more_cables_than_trees_could_use_twice),
        cmocka_unit_test(cables_of_two_widths_are_filled_by_weights_that_fall),
        cmocka_unit_test(trees_are_packed_or_memory_is_said_to_be_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
