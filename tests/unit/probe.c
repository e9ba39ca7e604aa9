/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/probe.c: networks are inferred from what measurements on them would give, noise included. The
 * measurements are made by a small model: flows share links fairly, as max-min says. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/random.h"
#include "probe/infer.h"

enum { MOST_HOSTS = 16 };

typedef struct {
    int hosts, racks;
    int rack_of[MOST_HOSTS];
    double up[MOST_HOSTS], down[MOST_HOSTS];             /* of hosts */
    double trunk_up[MOST_HOSTS], trunk_down[MOST_HOSTS]; /* of racks; 0: none in the way */
    double noise;
} network;

/* Links of a flow: its host's way up, the trunks, the way down; numbers of a flat array. */
static int links_of(const network *n, int src, int dst, int out[4])
{
    int count = 0, a = n->rack_of[src], b = n->rack_of[dst];

    out[count++] = src;
    if (a != b && n->trunk_up[a] > 0)
        out[count++] = 2 * MOST_HOSTS + a;
    if (a != b && n->trunk_down[b] > 0)
        out[count++] = 3 * MOST_HOSTS + b;
    out[count++] = MOST_HOSTS + dst;
    return count;
}

static double capacity(const network *n, int link)
{
    int i = link % MOST_HOSTS;

    switch (link / MOST_HOSTS) {
    case 0:
        return n->up[i];
    case 1:
        return n->down[i];
    case 2:
        return n->trunk_up[i];
    default:
        return n->trunk_down[i];
    }
}

/* Water filling: the fullest link fixes its flows, until all are fixed. */
static void flow(const network *n, const int *pairs, int count, double *rates, banyan_random *random)
{
    char is_fixed[64] = {0};
    int links[4];

    for (int left = count; left;) {
        double left_in[4 * MOST_HOSTS], tightest = 1e300;
        int users[4 * MOST_HOSTS] = {0}, worst = -1;

        for (int l = 0; l < 4 * MOST_HOSTS; l++)
            left_in[l] = capacity(n, l);
        for (int i = 0; i < count; i++)
            for (int k = links_of(n, pairs[2 * i], pairs[2 * i + 1], links) - 1; k >= 0; k--) {
                left_in[links[k]] -= is_fixed[i] ? rates[i] : 0;
                users[links[k]] += !is_fixed[i];
            }
        for (int l = 0; l < 4 * MOST_HOSTS; l++)
            if (users[l] && left_in[l] / users[l] < tightest) {
                tightest = left_in[l] / users[l];
                worst = l;
            }
        for (int i = 0; i < count; i++)
            for (int k = links_of(n, pairs[2 * i], pairs[2 * i + 1], links) - 1; k >= 0; k--)
                if (!is_fixed[i] && links[k] == worst) {
                    rates[i] = tightest;
                    is_fixed[i] = 1;
                    left--;
                }
    }
    for (int i = 0; i < count; i++)
        rates[i] *= 1 + n->noise * (2 * banyan_random_unit(random) - 1);
}

static double sum_of(const network *n, const int *pairs, int count, banyan_random *random)
{
    double rates[64], sum = 0;

    flow(n, pairs, count, rates, random);
    for (int i = 0; i < count; i++)
        sum += rates[i];
    return sum;
}

