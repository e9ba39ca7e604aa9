/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conformance/multitree.c: forest, left to itself, is at least as fast as multitree from 1 MiB up on
 * the eight networks of the MultiTree paper's Fig. 9: in the fluid model, and in the flit engine with
 * messages and with packets.
 *
 * Multitree runs with the order of neighbours that reaches the bound and with the paper's own. The fluid
 * model is asked on all networks up to 64 MiB, the flit engine on small ones at 1 MiB. With BANYAN_TEST_ALL
 * set it is asked on all of them: messages up to 64 MiB (the 8x8 mesh up to 16), packets up to 4 MiB, and the
 * tori of Fig. 10 with 375 KiB a node. That is for the optimised build. An argument picks tests by their
 * names, with * for any letters. */
#include "unit/test.h"

#include <stdlib.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "simulate/flit.h"
#include "simulate/fluid.h"

#define MIB ((size_t)1 << 20)
#define SLACK 1.001

typedef enum { FLUID, MESSAGES, PACKETS } engine;

static const char *const engine_names[] = {"fluid", "messages", "packets"};
static const char *const networks[] = {"torus:4x4",    "mesh:4x4",    "fattree:2x8", "bigraph:4x8",
                                       "bigraph:4x16", "fattree:8x8", "torus:8x8",   "mesh:8x8"};
enum { NETWORKS = 8, SMALL_NETWORKS = 3, LARGE_TORUS = 6, LARGE_MESH = 7 };

typedef struct {
    banyan_topology *topology;
    int *active, active_count;
} network;

static network load(const char *name)
{
    char spec[64];
    banyan_error err;
    network n;

    snprintf(spec, sizeof spec, "%s,GBps=16,latency=150ns", name);
    if (banyan_topology_load(spec, &n.topology, &err) ||
        banyan_topology_parse_active(n.topology, NULL, &n.active, &n.active_count, &err))
        fail_msg("%s: %s", spec, err.text);
    return n;
}

static void unload(network *n)
{
    banyan_free(n->active);
    banyan_topology_destroy(n->topology);
}

static double run_fluid(const banyan_schedule *s, const network *on, size_t bytes)
{
    banyan_fluid_result result;
    banyan_error err;
    double seconds;

    if (banyan_fluid(s, on->topology, bytes, NULL, &result, &err))
        fail_msg("%s: %s", on->topology->name, err.text);
    seconds = result.timeline->total_s;
    banyan_fluid_fini(&result);
    return seconds;
}

static double run_flit(const banyan_schedule *s, const network *on, size_t bytes, banyan_flow_control flow)
{
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_flit_report *report;
    banyan_error err;
    double seconds;

    settings.flow = flow;
    if (banyan_flit_run(s, on->topology, bytes, &settings, NULL, &report, &err))
        fail_msg("%s: %s", on->topology->name, err.text);
    seconds = (double)report->cycles / report->clock_hz;
    banyan_flit_report_destroy(report);
    return seconds;
}

static double seconds_of(const char *algorithm, const char *order, const network *on, size_t bytes, engine in)
{
    banyan_parameter parameter = {"order", order};
    banyan_problem problem = {.topology = on->topology,
                              .active = on->active,
                              .active_count = on->active_count,
                              .bytes = bytes,
                              .parameters = &parameter,
                              .parameter_count = order ? 1 : 0};
    banyan_schedule *s;
    banyan_error err;
    double seconds;

    if (banyan_algorithm_build(banyan_algorithm_find(algorithm), &problem, &s, &err))
        fail_msg("%s on %s: %s", algorithm, on->topology->name, err.text);
    seconds = in == FLUID ? run_fluid(s, on, bytes)
                          : run_flit(s, on, bytes, in == MESSAGES ? BANYAN_FLOW_MESSAGE : BANYAN_FLOW_PACKET);
    banyan_schedule_destroy(s);
    return seconds;
}

/* The number of orders that beat forest. */
static int count_losses(const char *name, size_t bytes, engine in)
{
    network on = load(name);
    double forest_s = seconds_of("forest", NULL, &on, bytes, in);
    int losses = 0;

    for (int yx = 0; yx < 2; yx++) {
        double multitree_s = seconds_of("multitree", yx ? "yx" : "split", &on, bytes, in);

        if (forest_s > SLACK * multitree_s) {
            print_error("%s, %zu KiB, %s: forest takes %.2f us, multitree with order %s %.2f us\n", name,
                        bytes / 1024, engine_names[in], forest_s * 1e6, yx ? "yx" : "split",
                        multitree_s * 1e6);
            losses++;
        }
    }
    unload(&on);
    return losses;
}

TEST(forest_is_at_least_as_fast_as_multitree_in_the_fluid_model)
{
    int losses = 0;

    for (int n = 0; n < NETWORKS; n++)
        for (size_t bytes = MIB; bytes <= 64 * MIB; bytes *= 4)
            losses += count_losses(networks[n], bytes, FLUID);
    assert_int_equal(losses, 0);
}

/* Where the two engines would change from one order of neighbours to the other at unlike sizes, neither may
 * win. */
