/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/generate.c: synthetic networks, their errors, damage, and loading by name or file. */
#include "unit/test.h"

#include <math.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/file.h"
#include "topology/generate.h"
#include "topology/topology.h"

static banyan_topology *generate(const char *spec)
{
    banyan_topology *topology;
    banyan_error err = {""};

    if (banyan_topology_generate(spec, &topology, &err))
        fail_msg("%s: %s", spec, err.text);
    assert_string_equal(topology->name, spec);
    return topology;
}

static double between(const banyan_topology *t, const char *a, const char *b)
{
    int link = banyan_topology_find_link(t, banyan_topology_find_node(t, a), banyan_topology_find_node(t, b));

    return link < 0 ? 0 : t->links[link].bytes_per_s;
}

static int degree(const banyan_topology *t, const char *name)
{
    int v = banyan_topology_find_node(t, name);

    return v < 0 ? -1 : t->out_first[v + 1] - t->out_first[v];
}

/* Bytes per second that leave the node. */
static double capacity(const banyan_topology *t, const char *name)
{
    int v = banyan_topology_find_node(t, name);
    double sum = 0;

    for (int i = t->out_first[v]; i < t->out_first[v + 1]; i++)
        sum += t->links[t->out_link[i]].bytes_per_s;
    return sum;
}

static int is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static const struct {
    const char *spec;
    int workers, switches, links, hosts;
    const char *node; /* one node that is typical, with its degree and the Gb/s that leave it */
    int degree;
    double gbps;
} table[] = {
    {"ring:1", 1, 0, 0, 0, "g0", 0, 0},
    {"ring:2", 2, 0, 2, 0, "g1", 1, 100},
    {"ring:8", 8, 0, 16, 0, "g7", 2, 200},
    {"line:8", 8, 0, 14, 0, "g7", 1, 100},
    {"full:8", 8, 0, 56, 0, "g3", 7, 700},
    {"torus:4x4", 16, 0, 64, 0, "g15", 4, 400},
    {"torus:2x3", 6, 0, 18, 0, "g4", 3, 300},
    {"torus:2x1x3", 6, 0, 18, 0, "g0", 3, 300},
    {"torus:4x4x4", 64, 0, 384, 0, "g21", 6, 600},
    {"torus:2x2x2x2x2x2x2x2", 256, 0, 2048, 0, "g255", 8, 800},
    {"mesh:4x4", 16, 0, 48, 0, "g5", 4, 400},
    {"mesh:3x3x3", 27, 0, 108, 0, "g0", 3, 300},
    {"switch:16", 16, 1, 32, 0, "s0", 16, 1600},
    {"fattree:4x4", 16, 8, 64, 0, "l3", 8, 800},
    {"fattree:8x8:4", 64, 10, 160, 0, "l0", 10, 1000},
    {"fattree:3x5:2", 15, 6, 48, 0, "l0", 8, 750},
    {"fattree:2x4:1.5", 8, 5, 28, 0, "s2", 2, 2 * 400 / 4.5},
    {"bigraph:4x8", 32, 8, 96, 0, "u0", 8, 800},
    {"bigraph:4x16", 64, 16, 256, 0, "l7", 12, 1200},
    {"bigraph:6x4", 24, 4, 56, 0, "u1", 8, 1200},
    {"dgx1", 8, 0, 32, 1, "g5", 4, 8 * 150},
    {"dgx2", 16, 1, 32, 1, "nvsw0", 16, 16 * 1200},
    {"dgxa100", 8, 2, 32, 1, "g0", 2, 8 * 325},
    {"dgxa100:2", 16, 3, 64, 2, "ib", 16, 3200},
    {"hosts:2+3", 5, 3, 14, 2, "h1", 4, 310},
    {"hosts:3+3+4", 10, 4, 26, 3, "net", 3, 30},
    {"hosts:8x4", 32, 9, 80, 8, "h7", 5, 410},
    {"racks:2x2x4", 16, 7, 44, 4, "r0", 3, 30},
    {"racks:2x2+3x4", 20, 8, 54, 5, "r1", 4, 40},
    {"racks:2x2x1+2+3+4", 10, 7, 32, 4, "h3", 5, 410},
    {"abci:4", 4, 3, 24, 1, "g0", 4, 8 * 165.75},
    {"abci:7", 7, 5, 40, 2, "p3", 2, 100 + 126},
    {"abci:256", 256, 131, 1540, 64, "r1", 65, 6400 + 8 * 850 / 3.},
    {"pcie:4x4:10", 16, 4, 92, 4, "nic2", 7, 430},
    {"pcie:4x4", 16, 4, 92, 4, "g9", 4, 400},
    {"kautz:12x3", 12, 0, 36, 0, "g7", 3, 300},
    {"kautz:9x3", 9, 0, 24, 0, "g2", 2, 200},
    {"dragonfly:9x4x2", 72, 36, 144 + 108 + 72, 0, "r35", 7, 700},
    {"dragonfly:3x2x1", 6, 6, 24, 0, "r0", 3, 300},
    {"dragonfly:3x2x1:4", 6, 6, 42, 0, "r1", 6, 600},
    {"dragonfly:1x4x2", 8, 4, 28, 0, "r0", 5, 500},
    {"dragonfly:33x16x8:2,global_gbps=50", 4224, 528, 8448 + 7920 + 1056, 0, "r527", 25, 2400},
    {"dragonfly+:5x2x2x2", 20, 20, 40 + 40 + 20, 0, "s9", 4, 400},
    {"dragonfly+:2x4x2x3:5", 24, 12, 48 + 32 + 20, 0, "s3", 9, 900},
    {"hyperx:3x4:2", 24, 12, 48 + 12 * 5, 0, "s11", 7, 700},
    {"hyperx:2x2x2", 8, 8, 16 + 24, 0, "s5", 4, 400},
    {"hyperx:1", 1, 1, 2, 0, "s0", 1, 100},
    {"slimfly:5", 200, 50, 400 + 350, 0, "r49", 11, 1100},
    {"slimfly:7x1", 98, 98, 196 + 98 * 11, 0, "r0", 12, 1200},
    {"dgxh100", 8, 2, 32, 1, "g0", 2, 8 * 500},
    {"dgxh100:2", 16, 3, 64, 2, "ib", 16, 6400},
    {"dgxb200:2", 16, 3, 64, 2, "nvsw1", 8, 8 * 8 * 900},
    {"nvl72", 72, 2, 288, 18, "nvsw0", 72, 72 * 8 * 900},
    {"nvl72:2", 144, 3, 576, 36, "g143", 2, 8 * 950},
    {"mi300x:2", 16, 1, 112 + 32, 2, "g15", 8, 8 * (7 * 64 + 50)},
    {"rails:1x2x2", 4, 2 + 2 + 2, 8 + 8 + 8, 2, "l1", 4, 1600},
    {"rails:4x32x8:2", 1024, 128 + 32 + 16, 4096 + 1024, 128, "l31", 48, 48 * 400},
    {"rails:2x3x4:2", 24, 6 + 8 + 2, 96 + 32, 6, "s1", 8, 8 * 400 * 0.75},
    {"spark:1", 1, 2, 2, 1, "g0", 1, 208},
    {"spark:2", 2, 4, 6, 2, "tx0", 1, 200},
    {"spark:3", 3, 6, 12, 3, "tx2", 2, 400},
    {"spark:4", 4, 8, 16, 4, "rx3", 1, 208},
    {"tpuv4:8x4x4", 128, 0, 768, 0, "g0", 6, 8 * 300},
    {"tpuv4:4x4x8,global_GBps=25", 128, 0, 768, 0, "g0", 6, 8 * 225},
};
enum { TABLE_COUNT = sizeof table / sizeof *table };

