/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/packing_random.c: networks nobody thought of: bounds proven by their certificates, plans that
 * reach them, the same plan every time; tiny ones against all partitions; and input that cannot be served. */
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/algorithms.h"
#include "bound/bound.h"
#include "core/alloc.h"
#include "core/random.h"
#include "simulate/simulate.h"
#include "topology/build.h"
#include "verify/verify.h"

#define MANY_TREES "4096" /* no rounding */

static const char *const relay_names[] = {"add", "forward", "none"};

/* Workers 0.., then switches of all abilities; connected; widths by the choice of the caller. */
static banyan_topology *make_network(banyan_random *random, int workers, int switches, int unlike,
                                     double widest)
{
    banyan_topology_builder builder;
    banyan_topology *topology;
    banyan_error err;
    int nodes = workers + switches;

    banyan_topology_builder_init(&builder, "random");
    for (int v = 0; v < nodes; v++) {
        if (v < workers) {
            banyan_topology_add_worker_f(&builder, -1, "w%d", v);
        } else {
            banyan_topology_add_switch_f(&builder, "s%d", v);
            banyan_topology_set_abilities(&builder, v, banyan_random_below(random, 4) == 0,
                                          banyan_random_below(random, 4) == 0);
        }
    }
    for (int v = 1; v < nodes; v++)
        banyan_topology_add_cable(&builder, v, banyan_random_below(random, v),
                                  1 + (widest - 1) * banyan_random_below(random, 8) / 7, 0);
    for (int i = 0; i < 2 * nodes; i++) {
        int a = banyan_random_below(random, nodes), b = banyan_random_below(random, nodes);
        double there = 1 + (widest - 1) * banyan_random_below(random, 8) / 7;

        if (a == b)
            continue;
        banyan_topology_add_link(&builder, a, b, there, 0);
        banyan_topology_add_link(&builder, b, a, unlike && i % 3 == 0 ? there / 2 : there, 0);
    }
    if (banyan_topology_builder_finish(&builder, &topology, &err))
        fail_msg("%s", err.text);
    return topology;
}

static banyan_schedule *plan(const banyan_topology *topology, int active_count, banyan_relays relays,
                             const char *max_trees, int seed)
{
    banyan_parameter parameters[] = {{"relays", relay_names[relays]}, {"max-trees", max_trees}};
    banyan_problem problem = {.topology = topology,
                              .active = topology->workers,
                              .active_count = active_count,
                              .collective = BANYAN_COLLECTIVE_ALLREDUCE,
                              .parameters = parameters,
                              .parameter_count = 2};
    banyan_schedule *schedule;
    banyan_verdict verdict;
    banyan_error err;

    if (banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, &err) ||
        banyan_verify(schedule, topology, &verdict, &err) || banyan_verdict_status(&verdict, &err))
        fail_msg("seed %d: %s", seed, err.text);
    return schedule;
}

/* The part of the bound that a plan reaches. */
static double share_of(const banyan_schedule *schedule, const banyan_topology *topology,
                       const banyan_bound *bound)
{
    banyan_limits limits;
    banyan_error err;

    if (banyan_bandwidth_limit(schedule, topology, &limits, &err))
        fail_msg("%s", err.text);
    return limits.bytes_per_s / bound->allreduce.bytes_per_s;
}

static void check_network(const banyan_topology *topology, int active_count, banyan_relays relays, int seed)
{
    banyan_schedule *first, *second, *whole;
    banyan_bound bound;
    banyan_error err;
    double rounded, before;
    char a[17], b[17];

    if (banyan_bound_find(topology, topology->workers, active_count, relays, &bound, &err)) {
        if (relays == BANYAN_RELAYS_NONE && strstr(err.text, "no path between"))
            return;
        fail_msg("seed %d: %s", seed, err.text);
    }
    if (banyan_bound_check_certificate(topology, topology->workers, active_count, &bound, &err))
        fail_msg("seed %d: %s", seed, err.text);
    first = plan(topology, active_count, relays, "64", seed);
    second = plan(topology, active_count, relays, "64", seed);
    whole = plan(topology, active_count, relays, MANY_TREES, seed);
    banyan_schedule_digest(first, a);
    banyan_schedule_digest(second, b);
    assert_string_equal(a, b);
    rounded = share_of(first, topology, &bound);
    before = share_of(whole, topology, &bound);
    if (!(rounded >= 0.99) || !(before >= 0.999) || !(fmax(rounded, before) <= 1 + 1e-6) ||
        first->flow_count > 64)
        fail_msg("seed %d, relays %s: %.6g of the bound with %d trees, %.6g before rounding", seed,
                 relay_names[relays], rounded, first->flow_count, before);
    banyan_schedule_destroy(whole);
    banyan_schedule_destroy(first);
    banyan_schedule_destroy(second);
    banyan_bound_fini(&bound);
}

