/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/topology.c: the text form, questions, and default routes. */
#include "unit/test.h"

#include <jansson.h>
#include <math.h>

#include "core/alloc.h"
#include "topology/build.h"
#include "topology/routes.h"
#include "topology/topology.h"

static const char two_hosts[] =
    "{\"format\":\"banyan-topology\",\"version\":1,\"name\":\"two hosts\",\"routes\":\"updown\",\"nodes\":["
    "{\"name\":\"g0\",\"kind\":\"worker\",\"host\":\"a\"},{\"name\":\"g1\",\"kind\":\"worker\",\"host\":"
    "\"a\"},"
    "{\"name\":\"g2\",\"kind\":\"worker\",\"host\":\"b\"},{\"name\":\"s0\",\"kind\":\"switch\"},"
    "{\"name\":\"s1\",\"kind\":\"switch\"},{\"name\":\"net\",\"kind\":\"switch\",\"reduce\":true}],\"links\":"
    "["
    "{\"src\":\"g0\",\"dst\":\"s0\",\"bytes_per_s\":1e10,\"latency_s\":1e-6,\"both\":true},"
    "{\"src\":\"g1\",\"dst\":\"s0\",\"bytes_per_s\":1e10,\"latency_s\":1e-6,\"both\":true},"
    "{\"src\":\"g2\",\"dst\":\"s1\",\"bytes_per_s\":1e10,\"latency_s\":1e-6,\"both\":true},"
    "{\"src\":\"s0\",\"dst\":\"net\",\"bytes_per_s\":1.25e9,\"both\":true},"
    "{\"src\":\"s1\",\"dst\":\"net\",\"bytes_per_s\":1.25e9},{\"src\":\"net\",\"dst\":\"s1\",\"bytes_per_s\":"
    "1e9}]}";

static banyan_topology *parse(const char *text)
{
    banyan_topology *topology;
    banyan_error err = {""};

    if (banyan_topology_parse(text, strlen(text), &topology, &err))
        fail_msg("%s", err.text);
    return topology;
}

TEST(reads_nodes_links_and_facts)
{
    banyan_topology *t = parse(two_hosts);

    assert_string_equal(t->name, "two hosts");
    assert_int_equal(t->node_count, 6);
    assert_int_equal(t->worker_count, 3);
    assert_int_equal(t->link_count, 10);
    assert_int_equal(t->host_count, 2);
    assert_int_equal(t->policy, BANYAN_ROUTES_UPDOWN);
    assert_string_equal(banyan_topology_host_name(t, t->nodes[2].host), "b");
    assert_int_equal(banyan_topology_find_node(t, "net"), 5);
    assert_int_equal(banyan_topology_find_node(t, "nit"), -1);
    assert_true(t->nodes[5].can_reduce && !t->nodes[5].can_multicast);
    assert_true(t->links[banyan_topology_find_link(t, 5, 4)].bytes_per_s == 1e9);
    assert_int_equal(t->out_first[4] - t->out_first[3], 3);
    banyan_topology_destroy(t);
}

TEST(writes_what_it_read)
{
    banyan_topology *t = parse(two_hosts), *again;
    char *text, *same, digest[17], other[17];

    assert_int_equal(banyan_topology_format(t, &text, NULL), 0);
    again = parse(text);
    assert_int_equal(banyan_topology_format(again, &same, NULL), 0);
    assert_string_equal(text, same);
    banyan_topology_digest(t, digest);
    banyan_topology_digest(again, other);
    assert_string_equal(digest, other);
    banyan_free(text);
    banyan_free(same);
    banyan_topology_destroy(t);
    banyan_topology_destroy(again);
}

TEST(a_latency_of_minus_zero_is_zero)
{
    banyan_topology *t =
        parse("{\"format\":\"banyan-topology\",\"version\":1,\"nodes\":[{\"name\":\"a\",\"kind\":\"worker\"},"
              "{\"name\":\"b\",\"kind\":\"worker\"}],\"links\":[{\"src\":\"a\",\"dst\":\"b\","
              "\"bytes_per_s\":1,\"latency_s\":-0.0}]}");

    assert_false(signbit(t->links[0].latency_s));
    banyan_topology_destroy(t);
}