TEST(every_generator_has_the_nodes_links_and_capacities_of_its_drawing)
{
    for (int i = 0; i < TABLE_COUNT; i++) {
        banyan_topology *t = generate(table[i].spec);

        if (t->worker_count != table[i].workers || t->node_count - t->worker_count != table[i].switches ||
            t->link_count != table[i].links || t->host_count != table[i].hosts)
            fail_msg("%s has %d workers, %d switches, %d links, %d hosts", table[i].spec, t->worker_count,
                     t->node_count - t->worker_count, t->link_count, t->host_count);
        assert_int_equal(degree(t, table[i].node), table[i].degree);
        if (!is_near(capacity(t, table[i].node) * 8e-9, table[i].gbps))
            fail_msg("%s: %g Gb/s leave %s", table[i].spec, capacity(t, table[i].node) * 8e-9, table[i].node);
        banyan_topology_destroy(t);
    }
}

TEST(every_generator_of_the_list_is_in_the_table_of_this_test)
{
    for (int g = 0; g < banyan_generator_count(); g++) {
        const banyan_generator_info *info = banyan_generator_at(g);
        size_t length = strlen(info->name);
        int found = 0;

        for (int i = 0; i < TABLE_COUNT; i++)
            found |= !strncmp(table[i].spec, info->name, length) &&
                     (!table[i].spec[length] || table[i].spec[length] == ':');
        if (!found || strncmp(info->form, info->name, length) || !*info->summary)
            fail_msg("%s is not tested, or its form or summary is missing", info->name);
    }
    assert_null(banyan_generator_at(-1));
    assert_null(banyan_generator_at(banyan_generator_count()));
}