TEST(random_networks_are_filled_with_at_most_64_trees_and_always_alike)
{
    int seeds = getenv("BANYAN_TEST_ALL") ? 600 : 60;

    for (int seed = 1; seed <= seeds; seed++) {
        banyan_random random = {(uint64_t)seed};
        int workers = 3 + banyan_random_below(&random, 7), switches = banyan_random_below(&random, 4);
        banyan_topology *topology = make_network(&random, workers, switches, seed % 3 == 0, 8);
        int active_count = workers - banyan_random_below(&random, 2);

        check_network(topology, active_count, (banyan_relays)(seed % 3), seed);
        banyan_topology_destroy(topology);
    }
}

TEST(larger_random_networks_are_filled_too)
{
    int seeds = getenv("BANYAN_TEST_ALL") ? 150 : 9;

    for (int seed = 1; seed <= seeds; seed++) {
        banyan_random random = {(uint64_t)seed * 1009};
        int workers = 10 + banyan_random_below(&random, 15), switches = banyan_random_below(&random, 6);
        banyan_topology *topology = make_network(&random, workers, switches, seed % 3 == 0, 8);
        int active_count = workers - banyan_random_below(&random, 4);

        check_network(topology, active_count, (banyan_relays)(seed / 3 % 3), seed);
        banyan_topology_destroy(topology);
    }
}

/* Every cable its own width, between all workers or as a grid: a vertex of the linear program has as many
 * trees as cables. */
TEST(cables_of_all_widths_are_filled_with_at_most_64_trees)
{
    static const char *const specs[] = {"full:16", "full:24", "torus:4x4x4", "torus:8x8", "mesh:4x8"};
    int seeds = getenv("BANYAN_TEST_ALL") ? 20 : 2;

    for (int seed = 1; seed <= seeds; seed++)
        for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
            banyan_random random = {(uint64_t)seed * 31 + i};
            banyan_topology *topology;
            banyan_schedule *schedule;
            banyan_bound bound;
            banyan_error err;
            double share;

            if (banyan_topology_load(specs[i], &topology, &err))
                fail_msg("%s", err.text);
            for (int k = 0; k < topology->link_count; k++) {
                banyan_link *link = &topology->links[k];

                if (link->src > link->dst)
                    continue;
                link->bytes_per_s *= 0.1 + 0.9 * banyan_random_unit(&random);
                topology->links[banyan_topology_find_link(topology, link->dst, link->src)].bytes_per_s =
                    link->bytes_per_s;
            }
            if (banyan_bound_find(topology, topology->workers, topology->worker_count, BANYAN_RELAYS_ADD,
                                  &bound, &err))
                fail_msg("%s", err.text);
            schedule = plan(topology, topology->worker_count, BANYAN_RELAYS_ADD, "64", seed);
            share = share_of(schedule, topology, &bound);
            if (!(share >= 0.99) || schedule->flow_count > 64)
                fail_msg("seed %d: %s of all widths: %.6g of the bound with %d trees", seed, specs[i], share,
                         schedule->flow_count);
            banyan_schedule_destroy(schedule);
            banyan_bound_fini(&bound);
            banyan_topology_destroy(topology);
        }
}

/* A share of the bound for networks that once fell short: many widths of very many cables, directions unlike
 * without switches, clusters with slower links. The larger ones are for the long check. */
typedef struct {
    const char *spec;
    double narrowest; /* links are by chance from this times their width to all of it, */
    int unlike;       /* each direction by itself, */
    int one_in;       /* one in so many of them */
    int is_long;
} uneven;

