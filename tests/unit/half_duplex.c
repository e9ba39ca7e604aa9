/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/half_duplex.c: cables whose directions share the bandwidth, in form, bound and plan.
 *
 * Where all other links are symmetric, such a cable is worth one of half the bandwidth each way to an
 * all-reduce, no more and no less: turn the trees of a packing round, so that those to a root lead away from
 * it and the other way about, and take half of both packings. Each direction of each cable then carries half
 * of what both did. */
#include "test.h"

#include <math.h>

#include "core/alloc.h"
#include "core/random.h"
#include "reference.h"
#include "topology/build.h"

enum { NETWORKS = 60, MOST_NODES = 8 };

#define LEAST_SHARE 0.98
#define LEAST_TIGHT 0.95 /* the network is asymmetric now, where a bound may be loose and says so */

static banyan_bound find_bound(const banyan_topology *topology)
{
    banyan_bound bound;
    banyan_error err;

    if (banyan_bound_find(topology, topology->workers, topology->worker_count, BANYAN_RELAYS_ADD, &bound,
                          &err))
        fail_msg("%s: %s", topology->name, err.text);
    if (banyan_bound_check_certificate(topology, topology->workers, topology->worker_count, &bound, &err))
        fail_msg("%s: %s", topology->name, err.text);
    return bound;
}

static double allreduce_rate(const banyan_topology *topology)
{
    banyan_bound bound = find_bound(topology);
    double rate = bound.allreduce.bytes_per_s;

    banyan_bound_fini(&bound);
    return rate;
}

static banyan_topology *read(const char *text)
{
    banyan_topology *topology;
    banyan_error err = {""};

    if (banyan_topology_parse(text, strlen(text), &topology, &err))
        fail_msg("%s", err.text);
    return topology;
}

#define PAIR(duplex)                                                                                         \
    "{\"format\":\"banyan-topology\",\"version\":1,\"nodes\":[{\"name\":\"a\",\"kind\":\"worker\"},"         \
    "{\"name\":\"b\",\"kind\":\"worker\"}],\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bytes_per_s\":1e9,"     \
    "\"latency_s\":1e-6,\"both\":true" duplex "}]}"

TEST(the_directions_of_a_half_duplex_cable_share_one_link)
{
    banyan_topology *half = read(PAIR(",\"duplex\":\"half\"")), *full = read(PAIR(",\"duplex\":\"full\"")),
                    *again;
    banyan_bound bound = find_bound(half);
    char *text;

    assert_int_equal(half->node_count, 4);
    assert_int_equal(half->link_count, 5);
    assert_int_equal(banyan_topology_find_node(half, "a-b.0.in"), 2);
    assert_int_equal(banyan_topology_find_node(half, "a-b.0.out"), 3);
    assert_true(half->links[2].latency_s == 1e-6 && half->links[0].latency_s == 0);
    /* An all-gather moves half of its vector each way, an all-reduce all of it. */
    assert_true(fabs(bound.allreduce.bytes_per_s / 0.5e9 - 1) < 1e-9);
    assert_true(fabs(bound.allgather.bytes_per_s / 1e9 - 1) < 1e-9);
    assert_true(fabs(allreduce_rate(full) / 1e9 - 1) < 1e-9);
    assert_int_equal(banyan_topology_format(half, &text, NULL), BANYAN_SUCCESS);
    again = read(text);
    assert_int_equal(again->link_count, 5);
    banyan_free(text);
    banyan_bound_fini(&bound);
    banyan_topology_destroy(again);
    banyan_topology_destroy(full);
    banyan_topology_destroy(half);
}

static const char *refusal(const char *text, banyan_error *err)
{
    banyan_topology *topology;

    assert_int_equal(banyan_topology_parse(text, strlen(text), &topology, err), BANYAN_INVALID_ARGUMENT);
    return err->text;
}

TEST(what_is_no_duplex_or_no_cable_is_refused)
{
    banyan_error err;

    assert_non_null(
        strstr(refusal(PAIR(",\"duplex\":\"simplex\""), &err), "link 0: \"duplex\" should be half or full"));
    assert_non_null(
        strstr(refusal(PAIR("},{\"src\":\"a\",\"dst\":\"b\",\"bytes_per_s\":1,\"duplex\":\"half\""), &err),
               "link 1: half duplex is for a cable"));
    assert_non_null(strstr(
        refusal(PAIR("},{\"src\":\"a\",\"dst\":\"a\",\"bytes_per_s\":1,\"both\":true,\"duplex\":\"half\""),
                &err),
        "from a to itself"));
    assert_non_null(strstr(
        refusal(PAIR("},{\"src\":\"a\",\"dst\":\"b\",\"bytes_per_s\":-1,\"both\":true,\"duplex\":\"half\""),
                &err),
        "bandwidth -1"));
}