TEST(workers_come_first_are_named_in_order_and_every_link_of_a_cable_has_its_way_back)
{
    for (int i = 0; i < TABLE_COUNT; i++) {
        banyan_topology *t = generate(table[i].spec);
        int is_one_way = !strncmp(table[i].spec, "kautz", 5) || !strncmp(table[i].spec, "spark", 5);
        char name[32];

        for (int v = 0; v < t->worker_count; v++) {
            snprintf(name, sizeof name, "g%d", v);
            assert_int_equal(t->nodes[v].kind, BANYAN_NODE_WORKER);
            assert_string_equal(banyan_topology_node_name(t, v), name);
            assert_true((t->nodes[v].host >= 0) == (t->host_count > 0));
            if (v)
                assert_true(t->nodes[v].host - t->nodes[v - 1].host == 0 ||
                            t->nodes[v].host - t->nodes[v - 1].host == 1);
        }
        for (int l = 0; l < t->link_count; l++) {
            int back = banyan_topology_find_link(t, t->links[l].dst, t->links[l].src);

            if (is_one_way)
                continue;
            assert_true(back >= 0 && t->links[back].bytes_per_s == t->links[l].bytes_per_s);
            assert_true(t->links[l].latency_s == 1e-6);
        }
        assert_int_equal(banyan_topology_check_connected(t, t->workers, t->worker_count, NULL), 0);
        banyan_topology_destroy(t);
    }
}

TEST(grids_and_trees_know_how_to_route)
{
    banyan_topology *torus = generate("torus:3x4"), *mesh = generate("mesh:3x4"), *ring = generate("ring:5");
    banyan_topology *tree = generate("fattree:2x2"), *hosts = generate("hosts:1+1");

    assert_int_equal(torus->policy, BANYAN_ROUTES_GRID);
    assert_int_equal(torus->grid.dimension_count, 2);
    assert_int_equal(torus->grid.extent[0], 3);
    assert_int_equal(torus->grid.extent[1], 4);
    assert_true(torus->grid.wraps[0] && torus->grid.wraps[1]);
    assert_true(between(torus, "g3", "g0") > 0 && between(torus, "g8", "g0") > 0);
    assert_true(between(mesh, "g3", "g0") == 0 && !mesh->grid.wraps[0]);
    assert_int_equal(ring->grid.dimension_count, 1);
    assert_int_equal(ring->policy, BANYAN_ROUTES_SHORTEST);
    assert_int_equal(tree->policy, BANYAN_ROUTES_UPDOWN);
    assert_int_equal(hosts->policy, BANYAN_ROUTES_UPDOWN);
    banyan_topology_destroy(torus);
    banyan_topology_destroy(mesh);
    banyan_topology_destroy(ring);
    banyan_topology_destroy(tree);
    banyan_topology_destroy(hosts);
}

TEST(machines_have_the_published_speeds)
{
    banyan_topology *dgx1 = generate("dgx1"), *abci = generate("abci:8");

    assert_true(between(dgx1, "g0", "g3") == 50e9 && between(dgx1, "g0", "g4") == 50e9);
    assert_true(between(dgx1, "g0", "g1") == 25e9 && between(dgx1, "g2", "g6") == 25e9);
    assert_true(between(dgx1, "g0", "g5") == 0);
    for (int v = 0; v < 8; v++)
        assert_true(capacity(dgx1, banyan_topology_node_name(dgx1, v)) == 6 * 25e9);
    assert_true(between(abci, "g0", "g3") == 50e9 && between(abci, "g0", "g4") == 0);
    assert_true(between(abci, "p1", "r0") == 12.5e9 && between(abci, "g2", "p1") == 15.75e9);
    banyan_topology_destroy(dgx1);
    banyan_topology_destroy(abci);
}

/* Hops to the farthest of the `count` nodes from `first` on, over those alone; -1: one is not reached. */
static int eccentricity(const banyan_topology *t, int from, int first, int count)
{
    int distance[1024], queue[1024], head = 0, tail = 0;

    assert_true(count <= 1024);
    for (int v = 0; v < count; v++)
        distance[v] = -1;
    distance[from - first] = 0;
    queue[tail++] = from;
    while (head < tail) {
        int v = queue[head++];

        for (int i = t->out_first[v]; i < t->out_first[v + 1]; i++) {
            int to = t->links[t->out_link[i]].dst;

            if (to >= first && to < first + count && distance[to - first] < 0) {
                distance[to - first] = distance[v - first] + 1;
                queue[tail++] = to;
            }
        }
    }
    return tail < count ? -1 : distance[queue[tail - 1] - first];
}