static void make_uneven(banyan_topology *topology, const uneven *how, int seed)
{
    banyan_random random = {(uint64_t)seed * 7919};

    for (int k = 0; k < topology->link_count; k++) {
        banyan_link *link = &topology->links[k];
        double factor = how->narrowest + (1 - how->narrowest) * banyan_random_unit(&random);

        if (banyan_random_below(&random, how->one_in) || (!how->unlike && link->src > link->dst))
            continue;
        link->bytes_per_s *= factor;
        if (!how->unlike)
            topology->links[banyan_topology_find_link(topology, link->dst, link->src)].bytes_per_s =
                link->bytes_per_s;
    }
}

TEST(uneven_networks_keep_their_share_of_the_bound)
{
    static const uneven all[] = {
        {"full:16", 0.5, 1, 1, 0},     {"full:16", 0.5, 1, 240, 0},      {"full:32", 0.1, 0, 1, 0},
        {"full:32", 0.5, 0, 6, 0},     {"torus:4x4", 0.5, 1, 1, 0},      {"dgxa100:2", 0.5, 1, 1, 0},
        {"switch:32", 0.5, 1, 1, 0},   {"hosts:4x8", 0.5, 1, 1, 0},      {"fattree:4x8", 0.5, 1, 3, 0},
        {"dgxa100:4", 0.5, 0, 4, 0},   {"full:48", 0.1, 0, 1, 1},        {"full:48", 0.5, 1, 1, 1},
        {"full:64", 0.5, 0, 4, 1},     {"torus:8x8", 0.5, 1, 1, 1},      {"torus:4x4x4", 0.5, 1, 3, 1},
        {"racks:4x4x4", 0.5, 1, 3, 1}, {"abci:64", 0.5, 1, 100, 1},      {"fattree:8x8", 0.5, 1, 3, 1},
        {"dgxa100:32", 0.5, 0, 3, 1},  {"fattree:16x16:4", 0.5, 0, 1, 1}};
    int is_long = getenv("BANYAN_TEST_ALL") != NULL;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int seed = 1; seed <= (is_long ? 3 : 1) && all[i].is_long <= is_long; seed++) {
            banyan_topology *topology;
            banyan_schedule *schedule;
            banyan_bound bound;
            banyan_error err;
            double share;

            if (banyan_topology_load(all[i].spec, &topology, &err))
                fail_msg("%s", err.text);
            make_uneven(topology, &all[i], seed);
            if (banyan_bound_find(topology, topology->workers, topology->worker_count, BANYAN_RELAYS_ADD,
                                  &bound, &err))
                fail_msg("%s", err.text);
            schedule = plan(topology, topology->worker_count, BANYAN_RELAYS_ADD, "64", seed);
            share = share_of(schedule, topology, &bound);
            if (!(share >= 0.99) || !(share <= 1 + 1e-6) || schedule->flow_count > 64)
                fail_msg("seed %d: %s (case %zu): %.6g of the bound with %d trees", seed, all[i].spec, i,
                         share, schedule->flow_count);
            banyan_schedule_destroy(schedule);
            banyan_bound_fini(&bound);
            banyan_topology_destroy(topology);
        }
}

/* All arcs can be full: what the division by cuts came to only after many rounds, and not always to the
 * end. */
TEST(bounds_of_unlike_tori_are_those_of_all_links)
{
    static const char *const specs[] = {"torus:3x3", "torus:5x5", "torus:3x5"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        banyan_topology *topology;
        banyan_bound bound;
        banyan_error err;
        double all = 0;
        uneven how = {specs[i], 0.8, 1, 1, 0};

        if (banyan_topology_load(specs[i], &topology, &err))
            fail_msg("%s", err.text);
        make_uneven(topology, &how, 3);
        for (int k = 0; k < topology->link_count; k++)
            all += topology->links[k].bytes_per_s / (2 * (topology->worker_count - 1));
        if (banyan_bound_find(topology, topology->workers, topology->worker_count, BANYAN_RELAYS_ADD, &bound,
                              &err))
            fail_msg("%s", err.text);
        if (!(fabs(bound.allreduce.bytes_per_s / all - 1) < 1e-6))
            fail_msg("%s: %.9g, all links allow %.9g", specs[i], bound.allreduce.bytes_per_s, all);
        if (banyan_bound_check_certificate(topology, topology->workers, topology->worker_count, &bound, &err))
            fail_msg("%s: %s", specs[i], err.text);
        banyan_bound_fini(&bound);
        banyan_topology_destroy(topology);
    }
}

