/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/forest_parts.c: forest's all-gather and reduce-scatter reach the bound, proven, with trees of
 * each rank that share its part. */
#include "test.h"

#include "algorithms/algorithms.h"
#include "bound/bound.h"
#include "core/alloc.h"
#include "core/random.h"
#include "simulate/simulate.h"
#include "topology/build.h"
#include "verify/verify.h"

static const banyan_collective both[] = {BANYAN_COLLECTIVE_ALLGATHER, BANYAN_COLLECTIVE_REDUCE_SCATTER};

static double bound_of(const banyan_problem *problem)
{
    banyan_bound bound = {0};
    banyan_error err;
    double rate;

    if (banyan_bound_find(problem->topology, problem->active, problem->active_count, BANYAN_RELAYS_ADD,
                          &bound, &err))
        fail_msg("%s", err.text);
    rate = problem->collective == BANYAN_COLLECTIVE_ALLGATHER ? bound.allgather.bytes_per_s
                                                              : bound.reducescatter.bytes_per_s;
    banyan_bound_fini(&bound);
    return rate;
}

/* The share of the bound that a proven schedule reaches; *depth: hops of its deepest tree. */
static double share_of(const banyan_topology *topology, const int *active, int count,
                       banyan_collective collective, int *depth)
{
    banyan_problem problem = {
        .topology = topology, .active = active, .active_count = count, .collective = collective};
    banyan_schedule *schedule;
    banyan_verdict verdict;
    banyan_limits limits;
    banyan_error err;

    if (banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, &err) ||
        banyan_verify(schedule, topology, &verdict, &err) || banyan_verdict_status(&verdict, &err) ||
        banyan_bandwidth_limit(schedule, topology, &limits, &err))
        fail_msg("%s: %s", topology->name, err.text);
    banyan_schedule_destroy(schedule);
    *depth = limits.depth;
    return limits.bytes_per_s / bound_of(&problem);
}

TEST(the_bound_is_reached_by_shallow_trees)
{
    static const struct {
        const char *spec, *active;
        int depth;
    } cases[] = {{"switch:8", NULL, 1},       {"torus:4x4", NULL, 8},
                 {"mesh:5x5", NULL, 8},       {"hosts:2+3", NULL, 3},
                 {"fattree:4x4:2", NULL, 6},  {"dgx1", NULL, 6},
                 {"dgxa100:2", NULL, 6},      {"mi300x:2", NULL, 7},
                 {"kautz:12x3", NULL, 7},     {"torus:4x4", "0,3,5,6,10,15", 5},
                 {"hosts:3+3+4", "1,4,9", 2}, {"full:2", NULL, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int c = 0; c < 2; c++) {
            banyan_topology *topology;
            int *active = NULL, count = 0, depth;
            banyan_error err;
            double share;

            if (banyan_topology_load(cases[i].spec, &topology, &err) ||
                banyan_topology_parse_active(topology, cases[i].active, &active, &count, &err))
                fail_msg("%s", err.text);
            share = share_of(topology, active, count, both[c], &depth);
            if (share < 1 - 1e-9 || share > 1 + 1e-9 || depth > cases[i].depth)
                fail_msg("%s: %g of the bound, %d hops", cases[i].spec, share, depth);
            banyan_free(active);
            banyan_topology_destroy(topology);
        }
}

/* Workers on a ring, so that all are connected, and more links; switches have cables. */
static banyan_topology *random_network(banyan_random *random, int is_directed)
{
    int workers = 2 + banyan_random_below(random, 7), nodes = workers + banyan_random_below(random, 4);
    banyan_topology_builder builder;
    banyan_topology *topology;
    banyan_error err;

    banyan_topology_builder_init(&builder, "random");
    for (int v = 0; v < nodes; v++)
        if (v < workers)
            banyan_topology_add_worker_f(&builder, -1, "g%d", v);
        else
            banyan_topology_add_switch_f(&builder, "s%d", v);
    for (int v = 0; v < nodes; v++)
        banyan_topology_add_cable(&builder, v, (v + 1) % nodes, 1e9 * (1 + banyan_random_below(random, 5)),
                                  0);
    for (int i = 0; i < 2 * workers; i++) {
        int a = banyan_random_below(random, nodes), b = banyan_random_below(random, nodes);
        double width = 1e9 * (1 + banyan_random_below(random, 9));

        if (a == b)
            continue;
        if (is_directed && a < workers && b < workers)
            banyan_topology_add_link(&builder, a, b, width, 0);
        else
            banyan_topology_add_cable(&builder, a, b, width, 0);
    }
    if (banyan_topology_builder_finish(&builder, &topology, &err))
        fail_msg("%s", err.text);
    return topology;
}

TEST(random_networks_are_filled_to_the_bound)
{
    for (unsigned seed = 0; seed < 300; seed++) {
        banyan_random random;
        banyan_topology *topology;
        int depth;

        random.state = seed;
        topology = random_network(&random, seed % 2 > 0);
        for (int c = 0; c < 2; c++) {
            double share = share_of(topology, topology->workers, topology->worker_count, both[c], &depth);

            if (share < 1 - 1e-6 || share > 1 + 1e-9)
                fail_msg("seed %d, collective %d: %.9g of the bound", (int)seed, c, share);
        }
        banyan_topology_destroy(topology);
    }
}

/* Widths without a common unit: parts are rounded, and hardly anything is lost. */
TEST(odd_widths_lose_hardly_anything)
{
    banyan_topology *topology;
    banyan_error err;
    int depth;

    assert_int_equal(
        banyan_topology_load("hosts:2+3+3,gbps=9.871234567,local_gbps=101.3331", &topology, &err), 0);
    for (int c = 0; c < 2; c++)
        assert_true(share_of(topology, topology->workers, topology->worker_count, both[c], &depth) > 0.9999);
    banyan_topology_destroy(topology);
}

static banyan_status build(const char *spec, const banyan_parameter *parameter, banyan_error *err)
{
    banyan_topology *topology;
    banyan_schedule *schedule = NULL;
    banyan_status status = banyan_topology_load(spec, &topology, err);

    if (!status) {
        banyan_problem problem = {.topology = topology,
                                  .active = topology->workers,
                                  .active_count = topology->worker_count,
                                  .collective = BANYAN_COLLECTIVE_ALLGATHER,
                                  .parameters = parameter,
                                  .parameter_count = parameter ? 1 : 0};

        status = banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, err);
    }
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(topology);
    return status;
}

TEST(options_for_all_reduce_and_large_networks_are_refused)
{
    const banyan_parameter trees = {"max-trees", "4"};
    banyan_error err;

    assert_int_equal(build("torus:4x4", &trees, &err), BANYAN_UNSUPPORTED);
    CHECK_SAYS(err, "'max-trees' for all-reduce only");
    assert_int_equal(build("switch:512", NULL, &err), BANYAN_UNSUPPORTED);
    CHECK_SAYS(err, "maximum flows");
}

TEST(each_allocation_may_fail)
{
    banyan_status status = BANYAN_SYSTEM_ERROR;

    for (long calls = 0; status; calls++) {
        banyan_alloc_fail_after(calls);
        status = build("hosts:2+3", NULL, NULL);
    }
    banyan_alloc_fail_after(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_is_reached_by_shallow_trees),
        cmocka_unit_test(random_networks_are_filled_to_the_bound),
        cmocka_unit_test(odd_widths_lose_hardly_anything),
        cmocka_unit_test(options_for_all_reduce_and_large_networks_are_refused),
        cmocka_unit_test(each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
