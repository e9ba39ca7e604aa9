/* SPDX-License-Identifier: Apache-2.0 */
/* Rings on grids: how often each link is used, and where the algorithms do not apply. */
#include "core/alloc.h"
#include "meaning.h"
#include "networks.h"
#include "topology/routes.h"
#include "unit/test.h"

static banyan_schedule *plan(const char *name, const network *net, const char *key, const char *value)
{
    banyan_parameter parameter = {key, value};
    banyan_problem problem = make_problem(net, BANYAN_COLLECTIVE_ALLREDUCE);

    problem.parameters = &parameter;
    problem.parameter_count = key != NULL;
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

TEST(ring2d_uses_all_links_of_a_torus_alike)
{
    network net = make_grid((banyan_grid){2, {4, 4}, {1, 1}});
    banyan_schedule *schedule = plan("ring2d", &net, NULL, NULL);

    assert_int_equal(schedule->round_count, 12);
    check_loads(schedule, net.topology, 12.0 / 16);
    assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
    schedule = plan("ring2d", &net, "phases", "nested");
    assert_int_equal(schedule->round_count, 12);
    check_loads(schedule, net.topology, 2 * 15.0 / 16 / 4);
    assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

TEST(ring2d_serves_any_extents_and_dimensions)
{
    static const banyan_grid grids[] = {
        {2, {3, 4}, {1, 1}},       {2, {4, 6}, {0, 0}},       {2, {1, 5}, {1, 1}},
        {3, {2, 3, 4}, {1, 1, 0}}, {3, {3, 3, 3}, {1, 1, 1}}, {1, {6}, {1}},
    };

    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        network net = make_grid(grids[i]);
        banyan_schedule *whole = plan("ring2d", &net, NULL, NULL);
        banyan_schedule *nested = plan("ring2d", &net, "phases", "nested");

        assert_true(meaning_is_right(whole));
        assert_true(meaning_is_right(nested));
        banyan_schedule_destroy(whole);
        banyan_schedule_destroy(nested);
        banyan_topology_destroy(net.topology);
    }
}

TEST(ring2d_says_why_it_does_not_apply)
{
    network star = make_star(4, 0), torus = make_grid((banyan_grid){2, {3, 3}, {1, 1}});
    banyan_problem problem = make_problem(&star, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_parameter parameter = {"phases", "some"};
    banyan_schedule *schedule;
    banyan_error err;

    assert_int_equal(banyan_algorithm_applies(banyan_algorithm_find("ring2d"), &problem, &err),
                     BANYAN_UNSUPPORTED);
    assert_string_equal(err.text, "ring2d needs a torus or mesh, and star is neither");
    torus.active_count = 8;
    problem = make_problem(&torus, BANYAN_COLLECTIVE_ALLREDUCE);
    assert_int_equal(banyan_algorithm_applies(banyan_algorithm_find("ring2d"), &problem, &err),
                     BANYAN_UNSUPPORTED);
    assert_string_equal(err.text, "ring2d needs every worker of the grid, but only 8 of 9 are active");
    problem.active_count = 9;
    problem.parameters = &parameter;
    problem.parameter_count = 1;
    assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("ring2d"), &problem, &schedule, &err),
                     BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "option 'phases' must be whole or nested, not 'some'");
    banyan_topology_destroy(star.topology);
    banyan_topology_destroy(torus.topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring2d_uses_all_links_of_a_torus_alike),
        cmocka_unit_test(ring2d_serves_any_extents_and_dimensions),
        cmocka_unit_test(ring2d_says_why_it_does_not_apply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
