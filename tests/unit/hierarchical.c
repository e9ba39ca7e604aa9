/* SPDX-License-Identifier: Apache-2.0 */
/* Nested rings: hierarchical and BlueConnect, shapes, and the search for the best shape. */
#include <math.h>

#include "algorithms/layers_abci.h"
#include "core/alloc.h"
#include "meaning.h"
#include "networks.h"
#include "unit/test.h"
#include "verify/verify.h"

static banyan_schedule *plan(const char *name, const network *net, const char *key, const char *value)
{
    banyan_parameter parameter = {key, value};
    banyan_problem problem = make_problem(net, BANYAN_COLLECTIVE_ALLREDUCE);

    problem.parameters = &parameter;
    problem.parameter_count = key != NULL;
    return build(name, &problem);
}

/* Calls back with every ordered factorisation of what is left. */
static int each_shape(banyan_layers *shape, int left, void (*found)(const banyan_layers *, void *),
                      void *context)
{
    int count = 0;

    if (left == 1) {
        found(shape, context);
        return 1;
    }
    for (int extent = 2; extent <= left; extent++)
        if (left % extent == 0) {
            shape->extent[shape->layer_count++] = extent;
            count += each_shape(shape, left / extent, found, context);
            shape->layer_count--;
        }
    return count;
}

static void check_shape(const banyan_layers *shape, void *context)
{
    const network *net = context;
    banyan_schedule *schedule;
    char text[64];
    int rounds = 0;

    banyan_layers_format(shape, text, sizeof text);
    schedule = plan("hierarchical", net, "shape", text);
    for (int i = 0; i < shape->layer_count; i++)
        rounds += 2 * (shape->extent[i] - 1);
    assert_int_equal(schedule->round_count, rounds);
    assert_int_equal(schedule->piece_count, net->active_count);
    assert_true(meaning_is_right(schedule));
    for (size_t i = 0; i < schedule->transfer_count; i++)
        if (schedule->transfers[i].round < shape->extent[0] - 1)
            assert_int_equal(schedule->transfers[i].piece_count, net->active_count / shape->extent[0]);
    banyan_schedule_destroy(schedule);
}

TEST(every_shape_is_an_all_reduce_with_the_rounds_of_its_rings)
{
    static const int ranks[] = {2, 7, 8, 12, 24, 36};
    static const int counts[] = {1, 1, 4, 8, 20, 26};

    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        network net = make_star(ranks[i], 0);
        banyan_layers shape = {0};

        assert_int_equal(each_shape(&shape, ranks[i], check_shape, &net), counts[i]);
        banyan_topology_destroy(net.topology);
    }
}

/* The same transfers, in whatever order within a round. */
static void check_same_transfers(const banyan_schedule *a, const banyan_schedule *b)
{
    assert_int_equal(a->transfer_count, b->transfer_count);
    assert_int_equal(a->piece_count, b->piece_count);
    for (size_t i = 0; i < a->transfer_count; i++) {
        size_t j = 0;

        while (j < b->transfer_count && memcmp(&a->transfers[i], &b->transfers[j], sizeof *b->transfers) != 0)
            j++;
        assert_true(j < b->transfer_count);
    }
}

TEST(one_layer_is_the_ring_and_layers_of_two_are_halving_doubling)
{
    network net = make_star(8, 0);
    banyan_schedule *flat = plan("hierarchical", &net, "shape", "8");
    banyan_schedule *ring = plan("ring", &net, NULL, NULL);
    banyan_schedule *deep = plan("hierarchical", &net, "shape", "2x2x2");
    banyan_schedule *halving = plan("halving-doubling", &net, NULL, NULL);

    check_same_transfers(flat, ring);
    check_same_transfers(deep, halving);
    banyan_schedule_destroy(flat);
    banyan_schedule_destroy(ring);
    banyan_schedule_destroy(deep);
    banyan_schedule_destroy(halving);
    banyan_topology_destroy(net.topology);
}

TEST(ranks_beyond_the_shape_lean_on_a_neighbour)
{
    for (int ranks = 12; ranks <= 24; ranks++) {
        network net = make_star(ranks, 0);
        banyan_schedule *schedule = plan("hierarchical", &net, "shape", "3x4");

        assert_int_equal(schedule->round_count, 10 + (ranks > 12 ? 2 : 0));
        assert_true(meaning_is_right(schedule));
        banyan_schedule_destroy(schedule);
        banyan_topology_destroy(net.topology);
    }
}

