/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/sharing.c: repaired rates against rates found from nothing, after every change; and flows that
 * keep their order. */
#include "unit/test.h"

#include <math.h>

#include "core/alloc.h"
#include "core/random.h"
#include "simulate/flows.h"
#include "simulate/sharing.h"

enum { LINKS = 12, PATHS = 40, MOST_HOPS = 4 };

typedef struct {
    banyan_link links[LINKS];
    banyan_topology topology;
    int first[PATHS + 1], link[PATHS * MOST_HOPS], path_of[PATHS];
    banyan_paths paths;
} network;

/* Paths over any links: sharing does not ask whether they join up. */
static void make(network *net, banyan_random *random)
{
    *net = (network){.topology = {.link_count = LINKS, .links = net->links}};
    for (int i = 0; i < LINKS; i++)
        net->links[i].bytes_per_s = 1 + banyan_random_below(random, 4);
    for (int p = 0; p < PATHS; p++) {
        int hops = 1 + banyan_random_below(random, MOST_HOPS);

        net->path_of[p] = p;
        net->first[p + 1] = net->first[p];
        for (int h = 0; h < hops; h++)
            net->link[net->first[p + 1]++] = banyan_random_below(random, LINKS);
    }
    net->paths =
        (banyan_paths){.path_count = PATHS, .first = net->first, .link = net->link, .path_of = net->path_of};
}

/* All rates rise together; whoever meets a full link stops. */
static void fill_slowly(const network *net, const int *weight, double *rate)
{
    int stopped[PATHS] = {0}, left = 0;
    double level = 0;

    for (int p = 0; p < PATHS; p++)
        left += weight[p] > 0;
    while (left > 0) {
        double load[LINKS] = {0}, open[LINKS] = {0}, step = HUGE_VAL;

        for (int p = 0; p < PATHS; p++)
            for (int i = net->first[p]; i < net->first[p + 1]; i++) {
                load[net->link[i]] += weight[p] * (stopped[p] ? rate[p] : level);
                open[net->link[i]] += stopped[p] ? 0 : weight[p];
            }
        for (int l = 0; l < LINKS; l++)
            if (open[l] > 0)
                step = fmin(step, (net->links[l].bytes_per_s - load[l]) / open[l]);
        level += step;
        for (int p = 0; p < PATHS; p++)
            for (int i = net->first[p]; i < net->first[p + 1]; i++) {
                int l = net->link[i];

                if (weight[p] && !stopped[p] &&
                    load[l] + step * open[l] > net->links[l].bytes_per_s * (1 - 1e-12)) {
                    stopped[p] = 1;
                    rate[p] = level;
                    left--;
                }
            }
    }
}

static void check_rates(const network *net, banyan_sharing *s, const int *weight, uint64_t seed, int change)
{
    double wanted[PATHS] = {0};

    fill_slowly(net, weight, wanted);
    for (int p = 0; p < PATHS; p++)
        if (weight[p] && !(fabs(banyan_sharing_rate(s, p) - wanted[p]) < 1e-8))
            fail_msg("seed %llu, change %d: path %d has %.12g, fair is %.12g", (unsigned long long)seed,
                     change, p, banyan_sharing_rate(s, p), wanted[p]);
    for (int l = 0; l < LINKS; l++)
        assert_true(banyan_sharing_peak(s, l) <= 1 + 1e-9);
}

TEST(repaired_rates_are_those_found_from_nothing)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        banyan_random random = {seed};
        int weight[PATHS] = {0}, most = seed % 2 ? 1 : 3;
        banyan_sharing *s;
        const int *changed;
        network net;

        make(&net, &random);
        assert_int_equal(banyan_sharing_create(&net.topology, &net.paths, &s, NULL), 0);
        for (int change = 0; change < 150; change++) {
            for (int n = 1 + banyan_random_below(&random, 3); n > 0; n--) {
                int p = banyan_random_below(&random, PATHS);
                int up = weight[p] == 0 || (weight[p] < most && banyan_random_below(&random, 2));

                banyan_sharing_change(s, p, up ? 1 : -1);
                weight[p] += up ? 1 : -1;
            }
            for (int p = 0; p < PATHS; p++) /* one goes as another comes */
                if (weight[p] == 1 && banyan_random_below(&random, 4) == 0) {
                    banyan_sharing_change(s, p, -1);
                    banyan_sharing_change(s, p, 1);
                }
            banyan_sharing_solve(s, &changed);
            check_rates(&net, s, weight, seed, change);
        }
        banyan_sharing_destroy(s);
    }
}

TEST(a_change_far_away_is_not_looked_at)
{
    banyan_link links[4] = {{.bytes_per_s = 1}, {.bytes_per_s = 1}, {.bytes_per_s = 10}, {.bytes_per_s = 1}};
    banyan_topology topology = {.link_count = 4, .links = links};
    int first[] = {0, 2, 4, 5}, link[] = {0, 2, 1, 2, 3};
    banyan_paths paths = {.path_count = 3, .first = first, .link = link};
    const int *changed;
    banyan_sharing *s;

    /* Paths 0 and 1 meet on link 2, which is never full: neither feels the other. */
    assert_int_equal(banyan_sharing_create(&topology, &paths, &s, NULL), 0);
    banyan_sharing_change(s, 0, 1);
    assert_int_equal(banyan_sharing_solve(s, &changed), 1);
    banyan_sharing_change(s, 1, 1);
    assert_int_equal(banyan_sharing_solve(s, &changed), 1);
    assert_int_equal(changed[0], 1);
    banyan_sharing_change(s, 0, -1);
    assert_int_equal(banyan_sharing_solve(s, &changed), 0);
    /* One goes as another comes: nothing to settle. */
    banyan_sharing_change(s, 1, -1);
    banyan_sharing_change(s, 1, 1);
    assert_int_equal(banyan_sharing_solve(s, &changed), 0);
    assert_true(banyan_sharing_rate(s, 1) == 1);
    banyan_sharing_destroy(s);
}

