/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/group_plans.c: what `auto` takes between processes (group/plans.h). */
#include "unit/test.h"

#include "group/plans.h"
#include "planner/wisdom.h"

/* Four hosts with one rank each at a switch; the first one's cable has this speed, the others' 1 Gbit/s. */
static banyan_setup four_hosts(double first_bytes_per_s)
{
    banyan_setup setup = {.algorithm = (char *)"auto", .size = 4};
    banyan_error err;

    if (banyan_topology_load("hosts:1+1+1+1,gbps=1,local_gbps=100", &setup.topology, &err))
        fail_msg("%s", err.text);
    setup.active = setup.topology->workers;
    for (int i = 0; i < setup.topology->link_count; i++) {
        banyan_link *link = &setup.topology->links[i];
        char name[64];

        banyan_topology_link_name(setup.topology, i, name, sizeof name);
        if (!strcmp(name, "h0->net") || !strcmp(name, "net->h0"))
            link->bytes_per_s = first_bytes_per_s;
    }
    return setup;
}

static banyan_group_plan *choose(banyan_setup *setup, size_t bytes, banyan_group_plan **plans)
{
    banyan_group_plan *plan;
    banyan_error err;

    if (banyan_group_plan_get(plans, setup, BANYAN_COLLECTIVE_ALLREDUCE, 0, bytes, BANYAN_FLOAT32, &plan,
                              &err))
        fail_msg("%s", err.text);
    return plan;
}

/* Several plans fill the same links equally long; only rings have one connection on each. */
TEST(on_equal_links_long_vectors_meet_nobody)
{
    banyan_setup setup = four_hosts(125e6);
    banyan_group_plan *plans = NULL, *plan = choose(&setup, 1 << 20, &plans);
    banyan_limits limits;

    assert_int_equal(banyan_bandwidth_limit(plan->schedule, setup.topology, &limits, NULL), 0);
    assert_int_equal(limits.full_links, 8);
    assert_int_equal(limits.crowd, 8);
    banyan_group_plans_destroy(plans);
    banyan_topology_destroy(setup.topology);
}

/* One message each way for the slow host: its cable carries heads and acknowledgements, too. */
TEST(short_vectors_burden_a_slow_host_with_few_messages)
{
    banyan_setup setup = four_hosts(25e6);
    banyan_group_plan *plans = NULL, *plan = choose(&setup, 1024, &plans);
    int slow = setup.active[0], messages = 0;

    for (size_t i = 0; i < plan->schedule->transfer_count; i++)
        messages += plan->schedule->transfers[i].src == slow;
    assert_int_equal(messages, 1);
    banyan_group_plans_destroy(plans);
    banyan_topology_destroy(setup.topology);
}

static void expect_messages(const char *spec, size_t bytes, size_t transfers)
{
    banyan_setup setup = {.algorithm = (char *)"auto"};
    banyan_group_plan *plans = NULL, *plan;
    banyan_error err;

    if (banyan_topology_load(spec, &setup.topology, &err))
        fail_msg("%s", err.text);
    setup.active = setup.topology->workers;
    setup.size = setup.topology->worker_count;
    plan = choose(&setup, bytes, &plans);
    assert_int_equal(plan->schedule->transfer_count, transfers);
    banyan_group_plans_destroy(plans);
    banyan_topology_destroy(setup.topology);
}

/* Swaps between leaders, which have more messages or wait for one another, are predicted to cost the same. */
TEST(of_short_plans_that_cost_alike_the_one_with_the_fewest_messages_is_taken)
{
    expect_messages("racks:2x2x2,gbps=1,rack_gbps=0.5", 4096, 14);
    expect_messages("hosts:3+3+4,gbps=1", 4096, 18);
}

/* What `banyan plan` shows is what a job runs: processes, and as many ranks as there are workers or fewer. */
static void expect_same_choice(const char *spec, int ranks, size_t bytes)
{
    banyan_setup setup = {.algorithm = (char *)"auto", .size = ranks, .has_no_relays = 1};
    banyan_group_plan *plans = NULL, *run;
    char planned[17], ran[17];
    banyan_problem problem;
    banyan_plan plan;
    banyan_error err;

    if (banyan_topology_load(spec, &setup.topology, &err))
        fail_msg("%s", err.text);
    setup.active = setup.topology->workers;
    run = choose(&setup, bytes, &plans);
    problem = banyan_group_problem(&setup, BANYAN_COLLECTIVE_ALLREDUCE, 0, bytes);
    if (banyan_plan_search(&problem, banyan_plan_default_effort(&problem), NULL, &plan, NULL, &err))
        fail_msg("%s: %s", spec, err.text);
    banyan_schedule_digest(run->schedule, ran);
    banyan_schedule_digest(plan.schedule, planned);
    if (strcmp(ran, planned) != 0)
        fail_msg("%s, %zu bytes: %s is planned, but %s runs", spec, bytes, plan.algorithm->name,
                 run->schedule->algorithm);
    banyan_plan_fini(&plan);
    banyan_group_plans_destroy(plans);
    banyan_topology_destroy(setup.topology);
}

