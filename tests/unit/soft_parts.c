/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/soft_parts.c: a torus, directions unlike, some nodes idle: prices of many partitions prove what
 * they should, and pairs that are laden under them settle near to the bound. */
#include "test.h"

#include <math.h>

#include "core/alloc.h"
#include "core/random.h"
#include "solve/cut/soft_partitions.h"
#include "solve/cut/split.h"
#include "solve/round/rebalance.h"
#include "solve/start/falling_pairs.h"

#define SIDE 4
#define NODES (SIDE * SIDE)
#define ARCS (4 * NODES)
#define SCALE 1e9

static banyan_graph *make_torus(banyan_random *random, int idle)
{
    int src[ARCS], dst[ARCS], count = 0;
    unsigned char role[NODES];
    double capacity[ARCS];
    banyan_graph_input input = {NODES, role, ARCS, src, dst, capacity, NULL};
    banyan_graph *graph;

    for (int v = 0; v < NODES; v++)
        role[v] = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES | BANYAN_NODE_ACTIVE;
    for (int i = 0; i < idle; i++)
        role[banyan_random_below(random, NODES - 1)] = BANYAN_NODE_ADDS | BANYAN_NODE_COPIES;
    for (int v = 0; v < NODES; v++)
        for (int way = 0; way < 2; way++) {
            int next = way ? (v + SIDE) % NODES : v / SIDE * SIDE + (v + 1) % SIDE;

            src[count] = dst[count + 1] = v;
            dst[count] = src[count + 1] = next;
            capacity[count++] = 500 + banyan_random_below(random, 500);
            capacity[count++] = 500 + banyan_random_below(random, 500);
        }
    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    return graph;
}

/* Prices as whole numbers; no pair costs less than 1. */
static void check_prices(const banyan_graph *graph, const banyan_split *division, int64_t *price)
{
    double width[ARCS], mixed[ARCS], proven;
    banyan_soft_partitions *parts;
    banyan_wide num, den;
    int exact;

    for (int i = 0; i < ARCS; i++)
        width[i] = (double)graph->arcs[i].capacity;
    assert_int_equal(banyan_soft_partitions_create(graph, division->price, &parts, NULL), BANYAN_SUCCESS);
    proven = banyan_soft_partitions_mix(parts, width, mixed);
    banyan_soft_partitions_destroy(parts);
    assert_true(proven >= division->bound_value * (1 - 1e-6));
    for (int i = 0; i < ARCS; i++)
        price[i] = (int64_t)nearbyint(mixed[i] * SCALE);
    assert_int_equal(banyan_pair_prices_check(graph, price, &num, &den, &exact, NULL), BANYAN_SUCCESS);
    assert_true(exact && (double)den >= SCALE * (1 - 1e-6));
}

static void check_pairs(const banyan_graph *graph, const banyan_split *division, const int64_t *price)
{
    banyan_falling_pairs_problem laden = {.price = price, .root = division->root, .pair_limit = 64};
    banyan_rebalance_problem settle = {.aim = division->bound_value,
                                       .enough = 0.99 * division->bound_value,
                                       .turn_limit = 10,
                                       .price = price};
    banyan_pair_packing packing = {.bound_value = division->bound_value};

    assert_int_equal(banyan_falling_pairs_find(graph, &laden, &packing, NULL), BANYAN_SUCCESS);
    assert_int_equal(packing.trees.tree_count, 128);
    assert_true(fabs(packing.total / division->bound_value - 1) < 1e-9);
    assert_int_equal(banyan_rebalance_packing(graph, &settle, &packing, NULL), BANYAN_SUCCESS);
    assert_true(packing.total > 0.97 * division->bound_value);
    banyan_pair_packing_fini(&packing);
}

static void prices_of_many_partitions_hold_and_pairs_settle_under_them(void **state)
{
    banyan_random random = {7};

    (void)state;

    for (int round = 0; round < 6; round++) {
        banyan_graph *graph = make_torus(&random, 2 + round);
        banyan_split division;
        int64_t price[ARCS];

        assert_int_equal(banyan_split_find(graph, 1e-9, 1000, &division, NULL), BANYAN_SUCCESS);
        check_prices(graph, &division, price);
        check_pairs(graph, &division, price);
        banyan_split_fini(&division);
        banyan_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_of_many_partitions_hold_and_pairs_settle_under_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
