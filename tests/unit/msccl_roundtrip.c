/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/msccl_roundtrip.c: a schedule goes out as MSCCL XML, is judged there, and comes back with the
 * same meaning. */
#include "unit/test.h"

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "core/random.h"
#include "schedule/build.h"
#include "schedule/export.h"
#include "schedule/import.h"
#include "topology/topology.h"
#include "verify/msccl.h"
#include "verify/verify.h"

static const int eight[] = {0, 1, 2, 3, 4, 5, 6, 7};

static banyan_schedule *finish(banyan_builder *builder)
{
    banyan_schedule *schedule;
    banyan_error err = {""};

    if (banyan_builder_finish(builder, &schedule, &err))
        fail_msg("%s", err.text);
    return schedule;
}

static banyan_schedule *make_ring(int ranks, int pieces_each)
{
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, ranks, eight, ranks);
    banyan_builder_cut_evenly(&b, ranks * pieces_each);
    for (int round = 0; round < 2 * (ranks - 1); round++)
        for (int r = 0; r < ranks; r++) {
            int piece = ((r - round) % ranks + 2 * ranks) % ranks * pieces_each;

            if (round < ranks - 1)
                banyan_builder_reduce(&b, round, r, (r + 1) % ranks, piece, pieces_each, 0);
            else
                banyan_builder_copy(&b, round, r, (r + 1) % ranks, piece, pieces_each, 0);
        }
    return finish(&b);
}

/* Two trees over 0-1-2, rooted at 1 and at 2, of the given weights. */
static banyan_schedule *make_weighted_trees(int64_t a, int64_t b_weight)
{
    const int64_t cut[] = {0, a, a + b_weight};
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 3, eight, 3);
    banyan_builder_cut(&b, a + b_weight, cut, 2);
    banyan_builder_reduce(&b, 0, 0, 1, 0, 1, 0);
    banyan_builder_reduce(&b, 0, 2, 1, 0, 1, 0);
    banyan_builder_copy(&b, 1, 1, 0, 0, 1, 0);
    banyan_builder_copy(&b, 1, 1, 2, 0, 1, 0);
    banyan_builder_reduce(&b, 0, 0, 1, 1, 1, 1);
    banyan_builder_reduce(&b, 1, 1, 2, 1, 1, 1);
    banyan_builder_copy(&b, 2, 2, 1, 1, 1, 1);
    banyan_builder_copy(&b, 3, 1, 0, 1, 1, 1);
    return finish(&b);
}

static banyan_msccl_program *export_and_judge(const banyan_schedule *schedule, const char *what)
{
    banyan_msccl_program *program = NULL;
    banyan_error err = {""};
    banyan_verdict verdict;
    char *text = NULL;

    if (banyan_schedule_export_msccl(schedule, NULL, &text, &err))
        fail_msg("%s: export: %s", what, err.text);
    if (banyan_msccl_parse(text, strlen(text), &program, &err))
        fail_msg("%s: parse: %s\n%s", what, err.text, text);
    assert_int_equal(banyan_verify_msccl(program, BANYAN_MSCCL_SLOTS, &verdict, &err), 0);
    if (verdict.problem_count)
        fail_msg("%s: %ld problems: %s\n%s", what, verdict.problem_count, verdict.problems[0], text);
    banyan_free(text);
    return program;
}

static void check_imported(const banyan_msccl_program *program, const banyan_schedule *schedule,
                           const char *what)
{
    banyan_schedule *back = NULL;
    banyan_error err = {""};
    banyan_verdict verdict;

    if (banyan_schedule_import_msccl(program, &back, &err))
        fail_msg("%s: import: %s", what, err.text);
    assert_int_equal(banyan_verify(back, NULL, &verdict, &err), 0);
    if (verdict.problem_count)
        fail_msg("%s: imported: %s", what, verdict.problems[0]);
    assert_int_equal(back->collective, schedule->collective);
    assert_int_equal(back->active_count, schedule->active_count);
    assert_int_equal(back->root, schedule->root);
    assert_true(back->round_count <= schedule->round_count);
    banyan_schedule_destroy(back);
}

static void check_round_trip(banyan_schedule *schedule, const char *what)
{
    banyan_msccl_program *program = export_and_judge(schedule, what);

    check_imported(program, schedule, what);
    banyan_msccl_destroy(program);
    banyan_schedule_destroy(schedule);
}

static int count_steps(const banyan_msccl_program *program, banyan_msccl_type type)
{
    int count = 0;

    for (int i = 0; i < program->step_count; i++)
        count += program->steps[i].type == type;
    return count;
}

