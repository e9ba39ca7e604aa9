/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/forest.c: forest reaches the bound, proven, with few and shallow trees, and always the same
 * way. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "reference.h"

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "core/random.h"
#include "simulate/fluid.h"
#include "simulate/paths.h"
#include "simulate/simulate.h"
#include "solve/net/work.h"
#include "topology/build.h"
#include "verify/verify.h"

typedef struct {
    banyan_schedule *schedule;
    banyan_limits limits;
} outcome;

static outcome plan_for(size_t bytes, const banyan_topology *topology, const int *active, int active_count,
                        const banyan_parameter *parameters, int parameter_count)
{
    banyan_problem problem = {.topology = topology,
                              .active = active,
                              .active_count = active_count,
                              .collective = BANYAN_COLLECTIVE_ALLREDUCE,
                              .bytes = bytes,
                              .parameters = parameters,
                              .parameter_count = parameter_count};
    outcome result;
    banyan_verdict verdict;
    banyan_error err;

    if (banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &result.schedule, &err) ||
        banyan_verify(result.schedule, topology, &verdict, &err) || banyan_verdict_status(&verdict, &err) ||
        banyan_bandwidth_limit(result.schedule, topology, &result.limits, &err))
        fail_msg("%s: %s", topology->name, err.text);
    return result;
}

static outcome plan(const banyan_topology *topology, const int *active, int active_count,
                    const banyan_parameter *parameters, int parameter_count)
{
    return plan_for(0, topology, active, active_count, parameters, parameter_count);
}

static outcome plan_spec(const char *spec)
{
    banyan_topology *topology;
    banyan_error err;
    outcome result;
    int *active = NULL, count = 0;

    if (banyan_topology_load(spec, &topology, &err) ||
        banyan_topology_parse_active(topology, NULL, &active, &count, &err))
        fail_msg("%s", err.text);
    result = plan(topology, active, count, NULL, 0);
    banyan_free(active);
    banyan_topology_destroy(topology);
    return result;
}

static const char *const relay_names[] = {"add", "forward", "none"};

static void check_share(const reference *ref)
{
    banyan_parameter relays = {"relays", relay_names[ref->relays]};
    outcome result = plan(ref->topology, ref->active, ref->active_count, &relays, 1);
    double best = reference_rate(ref, "allreduce");

    if (best > 0 &&
        !(result.limits.bytes_per_s >= 0.999 * best && result.limits.bytes_per_s <= best * (1 + 1e-9)))
        fail_msg("%s: %g of the bound", ref->name, result.limits.bytes_per_s / best);
    assert_true(result.schedule->flow_count <= 64);
    banyan_schedule_destroy(result.schedule);
}

TEST(reference_networks_are_filled_to_the_bound_with_at_most_64_trees)
{
    for_each_reference(check_share);
}

TEST(trees_are_shallow)
{
    static const struct {
        const char *spec;
        int depth;
    } cases[] = {
        {"torus:4x4", 5}, {"torus:8x8", 9}, {"torus:4x4x4", 7}, {"mesh:8x8", 12}, {"fattree:8x8:4", 4}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome result = plan_spec(cases[i].spec);

        if (result.limits.depth > cases[i].depth)
            fail_msg("%s: %d hops, not %d", cases[i].spec, result.limits.depth, cases[i].depth);
        banyan_schedule_destroy(result.schedule);
    }
}

/* Also where idle workers are not there. */
TEST(all_pairs_cabled_alike_have_stars)
{
    static const struct {
        const char *spec;
        int active_count;
    } cases[] = {{"full:4", 4}, {"full:17", 17}, {"full:64", 64}, {"full:64", 48}};
    banyan_parameter none = {"relays", "none"};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_topology *topology;
        banyan_error err;
        outcome result;

        assert_int_equal(banyan_topology_load(cases[i].spec, &topology, &err), BANYAN_SUCCESS);
        result = plan(topology, topology->workers, cases[i].active_count, &none, 1);
        assert_int_equal(result.limits.depth, 1);
        assert_true(
            fabs(result.limits.bytes_per_s / (cases[i].active_count / 2.0 * topology->links[0].bytes_per_s) -
                 1) < 1e-9);
        banyan_schedule_destroy(result.schedule);
        banyan_topology_destroy(topology);
    }
}

TEST(degraded_grids_have_shallow_trees_too)
{
    static const char *const specs[] = {"torus:8x8,down=g0-g8", "torus:8x8,down=g34-g35",
                                        "torus:8x8,degrade=g13-g21:0.5", "torus:8x8,down=g0-g1,down=g9-g17"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        outcome result = plan_spec(specs[i]);

        if (result.limits.depth > 10)
            fail_msg("%s: %d hops", specs[i], result.limits.depth);
        banyan_schedule_destroy(result.schedule);
    }
}

TEST(the_same_network_gives_the_same_schedule)
{
    static const char *const specs[] = {"torus:4x4", "dgxa100:2", "hosts:3+3+4", "line:4,degrade=g0->g1:0.5"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        outcome first = plan_spec(specs[i]), second = plan_spec(specs[i]);
        char a[17], b[17];

        banyan_schedule_digest(first.schedule, a);
        banyan_schedule_digest(second.schedule, b);
        assert_string_equal(a, b);
        banyan_schedule_destroy(first.schedule);
        banyan_schedule_destroy(second.schedule);
    }
}

