/* SPDX-License-Identifier: Apache-2.0 */
/* MultiTree: steps and trees as in the paper, no link twice in a round, and what it does on other networks.
 * Reference steps: Algorithm 1 of Huang et al. 2021 as printed, and (p-1) where each rank has one link; a
 * pinwheel's are the bound, (p-1)/4. */
#include "core/alloc.h"
#include "meaning.h"
#include "networks.h"

static banyan_schedule *plan(const network *net, const char *order, banyan_collective collective)
{
    banyan_parameter parameter = {"order", order};
    banyan_problem problem = make_problem(net, collective);

    problem.parameters = &parameter;
    problem.parameter_count = order != NULL;
    return build("multitree", &problem);
}

/* Fails where a link is used more than once in a round. */
static void check_free_of_contention(const banyan_schedule *schedule, const banyan_topology *topology)
{
    int *last = banyan_alloc((size_t)topology->link_count, sizeof *last);

    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        int at = t->src;

        assert_true(t->route >= 0);
        for (int k = schedule->route_first[t->route]; k < schedule->route_first[t->route + 1]; k++) {
            int link = schedule->route_link[k];

            assert_int_equal(topology->links[link].src, at);
            at = topology->links[link].dst;
            if (last[link] == t->round + 1)
                fail_msg("link %d is used twice in round %d", link, t->round);
            last[link] = t->round + 1;
        }
        assert_int_equal(at, t->dst);
    }
    banyan_free(last);
}

static void check_steps(network net, const char *order, int wanted)
{
    banyan_schedule *schedule = plan(&net, order, BANYAN_COLLECTIVE_ALLREDUCE);

    if (schedule->round_count != 2 * wanted)
        fail_msg("%s with %d workers, order %s: %d rounds, not 2 x %d", net.topology->name, net.active_count,
                 order ? order : "default", schedule->round_count, wanted);
    assert_int_equal(schedule->transfer_count, 2 * net.active_count * (net.active_count - 1));
    check_free_of_contention(schedule, net.topology);
    if (net.active_count <= 36)
        assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

static network square(int extent, int wraps)
{
    return make_grid((banyan_grid){2, {extent, extent}, {wraps, wraps}});
}

static void steps_on_tori_and_meshes_are_the_papers(void **state)
{
    (void)state;
    check_steps(square(4, 1), "yx", 5);
    check_steps(square(6, 1), "yx", 10);
    check_steps(square(8, 1), "yx", 17);
    check_steps(square(10, 1), "yx", 26);
    check_steps(square(16, 1), "yx", 64);
    check_steps(square(4, 0), "yx", 8);
    check_steps(square(8, 0), "yx", 32);
    check_steps(square(2, 0), "yx", 2);
}

/* Rounds of an all-gather with the order of the paper and another option; cases are side, wraps, steps. */
static void check_option(const char *key, const char *value, const int cases[][3], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        network net = square(cases[i][0], cases[i][1]);
        banyan_parameter parameters[] = {{"order", "yx"}, {key, value}};
        banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLGATHER);
        banyan_schedule *schedule;

        problem.parameters = parameters;
        problem.parameter_count = 2;
        schedule = build("multitree", &problem);
        assert_int_equal(schedule->round_count, cases[i][2]);
        check_free_of_contention(schedule, net.topology);
        banyan_schedule_destroy(schedule);
        banyan_topology_destroy(net.topology);
    }
}

/* Trees of corners before trees of the middle: no gain on tori, one step more on the 4x4 mesh. */
static void steps_with_deep_trees_first_are_the_references(void **state)
{
    static const int cases[][3] = {{4, 1, 5}, {8, 1, 17}, {4, 0, 9}, {8, 0, 32}};

    (void)state;
    check_option("turns", "deep", cases, sizeof cases / sizeof *cases);
}

/* The authors' program ends a step when the last tree of a round does not grow: no matter on tori, 10 and 33
 * steps on meshes. */
