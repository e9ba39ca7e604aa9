/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/bound_same.c: what must not change a bound, on networks too large for a reference: the order of
 * nodes and links, the unit, all links turned round, a link as two side by side, a dead end. And what trees
 * reach, one cable more does not forbid. 60 networks, or 1,500 with BANYAN_TEST_ALL. */
#include "test.h"

#include <math.h>

#include "bound/bound.h"
#include "core/alloc.h"
#include "core/random.h"
#include "topology/build.h"

enum { MOST_NODES = 48, MOST_LINKS = 640 };

typedef struct {
    int workers, nodes, links;
    int src[MOST_LINKS], dst[MOST_LINKS];
    double width[MOST_LINKS];
    int copies, adds; /* the switches */
    unsigned char active[MOST_NODES];
    banyan_relays relays;
} network;

static int pick(banyan_random *random, int limit)
{
    return banyan_random_below(random, limit);
}

static void add_cable(network *net, int a, int b, double width, double back)
{
    assert_true(net->links + 2 <= MOST_LINKS);
    net->src[net->links] = net->dst[net->links + 1] = a;
    net->dst[net->links] = net->src[net->links + 1] = b;
    net->width[net->links++] = width;
    net->width[net->links++] = back;
}

static void add_pair(banyan_random *random, network *net, int kind, int a, int b)
{
    static const double some[] = {1e9, 2e9, 5e9};
    double width = kind % 3 == 0   ? 1e9
                   : kind % 3 == 1 ? some[pick(random, 3)]
                                   : 1e9 + 9e9 * banyan_random_unit(random);

    add_cable(net, a, b, width, kind >= 6 && pick(random, 3) == 0 ? width / 2 : width);
}

/* A mesh, halves joined completely, workers behind switches in two layers, or by chance. */
static void make_network(uint64_t seed, network *net)
{
    banyan_random random = {seed};
    int shape = pick(&random, 4), kind = pick(&random, 9), able = pick(&random, 4),
        columns = 3 + pick(&random, 4), layers = 2 + pick(&random, 6);

    memset(net, 0, sizeof *net);
    net->workers = net->nodes = shape == 1 ? 8 + pick(&random, 9) : 12 + pick(&random, 13);
    net->copies = able & 1;
    net->adds = able >> 1;
    net->relays = (banyan_relays)pick(&random, 3);
    for (int v = 0; v < net->workers; v++)
        if (shape == 0) {
            if (v % columns)
                add_pair(&random, net, kind, v, v - 1);
            if (v >= columns)
                add_pair(&random, net, kind, v, v - columns);
        } else if (shape == 1) {
            for (int w = v % 2 ? 0 : 1; w < v; w += 2)
                add_pair(&random, net, kind, v, w);
        } else if (shape == 2) {
            add_pair(&random, net, kind, v, net->workers + v % layers);
        } else if (v) {
            add_pair(&random, net, kind, v, pick(&random, v));
            add_pair(&random, net, kind, v, pick(&random, v));
        }
    if (shape == 2) {
        net->nodes += layers + 2;
        for (int i = 0; i < layers; i++)
            for (int core = 1; core <= 2; core++)
                add_pair(&random, net, kind, net->workers + i, net->nodes - core);
    }
    for (int v = 0; v < net->workers; v++)
        net->active[v] = v < 2 || pick(&random, 3) != 0;
}

/* Node v has the number place[v]; all links turned round where that is wanted. */
static banyan_topology *build(const network *net, const int *place, int turned)
{
    banyan_topology_builder builder;
    banyan_topology *topology;

    banyan_topology_builder_init(&builder, "same");
    for (int i = 0; i < net->nodes; i++) {
        int v = 0;

        while (place[v] != i)
            v++;
        if (v < net->workers) {
            banyan_topology_add_worker_f(&builder, -1, "g%d", v);
        } else {
            banyan_topology_add_switch_f(&builder, "s%d", v);
            banyan_topology_set_abilities(&builder, i, turned ? net->adds : net->copies,
                                          turned ? net->copies : net->adds);
        }
    }
    for (int i = 0; i < net->links; i++)
        banyan_topology_add_link(&builder, place[turned ? net->dst[i] : net->src[i]],
                                 place[turned ? net->src[i] : net->dst[i]], net->width[i], 0);
    assert_int_equal(banyan_topology_builder_finish(&builder, &topology, NULL), BANYAN_SUCCESS);
    return topology;
}

