/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/paces.c: what connections may send (simulate/paces.h), and when they are held to it
 * (group/pacing.h). */
#include "unit/test.h"

#include <math.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "group/pacing.h"
#include "planner/planner.h"
#include "simulate/fluid.h"
#include "simulate/paces.h"
#include "simulate/simulate.h"

#define RACKS "racks:3x2x1,gbps=1,rack_gbps=0.4"
#define SLOW_HOST "hosts:1+1+1+1+1+1,gbps=1,degrade=h2:0.1"
#define TRUNK_BYTES_PER_S 50e6

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

static double time_of(const banyan_schedule *s, const banyan_topology *t, int is_paced)
{
    banyan_fluid_options options = {.slice_bytes = 32 << 10, .is_paced = is_paced};
    banyan_fluid_result result;
    banyan_error err;
    double seconds;

    if (banyan_fluid(s, t, 16 << 20, &options, &result, &err))
        fail_msg("%s", err.text);
    assert_int_equal(result.link_count, t->link_count);
    seconds = result.timeline->total_s;
    banyan_fluid_fini(&result);
    return seconds;
}

TEST(paces_fill_the_fullest_link_and_overfill_none)
{
    banyan_topology *t = load(RACKS);
    banyan_schedule *s = build(t, "forest");
    double *load_of = banyan_alloc((size_t)t->link_count, sizeof *load_of), *paces, fullest = 0;
    banyan_paths *paths;

    assert_int_equal(banyan_paths_find(s, t, &paths, NULL), 0);
    assert_int_equal(banyan_paces_of_paths(s, t, paths, &paces, NULL), 0);
    for (int p = 0; p < paths->path_count; p++)
        for (int i = paths->first[p]; i < paths->first[p + 1]; i++)
            load_of[paths->link[i]] += paces[p];
    for (int i = 0; i < t->link_count; i++)
        fullest = fmax(fullest, load_of[i] / t->links[i].bytes_per_s);
    assert_true(fabs(fullest - 1) < 1e-9);
    banyan_free(load_of);
    banyan_free(paces);
    banyan_paths_destroy(paths);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(a_source_has_the_paces_of_its_paths)
{
    banyan_topology *t = load("hosts:1+1+1,gbps=1");
    banyan_schedule *s = build(t, "ring");
    double *paces;

    assert_int_equal(banyan_paces_find(s, t, 0, &paces, NULL), 0);
    assert_true(fabs(paces[1] + paces[2] - 125e6) < 1);
    assert_true(paces[0] == 0);
    banyan_free(paces);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(pacing_suits_trees_that_flow_all_the_time_and_not_what_waits_for_rounds)
{
    banyan_topology *t = load(RACKS);
    banyan_schedule *trees = build(t, "forest"), *rounds = build(t, "halving-doubling");

    assert_true(time_of(trees, t, 1) < 1.02 * time_of(trees, t, 0));
    assert_true(time_of(rounds, t, 1) > 1.2 * time_of(rounds, t, 0));
    banyan_schedule_destroy(trees);
    banyan_schedule_destroy(rounds);
    banyan_topology_destroy(t);
}

TEST(memory_that_runs_out_is_told)
{
    banyan_topology *t = load(RACKS);
    banyan_schedule *s = build(t, "forest");
    double *paces = NULL;

    for (int calls = 0; !paces; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_paces_find(s, t, 0, &paces, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_free(paces);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

/* An endpoint that remembers what it was told last. */
typedef struct {
    banyan_endpoint base;
    double paces[32];
} remembering;

static void remember(banyan_endpoint *endpoint, int peer, double bytes_per_s)
{
    ((remembering *)endpoint)->paces[peer] = bytes_per_s;
}

static const banyan_transport paced_transport = {.name = "paced", .pace = remember};

static double pace_of_all(const remembering *e)
{
    double sum = 0;

    for (int i = 0; i < e->base.member_count; i++)
        sum += e->paces[i];
    return sum;
}

typedef struct {
    banyan_setup setup;
    banyan_group_plan *plans, *plan;
    remembering endpoint;
} bench;

static void open_bench(bench *b)
{
    banyan_error err;

    *b = (bench){.setup = {.algorithm = (char *)"auto"}};
    b->setup.topology = load(RACKS);
    b->setup.active = b->setup.topology->workers;
    b->setup.size = b->setup.topology->worker_count;
    if (banyan_group_plan_get(&b->plans, &b->setup, BANYAN_COLLECTIVE_ALLREDUCE, 0, 16 << 20, BANYAN_FLOAT32,
                              &b->plan, &err))
        fail_msg("%s", err.text);
    b->endpoint = (remembering){.base = {&paced_transport, 0, b->setup.topology->node_count}};
}

static void close_bench(bench *b)
{
    banyan_group_plans_destroy(b->plans);
    banyan_topology_destroy(b->setup.topology);
}

/* Returns what all connections of the call were paced to, together; 0: they were not. */
static double call(bench *b, double seconds)
{
    double pace;

    assert_int_equal(banyan_pacing_begin(b->plan, &b->setup, &b->endpoint.base, NULL), 0);
    pace = pace_of_all(&b->endpoint);
    banyan_pacing_end(b->plan, &b->endpoint.base, 16 << 20, seconds);
    return pace;
}

TEST(racks_behind_narrow_trunks_get_a_paced_plan)
{
    bench b;

    open_bench(&b);
    assert_true(b.plan->is_paced);
    close_bench(&b);
}

/* A tree over a slow host sends at that host's speed on all its links, and fills no other one. */
TEST(a_plan_that_leaves_fast_links_half_empty_is_paced)
{
    banyan_topology *t = load(SLOW_HOST);
    banyan_problem problem = {
        .topology = t, .active = t->workers, .active_count = t->worker_count, .bytes = 16 << 20};
    banyan_plan plan;
    banyan_error err;

    if (banyan_plan_choose("forest", &problem, &plan, &err))
        fail_msg("%s", err.text);
    assert_true(plan.is_paced);
    banyan_plan_fini(&plan);
    banyan_topology_destroy(t);
}

/* For any size, as a plan that was asked for by name is made: long vectors decide. */
TEST(a_plan_for_any_size_is_paced_where_that_suits_long_vectors)
{
    static const struct {
        const char *spec, *algorithm;
        int is_paced;
    } cases[] = {{"hosts:3+3+4,gbps=0.1", "flexreduce", 0}, {RACKS, "forest", 1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_topology *t = load(cases[i].spec);
        banyan_problem problem = {.topology = t, .active = t->workers, .active_count = t->worker_count};
        banyan_plan plan;
        banyan_error err;

        if (banyan_plan_choose(cases[i].algorithm, &problem, &plan, &err))
            fail_msg("%s", err.text);
        if (plan.is_paced != cases[i].is_paced)
            fail_msg("%s on %s: paced %d", cases[i].algorithm, cases[i].spec, plan.is_paced);
        banyan_plan_fini(&plan);
        banyan_topology_destroy(t);
    }
}

TEST(pacing_matters_where_links_carry_more_than_the_plan_sends)
{
    static const struct {
        const char *spec, *algorithm;
        int matters;
    } cases[] = {{"hosts:1+1+1+1,gbps=1", "ring", 0}, {SLOW_HOST, "forest", 1}, {RACKS, "forest", 1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_topology *t = load(cases[i].spec);
        banyan_schedule *s = build(t, cases[i].algorithm);
        int matters;

        assert_int_equal(banyan_paces_matter(s, t, &matters, NULL), 0);
        if (matters != cases[i].matters)
            fail_msg("%s on %s: %d", cases[i].algorithm, cases[i].spec, matters);
        banyan_schedule_destroy(s);
        banyan_topology_destroy(t);
    }
}

TEST(calls_are_paced_after_the_first_one_and_some_loosely)
{
    double as_told_s = (16 << 20) / (0.7 * TRUNK_BYTES_PER_S), usual, loose;
    bench b;

    open_bench(&b);
    assert_true(call(&b, as_told_s) == 0);
    usual = call(&b, as_told_s);
    assert_true(usual > 0);
    for (unsigned i = 2; i < BANYAN_LOOSE_PERIOD; i++)
        assert_true(call(&b, as_told_s) == usual);
    loose = call(&b, as_told_s);
    assert_true(fabs(loose / usual - BANYAN_LOOSE / BANYAN_PACE_HEADROOM) < 1e-9);
    assert_true(call(&b, as_told_s) == usual);
    banyan_pacing_lift(&b.endpoint.base);
    assert_true(pace_of_all(&b.endpoint) == 0);
    close_bench(&b);
}

TEST(a_network_that_is_faster_than_told_is_not_paced)
{
    double faster_s = (16 << 20) / (4 * TRUNK_BYTES_PER_S);
    bench b;

    open_bench(&b);
    for (unsigned i = 0; i < 2 * BANYAN_LOOSE_PERIOD; i++)
        assert_true(call(&b, faster_s) == 0);
    close_bench(&b);
}

/* As a link that has come back shows itself. */
TEST(a_call_that_exceeds_its_pace_is_the_last_one_that_is_paced)
{
    double as_told_s = (16 << 20) / (0.7 * TRUNK_BYTES_PER_S);
    bench b;

    open_bench(&b);
    for (unsigned i = 0; i < BANYAN_LOOSE_PERIOD; i++)
        call(&b, as_told_s);
    assert_true(call(&b, (16 << 20) / (1.4 * b.plan->pacings[0]->limit)) > 0);
    for (unsigned i = 0; i < 4; i++)
        assert_true(call(&b, as_told_s) == 0);
    close_bench(&b);
}

TEST(a_network_that_nobody_knows_is_not_paced)
{
    bench b;

    open_bench(&b);
    b.setup.is_default_topology = 1;
    for (unsigned i = 0; i < 4; i++)
        assert_true(call(&b, 1) == 0);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paces_fill_the_fullest_link_and_overfill_none),
        cmocka_unit_test(a_source_has_the_paces_of_its_paths),
        cmocka_unit_test(pacing_suits_trees_that_flow_all_the_time_and_not_what_waits_for_rounds),
        cmocka_unit_test(memory_that_runs_out_is_told),
        cmocka_unit_test(racks_behind_narrow_trunks_get_a_paced_plan),
        cmocka_unit_test(a_plan_that_leaves_fast_links_half_empty_is_paced),
        cmocka_unit_test(a_plan_for_any_size_is_paced_where_that_suits_long_vectors),
        cmocka_unit_test(pacing_matters_where_links_carry_more_than_the_plan_sends),
        cmocka_unit_test(calls_are_paced_after_the_first_one_and_some_loosely),
        cmocka_unit_test(a_network_that_is_faster_than_told_is_not_paced),
        cmocka_unit_test(a_call_that_exceeds_its_pace_is_the_last_one_that_is_paced),
        cmocka_unit_test(a_network_that_nobody_knows_is_not_paced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