TEST(low_diameter_networks_have_the_diameters_of_their_papers)
{
    static const struct {
        const char *spec;
        int diameter; /* between switches where there are any, else between workers */
    } networks[] = {
        {"slimfly:3x1", 2},  {"slimfly:5x1", 2},        {"slimfly:7x1", 2},  {"slimfly:11x1", 2},
        {"slimfly:13x1", 2}, {"slimfly:17x1", 2},       {"slimfly:19x1", 2}, {"hyperx:3x4", 2},
        {"hyperx:3x4x5", 3}, {"dragonfly:9x4x1", 3},    {"kautz:12x2", 3},   {"kautz:12x3", 2},
        {"kautz:320x4", 4},  {"dragonfly:13x3x1:8", 3}, {"kautz:100x3", 5},  {"dragonfly+:5x2x2x1", 4},
    };

    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        banyan_topology *t = generate(networks[i].spec);
        int switches = t->node_count - t->worker_count;
        int first = switches ? t->worker_count : 0, count = switches ? switches : t->worker_count, most = 0;

        for (int v = first; v < first + count; v++) {
            int hops = eccentricity(t, v, first, count);

            assert_true(hops >= 0);
            most = hops > most ? hops : most;
        }
        if (most != networks[i].diameter)
            fail_msg("%s has diameter %d", networks[i].spec, most);
        banyan_topology_destroy(t);
    }
}

TEST(every_pair_of_groups_of_a_dragonfly_has_as_many_global_cables)
{
    banyan_topology *t = generate("dragonfly:7x4x2:5,global_gbps=400,global_latency=3us");
    int cables[7][7] = {{0}};

    for (int l = 0; l < t->link_count; l++)
        if (t->links[l].bytes_per_s == 50e9) {
            assert_true(is_near(t->links[l].latency_s, 3e-6));
            cables[(t->links[l].src - 56) / 4][(t->links[l].dst - 56) / 4]++;
        }
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++)
            assert_int_equal(cables[i][j], i == j ? 0 : 20 / 6);
    for (int r = 56; r < t->node_count; r++) /* two workers, three routers of the group, at most 5 global */
        assert_true(t->out_first[r + 1] - t->out_first[r] <= 2 + 3 + 5);
    banyan_topology_destroy(t);
}

TEST(gpus_of_one_place_share_a_rail)
{
    banyan_topology *t = generate("rails:2x3x4");

    assert_true(between(t, "g1", "l1") == 50e9 && between(t, "g5", "l1") == 50e9);
    assert_true(between(t, "g9", "l1") == 50e9 && between(t, "g13", "l5") == 50e9);
    assert_true(between(t, "g13", "l1") == 0 && between(t, "g13", "nvsw3") == 450e9);
    assert_true(between(t, "l7", "s2") == 50e9 && degree(t, "s0") == 8);
    banyan_topology_destroy(t);
}

TEST(cables_between_cubes_and_round_the_torus_are_optical)
{
    banyan_topology *t = generate("tpuv4:4x4x8,global_gbps=200,global_latency=2us,latency=500ns");
    int link =
        banyan_topology_find_link(t, banyan_topology_find_node(t, "g3"), banyan_topology_find_node(t, "g4"));

    assert_true(between(t, "g2", "g3") == 50e9 && between(t, "g3", "g4") == 25e9);
    assert_true(between(t, "g7", "g0") == 25e9 && between(t, "g96", "g0") == 25e9);
    assert_true(between(t, "g0", "g32") == 50e9 && between(t, "g0", "g24") == 25e9);
    assert_true(is_near(t->links[link].latency_s, 2e-6) && t->grid.wraps[2] && t->grid.extent[2] == 8);
    assert_int_equal(t->policy, BANYAN_ROUTES_GRID);
    banyan_topology_destroy(t);
    t = generate("tpuv4:4x4x4,latency=500ns");
    for (int l = 0; l < t->link_count; l++)
        assert_true(is_near(t->links[l].latency_s, 500e-9));
    banyan_topology_destroy(t);
}

TEST(a_spark_forwards_nothing_past_its_worker)
{
    banyan_topology *t = generate("spark:3");

    assert_true(between(t, "tx0", "rx1") == 25e9 && between(t, "tx0", "rx2") == 25e9);
    assert_true(between(t, "g0", "tx0") == 26e9 && between(t, "rx0", "g0") == 26e9);
    assert_true(degree(t, "rx1") == 1 && degree(t, "g1") == 1);
    banyan_topology_destroy(t);
}

TEST(a_leaf_has_its_share_of_the_spines_also_where_that_does_not_divide)
{
    banyan_topology *t = generate("fattree:3x5:2,gbps=8");

    assert_true(is_near(between(t, "l0", "s0") * 3, 2.5e9));
    assert_true(between(t, "g0", "l0") == 1e9);
    banyan_topology_destroy(t);
}

