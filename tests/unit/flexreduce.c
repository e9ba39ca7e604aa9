/* SPDX-License-Identifier: Apache-2.0 */
/* FlexReduce: exact plans of the reference cases, the paper's counts of calls, random trees, and where the
 * tree comes from. */
#include <math.h>

#include "algorithms/hierarchy_cost.h"
#include "core/alloc.h"
#include "core/file.h"
#include "core/json.h"
#include "core/random.h"
#include "core/text.h"
#include "meaning.h"
#include "networks.h"
#include "simulate/simulate.h"
#include "unit/test.h"
#include "verify/verify.h"

/* A call as the schedule shows it: who sends which part of the vector to whom. */
typedef struct {
    int first_round, last_round, owner;
    int64_t begin, end;
    int holder_count, holders[64];
} shown_call;

static banyan_schedule *plan_shares(const network *net, const char *calls, const char *shares,
                                    const char *tree)
{
    banyan_parameter parameters[] = {{"calls", calls}, {"shares", shares}, {"tree", tree}};
    banyan_problem problem = make_problem(net, BANYAN_COLLECTIVE_ALLREDUCE);

    problem.parameters = parameters;
    problem.parameter_count = tree ? 3 : 2;
    return build("flexreduce", &problem);
}

static banyan_schedule *plan_with(const network *net, const char *calls, const char *tree)
{
    return plan_shares(net, calls, "auto", tree);
}

/* As in the paper. */
static banyan_schedule *plan(const network *net, const char *tree)
{
    return plan_shares(net, "auto", "degree", tree);
}

static int rank_of(const banyan_schedule *schedule, int node)
{
    int rank = 0;

    while (schedule->active[rank] != node)
        rank++;
    return rank;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Transfers to the same rank with the same part are one call, unless a round between them has none of that
 * rank's: then they are of different levels. The owner itself holds its part unless a transfer overwrites
 * it. */
static int find_calls(const banyan_schedule *schedule, shown_call *calls)
{
    int count = 0;

    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        int64_t begin = schedule->cut[t->first_piece], end = schedule->cut[t->first_piece + t->piece_count];
        int owner = rank_of(schedule, t->dst), found = 0;

        if (t->flow != owner)
            break; /* the way back */
        while (found < count && (calls[found].owner != owner || calls[found].begin != begin ||
                                 calls[found].end != end || calls[found].last_round < t->round - 1))
            found++;
        if (found == count) {
            assert_true(count < 400);
            calls[count++] = (shown_call){t->round, t->round, owner, begin, end, 0, {0}};
            if (t->action == BANYAN_ACTION_REDUCE)
                calls[found].holders[calls[found].holder_count++] = owner;
        }
        calls[found].last_round = t->round;
        calls[found].holders[calls[found].holder_count++] = rank_of(schedule, t->src);
    }
    for (int i = 0; i < count; i++)
        qsort(calls[i].holders, (size_t)calls[i].holder_count, sizeof(int), compare_ints);
    return count;
}

static int64_t integer(const banyan_json *value)
{
    int64_t number = -1;

    assert_true(banyan_json_get_integer(value, &number));
    return number;
}

static int matches(const shown_call *call, const banyan_json *wanted, int64_t scale)
{
    const banyan_json *holders = banyan_json_item(wanted, 3);
    size_t count = banyan_json_count(holders);

    if (call->begin != integer(banyan_json_item(wanted, 1)) * scale ||
        call->end != integer(banyan_json_item(wanted, 2)) * scale ||
        call->owner != integer(banyan_json_item(wanted, 4)) || call->holder_count != (int)count)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (call->holders[i] != integer(banyan_json_item(holders, i)))
            return 0;
    return 1;
}

/* Calls of a lower level come in earlier rounds than those of a higher one. */
static void check_levels(const char *name, const shown_call *calls, const int *level, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            if (level[i] < level[j] && calls[i].last_round >= calls[j].first_round)
                fail_msg("%s: a call of level %d ends in round %d, one of level %d begins in %d", name,
                         level[i], calls[i].last_round, level[j], calls[j].first_round);
}

