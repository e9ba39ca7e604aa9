/* SPDX-License-Identifier: Apache-2.0 */
/* Rings on grids: how often each link is used, and where the algorithms do not apply. */
#include <math.h>

#include "algorithms/cycles.h"
#include "core/alloc.h"
#include "meaning.h"
#include "networks.h"
#include "simulate/simulate.h"
#include "topology/routes.h"
#include "unit/test.h"

static banyan_schedule *plan(const char *name, const network *net)
{
    banyan_problem problem = make_problem(net, BANYAN_COLLECTIVE_ALLREDUCE);

    return build(name, &problem);
}

/* The share of the vector that goes over each link, least and most. */
static void find_loads(const banyan_schedule *schedule, const banyan_topology *topology, double *least,
                       double *most)
{
    double *load = banyan_alloc((size_t)topology->link_count, sizeof *load);
    banyan_routes *routes;

    assert_int_equal(banyan_routes_create(topology, &routes, NULL), BANYAN_SUCCESS);
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        const int *links;
        int count;

        if (t->route >= 0) {
            links = schedule->route_link + schedule->route_first[t->route];
            count = schedule->route_first[t->route + 1] - schedule->route_first[t->route];
        } else {
            assert_int_equal(banyan_routes_find(routes, t->src, t->dst, &links, &count, NULL), 0);
        }
        for (int k = 0; k < count; k++)
            load[links[k]] += banyan_schedule_share(schedule, t->first_piece, t->piece_count);
    }
    *least = *most = load[0];
    for (int i = 1; i < topology->link_count; i++) {
        *least = load[i] < *least ? load[i] : *least;
        *most = load[i] > *most ? load[i] : *most;
    }
    banyan_routes_destroy(routes);
    banyan_free(load);
}

static void check_loads(const banyan_schedule *schedule, const banyan_topology *topology, double wanted)
{
    double least, most;

    find_loads(schedule, topology, &least, &most);
    if (least < wanted - 1e-9 || most > wanted + 1e-9)
        fail_msg("%s: links carry %g to %g of the vector, not %g", schedule->algorithm, least, most, wanted);
}

TEST(ring2d_and_bucket_use_all_links_of_a_torus_alike)
{
    network net = make_grid((banyan_grid){2, {4, 4}, {1, 1}});
    banyan_schedule *schedule = plan("ring2d", &net);

    assert_int_equal(schedule->round_count, 12);
    check_loads(schedule, net.topology, 12.0 / 16);
    assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
    schedule = plan("bucket", &net);
    assert_int_equal(schedule->round_count, 12);
    check_loads(schedule, net.topology, 2 * 15.0 / 16 / 4);
    assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

TEST(ring2d_and_bucket_serve_any_extents_and_dimensions)
{
    static const banyan_grid grids[] = {
        {2, {3, 4}, {1, 1}},       {2, {4, 6}, {0, 0}},       {2, {1, 5}, {1, 1}},
        {3, {2, 3, 4}, {1, 1, 0}}, {3, {3, 3, 3}, {1, 1, 1}}, {1, {6}, {1}},
    };

    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        network net = make_grid(grids[i]);
        banyan_schedule *whole = plan("ring2d", &net);
        banyan_schedule *nested = plan("bucket", &net);

        assert_true(meaning_is_right(whole));
        assert_true(meaning_is_right(nested));
        banyan_schedule_destroy(whole);
        banyan_schedule_destroy(nested);
        banyan_topology_destroy(net.topology);
    }
}

