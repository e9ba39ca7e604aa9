/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/helped.c: idle nodes that help where links are unlike in the two directions: cuts and trees that
 * meet prove each other, idle nodes that are alike are one, few pairs of trees carry nearly everything; and
 * whole networks, planned. */
#include "test.h"

#include <math.h>

#include "algorithms/algorithms.h"
#include "bound/allreduce.h"
#include "bound/bound.h"
#include "core/alloc.h"
#include "core/random.h"
#include "simulate/simulate.h"
#include "solve/cut/split.h"
#include "solve/pack/pair_columns.h"
#include "solve/presolve/contract_wide.h"
#include "solve/presolve/contraction.h"
#include "solve/presolve/merge_twins.h"
#include "solve/start/star_pairs.h"
#include "topology/build.h"
#include "verify/verify.h"

#define NODES 10
#define MOST 96

static const banyan_pair_packing_problem exactly = {
    .stages = BANYAN_STAGES_PIPELINED, .tolerance = 1e-9, .round_limit = 1000};

/* A ring both ways and chords, all of unlike widths; the last nodes add, copy, do both, or neither. */
static banyan_graph *random_helped(banyan_random *random, int nodes, int idle)
{
    int src[MOST], dst[MOST], count = 0;
    unsigned char role[NODES];
    double capacity[MOST];
    banyan_graph_input input = {nodes, role, 0, src, dst, capacity, NULL};
    banyan_graph *graph;

    for (int v = 0; v < nodes; v++)
        role[v] = (unsigned char)(v < nodes - idle ? BANYAN_NODE_ACTIVE : 2 * (3 - (v + nodes) % 4));
    for (int i = 0; i < 3 * nodes; i++) {
        src[count] = i < 2 * nodes ? i / 2 : banyan_random_below(random, nodes);
        dst[count] = i < 2 * nodes ? (i / 2 + (i % 2 ? 1 : 3)) % nodes : banyan_random_below(random, nodes);
        capacity[count] = 1 + banyan_random_below(random, 6);
        count += src[count] != dst[count];
    }
    for (int v = 0; v < nodes; v++) {
        src[count] = (v + 1) % nodes;
        dst[count] = v;
        capacity[count++] = 1 + banyan_random_below(random, 6);
    }
    input.arc_count = count;
    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    return graph;
}

/* Two independent ways to the best rate: the bound, and trees one by one from nothing. */
TEST(cuts_and_trees_agree_where_idle_nodes_help)
{
    for (int seed = 1; seed <= 24; seed++) {
        banyan_random random = {(uint64_t)seed};
        banyan_graph *graph = random_helped(&random, NODES, 2 + seed % 5);
        banyan_allreduce_bound bound = {.price = banyan_alloc((size_t)graph->arc_count, sizeof(int64_t))};
        banyan_pair_packing plain;

        assert_int_equal(banyan_allreduce_solve(graph, &bound, NULL), BANYAN_SUCCESS);
        assert_int_equal(banyan_pair_packing_by_columns(graph, &exactly, NULL, &plain, NULL), BANYAN_SUCCESS);
        if (fabs(bound.value - plain.total) > 1e-6 * plain.total)
            fail_msg("seed %d: the bound is %.9g, trees weigh %.9g", seed, bound.value, plain.total);
        banyan_free(bound.price);
        banyan_pair_packing_fini(&plain);
        banyan_graph_destroy(graph);
    }
}

