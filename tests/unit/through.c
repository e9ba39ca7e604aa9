/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/through.c: idle workers that only forward, beside many cables: what is laid out through them
 * fits, and it is all that can be; the forest over it is near the bound. */
#include "test.h"

#include <math.h>

#include "algorithms/algorithms.h"
#include "bound/bound.h"
#include "core/random.h"
#include "simulate/simulate.h"
#include "solve/cut/strength.h"
#include "solve/oracle/tree_oracle.h"
#include "solve/presolve/bypass.h"
#include "topology/build.h"
#include "verify/verify.h"

enum { NODES = 20, MOST_ARCS = NODES * NODES };

static banyan_graph *random_graph(uint64_t seed, int active, int unlike)
{
    banyan_random random = {seed};
    int src[MOST_ARCS], dst[MOST_ARCS], kind = (int)(seed % 3);
    double capacity[MOST_ARCS];
    unsigned char role[NODES] = {0};
    banyan_graph_input input = {NODES, role, 0, src, dst, capacity, NULL};
    banyan_graph *graph;

    for (int v = 0; v < active; v++)
        role[v] = BANYAN_NODE_ACTIVE;
    for (int a = 0; a < NODES; a++)
        for (int b = 0; b < a; b++) {
            double width = 0;

            if (banyan_random_below(&random, 12) == 0)
                continue;
            for (int back = 0; back < 2; back++) {
                if (!back || unlike)
                    width = kind == 0   ? 1
                            : kind == 1 ? 1 + banyan_random_below(&random, 2)
                                        : 0.1 + banyan_random_unit(&random);
                src[input.arc_count] = back ? a : b;
                dst[input.arc_count] = back ? b : a;
                capacity[input.arc_count++] = width;
            }
        }
    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    return graph;
}

/* Arcs run from active node to active node over arcs of the graph, which bear no more than they can; returns
 * the sum of them. */
static double check_arcs(const banyan_graph *graph, const banyan_bypass *through)
{
    double load[MOST_ARCS] = {0}, sum = 0;

    for (int i = 0; i < through->graph->arc_count; i++) {
        const banyan_arc *arc = &through->graph->arcs[i];
        double width = (double)arc->capacity * through->graph->unit / graph->unit;
        int at = arc->src;

        assert_true(graph->role[arc->src] & BANYAN_NODE_ACTIVE);
        assert_true(graph->role[arc->dst] & BANYAN_NODE_ACTIVE);
        for (int j = through->first[i]; j < through->first[i + 1]; j++) {
            assert_int_equal(graph->arcs[through->via[j]].src, at);
            at = graph->arcs[through->via[j]].dst;
            assert_true(at == arc->dst || !(graph->role[at] & BANYAN_NODE_ACTIVE));
            load[through->via[j]] += width;
        }
        assert_int_equal(at, arc->dst);
        sum += width;
    }
    for (int i = 0; i < graph->arc_count; i++)
        assert_true(load[i] <= (double)graph->arcs[i].capacity * (1 + 1e-6));
    return sum;
}

/* What leaves all active nodes, or enters them. */
static double most_of(const banyan_graph *graph)
{
    double in = 0, out = 0;

    for (int i = 0; i < graph->arc_count; i++) {
        in += graph->role[graph->arcs[i].dst] & BANYAN_NODE_ACTIVE ? (double)graph->arcs[i].capacity : 0;
        out += graph->role[graph->arcs[i].src] & BANYAN_NODE_ACTIVE ? (double)graph->arcs[i].capacity : 0;
    }
    return fmin(in, out);
}

TEST(all_that_idle_nodes_can_forward_is_laid_out)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        for (int unlike = 0; unlike < 2; unlike++) {
            banyan_graph *graph = random_graph(seed, 6 + (int)(seed % 11), unlike);
            banyan_bypass through;

            assert_int_equal(banyan_bypass_make(graph, &through, NULL), BANYAN_SUCCESS);
            assert_non_null(through.graph);
            assert_int_equal(through.graph->symmetric, graph->symmetric);
            if (check_arcs(graph, &through) < most_of(graph) * (unlike ? 0.97 : 1 - 1e-6))
                fail_msg("seed %d, unlike %d: %g of %g is laid out", (int)seed, unlike,
                         check_arcs(graph, &through), most_of(graph));
            banyan_bypass_fini(&through);
            banyan_graph_destroy(graph);
        }
}

/* Machines with many cables to one switch have none between them: what is laid out through it need not join
 * them all. */