TEST(a_job_runs_what_the_planner_shows)
{
    static const size_t sizes[] = {1 << 10, 64 << 10, 1 << 20, 64 << 20};

    for (int i = 0; i < 4; i++) {
        expect_same_choice("fattree:4x4", 16, sizes[i]);
        expect_same_choice("racks:2x2x4", 16, sizes[i]);
        expect_same_choice("torus:4x4", 16, sizes[i]);
        expect_same_choice("hosts:2+3", 5, sizes[i]);
        expect_same_choice("dgx1", 8, sizes[i]);
        expect_same_choice("hosts:3+3+4,gbps=1", 10, sizes[i]);
        expect_same_choice("torus:4x4,down=g0-g1", 16, sizes[i]);
        expect_same_choice("racks:2x2x2,gbps=1,rack_gbps=0.5", 8, sizes[i]);
        expect_same_choice("dgx1", 6, sizes[i]);
        expect_same_choice("hosts:2+3,degrade=h0->net:0.5", 5, sizes[i]);
    }
}

/* The same through the public call, which knows of no setup. */
TEST(a_job_runs_what_the_library_plans)
{
    static const char *const specs[] = {"hosts:1+1+1+1,gbps=1", "mesh:3x3", "switch:5", "dgx1,down=g0-g1"};
    static const size_t sizes[] = {4 << 10, 256 << 10, 4 << 20, 16 << 20};

    for (int i = 0; i < 16; i++) {
        banyan_setup setup = {.algorithm = (char *)"auto", .has_no_relays = 1};
        banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
        banyan_group_plan *plans = NULL, *run;
        char planned[17], ran[17];
        banyan_plan *plan;
        banyan_error err;

        if (banyan_topology_load(specs[i / 4], &setup.topology, &err))
            fail_msg("%s", err.text);
        setup.active = setup.topology->workers;
        setup.size = setup.topology->worker_count;
        config.bytes = sizes[i % 4];
        run = choose(&setup, config.bytes, &plans);
        if (banyan_plan_create(setup.topology, &config, &plan, &err))
            fail_msg("%s", err.text);
        banyan_schedule_digest(run->schedule, ran);
        banyan_schedule_digest(banyan_plan_schedule(plan), planned);
        if (strcmp(ran, planned) != 0)
            fail_msg("%s, %zu bytes: %s is planned, but %s runs", specs[i / 4], config.bytes,
                     plan->algorithm->name, run->schedule->algorithm);
        banyan_plan_destroy(plan);
        banyan_group_plans_destroy(plans);
        banyan_topology_destroy(setup.topology);
    }
}

/* Without a process at the idle workers forest plans with what they can do: forward. Its rate is the one that
 * it has then. */
TEST(forest_runs_where_workers_are_idle)
{
    static const banyan_parameter forward = {"relays", "forward"};
    banyan_setup setup = {.algorithm = (char *)"forest", .size = 6, .has_no_relays = 1};
    banyan_group_plan *plans = NULL, *plan;
    banyan_problem problem;
    banyan_limits limits;
    banyan_plan wanted;
    banyan_error err;

    assert_int_equal(banyan_topology_load("dgx1", &setup.topology, NULL), 0);
    setup.active = setup.topology->workers;
    plan = choose(&setup, 64 << 20, &plans);
    assert_int_equal(banyan_bandwidth_limit(plan->schedule, setup.topology, &limits, NULL), 0);
    problem = (banyan_problem){.topology = setup.topology,
                               .active = setup.active,
                               .active_count = 6,
                               .collective = BANYAN_COLLECTIVE_ALLREDUCE,
                               .parameters = &forward,
                               .parameter_count = 1};
    if (banyan_plan_choose("forest", &problem, &wanted, &err))
        fail_msg("%s", err.text);
    assert_true(limits.bytes_per_s > 0.999 * wanted.limits.bytes_per_s);
    banyan_plan_fini(&wanted);
    banyan_group_plans_destroy(plans);
    banyan_topology_destroy(setup.topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_equal_links_long_vectors_meet_nobody),
        cmocka_unit_test(short_vectors_burden_a_slow_host_with_few_messages),
        cmocka_unit_test(of_short_plans_that_cost_alike_the_one_with_the_fewest_messages_is_taken),
        cmocka_unit_test(a_job_runs_what_the_planner_shows),
        cmocka_unit_test(a_job_runs_what_the_library_plans),
        cmocka_unit_test(forest_runs_where_workers_are_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