/* Workers and switches at random, some cables slower one way, some workers idle. */
static banyan_topology *random_network(banyan_random *random, int unlike)
{
    banyan_topology_builder builder;
    banyan_topology *topology;
    int workers = 3 + banyan_random_below(random, 5), nodes = workers + banyan_random_below(random, 4);

    banyan_topology_builder_init(&builder, "random");
    for (int v = 0; v < nodes; v++) {
        if (v < workers)
            banyan_topology_add_worker_f(&builder, -1, "w%d", v);
        else
            banyan_topology_add_switch_f(&builder, "s%d", v);
        if (v > 0)
            banyan_topology_add_cable(&builder, v, banyan_random_below(random, v),
                                      1 + banyan_random_below(random, 9), 0);
    }
    for (int i = 0; i < 2 * nodes; i++) {
        int a = banyan_random_below(random, nodes), b = banyan_random_below(random, nodes);
        double there = 1 + banyan_random_below(random, 9),
               back = unlike ? 1 + banyan_random_below(random, 9) : there;

        if (a == b)
            continue;
        banyan_topology_add_link(&builder, a, b, there, 0);
        banyan_topology_add_link(&builder, b, a, back, 0);
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &topology, NULL), BANYAN_SUCCESS);
    return topology;
}

TEST(random_networks_are_filled_to_the_bound)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        banyan_random random = {seed};
        banyan_topology *topology = random_network(&random, (int)(seed % 3 == 0));
        int active_count = topology->worker_count - (int)(seed % 2);
        banyan_relays relays = seed % 4 == 1 ? BANYAN_RELAYS_FORWARD : BANYAN_RELAYS_ADD;
        banyan_parameter parameter = {"relays", relay_names[relays]};
        outcome result = plan(topology, topology->workers, active_count, &parameter, 1);
        banyan_bound bound;
        banyan_error err;

        if (banyan_bound_find(topology, topology->workers, active_count, relays, &bound, &err) ||
            banyan_bound_check_certificate(topology, topology->workers, active_count, &bound, &err))
            fail_msg("seed %d: %s", (int)seed, err.text);
        if (!(result.limits.bytes_per_s >= 0.999 * bound.allreduce.bytes_per_s &&
              result.limits.bytes_per_s <= bound.allreduce.bytes_per_s * (1 + 1e-6)))
            fail_msg("seed %d: %g of the bound %g", (int)seed,
                     result.limits.bytes_per_s / bound.allreduce.bytes_per_s, bound.allreduce.bytes_per_s);
        banyan_bound_fini(&bound);
        banyan_schedule_destroy(result.schedule);
        banyan_topology_destroy(topology);
    }
}

/* A ring of three: one cable carries a few millionths of the vector, in two trees, and must not be given
 * more. */
TEST(a_thin_cable_beside_wide_ones_does_not_slow_the_plan_down)
{
    banyan_topology_builder builder;
    banyan_topology *topology;
    outcome found;

    banyan_topology_builder_init(&builder, "thin");
    for (int v = 0; v < 3; v++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", v);
    for (int v = 0; v < 3; v++)
        banyan_topology_add_cable(&builder, v, (v + 1) % 3, v < 2 ? 1e6 : 7.3, 0);
    assert_int_equal(banyan_topology_builder_finish(&builder, &topology, NULL), BANYAN_SUCCESS);
    found = plan(topology, topology->workers, 3, NULL, 0);
    if (found.limits.bytes_per_s < 0.999 * (2e6 + 7.3) / 2)
        fail_msg("%.9g of %.9g", found.limits.bytes_per_s, (2e6 + 7.3) / 2);
    banyan_schedule_destroy(found.schedule);
    banyan_topology_destroy(topology);
}

static void check_refusal(const char *key, const char *value, const char *sentence)
{
    banyan_parameter parameter = {key, value};
    banyan_topology *topology;
    banyan_schedule *schedule;
    banyan_error err;

    assert_int_equal(banyan_topology_load("ring:4", &topology, &err), BANYAN_SUCCESS);
    banyan_problem problem = {.topology = topology,
                              .active = topology->workers,
                              .active_count = 4,
                              .collective = BANYAN_COLLECTIVE_ALLREDUCE,
                              .parameters = &parameter,
                              .parameter_count = 1};
    assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, sentence);
    banyan_topology_destroy(topology);
}

TEST(wrong_options_are_named)
{
    check_refusal("relays", "perhaps", "relays is 'perhaps'");
    check_refusal("stages", "three", "stages is 'three'");
    check_refusal("method", "magic", "method is 'magic'");
    check_refusal("max-trees", "0", "max-trees");
}

TEST(fewer_trees_when_asked)
{
    banyan_topology *topology;
    banyan_parameter parameter = {"max-trees", "3"};
    banyan_error err;
    outcome result;

    assert_int_equal(banyan_topology_load("torus:4x4", &topology, &err), BANYAN_SUCCESS);
    result = plan(topology, topology->workers, topology->worker_count, &parameter, 1);
    assert_true(result.schedule->flow_count <= 3);
    assert_true(result.limits.bytes_per_s > 0.5 * 32 / 15 * topology->links[0].bytes_per_s);
    banyan_schedule_destroy(result.schedule);
    banyan_topology_destroy(topology);
}

/* A tree carries what a cable does, and so few trees need not share one. */
TEST(too_few_trees_for_the_bound_fill_a_cable_each)
{
    banyan_topology *topology;
    banyan_parameter parameter = {"max-trees", "4"};
    banyan_error err;
    outcome result;

    assert_int_equal(banyan_topology_load("full:40", &topology, &err), BANYAN_SUCCESS);
    result = plan(topology, topology->workers, topology->worker_count, &parameter, 1);
    assert_true(result.limits.bytes_per_s >= 0.999 * 4 * topology->links[0].bytes_per_s);
    banyan_schedule_destroy(result.schedule);
    banyan_topology_destroy(topology);
}