/* What cuts prove under given prices holds for the cheapest trees, and is what the prices were made for. */
TEST(cuts_prove_the_bound_from_its_prices_alone)
{
    for (int seed = 1; seed <= 20; seed++) {
        banyan_random random = {(uint64_t)seed * 77};
        banyan_graph *graph = random_helped(&random, NODES, 2 + seed % 4);
        banyan_split division;
        banyan_wide worth = 0, by_cuts, by_trees, value;
        int proven;

        assert_int_equal(banyan_split_find(graph, 1e-10, &division, NULL), BANYAN_SUCCESS);
        for (int i = 0; i < graph->arc_count; i++)
            worth += (banyan_wide)graph->arcs[i].capacity * division.price[i];
        assert_int_equal(banyan_split_find_check(graph, division.price, 0, &by_cuts, NULL), BANYAN_SUCCESS);
        assert_int_equal(banyan_pair_prices_check(graph, division.price, &value, &by_trees, &proven, NULL),
                         BANYAN_SUCCESS);
        assert_true(proven);
        if ((double)worth / (double)by_cuts > division.bound_value * (1 + 1e-8) ||
            (double)by_cuts > (double)by_trees * (1 + 1e-8))
            fail_msg("seed %d: bound %.12g, by cuts %.12g, by trees %.12g", seed, division.bound_value,
                     (double)worth / (double)by_cuts, (double)worth / (double)by_trees);
        banyan_split_fini(&division);
        banyan_graph_destroy(graph);
    }
}

/* Node 3 forwards between three active ones and three idle ones: two of these are alike but for a factor, the
 * third is not. */
TEST(idle_nodes_that_are_alike_are_one)
{
    static const unsigned char role[] = {1, 1, 1, 0, 6, 6, 6};
    static const double up[] = {1, 1, 1, 0, 2, 6, 2}, down[] = {2, 2, 2, 0, 4, 12, 2};
    int src[12], dst[12], count = 0;
    double capacity[12];
    banyan_graph_input input = {7, role, 12, src, dst, capacity, NULL};
    banyan_graph *graph;
    banyan_twins twins;

    for (int v = 0; v < 7; v++) {
        if (v == 3)
            continue;
        src[count] = v, dst[count] = 3, capacity[count++] = up[v];
        src[count] = 3, dst[count] = v, capacity[count++] = down[v];
    }
    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_twins_merge(graph, NULL, &twins, NULL), BANYAN_SUCCESS);
    assert_non_null(twins.graph);
    assert_int_equal(twins.graph->arc_count, 10);
    assert_int_equal(twins.node[5], 4);
    assert_int_equal(twins.node[6], 6);
    assert_int_equal(twins.graph->arcs[twins.arc[8]].capacity, 8);
    assert_true(twins.arc[6] == twins.arc[8] && fabs(twins.share[5] - 0.75) < 1e-12);
    banyan_twins_fini(&twins);
    {
        int64_t price[12] = {0};

        price[8] = 1; /* only one of the two is dear: they are not alike any more */
        assert_int_equal(banyan_twins_merge(graph, price, &twins, NULL), BANYAN_SUCCESS);
        assert_null(twins.graph);
        banyan_twins_fini(&twins);
    }
    banyan_graph_destroy(graph);
}

TEST(each_allocation_may_fail)
{
    banyan_random random = {3};
    banyan_graph *graph = random_helped(&random, 7, 3);
    banyan_status status = BANYAN_INTERNAL_ERROR;
    banyan_split division;
    banyan_pair_packing packing;
    banyan_wide cost;

    for (long calls = 0; status; calls++) {
        banyan_alloc_fail_after(calls);
        status = banyan_pair_packing_by_columns(graph, &exactly, NULL, &packing, NULL);
        banyan_alloc_fail_after(-1);
    }
    banyan_pair_packing_fini(&packing);
    assert_int_equal(banyan_split_find(graph, 1e-9, &division, NULL), BANYAN_SUCCESS);
    status = BANYAN_INTERNAL_ERROR;
    for (long calls = 0; status; calls++) {
        banyan_alloc_fail_after(calls);
        status = banyan_split_find_check(graph, division.price, 0, &cost, NULL);
        banyan_alloc_fail_after(-1);
    }
    banyan_split_fini(&division);
    banyan_graph_destroy(graph);
}

