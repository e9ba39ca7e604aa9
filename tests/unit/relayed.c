/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/relayed.c: idle workers as hubs and as the middles of stars, pairs of trees of weights that
 * halve, and limits to the depth with idle workers: shares of the bound of whole networks, planned and
 * verified. */
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/algorithms.h"
#include "algorithms/flows.h"
#include "bound/bound.h"
#include "core/alloc.h"
#include "core/random.h"
#include "simulate/simulate.h"
#include "solve/cut/split.h"
#include "topology/build.h"
#include "verify/verify.h"

typedef struct {
    double share; /* of the bound */
    double bytes_per_s;
    int trees, depth;
} planned;

static planned plan(const banyan_topology *topology, const int *active, int active_count,
                    banyan_relays relays, const banyan_parameter *parameters, int parameter_count)
{
    banyan_problem problem = {.topology = topology,
                              .active = active,
                              .active_count = active_count,
                              .collective = BANYAN_COLLECTIVE_ALLREDUCE,
                              .parameters = parameters,
                              .parameter_count = parameter_count};
    banyan_schedule *schedule = NULL;
    banyan_verdict verdict;
    banyan_limits limits;
    banyan_bound bound;
    banyan_error err;
    planned result;
    int most = 64;

    for (int i = 0; i < parameter_count; i++)
        if (strcmp(parameters[i].key, "max-trees") == 0)
            most = atoi(parameters[i].value);
    if (banyan_bound_find(topology, active, active_count, relays, &bound, &err) ||
        banyan_bound_check_certificate(topology, active, active_count, &bound, &err) ||
        banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, &err) ||
        banyan_verify(schedule, topology, &verdict, &err) || banyan_verdict_status(&verdict, &err) ||
        banyan_bandwidth_limit(schedule, topology, &limits, &err))
        fail_msg("%s: %s", topology->name, err.text);
    result = (planned){limits.bytes_per_s / bound.allreduce.bytes_per_s, limits.bytes_per_s,
                       schedule->flow_count, limits.depth};
    assert_true(result.share <= 1 + 1e-6 && result.trees <= most);
    banyan_schedule_destroy(schedule);
    banyan_bound_fini(&bound);
    return result;
}

static planned plan_spec(const char *spec, int active_count)
{
    banyan_topology *topology;
    banyan_error err;
    planned result;

    if (banyan_topology_load(spec, &topology, &err))
        fail_msg("%s: %s", spec, err.text);
    result = plan(topology, topology->workers, active_count, BANYAN_RELAYS_ADD, NULL, 0);
    banyan_topology_destroy(topology);
    return result;
}

/* `make check-long` takes all cases, where one takes half a minute, and larger networks. */
static int is_long(void)
{
    return getenv("BANYAN_TEST_ALL") != NULL;
}

static int count_cases(void)
{
    return is_long() ? 2 : 1;
}

/* Without them it is 78 % for three quarters of 256 workers, and half for fewer. */
TEST(idle_workers_behind_one_switch_are_hubs)
{
    static const struct {
        const char *spec;
        int active;
    } networks[] = {{"switch:200", 150}, {"switch:128", 50}, {"switch:256", 200}, {"switch:256", 250}};

    for (int i = 0; i < 2 * count_cases(); i++) {
        planned got = plan_spec(networks[i].spec, networks[i].active);

        if (got.share < 0.99)
            fail_msg("%s with %d active: %g of the bound", networks[i].spec, networks[i].active, got.share);
    }
}

/* All pairs cabled, three times as wide inside machines of 8; unlike: every third cable at half its width one
 * way. dgx: only some pairs inside, as in a DGX-1. */
static banyan_topology *all_pairs(int workers, int unlike, int dgx)
{
    static const unsigned char joined[8] = {0x1e, 0x2d, 0x4b, 0x87, 0xe1, 0xd2, 0xb4, 0x78};
    banyan_topology_builder builder;
    banyan_topology *topology;
    banyan_error err;
    int count = 0;

    banyan_topology_builder_init(&builder, "all pairs");
    for (int v = 0; v < workers; v++)
        banyan_topology_add_worker_f(&builder, -1, "w%d", v);
    for (int v = 0; v < workers; v++)
        for (int w = v + 1; w < workers; w++) {
            double width = v / 8 == w / 8 ? 300 : 100;

            if (dgx && v / 8 == w / 8 && !(joined[v % 8] >> w % 8 & 1))
                continue;
            count++;
            banyan_topology_add_link(&builder, v, w, unlike && count % 3 == 0 ? width / 2 : width, 0);
            banyan_topology_add_link(&builder, w, v, unlike && count % 6 == 1 ? width / 2 : width, 0);
        }
    assert_int_equal(banyan_topology_builder_finish(&builder, &topology, &err), BANYAN_SUCCESS);
    return topology;
}

