/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/cells.c: workers behind switches, some idle: what cells say that trees cost is never more than
 * the cheapest ones do, and prices found by them mostly prove what they should. */
#include "test.h"

#include <math.h>

#include "core/alloc.h"
#include "core/random.h"
#include "solve/cut/pods.h"
#include "solve/pack/pair_columns.h"

enum {
    CELLS = 4,
    CORES = 2,
    MOST_WORKERS = 3,
    NODES = CELLS + CORES + CELLS * MOST_WORKERS,
    ARCS = 4 * NODES + 8
};

typedef struct {
    unsigned char role[NODES];
    int src[ARCS], dst[ARCS];
    double capacity[ARCS];
    banyan_graph_input input;
} maker;

static void add_cable(maker *m, banyan_random *random, int a, int b)
{
    for (int back = 0; back < 2; back++) {
        int i = m->input.arc_count++;

        m->src[i] = back ? b : a;
        m->dst[i] = back ? a : b;
        m->capacity[i] = 100 + banyan_random_below(random, 100);
    }
}

/* Two to four switches with one to three workers each, behind one or two others, or beside each other. */
static banyan_graph *make_network(banyan_random *random)
{
    maker m = {.input = {0, m.role, 0, m.src, m.dst, m.capacity, NULL}};
    int cells = 2 + banyan_random_below(random, CELLS - 1), cores = 1 + banyan_random_below(random, CORES);
    int node = cells + cores, active = 0;
    banyan_graph *graph;

    for (int c = 0; c < cells; c++) {
        for (int k = 0; k < cores; k++)
            add_cable(&m, random, c, cells + k);
        if (c && banyan_random_below(random, 3) == 0)
            add_cable(&m, random, c - 1, c);
        for (int w = 1 + banyan_random_below(random, MOST_WORKERS); w > 0; w--, node++) {
            int is_active = active < 2 || banyan_random_below(random, 2);

            m.role[node] =
                (unsigned char)(BANYAN_NODE_ADDS | BANYAN_NODE_COPIES | (is_active ? BANYAN_NODE_ACTIVE : 0));
            active += is_active;
            add_cable(&m, random, node, c);
        }
    }
    m.input.node_count = node;
    assert_int_equal(banyan_graph_create(&m.input, &graph, NULL), BANYAN_SUCCESS);
    return graph;
}

static double worth_of(const banyan_graph *graph, const int64_t *price)
{
    double worth = 0;

    for (int i = 0; i < graph->arc_count; i++)
        worth += (double)graph->arcs[i].capacity * (double)price[i];
    return worth;
}

TEST(cells_never_say_more_than_the_cheapest_trees_cost)
{
    int exactly = 0;

    for (int seed = 0; seed < 2000; seed++) {
        banyan_random random = {(uint64_t)seed};
        banyan_graph *graph = make_network(&random);
        int64_t price[ARCS];
        banyan_wide cost, num, den;
        int most = 1 + banyan_random_below(&random, 20), proven;

        for (int i = 0; i < graph->arc_count; i++)
            price[i] = banyan_random_below(&random, most);
        assert_int_equal(banyan_pods_cost(graph, price, &cost, NULL), BANYAN_SUCCESS);
        assert_int_equal(banyan_pair_prices_check(graph, price, &num, &den, &proven, NULL), BANYAN_SUCCESS);
        assert_true(proven);
        if (cost > den)
            fail_msg("seed %d: %lld, not %lld", seed, (long long)cost, (long long)den);
        exactly += cost == den;
        banyan_graph_destroy(graph);
    }
    assert_true(exactly > 100);
}

TEST(prices_by_cells_mostly_prove_what_they_should)
{
    int good = 0;

    for (int seed = 0; seed < 200; seed++) {
        banyan_random random = {(uint64_t)seed};
        banyan_graph *graph = make_network(&random);
        int64_t price[ARCS];
        banyan_wide cost;
        double value;

        assert_int_equal(banyan_pods_price(graph, price, &value, NULL), BANYAN_SUCCESS);
        assert_int_equal(banyan_pods_cost(graph, price, &cost, NULL), BANYAN_SUCCESS);
        assert_true(cost > 0 && worth_of(graph, price) / (double)cost < value * 1.1);
        good += worth_of(graph, price) / (double)cost < value * (1 + 1e-8);
        banyan_graph_destroy(graph);
    }
    assert_true(good >= 190);
}

TEST(cells_survive_the_failure_of_each_allocation)
{
    banyan_random random = {7};
    banyan_graph *graph = make_network(&random);
    int64_t price[ARCS];
    banyan_status status = BANYAN_SYSTEM_ERROR;
    banyan_wide cost;
    double value;
    int calls = 0;

    for (; status && calls < 10000; calls++) {
        banyan_alloc_fail_after(calls);
        status = banyan_pods_price(graph, price, &value, NULL);
        if (!status)
            status = banyan_pods_cost(graph, price, &cost, NULL);
        banyan_alloc_fail_after(-1);
    }
    assert_true(calls > 20 && calls < 10000);
    banyan_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_never_say_more_than_the_cheapest_trees_cost),
        cmocka_unit_test(prices_by_cells_mostly_prove_what_they_should),
        cmocka_unit_test(cells_survive_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