#define HEAD "{\"format\":\"banyan-topology\",\"version\":1,"
#define NODES "\"nodes\":[{\"name\":\"a\",\"kind\":\"worker\"},{\"name\":\"b\",\"kind\":\"worker\"}],"

TEST(says_what_is_wrong_in_a_file)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{\n\n\"format\": oops}", "line 3"},
        {"", "line"},
        {"[]", "should be an object, not an array"},
        {"{\"format\":\"banyan-schedule\",\"version\":1}", "\"format\" should be \"banyan-topology\""},
        {"{\"format\":\"banyan-topology\",\"version\":2}", "\"version\" should be 1"},
        {HEAD "\"nods\":[]}", "unknown field \"nods\""},
        {HEAD "\"nodes\":{},\"links\":[]}", "\"nodes\" should be an array, not an object"},
        {HEAD "\"nodes\":[],\"links\":[]}", "no worker"},
        {HEAD NODES "\"links\":[{\"src\":\"a\",\"dst\":\"c\",\"bytes_per_s\":1}]}", "no node is named \"c\""},
        {HEAD NODES "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bytes_per_s\":0}]}", "link a-b: bandwidth 0"},
        {HEAD NODES "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bytes_per_s\":-3}]}", "bandwidth -3"},
        {HEAD NODES "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bytes_per_s\":NaN}]}", "line 1"},
        {HEAD NODES "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bytes_per_s\":1e999}]}", "line 1"},
        {HEAD NODES "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bytes_per_s\":\"1\"}]}", "should be a number"},
        {HEAD NODES "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bytes_per_s\":1,\"latency_s\":-1}]}",
         "latency -1"},
        {HEAD NODES "\"links\":[{\"src\":\"a\",\"dst\":\"a\",\"bytes_per_s\":1}]}", "from a to itself"},
        {HEAD NODES "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bytes_per_s\":1,\"bothe\":true}]}",
         "\"bothe\""},
        {HEAD NODES "\"links\":[],\"routes\":\"random\"}", "shortest, grid or updown"},
        {HEAD NODES "\"links\":[],\"grid\":{\"extent\":[3],\"wrap\":[true]}}", "do not make 2 workers"},
        {HEAD NODES "\"links\":[],\"grid\":{\"extent\":[],\"wrap\":[]}}", "1 to 8 items"},
        {HEAD "\"nodes\":[{\"name\":\"a\",\"kind\":\"worker\"},{\"name\":\"a\",\"kind\":\"switch\"}],"
              "\"links\":[]}",
         "two nodes are named a"},
        {HEAD "\"nodes\":[{\"name\":\"a\",\"kind\":\"gpu\"}],\"links\":[]}", "node a: \"kind\" should be"},
        {HEAD "\"nodes\":[{\"name\":\"\",\"kind\":\"worker\"}],\"links\":[]}", "1 to 255 characters"},
        {HEAD "\"nodes\":[{\"name\":\"a\",\"kind\":\"worker\",\"reduce\":true}],\"links\":[]}",
         "abilities are for"},
        {HEAD "\"nodes\":[{\"name\":\"a\",\"name\":\"b\"}]}", "duplicate"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_topology *topology;
        banyan_error err = {""};

        assert_int_equal(banyan_topology_parse(cases[i].text, strlen(cases[i].text), &topology, &err),
                         BANYAN_INVALID_ARGUMENT);
        assert_null(topology);
        CHECK_SAYS(err, cases[i].says);
    }
}

