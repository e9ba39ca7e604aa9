/* SPDX-License-Identifier: Apache-2.0 */
/* Halving-doubling made for a network: HDRM on BiGraphs, Swing on tori. */
#include "core/alloc.h"
#include "meaning.h"
#include "networks.h"
#include "topology/routes.h"
#include "unit/test.h"

static network load(const char *spec)
{
    network net = {0};
    banyan_error err;

    if (banyan_topology_load(spec, &net.topology, &err))
        fail_msg("%s: %s", spec, err.text);
    for (int i = 0; i < net.topology->worker_count; i++)
        net.active[net.active_count++] = net.topology->workers[i];
    return net;
}

/* The most transfers that share a link in one round, on default routes. */
static int most_on_a_link(const banyan_schedule *schedule, const banyan_topology *topology)
{
    int *round = banyan_alloc((size_t)topology->link_count, sizeof *round);
    int *count = banyan_alloc((size_t)topology->link_count, sizeof *count), most = 0;
    banyan_routes *routes;

    assert_int_equal(banyan_routes_create(topology, &routes, NULL), BANYAN_SUCCESS);
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        const int *links;
        int link_count;

        assert_int_equal(banyan_routes_find(routes, t->src, t->dst, &links, &link_count, NULL), 0);
        for (int k = 0; k < link_count; k++) {
            count[links[k]] = round[links[k]] == t->round + 1 ? count[links[k]] + 1 : 1;
            round[links[k]] = t->round + 1;
            most = count[links[k]] > most ? count[links[k]] : most;
        }
    }
    banyan_routes_destroy(routes);
    banyan_free(round);
    banyan_free(count);
    return most;
}

static void check_bigraph(const char *spec, int steps, int most)
{
    network net = load(spec);
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule = build("hdrm", &problem);

    assert_int_equal(schedule->round_count, 2 * steps);
    assert_int_equal(schedule->transfer_count, 2 * steps * net.active_count);
    assert_true(meaning_is_right(schedule));
    if (most_on_a_link(schedule, net.topology) != most)
        fail_msg("%s: %d transfers on a link, not %d", spec, most_on_a_link(schedule, net.topology), most);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

TEST(hdrm_never_uses_a_cable_twice_in_a_round)
{
    check_bigraph("bigraph:4x8", 5, 1);
    check_bigraph("bigraph:4x16", 6, 1);
    check_bigraph("bigraph:1x2", 1, 1);
    check_bigraph("bigraph:2x4", 3, 1);
    check_bigraph("bigraph:4x4", 4, 2); /* cables of double speed between two and two switches */
}

TEST(hdrm_says_why_it_does_not_apply)
{
    static const char *const cases[][2] = {
        {"switch:8", "on switch:8 there are not two layers of as many switches each"},
        {"bigraph:3x4", "on bigraph:3x4 switches or workers on each are no power of two"},
        {"ring:4", "on ring:4 a worker has more than one link"},
        {"hosts:4+4", "on hosts:4+4 "},
    };
    banyan_error err;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        network net = load(cases[i][0]);
        banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);

        assert_int_equal(banyan_algorithm_applies(banyan_algorithm_find("hdrm"), &problem, &err),
                         BANYAN_UNSUPPORTED);
        CHECK_SAYS(err, cases[i][1]);
        banyan_topology_destroy(net.topology);
    }
}

static void check_swing(banyan_grid grid, int steps)
{
    network net = make_grid(grid);
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule = build("swing", &problem);

    assert_int_equal(schedule->round_count, 2 * steps);
    assert_int_equal(schedule->transfer_count, 2 * steps * net.active_count * schedule->flow_count);
    assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

TEST(swing_is_an_all_reduce_in_as_few_rounds_as_halving_doubling_and_sends_whole_intervals)
{
    check_swing((banyan_grid){1, {2}, {1}}, 1);
    check_swing((banyan_grid){1, {8}, {1}}, 3);
    check_swing((banyan_grid){1, {32}, {1}}, 5);
    check_swing((banyan_grid){2, {2, 2}, {1, 1}}, 2);
    check_swing((banyan_grid){2, {4, 4}, {1, 1}}, 4);
    check_swing((banyan_grid){2, {8, 8}, {1, 1}}, 6);
    check_swing((banyan_grid){2, {2, 8}, {1, 1}}, 4);
    check_swing((banyan_grid){2, {16, 4}, {1, 1}}, 6);
    check_swing((banyan_grid){3, {2, 4, 4}, {1, 1, 1}}, 5);
}

TEST(swing_partners_are_nearer_than_those_of_halving_doubling)
{
    network net = load("ring:16");
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *swing = build("swing", &problem);
    static const int distance[4] = {1, 1, 3, 5};

    for (size_t i = 0; i < swing->transfer_count; i++) {
        const banyan_transfer *t = &swing->transfers[i];
        int step = t->round < 4 ? t->round : 7 - t->round, way = (t->dst - t->src + 16) % 16;

        assert_int_equal(way > 8 ? 16 - way : way, distance[step]);
    }
    banyan_schedule_destroy(swing);
    banyan_topology_destroy(net.topology);
}

TEST(swing_says_why_it_does_not_apply)
{
    static const char *const cases[][2] = {
        {"switch:8", "swing needs a torus; switch:8 is not one"},
        {"torus:4x6", "powers of two for extents, but dimension 1 of torus:4x6 has 6"},
        {"mesh:4x4", "dimension 0 of mesh:4x4 has 4 and does not wrap"},
    };
    banyan_error err;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        network net = load(cases[i][0]);
        banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);

        assert_int_equal(banyan_algorithm_applies(banyan_algorithm_find("swing"), &problem, &err),
                         BANYAN_UNSUPPORTED);
        CHECK_SAYS(err, cases[i][1]);
        banyan_topology_destroy(net.topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hdrm_never_uses_a_cable_twice_in_a_round),
        cmocka_unit_test(hdrm_says_why_it_does_not_apply),
        cmocka_unit_test(
            swing_is_an_all_reduce_in_as_few_rounds_as_halving_doubling_and_sends_whole_intervals),
        cmocka_unit_test(swing_partners_are_nearer_than_those_of_halving_doubling),
        cmocka_unit_test(swing_says_why_it_does_not_apply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
