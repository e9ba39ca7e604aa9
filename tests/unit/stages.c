/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of algorithms/stages.c: the time of trees from the fullest link of each stage. */
#include "unit/test.h"

#include "algorithms/algorithms.h"
#include "algorithms/stages.h"
#include "core/alloc.h"
#include "simulate/fluid.h"

/* The time that stages say for an algorithm's trees, over the fluid model's. */
static double ratio_of(const char *spec, const char *algorithm, banyan_stage_kind kind, size_t bytes)
{
    banyan_topology *topology;
    banyan_schedule *schedule;
    banyan_fluid_result result;
    banyan_error err;
    double seconds = 0, ratio;

    if (banyan_topology_load(spec, &topology, &err))
        fail_msg("%s", err.text);
    banyan_problem problem = {.topology = topology,
                              .active = topology->workers,
                              .active_count = topology->worker_count,
                              .collective = BANYAN_COLLECTIVE_ALLREDUCE};
    if (banyan_algorithm_build(banyan_algorithm_find(algorithm), &problem, &schedule, &err) ||
        banyan_stages_seconds(schedule, topology, kind, (double)bytes, 1, &seconds, &err) ||
        banyan_fluid(schedule, topology, bytes, &(banyan_fluid_options){.slice_bytes = SIZE_MAX}, &result,
                     &err))
        fail_msg("%s: %s", spec, err.text);
    ratio = seconds / result.timeline->total_s;
    banyan_fluid_fini(&result);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(topology);
    return ratio;
}

TEST(levels_are_what_whole_messages_that_share_take_behind_switches)
{
    static const char *const specs[] = {"switch:16", "switch:7", "fattree:4x4", "hosts:1+1+1+1+1"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        double ratio = ratio_of(specs[i], "forest", BANYAN_STAGE_IS_LEVEL, 1 << 20);

        print_message("%s %.6f\n", specs[i], ratio);
        assert_float_equal(ratio, 1, 1e-6);
    }
}

TEST(rounds_are_what_grown_trees_take_where_rounds_keep_themselves)
{
    assert_float_equal(ratio_of("fattree:4x4", "multitree", BANYAN_STAGE_IS_ROUND, 1 << 20), 1, 1e-6);
    assert_float_equal(ratio_of("switch:16", "multitree", BANYAN_STAGE_IS_ROUND, 1 << 20), 1, 1e-6);
}

static banyan_schedule *grow(const banyan_topology *topology, const char *algorithm, const char *order,
                             size_t bytes)
{
    banyan_parameter parameter = {"order", order};
    banyan_problem problem = {.topology = topology,
                              .active = topology->workers,
                              .active_count = topology->worker_count,
                              .bytes = bytes,
                              .parameters = &parameter,
                              .parameter_count = order != NULL,
                              .collective = BANYAN_COLLECTIVE_ALLREDUCE};
    banyan_schedule *schedule;
    banyan_error err;

    if (banyan_algorithm_build(banyan_algorithm_find(algorithm), &problem, &schedule, &err))
        fail_msg("%s: %s", algorithm, err.text);
    return schedule;
}

static double fluid_of(const banyan_schedule *schedule, const banyan_topology *topology, size_t bytes)
{
    banyan_fluid_result result;
    banyan_error err;
    double seconds;

    if (banyan_fluid(schedule, topology, bytes, NULL, &result, &err))
        fail_msg("%s", err.text);
    seconds = result.timeline->total_s;
    banyan_fluid_fini(&result);
    return seconds;
}

TEST(a_walk_is_nearly_what_grown_trees_take_where_little_meets)
{
    static const char *const specs[] = {"switch:16,GBps=16,latency=150ns",
                                        "fattree:4x4,GBps=16,latency=150ns"};
    size_t bytes = 1 << 20;

    for (int i = 0; i < 2; i++) {
        banyan_topology *topology;
        banyan_error err;
        double seconds = 0;

        assert_int_equal(banyan_topology_load(specs[i], &topology, &err), 0);
        banyan_schedule *schedule = grow(topology, "multitree", NULL, bytes);

        for (int calls = 0;; calls++) {
            banyan_alloc_fail_after(calls);
            if (!banyan_stages_walk(schedule, topology, (double)bytes, &seconds, NULL))
                break;
        }
        banyan_alloc_fail_after(-1);
        assert_float_equal((float)(seconds / fluid_of(schedule, topology, bytes)), 1, 0.003);
        banyan_schedule_destroy(schedule);
        banyan_topology_destroy(topology);
    }
}

TEST(grown_trees_take_the_order_of_neighbours_that_hides_more_latency)
{
    static const char *const specs[] = {"torus:14x14,GBps=16,latency=150ns",
                                        "torus:12x12,GBps=16,latency=150ns"};

    for (int i = 0; i < 2; i++) {
        size_t bytes = 1 << 20;
        banyan_topology *topology;
        banyan_error err;

        assert_int_equal(banyan_topology_load(specs[i], &topology, &err), 0);
        banyan_schedule *forest = grow(topology, "forest", NULL, bytes);
        banyan_schedule *split = grow(topology, "multitree", "split", bytes);
        banyan_schedule *yx = grow(topology, "multitree", "yx", bytes);
        double mine_s = fluid_of(forest, topology, bytes);

        assert_true(mine_s <= fluid_of(split, topology, bytes) * (1 + 1e-9));
        assert_true(mine_s <= fluid_of(yx, topology, bytes) * (1 + 1e-9));
        banyan_schedule_destroy(forest);
        banyan_schedule_destroy(split);
        banyan_schedule_destroy(yx);
        banyan_topology_destroy(topology);
    }
}

TEST(slices_take_away_their_part_of_what_the_fullest_link_idles)
{
    double whole, halves, many;
    banyan_topology *topology;
    banyan_schedule *schedule;
    banyan_error err;

    assert_int_equal(banyan_topology_load("line:3,GBps=1,latency=0", &topology, &err), BANYAN_SUCCESS);
    banyan_problem problem = {.topology = topology,
                              .active = topology->workers,
                              .active_count = 3,
                              .collective = BANYAN_COLLECTIVE_BROADCAST};
    /* A chain of two links, each a second long. */
    if (banyan_algorithm_build(banyan_algorithm_find("ring"), &problem, &schedule, &err))
        fail_msg("%s", err.text);
    assert_int_equal(banyan_stages_seconds(schedule, topology, BANYAN_STAGE_IS_LEVEL, 1e9, 1, &whole, &err),
                     BANYAN_SUCCESS);
    assert_int_equal(banyan_stages_seconds(schedule, topology, BANYAN_STAGE_IS_LEVEL, 1e9, 2, &halves, &err),
                     BANYAN_SUCCESS);
    assert_int_equal(banyan_stages_seconds(schedule, topology, BANYAN_STAGE_IS_LEVEL, 1e9, 100, &many, &err),
                     BANYAN_SUCCESS);
    assert_float_equal(whole, 2, 1e-9);
    assert_float_equal(halves, 1.5, 1e-9);
    assert_float_equal(many, 1.01, 1e-9);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_what_whole_messages_that_share_take_behind_switches),
        cmocka_unit_test(rounds_are_what_grown_trees_take_where_rounds_keep_themselves),
        cmocka_unit_test(a_walk_is_nearly_what_grown_trees_take_where_little_meets),
        cmocka_unit_test(grown_trees_take_the_order_of_neighbours_that_hides_more_latency),
        cmocka_unit_test(slices_take_away_their_part_of_what_the_fullest_link_idles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