/* Calls that each rank owns on the root's level. */
static void check_top(const char *name, const shown_call *calls, const int *level, int count,
                      const banyan_json *reference)
{
    const banyan_json *owned = banyan_json_field(reference, "owned_calls_top");
    int top = 0;

    for (int i = 0; i < count; i++)
        top = level[i] > top ? level[i] : top;
    for (size_t rank = 0; rank < banyan_json_count(owned); rank++) {
        int found = 0;

        for (int i = 0; i < count; i++)
            found += level[i] == top && calls[i].owner == (int)rank;
        if (found != integer(banyan_json_item(owned, rank)))
            fail_msg("%s: rank %zu owns %d calls of the root's level", name, rank, found);
    }
}

static void check_calls(const char *name, const banyan_schedule *schedule, const banyan_json *reference)
{
    const banyan_json *wanted = banyan_json_field(reference, "calls");
    int64_t whole = integer(banyan_json_field(reference, "whole"));
    static shown_call calls[400];
    int level[400], count = find_calls(schedule, calls);

    assert_int_equal(schedule->whole % whole, 0);
    if (count != (int)banyan_json_count(wanted))
        fail_msg("%s: %d calls, not %zu", name, count, banyan_json_count(wanted));
    for (size_t i = 0; i < banyan_json_count(wanted); i++) {
        int found = 0;

        for (int j = 0; j < count; j++)
            if (matches(&calls[j], banyan_json_item(wanted, i), schedule->whole / whole)) {
                level[j] = (int)integer(banyan_json_item(banyan_json_item(wanted, i), 0));
                found++;
            }
        if (found != 1)
            fail_msg("%s: call %zu is there %d times", name, i, found);
    }
    check_levels(name, calls, level, count);
    check_top(name, calls, level, count, reference);
}

static banyan_hierarchy read_tree(const char *text, int ranks);

/* The bound on calls of each rank at the root, by Eq. 12. */
static void check_bounds(const char *name, const char *text, int ranks, const banyan_json *wanted)
{
    banyan_hierarchy tree = read_tree(text, ranks);

    for (int rank = 0; rank < ranks; rank++)
        if (banyan_hierarchy_most_calls(&tree, rank) != integer(banyan_json_item(wanted, (size_t)rank)))
            fail_msg("%s: rank %d may have %d calls, not as many as the reference says", name, rank,
                     banyan_hierarchy_most_calls(&tree, rank));
    banyan_hierarchy_fini(&tree);
}