TEST(rings_may_run_both_ways_and_do_so_where_workers_have_links_both_ways_round)
{
    network ring = make_grid((banyan_grid){1, {12}, {1}}), star = make_star(12, 0);
    banyan_parameter parameters[] = {{"shape", "3x4"}, {"ways", "2"}};
    banyan_problem problem = make_problem(&star, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule = plan("hierarchical", &ring, NULL, NULL);

    assert_int_equal(schedule->piece_count, 24);
    assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
    schedule = plan("hierarchical", &star, NULL, NULL);
    assert_int_equal(schedule->piece_count, 12);
    banyan_schedule_destroy(schedule);
    problem.parameters = parameters;
    problem.parameter_count = 2;
    schedule = build("hierarchical", &problem);
    assert_int_equal(schedule->piece_count, 24);
    assert_int_equal(schedule->flow_count, 2);
    assert_int_equal(schedule->round_count, 10);
    assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(ring.topology);
    banyan_topology_destroy(star.topology);
}

/* Every rank sends all blocks but its own once, in half of the all-reduce's rounds. */
static void check_halves(const char *name, const network *net, const banyan_parameter *parameters, int count,
                         int rounds)
{
    static const banyan_collective halves[] = {BANYAN_COLLECTIVE_REDUCE_SCATTER, BANYAN_COLLECTIVE_ALLGATHER};

    for (int i = 0; i < 2; i++) {
        banyan_problem problem = make_problem(net, halves[i]);
        banyan_schedule *schedule;
        banyan_verdict verdict;

        problem.parameters = parameters;
        problem.parameter_count = count;
        schedule = build(name, &problem);
        assert_int_equal(schedule->round_count, rounds);
        assert_int_equal(schedule->transfer_count,
                         (size_t)(net->active_count - 1) * (size_t)schedule->piece_count);
        assert_int_equal(banyan_verify(schedule, net->topology, &verdict, NULL), BANYAN_SUCCESS);
        if (verdict.problem_count)
            fail_msg("%s: %s", name, verdict.problems[0]);
        banyan_schedule_destroy(schedule);
    }
}

TEST(reduce_scatter_and_all_gather_are_the_halves_with_blocks_in_the_order_of_ranks)
{
    static const banyan_parameter shape[] = {{"shape", "3x2x4"}, {"order", "23-0"}, {"ways", "1"}};
    static const banyan_parameter both[] = {{"shape", "4x6"}, {"ways", "2"}};
    static const banyan_parameter tree[] = {{"tree", "((0,5,2),(1,4,3))"}};
    static const banyan_parameter uneven[] = {{"tree", "((0,5,2,1),(4,3))"}};
    network net = make_star(24, 0), small = make_star(6, 0);

    check_halves("hierarchical", &net, shape, 3, 2 + 1 + 3);
    check_halves("hierarchical", &net, both, 2, 3 + 5);
    check_halves("blueconnect", &small, tree, 1, 2 + 1);
    check_halves("blueconnect", &small, uneven, 1, 5);
    banyan_topology_destroy(net.topology);
    banyan_topology_destroy(small.topology);
}

TEST(halves_refuse_a_shape_with_fewer_places_than_ranks)
{
    network net = make_star(7, 0);
    banyan_parameter parameter = {"shape", "2x3"};
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_REDUCE_SCATTER);
    banyan_schedule *schedule = NULL;
    banyan_error err = {""};

    problem.parameters = &parameter;
    problem.parameter_count = 1;
    assert_int_equal(banyan_algorithm_build(banyan_algorithm_find("hierarchical"), &problem, &schedule, &err),
                     BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "shape 2x3 has 6 places, but a reducescatter of 7 ranks needs 7");
    banyan_topology_destroy(net.topology);
}

typedef struct {
    const network *net;
    int ways;
    double bytes, best_s;
} contest;

static void time_shape(const banyan_layers *shape, void *context)
{
    contest *c = context;
    double seconds;

    assert_int_equal(
        banyan_layers_time(c->net->topology, c->net->active, shape, c->ways, c->bytes, &seconds, NULL), 0);
    c->best_s = fmin(c->best_s, seconds);
}