TEST(reads_active_workers_as_numbers_ranges_and_names)
{
    banyan_topology *t = parse(two_hosts);
    banyan_error err;
    int *active, count;

    assert_int_equal(banyan_topology_parse_active(t, NULL, &active, &count, &err), 0);
    assert_int_equal(count, 3);
    banyan_free(active);
    assert_int_equal(banyan_topology_parse_active(t, "2,g0,0", &active, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_true(active[0] == 0 && active[1] == 2);
    banyan_free(active);
    assert_int_equal(banyan_topology_parse_active(t, "1-2", &active, &count, &err), 0);
    assert_true(count == 2 && active[0] == 1);
    banyan_free(active);
    assert_int_equal(banyan_topology_parse_active(t, "g0-g1", &active, &count, &err), 0);
    assert_int_equal(count, 2);
    banyan_free(active);
    assert_int_equal(banyan_topology_parse_active(t, "0,7", &active, &count, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "7 is not a worker of two hosts (it has 3 workers)");
    assert_int_equal(banyan_topology_parse_active(t, "s0", &active, &count, &err), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_topology_parse_active(t, "2-1", &active, &count, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "backwards");
    assert_int_equal(banyan_topology_parse_active(t, "0,,1", &active, &count, &err), BANYAN_INVALID_ARGUMENT);
    banyan_topology_destroy(t);
}

TEST(sees_active_workers_that_cannot_reach_one_another)
{
    static const char text[] =
        HEAD "\"nodes\":[{\"name\":\"a\",\"kind\":\"worker\"},{\"name\":\"b\",\"kind\":\"worker\"},"
             "{\"name\":\"c\",\"kind\":\"worker\"}],\"links\":[{\"src\":\"a\",\"dst\":\"b\","
             "\"bytes_per_s\":1,\"both\":true},{\"src\":\"c\",\"dst\":\"a\",\"bytes_per_s\":1}]}";
    banyan_topology *t = parse(text);
    banyan_error err;
    int all[] = {0, 1, 2};

    assert_int_equal(banyan_topology_check_connected(t, all, 2, &err), 0);
    assert_int_equal(banyan_topology_check_connected(t, all, 3, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "c cannot be reached from a");
    banyan_topology_destroy(t);
}

/* The nodes along the default route, as 'g0 s0 net s1 g2'. */
static void walk(const banyan_topology *t, int src, int dst, char *out, size_t size)
{
    banyan_routes *routes;
    const int *links;
    int count, here = src;

    assert_int_equal(banyan_routes_create(t, &routes, NULL), 0);
    assert_int_equal(banyan_routes_find(routes, src, dst, &links, &count, NULL), 0);
    snprintf(out, size, "%s", banyan_topology_node_name(t, src));
    for (int i = 0; i < count; i++) {
        assert_int_equal(t->links[links[i]].src, here);
        here = t->links[links[i]].dst;
        snprintf(out + strlen(out), size - strlen(out), " %s", banyan_topology_node_name(t, here));
    }
    assert_int_equal(here, dst);
    banyan_routes_destroy(routes);
}

TEST(goes_up_and_down_trees)
{
    banyan_topology *t = parse(two_hosts);
    char path[100];

    walk(t, 0, 2, path, sizeof path);
    assert_string_equal(path, "g0 s0 net s1 g2");
    walk(t, 0, 1, path, sizeof path);
    assert_string_equal(path, "g0 s0 g1");
    walk(t, 1, 1, path, sizeof path);
    assert_string_equal(path, "g1");
    banyan_topology_destroy(t);
}

/* A grid of rows x columns, with links that wrap or not, and without the links between the two workers. */
static banyan_topology *make_grid(int rows, int columns, int wraps, int missing_a, int missing_b)
{
    banyan_grid grid = {.dimension_count = 2, .extent = {rows, columns}, .wraps = {wraps, wraps}};
    banyan_topology_builder builder;
    banyan_topology *t;

    banyan_topology_builder_init(&builder, "grid");
    for (int i = 0; i < rows * columns; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int i = 0; i < rows * columns; i++) {
        int right = i / columns * columns + (i + 1) % columns, down = (i + columns) % (rows * columns);
        int ends[2] = {(i + 1) % columns || wraps ? right : -1,
                       i + columns < rows * columns || wraps ? down : -1};

        for (int j = 0; j < 2; j++)
            if (ends[j] >= 0 && !(i == missing_a && ends[j] == missing_b))
                banyan_topology_add_cable(&builder, i, ends[j], 1e9, 1e-6);
    }
    banyan_topology_set_grid(&builder, &grid);
    banyan_topology_set_policy(&builder, BANYAN_ROUTES_GRID);
    assert_int_equal(banyan_topology_builder_finish(&builder, &t, NULL), 0);
    return t;
}

TEST(goes_dimension_by_dimension_on_grids)
{
    banyan_topology *t = make_grid(4, 4, 1, -1, -1);
    char path[100];

    walk(t, 0, 5, path, sizeof path);
    assert_string_equal(path, "g0 g4 g5");
    walk(t, 0, 15, path, sizeof path);
    assert_string_equal(path, "g0 g12 g15");
    walk(t, 0, 2, path, sizeof path);
    assert_string_equal(path, "g0 g1 g2");
    walk(t, 2, 0, path, sizeof path);
    assert_string_equal(path, "g2 g3 g0");
    banyan_topology_destroy(t);
}

TEST(goes_round_a_missing_link)
{
    banyan_topology *t = make_grid(3, 3, 0, 0, 1);
    char path[100];

    walk(t, 0, 1, path, sizeof path);
    assert_string_equal(path, "g0 g3 g4 g1");
    banyan_topology_destroy(t);
}

TEST(spreads_equal_routes_by_destination)
{
    banyan_topology_builder builder;
    banyan_topology *t;
    char path[100];
    int seen[2] = {0, 0};

    banyan_topology_builder_init(&builder, "two spines");
    for (int i = 0; i < 8; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int i = 0; i < 4; i++)
        banyan_topology_add_switch_f(&builder, i < 2 ? "leaf%d" : "spine%d", i % 2);
    for (int i = 0; i < 8; i++)
        banyan_topology_add_cable(&builder, i, 8 + i / 4, 1e9, 0);
    for (int i = 0; i < 4; i++)
        banyan_topology_add_cable(&builder, 8 + i / 2, 10 + i % 2, 1e9, 0);
    banyan_topology_set_policy(&builder, BANYAN_ROUTES_UPDOWN);
    assert_int_equal(banyan_topology_builder_finish(&builder, &t, NULL), 0);
    for (int dst = 4; dst < 8; dst++) {
        walk(t, 0, dst, path, sizeof path);
        seen[strstr(path, "spine1") != NULL]++;
    }
    assert_true(seen[0] == 2 && seen[1] == 2);
    banyan_topology_destroy(t);
}

TEST(says_when_no_route_leads_there)
{
    banyan_topology *t = parse(HEAD NODES "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bytes_per_s\":1}]}");
    banyan_routes *routes;
    const int *links;
    banyan_error err;
    int count;

    assert_int_equal(banyan_routes_create(t, &routes, NULL), 0);
    assert_int_equal(banyan_routes_find(routes, 1, 0, &links, &count, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "no route leads from b to a");
    banyan_routes_destroy(routes);
    banyan_topology_destroy(t);
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_topology *t = NULL;
    banyan_routes *routes = NULL;
    int count = 0, found = 0;
    char *text = NULL;

    for (long calls = 0; !t; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_topology_parse(two_hosts, sizeof two_hosts - 1, &t, NULL);
    }
    for (long calls = 0; !text; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_topology_format(t, &text, NULL);
    }
    for (long calls = 0; !found; calls++) {
        const int *links;

        banyan_alloc_fail_after(calls);
        if (!banyan_routes_create(t, &routes, NULL))
            found = !banyan_routes_find(routes, 0, 2, &links, &count, NULL);
        banyan_routes_destroy(routes);
        routes = NULL;
    }
    banyan_alloc_fail_after(-1);
    assert_int_equal(count, 4);
    banyan_free(text);
    banyan_topology_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_nodes_links_and_facts),
        cmocka_unit_test(writes_what_it_read),
        cmocka_unit_test(a_latency_of_minus_zero_is_zero),
        cmocka_unit_test(says_what_is_wrong_in_a_file),
        cmocka_unit_test(reads_active_workers_as_numbers_ranges_and_names),
        cmocka_unit_test(sees_active_workers_that_cannot_reach_one_another),
        cmocka_unit_test(goes_up_and_down_trees),
        cmocka_unit_test(goes_dimension_by_dimension_on_grids),
        cmocka_unit_test(goes_round_a_missing_link),
        cmocka_unit_test(spreads_equal_routes_by_destination),
        cmocka_unit_test(says_when_no_route_leads_there),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    json_set_alloc_funcs(banyan_malloc, banyan_free);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