TEST(flows_on_one_path_are_through_in_the_order_of_their_sizes)
{
    enum { COUNT = 200 };
    banyan_link links[1] = {{.bytes_per_s = 1}};
    banyan_topology topology = {.link_count = 1, .links = links};
    int first[] = {0, 1}, link[] = {0}, path_of[COUNT] = {0}, size[COUNT];
    banyan_paths paths = {.path_count = 1, .first = first, .link = link, .path_of = path_of};
    banyan_random random = {7};
    banyan_fluid_flows *f;
    double now_s = 0, served = 0;
    int last = 0;

    assert_int_equal(banyan_fluid_flows_create(&topology, &paths, COUNT, 0, &f, NULL), 0);
    for (int i = 0; i < COUNT; i++) {
        size[i] = 1 + banyan_random_below(&random, 50);
        banyan_fluid_flows_start(f, i, size[i], 0, 0);
    }
    banyan_fluid_flows_solve(f, 0);
    for (int left = COUNT; left > 0; left--) {
        int transfer;

        now_s = banyan_fluid_flows_next_s(f);
        transfer = banyan_fluid_flows_finish(f);
        assert_true(size[transfer] >= last);
        /* Whoever is left has had as much as this one. */
        served += (double)left * (size[transfer] - last);
        assert_true(fabs(now_s - served) < 1e-9 * served);
        last = size[transfer];
        banyan_fluid_flows_solve(f, now_s);
    }
    assert_true(isinf(banyan_fluid_flows_next_s(f)));
    banyan_fluid_flows_destroy(f);
}

TEST(flows_in_turn_go_one_by_one_and_the_least_turn_first)
{
    enum { COUNT = 5 };
    static const double turn[COUNT] = {0.5, 0.25, 0.75, 0.25, 0}, size[COUNT] = {1, 2, 3, 4, 5};
    static const int order[COUNT] = {4, 1, 3, 0, 2};
    banyan_link links[1] = {{.bytes_per_s = 2}};
    banyan_topology topology = {.link_count = 1, .links = links};
    int first[] = {0, 1}, link[] = {0}, path_of[COUNT] = {0};
    banyan_paths paths = {.path_count = 1, .first = first, .link = link, .path_of = path_of};
    double now_s = 10;
    banyan_fluid_flows *f;

    assert_int_equal(banyan_fluid_flows_create(&topology, &paths, COUNT, 1, &f, NULL), 0);
    for (int i = 0; i < COUNT; i++) /* the last is first: all are there when the first turn is given */
        banyan_fluid_flows_start(f, i, size[i], turn[i], now_s);
    banyan_fluid_flows_solve(f, now_s);
    for (int i = 0; i < COUNT; i++) {
        double end_s = banyan_fluid_flows_next_s(f);

        assert_true(fabs(end_s - now_s - size[order[i]] / 2) < 1e-12);
        assert_int_equal(banyan_fluid_flows_finish(f), order[i]);
        assert_true(banyan_fluid_flows_began_s(f, order[i]) == now_s);
        now_s = end_s;
        banyan_fluid_flows_solve(f, now_s);
    }
    assert_true(isinf(banyan_fluid_flows_next_s(f)));
    assert_true(banyan_sharing_peak(banyan_fluid_flows_sharing(f), 0) == 1);
    banyan_fluid_flows_destroy(f);
}

TEST(only_paths_with_links_of_their_own_are_alone)
{
    banyan_link links[4] = {{.bytes_per_s = 3}, {.bytes_per_s = 2}, {.bytes_per_s = 5}, {.bytes_per_s = 1}};
    banyan_topology topology = {.link_count = 4, .links = links};
    int first[] = {0, 2, 3, 5, 5}, link[] = {0, 1, 2, 2, 3};
    banyan_paths paths = {.path_count = 4, .first = first, .link = link};
    banyan_sharing *s;

    assert_int_equal(banyan_sharing_create(&topology, &paths, &s, NULL), 0);
    assert_true(banyan_sharing_alone(s, 0) == 2); /* as wide as its narrower link */
    assert_true(banyan_sharing_alone(s, 1) == 0 && banyan_sharing_alone(s, 2) == 0);
    assert_true(banyan_sharing_alone(s, 3) == 0); /* without links */
    banyan_sharing_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repaired_rates_are_those_found_from_nothing),
        cmocka_unit_test(a_change_far_away_is_not_looked_at),
        cmocka_unit_test(flows_on_one_path_are_through_in_the_order_of_their_sizes),
        cmocka_unit_test(flows_in_turn_go_one_by_one_and_the_least_turn_first),
        cmocka_unit_test(only_paths_with_links_of_their_own_are_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