static void check_search(const char *spec, int ways, double bytes)
{
    network net = {0};
    contest c = {&net, ways, bytes, HUGE_VAL};
    banyan_layers shape = {0}, found;
    double seconds;

    assert_int_equal(banyan_topology_load(spec, &net.topology, NULL), BANYAN_SUCCESS);
    for (int i = 0; i < net.topology->worker_count; i++)
        net.active[net.active_count++] = net.topology->workers[i];
    each_shape(&shape, net.active_count, time_shape, &c);
    assert_int_equal(
        banyan_layers_search(net.topology, net.active, net.active_count, ways, bytes, &found, NULL), 0);
    assert_int_equal(banyan_layers_size(&found), net.active_count);
    assert_int_equal(banyan_layers_time(net.topology, net.active, &found, ways, bytes, &seconds, NULL), 0);
    if (fabs(seconds - c.best_s) > 1e-9 * c.best_s)
        fail_msg("%s, %g bytes: found %g s, the best is %g s", spec, bytes, seconds, c.best_s);
    banyan_topology_destroy(net.topology);
}

TEST(the_search_finds_the_best_of_all_shapes)
{
    static const char *const specs[] = {"switch:24",   "hosts:4+4+4", "fattree:6x4:2",
                                        "racks:2x3x4", "ring:12",     "torus:4x4"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (double bytes = 1; bytes <= 1e9; bytes *= 1000)
            for (int ways = 1; ways <= 2; ways++)
                check_search(specs[i], ways, bytes);
}

TEST(long_vectors_first_meet_within_hosts_and_short_ones_in_small_rings)
{
    network net = {0};
    banyan_layers shape;

    assert_int_equal(banyan_topology_load("hosts:4+4+4+4,gbps=10,local_gbps=1000", &net.topology, NULL), 0);
    for (int i = 0; i < net.topology->worker_count; i++)
        net.active[net.active_count++] = net.topology->workers[i];
    assert_int_equal(banyan_layers_search(net.topology, net.active, 16, 1, 1e9, &shape, NULL),
                     BANYAN_SUCCESS);
    assert_int_equal(shape.extent[0] == 4 || (shape.extent[0] == 2 && shape.extent[1] == 2), 1);
    assert_int_equal(banyan_layers_search(net.topology, net.active, 16, 1, 1, &shape, NULL), BANYAN_SUCCESS);
    assert_int_equal(shape.layer_count, 4);
    banyan_topology_destroy(net.topology);
}

TEST(wrong_shapes_are_refused_with_a_sentence)
{
    static const char *const cases[][2] = {
        {"4x", "option 'shape' must be a shape such as 4x8x4, not '4x'"},
        {"", "option 'shape' must be a shape such as 4x8x4, not ''"},
        {"0x8", "option 'shape' must be a shape such as 4x8x4, not '0x8'"},
        {"2,4", "option 'shape' must be a shape such as 4x8x4, not '2,4'"},
        {"3x3", "shape 3x3 has 9 places, but 8 ranks need from 4 to 8 of them"},
        {"3", "shape 3 has 3 places, but 8 ranks need from 4 to 8 of them"},
        {"1000000x1000000x1000000", "shape 1000000x1000000x1000000 has 2147483647 places"},
        {"1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x8", "more than 32 layers"},
    };
    network net = make_star(8, 0);
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_parameter parameter = {"shape", cases[i][0]};
        banyan_schedule *schedule;
        banyan_error err;

        problem.parameters = &parameter;
        problem.parameter_count = 1;
        assert_int_equal(
            banyan_algorithm_build(banyan_algorithm_find("hierarchical"), &problem, &schedule, &err),
            BANYAN_INVALID_ARGUMENT);
        CHECK_SAYS(err, cases[i][1]);
    }
    banyan_topology_destroy(net.topology);
}