TEST(bucket_steps_over_no_more_than_one_worker_of_a_mesh)
{
    network net = make_grid((banyan_grid){2, {5, 6}, {0, 0}});
    banyan_schedule *schedule = plan("bucket", &net);

    for (size_t i = 0; i < schedule->transfer_count; i++) {
        int src = schedule->transfers[i].src, dst = schedule->transfers[i].dst;

        assert_true(abs(src / 6 - dst / 6) + abs(src % 6 - dst % 6) <= 2);
    }
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

TEST(ring2d_says_why_it_does_not_apply)
{
    network star = make_star(4, 0), torus = make_grid((banyan_grid){2, {3, 3}, {1, 1}});
    banyan_problem problem = make_problem(&star, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_error err;

    assert_int_equal(banyan_algorithm_applies(banyan_algorithm_find("ring2d"), &problem, &err),
                     BANYAN_UNSUPPORTED);
    assert_string_equal(err.text, "ring2d needs a torus or mesh; star is neither");
    torus.active_count = 8;
    problem = make_problem(&torus, BANYAN_COLLECTIVE_ALLREDUCE);
    assert_int_equal(banyan_algorithm_applies(banyan_algorithm_find("ring2d"), &problem, &err),
                     BANYAN_UNSUPPORTED);
    assert_string_equal(err.text, "ring2d needs every worker of the grid, but only 8 of 9 are active");
    assert_int_equal(banyan_algorithm_applies(banyan_algorithm_find("bucket"), &problem, &err),
                     BANYAN_UNSUPPORTED);
    assert_string_equal(err.text, "bucket needs every worker of the grid, but only 8 of 9 are active");
    banyan_topology_destroy(star.topology);
    banyan_topology_destroy(torus.topology);
}

/* Every step is a cable of the torus, every worker comes once in each cycle, and no cable comes twice. */
static void check_cycles(banyan_grid grid)
{
    network net = make_grid(grid);
    int size = net.active_count, cycle_count, *cycles;
    char *used = banyan_alloc((size_t)net.topology->link_count, 1);
    char *seen = banyan_alloc((size_t)size, 1);
    banyan_error err;

    if (banyan_cycles_find(&grid, &cycles, &cycle_count, &err))
        fail_msg("%dx%dx%d: %s", grid.extent[0], grid.extent[1], grid.extent[2], err.text);
    for (int c = 0; c < cycle_count; c++) {
        memset(seen, 0, (size_t)size);
        for (int i = 0; i < size; i++) {
            int from = cycles[c * size + i], to = cycles[c * size + (i + 1) % size];
            int there = banyan_topology_find_link(net.topology, from, to);
            int back = banyan_topology_find_link(net.topology, to, from);

            assert_false(seen[from]++);
            assert_true(there >= 0 && back >= 0);
            assert_false(used[there]++);
            assert_false(used[back]++);
        }
    }
    assert_int_equal(net.topology->link_count, 2 * cycle_count * size);
    banyan_free(cycles);
    banyan_free(used);
    banyan_free(seen);
    banyan_topology_destroy(net.topology);
}

TEST(tori_fall_into_disjoint_hamiltonian_cycles)
{
    for (int a = 3; a <= 8; a++)
        for (int b = 3; b <= 8; b++)
            check_cycles((banyan_grid){2, {a, b}, {1, 1}});
    check_cycles((banyan_grid){1, {5}, {1}});
    check_cycles((banyan_grid){3, {3, 3, 3}, {1, 1, 1}});
    check_cycles((banyan_grid){3, {4, 4, 4}, {1, 1, 1}});
    check_cycles((banyan_grid){3, {3, 4, 5}, {1, 1, 1}});
    check_cycles((banyan_grid){4, {3, 3, 3, 3}, {1, 1, 1, 1}});
    check_cycles((banyan_grid){2, {16, 16}, {1, 1}});
}

TEST(multi_ring_uses_all_links_of_a_torus_alike_and_as_little_as_can_be)
{
    static const banyan_grid grids[] = {{2, {4, 4}, {1, 1}}, {2, {3, 5}, {1, 1}}, {3, {3, 3, 3}, {1, 1, 1}}};

    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        network net = make_grid(grids[i]);
        double ranks = net.active_count;

        for (int c = 0; c <= BANYAN_COLLECTIVE_REDUCE; c++) {
            banyan_problem problem = make_problem(&net, (banyan_collective)c);
            banyan_schedule *schedule = build("multi-ring", &problem);

            assert_true(meaning_is_right(schedule));
            if (c == BANYAN_COLLECTIVE_ALLREDUCE)
                check_loads(schedule, net.topology, 2 * (ranks - 1) / ranks / (2 * grids[i].dimension_count));
            banyan_schedule_destroy(schedule);
        }
        banyan_topology_destroy(net.topology);
    }
}

TEST(multi_ring_says_why_it_does_not_apply)
{
    static const struct {
        banyan_grid grid;
        const char *words;
    } cases[] = {
        {{2, {4, 2}, {1, 1}}, "extents of at least 3, but dimension 1 of grid has 2"},
        {{2, {4, 4}, {0, 1}}, "dimension 0 of grid has 4 and does not wrap"},
    };
    banyan_error err;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        network net = make_grid(cases[i].grid);
        banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);

        assert_int_equal(banyan_algorithm_applies(banyan_algorithm_find("multi-ring"), &problem, &err),
                         BANYAN_UNSUPPORTED);
        CHECK_SAYS(err, cases[i].words);
        banyan_topology_destroy(net.topology);
    }
}