static void check_case(const banyan_json *reference)
{
    const char *name = "", *tree = "";
    network net;
    banyan_schedule *schedule;

    assert_true(banyan_json_get_string(banyan_json_field(reference, "name"), &name));
    assert_true(banyan_json_get_string(banyan_json_field(reference, "tree"), &tree));
    net = make_star((int)integer(banyan_json_field(reference, "ranks")), 0);
    schedule = plan(&net, tree);
    check_calls(name, schedule, reference);
    check_bounds(name, tree, net.active_count, banyan_json_field(reference, "most_calls"));
    assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

TEST(plans_equal_the_references_exactly)
{
    const banyan_json *cases;
    banyan_json *document;
    char *text;
    size_t length;

    assert_int_equal(banyan_file_load(TEST_DATA "/data/flexreduce.json", &text, &length, NULL),
                     BANYAN_SUCCESS);
    assert_int_equal(banyan_json_parse(text, length, &document, NULL), BANYAN_SUCCESS);
    cases = banyan_json_field(document, "cases");
    assert_true(banyan_json_count(cases) >= 14);
    for (size_t i = 0; i < banyan_json_count(cases); i++)
        check_case(banyan_json_item(cases, i));
    banyan_json_destroy(document);
    banyan_free(text);
}

/* Calls that a rank owns, averaged over ranks and levels, as in the paper's Fig. 4(c). */
static void check_average(const char *tree, int ranks, int thousandths)
{
    static shown_call calls[400];
    network net = make_star(ranks, 0);
    banyan_schedule *schedule = plan(&net, tree);
    int levels = 2, count = find_calls(schedule, calls);

    assert_int_equal((2000 * count + ranks * levels) / (2 * ranks * levels), thousandths);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

TEST(calls_per_learner_are_those_of_the_paper)
{
    check_average("((0,1),(2,3,4))", 5, 1300);
    check_average("((0,1,2),(3,4,5,6))", 7, 1357);
    check_average("((0,1,2),(3,4,5),(6,7,8,9))", 10, 1200);
    check_average("((0,1,2),(3,4,5,6),(7,8,9,10))", 11, 1227);
    check_average("((0,1,2),(3,4,5))", 6, 1000);
}

static banyan_hierarchy read_tree(const char *text, int ranks)
{
    banyan_parameter parameter = {"tree", text};
    banyan_problem problem = {.active_count = ranks, .parameters = &parameter, .parameter_count = 1};
    banyan_hierarchy tree;
    banyan_error err;

    if (banyan_hierarchy_find(&problem, &tree, &err))
        fail_msg("%s: %s", text, err.text);
    return tree;
}

/* Learners on machines: one unit of speed between machines, `local` in each, four times that below. */
typedef struct {
    double ring_s, flexreduce_s, blueconnect_s;
} costs;

static costs find_costs(const char *text, int ranks, double local, double latency_s, double bytes)
{
    banyan_hierarchy tree = read_tree(text, ranks);
    double speed[64];
    banyan_hierarchy_links links = {&tree, speed, latency_s};
    costs found;

    for (int node = 0; node < tree.node_count; node++)
        speed[node] = tree.depth[node] == 0 ? 1 : tree.depth[node] == 1 ? local : 4 * local;
    found = (costs){banyan_hierarchy_ring_s(&links, bytes), banyan_hierarchy_flexreduce_s(&links, bytes),
                    banyan_hierarchy_blueconnect_s(&links, bytes)};
    banyan_hierarchy_fini(&tree);
    return found;
}

static void check_near(double found, double wanted)
{
    if (fabs(found - wanted) > 1e-9 * fabs(wanted))
        fail_msg("%.12g is not %.12g", found, wanted);
}

static const char *const machines[] = {
    "((0,1),(2,3))",
    "((0,1),(2,3,4))",
    "((0,1,2),(3,4,5))",
    "((0,1,2),(3,4,5,6))",
    "((0,1,2,3),(4,5,6,7))",
    "((0,1,2),(3,4,5),(6,7,8))",
    "((0,1,2),(3,4,5),(6,7,8,9))",
    "((0,1,2),(3,4,5,6),(7,8,9,10))",
    "((0,1,2,3),(4,5,6,7),(8,9,10,11))",
};

TEST(savings_over_a_ring_by_the_papers_formula)
{
    /* 1 Gbit/s between machines, 10 GB/s inside: 4 to 8 learners on two machines, 9 to 12 on three. */
    static const double saving[] = {0.325,    0.364583333333, 0.39,           0.405729166667, 0.417857142857,
                                    0.240625, 0.248842592593, 0.256354166667, 0.2625};

    for (int i = 0; i < 9; i++) {
        costs c = find_costs(machines[i], 4 + i, 80, 0, 1);

        if (fabs(1 - c.flexreduce_s / c.ring_s - saving[i]) > 1e-9)
            fail_msg("%s saves %.9f", machines[i], 1 - c.flexreduce_s / c.ring_s);
    }
}

TEST(times_by_the_papers_formulas_are_the_references)
{
    costs c = find_costs("((0,1),(2,3,4))", 5, 10, 0, 1);

    check_near(c.ring_s, 1.6);
    check_near(c.flexreduce_s, 2 * (0.2 / 3 + 0.5));
    check_near(c.blueconnect_s, 1.6); /* uneven: one ring */
    c = find_costs("((0,1,2),(3,4,5))", 6, 10, 0, 1);
    check_near(c.flexreduce_s, 2 * (0.2 / 3 + 0.5));
    check_near(c.blueconnect_s, 2 * (0.2 / 3 + 0.5));
    c = find_costs("((0,1),((2,3),(4,5,6)),7)", 8, 10, 0, 1);
    check_near(c.flexreduce_s, 1.35 + 0.35 / 3);
    /* 480,000 bytes, 50 us a message, units of 125 MB/s */
    c = find_costs("((0,1),(2,3,4))", 5, 80, 50e-6, 480000 / 125e6);
    check_near(c.ring_s, 0.006544);
    check_near(c.flexreduce_s, 0.0043040 - 0.0001);
    check_near(c.blueconnect_s, 0.006544);
}

TEST(where_machines_are_fast_inside_flexreduce_is_never_worse_than_blueconnect_or_a_ring)
{
    for (int i = 0; i < 9; i++)
        for (double local = 10; local <= 1000; local *= 10) {
            costs c = find_costs(machines[i], 4 + i, local, 0, 1);

            assert_true(c.flexreduce_s <= c.blueconnect_s * (1 + 1e-9));
            assert_true(c.flexreduce_s <= c.ring_s * (1 + 1e-9));
        }
}

/* A ragged tree of ranks begin..end-1 as text. */
static void draw_tree(banyan_random *random, banyan_text *text, int begin, int end, int depth)
{
    int is_chain = banyan_random_below(random, 12) == 0 && depth < 6;

    if (end - begin == 1 && !is_chain) {
        banyan_text_add(text, "%d", begin);
        return;
    }
    banyan_text_add(text, "(");
    for (int from = begin; from < end;) {
        int most = is_chain || depth >= 6 ? (depth >= 6 ? 1 : end - begin) : (end - begin + 1) / 2;
        int size = is_chain ? end - begin : 1 + banyan_random_below(random, most);

        size = size > end - from ? end - from : size;
        if (from > begin)
            banyan_text_add(text, ",");
        draw_tree(random, text, from, from + size, depth + 1);
        from += size;
    }
    banyan_text_add(text, ")");
}

TEST(random_ragged_trees_are_proven)
{
    static const char *const forms[] = {"direct", "chain", "tree"};

    for (uint64_t seed = 1; seed <= 1000; seed++) {
        banyan_random random = {seed};
        network net = make_star(2 + banyan_random_below(&random, 39), 0);
        banyan_text text = BANYAN_TEXT_EMPTY;
        banyan_schedule *schedule;
        banyan_verdict verdict;

        draw_tree(&random, &text, 0, net.active_count, 0);
        schedule = plan_with(&net, forms[seed % 3], text.bytes[0] == '(' ? text.bytes : NULL);
        assert_int_equal(banyan_verify(schedule, net.topology, &verdict, NULL), BANYAN_SUCCESS);
        if (verdict.problem_count)
            fail_msg("seed %d, tree %s: %s", (int)seed, text.bytes, verdict.problems[0]);
        banyan_schedule_destroy(schedule);
        banyan_text_fini(&text);
        banyan_topology_destroy(net.topology);
    }
}

/* Odd degrees from 11 on under one root: their least common multiple is above 2^40, so shares are rounded. */
TEST(trees_whose_shares_have_no_common_unit_are_rounded_and_still_proven)
{
    network net = make_star(300, 0);
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_schedule *schedule;
    banyan_verdict verdict;
    int rank = 0;

    banyan_text_add(&text, "(");
    for (int degree = 11; rank < net.active_count; degree += 2) {
        banyan_text_add(&text, rank ? ",(" : "(");
        for (int i = 0; i < degree && rank < net.active_count; i++)
            banyan_text_add(&text, i ? ",%d" : "%d", rank++);
        banyan_text_add(&text, ")");
    }
    banyan_text_add(&text, ")");
    schedule = plan(&net, text.bytes);
    assert_true(schedule->whole == (int64_t)1 << 40);
    assert_int_equal(banyan_verify(schedule, net.topology, &verdict, NULL), BANYAN_SUCCESS);
    assert_int_equal(verdict.problem_count, 0);
    banyan_schedule_destroy(schedule);
    banyan_text_fini(&text);
    banyan_topology_destroy(net.topology);
}

static int count_chain_hops(const char *spec, const char *calls)
{
    network net = {0};
    banyan_schedule *schedule;
    int hops = 0;

    assert_int_equal(banyan_topology_load(spec, &net.topology, NULL), BANYAN_SUCCESS);
    for (int i = 0; i < net.topology->worker_count; i++)
        net.active[net.active_count++] = net.topology->workers[i];
    schedule = plan_with(&net, calls, "hosts");
    assert_true(meaning_is_right(schedule));
    for (size_t i = 0; i < schedule->transfer_count; i++) /* hops to other than the owner: chains have them */
        hops += schedule->transfers[i].action == BANYAN_ACTION_REDUCE &&
                rank_of(schedule, schedule->transfers[i].dst) != schedule->transfers[i].flow;
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
    return hops;
}

/* Four hosts in each of two racks with one thin cable each: were all hosts to send to all, half of it would
 * pass that cable. */
TEST(calls_are_direct_on_one_switch_and_chains_where_racks_share_a_cable)
{
    assert_int_equal(count_chain_hops("hosts:2+2+2+2", "auto"), 0);
    assert_true(count_chain_hops("hosts:2+2+2+2", "chain") > 0);
    assert_true(count_chain_hops("racks:2x4x2,rack_gbps=2", "auto") > 0);
    assert_int_equal(count_chain_hops("racks:2x4x2,rack_gbps=2", "direct"), 0);
}

/* Sixteen children: a chain adds to a part fifteen times in a row, a binomial tree four times. */
TEST(in_a_tree_few_hops_follow_each_other)
{
    network net = make_star(16, 0);
    banyan_schedule *chain = plan_with(&net, "chain", "flat"), *tree = plan_with(&net, "tree", "flat");

    assert_int_equal(chain->round_count, 30);
    assert_int_equal(tree->round_count, 8);
    assert_true(meaning_is_right(tree));
    banyan_schedule_destroy(chain);
    banyan_schedule_destroy(tree);
    banyan_topology_destroy(net.topology);
}

/* The hierarchy of a topology as text with brackets. */
static void draw_hierarchy(const banyan_hierarchy *h, int node, banyan_text *text)
{
    if (h->rank[node] >= 0) {
        banyan_text_add(text, "%d", h->rank[node]);
        return;
    }
    banyan_text_add(text, "(");
    for (int child = node + 1; child < h->end[node]; child = h->end[child]) {
        if (child > node + 1)
            banyan_text_add(text, ",");
        draw_hierarchy(h, child, text);
    }
    banyan_text_add(text, ")");
}

static void check_tree(const char *spec, const char *active, const char *source, const char *wanted)
{
    banyan_parameter parameter = {"tree", source};
    banyan_hierarchy hierarchy;
    banyan_problem problem = {.parameters = &parameter, .parameter_count = source != NULL};
    banyan_topology *topology;
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_error err;
    int *nodes;

    if (banyan_topology_load(spec, &topology, &err))
        fail_msg("%s", err.text);
    assert_int_equal(banyan_topology_parse_active(topology, active, &nodes, &problem.active_count, &err), 0);
    problem.topology = topology;
    problem.active = nodes;
    if (banyan_hierarchy_find(&problem, &hierarchy, &err))
        fail_msg("%s: %s", spec, err.text);
    draw_hierarchy(&hierarchy, 0, &text);
    assert_string_equal(text.bytes, wanted);
    banyan_text_fini(&text);
    banyan_hierarchy_fini(&hierarchy);
    banyan_free(nodes);
    banyan_topology_destroy(topology);
}

TEST(the_tree_comes_from_switches_hosts_or_speeds)
{
    check_tree("hosts:2+3", NULL, NULL, "((0,1),(2,3,4))");
    check_tree("hosts:2+3", NULL, "hosts", "((0,1),(2,3,4))");
    check_tree("hosts:2+3", "0,2,3", NULL, "(0,(1,2))");
    check_tree("hosts:2+3", "2,3,4", NULL, "(0,1,2)");
    check_tree("hosts:2+3", NULL, "flat", "(0,1,2,3,4)");
    check_tree("switch:4", NULL, NULL, "(0,1,2,3)");
    check_tree("racks:2x2x2", NULL, NULL, "(((0,1),(2,3)),((4,5),(6,7)))");
    check_tree("torus:2x2", NULL, NULL, "(0,1,2,3)");
}

/* Workers around one switch with cables of these speeds, in GB/s. */
static network make_uneven_star(const double *speeds, int count)
{
    banyan_topology_builder builder;
    network net = {0};

    banyan_topology_builder_init(&builder, "uneven");
    banyan_topology_add_switch(&builder, "s");
    for (int i = 0; i < count; i++) {
        net.active[net.active_count++] = banyan_topology_add_worker_f(&builder, -1, "g%d", i);
        banyan_topology_add_cable(&builder, 0, i + 1, speeds[i] * 1e9, 1e-6);
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &net.topology, NULL), BANYAN_SUCCESS);
    return net;
}

/* GB/s in the bandwidth limit of a plan that is proven. */
static double prove_and_rate(const network *net, const char *shares)
{
    banyan_schedule *schedule = plan_shares(net, "auto", shares, NULL);
    banyan_verdict verdict;
    banyan_limits limits;

    assert_int_equal(banyan_verify(schedule, net->topology, &verdict, NULL), BANYAN_SUCCESS);
    if (verdict.problem_count)
        fail_msg("%s", verdict.problems[0]);
    assert_int_equal(banyan_bandwidth_limit(schedule, net->topology, &limits, NULL), BANYAN_SUCCESS);
    banyan_schedule_destroy(schedule);
    return limits.bytes_per_s / 1e9;
}

/* The slow worker sends its vector once and gets the sum once: no plan can do better. */
TEST(a_slow_link_gets_a_smaller_share_and_the_rate_that_is_possible)
{
    static const double one_slow[] = {1, 2, 2, 2, 2}, even[] = {2, 2, 2, 2, 2}, two[] = {1, 3};
    static const double steps[] = {1, 1.25, 1.5, 2};
    network net = make_uneven_star(one_slow, 5);

    check_near(prove_and_rate(&net, "degree"), 1 / 1.6);
    check_near(prove_and_rate(&net, "bandwidth"), 1);
    check_near(prove_and_rate(&net, "auto"), 1);
    banyan_topology_destroy(net.topology);
    net = make_uneven_star(even, 5);
    check_near(prove_and_rate(&net, "bandwidth"), 2 / 1.6);
    banyan_topology_destroy(net.topology);
    net = make_uneven_star(two, 2);
    check_near(prove_and_rate(&net, "bandwidth"), 1);
    banyan_topology_destroy(net.topology);
    net = make_uneven_star(steps, 4);
    check_near(prove_and_rate(&net, "degree"), 1 / 1.5);
    assert_true(prove_and_rate(&net, "auto") > 0.85);
    banyan_topology_destroy(net.topology);
}

/* A tree of switches with cables of any speed. */
static network draw_network(banyan_random *random)
{
    int hosts = 1 + banyan_random_below(random, 5);
    banyan_topology_builder builder;
    network net = {0};

    banyan_topology_builder_init(&builder, "drawn");
    banyan_topology_add_switch(&builder, "root");
    for (int host = 0; host < hosts; host++) {
        int id = banyan_topology_add_switch_f(&builder, "s%d", host);
        int workers = 2 + banyan_random_below(random, 5);

        banyan_topology_add_cable(&builder, 0, id, (1 + banyan_random_below(random, 20)) * 1e9, 1e-6);
        for (int i = 0; i < workers; i++) {
            int node = banyan_topology_add_worker_f(&builder, -1, "g%d", net.active_count);

            net.active[net.active_count++] = node;
            banyan_topology_add_cable(&builder, id, node, (1 + banyan_random_below(random, 20)) * 1e9, 1e-6);
        }
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &net.topology, NULL), BANYAN_SUCCESS);
    return net;
}