/* As the survey does it. */
static void survey(const network *n, banyan_probe_findings *f, banyan_random *random)
{
    int pairs[128];
    double rates[64];

    for (int a = 0; a < n->hosts; a++)
        for (int b = 0; b < n->hosts; b++) {
            pairs[0] = a;
            pairs[1] = b;
            if (a != b)
                flow(n, pairs, 1, &f->alone[a * n->hosts + b], random);
        }
    for (int a = 0; a < n->hosts && n->hosts > 2; a++)
        for (int is_out = 0; is_out < 2; is_out++) {
            int count = 0;

            for (int b = 0; b < n->hosts; b++)
                if (b != a) {
                    pairs[2 * count] = is_out ? a : b;
                    pairs[2 * count++ + 1] = is_out ? b : a;
                }
            *(is_out ? &f->fan_out[a] : &f->fan_in[a]) = sum_of(n, pairs, count, random);
        }
    for (int order = 0; order < 3; order++)
        for (int shift = 1; shift < n->hosts; shift++) {
            int step = order == 1 ? 3 : order == 2 ? 5 : 1;

            for (int i = 0; i < n->hosts; i++) {
                pairs[2 * i] = i * step % n->hosts;
                pairs[2 * i + 1] = (i + shift) * step % n->hosts;
            }
            if (n->hosts % step == 0 && step > 1)
                continue;
            flow(n, pairs, n->hosts, rates, random);
            for (int i = 0; i < n->hosts; i++)
                assert_int_equal(banyan_probe_add_load(f, pairs[2 * i], pairs[2 * i + 1], rates[i], NULL), 0);
        }
    assert_int_equal(banyan_probe_find_racks(f, NULL), 0);
    for (int rack = 0; rack < f->rack_count; rack++)
        for (int is_out = 0; is_out < 2; is_out++) {
            int count = banyan_probe_rack_flows(f, rack, is_out, pairs);

            if (count)
                *(is_out ? &f->rack_out[rack] : &f->rack_in[rack]) = sum_of(n, pairs, count, random);
        }
}

/* One rank a host; the caller destroys. */
static banyan_topology *find(const network *n, uint64_t seed, int *racks)
{
    static const char *const names[MOST_HOSTS] = {"h0", "h1", "h2",  "h3",  "h4",  "h5",  "h6",  "h7",
                                                  "h8", "h9", "h10", "h11", "h12", "h13", "h14", "h15"};
    banyan_random random = {.state = seed};
    banyan_probe_findings f;
    banyan_topology *topology = NULL;

    assert_int_equal(banyan_probe_findings_init(&f, n->hosts, n->hosts, NULL), 0);
    for (int i = 0; i < n->hosts; i++) {
        f.host_of[i] = i;
        f.names[i] = names[i];
    }
    survey(n, &f, &random);
    assert_int_equal(banyan_probe_infer(&f, &topology, NULL), 0);
    *racks = topology->node_count - 2 * n->hosts - 1;
    banyan_probe_findings_fini(&f);
    return topology;
}

static double speed(const banyan_topology *t, const char *from, const char *to)
{
    int link =
        banyan_topology_find_link(t, banyan_topology_find_node(t, from), banyan_topology_find_node(t, to));

    return link < 0 ? 0 : t->links[link].bytes_per_s;
}

static void near(double found, double real)
{
    if (found < 0.9 * real || found > 1.1 * real)
        fail_msg("found %g, but it is %g", found, real);
}

static network star(int hosts, double bytes_per_s, double noise)
{
    network n = {.hosts = hosts, .racks = 1, .noise = noise};

    for (int i = 0; i < hosts; i++)
        n.up[i] = n.down[i] = bytes_per_s;
    return n;
}

TEST(equal_hosts_on_one_switch_have_equal_cables_and_no_racks)
{
    for (uint64_t seed = 1; seed < 40; seed++) {
        network n = star(3 + (int)(seed % 6), 1.2e8, 0.03);
        int racks;
        banyan_topology *t = find(&n, seed, &racks);

        assert_int_equal(racks, 0);
        near(speed(t, "h0", "net"), 1.2e8);
        for (int i = 0; i < t->link_count; i++)
            if (t->links[i].dst == banyan_topology_find_node(t, "net"))
                assert_true(t->links[i].bytes_per_s == speed(t, "h0", "net"));
        banyan_topology_destroy(t);
    }
}

TEST(unlike_hosts_keep_their_own_speeds)
{
    network n = star(4, 1.2e8, 0.02);
    int racks;
    banyan_topology *t;

    n.up[0] = n.down[0] = 2.4e7;
    n.up[1] = n.down[1] = 6e7;
    t = find(&n, 7, &racks);
    assert_int_equal(racks, 0);
    near(speed(t, "h0", "net"), 2.4e7);
    near(speed(t, "net", "h1"), 6e7);
    near(speed(t, "h2", "net"), 1.2e8);
    near(speed(t, "net", "h3"), 1.2e8);
    banyan_topology_destroy(t);
}