/* Plans the first workers, so many, of a network; the share of the bound, whose certificate is checked. */
static double share_of(const banyan_topology *topology, const int *active, int active_count,
                       double *bytes_per_s)
{
    banyan_problem problem = {.topology = topology,
                              .active = active,
                              .active_count = active_count,
                              .collective = BANYAN_COLLECTIVE_ALLREDUCE};
    banyan_schedule *schedule = NULL;
    banyan_verdict verdict;
    banyan_limits limits;
    banyan_bound bound;
    banyan_error err;
    double share;

    if (banyan_bound_find(topology, active, active_count, BANYAN_RELAYS_ADD, &bound, &err) ||
        banyan_bound_check_certificate(topology, active, active_count, &bound, &err) ||
        banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, &err) ||
        banyan_verify(schedule, topology, &verdict, &err) || banyan_verdict_status(&verdict, &err) ||
        banyan_bandwidth_limit(schedule, topology, &limits, &err))
        fail_msg("%s: %s", topology->name, err.text);
    assert_true(schedule->flow_count <= 64);
    share = limits.bytes_per_s / bound.allreduce.bytes_per_s;
    *bytes_per_s = bound.allreduce.bytes_per_s;
    assert_true(share <= 1 + 1e-6);
    banyan_schedule_destroy(schedule);
    banyan_bound_fini(&bound);
    return share;
}

static double share_of_spec(const char *spec, int active_count, double *bytes_per_s)
{
    banyan_topology *topology;
    banyan_error err;
    double share;

    if (banyan_topology_load(spec, &topology, &err))
        fail_msg("%s: %s", spec, err.text);
    share = share_of(topology, topology->workers, active_count, bytes_per_s);
    banyan_topology_destroy(topology);
    return share;
}

TEST(idle_workers_behind_switches_with_unlike_links_are_made_use_of)
{
    static const struct {
        const char *spec;
        int active;
    } networks[] = {{"switch:16,degrade=g0->s0:0.5", 12},   {"switch:32,degrade=g30->s0:0.5", 24},
                    {"fattree:4x4,degrade=g0->l0:0.5", 12}, {"dgxa100:2,degrade=g0->ib:0.5", 13},
                    {"torus:4x4,degrade=g0->g1:0.5", 11},   {"dgx1,degrade=g0->g1:0.5", 5}};

    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        double rate, share = share_of_spec(networks[i].spec, networks[i].active, &rate);

        if (share < 0.99)
            fail_msg("%s with %d active: %g of the bound", networks[i].spec, networks[i].active, share);
    }
}

/* Hosts in racks, cables at half width by chance, one host idle: its workers' cables are so wide that the
 * host is one node. The rate is that of the network of eight workers in place of the hosts, all of whose
 * trees can be searched: 3/7 of a whole cable. */
TEST(hosts_behind_narrow_cables_are_one_worker_each)
{
    static const int active[] = {0, 3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 18, 22, 28, 30};
    banyan_topology *topology;
    banyan_error err;
    double rate, share;

    if (banyan_topology_load(
            "racks:2x4x4,degrade=h1-r0:0.5,degrade=h4-r1:0.5,degrade=h5-r1:0.5,degrade=h6->r1:0.5,"
            "degrade=h7-r1:0.5,degrade=r1->net:0.5",
            &topology, &err))
        fail_msg("%s", err.text);
    share = share_of(topology, active, sizeof active / sizeof *active, &rate);
    assert_true(fabs(rate / (1.25e9 * 3 / 7) - 1) < 1e-6);
    assert_true(share > 0.999);
    banyan_topology_destroy(topology);
}

