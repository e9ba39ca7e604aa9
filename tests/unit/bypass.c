/* SPDX-License-Identifier: Apache-2.0 */
/* Cables past forwarders take no more than there is. */
#include "solve/presolve/bypass.h"

#include "core/alloc.h"
#include "core/random.h"
#include "unit/test.h"

enum { NODES = 12, ACTIVE = 8, MOST_ARCS = NODES * NODES, NETWORKS = 60 };

static banyan_graph *make(banyan_random *random, int is_symmetric)
{
    unsigned char role[NODES];
    int src[MOST_ARCS], dst[MOST_ARCS];
    double capacity[MOST_ARCS];
    banyan_graph_input input = {NODES, role, 0, src, dst, capacity, NULL};
    banyan_graph *graph;

    for (int v = 0; v < NODES; v++)
        role[v] = v < ACTIVE ? BANYAN_NODE_ACTIVE | BANYAN_NODE_ADDS | BANYAN_NODE_COPIES : 0;
    for (int v = 0; v < NODES; v++)
        for (int w = 0; w < v; w++)
            for (int way = 0, width = banyan_random_below(random, 6); way < 2; way++) {
                if (!is_symmetric)
                    width = banyan_random_below(random, 6);
                if (!width)
                    continue;
                src[input.arc_count] = way ? v : w;
                dst[input.arc_count] = way ? w : v;
                capacity[input.arc_count++] = width;
            }
    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    return graph;
}

static void check(const banyan_graph *graph, const banyan_bypass *past)
{
    double used[MOST_ARCS] = {0};

    for (int i = 0; i < past->graph->arc_count; i++) {
        const banyan_arc *arc = &past->graph->arcs[i];
        int first = past->first[arc->link], second = past->second[arc->link];
        double width = (double)arc->capacity * past->graph->unit / graph->unit;

        assert_true(arc->src != arc->dst && arc->src < ACTIVE && arc->dst < ACTIVE);
        assert_int_equal(graph->arcs[first].src, arc->src);
        assert_int_equal(graph->arcs[second < 0 ? first : second].dst, arc->dst);
        used[first] += width;
        if (second < 0)
            continue;
        assert_int_equal(graph->arcs[first].dst, graph->arcs[second].src);
        assert_true(graph->arcs[first].dst >= ACTIVE);
        used[second] += width;
    }
    for (int i = 0; i < graph->arc_count; i++)
        if (used[i] > (double)graph->arcs[i].capacity * (1 + 1e-9))
            fail_msg("arc %d carries %g of %lld", i, used[i], (long long)graph->arcs[i].capacity);
}

TEST(no_arc_is_used_beyond_its_capacity_and_cables_stay_cables)
{
    banyan_random random = {5};

    for (int k = 0; k < NETWORKS; k++) {
        banyan_graph *graph = make(&random, k % 2);
        banyan_bypass past;

        assert_int_equal(banyan_bypass_make(graph, &past, NULL), BANYAN_SUCCESS);
        assert_true(banyan_graph_all_active(past.graph));
        assert_true(!graph->symmetric || past.graph->symmetric);
        check(graph, &past);
        banyan_bypass_fini(&past);
        banyan_graph_destroy(graph);
    }
}

/* Two workers, one forwarder between them: one cable past it, and a tree over that is one over both. */
TEST(a_tree_is_laid_back_over_both_parts)
{
    unsigned char role[3] = {BANYAN_NODE_ACTIVE, BANYAN_NODE_ACTIVE, 0};
    const int src[] = {0, 2, 1, 2}, dst[] = {2, 1, 2, 0};
    const double capacity[] = {3, 3, 3, 3};
    banyan_graph_input input = {3, role, 4, src, dst, capacity, NULL};
    banyan_trees trees, lifted;
    banyan_graph *graph;
    banyan_bypass past;

    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_bypass_make(graph, &past, NULL), BANYAN_SUCCESS);
    assert_int_equal(past.graph->arc_count, 2);
    banyan_trees_init(&trees);
    banyan_trees_init(&lifted);
    banyan_trees_begin(&trees);
    banyan_trees_add_edge(&trees, past.graph->arcs[0].src, past.graph->arcs[0].dst);
    banyan_trees_add_arc(&trees, 0);
    banyan_bypass_lift(&past, &trees, &lifted);
    assert_int_equal(lifted.tree_count, 1);
    assert_int_equal(lifted.arc_count, 2);
    assert_int_equal(graph->arcs[lifted.arcs[0]].dst, 2);
    assert_int_equal(graph->arcs[lifted.arcs[1]].src, 2);
    banyan_trees_fini(&trees);
    banyan_trees_fini(&lifted);
    banyan_bypass_fini(&past);
    banyan_graph_destroy(graph);
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_random random = {6};
    banyan_graph *graph = make(&random, 1);
    banyan_bypass past = {0};

    for (long calls = 0; !past.graph; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_bypass_make(graph, &past, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_bypass_fini(&past);
    banyan_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_arc_is_used_beyond_its_capacity_and_cables_stay_cables),
        cmocka_unit_test(a_tree_is_laid_back_over_both_parts),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