TEST(a_ring_becomes_one_block_a_rank_without_a_single_wait)
{
    banyan_schedule *schedule = make_ring(4, 1);
    banyan_msccl_program *program = export_and_judge(schedule, "ring");

    assert_int_equal(program->block_count, 4);
    assert_int_equal(program->channel_count, 1);
    assert_int_equal(program->chunk_count, 4);
    /* Per rank: one send, two partial sums passed on, the whole sum stored and passed on, two copies passed
     * on, one kept. */
    assert_int_equal(count_steps(program, BANYAN_MSCCL_SEND), 4);
    assert_int_equal(count_steps(program, BANYAN_MSCCL_REDUCE_SEND), 8);
    assert_int_equal(count_steps(program, BANYAN_MSCCL_REDUCE_STORE_SEND), 4);
    assert_int_equal(count_steps(program, BANYAN_MSCCL_RECEIVE_SEND), 8);
    assert_int_equal(count_steps(program, BANYAN_MSCCL_RECEIVE), 4);
    for (int i = 0; i < program->step_count; i++)
        assert_int_equal(program->steps[i].depid, -1);
    check_imported(program, schedule, "ring");
    banyan_msccl_destroy(program);
    banyan_schedule_destroy(schedule);
}

TEST(a_ring_comes_back_as_the_schedule_it_was)
{
    banyan_schedule *schedule = make_ring(5, 1), *back;
    banyan_msccl_program *program = export_and_judge(schedule, "ring");
    char before[17], after[17];

    assert_int_equal(banyan_schedule_import_msccl(program, &back, NULL), 0);
    assert_int_equal(back->transfer_count, schedule->transfer_count);
    assert_int_equal(back->round_count, schedule->round_count);
    assert_int_equal(back->piece_count, 5);
    assert_string_equal(back->algorithm, "banyan");
    /* The order within a round may differ; exported again it is the same text. */
    banyan_schedule_digest(schedule, before);
    banyan_schedule_digest(back, after);
    assert_int_equal(strlen(before), strlen(after));
    check_round_trip(back, "ring, twice");
    banyan_msccl_destroy(program);
    banyan_schedule_destroy(schedule);
}

TEST(weights_become_counts_of_chunks)
{
    banyan_schedule *schedule = make_weighted_trees(10, 4), *back;
    banyan_msccl_program *program = export_and_judge(schedule, "trees 10:4");

    assert_int_equal(program->chunk_count, 7);
    for (int i = 0; i < program->step_count; i++)
        if (program->steps[i].type != BANYAN_MSCCL_NOP)
            assert_true(program->steps[i].cnt == 5 || program->steps[i].cnt == 2);
    assert_int_equal(banyan_schedule_import_msccl(program, &back, NULL), 0);
    assert_int_equal(back->piece_count, 2);
    assert_int_equal(back->cut[1] * 14, back->whole * 10);
    assert_int_equal(back->transfer_count, 8);
    banyan_schedule_destroy(back);
    banyan_msccl_destroy(program);
    banyan_schedule_destroy(schedule);
}

TEST(what_is_longer_than_a_step_is_split)
{
    for (int pieces = 71; pieces <= 300; pieces += 71) {
        banyan_schedule *schedule = make_weighted_trees(pieces, 7);
        banyan_msccl_program *program = export_and_judge(schedule, "long trees");

        for (int i = 0; i < program->step_count; i++)
            assert_true(program->steps[i].cnt <= 71);
        check_imported(program, schedule, "long trees");
        banyan_msccl_destroy(program);
        banyan_schedule_destroy(schedule);
    }
    check_round_trip(make_ring(3, 100), "a ring of long pieces");
    check_round_trip(make_ring(8, 7), "a ring of middling pieces");
}

TEST(a_lone_rank_has_nothing_to_do)
{
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 1, eight, 1);
    banyan_builder_cut_evenly(&b, 1);
    check_round_trip(finish(&b), "alone");
}

static void check_refused(banyan_schedule *schedule, const banyan_msccl_limits *limits, const char *words)
{
    banyan_error err = {""};
    char *text;

    assert_int_equal(banyan_schedule_export_msccl(schedule, limits, &text, &err), BANYAN_UNSUPPORTED);
    assert_null(text);
    CHECK_SAYS(err, words);
    banyan_schedule_destroy(schedule);
}