TEST(shares_by_default_are_never_worse_than_the_papers)
{
    int better = 0;

    for (uint64_t seed = 1; seed <= 300; seed++) {
        banyan_random random = {seed};
        network net = draw_network(&random);
        double paper = prove_and_rate(&net, "degree"), ours = prove_and_rate(&net, "auto");

        if (ours < paper * (1 - 1e-9))
            fail_msg("seed %d: %.6f GB/s, but %.6f by degree", (int)seed, ours, paper);
        better += ours > paper * 1.05;
        prove_and_rate(&net, "bandwidth");
        banyan_topology_destroy(net.topology);
    }
    assert_true(better > 100);
}

/* A full mesh as a matrix of measured speeds would give it: about 10 GB/s within groups, about 1 between. */
static network make_mesh(banyan_random *random, const int *group, int count)
{
    banyan_topology_builder builder;
    network net = {0};

    banyan_topology_builder_init(&builder, "mesh");
    for (int i = 0; i < count; i++)
        net.active[net.active_count++] = banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            if (i != j) {
                double speed = group[i] == group[j] ? 10e9 : 1e9;

                banyan_topology_add_link(&builder, i, j,
                                         speed * (0.95 + 0.001 * banyan_random_below(random, 100)), 1e-6);
            }
    assert_int_equal(banyan_topology_builder_finish(&builder, &net.topology, NULL), BANYAN_SUCCESS);
    return net;
}

