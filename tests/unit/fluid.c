/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/fluid.c: the fluid simulator against closed forms and against contention solved by hand. */
#include "unit/test.h"

#include <math.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "schedule/build.h"
#include "simulate/fluid.h"
#include "simulate/simulate.h"

#define WHOLE ((size_t)1 << 50) /* one message a transfer */

static void near(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("%.17g should be %.17g", found, wanted);
}

static banyan_topology *load(const char *spec)
{
    banyan_topology *t;
    banyan_error err;

    if (banyan_topology_load(spec, &t, &err))
        fail_msg("%s: %s", spec, err.text);
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

/* The result; the caller hands it to fini. */
static banyan_fluid_result run(const banyan_schedule *s, const banyan_topology *t, size_t bytes,
                               banyan_fluid_options options)
{
    banyan_fluid_result result;
    banyan_error err;

    if (banyan_fluid(s, t, bytes, &options, &result, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < result.timeline->count; i++)
        assert_true(result.timeline->begin_s[i] >= 0 &&
                    result.timeline->end_s[i] >= result.timeline->begin_s[i] &&
                    result.timeline->end_s[i] <= result.timeline->total_s);
    return result;
}

static double time_of(const banyan_schedule *s, const banyan_topology *t, size_t bytes,
                      banyan_fluid_options options)
{
    banyan_fluid_result result = run(s, t, bytes, options);
    double total_s = result.timeline->total_s;

    banyan_fluid_fini(&result);
    return total_s;
}

static double algorithm_time(const char *spec, const char *algorithm, size_t bytes,
                             banyan_fluid_options options)
{
    banyan_topology *t = load(spec);
    banyan_schedule *s = build(t, algorithm);
    double total_s = time_of(s, t, bytes, options);

    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
    return total_s;
}

/* A schedule for all workers of the network; what it computes does not matter here. */
static banyan_builder begin(const banyan_topology *t, int pieces)
{
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, t->node_count, t->workers, t->worker_count);
    banyan_builder_cut_evenly(&b, pieces);
    return b;
}

static banyan_schedule *end(banyan_builder *b)
{
    banyan_schedule *s;
    banyan_error err;

    if (banyan_builder_finish(b, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

TEST(a_ring_takes_its_closed_form_without_being_told_anything)
{
    static const int sizes[] = {2, 3, 16, 64};
    static const double wanted_ns[] = {0, 0, 7868820, 8276436};

    for (int i = 0; i < 4; i++) {
        double p = sizes[i], n = 64 << 20, found;
        char spec[64];

        snprintf(spec, sizeof spec, "ring:%d,gbps=128,latency=150ns", sizes[i]);
        found = algorithm_time(spec, "ring", (size_t)n, (banyan_fluid_options){0});
        near(found, 2 * (p - 1) * (150e-9 + n / p / 16e9));
        if (wanted_ns[i] > 0)
            assert_true(fabs(found * 1e9 - wanted_ns[i]) < 1e-4 * wanted_ns[i]);
    }
}

TEST(algorithms_take_their_closed_forms_on_a_switch)
{
    /* Two links of 1 us each between any two workers, 1 GB/s. */
    const double a = 2e-6, b = 1e-9, n = 1 << 20, p = 16;
    const char *spec = "switch:16,GBps=1,latency=1us";
    const banyan_fluid_options whole = {.slice_bytes = WHOLE};

    near(algorithm_time(spec, "ring", 1 << 20, whole), 2 * (p - 1) * (a + n / p * b));
    near(algorithm_time(spec, "halving-doubling", 1 << 20, whole), 2 * 4 * a + 2 * (p - 1) / p * n * b);
    near(algorithm_time(spec, "recursive-doubling", 1 << 20, whole), 4 * (a + n * b));
    /* A root has several messages for its link at once; only rounds keep them in turn. */
    near(algorithm_time(spec, "binomial", 1 << 20, (banyan_fluid_options){.lockstep = 1}),
         2 * 4 * (a + n * b));
    near(algorithm_time(spec, "parameter-server", 1 << 20, whole), 2 * a + 2 * (p - 1) * n * b);
    near(algorithm_time(spec, "parameter-servers", 1 << 20, whole), 2 * a + 2 * (p - 1) / p * n * b);
}

TEST(hierarchical_takes_its_closed_form_level_by_level)
{
    /* In a host: halves and quarters over its switch. Between hosts: four flows of an eighth each share the
     * uplink, so half of the vector crosses it. Then the same way back. */
    const double n = 8e6, inside_s = 2e-6, across_s = 22e-6;
    const char *spec = "hosts:4+4,GBps=1,local_GBps=4,latency=10us,local_latency=1us";
    const double wanted_s =
        2 * (inside_s + n / 2 / 4e9 + inside_s + n / 4 / 4e9 + across_s + 4 * n / 8 / 1e9);

    near(algorithm_time(spec, "hierarchical", 8000000, (banyan_fluid_options){.slice_bytes = WHOLE}),
         wanted_s);
    near(algorithm_time(spec, "hierarchical", 8000000, (banyan_fluid_options){.lockstep = 1}), wanted_s);
    /* Levels use different links, so slices help, and nobody had to ask for them. */
    assert_true(algorithm_time(spec, "hierarchical", 8000000, (banyan_fluid_options){0}) < 0.9 * wanted_s);
}

TEST(two_flows_share_one_link)
{
    banyan_topology *t = load("switch:3,GBps=1,latency=1us");
    int g0 = t->workers[0], g1 = t->workers[1], g2 = t->workers[2];
    banyan_builder b = begin(t, 4);
    banyan_schedule *s;
    banyan_fluid_result r;

    /* g1 sends one piece and g2 three over g0's link: half the speed each until g1 is through. */
    banyan_builder_reduce(&b, 0, g1, g0, 0, 1, 0);
    banyan_builder_reduce(&b, 0, g2, g0, 1, 3, 0);
    s = end(&b);
    r = run(s, t, 4000000, (banyan_fluid_options){.slice_bytes = WHOLE});
    near(r.timeline->end_s[0], 2e-3 + 2e-6);
    near(r.timeline->end_s[1], 4e-3 + 2e-6);
    assert_int_equal(t->links[r.bottleneck].dst, g0);
    near(r.link_bytes[r.bottleneck], 4e6);
    near(r.busiest, 4e-3 / (4e-3 + 2e-6));
    banyan_fluid_fini(&r);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(three_flows_over_two_links_are_max_min_fair)
{
    banyan_topology *t = load("line:4,GBps=1,latency=0s");
    banyan_builder b = begin(t, 6);
    banyan_schedule *s;
    banyan_fluid_result r;

    /* 0 -> 2 crosses both links, 0 -> 1 and a pair 1 -> 2 one each: 1/3 for all on the second link, 2/3 for
     * 0 -> 1. Pieces of 1 MB: 0 -> 1 is through at 1.5 ms; all on the second link at 3 ms. */
    banyan_builder_copy(&b, 0, 0, 2, 0, 1, 0);
    banyan_builder_copy(&b, 0, 0, 1, 1, 1, 0);
    banyan_builder_copy(&b, 0, 1, 2, 2, 1, 0);
    banyan_builder_copy(&b, 0, 1, 2, 3, 1, 0);
    s = end(&b);
    r = run(s, t, 6000000, (banyan_fluid_options){.slice_bytes = WHOLE});
    near(r.timeline->end_s[0], 3e-3);
    near(r.timeline->end_s[1], 1.5e-3);
    near(r.timeline->end_s[2], 3e-3);
    near(r.timeline->end_s[3], 3e-3);
    banyan_fluid_fini(&r);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(a_flow_that_is_held_back_leaves_its_share_to_others)
{
    banyan_topology *t = load("line:4,GBps=1,latency=0s,degrade=g2-g3:0.25");
    banyan_builder b = begin(t, 4);
    banyan_schedule *s;
    banyan_fluid_result r;

    /* The slow last link holds 1 -> 3 back to 0.25 GB/s, so 1 -> 2 moves at 0.75. When that one is through,
     * 0 -> 2 begins, which shares the middle link with 1 -> 3 and also gets 0.75. */
    banyan_builder_copy(&b, 0, 1, 3, 0, 1, 0);
    banyan_builder_copy(&b, 0, 1, 2, 1, 1, 0);
    banyan_builder_copy(&b, 1, 2, 1, 1, 1, 0);
    s = end(&b);
    r = run(s, t, 4000000, (banyan_fluid_options){.slice_bytes = WHOLE});
    near(r.timeline->end_s[0], 4e-3);
    near(r.timeline->end_s[1], 1 / 0.75 * 1e-3);
    near(r.timeline->begin_s[2], 1 / 0.75 * 1e-3);
    near(r.timeline->end_s[2], 1 / 0.75 * 1e-3 + 1e-3);
    banyan_fluid_fini(&r);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(a_flow_released_midway_slows_the_others_from_then_on)
{
    banyan_topology *t = load("switch:3,GBps=1,latency=0s");
    int g0 = t->workers[0], g1 = t->workers[1], g2 = t->workers[2];
    banyan_builder b = begin(t, 4);
    banyan_schedule *s;
    banyan_fluid_result r;

    /* g1 -> g0: 3 MB from the start. g0 -> g2: 1 MB, through at 1 ms, which lets g2 send 1 MB on to g0: the
     * two share g0's link from 1 ms on. 2 MB are left of the first then: the second is through at 3 ms, the
     * first at 4 ms. */
    banyan_builder_copy(&b, 0, g1, g0, 0, 3, 0);
    banyan_builder_copy(&b, 0, g0, g2, 3, 1, 0);
    banyan_builder_copy(&b, 1, g2, g0, 3, 1, 0);
    s = end(&b);
    r = run(s, t, 4000000, (banyan_fluid_options){.slice_bytes = WHOLE});
    near(r.timeline->end_s[1], 1e-3);
    near(r.timeline->begin_s[2], 1e-3);
    near(r.timeline->end_s[2], 3e-3);
    near(r.timeline->end_s[0], 4e-3);
    banyan_fluid_fini(&r);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(slices_on_one_link_take_turns_by_what_is_sent_of_each_flow)
{
    banyan_topology *t = load("line:3,GBps=1,latency=0s");
    banyan_builder b = begin(t, 4);
    banyan_schedule *s;
    banyan_fluid_result r;

    /* Flow 0 has 3 MB and flow 1 has 1 MB for one link, in slices of 1 MB. A third of flow 0 is less than all
     * of flow 1: so it is 0, 0, then 0 and 1 on a par, and the lower number goes first. */
    banyan_builder_copy(&b, 0, 0, 1, 0, 3, 0);
    banyan_builder_copy(&b, 0, 0, 1, 3, 1, 1);
    s = end(&b);
    r = run(s, t, 4000000, (banyan_fluid_options){.slice_bytes = 1000000});
    near(r.timeline->end_s[0], 3e-3);
    near(r.timeline->begin_s[1], 3e-3);
    near(r.timeline->end_s[1], 4e-3);
    banyan_fluid_fini(&r);
    r = run(s, t, 4000000, (banyan_fluid_options){.slice_bytes = WHOLE, .service = BANYAN_SERVICE_SHARED});
    near(r.timeline->end_s[1], 2e-3);
    near(r.timeline->end_s[0], 4e-3);
    banyan_fluid_fini(&r);
    r = run(s, t, 4000000, (banyan_fluid_options){.slice_bytes = 1000000, .service = BANYAN_SERVICE_SHARED});
    near(r.timeline->end_s[1], 2e-3);
    banyan_fluid_fini(&r);
    r = run(s, t, 4000000, (banyan_fluid_options){.slice_bytes = WHOLE});
    near(r.timeline->end_s[0], 3e-3); /* all of each: on a par */
    near(r.timeline->end_s[1], 4e-3);
    banyan_fluid_fini(&r);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

/* The paper's Eq. 2, twice: 2 (p-1)/p of the vector over the slowest link, on machines of two and three. A
 * ring both ways has routes that cross at the switch, where only slices keep in step. */
TEST(a_ring_on_uneven_machines_is_as_fast_as_its_slowest_link)
{
    banyan_topology *t = load("hosts:2+3,gbps=1,latency=50us,local_gbps=80,local_latency=5us");

    for (int ways = 1; ways <= 2; ways++) {
        banyan_schedule *s = build(t, ways == 1 ? "ring" : "bidirectional-ring");
        banyan_fluid_result r = run(s, t, 480000000, (banyan_fluid_options){0});

        assert_true(r.timeline->total_s >= 6.144 && r.timeline->total_s < 6.144 * 1.003);
        banyan_fluid_fini(&r);
        banyan_schedule_destroy(s);
    }
    banyan_topology_destroy(t);
}

static banyan_schedule *make_chain(const banyan_topology *t, banyan_action action)
{
    banyan_builder b = begin(t, 1);

    for (int i = 0; i < 3; i++)
        banyan_builder_add(
            &b, (banyan_transfer){
                    .round = i, .src = i, .dst = i + 1, .piece_count = 1, .action = action, .route = -1});
    return end(&b);
}

TEST(slices_pipeline_a_chain)
{
    banyan_topology *t = load("line:4,GBps=1,latency=1us");
    banyan_schedule *s = make_chain(t, BANYAN_ACTION_COPY);

    near(time_of(s, t, 1000000, (banyan_fluid_options){.slice_bytes = 1000000}), 3e-3 + 3e-6);
    near(time_of(s, t, 1000000, (banyan_fluid_options){.slice_bytes = 100000}), 1e-3 + 2e-4 + 3e-6);
    near(time_of(s, t, 1000000, (banyan_fluid_options){.slice_bytes = 1000}), 1e-3 + 2e-6 + 3e-6);
    /* Left alone, we see that a chain gains by slices: 131072 bytes make 8 of them. */
    near(time_of(s, t, 1000000, (banyan_fluid_options){0}), 1e-3 + 2 * 125e-6 + 3e-6);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(every_message_pays_its_overhead)
{
    banyan_topology *t = load("line:4,GBps=1,latency=1us");
    banyan_schedule *s = make_chain(t, BANYAN_ACTION_COPY);
    banyan_fluid_options options = {.slice_bytes = 1000000, .overhead_s = 5e-6};

    near(time_of(s, t, 1000000, options), 3 * (1e-3 + 1e-6 + 5e-6));
    options.slice_bytes = 100000;
    near(time_of(s, t, 1000000, options), 10 * (1e-4 + 5e-6) + 2 * (1e-4 + 5e-6) + 3e-6);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(workers_add_at_their_speed_one_message_after_the_other)
{
    banyan_topology *t = load("line:4,GBps=1,latency=0s"), *star = load("switch:3,GBps=1,latency=0s");
    banyan_schedule *sum = make_chain(t, BANYAN_ACTION_REDUCE), *copy = make_chain(t, BANYAN_ACTION_COPY);
    banyan_schedule *both;
    banyan_fluid_options options = {.slice_bytes = WHOLE, .reduce_bytes_per_s = 4e9};
    banyan_builder b = begin(star, 2);

    near(time_of(sum, t, 1000000, options), 3 * (1e-3 + 0.25e-3));
    near(time_of(copy, t, 1000000, options), 3e-3);
    options.slice_bytes = 100000;
    near(time_of(sum, t, 1000000, options), 1e-3 + 2e-4 + 3 * 0.25e-4);
    /* Two messages of 1 MB come over one link together at 2 ms and are added in turn. */
    banyan_builder_reduce(&b, 0, star->workers[1], star->workers[0], 0, 1, 0);
    banyan_builder_reduce(&b, 0, star->workers[2], star->workers[0], 1, 1, 0);
    both = end(&b);
    options.slice_bytes = WHOLE;
    near(time_of(both, star, 2000000, options), 2e-3 + 2 * 0.25e-3);
    banyan_schedule_destroy(sum);
    banyan_schedule_destroy(copy);
    banyan_schedule_destroy(both);
    banyan_topology_destroy(t);
    banyan_topology_destroy(star);
}

TEST(in_lockstep_a_round_waits_for_the_whole_round_before)
{
    banyan_topology *t = load("line:4,GBps=1,latency=1us");
    banyan_builder b = begin(t, 4);
    banyan_schedule *s;
    banyan_fluid_result r;

    banyan_builder_copy(&b, 0, 0, 1, 0, 3, 0);
    banyan_builder_copy(&b, 1, 2, 3, 3, 1, 0); /* shares nothing with the first */
    s = end(&b);
    near(time_of(s, t, 4000000, (banyan_fluid_options){.slice_bytes = WHOLE}), 3e-3 + 1e-6);
    r = run(s, t, 4000000, (banyan_fluid_options){.lockstep = 1});
    near(r.timeline->begin_s[1], 3e-3 + 1e-6);
    near(r.timeline->total_s, 4e-3 + 2e-6);
    banyan_fluid_fini(&r);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(what_comes_after_the_barrier_waits_for_all_before_it)
{
    banyan_topology *t = load("line:4,GBps=1,latency=0s");
    banyan_builder b = begin(t, 4);
    banyan_limits limits;
    banyan_schedule *s;
    banyan_fluid_result r;

    /* Before it the first two pipeline; the third shares nothing with them and waits all the same. */
    banyan_builder_copy(&b, 0, 0, 1, 0, 2, 0);
    banyan_builder_copy(&b, 1, 1, 2, 0, 2, 0);
    banyan_builder_copy(&b, 2, 2, 3, 3, 1, 0);
    banyan_builder_set_barrier(&b, 2);
    s = end(&b);
    r = run(s, t, 4000000, (banyan_fluid_options){.slice_bytes = 1000});
    near(r.timeline->end_s[1], 2e-3 + 1e-6);
    near(r.timeline->begin_s[2], 2e-3 + 1e-6);
    near(r.timeline->total_s, 3e-3 + 1e-6);
    assert_int_equal(banyan_bandwidth_limit(s, t, &limits, NULL), BANYAN_SUCCESS);
    near(limits.bytes_per_s, 4e6 / 3e-3);
    banyan_fluid_fini(&r);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(multitree_in_lockstep_takes_its_steps)
{
    /* Every step is one hop with a 16th of the vector. */
    banyan_topology *t = load("torus:4x4,gbps=128,latency=150ns");
    banyan_schedule *s = build(t, "multitree");
    double n = 1 << 20;

    near(time_of(s, t, 1 << 20, (banyan_fluid_options){.lockstep = 1}),
         s->round_count * (150e-9 + n / 16 / 16e9));
    assert_true(s->round_count == 8 || s->round_count == 10); /* by the order of neighbours */
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(a_message_waits_for_the_slices_that_hold_its_elements)
{
    banyan_topology *t = load("line:3,GBps=1,latency=0s");
    banyan_builder b = begin(t, 4);
    banyan_schedule *s;
    banyan_fluid_result r;

    /* Four pieces of 1 MB in four slices to 1; then the second and third of them go on to 2. */
    banyan_builder_copy(&b, 0, 0, 1, 0, 4, 0);
    banyan_builder_copy(&b, 1, 1, 2, 1, 2, 0);
    s = end(&b);
    r = run(s, t, 4000000, (banyan_fluid_options){.slice_bytes = 1000000});
    near(r.timeline->begin_s[1], 2e-3);
    near(r.timeline->end_s[1], 4e-3);
    banyan_fluid_fini(&r);
    r = run(s, t, 4000000, (banyan_fluid_options){.slice_bytes = 2000000});
    near(r.timeline->begin_s[1], 4e-3);
    banyan_fluid_fini(&r);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(a_switch_that_can_multicasts_and_reduces)
{
    banyan_topology *t = load("switch:5,GBps=1,latency=1us");
    banyan_builder b = begin(t, 1);
    int hub = 0;
    banyan_schedule *s;

    while (t->nodes[hub].kind == BANYAN_NODE_WORKER)
        hub++;
    for (int i = 0; i < 5; i++)
        banyan_builder_add(&b, (banyan_transfer){.src = t->workers[i],
                                                 .dst = hub,
                                                 .piece_count = 1,
                                                 .action = BANYAN_ACTION_REDUCE,
                                                 .route = -1});
    for (int i = 0; i < 5; i++)
        banyan_builder_copy(&b, 1, hub, t->workers[i], 0, 1, 0);
    s = end(&b);
    near(time_of(s, t, 1000000, (banyan_fluid_options){.slice_bytes = WHOLE, .reduce_bytes_per_s = 1}),
         2 * (1e-3 + 1e-6));
    near(time_of(s, t, 1000000, (banyan_fluid_options){.slice_bytes = 1000}), 1e-3 + 1e-6 + 2e-6);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(nothing_to_do_takes_no_time_and_nothing_to_send_only_latency)
{
    banyan_topology *one = load("switch:1"), *t = load("ring:4,latency=1us");
    banyan_schedule *idle = build(one, "ring"), *s = build(t, "ring");
    banyan_fluid_result r = run(idle, one, 1 << 20, (banyan_fluid_options){0});

    assert_true(r.timeline->total_s == 0 && r.bottleneck == -1 && r.utilization == 0);
    banyan_fluid_fini(&r);
    r = run(s, t, 0, (banyan_fluid_options){0});
    near(r.timeline->total_s, 6e-6);
    assert_int_equal(r.bottleneck, -1);
    banyan_fluid_fini(&r);
    banyan_schedule_destroy(idle);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(one);
    banyan_topology_destroy(t);
}

/* Runs where a sentence is due, and nothing may be given out. */
static void says(const banyan_schedule *s, const banyan_topology *t, banyan_fluid_options options,
                 banyan_status wanted, const char *words)
{
    banyan_fluid_result r;
    banyan_error err = {""};

    assert_int_equal(banyan_fluid(s, t, 1 << 20, &options, &r, &err), wanted);
    CHECK_SAYS(err, words);
    assert_null(r.timeline);
    assert_null(r.link_bytes);
}

TEST(says_what_does_not_fit)
{
    banyan_topology *big = load("ring:8"), *small = load("ring:3"), *star = load("switch:7");
    banyan_topology *cut = load("line:4");
    banyan_schedule *s = build(big, "ring"), *routed;
    banyan_builder b = begin(cut, 1);
    int there = banyan_topology_find_link(cut, 0, 1), away = banyan_topology_find_link(cut, 2, 3);
    banyan_fluid_options none = {0};

    says(s, small, none, BANYAN_INVALID_ARGUMENT, "for 8 nodes, but ring:3 has 3");
    s->active[0] = star->nodes[0].kind == BANYAN_NODE_SWITCH ? 0 : 7;
    says(s, star, none, BANYAN_INVALID_ARGUMENT, "another network: its rank 0 is node");
    s->active[0] = 0;
    says(s, big, (banyan_fluid_options){.overhead_s = -1}, BANYAN_INVALID_ARGUMENT, "overhead of -1");
    says(s, big, (banyan_fluid_options){.reduce_bytes_per_s = NAN}, BANYAN_INVALID_ARGUMENT, "reduce speed");
    says(s, big, (banyan_fluid_options){.work_limit = 10}, BANYAN_UNSUPPORTED, "more than the 10 steps");
    banyan_builder_add(&b, (banyan_transfer){.src = 0,
                                             .dst = 1,
                                             .piece_count = 1,
                                             .route = banyan_builder_add_route(&b, (int[]){there, away}, 2)});
    routed = end(&b);
    says(routed, cut, none, BANYAN_INVALID_ARGUMENT, "route 0 goes on from g2, but is at g1 then");
    routed->route_first[1] = 1;
    routed->transfers[0].dst = 2;
    says(routed, cut, none, BANYAN_INVALID_ARGUMENT, "route 0 ends at g1, not at g2");
    routed->route_link[0] = 1000;
    says(routed, cut, none, BANYAN_INVALID_ARGUMENT, "route 0 names link 1000");
    banyan_schedule_destroy(s);
    banyan_schedule_destroy(routed);
    banyan_topology_destroy(big);
    banyan_topology_destroy(small);
    banyan_topology_destroy(star);
    banyan_topology_destroy(cut);
}

TEST(says_which_pair_has_no_route)
{
    banyan_topology *t = load("line:4"), *cut = load("line:4,down=g1-g2");
    banyan_schedule *s = build(t, "ring");

    says(s, cut, (banyan_fluid_options){0}, BANYAN_INVALID_ARGUMENT, "g");
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
    banyan_topology_destroy(cut);
}

static void count(void *context, size_t done, size_t total)
{
    *(size_t *)context += done <= total;
}

TEST(tells_of_its_progress)
{
    banyan_topology *t = load("line:4,GBps=1");
    banyan_schedule *s = make_chain(t, BANYAN_ACTION_COPY);
    size_t calls = 0;

    time_of(s, t, 50000000, (banyan_fluid_options){.slice_bytes = 500, .progress = count, .context = &calls});
    assert_int_equal(calls, 300000 / 65536);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_topology *t = load("hosts:2+3");
    banyan_schedule *s = build(t, "halving-doubling");
    banyan_fluid_result r = {.timeline = NULL};

    for (long calls = 0; !r.timeline; calls++) {
        banyan_fluid_options options = {.slice_bytes = 100000};

        banyan_alloc_fail_after(calls);
        banyan_fluid(s, t, 1 << 20, &options, &r, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_fluid_fini(&r);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_takes_its_closed_form_without_being_told_anything),
        cmocka_unit_test(algorithms_take_their_closed_forms_on_a_switch),
        cmocka_unit_test(hierarchical_takes_its_closed_form_level_by_level),
        cmocka_unit_test(two_flows_share_one_link),
        cmocka_unit_test(three_flows_over_two_links_are_max_min_fair),
        cmocka_unit_test(a_flow_that_is_held_back_leaves_its_share_to_others),
        cmocka_unit_test(a_flow_released_midway_slows_the_others_from_then_on),
        cmocka_unit_test(slices_on_one_link_take_turns_by_what_is_sent_of_each_flow),
        cmocka_unit_test(a_ring_on_uneven_machines_is_as_fast_as_its_slowest_link),
        cmocka_unit_test(slices_pipeline_a_chain),
        cmocka_unit_test(every_message_pays_its_overhead),
        cmocka_unit_test(workers_add_at_their_speed_one_message_after_the_other),
        cmocka_unit_test(in_lockstep_a_round_waits_for_the_whole_round_before),
        cmocka_unit_test(what_comes_after_the_barrier_waits_for_all_before_it),
        cmocka_unit_test(multitree_in_lockstep_takes_its_steps),
        cmocka_unit_test(a_message_waits_for_the_slices_that_hold_its_elements),
        cmocka_unit_test(a_switch_that_can_multicasts_and_reduces),
        cmocka_unit_test(nothing_to_do_takes_no_time_and_nothing_to_send_only_latency),
        cmocka_unit_test(says_what_does_not_fit),
        cmocka_unit_test(says_which_pair_has_no_route),
        cmocka_unit_test(tells_of_its_progress),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