/* The first so many of each machine. */
static int pick(int workers, int of_each, int *active)
{
    int count = 0;

    for (int v = 0; v < workers; v++)
        if (v % 8 < of_each)
            active[count++] = v;
    return count;
}

TEST(stars_at_idle_workers_fill_a_cluster_with_all_pairs_cabled)
{
    static const int of_each[] = {6, 4};
    banyan_topology *topology = all_pairs(64, 0, 0);
    int active[64];

    for (int i = 0; i < count_cases(); i++) {
        planned got = plan(topology, active, pick(64, of_each[i], active), BANYAN_RELAYS_ADD, NULL, 0);

        if (got.share < 0.95)
            fail_msg("%d of 8 active: %g of the bound", of_each[i], got.share);
    }
    banyan_topology_destroy(topology);
}

/* In a DGX-1 an idle GPU has cables to half of the others; those without one hang elsewhere. */
TEST(stars_fill_machines_in_which_not_all_pairs_are_cabled)
{
    static const struct {
        int of_each;
        double share;
    } cases[] = {{6, 0.95}, {4, 0.95}};
    banyan_topology *topology = all_pairs(64, 0, 1);
    int active[64];

    for (int i = 0; i < count_cases(); i++) {
        planned got = plan(topology, active, pick(64, cases[i].of_each, active), BANYAN_RELAYS_ADD, NULL, 0);

        if (got.share < cases[i].share)
            fail_msg("%d of 8 active: %g of the bound", cases[i].of_each, got.share);
    }
    banyan_topology_destroy(topology);
}

/* Between machines no cable is wider than 100, so no tree carries more: 64 trees reach 6400 at most, whatever
 * the bound. */
TEST(stars_reach_what_so_few_trees_can)
{
    const banyan_parameter trees = {"max-trees", is_long() ? "64" : "40"};
    int workers = atoi(trees.value), active[64];
    banyan_topology *topology = all_pairs(workers, 0, 0);
    planned got = plan(topology, active, pick(workers, 2, active), BANYAN_RELAYS_ADD, &trees, 1);

    if (got.bytes_per_s < 0.99 * 100 * workers)
        fail_msg("%g bytes/s of %d", got.bytes_per_s, 100 * workers);
    banyan_topology_destroy(topology);
}

TEST(limited_pairs_fill_links_unlike_in_the_two_directions)
{
    const banyan_parameter forward = {"relays", "forward"};
    banyan_topology *topology = all_pairs(16, 1, 0);
    int active[16], count = pick(16, 6, active);
    planned got = plan(topology, active, count, BANYAN_RELAYS_FORWARD, &forward, 1);

    if (got.share < 0.99)
        fail_msg("%d of 16 active, the others forward: %g of the bound", count, got.share);
    banyan_topology_destroy(topology);
}

/* Links at 0.5 to 1 of the width by chance, or both of a cable as wide: with more trees than are of use the
 * same few come, only more of them, and nearer to the bound. Columns took minutes here. */
TEST(many_trees_between_all_pairs_come_soon)
{
    const banyan_parameter many = {"max-trees", "4096"};
    int active[40], count = 0;

    for (int i = 0; i < 40; i++)
        if (i % 4)
            active[count++] = i;
    for (int unlike = 0; unlike < 2; unlike++) {
        banyan_topology *topology;
        banyan_random random = {3};
        banyan_error err;
        planned got;

        assert_int_equal(banyan_topology_load(!is_long() ? "full:16"
                                              : unlike   ? "full:32"
                                                         : "full:48",
                                              &topology, &err),
                         BANYAN_SUCCESS);
        for (int i = 0; i < topology->link_count; i++) {
            double part = 0.5 + 0.5 * banyan_random_unit(&random);

            if (!unlike)
                part = 0.5 + 0.5 / (1 + (topology->links[i].src + topology->links[i].dst) % 7);
            topology->links[i].bytes_per_s *= part;
        }
        got = plan(topology, active, !is_long() ? 12 : unlike ? 24 : count, BANYAN_RELAYS_ADD, &many, 1);
        if (got.share < 0.995)
            fail_msg("%s: %g of the bound", topology->name, got.share);
        banyan_topology_destroy(topology);
    }
}

/* Every third worker but each second of these idle, links at 0.5 to 1 of the width by chance, or a third of
 * them at half, or all alike. */