TEST(directions_that_differ_are_told_apart)
{
    network n = star(4, 1e8, 0.02);
    int racks;
    banyan_topology *t;

    n.up[2] = 2.5e7;
    t = find(&n, 3, &racks);
    near(speed(t, "h2", "net"), 2.5e7);
    near(speed(t, "net", "h2"), 1e8);
    banyan_topology_destroy(t);
}

TEST(a_host_that_is_faster_than_each_other_one_shows_when_it_talks_to_several)
{
    network n = star(4, 1e8, 0.02);
    int racks;
    banyan_topology *t;

    n.up[1] = n.down[1] = 2.8e8;
    t = find(&n, 11, &racks);
    assert_int_equal(racks, 0);
    near(speed(t, "h1", "net"), 2.8e8);
    near(speed(t, "net", "h1"), 2.8e8);
    near(speed(t, "h0", "net"), 1e8);
    banyan_topology_destroy(t);
}

/* Ranks dealt to racks in turn, so that neighbours are strangers. */
static network racks_of(int racks, int each, double host, double trunk, double noise)
{
    network n = star(racks * each, host, noise);

    n.racks = racks;
    for (int i = 0; i < n.hosts; i++)
        n.rack_of[i] = i % racks;
    for (int r = 0; r < racks; r++)
        n.trunk_up[r] = n.trunk_down[r] = trunk;
    return n;
}

static const char *parent(const banyan_topology *t, int host)
{
    char name[16];
    int node;

    snprintf(name, sizeof name, "h%d", host);
    node = banyan_topology_find_node(t, name);
    for (int i = t->out_first[node]; i < t->out_first[node + 1]; i++)
        if (t->nodes[t->links[t->out_link[i]].dst].kind == BANYAN_NODE_SWITCH)
            return banyan_topology_node_name(t, t->links[t->out_link[i]].dst);
    return "?";
}

static void check_racks(const network *n, uint64_t seed)
{
    int racks;
    banyan_topology *t = find(n, seed, &racks);

    if (racks != n->racks)
        fail_msg("seed %d: %d racks were found, there are %d", (int)seed, racks, n->racks);
    for (int a = 0; a < n->hosts; a++) {
        near(speed(t, parent(t, a), "net"), n->trunk_up[n->rack_of[a]]);
        near(speed(t, "net", parent(t, a)), n->trunk_down[n->rack_of[a]]);
        for (int b = 0; b < n->hosts; b++)
            assert_int_equal(n->rack_of[a] == n->rack_of[b], !strcmp(parent(t, a), parent(t, b)));
    }
    banyan_topology_destroy(t);
}

TEST(racks_behind_a_trunk_that_is_slower_than_a_host_are_found)
{
    for (uint64_t seed = 1; seed < 30; seed++) {
        network n = racks_of(2 + (int)(seed % 3), 2 + (int)(seed % 2), 1.2e8, 6e7, 0.03);

        check_racks(&n, seed);
    }
}

TEST(racks_behind_a_trunk_that_only_several_flows_fill_are_found)
{
    for (uint64_t seed = 1; seed < 30; seed++) {
        network n = racks_of(2 + (int)(seed % 2), 4, 1.2e8, 2.4e8, 0.03);

        check_racks(&n, seed);
    }
}

TEST(uneven_racks_and_trunks_are_found)
{
    network n = star(5, 1e8, 0.02);

    n.racks = 2;
    n.rack_of[3] = n.rack_of[4] = 1;
    n.trunk_up[0] = n.trunk_down[0] = n.trunk_up[1] = n.trunk_down[1] = 7e7;
    check_racks(&n, 5);
}

TEST(a_network_that_has_trunks_without_effect_has_no_racks)
{
    network n = racks_of(2, 3, 1e8, 3e8, 0.02);
    int racks;
    banyan_topology *t = find(&n, 9, &racks);

    assert_int_equal(racks, 0);
    banyan_topology_destroy(t);
}

