/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/units.c: trees of whole units, and the chains of exchanges that make them fit. */
#include "test.h"

#include <math.h>

#include "bound/allreduce.h"
#include "bound/network.h"
#include "core/alloc.h"
#include "core/random.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/round/exchange_chains.h"
#include "solve/start/matroid_partition.h"
#include "solve/start/unit_weights.h"

enum { MOST_ARCS = 1024, MOST_TREES = 64 };

/* A ring and some chords; every node active. */
static banyan_graph *make_ring(banyan_random *random, int nodes, int chords)
{
    int src[MOST_ARCS], dst[MOST_ARCS], count = 0;
    double capacity[MOST_ARCS];
    unsigned char role[64];
    banyan_graph_input input = {nodes, role, 0, src, dst, capacity, NULL};
    banyan_graph *graph;

    for (int i = 0; i < nodes + chords; i++) {
        int a = i < nodes ? i : banyan_random_below(random, nodes);
        int b = i < nodes ? (i + 1) % nodes : banyan_random_below(random, nodes);
        double width = 1 + banyan_random_below(random, 3);

        if (a == b)
            continue;
        for (int way = 0; way < 2; way++) {
            src[count] = way ? b : a;
            dst[count] = way ? a : b;
            capacity[count++] = width;
        }
    }
    memset(role, BANYAN_NODE_ACTIVE, sizeof role);
    input.arc_count = count;
    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    return graph;
}

static void count_loads(const banyan_graph *graph, const banyan_trees *trees, const double *weight,
                        double *load)
{
    memset(load, 0, (size_t)graph->arc_count * sizeof *load);
    for (size_t t = 0; t < trees->tree_count; t++)
        for (size_t a = banyan_trees_arcs_begin(trees, t); a < banyan_trees_arcs_close(trees, t); a++)
            load[banyan_graph_cable(graph, trees->arcs[a])] += weight[t];
}

static int find_top(int *top, int v)
{
    while (top[v] != v)
        v = top[v] = top[top[v]];
    return v;
}

/* Its edges make no circle and join all active nodes. */
static void check_tree(const banyan_graph *graph, const banyan_trees *trees, size_t tree)
{
    int top[512];

    for (int v = 0; v < graph->node_count; v++)
        top[v] = v;
    for (size_t e = trees->first_edge[tree]; e < banyan_trees_edges_end(trees, tree); e++) {
        int at = trees->edges[e].src, a = find_top(top, at), b = find_top(top, trees->edges[e].dst);

        for (size_t i = trees->edges[e].first_arc; i < banyan_trees_arcs_end(trees, e); i++) {
            assert_int_equal(graph->arcs[trees->arcs[i]].src, at);
            at = graph->arcs[trees->arcs[i]].dst;
        }
        assert_int_equal(at, trees->edges[e].dst);
        assert_int_not_equal(a, b);
        top[a] = b;
    }
    for (int i = 1; i < graph->active_count; i++)
        assert_int_equal(find_top(top, graph->active[i]), find_top(top, graph->active[0]));
}

/* As many copies of one tree as there are disjoint ones must all find their place. */
TEST(chains_find_the_disjoint_trees_that_there_are)
{
    int fitted = 0;

    for (int seed = 1; seed <= 60; seed++) {
        banyan_random random = {(uint64_t)seed};
        banyan_graph *graph;
        int64_t room[MOST_ARCS], price[MOST_ARCS];
        double rooms[MOST_ARCS], stuck[MOST_ARCS], load[MOST_ARCS], weight[MOST_TREES], over = 1;
        banyan_exchange_chains_problem problem = {
            .weight = weight, .room = rooms, .depth_limit = 64, .try_limit = 1000000};
        banyan_trees disjoint, trees;
        banyan_oracle *oracle;
        int count = 2, found;

        graph =
            make_ring(&random, 6 + banyan_random_below(&random, 15), 10 + banyan_random_below(&random, 30));
        for (int i = 0; i < graph->arc_count; i++) {
            rooms[i] = (double)(room[i] = graph->arcs[i].capacity);
            price[i] = 1;
            stuck[i] = 0;
        }
        for (int more = 1; more && count < MOST_TREES; count++) {
            banyan_trees_init(&disjoint);
            assert_int_equal(banyan_matroid_partition_trees(graph, room, count, &disjoint, &found, NULL),
                             BANYAN_SUCCESS);
            banyan_trees_fini(&disjoint);
            more = found;
        }
        count -= 2; /* one too many were tried, and one more counted */
        banyan_trees_init(&trees);
        assert_int_equal(banyan_oracle_create(graph, &oracle, NULL), BANYAN_SUCCESS);
        for (int t = 0; t < count; t++) {
            weight[t] = 1;
            banyan_oracle_tree(oracle, price, &trees);
        }
        assert_int_equal(banyan_exchange_chains_relieve(graph, &problem, &trees, &over, stuck, NULL),
                         BANYAN_SUCCESS);
        count_loads(graph, &trees, weight, load);
        for (int t = 0; t < count; t++)
            check_tree(graph, &trees, (size_t)t);
        for (int i = 0; i < graph->arc_count; i++)
            if (over <= 0 && load[i] > rooms[i])
                fail_msg("seed %d: cable %d bears %g of %g", seed, i, load[i], rooms[i]);
        if (over > 0)
            print_message("seed %d: %d trees, %g over\n", seed, count, over);
        fitted += over <= 0;
        banyan_oracle_destroy(oracle);
        banyan_trees_fini(&trees);
        banyan_graph_destroy(graph);
    }
    assert_true(fitted >= 57); /* trees are in a chain once at most: seldom that is too few */
}