static void check_hubs(const char *spec, int kind)
{
    banyan_topology *topology;
    banyan_random random = {7};
    banyan_error err;
    planned got;
    int active[256], count = 0, workers;

    assert_int_equal(banyan_topology_load(spec, &topology, &err), BANYAN_SUCCESS);
    for (int i = 0; i < topology->link_count; i++)
        topology->links[i].bytes_per_s *= kind == 2   ? 0.5 + 0.5 * banyan_random_unit(&random)
                                          : kind == 1 ? 1 - 0.5 * (banyan_random_below(&random, 3) == 0)
                                                      : 1;
    workers = topology->worker_count;
    for (int i = 0; i < workers; i++)
        if (i % 3 || i % 2)
            active[count++] = i;
    got = plan(topology, active, count, BANYAN_RELAYS_ADD, NULL, 0);
    if (got.share < 0.985)
        fail_msg("%s, kind %d: %g of the bound", spec, kind, got.share);
    banyan_topology_destroy(topology);
}

TEST(pairs_with_hubs_fill_links_behind_switches)
{
    static const char *const specs[] = {"switch:75", "fattree:6x10", "switch:150", "fattree:10x12"};

    for (int i = 0; i < 2 * count_cases(); i++)
        for (int kind = 0; kind < 3; kind++)
            check_hubs(specs[i], kind);
}

/* A 3x5 mesh with 3 idle workers: the middle is 3 hops from everybody. */
TEST(depth_is_limited_where_idle_workers_relay)
{
    static const int active[] = {0, 1, 2, 4, 5, 6, 7, 8, 9, 11, 13, 14};
    static const char *const relays[] = {"add", "forward"};
    banyan_topology *topology;
    banyan_error err;

    assert_int_equal(banyan_topology_load("mesh:3x5", &topology, &err), BANYAN_SUCCESS);
    for (int i = 0; i < 2; i++) {
        const banyan_parameter parameters[] = {{"relays", relays[i]}, {"max-depth", "3"}};
        planned got =
            plan(topology, active, 12, i ? BANYAN_RELAYS_FORWARD : BANYAN_RELAYS_ADD, parameters, 2);

        if (got.depth > 3)
            fail_msg("relays %s: %d hops", relays[i], got.depth);
    }
    banyan_topology_destroy(topology);
}

/* A solver that leaves an idle node at the end of a tree must not make a plan that waits for it. */
TEST(idle_ends_of_trees_are_cut_off)
{
    const unsigned char role[] = {BANYAN_NODE_ACTIVE, BANYAN_NODE_ADDS | BANYAN_NODE_COPIES,
                                  BANYAN_NODE_ACTIVE, BANYAN_NODE_ADDS | BANYAN_NODE_COPIES,
                                  BANYAN_NODE_ADDS | BANYAN_NODE_COPIES};
    const int src[] = {0, 1, 1, 2, 2, 3, 3, 4}, dst[] = {1, 0, 2, 1, 3, 2, 4, 3};
    const double capacity[] = {1, 1, 1, 1, 1, 1, 1, 1};
    banyan_graph_input input = {5, role, 8, src, dst, capacity, NULL};
    banyan_graph *graph;
    banyan_trees trees;
    banyan_flows flows;

    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    banyan_trees_init(&trees);
    banyan_flows_init(&flows);
    for (int tree = 0; tree < 2; tree++) { /* away from node 0, and towards it */
        banyan_trees_begin(&trees);
        for (int i = 0; i < 4; i++) {
            banyan_trees_add_edge(&trees, src[2 * i + tree], dst[2 * i + tree]);
            banyan_trees_add_arc(&trees, 2 * i + tree);
        }
    }
    banyan_flows_add_tree(&flows, graph, &trees, 0, 1, 1);
    banyan_flows_add_pair(&flows, graph, &trees, 1, 0, 0, 0, 1);
    assert_int_equal(flows.flow_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(flows.flows[i].in_count, 2);
        assert_int_equal(flows.flows[i].out_count, 2);
        assert_int_equal(flows.flows[i].depth, 1 + i);
    }
    banyan_flows_fini(&flows);
    banyan_trees_fini(&trees);
    banyan_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_ends_of_trees_are_cut_off),
        cmocka_unit_test(idle_workers_behind_one_switch_are_hubs),
        cmocka_unit_test(stars_at_idle_workers_fill_a_cluster_with_all_pairs_cabled),
        cmocka_unit_test(many_trees_between_all_pairs_come_soon),
        cmocka_unit_test(stars_fill_machines_in_which_not_all_pairs_are_cabled),
        cmocka_unit_test(stars_reach_what_so_few_trees_can),
        cmocka_unit_test(limited_pairs_fill_links_unlike_in_the_two_directions),
        cmocka_unit_test(pairs_with_hubs_fill_links_behind_switches),
        cmocka_unit_test(depth_is_limited_where_idle_workers_relay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