TEST(options_set_speeds_latencies_and_abilities)
{
    banyan_topology *t =
        generate("racks:2x2x2,gbps=25,local_GBps=16,rack_gbps=40,latency=5us,local_latency=250ns,reduce=1");
    int link =
        banyan_topology_find_link(t, banyan_topology_find_node(t, "g0"), banyan_topology_find_node(t, "h0"));
    int net = banyan_topology_find_node(t, "net");

    assert_true(between(t, "h0", "r0") == 25e9 / 8 && between(t, "r1", "net") == 5e9);
    assert_true(t->links[link].bytes_per_s == 16e9 && is_near(t->links[link].latency_s, 250e-9));
    link = banyan_topology_find_link(t, net, banyan_topology_find_node(t, "r0"));
    assert_true(is_near(t->links[link].latency_s, 5e-6));
    assert_true(t->nodes[net].can_reduce && !t->nodes[net].can_multicast);
    banyan_topology_destroy(t);

    t = generate("racks:2x2x2,gbps=25");
    assert_true(between(t, "r1", "net") == 25e9 / 8);
    banyan_topology_destroy(t);
    t = generate("switch:2,GBps=1,latency=0,multicast=1,reduce=0");
    assert_true(between(t, "g0", "s0") == 1e9 && t->links[0].latency_s == 0 && t->nodes[2].can_multicast);
    banyan_topology_destroy(t);
    t = generate("ring:3,latency=2ms");
    assert_true(is_near(t->links[0].latency_s, 2e-3));
    banyan_topology_destroy(t);
    t = generate("ring:3,latency=1s");
    assert_true(t->links[0].latency_s == 1);
    banyan_topology_destroy(t);
}