typedef struct {
    banyan_topology *topology;
    banyan_graph *graph;
    banyan_allreduce_bound bound;
    banyan_oracle *oracle;
} network;

/* The first of every two workers active, or some by chance (seed above 0); the others help. */
static network open_network(const char *spec, int seed)
{
    network n = {NULL, NULL, {.price = NULL}, NULL};
    banyan_random random = {(uint64_t)seed};
    int active[256], count = 0;
    banyan_error err;

    if (banyan_topology_load(spec, &n.topology, &err))
        fail_msg("%s: %s", spec, err.text);
    for (int i = 0; i < n.topology->worker_count; i++)
        if (seed ? banyan_random_below(&random, 2) : i % 2 == 0)
            active[count++] = n.topology->workers[i];
    if (banyan_network_graph(n.topology, active, count, BANYAN_RELAYS_ADD, &n.graph, &err))
        fail_msg("%s: %s", spec, err.text);
    n.bound.price = banyan_alloc((size_t)n.graph->arc_count, sizeof(int64_t));
    if (banyan_allreduce_solve(n.graph, &n.bound, &err) || banyan_oracle_create(n.graph, &n.oracle, &err))
        fail_msg("%s: %s", spec, err.text);
    return n;
}

static void close_network(network *n)
{
    banyan_oracle_destroy(n->oracle);
    banyan_free(n->bound.price);
    banyan_graph_destroy(n->graph);
    banyan_topology_destroy(n->topology);
}

static banyan_unit_weights_problem problem_of(const network *n, double enough, int tree_limit)
{
    return (banyan_unit_weights_problem){.price = n->bound.price,
                                         .bound = n->bound.value,
                                         .enough = enough,
                                         .tree_limit = tree_limit,
                                         .round_limit = 24,
                                         .oracle = banyan_oracle_tree,
                                         .context = n->oracle};
}

TEST(few_trees_of_whole_units_come_near_to_the_bound)
{
    int fitted = 0;

    for (int seed = 0; seed < 6; seed++) {
        network n = open_network("torus:4x4x4", seed);
        banyan_unit_weights_problem problem = problem_of(&n, 0.9905, 64);
        double load[MOST_ARCS], *weight = NULL, units = 0;
        banyan_trees trees;
        int fits;

        banyan_trees_init(&trees);
        assert_int_equal(banyan_unit_weights_pack(n.graph, &problem, &trees, &weight, &fits, NULL),
                         BANYAN_SUCCESS);
        assert_true(trees.tree_count > 0 && trees.tree_count <= 64);
        count_loads(n.graph, &trees, weight, load);
        for (size_t t = 0; t < trees.tree_count; t++) {
            check_tree(n.graph, &trees, t);
            assert_true(weight[t] >= 1 && floor(weight[t]) == weight[t]);
            units += weight[t];
        }
        for (int a = 0; fits && a < n.graph->arc_count; a++)
            assert_true(load[a] * problem.enough * n.bound.value <=
                        units * (double)n.graph->arcs[a].capacity * (1 + 1e-9));
        if (!fits)
            print_message("seed %d: %zu trees do not fit\n", seed, trees.tree_count);
        fitted += fits;
        banyan_trees_fini(&trees);
        banyan_free(weight);
        close_network(&n);
    }
    assert_true(fitted >= 4); /* a local search; whoever wants the trees has other ways where it fails */
}

TEST(units_that_cannot_fit_are_not_tried)
{
    network n = open_network("ring:6", 0); /* a bound of 2 trees on 1 and 1: one tree will not do */
    banyan_unit_weights_problem problem = problem_of(&n, 0.99, 1);
    double *weight = NULL;
    banyan_trees trees;
    int fits = 1;

    banyan_trees_init(&trees);
    problem.bound *= 1.5; /* as if there were more to have */
    assert_int_equal(banyan_unit_weights_pack(n.graph, &problem, &trees, &weight, &fits, NULL),
                     BANYAN_SUCCESS);
    assert_int_equal(fits, 0);
    assert_int_equal(trees.tree_count, 0);
    banyan_trees_fini(&trees);
    banyan_free(weight);
    close_network(&n);
}

TEST(units_are_packed_or_memory_is_said_to_be_short)
{
    network n = open_network("torus:4x4", 0);
    banyan_unit_weights_problem problem = problem_of(&n, 0.99, 12);
    banyan_status status = BANYAN_SYSTEM_ERROR;
    double *weight = NULL;
    banyan_trees trees;
    int fits = 0;

    problem.round_limit = 5;
    for (long calls = 0; status; calls += 1 + calls / 16) {
        banyan_trees_init(&trees);
        banyan_alloc_fail_after(calls);
        status = banyan_unit_weights_pack(n.graph, &problem, &trees, &weight, &fits, NULL);
        banyan_alloc_fail_after(-1);
        if (status)
            banyan_trees_fini(&trees);
    }
    assert_true(trees.tree_count > 0);
    banyan_trees_fini(&trees);
    banyan_free(weight);
    close_network(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_find_the_disjoint_trees_that_there_are),
        cmocka_unit_test(few_trees_of_whole_units_come_near_to_the_bound),
        cmocka_unit_test(units_that_cannot_fit_are_not_tried),
        cmocka_unit_test(units_are_packed_or_memory_is_said_to_be_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