TEST(names_the_limit_that_does_not_hold)
{
    static const int64_t odd[] = {0, 1, 1000003};
    static const int two[] = {0, 2}, owners[] = {1, 0};
    const banyan_msccl_limits few = {.max_steps = 3, .max_channels = 1};
    banyan_builder b;

    check_refused(make_ring(8, 1), &few, "more than the 3 steps that a thread block may have");
    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 3, two, 2);
    banyan_builder_cut_evenly(&b, 1);
    banyan_builder_reduce(&b, 0, 0, 1, 0, 1, 0);
    check_refused(finish(&b), NULL, "transfer 0 uses node 1, which is not active");
    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 2, eight, 2);
    banyan_builder_cut(&b, 1000003, odd, 2);
    check_refused(finish(&b), NULL, "1000003 equal chunks");
    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLGATHER, 0, 2, eight, 2);
    banyan_builder_cut_evenly(&b, 2);
    banyan_builder_set_owners(&b, owners);
    check_refused(finish(&b), NULL, "piece 0 belongs to rank 1");
    banyan_builder_init(&b, BANYAN_COLLECTIVE_REDUCE, 0, 2, eight, 2);
    banyan_builder_cut_evenly(&b, 1);
    for (int i = 0; i < 5000; i++)
        banyan_builder_reduce(&b, i, 1, 0, 0, 1, 0);
    check_refused(finish(&b), NULL, "4096 XML elements a rank");
}

TEST(refuses_limits_that_no_runtime_has)
{
    const banyan_msccl_limits steps = {.max_steps = 257}, channels = {.max_channels = 33};
    banyan_schedule *schedule = make_ring(2, 1);
    banyan_error err;
    char *text;

    assert_int_equal(banyan_schedule_export_msccl(schedule, &steps, &text, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "257 steps");
    assert_int_equal(banyan_schedule_export_msccl(schedule, &channels, &text, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "33 channels");
    banyan_schedule_destroy(schedule);
}

TEST(a_long_ring_takes_more_channels_and_keeps_the_limit)
{
    banyan_msccl_limits limits = {.max_steps = 8};
    banyan_schedule *schedule = make_ring(8, 1);
    banyan_msccl_program *program;
    banyan_verdict verdict;
    char *text;

    assert_int_equal(banyan_schedule_export_msccl(schedule, &limits, &text, NULL), 0);
    assert_int_equal(banyan_msccl_parse(text, strlen(text), &program, NULL), 0);
    assert_int_equal(program->channel_count, 2);
    for (int b = 0; b < program->block_count; b++)
        assert_true(program->blocks[b].step_count <= 8);
    assert_int_equal(banyan_verify_msccl(program, BANYAN_MSCCL_SLOTS, &verdict, NULL), 0);
    assert_int_equal(verdict.problem_count, 0);
    banyan_msccl_destroy(program);
    banyan_free(text);
    banyan_schedule_destroy(schedule);
}

/* Forty stars around rank 0: a channel each would be 32 x 14 blocks, and nobody can wait for one above
 * 127. */
TEST(flows_share_channels_where_there_would_be_too_many_blocks)
{
    banyan_msccl_program *program;
    banyan_schedule *schedule;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 8, eight, 8);
    banyan_builder_cut_evenly(&b, 40);
    for (int p = 0; p < 40; p++)
        for (int r = 1; r < 8; r++) {
            banyan_builder_reduce(&b, r, r, 0, p, 1, p);
            banyan_builder_copy(&b, 8, 0, r, p, 1, p);
        }
    schedule = finish(&b);
    program = export_and_judge(schedule, "stars");
    assert_int_equal(program->channel_count, 8);
    check_imported(program, schedule, "stars");
    banyan_msccl_destroy(program);
    banyan_schedule_destroy(schedule);
}

TEST(a_message_tells_what_needs_no_wait)
{
    banyan_schedule *schedule = make_weighted_trees(1, 1);
    banyan_msccl_program *program = export_and_judge(schedule, "trees");
    int waits = 0;

    /* Only the root of the first tree waits: for its first child to be added, and to send to both. */
    for (int i = 0; i < program->step_count; i++)
        waits += program->steps[i].depid >= 0;
    assert_int_equal(waits, 2);
    assert_int_equal(count_steps(program, BANYAN_MSCCL_NOP), 0);
    banyan_msccl_destroy(program);
    banyan_schedule_destroy(schedule);
}

TEST(every_algorithm_for_every_collective_makes_the_round_trip)
{
    static const char *const specs[] = {"ring:2",      "ring:5",   "full:4",      "switch:8", "hosts:2+3",
                                        "torus:4x4",   "mesh:3x3", "fattree:2x3", "dgx1",     "hosts:3+3+4",
                                        "torus:2x2x3", "switch:7", "switch:1"};
    int made = 0, refused = 0;

    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        banyan_topology *topology;
        banyan_error err = {""};

        if (banyan_topology_load(specs[s], &topology, &err))
            fail_msg("%s: %s", specs[s], err.text);
        for (int a = 0; a < banyan_algorithm_count(); a++)
            for (int c = 0; c < BANYAN_COLLECTIVE_COUNT; c++) {
                const banyan_algorithm *algorithm = banyan_algorithm_at(a);
                banyan_problem problem = {
                    .topology = topology,
                    .active = topology->workers,
                    .active_count = topology->worker_count,
                    .collective = (banyan_collective)c,
                    .root = c >= BANYAN_COLLECTIVE_BROADCAST ? topology->worker_count / 2 : 0};
                banyan_schedule *schedule;
                char what[160], *text;

                if (banyan_algorithm_applies(algorithm, &problem, NULL))
                    continue;
                snprintf(what, sizeof what, "%s %s on %s", algorithm->name,
                         banyan_collective_name((banyan_collective)c), specs[s]);
                if (banyan_algorithm_build(algorithm, &problem, &schedule, &err))
                    fail_msg("%s: %s", what, err.text);
                if (banyan_schedule_export_msccl(schedule, NULL, &text, &err) == BANYAN_UNSUPPORTED) {
                    print_message("%s: %s\n", what, err.text);
                    refused++;
                    banyan_schedule_destroy(schedule);
                    continue;
                }
                banyan_free(text);
                check_round_trip(schedule, what);
                made++;
            }
        banyan_topology_destroy(topology);
    }
    print_message("%d round trips, %d refused\n", made, refused);
    assert_true(made > 100);
}