/* The least crossing capacity over parts less one, over every partition: what Tutte and Nash-Williams say. */
static double worst_partition(const banyan_topology *topology, int *part, int node, int parts)
{
    double best = HUGE_VAL;

    if (node == topology->node_count) {
        double crossing = 0;

        for (int i = 0; i < topology->link_count; i++)
            if (part[topology->links[i].src] != part[topology->links[i].dst])
                crossing += topology->links[i].bytes_per_s / 2;
        return parts > 1 ? crossing / (parts - 1) : HUGE_VAL;
    }
    for (part[node] = 0; part[node] <= parts; part[node]++) {
        int mine = part[node];
        double found = worst_partition(topology, part, node + 1, mine == parts ? parts + 1 : parts);

        best = found < best ? found : best;
        part[node] = mine;
    }
    return best;
}

TEST(bounds_of_tiny_networks_are_those_of_their_worst_partition)
{
    for (int seed = 1; seed <= 40; seed++) {
        banyan_random random = {(uint64_t)seed * 77};
        int workers = 2 + banyan_random_below(&random, 6), part[8];
        banyan_topology *topology = make_network(&random, workers, 0, 0, 8);
        double wanted = worst_partition(topology, part, 0, 0);
        banyan_bound bound;
        banyan_error err;

        if (banyan_bound_find(topology, topology->workers, workers, BANYAN_RELAYS_ADD, &bound, &err))
            fail_msg("seed %d: %s", seed, err.text);
        if (!(fabs(bound.allreduce.bytes_per_s / wanted - 1) < 1e-9))
            fail_msg("seed %d: %.12g, but some partition allows %.12g", seed, bound.allreduce.bytes_per_s,
                     wanted);
        banyan_bound_fini(&bound);
        banyan_topology_destroy(topology);
    }
}

TEST(bandwidths_from_one_byte_to_a_terabyte_a_second_are_no_trouble)
{
    for (int seed = 1; seed <= 12; seed++) {
        banyan_random random = {(uint64_t)seed * 13};
        banyan_topology *topology = make_network(&random, 6, seed % 3, seed % 2, 1e12);
        banyan_bound bound;
        banyan_error err;

        if (banyan_bound_find(topology, topology->workers, 6, BANYAN_RELAYS_ADD, &bound, &err))
            assert_true(err.text[0] != 0); /* a sentence, and no wrong number */
        else if (banyan_bound_check_certificate(topology, topology->workers, 6, &bound, &err))
            fail_msg("seed %d: %s", seed, err.text);
        else
            banyan_bound_fini(&bound);
        banyan_topology_destroy(topology);
    }
}

TEST(workers_without_a_way_between_them_are_named)
{
    banyan_topology_builder builder;
    banyan_topology *topology;
    banyan_schedule *schedule;
    banyan_bound bound;
    banyan_error err;

    banyan_topology_builder_init(&builder, "islands");
    for (int v = 0; v < 4; v++)
        banyan_topology_add_worker_f(&builder, -1, "w%d", v);
    banyan_topology_add_cable(&builder, 0, 1, 1, 0);
    banyan_topology_add_cable(&builder, 2, 3, 1, 0);
    assert_int_equal(banyan_topology_builder_finish(&builder, &topology, &err), BANYAN_SUCCESS);
    banyan_problem problem = {.topology = topology,
                              .active = topology->workers,
                              .active_count = 4,
                              .collective = BANYAN_COLLECTIVE_ALLREDUCE};
    assert_int_equal(banyan_bound_find(topology, topology->workers, 4, BANYAN_RELAYS_ADD, &bound, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "w2");
    assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "w2");
    banyan_topology_destroy(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_networks_are_filled_with_at_most_64_trees_and_always_alike),
        cmocka_unit_test(larger_random_networks_are_filled_too),
        cmocka_unit_test(cables_of_all_widths_are_filled_with_at_most_64_trees),
        cmocka_unit_test(uneven_networks_keep_their_share_of_the_bound),
        cmocka_unit_test(bounds_of_unlike_tori_are_those_of_all_links),
        cmocka_unit_test(bounds_of_tiny_networks_are_those_of_their_worst_partition),
        cmocka_unit_test(bandwidths_from_one_byte_to_a_terabyte_a_second_are_no_trouble),
        cmocka_unit_test(workers_without_a_way_between_them_are_named),
    };

    return cmocka_run_group_tests_name("packing_random", tests, NULL, NULL);
}