TEST(blueconnect_follows_a_symmetric_tree_and_is_one_ring_on_an_uneven_one)
{
    network net = make_star(12, 0);
    banyan_schedule *even = plan("blueconnect", &net, "tree", "(((0,1),(2,3),(4,5)),((6,7),(8,9),(10,11)))");
    banyan_schedule *uneven = plan("blueconnect", &net, "tree", "((0,1,2,3,4),(5,6,7,8,9,10,11))");

    assert_int_equal(even->round_count, 2 * (1 + 2 + 1));
    assert_true(meaning_is_right(even));
    assert_int_equal(uneven->round_count, 2 * 11);
    assert_true(meaning_is_right(uneven));
    banyan_schedule_destroy(even);
    banyan_schedule_destroy(uneven);
    banyan_topology_destroy(net.topology);
}

#define ABCI_BYTES 134217728.0

TEST(the_plain_model_gives_the_reference_times_on_abci)
{
    static const struct {
        const char *shape;
        double milliseconds;
    } cases[] = {
        {"128", 16.755832},     {"4x32", 16.435796},    {"4x8x4", 16.032596},   {"2x2x2x2x2x2x2", 15.917396},
        {"8x16", 19.812937},    {"64x2", 15.884439},    {"4x8x4x2", 16.277267}, {"4x8x4x4", 16.428403},
        {"4x8x8x4", 16.561570}, {"4x8x8x8", 16.666554}, {"2048", 53.725521},    {"1024", 34.057675},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_layers shape;
        double seconds;

        assert_int_equal(banyan_layers_parse(cases[i].shape, "shape", &shape, NULL), BANYAN_SUCCESS);
        seconds = banyan_layers_model_s(&banyan_abci_plain, &shape, ABCI_BYTES);
        if (fabs(seconds * 1e3 - cases[i].milliseconds) > 1e-6)
            fail_msg("%s: %.6f ms, not %.6f", cases[i].shape, seconds * 1e3, cases[i].milliseconds);
    }
}

/* The paper's two-layer formulas, Eq. 1 and 2. */
TEST(the_plain_model_agrees_with_the_closed_forms_of_two_layers)
{
    for (int nodes = 2; nodes <= 512; nodes *= 2) {
        banyan_layers two = {2, {4, nodes}}, flat = {1, {4 * nodes}};
        double slow = 9301.19e6, per_step = 2 * 2 * 4.80e-6;

        assert_true(fabs(banyan_layers_model_s(&banyan_abci_plain, &two, ABCI_BYTES) -
                         (per_step * (2 + nodes) + 2 * ABCI_BYTES / slow * (9.0 / 16 - 0.5 / nodes))) <
                    1e-12);
        assert_true(fabs(banyan_layers_model_s(&banyan_abci_plain, &flat, ABCI_BYTES) -
                         (per_step * (4 * nodes - 1) + 2 * ABCI_BYTES / slow * (0.5 - 0.125 / nodes))) <
                    1e-12);
    }
}

static void check_ranking(int ranks, long wanted_count, const char *const *best)
{
    banyan_ranked_layers found[5];
    banyan_layers_tally tally;

    assert_int_equal(banyan_layers_rank(&banyan_abci_plain, ranks, 99, ABCI_BYTES, found, 5, &tally), 5);
    assert_int_equal(tally.tried, wanted_count);
    for (int i = 0; i < 5; i++) {
        char text[64];

        banyan_layers_format(&found[i].shape, text, sizeof text);
        assert_string_equal(text, best[i]);
        assert_true(i == 0 || found[i].seconds >= found[i - 1].seconds * (1 - 1e-9));
    }
}

TEST(all_ordered_factorisations_are_ranked)
{
    static const char *const best_128[] = {"64x2", "2x2x2x2x2x2x2", "2x2x2x2x2x4", "2x2x2x2x4x2",
                                           "2x2x2x4x2x2"};
    static const char *const best_2048[] = {"64x2x2x2x2x2", "64x2x2x2x4", "64x2x2x4x2", "64x2x4x2x2",
                                            "64x4x2x2x2"};
    banyan_ranked_layers found[2];
    banyan_layers_tally tally;

    check_ranking(128, 64, best_128);
    check_ranking(2048, 1024, best_2048);
    assert_int_equal(banyan_layers_rank(&banyan_abci_plain, 360, 99, ABCI_BYTES, found, 2, &tally), 2);
    assert_int_equal(tally.tried, 604);
    assert_int_equal(banyan_layers_rank(&banyan_abci_plain, 65536, 99, ABCI_BYTES, found, 2, &tally), 2);
    assert_int_equal(tally.tried, 32768);
    assert_int_equal(banyan_layers_rank(&banyan_abci_plain, 8, 1, ABCI_BYTES, found, 2, &tally), 1);
    assert_int_equal(banyan_layers_rank(&banyan_abci_plain, 1, 9, ABCI_BYTES, found, 2, &tally), 0);
    assert_int_equal(banyan_layers_rank(&banyan_abci_plain, 8, 9, ABCI_BYTES, NULL, 0, &tally), 0);
    assert_int_equal(tally.tried, 4);
}