/* The all-reduce rate, proven, and what trees that were found on the way reach; 0: the workers are not
 * connected without idle ones. */
static double find_rates(uint64_t seed, const char *what, const network *net, const int *place, int turned,
                         double *reached)
{
    banyan_topology *topology = build(net, place, turned);
    int active[MOST_NODES], count = 0;
    banyan_bound bound;
    banyan_error err;
    double rate = 0;

    for (int i = 0; i < net->nodes; i++)
        for (int v = 0; v < net->workers; v++)
            if (place[v] == i && net->active[v])
                active[count++] = i;
    if (banyan_bound_find(topology, active, count, net->relays, &bound, &err)) {
        CHECK_SAYS(err, "no path between");
    } else {
        if (banyan_bound_check_certificate(topology, active, count, &bound, &err))
            fail_msg("seed %llu, %s: %s", (unsigned long long)seed, what, err.text);
        rate = bound.allreduce.bytes_per_s;
        *reached = bound.reached_bytes_per_s;
        banyan_bound_fini(&bound);
    }
    banyan_topology_destroy(topology);
    return rate;
}

static double find_rate(uint64_t seed, const char *what, const network *net, const int *place, int turned)
{
    double reached;

    return find_rates(seed, what, net, place, turned, &reached);
}

static void check_same(uint64_t seed, const char *what, double rate, double wanted)
{
    if (!(fabs(rate - wanted) <= 1e-6 * wanted))
        fail_msg("seed %llu: %s the bound is %.12g, not %.12g", (unsigned long long)seed, what, rate, wanted);
}

static void shuffle(banyan_random *random, int *place, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int j = pick(random, i + 1), kept = place[i];

        place[i] = place[j];
        place[j] = kept;
    }
}

static void check_network(uint64_t seed)
{
    static network net, other;
    banyan_random random = {seed + 1000000};
    int place[MOST_NODES], moved[MOST_NODES], link;
    double rate, reached = 0;

    make_network(seed, &net);
    for (int v = 0; v < MOST_NODES; v++)
        place[v] = moved[v] = v;
    rate = find_rates(seed, "as it is", &net, place, 0, &reached);
    shuffle(&random, moved, net.nodes);
    check_same(seed, "in another order", find_rate(seed, "in another order", &net, moved, 0), rate);
    check_same(seed, "turned round", find_rate(seed, "turned round", &net, place, 1), rate);
    other = net;
    for (int i = 0; i < other.links; i++)
        other.width[i] *= 3.7e-4;
    check_same(seed, "in other units", find_rate(seed, "in other units", &other, place, 0), 3.7e-4 * rate);
    other = net;
    link = pick(&random, net.links);
    other.src[other.links] = net.src[link], other.dst[other.links] = net.dst[link];
    other.width[link] = 0.3 * net.width[link], other.width[other.links++] = 0.7 * net.width[link];
    check_same(seed, "with a link in two", find_rate(seed, "with a link in two", &other, place, 0), rate);
    other = net;
    add_cable(&other, pick(&random, net.nodes), net.nodes, 2e9, 1e9);
    other.nodes++;
    if (!net.copies && !net.adds)
        check_same(seed, "with a dead end", find_rate(seed, "with a dead end", &other, place, 0), rate);
    other = net;
    add_cable(&other, 0, 1 + pick(&random, net.nodes - 1), 1e9, 1e9);
    if (!(find_rate(seed, "with one cable more", &other, place, 0) >= reached * (1 - 1e-6)))
        fail_msg("seed %llu: one cable more lowers the bound", (unsigned long long)seed);
}

TEST(a_bound_depends_on_nothing_but_the_network)
{
    uint64_t count = getenv("BANYAN_TEST_ALL") ? 1500 : 60;

    for (uint64_t seed = 0; seed < count; seed++)
        check_network(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_depends_on_nothing_but_the_network),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