TEST(the_tree_of_a_full_mesh_comes_from_its_two_speeds_though_they_scatter)
{
    static const int group[] = {0, 1, 0, 1, 1, 0, 2};
    banyan_random random = {7};
    network net = make_mesh(&random, group, 7);
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_hierarchy hierarchy;

    assert_int_equal(banyan_hierarchy_find(&problem, &hierarchy, NULL), BANYAN_SUCCESS);
    draw_hierarchy(&hierarchy, 0, &text);
    assert_string_equal(text.bytes, "((0,2,5),(1,3,4),6)");
    assert_true(prove_and_rate(&net, "auto") >= prove_and_rate(&net, "degree") * (1 - 1e-9));
    banyan_text_fini(&text);
    banyan_hierarchy_fini(&hierarchy);
    banyan_topology_destroy(net.topology);
}

TEST(plans_by_bandwidth_survive_the_failure_of_each_allocation)
{
    static const double speeds[] = {1, 2, 2, 2};
    network net = make_uneven_star(speeds, 4);
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule = NULL;

    for (int calls = 0; !schedule; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_algorithm_build(banyan_algorithm_find("flexreduce"), &problem, &schedule, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

TEST(wrong_shares_are_refused_with_a_sentence)
{
    network net = make_star(4, 0);
    banyan_parameter parameter = {"shares", "speed"};
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule = NULL;
    banyan_error err = {""};

    problem.parameters = &parameter;
    problem.parameter_count = 1;
    assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("flexreduce"), &problem, &schedule, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "option 'shares' must be auto, degree or bandwidth, not 'speed'");
    banyan_topology_destroy(net.topology);
}

static void check_complaint(const char *tree, const char *words)
{
    network net = make_star(4, 0);
    banyan_parameter parameter = {"tree", tree};
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule = NULL;
    banyan_error err = {""};

    problem.parameters = &parameter;
    problem.parameter_count = 1;
    assert_int_not_equal(
        banyan_algorithm_build(banyan_algorithm_find("flexreduce"), &problem, &schedule, &err),
        BANYAN_SUCCESS);
    CHECK_SAYS(err, words);
    banyan_topology_destroy(net.topology);
}

TEST(wrong_trees_are_refused_with_a_sentence)
{
    char deep[300];

    check_complaint("(0,1,2)", "option 'tree' leaves out rank 3");
    check_complaint("(0,1,2,3,2)", "option 'tree' names rank 2 twice");
    check_complaint("(0,1,2,9)", "option 'tree' names rank 9, but ranks are 0 to 3");
    check_complaint("(0,1,(2,3)", "expected ',' or ')' at ''");
    check_complaint("(0,1,(),2,3)", "expected a rank or a bracket at '),2,3)'");
    check_complaint("(0,1,2,3)x", "expected the end at 'x'");
    check_complaint("racks", "expected '(' at 'racks'");
    check_complaint("hosts", "option 'tree' cannot be 'hosts' on star");
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    check_complaint(deep, "more than 64 brackets");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_equal_the_references_exactly),
        cmocka_unit_test(calls_per_learner_are_those_of_the_paper),
        cmocka_unit_test(savings_over_a_ring_by_the_papers_formula),
        cmocka_unit_test(times_by_the_papers_formulas_are_the_references),
        cmocka_unit_test(where_machines_are_fast_inside_flexreduce_is_never_worse_than_blueconnect_or_a_ring),
        cmocka_unit_test(random_ragged_trees_are_proven),
        cmocka_unit_test(trees_whose_shares_have_no_common_unit_are_rounded_and_still_proven),
        cmocka_unit_test(calls_are_direct_on_one_switch_and_chains_where_racks_share_a_cable),
        cmocka_unit_test(in_a_tree_few_hops_follow_each_other),
        cmocka_unit_test(the_tree_comes_from_switches_hosts_or_speeds),
        cmocka_unit_test(wrong_trees_are_refused_with_a_sentence),
        cmocka_unit_test(a_slow_link_gets_a_smaller_share_and_the_rate_that_is_possible),
        cmocka_unit_test(shares_by_default_are_never_worse_than_the_papers),
        cmocka_unit_test(the_tree_of_a_full_mesh_comes_from_its_two_speeds_though_they_scatter),
        cmocka_unit_test(plans_by_bandwidth_survive_the_failure_of_each_allocation),
        cmocka_unit_test(wrong_shares_are_refused_with_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