/* Where a shape stands, its time, and the flat ring's. */
static int find_place(int ranks, const char *shape, double *seconds, double *flat_s)
{
    static banyan_ranked_layers found[64];
    int count = banyan_layers_rank(&banyan_abci_calibrated, ranks, 4, ABCI_BYTES, found, 64, NULL);
    banyan_layers flat = {1, {ranks}};

    *flat_s = banyan_layers_model_s(&banyan_abci_calibrated, &flat, ABCI_BYTES);
    for (int i = 0; i < count; i++) {
        char text[64];

        banyan_layers_format(&found[i].shape, text, sizeof text);
        *seconds = found[i].seconds;
        if (!strcmp(text, shape))
            return i + 1;
    }
    return 0;
}

/* The shapes that were fastest in measurement, with the reference's times; 4x8x16x4 is the one that comes
 * before 4x8x8x8. */
TEST(the_calibrated_model_ranks_first_what_was_fastest_on_abci)
{
    static const struct {
        int ranks;
        const char *shape;
        int place;
        double milliseconds, flat_ms;
    } cases[] = {
        {128, "4x8x4", 1, 16.6657582, 23.0847802},    {256, "4x8x4x2", 1, 17.0953082, 25.6236651},
        {512, "4x8x4x4", 1, 19.0629102, 30.5795076},  {1024, "4x8x8x4", 1, 19.8025902, 40.4302288},
        {2048, "4x8x8x8", 2, 20.3773529, 60.1011895}, {2048, "4x8x16x4", 1, 20.2761237, 60.1011895},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double seconds = 0, flat_s = 0;

        assert_int_equal(find_place(cases[i].ranks, cases[i].shape, &seconds, &flat_s), cases[i].place);
        if (fabs(seconds * 1e3 / cases[i].milliseconds - 1) > 1e-4)
            fail_msg("%s: %.7f ms, not %.7f", cases[i].shape, seconds * 1e3, cases[i].milliseconds);
        if (fabs(flat_s * 1e3 / cases[i].flat_ms - 1) > 1e-6)
            fail_msg("flat %d: %.7f ms, not %.7f", cases[i].ranks, flat_s * 1e3, cases[i].flat_ms);
    }
}

static void check_top(int ranks, const char *const *best)
{
    banyan_ranked_layers found[5];

    assert_int_equal(banyan_layers_rank(&banyan_abci_calibrated, ranks, 4, ABCI_BYTES, found, 5, NULL), 5);
    for (int i = 0; i < 5; i++) {
        char text[64];

        banyan_layers_format(&found[i].shape, text, sizeof text);
        assert_string_equal(text, best[i]);
    }
}

/* Shapes that end in 2x4 and 4x2, or 2x8 and 8x2, across racks are equally fast. */
TEST(the_calibrated_shortlists_are_the_reference_s)
{
    static const char *const best[][5] = {
        {"4x8x4", "4x8x2x2", "4x32", "4x4x8", "4x16x2"},
        {"4x8x4x2", "4x8x2x4", "4x32x2", "4x4x8x2", "4x8x8"},
        {"4x8x4x4", "4x8x8x2", "4x8x16", "4x8x2x8", "4x32x2x2"},
        {"4x8x8x4", "4x8x4x8", "4x8x16x2", "4x32x2x4", "4x32x4x2"},
        {"4x8x16x4", "4x8x8x8", "4x32x4x4", "4x32x2x8", "4x32x8x2"},
    };

    for (int i = 0; i < 5; i++)
        check_top(128 << i, best[i]);
}

