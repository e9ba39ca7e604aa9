/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/simulate.c: the walk against closed forms and hand-solved cases, and the bandwidth limit. */
#include "unit/test.h"

#include <math.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "schedule/build.h"
#include "simulate/simulate.h"

static void near(double found, double wanted)
{
    if (fabs(found - wanted) > 1e-9 * fabs(wanted))
        fail_msg("%.17g should be %.17g", found, wanted);
}

static banyan_topology *load(const char *spec)
{
    banyan_topology *t;
    banyan_error err;

    if (banyan_topology_load(spec, &t, &err))
        fail_msg("%s", err.text);
    return t;
}

static banyan_schedule *build(const banyan_topology *t, const char *algorithm)
{
    banyan_problem problem = {.topology = t, .active = t->workers, .active_count = t->worker_count};
    banyan_schedule *s;
    banyan_error err;

    if (banyan_algorithm_build(banyan_algorithm_find(algorithm), &problem, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

static double walk(const banyan_schedule *s, const banyan_topology *t, size_t bytes, size_t slice)
{
    banyan_timeline *timeline;
    double total;

    assert_int_equal(banyan_walk(s, t, bytes, slice, &timeline, NULL), 0);
    total = timeline->total_s;
    for (size_t i = 0; i < timeline->count; i++)
        assert_true(timeline->begin_s[i] >= 0 && timeline->end_s[i] > timeline->begin_s[i] &&
                    timeline->end_s[i] <= total);
    banyan_timeline_destroy(timeline);
    return total;
}

TEST(a_ring_without_slices_takes_the_closed_form)
{
    /* 2 (p-1) (latency + n/p / bandwidth); 64 MiB at 16 GB/s and 150 ns. */
    static const int sizes[] = {2, 3, 16, 64};

    for (int i = 0; i < 4; i++) {
        int p = sizes[i];
        char spec[64];
        double n = 64 << 20;

        snprintf(spec, sizeof spec, "ring:%d,gbps=128,latency=150ns", p);
        banyan_topology *t = load(spec);
        banyan_schedule *s = build(t, "ring");

        near(walk(s, t, (size_t)n, (size_t)1 << 40), 2 * (p - 1) * (150e-9 + n / p / 16e9));
        banyan_schedule_destroy(s);
        banyan_topology_destroy(t);
    }
}

TEST(slices_pipeline_a_chain)
{
    banyan_topology *t = load("line:4,GBps=1,latency=0s");
    banyan_schedule *s;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_BROADCAST, 0, 4, t->workers, 4);
    banyan_builder_cut_evenly(&b, 1);
    for (int i = 0; i < 3; i++)
        banyan_builder_copy(&b, i, i, i + 1, 0, 1, 0);
    assert_int_equal(banyan_builder_finish(&b, &s, NULL), 0);
    near(walk(s, t, 1000000, 1000000), 3e-3);
    near(walk(s, t, 1000000, 100000), 1e-3 + 2e-4);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(a_link_serves_one_transfer_after_the_other)
{
    banyan_topology *t = load("switch:3,GBps=1,latency=1us");
    banyan_schedule *s;
    banyan_builder b;

    /* g1 and g2 both send to g0 through its one link. */
    banyan_builder_init(&b, BANYAN_COLLECTIVE_REDUCE, 0, 4, t->workers, 3);
    banyan_builder_cut_evenly(&b, 1);
    banyan_builder_reduce(&b, 0, 1, 0, 0, 1, 0);
    banyan_builder_reduce(&b, 0, 2, 0, 0, 1, 0);
    assert_int_equal(banyan_builder_finish(&b, &s, NULL), 0);
    near(walk(s, t, 1000000, 0), 2e-3 + 2e-6);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(the_fullest_link_limits_the_rate)
{
    banyan_topology *t = load("ring:8,GBps=1"), *h = load("hosts:2+3,gbps=8,local_gbps=80");
    banyan_schedule *s = build(t, "ring"), *flat = build(h, "ring");
    banyan_limits limits;
    char name[64];

    assert_int_equal(banyan_bandwidth_limit(s, t, &limits, NULL), 0);
    near(limits.bytes_per_s, 1e9 * 8 / 14);
    near(limits.volume, 14.0 / 8);
    assert_int_equal(limits.depth, 7);
    /* A flat ring of 5 crosses the uplink once each way with 8/5 of the vector. */
    assert_int_equal(banyan_bandwidth_limit(flat, h, &limits, NULL), 0);
    near(limits.bytes_per_s, 1e9 * 5 / 8);
    banyan_topology_link_name(h, limits.bottleneck, name, sizeof name);
    assert_non_null(strstr(name, "net"));
    banyan_schedule_destroy(s);
    banyan_schedule_destroy(flat);
    banyan_topology_destroy(t);
    banyan_topology_destroy(h);
}

TEST(pairs_that_share_full_links_are_counted)
{
    banyan_topology *t = load("switch:4,gbps=1");
    banyan_schedule *ring = build(t, "ring"), *direct = build(t, "direct");
    banyan_limits limits;

    assert_int_equal(banyan_bandwidth_limit(ring, t, &limits, NULL), 0);
    assert_int_equal(limits.full_links, 8);
    assert_int_equal(limits.crowd, 8);
    assert_int_equal(banyan_bandwidth_limit(direct, t, &limits, NULL), 0);
    assert_int_equal(limits.full_links, 8);
    assert_int_equal(limits.crowd, 3 * 8);
    banyan_schedule_destroy(ring);
    banyan_schedule_destroy(direct);
    banyan_topology_destroy(t);
}

TEST(nothing_to_do_takes_no_time)
{
    banyan_topology *t = load("switch:1");
    banyan_schedule *s = build(t, "ring");
    banyan_timeline *timeline;
    banyan_limits limits;

    assert_int_equal(banyan_walk(s, t, 1 << 20, 0, &timeline, NULL), 0);
    assert_true(timeline->total_s == 0);
    banyan_timeline_destroy(timeline);
    assert_int_equal(banyan_bandwidth_limit(s, t, &limits, NULL), 0);
    assert_true(isinf(limits.bytes_per_s) && limits.bottleneck == -1);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(says_when_the_schedule_is_for_another_network)
{
    banyan_topology *big = load("ring:8"), *small = load("ring:3");
    banyan_schedule *s = build(big, "ring");
    banyan_timeline *timeline;
    banyan_error err;

    assert_int_equal(banyan_walk(s, small, 1, 0, &timeline, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "for 8 nodes, but ring:3 has 3");
    banyan_schedule_destroy(s);
    banyan_topology_destroy(big);
    banyan_topology_destroy(small);
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_topology *t = load("hosts:2+3");
    banyan_schedule *s = build(t, "halving-doubling");
    banyan_timeline *timeline = NULL;
    banyan_limits limits;
    banyan_status status = BANYAN_SYSTEM_ERROR;

    for (long calls = 0; !timeline; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_walk(s, t, 1 << 20, 0, &timeline, NULL);
    }
    for (long calls = 0; status; calls++) {
        banyan_alloc_fail_after(calls);
        status = banyan_bandwidth_limit(s, t, &limits, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_timeline_destroy(timeline);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_without_slices_takes_the_closed_form),
        cmocka_unit_test(slices_pipeline_a_chain),
        cmocka_unit_test(a_link_serves_one_transfer_after_the_other),
        cmocka_unit_test(the_fullest_link_limits_the_rate),
        cmocka_unit_test(pairs_that_share_full_links_are_counted),
        cmocka_unit_test(nothing_to_do_takes_no_time),
        cmocka_unit_test(says_when_the_schedule_is_for_another_network),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