static void steps_of_the_released_program_are_its_own(void **state)
{
    static const int cases[][3] = {{4, 1, 5}, {6, 1, 10}, {8, 1, 17}, {10, 1, 26}, {4, 0, 10}, {8, 0, 33}};

    (void)state;
    check_option("steps", "released", cases, sizeof cases / sizeof *cases);
}

static void the_default_order_reaches_the_bound_on_tori_and_meshes(void **state)
{
    (void)state;
    check_steps(square(4, 1), NULL, 4);
    check_steps(square(8, 1), NULL, 16);
    check_steps(square(4, 0), NULL, 8);
    check_steps(square(8, 0), NULL, 32);
}

static void a_pinwheel_reaches_the_bound_on_every_square_torus(void **state)
{
    (void)state;
    for (int side = 3; side <= 17; side++)
        check_steps(square(side, 1), "pinwheel", (side * side + 2) / 4);
}

static int distance(int a, int b, int side)
{
    int apart = a > b ? a - b : b - a;

    return apart < side - apart ? apart : side - apart;
}

/* Only in the second step, and near the end, is passed on what came in the step before. */
static void a_pinwheel_hides_latency_and_makes_no_detours(void **state)
{
    (void)state;
    for (int side = 8; side <= 16; side += 4) {
        network net = square(side, 1);
        banyan_schedule *schedule = plan(&net, "pinwheel", BANYAN_COLLECTIVE_ALLGATHER);
        int *came = banyan_alloc((size_t)(side * side), sizeof *came);
        int *hops = banyan_alloc((size_t)(side * side), sizeof *hops);

        for (size_t i = 0; i < schedule->transfer_count; i++) {
            const banyan_transfer *t = &schedule->transfers[i];

            if (t->flow != 5)
                continue;
            came[t->dst] = t->round;
            hops[t->dst] = hops[t->src] + 1;
            if (t->src != 5 && t->round > 1 && t->round < schedule->round_count - 4)
                assert_true(came[t->src] < t->round - 1);
            assert_int_equal(hops[t->dst], distance(t->dst % side, 5 % side, side) +
                                               distance(t->dst / side, 5 / side, side));
        }
        banyan_free(came);
        banyan_free(hops);
        banyan_schedule_destroy(schedule);
        banyan_topology_destroy(net.topology);
    }
}

static void check_no_pinwheel(network net)
{
    banyan_parameter parameter = {"order", "pinwheel"};
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule;
    banyan_error err;

    problem.parameters = &parameter;
    problem.parameter_count = 1;
    assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("multitree"), &problem, &schedule, &err),
                     BANYAN_UNSUPPORTED);
    assert_string_equal(err.text,
                        "a pinwheel needs a square torus with equal cables and all workers, of sides "
                        "from 3 to 45");
    banyan_topology_destroy(net.topology);
}

static void a_pinwheel_needs_a_whole_square_torus(void **state)
{
    network idle = square(4, 1);

    (void)state;
    idle.active_count--;
    check_no_pinwheel(idle);
    check_no_pinwheel(square(4, 0));
    check_no_pinwheel(square(2, 1));
    check_no_pinwheel(make_grid((banyan_grid){2, {4, 6}, {1, 1}}));
    check_no_pinwheel(make_star(9, 0));
}