TEST(forest_is_at_least_as_fast_as_multitree_on_larger_grids)
{
    static const char *const larger[] = {"torus:6x6", "torus:16x16", "mesh:16x16"};
    int losses = 0;

    for (int n = 0; n < 3; n++)
        for (size_t bytes = 3 * MIB / 2; bytes <= 3 * MIB; bytes *= 2) {
            losses += count_losses(larger[n], bytes, FLUID);
            if (n == 0 || getenv("BANYAN_TEST_ALL"))
                losses += count_losses(larger[n], bytes, MESSAGES);
        }
    assert_int_equal(losses, 0);
}

/* Sizes whose pieces fill neither packets nor an interface's buffer evenly, on the networks where that
 * matters. */
TEST(forest_is_at_least_as_fast_as_multitree_at_sizes_in_between)
{
    static const size_t kib[] = {1536, 1234, 3072, 5120, 6144, 12288, 24576};
    int is_long = getenv("BANYAN_TEST_ALL") != NULL, losses = 0;

    for (int n = 0; n < NETWORKS; n++)
        for (size_t i = 0; i < (is_long ? sizeof kib / sizeof *kib : 1); i++) {
            losses += count_losses(networks[n], kib[i] * 1024, FLUID);
            if (is_long || n < SMALL_NETWORKS || n == LARGE_TORUS)
                losses += count_losses(networks[n], kib[i] * 1024, MESSAGES);
            if ((is_long && kib[i] <= 5120) || n < SMALL_NETWORKS)
                losses += count_losses(networks[n], kib[i] * 1024, PACKETS);
        }
    assert_int_equal(losses, 0);
}

static int count_flit_losses(int first, int end, int is_long)
{
    int losses = 0;

    for (int n = first; n < end; n++) {
        size_t most = !is_long ? MIB : n == LARGE_MESH ? 16 * MIB : 64 * MIB;

        for (size_t bytes = MIB; bytes <= most; bytes *= 4) {
            losses += count_losses(networks[n], bytes, MESSAGES);
            if (bytes <= 4 * MIB)
                losses += count_losses(networks[n], bytes, PACKETS);
        }
    }
    return losses;
}

TEST(forest_is_at_least_as_fast_as_multitree_in_the_flit_engine)
{
    assert_int_equal(count_flit_losses(0, SMALL_NETWORKS, getenv("BANYAN_TEST_ALL") != NULL), 0);
}

TEST(forest_is_at_least_as_fast_as_multitree_in_the_flit_engine_behind_switches)
{
    if (!getenv("BANYAN_TEST_ALL"))
        skip();
    assert_int_equal(count_flit_losses(SMALL_NETWORKS, LARGE_TORUS, 1), 0);
}

TEST(forest_is_at_least_as_fast_as_multitree_in_the_flit_engine_on_grids_of_64)
{
    if (!getenv("BANYAN_TEST_ALL"))
        skip();
    assert_int_equal(count_flit_losses(LARGE_TORUS, NETWORKS, 1), 0);
}

/* The 94 MiB of 16x16 are more than 64. */
TEST(forest_is_at_least_as_fast_as_multitree_as_tori_grow)
{
    static const int sides[] = {4, 6, 8, 12, 16};
    int count = getenv("BANYAN_TEST_ALL") ? 5 : 1, losses = 0;

    for (int i = 0; i < count; i++) {
        char name[32];

        snprintf(name, sizeof name, "torus:%dx%d", sides[i], sides[i]);
        losses += count_losses(name, (size_t)(375 * 1024 * sides[i] * sides[i]), MESSAGES);
    }
    assert_int_equal(losses, 0);
}

/* Without a size, forest is after the bandwidth; slices and grown trees are for sizes. */
TEST(forest_without_a_size_is_not_cut_into_slices)
{
    network on = load("mesh:4x4");
    banyan_problem problem = {
        .topology = on.topology, .active = on.active, .active_count = on.active_count, .bytes = 16 * MIB};
    banyan_schedule *sized, *open;

    assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &sized, NULL), 0);
    problem.is_size_open = 1;
    assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &open, NULL), 0);
    assert_true(open->piece_count == open->flow_count);
    assert_true(sized->piece_count > sized->flow_count);
    banyan_schedule_destroy(sized);
    banyan_schedule_destroy(open);
    unload(&on);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forest_is_at_least_as_fast_as_multitree_in_the_fluid_model),
        cmocka_unit_test(forest_is_at_least_as_fast_as_multitree_on_larger_grids),
        cmocka_unit_test(forest_is_at_least_as_fast_as_multitree_in_the_flit_engine),
        cmocka_unit_test(forest_is_at_least_as_fast_as_multitree_in_the_flit_engine_behind_switches),
        cmocka_unit_test(forest_is_at_least_as_fast_as_multitree_in_the_flit_engine_on_grids_of_64),
        cmocka_unit_test(forest_is_at_least_as_fast_as_multitree_at_sizes_in_between),
        cmocka_unit_test(forest_is_at_least_as_fast_as_multitree_as_tori_grow),
        cmocka_unit_test(forest_without_a_size_is_not_cut_into_slices),
    };

    if (count > 1)
        cmocka_set_test_filter(words[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