TEST(the_ellipsoid_method_refuses_stages)
{
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    const char *pairs[] = {"method", "ellipsoid", "stages", "sequential", NULL};
    banyan_topology *topology;
    banyan_plan *made;
    banyan_error err;

    assert_int_equal(banyan_topology_generate("ring:4", &topology, NULL), BANYAN_SUCCESS);
    config.algorithm = "forest";
    config.parameters = pairs;
    assert_int_equal(banyan_plan_create(topology, &config, &made, &err), BANYAN_INVALID_ARGUMENT);
    assert_non_null(
        strstr(err.text, "the ellipsoid method finds pipelined trees only: stages 'sequential' need"));
    banyan_topology_destroy(topology);
}

/* Symmetric, asymmetric and one-way links; idle workers that add, forward or keep out. */
TEST(the_ellipsoid_method_finds_the_same_rate)
{
    static const struct {
        const char *spec, *active, *relays;
    } cases[] = {{"ring:5", NULL, "add"},
                 {"mesh:3x3", NULL, "add"},
                 {"hosts:3+3+4", NULL, "add"},
                 {"line:2", NULL, "add"},
                 {"line:3,degrade=g0->g1:0.5", NULL, "add"},
                 {"ring:5,degrade=g0->g1:0.5,degrade=g3->g2:0.3", NULL, "add"},
                 {"kautz:6x2", NULL, "add"},
                 {"hosts:2+2,degrade=h0->net:0.5", NULL, "add"},
                 {"mesh:3x3", "0,2,6,8", "add"},
                 {"mesh:3x3", "0,2,6,8", "forward"},
                 {"mesh:2x3", "0,1,2,3", "none"},
                 {"ring:5,degrade=g0->g1:0.5", "0,2,3", "add"},
                 {"kautz:6x2", "0,2,4", "add"},
                 {"kautz:6x2", "0,2,4", "forward"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_parameter parameters[] = {{"relays", cases[i].relays}, {"method", "ellipsoid"}};
        outcome columns, ellipsoid;
        banyan_topology *topology;
        banyan_error err;
        int *active = NULL, count = 0;

        if (banyan_topology_load(cases[i].spec, &topology, &err) ||
            banyan_topology_parse_active(topology, cases[i].active, &active, &count, &err))
            fail_msg("%s", err.text);
        columns = plan(topology, active, count, parameters, 1);
        ellipsoid = plan(topology, active, count, parameters, 2);
        if (!(fabs(ellipsoid.limits.bytes_per_s / columns.limits.bytes_per_s - 1) < 1e-3))
            fail_msg("%s, %s, relays %s: %g and %g", cases[i].spec, cases[i].active ? cases[i].active : "all",
                     cases[i].relays, ellipsoid.limits.bytes_per_s, columns.limits.bytes_per_s);
        banyan_schedule_destroy(columns.schedule);
        banyan_schedule_destroy(ellipsoid.schedule);
        banyan_free(active);
        banyan_topology_destroy(topology);
    }
}

TEST(the_ellipsoid_method_says_for_which_networks_it_is)
{
    static const char *const cases[][2] = {{"torus:8x8", "at most 40 cables, and this one has 128"},
                                           {"kautz:24x2", "at most 40 one-way links, and this one has 48"}};
    const char *pairs[] = {"method", "ellipsoid", NULL};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
        banyan_topology *topology;
        banyan_plan *made;
        banyan_error err;

        assert_int_equal(banyan_topology_generate(cases[i][0], &topology, NULL), BANYAN_SUCCESS);
        config.algorithm = "forest";
        config.parameters = pairs;
        assert_int_equal(banyan_plan_create(topology, &config, &made, &err), BANYAN_UNSUPPORTED);
        if (!strstr(err.text, cases[i][1]))
            fail_msg("%s", err.text);
        banyan_topology_destroy(topology);
    }
}

/* One way for all networks: trees that grow, and rebalancing. */
TEST(grown_trees_come_near_to_the_bound_everywhere)
{
    static const struct {
        const char *spec;
        int active; /* 0: all */
    } cases[] = {{"torus:4x4", 0}, {"hosts:2+3+3", 0}, {"fattree:4x4", 0}, {"bigraph:4x8", 0},
                 {"dgx1", 0},      {"switch:16", 8},   {"torus:4x8", 20},  {"dgxa100:4", 24},
                 {"mesh:4x4", 0},  {"full:8", 5},      {"kautz:16x3", 0},  {"racks:2x4x4", 0}};
    const banyan_parameter parameter = {"method", "grow"};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_topology *topology;
        double reached;
        banyan_rate rate;
        banyan_error err;
        outcome result;
        int count;

        assert_int_equal(banyan_topology_load(cases[i].spec, &topology, &err), BANYAN_SUCCESS);
        count = cases[i].active ? cases[i].active : topology->worker_count;
        assert_int_equal(banyan_bound_allreduce(topology, topology->workers, count, BANYAN_RELAYS_ADD, &rate,
                                                &reached, &err),
                         BANYAN_SUCCESS);
        result = plan(topology, topology->workers, count, &parameter, 1);
        if (result.limits.bytes_per_s < 0.97 * rate.bytes_per_s || result.schedule->flow_count > 64)
            fail_msg("%s with %d active: %g of the bound", cases[i].spec, count,
                     result.limits.bytes_per_s / rate.bytes_per_s);
        banyan_rate_fini(&rate);
        banyan_schedule_destroy(result.schedule);
        banyan_topology_destroy(topology);
    }
}