TEST(machines_behind_one_switch_are_another_network)
{
    int src[MOST_ARCS], dst[MOST_ARCS];
    double capacity[MOST_ARCS];
    unsigned char role[9] = {0};
    banyan_graph_input input = {9, role, 0, src, dst, capacity, NULL};
    banyan_graph *graph;
    banyan_bypass through;

    for (int v = 0; v < 8; v++)
        role[v] = BANYAN_NODE_ACTIVE;
    for (int i = 0; i < 128; i++) {
        src[i] = i % 2 ? 8 : i / 2 % 8;
        dst[i] = i % 2 ? i / 2 % 8 : 8;
        capacity[i] = 1;
    }
    input.arc_count = 128;
    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    assert_true(banyan_graph_is_dense(graph));
    assert_int_equal(banyan_bypass_make(graph, &through, NULL), BANYAN_SUCCESS);
    assert_null(through.graph);
    banyan_bypass_fini(&through);
    banyan_graph_destroy(graph);
}

/* The best packing of trees through idle nodes, by columns. */
static double best_packing(const banyan_graph *graph)
{
    banyan_tree_packing_problem problem = {
        .oracle = banyan_oracle_tree, .tolerance = 1e-8, .warm_trees = 60, .round_limit = 3000};
    banyan_oracle *oracle;
    banyan_tree_packing packing;
    double best;

    assert_int_equal(banyan_oracle_create(graph, &oracle, NULL), BANYAN_SUCCESS);
    problem.context = oracle;
    assert_int_equal(banyan_tree_packing_solve(graph, &problem, &packing, NULL), BANYAN_SUCCESS);
    best = packing.bound_value;
    banyan_tree_packing_fini(&packing);
    banyan_oracle_destroy(oracle);
    return best;
}

TEST(nothing_is_lost_by_it)
{
    for (uint64_t seed = 1; seed <= 9; seed++) {
        banyan_graph *graph = random_graph(seed, 8 + (int)(seed % 5), 0);
        double best = best_packing(graph), strength;
        banyan_bypass through;
        banyan_fraction fraction;
        int part[NODES], count;

        assert_int_equal(banyan_bypass_make(graph, &through, NULL), BANYAN_SUCCESS);
        assert_int_equal(banyan_strength(through.graph, &fraction, part, &count, NULL), BANYAN_SUCCESS);
        strength = banyan_fraction_value(fraction) * through.graph->unit / graph->unit;
        if (fabs(strength - best) > 1e-6 * best)
            fail_msg("seed %d: %g, not %g", (int)seed, strength, best);
        banyan_bypass_fini(&through);
        banyan_graph_destroy(graph);
    }
}

static void check_plan(const char *spec, int active_count, double least)
{
    banyan_parameter forward = {"relays", "forward"};
    banyan_topology *topology;
    banyan_schedule *schedule = NULL;
    banyan_verdict verdict;
    banyan_limits limits;
    banyan_bound bound;
    banyan_error err;
    banyan_problem problem = {.active_count = active_count,
                              .collective = BANYAN_COLLECTIVE_ALLREDUCE,
                              .parameters = &forward,
                              .parameter_count = 1};

    if (banyan_topology_load(spec, &topology, &err))
        fail_msg("%s: %s", spec, err.text);
    problem.topology = topology;
    problem.active = topology->workers;
    if (banyan_bound_find(topology, topology->workers, active_count, BANYAN_RELAYS_FORWARD, &bound, &err) ||
        banyan_bound_check_certificate(topology, topology->workers, active_count, &bound, &err) ||
        banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, &err) ||
        banyan_verify(schedule, topology, &verdict, &err) || banyan_verdict_status(&verdict, &err) ||
        banyan_bandwidth_limit(schedule, topology, &limits, &err))
        fail_msg("%s: %s", spec, err.text);
    if (limits.bytes_per_s < least * bound.allreduce.bytes_per_s)
        fail_msg("%s, %d active: %g of the bound", spec, active_count,
                 limits.bytes_per_s / bound.allreduce.bytes_per_s);
    banyan_schedule_destroy(schedule);
    banyan_bound_fini(&bound);
    banyan_topology_destroy(topology);
}

/* Columns came to 75 to 80 % of it, in seconds. */
TEST(forests_where_most_pairs_are_cabled_and_idle_workers_forward_are_near_the_bound)
{
    check_plan("full:40", 30, 0.99);
    check_plan("full:32", 9, 0.99);
    check_plan("full:24", 20, 0.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_idle_nodes_can_forward_is_laid_out),
        cmocka_unit_test(machines_behind_one_switch_are_another_network),
        cmocka_unit_test(nothing_is_lost_by_it),
        cmocka_unit_test(forests_where_most_pairs_are_cabled_and_idle_workers_forward_are_near_the_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