static void a_pinwheel_survives_the_failure_of_each_allocation(void **state)
{
    network net = square(4, 1);
    banyan_parameter parameter = {"order", "pinwheel"};
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule = NULL;

    (void)state;
    problem.parameters = &parameter;
    problem.parameter_count = 1;
    for (long calls = 0; !schedule; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_algorithm_build(banyan_algorithm_find("multitree"), &problem, &schedule, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

static void switches_take_one_step_for_each_other_rank(void **state)
{
    (void)state;
    check_steps(make_star(9, 0), NULL, 8);
    check_steps(make_fattree(2, 8, 8), NULL, 15);
    check_steps(make_fattree(8, 8, 8), NULL, 63);
    check_steps(make_bigraph(4, 4, 1), NULL, 31);
    check_steps(make_bigraph(8, 4, 1), NULL, 63);
}

/* The rounds in which no path is longer than so many links, in the all-gather. */
static int rounds_within(const banyan_schedule *schedule, int hops)
{
    int longest[128] = {0}, count = 0;

    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        int links = schedule->route_first[t->route + 1] - schedule->route_first[t->route];

        longest[t->round] = links > longest[t->round] ? links : longest[t->round];
    }
    for (int round = 0; round < schedule->round_count; round++)
        count += longest[round] <= hops;
    return count;
}

static void ranks_of_the_same_switch_come_first(void **state)
{
    network fattree = make_fattree(8, 8, 8), bigraph = make_bigraph(4, 4, 1);
    banyan_schedule *schedule = plan(&fattree, NULL, BANYAN_COLLECTIVE_ALLGATHER);

    (void)state;
    assert_int_equal(rounds_within(schedule, 2), 7);
    assert_int_equal(rounds_within(schedule, 4), 63);
    banyan_schedule_destroy(schedule);
    schedule = plan(&bigraph, NULL, BANYAN_COLLECTIVE_ALLGATHER);
    assert_int_equal(rounds_within(schedule, 2), 3);
    assert_int_equal(rounds_within(schedule, 3), 31);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(fattree.topology);
    banyan_topology_destroy(bigraph.topology);
}

/* {step from 1, parent, child} of the all-gather of one tree. */
static int has_edge(const banyan_schedule *schedule, int tree, int step, int parent, int child)
{
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];

        if (t->flow == tree && t->round == step - 1 && t->src == parent && t->dst == child)
            return 1;
    }
    return 0;
}