/* Machines that are sold, and families of low diameter. */
TEST(named_machines_and_low_diameter_networks_are_filled)
{
    static const char *const specs[] = {
        "dgxh100:4",    "dgxb200:4", "nvl72:2",     "mi300x:4",        "rails:1x16x8",
        "spark:3",      "spark:6",   "tpuv4:4x4x4", "dragonfly:9x4x2", "dragonfly+:5x2x2x2",
        "hyperx:4x4:4", "slimfly:5", "kautz:24x2"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        outcome result = plan_spec(specs[i]);
        banyan_topology *topology;
        banyan_rate rate;
        banyan_error err;
        double reached;

        if (banyan_topology_load(specs[i], &topology, &err) ||
            banyan_bound_allreduce(topology, topology->workers, topology->worker_count, BANYAN_RELAYS_ADD,
                                   &rate, &reached, &err))
            fail_msg("%s: %s", specs[i], err.text);
        if (!(result.limits.bytes_per_s >= 0.99 * rate.bytes_per_s))
            fail_msg("%s: %g of the bound", specs[i], result.limits.bytes_per_s / rate.bytes_per_s);
        banyan_rate_fini(&rate);
        banyan_schedule_destroy(result.schedule);
        banyan_topology_destroy(topology);
    }
}

/* How many hops, and which part of the rate without a limit, max-depth gives. */
static void check_depth(const char *spec, int max_depth, double share)
{
    char text[16];
    banyan_parameter parameter = {"max-depth", text};
    outcome free_depth = plan_spec(spec), limited;
    banyan_topology *topology;
    banyan_error err;

    snprintf(text, sizeof text, "%d", max_depth);
    assert_int_equal(banyan_topology_load(spec, &topology, &err), BANYAN_SUCCESS);
    limited = plan(topology, topology->workers, topology->worker_count, &parameter, 1);
    if (limited.limits.depth > max_depth ||
        !(limited.limits.bytes_per_s > share * free_depth.limits.bytes_per_s))
        fail_msg("%s, max-depth %d: %d hops, %g of the rate", spec, max_depth, limited.limits.depth,
                 limited.limits.bytes_per_s / free_depth.limits.bytes_per_s);
    banyan_schedule_destroy(free_depth.schedule);
    banyan_schedule_destroy(limited.schedule);
    banyan_topology_destroy(topology);
}

TEST(depth_is_limited_behind_switches_too)
{
    check_depth("fattree:8x8:4", 2, 0.99);
    check_depth("fattree:8x8:4", 1, 0.25);
    check_depth("racks:2x2x4", 3, 0.999);
    check_depth("racks:2x2x4", 2, 0.35);
    check_depth("dgxa100:2", 2, 0.1);
    check_depth("hosts:3+3+4", 1, 0.25);
}

/* Options that cannot be kept, or that say nothing for the trees that are asked for. */
TEST(what_options_cannot_do_is_refused_in_a_sentence)
{
    static const struct {
        const char *spec;
        banyan_parameter parameters[2];
        const char *says;
    } cases[] = {
        {"torus:4x4",
         {{"max-depth", "3"}, {"relays", "add"}},
         "max-depth is 3, but the trees that were found here have depth 4"},
        {"dgx1",
         {{"stages", "sequential"}, {"max-depth", "2"}},
         "max-depth needs stages 'pipelined' and method 'grow', but these are 'sequential' and 'grow'"},
        {"dgx1",
         {{"method", "ellipsoid"}, {"max-depth", "2"}},
         "max-depth needs stages 'pipelined' and method 'grow', but these are 'pipelined' and 'ellipsoid'"},
        {"dgx1", {{"trees", "grown"}, {"max-trees", "3"}}, "nothing to choose for the option 'max-trees'"},
        {"dgx1", {{"stages", "overlap"}, {"trees", "grown"}}, "nothing to choose for the option 'stages'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_topology *topology;
        banyan_schedule *schedule;
        banyan_error err = {""};

        assert_int_equal(banyan_topology_load(cases[i].spec, &topology, &err), BANYAN_SUCCESS);
        banyan_problem problem = {.topology = topology,
                                  .collective = BANYAN_COLLECTIVE_ALLREDUCE,
                                  .active = topology->workers,
                                  .active_count = topology->worker_count,
                                  .parameters = cases[i].parameters,
                                  .parameter_count = 2};

        assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, &err),
                         BANYAN_INVALID_ARGUMENT);
        CHECK_SAYS(err, cases[i].says);
        banyan_topology_destroy(topology);
    }
}

/* Every link, each way for itself, at 0.5 to 1 of its bandwidth. */
static void make_unlike(banyan_topology *topology, uint64_t seed)
{
    banyan_random random = {seed};

    for (int i = 0; i < topology->link_count; i++)
        topology->links[i].bytes_per_s *= 0.1 * (5 + banyan_random_below(&random, 6));
}

TEST(unlike_directions_behind_switches_are_filled_with_64_trees_and_more_so_with_many)
{
    static const char *const specs[] = {"switch:24", "fattree:4x8:2", "racks:2x4x4",
                                        "hosts:6x4", "dgxa100:3",     "dgxa100:8"};
    static const double share[] = {0.99, 0.999};
    banyan_parameter trees[] = {{"max-trees", "64"}, {"max-trees", "1000"}};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        banyan_topology *topology;
        banyan_rate rate;
        banyan_error err;
        double reached;

        assert_int_equal(banyan_topology_load(specs[i], &topology, &err), BANYAN_SUCCESS);
        make_unlike(topology, i + 1);
        if (banyan_bound_allreduce(topology, topology->workers, topology->worker_count, BANYAN_RELAYS_ADD,
                                   &rate, &reached, &err))
            fail_msg("%s: %s", specs[i], err.text);
        for (int many = 0; many < 2; many++) {
            outcome result = plan(topology, topology->workers, topology->worker_count, &trees[many], 1);

            if (result.limits.bytes_per_s < share[many] * rate.bytes_per_s)
                fail_msg("%s, at most %s trees: %g of the bound", specs[i], trees[many].value,
                         result.limits.bytes_per_s / rate.bytes_per_s);
            banyan_schedule_destroy(result.schedule);
        }
        banyan_rate_fini(&rate);
        banyan_topology_destroy(topology);
    }
}

