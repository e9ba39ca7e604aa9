/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/probe.c: networks are inferred from what measurements on them would give, noise included. The
 * measurements are made by a small model: flows share links fairly, as max-min says. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/random.h"
#include "probe/infer.h"

enum { MOST_HOSTS = 64 };

typedef struct {
    int hosts, racks;
    int rack_of[MOST_HOSTS];
    double up[MOST_HOSTS], down[MOST_HOSTS];             /* of hosts */
    double trunk_up[MOST_HOSTS], trunk_down[MOST_HOSTS]; /* of racks; 0: none in the way */
    double noise;
    double losses; /* how likely a flow loses packets and a third of its speed */
    double apart;  /* how likely the flows of a round do not quite meet, and each gets up to a third more */
    double queues; /* the most that a flow loses that is alone on a trunk whose other way is full */
    int taken;     /* the host of whose cable others use a fifth, half of the time; -1: none */
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
    char is_fixed[4 * MOST_HOSTS] = {0};
    int is_taken = n->taken >= 0 && banyan_random_below(random, 2);
    int links[4];

    for (int left = count; left;) {
        double left_in[4 * MOST_HOSTS], tightest = 1e300;
        int users[4 * MOST_HOSTS] = {0}, worst = -1;

        for (int l = 0; l < 4 * MOST_HOSTS; l++)
            left_in[l] =
                capacity(n, l) * (is_taken && l < 2 * MOST_HOSTS && l % MOST_HOSTS == n->taken ? 0.8 : 1);
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
    for (int i = 0, is_apart = banyan_random_unit(random) < n->apart; i < count && is_apart; i++) {
        double more = rates[i] * (1 + banyan_random_unit(random) / 3);

        rates[i] = fmin(more, fmin(n->up[pairs[2 * i]], n->down[pairs[2 * i + 1]]));
    }
    for (int i = 0; i < count; i++) {
        rates[i] *= 1 + n->noise * (2 * banyan_random_unit(random) - 1);
        if (banyan_random_unit(random) < n->losses)
            rates[i] *= 0.67;
    }
}

/* Acknowledgements cross the trunks the other way, beside data that may fill them; what is under way in one
 * flow is limited, in several together it is enough. */
static void queue(const network *n, const int *pairs, int count, double *rates, banyan_random *random)
{
    double load[4 * MOST_HOSTS] = {0};
    int users[4 * MOST_HOSTS] = {0}, links[4];

    for (int i = 0; i < count; i++)
        for (int k = links_of(n, pairs[2 * i], pairs[2 * i + 1], links) - 1; k >= 0; k--) {
            load[links[k]] += rates[i];
            users[links[k]]++;
        }
    for (int i = 0; i < count; i++) {
        int waits = 0, is_alone = 1;

        for (int k = links_of(n, pairs[2 * i], pairs[2 * i + 1], links) - 1; k >= 0; k--)
            is_alone &= users[links[k]] == 1;
        for (int k = links_of(n, pairs[2 * i + 1], pairs[2 * i], links) - 1; k >= 0; k--)
            waits |= links[k] >= 2 * MOST_HOSTS && load[links[k]] > 0.9 * capacity(n, links[k]);
        if (!waits || !is_alone)
            continue;
        rates[i] *= 1 - n->queues * banyan_random_unit(random);
        for (int k = links_of(n, pairs[2 * i], pairs[2 * i + 1], links) - 1; k >= 0; k--)
            load[links[k]] = rates[i];
    }
}

/* As the survey does it. */
static void survey(const network *n, banyan_probe_findings *f, banyan_random *random)
{
    int pairs[4 * MOST_HOSTS], count = 1;
    double rates[2 * MOST_HOSTS];
    banyan_round_kind kind;
    uint64_t grouping;

    while (count) {
        assert_int_equal(banyan_probe_next_round(f, &kind, &grouping, pairs, &count, NULL), 0);
        flow(n, pairs, count, rates, random);
        queue(n, pairs, count, rates, random);
        if (count)
            assert_int_equal(banyan_probe_add_round(f, kind, grouping, pairs, rates, count, NULL), 0);
    }
    assert_int_equal(banyan_probe_judge_racks(f, NULL), 0);
}

/* One rank a host; the caller destroys. */
static banyan_topology *find(const network *n, uint64_t seed, int *racks)
{
    static char names[MOST_HOSTS][16];
    banyan_random random = {.state = seed};
    banyan_probe_findings f;
    banyan_topology *topology = NULL;

    assert_int_equal(banyan_probe_findings_init(&f, n->hosts, n->hosts, NULL), 0);
    for (int i = 0; i < n->hosts; i++) {
        f.host_of[i] = i;
        snprintf(names[i], sizeof names[i], "h%d", i);
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
    network n = {.hosts = hosts, .racks = 1, .noise = noise, .taken = -1};

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

TEST(hosts_of_different_speeds_keep_them)
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

    n.up[1] = n.down[1] = 1.8e8;
    t = find(&n, 11, &racks);
    assert_int_equal(racks, 0);
    near(speed(t, "h1", "net"), 1.8e8);
    near(speed(t, "net", "h1"), 1.8e8);
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

/* Host 3's only neighbour is slow, and the trunk is slower than host 3 is. */
TEST(a_host_between_a_slow_neighbour_and_a_trunk_keeps_its_speed)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        network n = star(6, 8.4e7, 0.03);
        int racks;
        banyan_topology *t;

        n.racks = 3;
        for (int i = 0; i < 6; i++)
            n.rack_of[i] = i / 2;
        for (int r = 0; r < 3; r++)
            n.trunk_up[r] = n.trunk_down[r] = 6e7;
        n.up[2] = n.down[2] = 4.2e7;
        check_racks(&n, seed);
        t = find(&n, seed, &racks);
        near(speed(t, "h3", parent(t, 3)), 8.4e7);
        near(speed(t, parent(t, 3), "h3"), 8.4e7);
        near(speed(t, "h2", parent(t, 2)), 4.2e7);
        banyan_topology_destroy(t);
    }
}

TEST(a_network_that_has_trunks_without_effect_has_no_racks)
{
    network n = racks_of(2, 3, 1e8, 3e8, 0.02);
    int racks;
    banyan_topology *t = find(&n, 9, &racks);

    assert_int_equal(racks, 0);
    banyan_topology_destroy(t);
}

/* A random network of this many hosts. order: how racks follow the order of hosts: 0 in blocks, 1 dealt in
 * turn, 2 at random. Racks have at least two hosts, and trunks carry a part of what they can send. */
static network draw_network(int hosts, int racks, int order, int is_uneven, int is_asymmetric, int slow_hosts,
                            banyan_random *random)
{
    network n = star(hosts, 1.2e8, 0.04);
    double up[MOST_HOSTS] = {0}, down[MOST_HOSTS] = {0};
    int end = 0;

    n.racks = racks;
    for (int r = 0; r < racks; r++) {
        int left = hosts - end - 2 * (racks - r - 1), size = hosts / racks;

        size = r == racks - 1 ? left : is_uneven ? 2 + banyan_random_below(random, 2 * size - 2) : size;
        size = size > left ? left : size;
        for (int i = 0; i < size; i++)
            n.rack_of[end + i] = r;
        end += size;
    }
    for (int i = 0; i < hosts && order == 1; i++)
        n.rack_of[i] = i % racks;
    for (int i = hosts - 1; i > 0 && order == 2; i--) {
        int k = banyan_random_below(random, i + 1), kept = n.rack_of[i];

        n.rack_of[i] = n.rack_of[k];
        n.rack_of[k] = kept;
    }
    for (int i = 0; i < slow_hosts; i++) {
        int host = banyan_random_below(random, hosts);

        n.up[host] = n.down[host] = 1.2e8 * (0.25 + 0.35 * banyan_random_unit(random));
    }
    for (int i = 0; i < hosts; i++) {
        up[n.rack_of[i]] += n.up[i];
        down[n.rack_of[i]] += n.down[i];
    }
    for (int r = 0; r < racks; r++) {
        double over = 1.5 + 8.5 * banyan_random_unit(random) * banyan_random_unit(random);

        n.trunk_up[r] = up[r] / over;
        n.trunk_down[r] = down[r] / (is_asymmetric ? 1.5 + 3 * banyan_random_unit(random) : over);
    }
    return n;
}

static int has_same_racks(const network *n, const banyan_probe_findings *f)
{
    for (int a = 0; a < n->hosts; a++)
        for (int b = 0; b < a; b++)
            if ((n->rack_of[a] == n->rack_of[b]) != (f->rack_of[a] == f->rack_of[b]))
                return 0;
    return 1;
}

static int is_found(const network *n, banyan_random *random)
{
    banyan_probe_findings f;
    int found;

    assert_int_equal(banyan_probe_findings_init(&f, n->hosts, n->hosts, NULL), 0);
    survey(n, &f, random);
    found = has_same_racks(n, &f);
    banyan_probe_findings_fini(&f);
    return found;
}

/* In every third network a fifth of one host's cable is taken at times, in every fifth packets are lost, and
 * in every seventh flows do not quite meet. */
static network disturb(network n, int seed)
{
    n.taken = seed % 3 ? -1 : seed % n.hosts;
    n.losses = seed % 5 ? 0 : 0.02;
    n.apart = seed % 7 ? 0 : 0.15;
    return n;
}

TEST(racks_of_hundreds_of_random_networks_are_found)
{
    enum { NETWORKS = 360 };
    int found = 0;

    for (int seed = 1; seed <= NETWORKS; seed++) {
        banyan_random random = {.state = (uint64_t)seed};
        int hosts = 4 + seed % 13, racks = 2 + banyan_random_below(&random, hosts / 2 - 1);
        network n = draw_network(hosts, racks, seed % 3, seed % 2 && seed % 3 != 1, seed / 6 % 2,
                                 hosts > 5 ? seed / 12 % 3 : 0, &random);

        n = disturb(n, seed);
        found += is_found(&n, &random);
    }
    if (found < NETWORKS * 94 / 100)
        fail_msg("the racks of %d networks of %d were found", found, (int)NETWORKS);
}

TEST(racks_of_64_hosts_that_follow_their_order_are_found)
{
    int found = 0;

    for (int seed = 1; seed <= 12; seed++) {
        banyan_random random = {.state = (uint64_t)seed};
        network n = draw_network(64, 2 + seed % 7, 1, 0, seed % 2, seed % 3, &random);

        found += is_found(&n, &random);
    }
    if (found < 11)
        fail_msg("the racks of %d networks of 12 were found", found);
}

/* Seen on racks of three and two hosts: alone on its way through a trunk of 100 MB/s, a flow got 60 to 80. */
TEST(racks_are_found_where_acknowledgements_queue)
{
    static const int sizes[][3] = {{3, 2}, {3, 3}, {4, 2}, {3, 3, 2}, {2, 2, 2}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        network n = star(0, 0, 0.02);

        n.racks = sizes[i][2] ? 3 : 2;
        for (int r = 0; r < n.racks; r++) {
            n.trunk_up[r] = n.trunk_down[r] = 8e7;
            for (int k = 0; k < sizes[i][r]; k++)
                n.rack_of[n.hosts++] = r;
        }
        for (int h = 0; h < n.hosts; h++)
            n.up[h] = n.down[h] = 1.25e8;
        n.queues = 0.4;
        for (uint64_t seed = 1; seed <= 20; seed++)
            check_racks(&n, seed);
    }
}

/* What was measured on racks of three and two hosts, of 800 Mbit/s each, with 500 Mbit/s between the racks.
 * Two flows that had the trunk to themselves did not fill it (367 and 403). */
TEST(a_flow_that_does_not_quite_fill_a_trunk_makes_no_rack)
{
    static const struct {
        int src, dst, mbit_per_s;
    } flows[] = {{0, 1, 747}, {1, 2, 757}, {2, 3, 367}, {3, 4, 757}, {4, 0, 474}, {0, 2, 762}, {1, 3, 245},
                 {2, 4, 224}, {3, 0, 217}, {4, 1, 245}, {0, 3, 239}, {1, 4, 237}, {2, 0, 762}, {3, 1, 259},
                 {4, 2, 234}, {0, 4, 403}, {1, 0, 761}, {2, 1, 751}, {3, 2, 476}, {4, 3, 762}, {0, 1, 394},
                 {0, 2, 368}, {1, 0, 382}, {2, 0, 382}, {1, 2, 391}, {1, 3, 396}, {2, 1, 397}, {3, 1, 377},
                 {2, 3, 253}, {2, 4, 253}, {3, 2, 239}, {4, 2, 239}, {3, 4, 381}, {3, 0, 383}, {4, 3, 382},
                 {0, 3, 378}, {4, 0, 239}, {4, 1, 239}, {0, 4, 239}, {1, 4, 239}};
    static const int sizes[] = {5, 5, 5, 5, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, racks[] = {0, 0, 0, 1, 1};
    banyan_probe_findings f;

    assert_int_equal(banyan_probe_findings_init(&f, 5, 5, NULL), 0);
    for (int k = 0, first = 0; k < (int)(sizeof sizes / sizeof *sizes); first += sizes[k++]) {
        int pairs[10];
        double rates[5];

        for (int i = 0; i < sizes[k]; i++) {
            pairs[2 * i] = flows[first + i].src;
            pairs[2 * i + 1] = flows[first + i].dst;
            rates[i] = flows[first + i].mbit_per_s / 8e-6;
        }
        assert_int_equal(banyan_probe_add_round(&f, BANYAN_ROUND_EXPLORE, 0, pairs, rates, sizes[k], NULL),
                         0);
    }
    assert_int_equal(banyan_probe_group_hosts(&f, NULL), 0);
    assert_memory_equal(f.rack_of, racks, sizeof racks);
    banyan_probe_findings_fini(&f);
}

/* Only one shift of six to twelve hosts fills such trunks. */
TEST(racks_with_trunks_that_are_hardly_oversubscribed_are_found)
{
    static const int shapes[][2] = {{2, 3}, {2, 4}, {2, 6}, {2, 8}, {3, 2}, {3, 3}, {4, 2}};

    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int seed = 1; seed <= 20; seed++) {
            banyan_random random = {.state = (uint64_t)seed};
            int each = shapes[k][1];
            network n = racks_of(shapes[k][0], each, 1.2e8, 1.2e8 * each / 1.5, 0.04);

            for (int i = 0; i < n.hosts; i++)
                n.rack_of[i] = i / each;
            if (!is_found(&n, &random))
                fail_msg("seed %d: racks of %d hosts were not found", seed, each);
        }
}

TEST(networks_without_racks_get_none)
{
    for (int seed = 1; seed <= 300; seed++) {
        banyan_random random = {.state = (uint64_t)seed};
        network n = star(2 + seed % 19, 1.2e8, 0.04);

        for (int i = 0; i < seed % 4; i++)
            n.up[i * 7 % n.hosts] = n.down[i * 5 % n.hosts] = 1.2e8 * (0.2 + 0.2 * i);
        n = disturb(n, seed);
        if (!is_found(&n, &random))
            fail_msg("seed %d: racks were invented among %d hosts", seed, n.hosts);
    }
}

/* Flows of equal hosts on one switch, of which a busy machine holds up some, here and there. */
static banyan_probe_findings hold_up(double share, double rate)
{
    banyan_random random = {.state = 5};
    network n = star(6, 1.2e8, 0.02);
    int pairs[4 * MOST_HOSTS], count = 1;
    double rates[2 * MOST_HOSTS];
    banyan_probe_findings f;
    banyan_round_kind kind;
    uint64_t grouping;

    assert_int_equal(banyan_probe_findings_init(&f, n.hosts, n.hosts, NULL), 0);
    for (int k = 0; k < 40 && count; k++) {
        assert_int_equal(banyan_probe_next_round(&f, &kind, &grouping, pairs, &count, NULL), 0);
        flow(&n, pairs, count, rates, &random);
        for (int i = 0; i < count; i++)
            rates[i] *= banyan_random_unit(&random) < share ? rate : 1;
        if (count)
            assert_int_equal(banyan_probe_add_round(&f, kind, grouping, pairs, rates, count, NULL), 0);
    }
    assert_int_equal(banyan_probe_judge_racks(&f, NULL), 0);
    return f;
}

TEST(what_neither_hosts_nor_trunks_explain_is_not_plausible)
{
    static const struct {
        double share, rate;
        int is_plausible;
    } cases[] = {{0, 1, 1}, {0.02, 0.7, 1}, {0.4, 0.3, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_probe_findings f = hold_up(cases[i].share, cases[i].rate);

        assert_int_equal(banyan_probe_is_plausible(&f), cases[i].is_plausible);
        banyan_probe_findings_fini(&f);
    }
}

TEST(racks_that_explain_what_flows_lack_are_plausible)
{
    network n = racks_of(2, 3, 1.2e8, 6e7, 0.03);
    banyan_random random = {.state = 3};
    banyan_probe_findings f;

    assert_int_equal(banyan_probe_findings_init(&f, n.hosts, n.hosts, NULL), 0);
    survey(&n, &f, &random);
    assert_true(f.lacking > 0.04 && f.explained > 0.5);
    assert_true(banyan_probe_is_plausible(&f));
    banyan_probe_findings_fini(&f);
}

TEST(one_host_is_a_switch_with_its_ranks)
{
    banyan_probe_findings f;
    banyan_topology *t = NULL;

    assert_int_equal(banyan_probe_findings_init(&f, 3, 1, NULL), 0);
    f.names[0] = "net"; /* a name that is taken */
    f.local[0] = 1.2345e10;
    assert_int_equal(banyan_probe_infer(&f, &t, NULL), 0);
    assert_int_equal(t->worker_count, 3);
    assert_int_equal(t->node_count, 4);
    assert_true(speed(t, "g2", "net-0") == 1.23e10);
    banyan_topology_destroy(t);
    banyan_probe_findings_fini(&f);
}

static const int there_and_back[4] = {0, 1, 1, 0};

TEST(hosts_of_one_name_get_two)
{
    banyan_probe_findings f;
    banyan_topology *t = NULL;

    assert_int_equal(banyan_probe_findings_init(&f, 2, 2, NULL), 0);
    f.names[0] = f.names[1] = "node";
    f.host_of[1] = 1;
    assert_int_equal(
        banyan_probe_add_round(&f, BANYAN_ROUND_EXPLORE, 0, there_and_back, (double[]){1e8, 1e8}, 2, NULL),
        0);
    assert_int_equal(banyan_probe_infer(&f, &t, NULL), 0);
    assert_true(banyan_topology_find_node(t, "node-0") >= 0 && banyan_topology_find_node(t, "node-1") >= 0);
    banyan_topology_destroy(t);
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
            if (!banyan_probe_add_round(&f, BANYAN_ROUND_EXPLORE, 0, there_and_back, (double[]){1e8, 1e8}, 2,
                                        NULL) &&
                !banyan_probe_group_hosts(&f, NULL))
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
        cmocka_unit_test(hosts_of_different_speeds_keep_them),
        cmocka_unit_test(directions_that_differ_are_told_apart),
        cmocka_unit_test(a_host_that_is_faster_than_each_other_one_shows_when_it_talks_to_several),
        cmocka_unit_test(racks_behind_a_trunk_that_is_slower_than_a_host_are_found),
        cmocka_unit_test(racks_behind_a_trunk_that_only_several_flows_fill_are_found),
        cmocka_unit_test(uneven_racks_and_trunks_are_found),
        cmocka_unit_test(a_host_between_a_slow_neighbour_and_a_trunk_keeps_its_speed),
        cmocka_unit_test(a_network_that_has_trunks_without_effect_has_no_racks),
        cmocka_unit_test(racks_of_hundreds_of_random_networks_are_found),
        cmocka_unit_test(racks_of_64_hosts_that_follow_their_order_are_found),
        cmocka_unit_test(racks_are_found_where_acknowledgements_queue),
        cmocka_unit_test(a_flow_that_does_not_quite_fill_a_trunk_makes_no_rack),
        cmocka_unit_test(racks_with_trunks_that_are_hardly_oversubscribed_are_found),
        cmocka_unit_test(networks_without_racks_get_none),
        cmocka_unit_test(what_neither_hosts_nor_trunks_explain_is_not_plausible),
        cmocka_unit_test(racks_that_explain_what_flows_lack_are_plausible),
        cmocka_unit_test(one_host_is_a_switch_with_its_ranks),
        cmocka_unit_test(hosts_of_one_name_get_two),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