static void the_2x2_mesh_has_the_trees_of_figure_3(void **state)
{
    static const int edges[4][3][3] = {
        {{1, 0, 2}, {1, 0, 1}, {2, 2, 3}},
        {{1, 1, 3}, {1, 1, 0}, {2, 3, 2}},
        {{1, 2, 0}, {1, 2, 3}, {2, 0, 1}},
        {{1, 3, 1}, {1, 3, 2}, {2, 1, 0}},
    };
    network net = square(2, 0);
    banyan_schedule *schedule = plan(&net, "yx", BANYAN_COLLECTIVE_ALLGATHER);

    (void)state;
    assert_int_equal(schedule->transfer_count, 12);
    for (int tree = 0; tree < 4; tree++)
        for (int i = 0; i < 3; i++)
            assert_true(has_edge(schedule, tree, edges[tree][i][0], edges[tree][i][1], edges[tree][i][2]));
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

static void idle_workers_of_a_torus_only_relay(void **state)
{
    network net = square(4, 1);
    banyan_schedule *schedule;

    (void)state;
    net.active_count = 0;
    for (int i = 0; i < 16; i++)
        if (i % 3 != 1)
            net.active[net.active_count++] = i;
    schedule = plan(&net, NULL, BANYAN_COLLECTIVE_ALLREDUCE);
    assert_true(meaning_is_right(schedule));
    check_free_of_contention(schedule, net.topology);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

/* A line of three switches; ranks hang on the outer two only, so paths must pass the middle one; and a rank
 * that can only be reached through another rank. */
static void trees_grow_through_whatever_there_is(void **state)
{
    banyan_topology_builder builder;
    network net = {NULL, {0, 1, 2, 3}, 4};
    banyan_schedule *schedule;

    (void)state;
    banyan_topology_builder_init(&builder, "line");
    for (int i = 0; i < 5; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int i = 0; i < 3; i++)
        banyan_topology_add_switch_f(&builder, "s%d", i);
    banyan_topology_add_cable(&builder, 0, 5, 1e9, 0);
    banyan_topology_add_cable(&builder, 1, 5, 1e9, 0);
    banyan_topology_add_cable(&builder, 5, 6, 1e9, 0);
    banyan_topology_add_cable(&builder, 6, 7, 1e9, 0);
    banyan_topology_add_cable(&builder, 2, 7, 1e9, 0);
    banyan_topology_add_cable(&builder, 2, 4, 1e9, 0);
    banyan_topology_add_cable(&builder, 4, 3, 1e9, 0);
    assert_int_equal(banyan_topology_builder_finish(&builder, &net.topology, NULL), BANYAN_SUCCESS);
    schedule = plan(&net, NULL, BANYAN_COLLECTIVE_ALLREDUCE);
    assert_true(meaning_is_right(schedule));
    check_free_of_contention(schedule, net.topology);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

static void one_way_links_reduce_over_the_default_route(void **state)
{
    banyan_topology_builder builder;
    network net = {NULL, {0, 1, 2}, 3};
    banyan_schedule *schedule;

    (void)state;
    banyan_topology_builder_init(&builder, "one way round");
    for (int i = 0; i < 3; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int i = 0; i < 3; i++)
        banyan_topology_add_link(&builder, i, (i + 1) % 3, 1e9, 0);
    assert_int_equal(banyan_topology_builder_finish(&builder, &net.topology, NULL), BANYAN_SUCCESS);
    schedule = plan(&net, NULL, BANYAN_COLLECTIVE_ALLREDUCE);
    assert_true(meaning_is_right(schedule));
    for (size_t i = 0; i < schedule->transfer_count; i++)
        assert_int_equal(schedule->transfers[i].route < 0,
                         schedule->transfers[i].action == BANYAN_ACTION_REDUCE);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

/* Two workers joined by a cable of three times the speed of the others take it thrice in a step. */
static void fast_links_are_taken_more_than_once_in_a_step(void **state)
{
    banyan_topology_builder builder;
    network net = {NULL, {0, 1, 2, 3}, 4};
    banyan_schedule *schedule;

    (void)state;
    banyan_topology_builder_init(&builder, "dumb-bell");
    for (int i = 0; i < 4; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    banyan_topology_add_cable(&builder, 0, 1, 1e9, 0);
    banyan_topology_add_cable(&builder, 2, 3, 1e9, 0);
    banyan_topology_add_cable(&builder, 1, 2, 3e9, 0);
    assert_int_equal(banyan_topology_builder_finish(&builder, &net.topology, NULL), BANYAN_SUCCESS);
    schedule = plan(&net, NULL, BANYAN_COLLECTIVE_ALLGATHER);
    assert_true(meaning_is_right(schedule));
    assert_int_equal(schedule->round_count, 3);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

static void unknown_orders_are_refused_with_a_sentence(void **state)
{
    network net = make_star(3, 0);
    banyan_parameter parameter = {"order", "zigzag"};
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule;
    banyan_error err;

    (void)state;
    problem.parameters = &parameter;
    problem.parameter_count = 1;
    assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("multitree"), &problem, &schedule, &err),
                     BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "option 'order' must be split, yx, xy or pinwheel, not 'zigzag'");
    banyan_topology_destroy(net.topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_on_tori_and_meshes_are_the_papers),
        cmocka_unit_test(steps_with_deep_trees_first_are_the_references),
        cmocka_unit_test(steps_of_the_released_program_are_its_own),
        cmocka_unit_test(the_default_order_reaches_the_bound_on_tori_and_meshes),
        cmocka_unit_test(a_pinwheel_reaches_the_bound_on_every_square_torus),
        cmocka_unit_test(a_pinwheel_hides_latency_and_makes_no_detours),
        cmocka_unit_test(a_pinwheel_needs_a_whole_square_torus),
        cmocka_unit_test(a_pinwheel_survives_the_failure_of_each_allocation),
        cmocka_unit_test(switches_take_one_step_for_each_other_rank),
        cmocka_unit_test(ranks_of_the_same_switch_come_first),
        cmocka_unit_test(the_2x2_mesh_has_the_trees_of_figure_3),
        cmocka_unit_test(idle_workers_of_a_torus_only_relay),
        cmocka_unit_test(trees_grow_through_whatever_there_is),
        cmocka_unit_test(one_way_links_reduce_over_the_default_route),
        cmocka_unit_test(fast_links_are_taken_more_than_once_in_a_step),
        cmocka_unit_test(unknown_orders_are_refused_with_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