TEST(behind_switches_trees_of_equal_weight_reach_the_bound)
{
    static const char *const specs[] = {"fattree:4x4", "fattree:3x5:2.5", "bigraph:4x8", "dgxa100:4",
                                        "racks:2x2x4", "pcie:4x4:10",     "switch:7"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        outcome result = plan_spec(specs[i]);
        const banyan_schedule *s = result.schedule;

        for (int p = 0; p < s->piece_count; p++)
            if (s->cut[p + 1] - s->cut[p] != s->cut[1])
                fail_msg("%s: tree %d has another weight", specs[i], p);
        banyan_schedule_destroy(result.schedule);
    }
}

/* Rounds are there for this: whoever keeps them never waits for a link. */
static void check_rounds(const char *spec)
{
    outcome result = plan_spec(spec);
    const banyan_schedule *s = result.schedule;
    banyan_topology *topology;
    banyan_paths *paths;
    banyan_error err;
    int *used;

    assert_int_equal(banyan_topology_load(spec, &topology, &err), BANYAN_SUCCESS);
    assert_int_equal(banyan_paths_find(s, topology, &paths, &err), BANYAN_SUCCESS);
    used = banyan_alloc((size_t)topology->link_count, sizeof *used);
    for (size_t i = 0; i < s->transfer_count; i++)
        for (int j = paths->first[paths->path_of[i]]; j < paths->first[paths->path_of[i] + 1]; j++) {
            if (used[paths->link[j]] == s->transfers[i].round + 1)
                fail_msg("%s: link %d is used twice in round %d", spec, paths->link[j],
                         s->transfers[i].round);
            used[paths->link[j]] = s->transfers[i].round + 1;
        }
    banyan_free(used);
    banyan_paths_destroy(paths);
    banyan_topology_destroy(topology);
    banyan_schedule_destroy(result.schedule);
}

TEST(no_link_is_used_twice_in_a_round)
{
    static const char *const specs[] = {"torus:4x4", "mesh:3x7",    "dgx1",   "fattree:8x8:4",
                                        "dgxa100:2", "hosts:3+3+4", "ring:5", "line:4,degrade=g0->g1:0.5"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        check_rounds(specs[i]);
}

/* The trade of depth, trees and rate: no fixed number of trees does much better at any size. */
TEST(the_number_of_trees_suits_the_size)
{
    static const char *const counts[] = {"1", "2", "4", "8", "16", "32", "64"};
    banyan_topology *topology;
    banyan_error err;

    assert_int_equal(banyan_topology_load("torus:4x4", &topology, &err), BANYAN_SUCCESS);
    for (size_t bytes = 64; bytes <= (size_t)1 << 30; bytes *= 16) {
        double chosen_s = 0, best_s = HUGE_VAL;

        for (int i = -1; i < 7; i++) {
            banyan_parameter parameter = {"max-trees", i < 0 ? "64" : counts[i]};
            banyan_problem problem = {.topology = topology,
                                      .active = topology->workers,
                                      .active_count = topology->worker_count,
                                      .collective = BANYAN_COLLECTIVE_ALLREDUCE,
                                      .bytes = i < 0 ? bytes : 0,
                                      .parameters = &parameter,
                                      .parameter_count = 1};
            banyan_schedule *s;
            banyan_fluid_result r;

            if (banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &s, &err) ||
                banyan_fluid(s, topology, bytes, NULL, &r, &err))
                fail_msg("%s", err.text);
            if (i < 0)
                chosen_s = r.timeline->total_s;
            else
                best_s = fmin(best_s, r.timeline->total_s);
            banyan_fluid_fini(&r);
            banyan_schedule_destroy(s);
        }
        print_message("%10zu bytes: %.4g us, the best fixed number of trees %.4g us\n", bytes, 1e6 * chosen_s,
                      1e6 * best_s);
        assert_true(chosen_s <= 1.25 * best_s);
    }
    banyan_topology_destroy(topology);
}

/* The paper's systems on one network: the time in many slices agrees with what the stages add up to. Of
 * several best packings the processor's rounding decides which is found, and some need links that share, some
 * links that serve messages in turn, for no tree to get ahead of the others: the faster of the two counts. */
static double simulated_rate(const banyan_topology *topology, const int *active, int count,
                             const char *stages)
{
    const double bytes = (double)((size_t)1 << 40);
    banyan_parameter parameter = {"stages", stages};
    outcome result = plan_for((size_t)bytes, topology, active, count, &parameter, 1);
    double rate = 0;

    for (int i = 0; i < 2; i++) {
        banyan_fluid_options options = {.slice_bytes = (size_t)1 << 28,
                                        .service = i ? BANYAN_SERVICE_TURNS : BANYAN_SERVICE_SHARED};
        banyan_fluid_result r;
        banyan_error err;

        if (banyan_fluid(result.schedule, topology, (size_t)bytes, &options, &r, &err))
            fail_msg("%s", err.text);
        rate = fmax(rate, bytes / r.timeline->total_s);
        banyan_fluid_fini(&r);
    }
    print_message("%-12s %.4g bytes/s, simulated %.4g\n", stages, result.limits.bytes_per_s, rate);
    assert_true(rate <= result.limits.bytes_per_s * (1 + 1e-9) && rate > 0.98 * result.limits.bytes_per_s);
    assert_int_equal(result.schedule->barrier > 0, strcmp(stages, "pipelined") != 0);
    banyan_schedule_destroy(result.schedule);
    return rate;
}