typedef struct {
    int a, b, is_half;
    double bytes_per_s;
} cable;

/* With half duplex, or with half of the bandwidth each way. */
static banyan_topology *build(int workers, int nodes, const cable *cables, int count, int is_half_duplex)
{
    banyan_topology_builder builder;
    banyan_topology *topology;

    banyan_topology_builder_init(&builder, is_half_duplex ? "half duplex" : "half bandwidth");
    for (int i = 0; i < nodes; i++)
        if (i < workers)
            banyan_topology_add_worker_f(&builder, -1, "g%d", i);
        else
            banyan_topology_add_switch_f(&builder, "s%d", i);
    for (int i = 0; i < count; i++) {
        const cable *c = &cables[i];

        if (c->is_half && is_half_duplex)
            banyan_topology_add_half_duplex(&builder, c->a, c->b, c->bytes_per_s, 1e-6);
        else
            banyan_topology_add_cable(&builder, c->a, c->b, c->is_half ? c->bytes_per_s / 2 : c->bytes_per_s,
                                      1e-6);
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &topology, NULL), BANYAN_SUCCESS);
    return topology;
}

/* A tree, so that it is connected, and some cables more. */
static int draw(banyan_random *random, int nodes, cable *cables)
{
    int count = 0, more = banyan_random_below(random, nodes);

    for (int i = 1; i < nodes + more; i++) {
        int b = i < nodes ? i : 1 + banyan_random_below(random, nodes - 1);
        int a = banyan_random_below(random, b);

        cables[count++] =
            (cable){a, b, banyan_random_below(random, 2), 1e9 * (1 + banyan_random_below(random, 4))};
    }
    return count;
}

TEST(an_all_reduce_has_half_the_bandwidth_of_a_half_duplex_cable_each_way)
{
    banyan_random random = {25};
    int tight = 0;

    for (int i = 0; i < NETWORKS; i++) {
        int nodes = 2 + banyan_random_below(&random, MOST_NODES - 1);
        int workers = nodes < 4 ? nodes : nodes - banyan_random_below(&random, 3);
        cable cables[2 * MOST_NODES];
        int count = draw(&random, nodes, cables);
        banyan_topology *shared = build(workers, nodes, cables, count, 1),
                        *halved = build(workers, nodes, cables, count, 0);
        banyan_bound bound = find_bound(shared);
        double found = bound.allreduce.bytes_per_s, wanted = allreduce_rate(halved);

        if (found < wanted * (1 - 1e-6) || (bound.allreduce.is_tight && found > wanted * (1 + 1e-6)))
            fail_msg("network %d: %.12g bytes per second, not %.12g", i, found, wanted);
        tight += bound.allreduce.is_tight;
        banyan_bound_fini(&bound);
        banyan_topology_destroy(shared);
        banyan_topology_destroy(halved);
    }
    assert_true(tight >= NETWORKS * LEAST_TIGHT);
}

TEST(plans_reach_the_bound_of_half_duplex_networks)
{
    banyan_random random = {26};
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;

    config.algorithm = "forest";
    config.bytes = (size_t)1 << 30;
    for (int i = 0; i < NETWORKS / 4; i++) {
        int nodes = 3 + banyan_random_below(&random, MOST_NODES - 2);
        cable cables[2 * MOST_NODES];
        int count = draw(&random, nodes, cables);
        banyan_topology *topology = build(nodes, nodes, cables, count, 1);
        banyan_plan_info info = {.size = sizeof info};
        banyan_plan *plan;
        banyan_error err = {""};
        double share;

        if (banyan_plan_create(topology, &config, &plan, &err))
            fail_msg("network %d: %s", i, err.text);
        assert_int_equal(banyan_plan_get_info(plan, &info, &err), BANYAN_SUCCESS);
        share = info.bytes_per_s / allreduce_rate(topology);
        if (!(share >= LEAST_SHARE && share <= 1 + 1e-6))
            fail_msg("network %d: the plan has %g of the bound", i, share);
        banyan_plan_destroy(plan);
        banyan_topology_destroy(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_directions_of_a_half_duplex_cable_share_one_link),
        cmocka_unit_test(what_is_no_duplex_or_no_cable_is_refused),
        cmocka_unit_test(an_all_reduce_has_half_the_bandwidth_of_a_half_duplex_cable_each_way),
        cmocka_unit_test(plans_reach_the_bound_of_half_duplex_networks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
