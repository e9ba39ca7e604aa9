/* SPDX-License-Identifier: Apache-2.0 */
/* Nested rings: hierarchical and BlueConnect, shapes, and the search for the best shape. */
#include <math.h>

#include "algorithms/layers-model.h"
#include "core/alloc.h"
#include "meaning.h"
#include "networks.h"
#include "unit/test.h"

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

/* ABCI: nodes of 4 GPUs with NVLink twelve times as fast as one InfiniBand adapter, of which there are two.
 */
static const banyan_layers_model abci = {4.80e-6, 2, 4, 12 * 9301.19e6, 2 * 9301.19e6};

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
        seconds = banyan_layers_model_s(&abci, &shape, ABCI_BYTES);
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

        assert_true(fabs(banyan_layers_model_s(&abci, &two, ABCI_BYTES) -
                         (per_step * (2 + nodes) + 2 * ABCI_BYTES / slow * (9.0 / 16 - 0.5 / nodes))) <
                    1e-12);
        assert_true(fabs(banyan_layers_model_s(&abci, &flat, ABCI_BYTES) -
                         (per_step * (4 * nodes - 1) + 2 * ABCI_BYTES / slow * (0.5 - 0.125 / nodes))) <
                    1e-12);
    }
}

static void check_ranking(int ranks, long wanted_count, const char *const *best)
{
    banyan_ranked_layers found[5];
    long tried;

    assert_int_equal(banyan_layers_rank(&abci, ranks, 99, ABCI_BYTES, found, 5, &tried), 5);
    assert_int_equal(tried, wanted_count);
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
    long tried;

    check_ranking(128, 64, best_128);
    check_ranking(2048, 1024, best_2048);
    assert_int_equal(banyan_layers_rank(&abci, 360, 99, ABCI_BYTES, found, 2, &tried), 2);
    assert_int_equal(tried, 604);
    assert_int_equal(banyan_layers_rank(&abci, 65536, 99, ABCI_BYTES, found, 2, &tried), 2);
    assert_int_equal(tried, 32768);
    assert_int_equal(banyan_layers_rank(&abci, 8, 1, ABCI_BYTES, found, 2, &tried), 1);
    assert_int_equal(banyan_layers_rank(&abci, 1, 9, ABCI_BYTES, found, 2, &tried), 0);
    assert_int_equal(banyan_layers_rank(&abci, 8, 9, ABCI_BYTES, NULL, 0, &tried), 0);
    assert_int_equal(tried, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_is_an_all_reduce_with_the_rounds_of_its_rings),
        cmocka_unit_test(one_layer_is_the_ring_and_layers_of_two_are_halving_doubling),
        cmocka_unit_test(ranks_beyond_the_shape_lean_on_a_neighbour),
        cmocka_unit_test(rings_may_run_both_ways_and_do_so_where_workers_have_links_both_ways_round),
        cmocka_unit_test(the_search_finds_the_best_of_all_shapes),
        cmocka_unit_test(long_vectors_first_meet_within_hosts_and_short_ones_in_small_rings),
        cmocka_unit_test(wrong_shapes_are_refused_with_a_sentence),
        cmocka_unit_test(the_plain_model_gives_the_reference_times_on_abci),
        cmocka_unit_test(the_plain_model_agrees_with_the_closed_forms_of_two_layers),
        cmocka_unit_test(all_ordered_factorisations_are_ranked),
        cmocka_unit_test(blueconnect_follows_a_symmetric_tree_and_is_one_ring_on_an_uneven_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