TEST(stages_take_as_long_as_their_rates_say)
{
    static const int some[] = {0, 1, 4, 6};
    banyan_topology *topology;
    double pipelined, sequential, overlap;
    banyan_error err;

    assert_int_equal(banyan_topology_load("dgx1,latency=0s", &topology, &err), BANYAN_SUCCESS);
    pipelined = simulated_rate(topology, some, 4, "pipelined");
    sequential = simulated_rate(topology, some, 4, "sequential");
    overlap = simulated_rate(topology, some, 4, "overlap");
    /* 14/3, 4 and 4 links' worth: equal directions gain nothing by the paper's overlap. */
    assert_true(fabs(sequential / pipelined - 6.0 / 7) < 0.02);
    assert_true(overlap < 0.88 * pipelined);
    banyan_topology_destroy(topology);
}

/* Half of the workers active (step 1: the first ones, 2: every second one), the others help: the bound is
 * that of cuts, and trees come near to it. */
static void check_half(const char *spec, int step, double least)
{
    banyan_topology *topology;
    banyan_error err;
    banyan_rate rate;
    double reached;
    outcome result;
    int active[256], count;

    if (banyan_topology_load(spec, &topology, &err))
        fail_msg("%s: %s", spec, err.text);
    count = topology->worker_count / 2;
    for (int i = 0; i < count; i++)
        active[i] = topology->workers[i * step];
    if (banyan_bound_allreduce(topology, active, count, BANYAN_RELAYS_ADD, &rate, &reached, &err))
        fail_msg("%s: %s", spec, err.text);
    result = plan_for(0, topology, active, count, NULL, 0);
    if (!(result.limits.bytes_per_s >= least * rate.bytes_per_s) || result.schedule->flow_count > 64)
        fail_msg("%s: %g of the bound with %d trees", spec, result.limits.bytes_per_s / rate.bytes_per_s,
                 result.schedule->flow_count);
    assert_true(result.limits.bytes_per_s <= rate.bytes_per_s * (1 + 1e-9));
    banyan_schedule_destroy(result.schedule);
    banyan_rate_fini(&rate);
    banyan_topology_destroy(topology);
}

TEST(tori_with_half_of_the_workers_idle_are_filled)
{
    check_half("torus:6x6", 1, 0.99);
    check_half("torus:8x8", 1, 0.99);
    check_half("mesh:6x6", 1, 0.99);
    check_half("torus:6x6", 2, 0.99);
    check_half("torus:4x4x4", 1, 0.99);
    check_half("torus:4x4x4", 2, 0.99);
    if (getenv("BANYAN_TEST_ALL"))
        check_half("torus:16x16", 1, 0.99);
}

/* Workers and switches with seven cables each, of many widths: the best packing has some hundred trees. */
TEST(dense_networks_with_switches_lose_little_to_the_number_of_trees)
{
    banyan_random random = {2};
    banyan_topology_builder builder;
    banyan_topology *topology;
    banyan_bound bound;
    outcome result;
    banyan_error err;

    banyan_topology_builder_init(&builder, "dense");
    for (int v = 0; v < 30; v++)
        if (v < 24)
            banyan_topology_add_worker_f(&builder, -1, "w%d", v);
        else
            banyan_topology_add_switch_f(&builder, "s%d", v);
    for (int i = 0; i < 105; i++) {
        int a = i < 30 ? i : banyan_random_below(&random, 30), step = 1 + banyan_random_below(&random, 28);

        banyan_topology_add_cable(&builder, a, (a + (i < 30 ? 1 : step)) % 30,
                                  4 + banyan_random_below(&random, 4), 0);
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &topology, &err), BANYAN_SUCCESS);
    assert_int_equal(banyan_bound_find(topology, topology->workers, 18, BANYAN_RELAYS_ADD, &bound, &err),
                     BANYAN_SUCCESS);
    result = plan_for(0, topology, topology->workers, 18, NULL, 0);
    if (result.schedule->flow_count > 64 ||
        !(result.limits.bytes_per_s >= 0.99 * bound.allreduce.bytes_per_s))
        fail_msg("%d trees reach %g", result.schedule->flow_count,
                 result.limits.bytes_per_s / bound.allreduce.bytes_per_s);
    banyan_schedule_destroy(result.schedule);
    banyan_bound_fini(&bound);
    banyan_topology_destroy(topology);
}

/* Cables between all pairs, wider inside machines: the best packing has hundreds of trees. */
TEST(all_pairs_cabled_take_no_more_trees_than_allowed)
{
    banyan_topology_builder builder;
    banyan_topology *topology;
    banyan_bound bound;
    outcome result;
    banyan_error err;

    banyan_topology_builder_init(&builder, "pairs");
    for (int v = 0; v < 32; v++)
        banyan_topology_add_worker_f(&builder, -1, "w%d", v);
    for (int v = 0; v < 32; v++)
        for (int w = 0; w < v; w++)
            banyan_topology_add_cable(&builder, v, w, v / 8 == w / 8 ? 300 : 100, 0);
    assert_int_equal(banyan_topology_builder_finish(&builder, &topology, &err), BANYAN_SUCCESS);
    assert_int_equal(banyan_bound_find(topology, topology->workers, topology->worker_count, BANYAN_RELAYS_ADD,
                                       &bound, &err),
                     BANYAN_SUCCESS);
    result = plan_for(0, topology, topology->workers, topology->worker_count, NULL, 0);
    assert_true(result.schedule->flow_count <= 64);
    assert_true(result.limits.bytes_per_s >= 0.99 * bound.allreduce.bytes_per_s);
    banyan_schedule_destroy(result.schedule);
    banyan_bound_fini(&bound);
    banyan_topology_destroy(topology);
}