TEST(one_host_is_a_switch_with_its_ranks)
{
    banyan_probe_findings f;
    banyan_topology *t = NULL;

    assert_int_equal(banyan_probe_findings_init(&f, 3, 1, NULL), 0);
    f.names[0] = "net"; /* a name that is taken */
    f.local[0] = 1.2345e10;
    assert_int_equal(banyan_probe_find_racks(&f, NULL), 0);
    assert_int_equal(banyan_probe_infer(&f, &t, NULL), 0);
    assert_int_equal(t->worker_count, 3);
    assert_int_equal(t->node_count, 4);
    assert_true(speed(t, "g2", "net-0") == 1.23e10);
    banyan_topology_destroy(t);
    banyan_probe_findings_fini(&f);
}

TEST(hosts_of_one_name_get_two)
{
    banyan_probe_findings f;
    banyan_topology *t = NULL;

    assert_int_equal(banyan_probe_findings_init(&f, 2, 2, NULL), 0);
    f.names[0] = f.names[1] = "node";
    f.host_of[1] = 1;
    f.alone[1] = f.alone[2] = 1e8;
    assert_int_equal(banyan_probe_find_racks(&f, NULL), 0);
    assert_int_equal(banyan_probe_infer(&f, &t, NULL), 0);
    assert_true(banyan_topology_find_node(t, "node-0") >= 0 && banyan_topology_find_node(t, "node-1") >= 0);
    banyan_topology_destroy(t);
    banyan_probe_findings_fini(&f);
}

/* Racks of 16: what is slow is what leaves one. With so many hosts, more than hosts^3 steps would not end. */
TEST(racks_of_many_hosts_are_found)
{
    enum { HOSTS = 512, RACK = 16 };
    banyan_probe_findings f;

    assert_int_equal(banyan_probe_findings_init(&f, HOSTS, HOSTS, NULL), 0);
    for (int i = 0; i < HOSTS; i++)
        for (int shift = 1; shift < HOSTS; shift += shift < 2 * RACK ? 1 : 7) {
            int k = (i + shift) % HOSTS, is_near = i % (HOSTS / RACK) == k % (HOSTS / RACK);

            if (is_near)
                f.alone[i * HOSTS + k] = 1e9;
            assert_int_equal(banyan_probe_add_load(&f, i, k, is_near ? 1e9 : 4e8, NULL), 0);
        }
    assert_int_equal(banyan_probe_find_racks(&f, NULL), 0);
    assert_int_equal(f.rack_count, HOSTS / RACK);
    for (int i = 0; i < HOSTS; i++)
        assert_int_equal(f.rack_of[i], i % (HOSTS / RACK));
    banyan_probe_findings_fini(&f);
}

TEST(every_failed_allocation_is_survived)
{
    banyan_topology *t = NULL;

    for (int calls = 0; !t; calls++) {
        banyan_probe_findings f = {0};

        banyan_alloc_fail_after(calls);
        if (!banyan_probe_findings_init(&f, 2, 2, NULL)) {
            f.names[0] = "a";
            f.names[1] = "b";
            f.host_of[1] = 1;
            f.alone[1] = f.alone[2] = 1e8;
            if (!banyan_probe_add_load(&f, 0, 1, 1e8, NULL) && !banyan_probe_find_racks(&f, NULL))
                (void)banyan_probe_infer(&f, &t, NULL);
        }
        banyan_alloc_fail_after(-1);
        banyan_probe_findings_fini(&f);
    }
    banyan_topology_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_hosts_on_one_switch_have_equal_cables_and_no_racks),
        cmocka_unit_test(unlike_hosts_keep_their_own_speeds),
        cmocka_unit_test(directions_that_differ_are_told_apart),
        cmocka_unit_test(a_host_that_is_faster_than_each_other_one_shows_when_it_talks_to_several),
        cmocka_unit_test(racks_behind_a_trunk_that_is_slower_than_a_host_are_found),
        cmocka_unit_test(racks_behind_a_trunk_that_only_several_flows_fill_are_found),
        cmocka_unit_test(uneven_racks_and_trunks_are_found),
        cmocka_unit_test(a_network_that_has_trunks_without_effect_has_no_racks),
        cmocka_unit_test(one_host_is_a_switch_with_its_ranks),
        cmocka_unit_test(hosts_of_one_name_get_two),
        cmocka_unit_test(racks_of_many_hosts_are_found),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