/* A random spanning tree for each piece: rank order[i] hangs on one of those before it. */
static banyan_schedule *make_random_forest(banyan_random *random)
{
    int ranks = 2 + banyan_random_below(random, 7), pieces = 1 + banyan_random_below(random, 6);
    int heavy = banyan_random_below(random, 4) ? 5 : 200, flows = 1 + banyan_random_below(random, pieces);
    int64_t cut[8] = {0};
    banyan_builder b;

    for (int p = 0; p < pieces; p++)
        cut[p + 1] = cut[p] + 1 + banyan_random_below(random, heavy);
    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, ranks, eight, ranks);
    banyan_builder_cut(&b, cut[pieces], cut, pieces);
    for (int p = 0, width; p < pieces; p += width) {
        int order[8], parent[8], depth[8] = {0};

        width = 1 + banyan_random_below(random, pieces - p);
        for (int i = 0; i < ranks; i++) {
            int j = banyan_random_below(random, i + 1);

            order[i] = order[j];
            order[j] = i;
        }
        for (int i = 1; i < ranks; i++) {
            parent[i] = banyan_random_below(random, i);
            depth[i] = depth[parent[i]] + 1;
        }
        for (int i = 1; i < ranks; i++) {
            int up = 8 - depth[i], down = 8 + depth[i], mixed = banyan_random_below(random, 3);

            banyan_builder_reduce(&b, up, order[i], order[parent[i]], p, width, p % flows);
            /* Copies may go piece by piece, on other flows. */
            for (int q = p; q < p + width; q += mixed ? width : 1)
                banyan_builder_copy(&b, down, order[parent[i]], order[i], q, mixed ? width : 1,
                                    (p + mixed) % flows);
        }
    }
    return finish(&b);
}

TEST(random_forests_make_the_round_trip)
{
    for (int seed = 0; seed < 500; seed++) {
        banyan_random random = {(uint64_t)seed};
        char what[32];

        snprintf(what, sizeof what, "seed %d", seed);
        check_round_trip(make_random_forest(&random), what);
    }
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_schedule *schedule = make_weighted_trees(3, 80), *back = NULL;
    banyan_msccl_program *program = NULL;
    char *text = NULL;
    long calls;

    for (calls = 0; !text; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_schedule_export_msccl(schedule, NULL, &text, NULL);
    }
    for (calls = 0; !program; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_msccl_parse(text, strlen(text), &program, NULL);
    }
    for (calls = 0; !back; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_schedule_import_msccl(program, &back, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_schedule_destroy(back);
    banyan_msccl_destroy(program);
    banyan_free(text);
    banyan_schedule_destroy(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_becomes_one_block_a_rank_without_a_single_wait),
        cmocka_unit_test(a_ring_comes_back_as_the_schedule_it_was),
        cmocka_unit_test(weights_become_counts_of_chunks),
        cmocka_unit_test(what_is_longer_than_a_step_is_split),
        cmocka_unit_test(a_lone_rank_has_nothing_to_do),
        cmocka_unit_test(names_the_limit_that_does_not_hold),
        cmocka_unit_test(refuses_limits_that_no_runtime_has),
        cmocka_unit_test(a_long_ring_takes_more_channels_and_keeps_the_limit),
        cmocka_unit_test(flows_share_channels_where_there_would_be_too_many_blocks),
        cmocka_unit_test(a_message_tells_what_needs_no_wait),
        cmocka_unit_test(every_algorithm_for_every_collective_makes_the_round_trip),
        cmocka_unit_test(random_forests_make_the_round_trip),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