TEST(idle_workers_behind_switches_help_by_forwarding)
{
    check_half("dgxa100:4", 2, 0.999);
    check_half("dgxa100:8", 2, 0.99);
}

TEST(small_vectors_get_few_and_shallow_trees)
{
    banyan_topology *topology;
    banyan_schedule *small, *large;
    banyan_error err;

    assert_int_equal(banyan_topology_load("torus:4x4", &topology, &err), BANYAN_SUCCESS);
    banyan_problem problem = {.topology = topology,
                              .active = topology->workers,
                              .active_count = topology->worker_count,
                              .collective = BANYAN_COLLECTIVE_ALLREDUCE,
                              .bytes = 8};
    assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &small, &err),
                     BANYAN_SUCCESS);
    problem.bytes = (size_t)1 << 32;
    assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &large, &err),
                     BANYAN_SUCCESS);
    assert_int_equal(small->flow_count, 1);
    assert_true(large->flow_count > 8);
    banyan_schedule_destroy(small);
    banyan_schedule_destroy(large);
    banyan_topology_destroy(topology);
}

/* What messages take hides what the last per cent of the rate would bring. */
TEST(small_vectors_take_less_planning)
{
    const banyan_budget *budget = banyan_effort_budget(BANYAN_EFFORT_PATIENT);
    banyan_parameter parameter = {"max-trees", "4"};
    int64_t visits[2];
    banyan_topology *topology;
    banyan_error err;

    assert_int_equal(banyan_topology_load("switch:32", &topology, &err), BANYAN_SUCCESS);
    for (int i = 0; i < 2; i++) {
        banyan_problem problem = {.topology = topology,
                                  .active = topology->workers,
                                  .active_count = topology->worker_count,
                                  .collective = BANYAN_COLLECTIVE_ALLREDUCE,
                                  .parameters = &parameter,
                                  .parameter_count = 1,
                                  .budget = budget,
                                  .bytes = i ? (size_t)1 << 10 : (size_t)1 << 30};
        banyan_work before = banyan_work_now();
        banyan_schedule *schedule;

        assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, &err),
                         BANYAN_SUCCESS);
        visits[i] = banyan_work_since(&before).visits;
        banyan_schedule_destroy(schedule);
    }
    assert_true(visits[1] < visits[0] / 4);
    banyan_topology_destroy(topology);
}

/* Without this cable, or with a narrower one, a plan reaches nearly all of the new bound, in at most so many
 * hops. */
static void check_each_cable(const char *whole, const char *damage, int step, int most_hops)
{
    banyan_topology *topology;
    banyan_error err;
    char spec[128];

    assert_int_equal(banyan_topology_load(whole, &topology, &err), BANYAN_SUCCESS);
    for (int i = 0; i < topology->link_count; i += step) {
        const banyan_link *link = &topology->links[i];
        banyan_topology *broken;
        banyan_rate rate;
        outcome anew;
        double reached;

        if (link->src > link->dst)
            continue;
        snprintf(spec, sizeof spec, damage, whole, link->src, link->dst);
        anew = plan_spec(spec);
        if (banyan_topology_load(spec, &broken, &err) ||
            banyan_bound_allreduce(broken, broken->workers, broken->worker_count, BANYAN_RELAYS_ADD, &rate,
                                   &reached, &err))
            fail_msg("%s: %s", spec, err.text);
        if (!(anew.limits.bytes_per_s >= 0.99 * rate.bytes_per_s) || anew.limits.depth > most_hops)
            fail_msg("%s: %g of the bound, %d hops", spec, anew.limits.bytes_per_s / rate.bytes_per_s,
                     anew.limits.depth);
        banyan_rate_fini(&rate);
        banyan_schedule_destroy(anew.schedule);
        banyan_topology_destroy(broken);
    }
    banyan_topology_destroy(topology);
}

TEST(whatever_cable_is_lost_a_new_plan_reaches_99_per_cent_of_the_bound)
{
    int step = getenv("BANYAN_TEST_ALL") ? 1 : 13;

    check_each_cable("torus:8x8", "%s,down=g%d-g%d", step, 11);
    check_each_cable("torus:8x8", "%s,degrade=g%d-g%d:0.5", step, 11);
    check_each_cable("torus:8x8", "%s,degrade=g%d-g%d:0.9", step, 12);
}

static void check_large(const char *spec)
{
    outcome result = plan_spec(spec);
    banyan_topology *topology;
    banyan_rate rate;
    banyan_error err;
    double reached;

    if (banyan_topology_load(spec, &topology, &err) ||
        banyan_bound_allreduce(topology, topology->workers, topology->worker_count, BANYAN_RELAYS_ADD, &rate,
                               &reached, &err))
        fail_msg("%s: %s", spec, err.text);
    if (!(result.limits.bytes_per_s >= 0.99 * rate.bytes_per_s) || result.schedule->flow_count > 64)
        fail_msg("%s: %g of the bound with %d trees", spec, result.limits.bytes_per_s / rate.bytes_per_s,
                 result.schedule->flow_count);
    banyan_rate_fini(&rate);
    banyan_schedule_destroy(result.schedule);
    banyan_topology_destroy(topology);
}

TEST(large_clusters_are_filled_to_within_one_in_a_hundred)
{
    static const char *const specs[] = {"dgxa100:16",  "abci:128",    "switch:128",   "fattree:16x16:4",
                                        "dgxa100:32",  "abci:256",    "dgxa100:64",   "abci:512",
                                        "switch:1024", "dgxa100:128", "fattree:32x32"};

    for (size_t i = 0; i < (getenv("BANYAN_TEST_ALL") ? sizeof specs / sizeof *specs : 3); i++)
        check_large(specs[i]);
}

