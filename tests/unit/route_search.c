/* SPDX-License-Identifier: Apache-2.0 */
/* Routes that are searched for one by one are those of the tables. */
#include "topology/route_search.h"

#include "core/alloc.h"
#include "core/random.h"
#include "topology/build.h"
#include "topology/routes.h"
#include "unit/test.h"

enum { SEED = 7, RANDOM_NETWORKS = 60, MOST_NODES = 64 };

/* Up and down where the policy says so, else by the fewest links, as topology/routes.c asks. */
static int search(banyan_route_search *s, const int *level, int src, int dst, int *path)
{
    int count = level ? banyan_route_search_find(s, src, dst, 1, path) : -1;

    return count < 0 ? banyan_route_search_find(s, src, dst, 0, path) : count;
}

static void check_all_pairs(const banyan_topology *t)
{
    int *level = t->policy == BANYAN_ROUTES_UPDOWN ? banyan_route_levels(t) : NULL, *path;
    banyan_route_search *s;
    banyan_routes *routes;

    path = banyan_alloc((size_t)t->node_count, sizeof *path);
    assert_int_equal(banyan_routes_create(t, &routes, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_route_search_create(t, level, &s, NULL), BANYAN_SUCCESS);
    for (int src = 0; src < t->node_count; src++)
        for (int dst = 0; dst < t->node_count; dst++) {
            const int *wanted;
            int count, found = search(s, level, src, dst, path);

            if (banyan_routes_find(routes, src, dst, &wanted, &count, NULL))
                count = -1;
            if (found != count || (count > 0 && memcmp(path, wanted, (size_t)count * sizeof *path)))
                fail_msg("%s: the route from node %d to node %d has %d links and not the %d of the table",
                         t->name, src, dst, found, count);
        }
    banyan_route_search_destroy(s);
    banyan_routes_destroy(routes);
    banyan_free(path);
    banyan_free(level);
}

TEST(a_searched_route_is_that_of_the_table)
{
    const char *const specs[] = {"switch:9", "fattree:4x4", "fattree:3x6:2", "bigraph:3x6",
                                 "dgx1",     "dgxa100:3",   "hosts:1+3+5",   "racks:2x2+3x4",
                                 "full:6",   "ring:9",      "line:8",        "hosts:4x3,down=h1-net"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        banyan_topology *t = NULL;
        banyan_error err = {0};

        if (banyan_topology_load(specs[i], &t, &err))
            fail_msg("%s", err.text);
        if (t->policy != BANYAN_ROUTES_GRID)
            check_all_pairs(t);
        banyan_topology_destroy(t);
    }
}

/* Workers and switches with links of two speeds, one way each. */
static banyan_topology *make_random(banyan_random *random, int is_updown)
{
    int nodes = 4 + banyan_random_below(random, MOST_NODES - 4), links = 3 * nodes;
    banyan_topology_builder builder;
    banyan_topology *t;

    banyan_topology_builder_init(&builder, "random");
    for (int i = 0; i < nodes; i++) {
        char name[16];

        snprintf(name, sizeof name, "n%d", i);
        if (i < 2 || banyan_random_below(random, 2))
            banyan_topology_add_worker_f(&builder, -1, "n%d", i);
        else
            banyan_topology_add_switch(&builder, name);
    }
    for (int i = 0; i < links; i++) {
        int src = banyan_random_below(random, nodes), dst = banyan_random_below(random, nodes);
        double speed = banyan_random_below(random, 2) ? 1e9 : 2e9;

        if (src != dst)
            banyan_topology_add_link(&builder, src, dst, speed, 1e-6);
    }
    banyan_topology_set_policy(&builder, is_updown ? BANYAN_ROUTES_UPDOWN : BANYAN_ROUTES_SHORTEST);
    assert_int_equal(banyan_topology_builder_finish(&builder, &t, NULL), BANYAN_SUCCESS);
    return t;
}

TEST(so_it_is_on_random_networks)
{
    banyan_random random = {SEED};

    for (int i = 0; i < RANDOM_NETWORKS; i++) {
        banyan_topology *t = make_random(&random, i % 2);

        print_message("seed %d, network %d\n", SEED, i);
        check_all_pairs(t);
        banyan_topology_destroy(t);
    }
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_route_search *s = NULL;
    banyan_topology *t = NULL;
    int *level = NULL;

    assert_int_equal(banyan_topology_load("fattree:2x2", &t, NULL), BANYAN_SUCCESS);
    for (long calls = 0; !level; calls++) {
        banyan_alloc_fail_after(calls);
        level = banyan_route_levels(t);
    }
    for (long calls = 0; !s; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_route_search_create(t, level, &s, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_route_search_destroy(s);
    banyan_free(level);
    banyan_topology_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_searched_route_is_that_of_the_table),
        cmocka_unit_test(so_it_is_on_random_networks),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