/* One ring has one adapter per machine; as many as the smallest machine has workers use all of them. */
TEST(multi_ring_has_one_ring_for_each_way_out_of_a_machine)
{
    static const struct {
        const char *spec, *active;
        double bytes_per_s;
    } cases[] = {
        {"dgxh100:2", NULL, 50e9 * 8 * 16 / 30},       /* adapters of 50 GB/s, 8 rings */
        {"dgxh100:2", "0-3,8-15", 50e9 * 4 * 12 / 22}, /* 4 rings */
        {"rails:1x2x4", NULL, 50e9 * 4 * 8 / 14},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_topology *topology;
        int *active, count;

        assert_int_equal(banyan_topology_load(cases[i].spec, &topology, NULL), BANYAN_SUCCESS);
        assert_int_equal(banyan_topology_parse_active(topology, cases[i].active, &active, &count, NULL),
                         BANYAN_SUCCESS);
        for (int c = 0; c <= BANYAN_COLLECTIVE_REDUCE; c++) {
            banyan_problem problem = {.topology = topology,
                                      .active = active,
                                      .active_count = count,
                                      .collective = (banyan_collective)c};
            banyan_schedule *schedule = build("multi-ring", &problem);
            banyan_limits limits;

            assert_true(meaning_is_right(schedule));
            if (c == BANYAN_COLLECTIVE_ALLREDUCE) {
                assert_int_equal(banyan_bandwidth_limit(schedule, topology, &limits, NULL), BANYAN_SUCCESS);
                assert_true(fabs(limits.bytes_per_s / cases[i].bytes_per_s - 1) < 1e-9);
            }
            banyan_schedule_destroy(schedule);
        }
        banyan_free(active);
        banyan_topology_destroy(topology);
    }
}

TEST(multi_ring_needs_several_ways_out_of_machines)
{
    static const char *const cases[][2] = {{"hosts:2+3", "all rings would cross link h0->net"},
                                           {"hosts:1+3", "machines of several active workers each"},
                                           {"switch:4", "machines of several active workers each"}};
    banyan_error err;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_topology *topology;
        banyan_problem problem = {.collective = BANYAN_COLLECTIVE_ALLREDUCE};
        int *active;

        assert_int_equal(banyan_topology_load(cases[i][0], &topology, NULL), BANYAN_SUCCESS);
        assert_int_equal(banyan_topology_parse_active(topology, NULL, &active, &problem.active_count, NULL),
                         BANYAN_SUCCESS);
        problem.topology = topology;
        problem.active = active;
        assert_int_equal(banyan_algorithm_applies(banyan_algorithm_find("multi-ring"), &problem, &err),
                         BANYAN_UNSUPPORTED);
        CHECK_SAYS(err, cases[i][1]);
        banyan_free(active);
        banyan_topology_destroy(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring2d_and_bucket_use_all_links_of_a_torus_alike),
        cmocka_unit_test(ring2d_and_bucket_serve_any_extents_and_dimensions),
        cmocka_unit_test(bucket_steps_over_no_more_than_one_worker_of_a_mesh),
        cmocka_unit_test(ring2d_says_why_it_does_not_apply),
        cmocka_unit_test(tori_fall_into_disjoint_hamiltonian_cycles),
        cmocka_unit_test(multi_ring_uses_all_links_of_a_torus_alike_and_as_little_as_can_be),
        cmocka_unit_test(multi_ring_says_why_it_does_not_apply),
        cmocka_unit_test(multi_ring_has_one_ring_for_each_way_out_of_a_machine),
        cmocka_unit_test(multi_ring_needs_several_ways_out_of_machines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