TEST(survives_the_failure_of_each_allocation)
{
    static const char *const specs[] = {"hosts:2+3", "mesh:2x3", "dgx1", "line:3,degrade=g0->g1:0.5",
                                        "ring:3"};
    static const int all[] = {0, 1, 2, 3, 4, 5};

    for (int i = 0; i < 5; i++) {
        banyan_topology *topology;
        banyan_schedule *schedule;
        banyan_error err;
        banyan_status status = BANYAN_SYSTEM_ERROR;

        if (banyan_topology_load(specs[i], &topology, &err))
            fail_msg("%s", err.text);
        banyan_problem problem = {.topology = topology,
                                  .active = i == 2 ? all : topology->workers,
                                  .active_count = i == 2 ? 6 : topology->worker_count,
                                  .collective = BANYAN_COLLECTIVE_ALLREDUCE,
                                  .bytes = i < 2 ? 1 << 20 : 0};
        for (long calls = 0; status; calls++) {
            banyan_alloc_fail_after(calls);
            status = banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, NULL);
            banyan_alloc_fail_after(-1);
        }
        banyan_schedule_destroy(schedule);
        banyan_topology_destroy(topology);
    }
}

TEST(trees_are_grown_for_small_vectors_on_even_networks_and_packed_for_large_ones)
{
    static const struct {
        const char *spec;
        size_t bytes;
        int trees_of_every_rank;
    } cases[] = {{"torus:8x8,GBps=16,latency=150ns", 1 << 20, 1},
                 {"torus:8x8,GBps=16,latency=150ns", 64 << 20, 1},
                 {"torus:8x8,GBps=16,latency=150ns", 512 << 20, 0},
                 {"torus:8x8,GBps=16,latency=150ns", 0, 0},
                 {"mesh:4x4,GBps=16,latency=150ns", 16 << 20, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_problem problem = {.collective = BANYAN_COLLECTIVE_ALLREDUCE, .bytes = cases[i].bytes};
        banyan_parameter grown = {"trees", "grown"};
        banyan_schedule *schedule, *trees;
        banyan_topology *topology;
        char digest[17], other[17];
        banyan_error err;

        assert_int_equal(banyan_topology_load(cases[i].spec, &topology, &err), BANYAN_SUCCESS);
        problem.topology = topology;
        problem.active = topology->workers;
        problem.active_count = topology->worker_count;
        if (banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, &err))
            fail_msg("%s", err.text);
        problem.parameters = &grown;
        problem.parameter_count = 1;
        if (banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &trees, &err))
            fail_msg("%s", err.text);
        banyan_schedule_digest(schedule, digest);
        banyan_schedule_digest(trees, other);
        assert_int_equal(!strcmp(digest, other), cases[i].trees_of_every_rank);
        banyan_schedule_destroy(schedule);
        banyan_schedule_destroy(trees);
        banyan_topology_destroy(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_are_grown_for_small_vectors_on_even_networks_and_packed_for_large_ones),
        cmocka_unit_test(reference_networks_are_filled_to_the_bound_with_at_most_64_trees),
        cmocka_unit_test(trees_are_shallow),
        cmocka_unit_test(all_pairs_cabled_alike_have_stars),
        cmocka_unit_test(degraded_grids_have_shallow_trees_too),
        cmocka_unit_test(the_same_network_gives_the_same_schedule),
        cmocka_unit_test(random_networks_are_filled_to_the_bound),
        cmocka_unit_test(a_thin_cable_beside_wide_ones_does_not_slow_the_plan_down),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(fewer_trees_when_asked),
        cmocka_unit_test(too_few_trees_for_the_bound_fill_a_cable_each),
        cmocka_unit_test(the_ellipsoid_method_refuses_stages),
        cmocka_unit_test(the_ellipsoid_method_finds_the_same_rate),
        cmocka_unit_test(the_ellipsoid_method_says_for_which_networks_it_is),
        cmocka_unit_test(grown_trees_come_near_to_the_bound_everywhere),
        cmocka_unit_test(named_machines_and_low_diameter_networks_are_filled),
        cmocka_unit_test(depth_is_limited_behind_switches_too),
        cmocka_unit_test(what_options_cannot_do_is_refused_in_a_sentence),
        cmocka_unit_test(unlike_directions_behind_switches_are_filled_with_64_trees_and_more_so_with_many),
        cmocka_unit_test(behind_switches_trees_of_equal_weight_reach_the_bound),
        cmocka_unit_test(no_link_is_used_twice_in_a_round),
        cmocka_unit_test(the_number_of_trees_suits_the_size),
        cmocka_unit_test(stages_take_as_long_as_their_rates_say),
        cmocka_unit_test(tori_with_half_of_the_workers_idle_are_filled),
        cmocka_unit_test(dense_networks_with_switches_lose_little_to_the_number_of_trees),
        cmocka_unit_test(all_pairs_cabled_take_no_more_trees_than_allowed),
        cmocka_unit_test(idle_workers_behind_switches_help_by_forwarding),
        cmocka_unit_test(small_vectors_get_few_and_shallow_trees),
        cmocka_unit_test(small_vectors_take_less_planning),
        cmocka_unit_test(whatever_cable_is_lost_a_new_plan_reaches_99_per_cent_of_the_bound),
        cmocka_unit_test(large_clusters_are_filled_to_within_one_in_a_hundred),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests_name("forest", tests, NULL, NULL);
}