/* Wide: more than twice what leaves the part that they join. */
TEST(wide_cables_are_those_that_bear_everything)
{
    static const struct {
        const char *spec;
        int active, nodes; /* after joining; 0: nothing is joined */
    } networks[] = {{"hosts:4x8", 32, 5},    {"hosts:4x8,degrade=g0->h0:0.5", 27, 5},
                    {"racks:2x4x4", 20, 11}, {"racks:2x4x4,degrade=r1-net:0.5", 20, 10},
                    {"switch:16", 12, 0},    {"fattree:4x4:4", 16, 0},
                    {"torus:4x4", 11, 0}};

    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        banyan_topology *topology;
        banyan_graph *graph;
        banyan_contraction joined;
        double limit, most;
        int together = 0;

        assert_int_equal(banyan_topology_load(networks[i].spec, &topology, NULL), BANYAN_SUCCESS);
        assert_int_equal(banyan_network_graph(topology, topology->workers, networks[i].active,
                                              BANYAN_RELAYS_ADD, &graph, NULL),
                         BANYAN_SUCCESS);
        assert_int_equal(banyan_contract_wide(graph, 1, &together, &limit, &most, &joined, NULL),
                         BANYAN_SUCCESS);
        if ((joined.graph ? joined.graph->node_count : 0) != networks[i].nodes)
            fail_msg("%s: %d nodes", networks[i].spec, joined.graph ? joined.graph->node_count : 0);
        banyan_contraction_fini(&joined);
        for (int n = 0;; n++) {
            banyan_status status;

            banyan_alloc_fail_after(n);
            status = banyan_contract_wide(graph, 1, &together, &limit, &most, &joined, NULL);
            banyan_alloc_fail_after(-1);
            if (!status)
                break;
            assert_int_equal(status, BANYAN_SYSTEM_ERROR);
            assert_in_range(n, 0, 100);
        }
        banyan_contraction_fini(&joined);
        banyan_graph_destroy(graph);
        banyan_topology_destroy(topology);
    }
}

/* A tree is a star at an active worker, n - 1 ways, or at an idle one, n: the idle workers' cables are worth
 * n - 2 parts in n of the others'. */
TEST(the_bound_of_a_switch_with_idle_workers_is_that_of_its_stars)
{
    static const int all[] = {16, 64, 256}, active[] = {12, 50, 200};

    for (int i = 0; i < 3; i++) {
        banyan_topology *topology;
        banyan_rate rate;
        banyan_error err;
        char spec[32];
        double n = active[i], idle = all[i] - active[i], reached;

        snprintf(spec, sizeof spec, "switch:%d", all[i]);
        assert_int_equal(banyan_topology_load(spec, &topology, &err), BANYAN_SUCCESS);
        assert_int_equal(banyan_bound_allreduce(topology, topology->workers, active[i], BANYAN_RELAYS_ADD,
                                                &rate, &reached, &err),
                         BANYAN_SUCCESS);
        assert_true(fabs(rate.bytes_per_s / topology->links[0].bytes_per_s -
                         (n + idle * (n - 2) / n) / (2 * (n - 1))) < 1e-6);
        banyan_rate_fini(&rate);
        banyan_topology_destroy(topology);
    }
}

/* Cables inside machines are wide, so that machines are the workers of a smaller network: n with active
 * workers in them, whose own cables count whole, and idle ones as above. */
TEST(idle_machines_help_as_idle_workers_do)
{
    static const struct {
        const char *spec;
        int active, machines, idle_machines;
        double machine_bytes_per_s;
    } networks[] = {
        {"hosts:16x8", 98, 13, 3, 1.25e9}, {"dgxa100:16", 104, 13, 3, 200e9}, {"abci:128", 100, 25, 7, 25e9}};

    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        double rate, share = share_of_spec(networks[i].spec, networks[i].active, &rate);
        double n = networks[i].machines, idle = networks[i].idle_machines;
        double wanted = networks[i].machine_bytes_per_s * (n + idle * (n - 2) / n) / (2 * (n - 1));

        if (share < 0.99 || fabs(rate - wanted) > 1e-6 * wanted)
            fail_msg("%s with %d active: %g of the bound %.9g, which should be %.9g", networks[i].spec,
                     networks[i].active, share, rate, wanted);
    }
}

