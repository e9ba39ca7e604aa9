/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/slice.c: schedules in slices stay what they were. */
#include "unit/test.h"

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "schedule/slice.h"
#include "verify/verify.h"

static banyan_schedule *build(const char *spec, const char *name, banyan_topology **topology)
{
    banyan_problem problem = {.collective = BANYAN_COLLECTIVE_ALLREDUCE};
    banyan_schedule *schedule;
    banyan_error err;
    int *active = NULL;

    if (banyan_topology_load(spec, topology, &err) ||
        banyan_topology_parse_active(*topology, NULL, &active, &problem.active_count, &err))
        fail_msg("%s", err.text);
    problem.topology = *topology;
    problem.active = active;
    if (banyan_algorithm_build(banyan_algorithm_find(name), &problem, &schedule, &err))
        fail_msg("%s on %s: %s", name, spec, err.text);
    banyan_free(active);
    return schedule;
}

TEST(a_sliced_schedule_is_proven_like_the_whole_one)
{
    static const struct {
        const char *spec, *name;
    } cases[] = {{"torus:3x4", "multitree"},  {"hosts:2+3", "forest"},    {"ring:5", "ring"},
                 {"switch:6", "double-tree"}, {"mesh:2x3", "flexreduce"}, {"switch:8", "halving-doubling"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_topology *topology;
        banyan_schedule *whole = build(cases[i].spec, cases[i].name, &topology), *sliced;
        banyan_verdict verdict;
        banyan_error err;

        assert_int_equal(banyan_schedule_slice(whole, 3, &sliced, &err), 0);
        assert_int_equal(sliced->piece_count, 3 * whole->piece_count);
        assert_int_equal(sliced->round_count, whole->round_count + 2);
        assert_string_equal(sliced->algorithm, cases[i].name);
        assert_int_equal(banyan_verify(sliced, topology, &verdict, &err), 0);
        if (banyan_verdict_status(&verdict, &err))
            fail_msg("%s on %s: %s", cases[i].name, cases[i].spec, err.text);
        banyan_schedule_destroy(whole);
        banyan_schedule_destroy(sliced);
        banyan_topology_destroy(topology);
    }
}

TEST(slices_are_as_many_as_the_size_asks_for_and_never_empty)
{
    banyan_topology *topology;
    banyan_schedule *ring = build("ring:4", "ring", &topology);

    assert_int_equal(banyan_schedule_slice_count(ring, 4 << 20, 0), 1);
    assert_int_equal(banyan_schedule_slice_count(ring, 4 << 20, 1 << 20), 1);
    assert_int_equal(banyan_schedule_slice_count(ring, 4 << 20, 1 << 18), 4);
    assert_int_equal(banyan_schedule_slice_count(ring, 4 << 20, 300000), 4);
    assert_int_equal(banyan_schedule_slice_count(ring, 16, 1), 2);
    assert_int_equal(banyan_schedule_slice_count(ring, 4, 1), 1);
    banyan_schedule_destroy(ring);
    banyan_topology_destroy(topology);
}

TEST(wrong_counts_are_told)
{
    banyan_topology *topology;
    banyan_schedule *ring = build("ring:4", "ring", &topology), *sliced;
    banyan_error err;

    assert_int_equal(banyan_schedule_slice(ring, 0, &sliced, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "at least one slice, not 0");
    assert_int_equal(banyan_schedule_slice(ring, 1 << 29, &sliced, &err), BANYAN_UNSUPPORTED);
    CHECK_SAYS(err, "are too many");
    assert_null(sliced);
    banyan_schedule_destroy(ring);
    banyan_topology_destroy(topology);
}

TEST(each_failing_allocation_is_survived)
{
    banyan_topology *topology;
    banyan_schedule *ring = build("ring:4", "ring", &topology), *sliced = NULL;

    for (long calls = 0; !sliced; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_schedule_slice(ring, 2, &sliced, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_schedule_destroy(sliced);
    banyan_schedule_destroy(ring);
    banyan_topology_destroy(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sliced_schedule_is_proven_like_the_whole_one),
        cmocka_unit_test(slices_are_as_many_as_the_size_asks_for_and_never_empty),
        cmocka_unit_test(wrong_counts_are_told),
        cmocka_unit_test(each_failing_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