TEST(measured_layers_keep_their_times_and_others_follow_ring_size_and_message)
{
    const banyan_layers_measured *m = banyan_abci_calibrated.measured;
    banyan_plain_ring plain = {9.6e-6, 12.9e9};
    double mib = 1048576, row, longer, shorter, unknown;

    row = banyan_measured_layer_s(m, 4, &plain, 4, 8, 128, 32 * mib);
    assert_true(fabs(row - 1.75 * 32 * mib / 4664.866e6) < 1e-12);
    longer = banyan_measured_layer_s(m, 4, &plain, 4, 8, 128, 64 * mib);
    assert_true(longer > 1.9 * row && longer < 2 * row);
    shorter = banyan_measured_layer_s(m, 4, &plain, 4, 8, 128, 1 * mib);
    assert_true(shorter > row / 32 && shorter > 7 * m->step_s);
    unknown = banyan_measured_layer_s(m, 4, &plain, 4, 5, 20, 32 * mib);
    assert_true(fabs(unknown - (4 * m->step_s + (8 + m->fill) / 5 * 32 * mib / m->link_bytes_per_s)) < 1e-12);
}

/* The rules hold up to 512 ranks and fail at 1,024, where 4x8x8x4 is best. */
TEST(the_two_rules_extend_the_best_smaller_shape_and_miss_the_best_of_1024)
{
    static const char *const wanted[] = {"4x8x4", "4x8x4x2", "4x8x4x4", "4x8x4x8", "4x8x4x16"};

    for (int i = 0; i < 5; i++) {
        banyan_ranked_layers found[5];
        banyan_layers_tally tally;
        char text[64];

        assert_true(banyan_layers_rank_by_rules(&banyan_abci_calibrated, 128 << i, 4, 128, ABCI_BYTES, found,
                                                5, &tally) > 0);
        banyan_layers_format(&found[0].shape, text, sizeof text);
        assert_string_equal(text, wanted[i]);
        assert_true(tally.tried < 64 + 3 * i && tally.close >= 1);
    }
}

TEST(the_tally_counts_the_shapes_within_three_percent)
{
    banyan_ranked_layers found[1024];
    banyan_layers_tally tally;
    int count = banyan_layers_rank(&banyan_abci_plain, 2048, 99, ABCI_BYTES, found, 1024, &tally), close = 0;

    assert_int_equal(count, 1024);
    for (int i = 0; i < count; i++)
        close += found[i].seconds <= found[0].seconds * 1.03;
    assert_int_equal(tally.close, close);
    assert_true(close > 300);
    assert_int_equal(banyan_layers_rank(&banyan_abci_plain, 2048, 99, ABCI_BYTES, found, 3, &tally), 3);
    assert_int_equal(tally.close, close);
    assert_int_equal(tally.tried, 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_is_an_all_reduce_with_the_rounds_of_its_rings),
        cmocka_unit_test(one_layer_is_the_ring_and_layers_of_two_are_halving_doubling),
        cmocka_unit_test(ranks_beyond_the_shape_lean_on_a_neighbour),
        cmocka_unit_test(rings_may_run_both_ways_and_do_so_where_workers_have_links_both_ways_round),
        cmocka_unit_test(reduce_scatter_and_all_gather_are_the_halves_with_blocks_in_the_order_of_ranks),
        cmocka_unit_test(halves_refuse_a_shape_with_fewer_places_than_ranks),
        cmocka_unit_test(the_search_finds_the_best_of_all_shapes),
        cmocka_unit_test(long_vectors_first_meet_within_hosts_and_short_ones_in_small_rings),
        cmocka_unit_test(wrong_shapes_are_refused_with_a_sentence),
        cmocka_unit_test(the_plain_model_gives_the_reference_times_on_abci),
        cmocka_unit_test(the_plain_model_agrees_with_the_closed_forms_of_two_layers),
        cmocka_unit_test(all_ordered_factorisations_are_ranked),
        cmocka_unit_test(the_calibrated_model_ranks_first_what_was_fastest_on_abci),
        cmocka_unit_test(the_calibrated_shortlists_are_the_reference_s),
        cmocka_unit_test(measured_layers_keep_their_times_and_others_follow_ring_size_and_message),
        cmocka_unit_test(the_two_rules_extend_the_best_smaller_shape_and_miss_the_best_of_1024),
        cmocka_unit_test(the_tally_counts_the_shapes_within_three_percent),
        cmocka_unit_test(blueconnect_follows_a_symmetric_tree_and_is_one_ring_on_an_uneven_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