/* Of six nodes that are all cabled three are idle: each is the middle of a star, which leaves the triangle of
 * the active ones. The cables between idle nodes are of no use to it. */
TEST(what_stars_leave_has_active_nodes_alone)
{
    static const unsigned char role[] = {1, 6, 1, 6, 6, 1};
    int src[30], dst[30];
    double capacity[30];
    banyan_graph_input input = {6, role, 0, src, dst, capacity, NULL};
    banyan_graph *graph;
    banyan_star_pairs stars;

    for (int u = 0; u < 6; u++)
        for (int v = 0; v < 6; v++)
            if (u != v)
                src[input.arc_count] = u, dst[input.arc_count] = v, capacity[input.arc_count++] = 1;
    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_star_pairs_find(graph, 64, &stars, NULL), BANYAN_SUCCESS);
    assert_int_equal(stars.trees.tree_count, 6);
    assert_true(fabs(stars.total * graph->unit - 3) < 1e-9);
    assert_int_equal(stars.rest.graph->arc_count, 6);
    assert_true(banyan_graph_all_active(stars.rest.graph));
    banyan_star_pairs_fini(&stars);
    banyan_graph_destroy(graph);
}

/* One worker of each host is active, the other idle. Not every allocation in turn: there are very many. */
TEST(memory_may_run_out_while_trees_are_laid_into_hosts)
{
    banyan_topology *topology;
    banyan_status status = BANYAN_SYSTEM_ERROR;
    banyan_error err;
    int active[11];
    banyan_problem problem = {
        .active = active, .active_count = 11, .collective = BANYAN_COLLECTIVE_ALLREDUCE};

    assert_int_equal(banyan_topology_load("hosts:11x2", &topology, &err), BANYAN_SUCCESS);
    problem.topology = topology;
    for (int i = 0; i < 11; i++)
        active[i] = topology->workers[2 * i];
    for (long calls = 0; status; calls += 1 + calls / 40) {
        banyan_schedule *schedule = NULL;

        banyan_alloc_fail_after(calls);
        status = banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, &schedule, NULL);
        banyan_alloc_fail_after(-1);
        banyan_schedule_destroy(schedule);
    }
    banyan_topology_destroy(topology);
}

/* Contracted over cables without a price: hosts, and the switch between them. */
TEST(nodes_that_free_cables_join_are_one)
{
    banyan_topology *topology;
    banyan_graph *graph;
    banyan_contraction joined;
    banyan_error err;
    int64_t price[64] = {0};

    assert_int_equal(banyan_topology_load("hosts:2+3+1,gbps=10", &topology, &err), BANYAN_SUCCESS);
    assert_int_equal(banyan_network_graph(topology, topology->workers, 5, BANYAN_RELAYS_ADD, &graph, &err),
                     BANYAN_SUCCESS);
    for (int i = 0; i < graph->arc_count; i++)
        price[i] = graph->role[graph->arcs[i].src] == 0 && graph->role[graph->arcs[i].dst] == 0;
    assert_int_equal(banyan_contract(graph, price, 1, &joined, &err), BANYAN_SUCCESS);
    assert_int_equal(joined.graph->active_count, 2);
    assert_int_equal(joined.graph->arc_count, 6);
    assert_true(joined.graph->symmetric);
    for (int i = 0; i < graph->arc_count; i++)
        assert_int_equal(joined.arc[i] >= 0, price[i]);
    assert_int_equal(joined.part[topology->workers[2]], joined.part[topology->workers[4]]);
    assert_int_not_equal(joined.part[topology->workers[1]], joined.part[topology->workers[2]]);
    banyan_contraction_fini(&joined);
    banyan_graph_destroy(graph);
    banyan_topology_destroy(topology);
}