TEST(a_string_that_is_wrong_gets_a_sentence_that_says_where)
{
    static const struct {
        const char *spec, *words;
    } wrong[] = {
        {"", "no network is called ''"},
        {"xyz", "no network is called 'xyz', and there is no such file"},
        {"toru:4x4", "did you mean torus (torus:AxB[xC...])?"},
        {"host:2+3", "did you mean hosts"},
        {"torus", "'torus' does not have the form torus:AxB[xC...]"},
        {"dgx1:2", "'dgx1:2' does not have the form dgx1"},
        {"ring:4x4", "'ring:4x4' does not have the form ring:N"},
        {"ring:2+3", "'ring:2+3' does not have the form ring:N"},
        {"ring:4:2", "does not have the form ring:N"},
        {"racks:2x2", "does not have the form racks:RxHxW"},
        {"racks:2+2x2x2", "does not have the form racks:RxHxW"},
        {"ring:", "shape '': expected a whole number at ''"},
        {"torus:4xx4", "shape '4xx4': expected a whole number at 'x4'"},
        {"torus:4x4x", "expected a whole number at ''"},
        {"torus:4*4", "shape '4*4': unexpected '*4'"},
        {"torus:-4x4", "expected a whole number at '-4x4'"},
        {"torus:0x4", "shape '0x4': 0 is not between 1 and 65536"},
        {"ring:65537", "65537 is not between 1 and 65536"},
        {"ring:99999999999999999999", "99999999999999999999 is not between 1 and 65536"},
        {"torus:1x1x1x1x1x1x1x1x1", "has more than 8 parts"},
        {"fattree:4x4:0", "'0' is not a positive number"},
        {"fattree:4x4:x", "'x' is not a positive number"},
        {"fattree:4x4:0x4", "'0x4' is not a positive number"},
        {"fattree:4x4:2:2", "'2:2' is not a positive number"},
        {"fattree:4x4:1e-9", "fattree:4x4:1e-9 would have"},
        {"bigraph:4x7", "a BiGraph has an even number of switches, not 7"},
        {"torus:257x256", "torus:257x256 would have 65792 workers; the most is 65536"},
        {"torus:65536x65536x65536x65536x65536x65536x65536x65536", "workers; the most is 65536"},
        {"full:2049", "full:2049 would have 4196352 links; the most is 4194304"},
        {"hosts:65536+1", "hosts:65536+1 would have 65537 workers; the most is 65536"},
        {"racks:999x999x999", "racks:999x999x999 would have 997002999 workers"},
        {"dgxa100:9000", "dgxa100:9000 would have 72000 workers"},
        {"pcie:3000x1", "pcie:3000x1 would have 9003000 links"},
        {"dgxb200:9000", "dgxb200:9000 would have 72000 workers"},
        {"nvl72:911", "nvl72:911 would have 65592 workers"},
        {"mi300x:8193", "mi300x:8193 would have 65544 workers"},
        {"rails:65536x65536x65536", "workers; the most is 65536"},
        {"rails:4x4", "does not have the form rails:UxBxG[:F]"},
        {"rails:8x32x8:1e-9", "links; the most is 4194304"},
        {"spark:2x2", "does not have the form spark:N"},
        {"tpuv4:4x4x6", "tpuv4:4x4x6: 6 is not a multiple of 4, the edge of a cube"},
        {"tpuv4:4x4", "does not have the form tpuv4:AxBxC"},
        {"tpuv4:400x400x400", "would have 64000000 workers"},
        {"torus:4x4,global_gbps=1", "torus has no option global_gbps"},
        {"dragonfly:9x4x2:1.5", "dragonfly:9x4x2:1.5: 1.5 is not a whole number between 1 and 65536"},
        {"dragonfly:10x4x2:2", "4 routers with 2 global cables each do not reach 9 other groups"},
        {"dragonfly:2x65536x1:65536", "would have 131072 workers"},
        {"dragonfly:2x300x1:65536", "links; the most is 4194304"},
        {"dragonfly+:2x2x2", "does not have the form dragonfly+:GxLxSxP[:H]"},
        {"dragonfly+:2x2x65536x1:65536", "links; the most is 4194304"},
        {"hyperx:4x4:0.5", "hyperx:4x4:0.5: 0.5 is not a whole number"},
        {"hyperx:2049", "hyperx:2049 would have 4200450 links"},
        {"hyperx:65536x65536:65536", "workers; the most is 65536"},
        {"slimfly:9", "slimfly:9: 9 is not an odd prime"},
        {"slimfly:2", "slimfly:2: 2 is not an odd prime"},
        {"slimfly:1", "slimfly:1: 1 is not an odd prime"},
        {"slimfly:191x1", "slimfly:191x1 would have 72962 workers"},
        {"kautz:4x4", "kautz:4x4: a worker has 4 links out, and only 3 others to reach"},
        {"kautz:65536x65", "kautz:65536x65 would have 4259840 links"},
        {"kautz:8", "does not have the form kautz:NxD"},
        {"hosts:3x2+2", "hosts:3x2+2: a list of 2 sizes for 3 hosts"},
        {"racks:3x2+2x4", "a list of 2 sizes for 3 racks"},
        {"racks:2x2x1+2+3", "a list of 3 sizes for 4 hosts"},
        {"ring:4,", "'' is not of the form option=value"},
        {"ring:4,gbps", "'gbps' is not of the form option=value"},
        {"ring:4,gbps=", "'gbps=' is not of the form option=value"},
        {"ring:4,gpbs=10", "ring has no option 'gpbs'; did you mean gbps?"},
        {"hosts:2+3,rack_gpbs=1", "hosts has no option 'rack_gpbs'"},
        {"ring:4,colour=red", "ring has no option 'colour'"},
        {"ring:4,local_gbps=10", "ring has no option local_gbps"},
        {"ring:4,reduce=1", "ring has no option reduce"},
        {"ring:4,gbps=0", "gbps: '0' is not a positive number"},
        {"ring:4,gbps=-1", "gbps: '-1' is not a positive number"},
        {"ring:4,gbps=nan", "gbps: 'nan' is not a positive number"},
        {"ring:4,gbps=inf", "gbps: 'inf' is not a positive number"},
        {"ring:4,gbps=1e400", "is not a positive number"},
        {"ring:4,gbps=10g", "gbps: '10g' is not a positive number"},
        {"ring:4,gbps=1,GBps=1", "GBps: gbps was given already"},
        {"ring:4,latency=1", "latency: '1' needs a unit: s, ms, us or ns"},
        {"ring:4,latency=1min", "latency: '1min' needs a unit"},
        {"ring:4,latency=us", "latency: 'us' is not a time such as 1us"},
        {"ring:4,latency=-1us", "latency: '-1us' is not a time"},
        {"switch:4,multicast=yes", "multicast: 'yes' is neither 0 nor 1"},
        {"hosts:2+3,down=h9", "down=h9: there is no node 'h9'; did you mean h0?"},
        {"hosts:2+3,down=h0-nett", "down=h0-nett: there is no node 'nett'; did you mean net?"},
        {"hosts:2+3,down=hh0-net", "down=hh0-net: there is no node 'hh0'; did you mean h0?"},
        {"hosts:2+3,down=g0->g99", "there is no node 'g99'"},
        {"hosts:2+3,down=g0-g1", "down=g0-g1: no link leads from g0 to g1"},
        {"hosts:2+3,down=", "'down=' is not of the form option=value"},
        {"hosts:2+3,degrade=h0", "degrade=h0: a factor is missing, as in 'degrade=h0:0.5'"},
        {"hosts:2+3,degrade=h0:2", "degrade=h0:2: the factor '2' is not above 0 and at most 1"},
        {"hosts:2+3,degrade=h0:0", "the factor '0' is not above 0 and at most 1"},
        {"hosts:2+3,degrade=h0:", "the factor '' is not above 0"},
        {"hosts:2+3,degrade=h0:nan", "the factor 'nan' is not above 0"},
        {"hosts:2+3,degrade=q-r:0.5", "there is no node 'q'"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        banyan_topology *topology = (banyan_topology *)&wrong;
        banyan_error err = {""};

        assert_int_equal(banyan_topology_generate(wrong[i].spec, &topology, &err), BANYAN_INVALID_ARGUMENT);
        assert_null(topology);
        CHECK_SAYS(err, wrong[i].words);
    }
}

TEST(a_link_or_node_can_be_down)
{
    banyan_topology *t = generate("hosts:2+3,down=h0-net,gbps=20,down=g4->h1");

    assert_int_equal(t->link_count, 14 - 2 - 1);
    assert_true(between(t, "h0", "net") == 0 && between(t, "net", "h0") == 0);
    assert_true(between(t, "g4", "h1") == 0 && between(t, "h1", "g4") == 100e9 / 8);
    assert_true(between(t, "h1", "net") == 2.5e9);
    banyan_topology_destroy(t);

    t = generate("torus:3x3,down=g4");
    assert_int_equal(t->node_count, 9);
    assert_int_equal(t->link_count, 36 - 8);
    assert_int_equal(degree(t, "g4"), 0);
    assert_int_equal(t->grid.dimension_count, 2);
    assert_int_equal(t->policy, BANYAN_ROUTES_GRID);
    banyan_topology_destroy(t);
}

TEST(a_link_or_node_can_be_slow_and_factors_multiply)
{
    banyan_topology *t = generate("hosts:2+3,degrade=h0:0.5,degrade=h0-net:0.5,degrade=h1->net:1,reduce=1");

    assert_true(between(t, "g0", "h0") == 0.5 * 100e9 / 8 && between(t, "h0", "net") == 0.25 * 10e9 / 8);
    assert_true(between(t, "h1", "net") == 10e9 / 8);
    assert_int_equal(t->nodes[0].host, 0);
    assert_true(t->nodes[7].can_reduce);
    assert_string_equal(banyan_topology_host_name(t, 1), "h1");
    banyan_topology_destroy(t);
}

TEST(names_with_dashes_and_colons_can_be_damaged)
{
    static const char text[] =
        "{\"format\":\"banyan-topology\",\"version\":1,\"name\":\"x\",\"nodes\":["
        "{\"name\":\"a-1\",\"kind\":\"worker\"},{\"name\":\"b-2:0\",\"kind\":\"worker\"}],\"links\":["
        "{\"src\":\"a-1\",\"dst\":\"b-2:0\",\"bytes_per_s\":8,\"latency_s\":0,\"both\":true}]}";
    banyan_topology *t, *damaged;
    banyan_error err = {""};

    assert_int_equal(banyan_topology_parse(text, strlen(text), &t, NULL), 0);
    assert_int_equal(banyan_topology_damage(t, "degrade=a-1-b-2:0:0.5,down=b-2:0->a-1", &damaged, NULL), 0);
    assert_string_equal(damaged->name, "x,degrade=a-1-b-2:0:0.5,down=b-2:0->a-1");
    assert_int_equal(damaged->link_count, 1);
    assert_true(damaged->links[0].bytes_per_s == 4);
    banyan_topology_destroy(damaged);
    assert_int_equal(banyan_topology_damage(t, "", &damaged, NULL), 0);
    assert_string_equal(damaged->name, "x");
    banyan_topology_destroy(damaged);
    assert_int_equal(banyan_topology_damage(t, "gbps=1", &damaged, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "'gbps=1' is neither down=..., degrade=... nor deal=rr");
    assert_null(damaged);
    banyan_topology_destroy(t);
}

static void save(const char *path, const char *text)
{
    assert_int_equal(banyan_file_save(path, text, strlen(text), NULL), 0);
}

static void check_load(const char *spec, int nodes, int links, const char *words)
{
    banyan_topology *t = NULL;
    banyan_error err = {""};

    if (!banyan_topology_load(spec, &t, &err)) {
        assert_null(words);
        assert_int_equal(t->node_count, nodes);
        assert_int_equal(t->link_count, links);
    } else {
        if (!words)
            fail_msg("%s: %s", spec, err.text);
        assert_null(t);
        CHECK_SAYS(err, words);
    }
    banyan_topology_destroy(t);
}

TEST(workers_can_be_dealt_to_hosts_in_turn)
{
    static const int hosts[] = {0, 1, 2, 0, 1, 2, 2};
    banyan_topology *topology;
    banyan_error err;

    assert_int_equal(banyan_topology_load("hosts:2+2+3,gbps=3,deal=rr", &topology, &err), BANYAN_SUCCESS);
    for (int i = 0; i < 7; i++) {
        const banyan_node *node = &topology->nodes[topology->workers[i]];
        int link = topology->out_link[topology->out_first[topology->workers[i]]];

        assert_int_equal(node->host, hosts[i]);
        assert_string_equal(banyan_topology_node_name(topology, topology->links[link].dst),
                            banyan_topology_host_name(topology, node->host));
    }
    assert_string_equal(banyan_topology_node_name(topology, topology->workers[1]), "g2");
    banyan_topology_destroy(topology);
    assert_int_equal(banyan_topology_load("hosts:2+2,deal=odd", &topology, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "deal=odd: only rr");
    assert_int_equal(banyan_topology_load("torus:2x2,deal=rr", &topology, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "is a grid");
}

TEST(loads_files_and_generators_by_one_name)
{
    char folder[] = "/tmp/banyan-generate-XXXXXX", here[4096];
    banyan_topology *t = generate("ring:3");
    char *json;

    assert_non_null(getcwd(here, sizeof here));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(banyan_topology_format(t, &json, NULL), 0);
    save("a.json", json);
    save("with,comma", json);
    save("ring:8", json);
    save("matrix.csv", "0,10\n10,0\n");
    save("empty.json", "");
    save("bad.json", "  {\"format\":3}");
    check_load("a.json", 3, 6, NULL);
    check_load("./a.json,down=g0-g1", 3, 4, NULL);
    check_load("with,comma,down=g0", 3, 2, NULL);
    check_load("ring:8", 3, 6, NULL);
    check_load("ring:8,down=g0", 3, 2, NULL);
    check_load("ring:5,gbps=1", 5, 10, NULL);
    check_load("matrix.csv", 2, 2, NULL);
    check_load("a.json,gbps=3", 0, 0, "'gbps=3' is neither down=..., degrade=... nor deal=rr");
    check_load("b.json", 0, 0, "b.json: No such file or directory");
    check_load("x/y,down=g0", 0, 0, "x/y: No such file or directory");
    check_load("empty.json", 0, 0, "empty.json: ");
    check_load("bad.json", 0, 0, "bad.json: ");
    check_load("torsu:3", 0, 0, "did you mean torus");
    for (int calls = 0, done = 0; !done; calls++) {
        banyan_topology *loaded = NULL;

        banyan_alloc_fail_after(calls);
        done = !banyan_topology_load("a.json,down=g0-g1", &loaded, NULL);
        banyan_alloc_fail_after(-1);
        banyan_topology_destroy(loaded);
    }
    unlink("a.json"), unlink("with,comma"), unlink("ring:8"), unlink("matrix.csv"), unlink("empty.json");
    unlink("bad.json");
    assert_int_equal(chdir(here), 0);
    rmdir(folder);
    banyan_free(json);
    banyan_topology_destroy(t);
}

TEST(survives_the_failure_of_each_allocation)
{
    static const char *const specs[] = {"torus:2x3,down=g0-g1",
                                        "hosts:2+3,degrade=h0:0.5,gbps=1",
                                        "dgx1",
                                        "abci:130",
                                        "dragonfly:3x2x1",
                                        "spark:3",
                                        "slimfly:3x1",
                                        "hosts:2+3,down=h7"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (int calls = 0;; calls++) {
            banyan_topology *topology = NULL;
            banyan_status status;

            banyan_alloc_fail_after(calls);
            status = banyan_topology_generate(specs[i], &topology, NULL);
            banyan_alloc_fail_after(-1);
            assert_true(!status == !!topology);
            banyan_topology_destroy(topology);
            if (status != BANYAN_SYSTEM_ERROR && (i < 7 || calls > 200))
                break;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_generator_has_the_nodes_links_and_capacities_of_its_drawing),
        cmocka_unit_test(every_generator_of_the_list_is_in_the_table_of_this_test),
        cmocka_unit_test(workers_come_first_are_named_in_order_and_every_link_of_a_cable_has_its_way_back),
        cmocka_unit_test(grids_and_trees_know_how_to_route),
        cmocka_unit_test(machines_have_the_published_speeds),
        cmocka_unit_test(low_diameter_networks_have_the_diameters_of_their_papers),
        cmocka_unit_test(every_pair_of_groups_of_a_dragonfly_has_as_many_global_cables),
        cmocka_unit_test(gpus_of_one_place_share_a_rail),
        cmocka_unit_test(cables_between_cubes_and_round_the_torus_are_optical),
        cmocka_unit_test(a_spark_forwards_nothing_past_its_worker),
        cmocka_unit_test(a_leaf_has_its_share_of_the_spines_also_where_that_does_not_divide),
        cmocka_unit_test(options_set_speeds_latencies_and_abilities),
        cmocka_unit_test(a_string_that_is_wrong_gets_a_sentence_that_says_where),
        cmocka_unit_test(a_link_or_node_can_be_down),
        cmocka_unit_test(a_link_or_node_can_be_slow_and_factors_multiply),
        cmocka_unit_test(names_with_dashes_and_colons_can_be_damaged),
        cmocka_unit_test(workers_can_be_dealt_to_hosts_in_turn),
        cmocka_unit_test(loads_files_and_generators_by_one_name),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