/* Few idle workers among many are no reason to search for the cheapest trees. */
TEST(tori_with_few_idle_workers_are_filled)
{
    static const int active[] = {56, 61};

    for (int i = 0; i < 2; i++) {
        double rate, share = share_of_spec("torus:4x4x4", active[i], &rate);

        if (share < 0.99)
            fail_msg("torus:4x4x4 with %d active: %g of the bound", active[i], share);
    }
}

/* Workers on a ring with two switches that only add or only copy. */
TEST(switches_that_only_add_or_only_copy_cost_nothing)
{
    banyan_topology_builder builder;
    banyan_topology *topology;
    banyan_error err;
    double rate;

    banyan_topology_builder_init(&builder, "ring");
    for (int v = 0; v < 24; v++)
        banyan_topology_add_worker_f(&builder, -1, "w%d", v);
    for (int s = 0; s < 2; s++) {
        banyan_topology_add_switch_f(&builder, "s%d", s);
        banyan_topology_set_abilities(&builder, 24 + s, s == 0, s == 1);
    }
    for (int v = 0; v < 24; v++) {
        banyan_topology_add_cable(&builder, v, (v + 1) % 24, 2, 0);
        banyan_topology_add_cable(&builder, v, 24 + v % 2, 1 + v % 3, 0);
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &topology, &err), BANYAN_SUCCESS);
    assert_true(share_of(topology, topology->workers, 22, &rate) >= 0.99);
    banyan_topology_destroy(topology);
}

/* Two active workers of many behind switches: divisions that end when the bound stands still. */
TEST(few_active_workers_of_a_large_random_network_reach_the_bound)
{
    for (int seed = 1; seed <= 4; seed++) {
        banyan_random random = {(uint64_t)seed * 4099};
        banyan_topology_builder builder;
        banyan_topology *topology;
        banyan_error err;
        double rate, share;

        banyan_topology_builder_init(&builder, "random");
        for (int v = 0; v < 30; v++)
            banyan_topology_add_worker_f(&builder, -1, "w%d", v);
        for (int s = 0; s < 6; s++)
            banyan_topology_add_switch_f(&builder, "s%d", s);
        for (int v = 1; v < 100; v++) {
            int a = v < 36 ? v : banyan_random_below(&random, 36),
                b = v < 36 ? banyan_random_below(&random, v) : banyan_random_below(&random, 36);

            if (a == b)
                continue;
            banyan_topology_add_link(&builder, a, b, 1 + banyan_random_below(&random, 6), 0);
            banyan_topology_add_link(&builder, b, a, 1 + banyan_random_below(&random, 6), 0);
        }
        assert_int_equal(banyan_topology_builder_finish(&builder, &topology, &err), BANYAN_SUCCESS);
        share = share_of(topology, topology->workers, 1 + seed, &rate);
        if (share < 0.99)
            fail_msg("seed %d: %g of the bound", seed, share);
        banyan_topology_destroy(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_and_trees_agree_where_idle_nodes_help),
        cmocka_unit_test(cuts_prove_the_bound_from_its_prices_alone),
        cmocka_unit_test(idle_nodes_that_are_alike_are_one),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(idle_workers_behind_switches_with_unlike_links_are_made_use_of),
        cmocka_unit_test(the_bound_of_a_switch_with_idle_workers_is_that_of_its_stars),
        cmocka_unit_test(idle_machines_help_as_idle_workers_do),
        cmocka_unit_test(what_stars_leave_has_active_nodes_alone),
        cmocka_unit_test(memory_may_run_out_while_trees_are_laid_into_hosts),
        cmocka_unit_test(nodes_that_free_cables_join_are_one),
        cmocka_unit_test(hosts_behind_narrow_cables_are_one_worker_each),
        cmocka_unit_test(wide_cables_are_those_that_bear_everything),
        cmocka_unit_test(tori_with_few_idle_workers_are_filled),
        cmocka_unit_test(switches_that_only_add_or_only_copy_cost_nothing),
        cmocka_unit_test(few_active_workers_of_a_large_random_network_reach_the_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
