/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/verify.c: what the proof accepts, and the sentence for each thing it refuses. */
#include "unit/test.h"

#include "core/alloc.h"
#include "schedule/build.h"
#include "topology/build.h"
#include "verify/verify.h"

static const int ranks[] = {0, 1, 2, 3};

/* Workers g0, g1, g2 and an idle g3 on switch s4, which has the given abilities. */
static banyan_topology *make_star(int can_multicast, int can_reduce)
{
    banyan_topology_builder builder;
    banyan_topology *t;

    banyan_topology_builder_init(&builder, "star");
    for (int i = 0; i < 4; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    banyan_topology_add_switch(&builder, "s4");
    banyan_topology_set_abilities(&builder, 4, can_multicast, can_reduce);
    for (int i = 0; i < 4; i++)
        banyan_topology_add_cable(&builder, i, 4, 1e9, 0);
    assert_int_equal(banyan_topology_builder_finish(&builder, &t, NULL), 0);
    return t;
}

/* Transfers as {round, src, dst, first, count, is_copy, flow, route}; judged over three ranks and one
 * piece. */
static void judge(banyan_collective collective, const banyan_topology *t, const int (*rows)[6], int count,
                  const char *says)
{
    banyan_schedule *schedule;
    banyan_verdict verdict;
    banyan_error err = {""};
    banyan_builder b;

    banyan_builder_init(&b, collective, 0, 5, ranks, 3);
    banyan_builder_cut_evenly(&b, 3);
    for (int i = 0; i < count; i++)
        banyan_builder_add(&b,
                           (banyan_transfer){.round = rows[i][0],
                                             .src = rows[i][1],
                                             .dst = rows[i][2],
                                             .first_piece = rows[i][3],
                                             .piece_count = rows[i][4],
                                             .action = rows[i][5] ? BANYAN_ACTION_COPY : BANYAN_ACTION_REDUCE,
                                             .route = -1});
    assert_int_equal(banyan_builder_finish(&b, &schedule, NULL), 0);
    assert_int_equal(banyan_verify(schedule, t, &verdict, NULL), 0);
    if (!says && verdict.problem_count)
        fail_msg("refused: %s", verdict.problems[0]);
    if (says && !verdict.problem_count)
        fail_msg("accepted, but should say: %s", says);
    if (says && !strstr(verdict.problems[0], says))
        fail_msg("'%s' does not say '%s'", verdict.problems[0], says);
    assert_int_equal(banyan_verdict_status(&verdict, &err), says ? BANYAN_PLAN_INVALID : BANYAN_SUCCESS);
    banyan_schedule_destroy(schedule);
}

#define JUDGE(collective, t, says, ...)                                                                      \
    do {                                                                                                     \
        static const int rows[][6] = __VA_ARGS__;                                                            \
        judge(BANYAN_COLLECTIVE_##collective, t, rows, (int)(sizeof rows / sizeof *rows), says);             \
    } while (0)

TEST(accepts_a_tree_to_one_root_and_back)
{
    JUDGE(ALLREDUCE, NULL, NULL,
          {{0, 1, 0, 0, 3, 0}, {0, 2, 0, 0, 3, 0}, {1, 0, 1, 0, 3, 1}, {1, 0, 2, 0, 3, 1}});
}

TEST(accepts_each_collective)
{
    JUDGE(REDUCE, NULL, NULL, {{0, 1, 0, 0, 3, 0}, {0, 2, 0, 0, 3, 0}});
    JUDGE(BROADCAST, NULL, NULL, {{0, 0, 1, 0, 3, 1}, {1, 1, 2, 0, 3, 1}});
    JUDGE(REDUCE_SCATTER, NULL, NULL,
          {{0, 1, 0, 0, 1, 0},
           {0, 2, 0, 0, 1, 0},
           {0, 0, 1, 1, 1, 0},
           {0, 2, 1, 1, 1, 0},
           {0, 0, 2, 2, 1, 0},
           {0, 1, 2, 2, 1, 0}});
    JUDGE(ALLGATHER, NULL, NULL,
          {{0, 0, 1, 0, 1, 1},
           {0, 0, 2, 0, 1, 1},
           {0, 1, 0, 1, 1, 1},
           {0, 1, 2, 1, 1, 1},
           {0, 2, 0, 2, 1, 1},
           {0, 2, 1, 2, 1, 1}});
}

TEST(accepts_a_doubled_value_that_is_overwritten_later)
{
    /* g2 gets g1's contribution twice, but nobody uses that value. */
    JUDGE(ALLREDUCE, NULL, NULL,
          {{0, 1, 0, 0, 3, 0},
           {0, 2, 0, 0, 3, 0},
           {1, 1, 2, 0, 3, 0},
           {2, 1, 2, 0, 3, 0},
           {3, 0, 1, 0, 3, 1},
           {3, 0, 2, 0, 3, 1}});
}

TEST(sees_a_missing_contribution)
{
    JUDGE(ALLREDUCE, NULL, "piece 0 at rank 0 (node 0) ends without rank 2's contribution",
          {{0, 1, 0, 0, 3, 0}, {1, 0, 1, 0, 3, 1}, {1, 0, 2, 0, 3, 1}});
    JUDGE(ALLREDUCE, NULL, "ends without rank 1's contribution", {{0, 2, 0, 0, 3, 0}});
}

TEST(sees_a_contribution_that_is_counted_twice)
{
    JUDGE(
        ALLREDUCE, NULL, "rank 1's contribution more than once, since transfer 2 (round 1, node 2 to node 0)",
        {{0, 1, 0, 0, 3, 0}, {0, 1, 2, 0, 3, 0}, {1, 2, 0, 0, 3, 0}, {2, 0, 1, 0, 3, 1}, {2, 0, 2, 0, 3, 1}});
}

TEST(sees_data_that_is_read_too_early_or_never_there)
{
    JUDGE(BROADCAST, NULL,
          "transfer 0 (round 0, node 1 to node 2) reads piece 0 of rank 1 (node 1), which is not there",
          {{0, 1, 2, 0, 3, 1}, {1, 0, 1, 0, 3, 1}});
    JUDGE(BROADCAST, NULL, "piece 2 never reaches rank 2", {{0, 0, 1, 0, 3, 1}, {1, 1, 2, 0, 2, 1}});
    JUDGE(
        ALLREDUCE, NULL, "adds to piece 0 of node 3, which holds none yet",
        {{0, 1, 3, 0, 3, 0}, {1, 3, 0, 0, 3, 0}, {0, 2, 0, 0, 3, 0}, {2, 0, 1, 0, 3, 1}, {2, 0, 2, 0, 3, 1}});
}

TEST(accepts_an_idle_worker_as_relay)
{
    JUDGE(ALLREDUCE, NULL, NULL,
          {{0, 1, 3, 0, 3, 1},
           {1, 2, 3, 0, 3, 0},
           {2, 3, 0, 0, 3, 0},
           {3, 0, 3, 0, 3, 1},
           {4, 3, 1, 0, 3, 1},
           {4, 3, 2, 0, 3, 1}});
}

TEST(sees_two_changes_that_race)
{
    JUDGE(ALLREDUCE, NULL, "races: piece 0 of rank 0",
          {{0, 1, 0, 0, 3, 1}, {0, 2, 0, 0, 3, 0}, {1, 0, 1, 0, 3, 1}, {1, 0, 2, 0, 3, 1}});
}

TEST(sees_a_broadcast_that_adds)
{
    JUDGE(BROADCAST, NULL, "rank 0's contribution more than once, since transfer 2",
          {{0, 0, 1, 0, 3, 1}, {0, 0, 2, 0, 3, 1}, {1, 1, 2, 0, 3, 0}});
}

TEST(holds_routes_and_abilities_against_the_network)
{
    banyan_topology *plain = make_star(0, 0), *adds = make_star(0, 1), *both = make_star(1, 1),
                    *copies = make_star(1, 0);

    JUDGE(ALLREDUCE, plain, NULL,
          {{0, 1, 0, 0, 3, 0}, {0, 2, 0, 0, 3, 0}, {1, 0, 1, 0, 3, 1}, {1, 0, 2, 0, 3, 1}});
    static const int through_switch[][6] = {{0, 0, 4, 0, 3, 1}, {1, 1, 4, 0, 3, 0}, {2, 2, 4, 0, 3, 0},
                                            {3, 4, 0, 0, 3, 1}, {3, 4, 1, 0, 3, 1}, {3, 4, 2, 0, 3, 1}};

    judge(BANYAN_COLLECTIVE_ALLREDUCE, both, through_switch, 6, NULL);
    judge(BANYAN_COLLECTIVE_ALLREDUCE, plain, through_switch, 6, "switch s4 can only forward");
    judge(BANYAN_COLLECTIVE_ALLREDUCE, copies, through_switch, 6, "switch s4 cannot add");
    judge(BANYAN_COLLECTIVE_ALLREDUCE, adds, through_switch, 6,
          "switch s4 sends piece 0 again but cannot multicast");
    banyan_topology_destroy(plain);
    banyan_topology_destroy(adds);
    banyan_topology_destroy(both);
    banyan_topology_destroy(copies);
}

/* Right in the end if a node without data began with zeros, or a switch that only forwards had memory: what
 * runs has neither. */
TEST(names_the_rule_for_nodes_that_begin_without_data)
{
    static const int by_relay[][6] = {{0, 0, 3, 0, 3, 0}, {1, 1, 3, 0, 3, 0}, {2, 2, 3, 0, 3, 0},
                                      {3, 3, 0, 0, 3, 1}, {3, 3, 1, 0, 3, 1}, {3, 3, 2, 0, 3, 1}};
    static const int by_switch[][6] = {{0, 0, 4, 0, 3, 0}, {1, 1, 4, 0, 3, 0}, {2, 2, 4, 0, 3, 0},
                                       {3, 4, 0, 0, 3, 1}, {3, 4, 1, 0, 3, 1}, {3, 4, 2, 0, 3, 1}};
    static const int two_hops[][6] = {
        {0, 1, 4, 0, 3, 1}, {1, 4, 0, 0, 3, 0}, {1, 2, 0, 0, 3, 0}, {2, 0, 1, 0, 3, 1}, {2, 0, 2, 0, 3, 1}};
    banyan_topology *plain = make_star(0, 0), *both = make_star(1, 1);
    int first_copies[6][6];

    judge(BANYAN_COLLECTIVE_ALLREDUCE, plain, by_relay, 6,
          "transfer 0 (round 0, g0 to g3) adds to piece 0 of g3, which holds none yet: what comes first to a "
          "node "
          "without data is a copy");
    judge(BANYAN_COLLECTIVE_ALLREDUCE, both, by_switch, 6,
          "adds to piece 0 of s4, which holds none yet: what comes first to a node without data is a copy");
    judge(BANYAN_COLLECTIVE_ALLREDUCE, plain, two_hops, 5,
          "transfer 0 (round 0, g1 to s4): switch s4 can only forward and holds no data: transfers lead "
          "through "
          "it, they do not begin or end there");
    memcpy(first_copies, by_relay, sizeof first_copies);
    first_copies[0][5] = 1;
    judge(BANYAN_COLLECTIVE_ALLREDUCE, plain, (const int(*)[6])first_copies, 6, NULL);
    memcpy(first_copies, by_switch, sizeof first_copies);
    first_copies[0][5] = 1;
    judge(BANYAN_COLLECTIVE_ALLREDUCE, both, (const int(*)[6])first_copies, 6, NULL);
    banyan_topology_destroy(plain);
    banyan_topology_destroy(both);
}

/* One transfer with an explicit route of the given links. */
static void judge_route(const int *links, int count, const char *says)
{
    banyan_topology *t = make_star(0, 0);
    banyan_schedule *schedule;
    banyan_verdict verdict;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_BROADCAST, 0, 5, ranks, 2);
    banyan_builder_cut_evenly(&b, 1);
    banyan_builder_add(&b, (banyan_transfer){.src = 0,
                                             .dst = 1,
                                             .piece_count = 1,
                                             .action = BANYAN_ACTION_COPY,
                                             .route = banyan_builder_add_route(&b, links, count)});
    assert_int_equal(banyan_builder_finish(&b, &schedule, NULL), 0);
    assert_int_equal(banyan_verify(schedule, t, &verdict, NULL), 0);
    assert_int_equal(verdict.problem_count, says ? 1 : 0);
    if (says && !strstr(verdict.problems[0], says))
        fail_msg("'%s' does not say '%s'", verdict.problems[0], says);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(t);
}

TEST(follows_explicit_routes_link_by_link)
{
    judge_route((int[]){0, 3}, 2, NULL); /* g0->s4, s4->g1 */
    judge_route((int[]){0}, 1, "its route ends at s4");
    judge_route((int[]){0, 0}, 2, "its route is at s4, but link 0 starts at g0");
    judge_route((int[]){0, 99}, 2, "link 99, but there are only 8");
}

TEST(says_when_the_schedule_is_for_another_network)
{
    banyan_topology *t = make_star(0, 0);
    banyan_schedule *schedule;
    banyan_verdict verdict;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 9, (int[]){4}, 1);
    banyan_builder_cut_evenly(&b, 1);
    assert_int_equal(banyan_builder_finish(&b, &schedule, NULL), 0);
    assert_int_equal(banyan_verify(schedule, t, &verdict, NULL), 0);
    assert_non_null(strstr(verdict.problems[0], "the schedule is for 9 nodes, but star has 5"));
    schedule->node_count = 5;
    assert_int_equal(banyan_verify(schedule, t, &verdict, NULL), 0);
    assert_non_null(strstr(verdict.problems[0], "active node 4 (s4) is a switch"));
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(t);
}

TEST(shows_the_first_problems_and_counts_the_rest)
{
    banyan_schedule *schedule;
    banyan_verdict verdict;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_BROADCAST, 0, 3, ranks, 3);
    banyan_builder_cut_evenly(&b, 50);
    for (int i = 0; i < 50; i++)
        banyan_builder_copy(&b, 49 - i, 1, 2, i, 1, 0);
    assert_int_equal(banyan_builder_finish(&b, &schedule, NULL), 0);
    assert_int_equal(banyan_verify(schedule, NULL, &verdict, NULL), 0);
    assert_int_equal(verdict.problem_count, 50 + 50 + 50);
    assert_non_null(strstr(verdict.problems[0], "transfer 0 (round 0"));
    assert_int_equal(strncmp(verdict.problems[BANYAN_VERDICT_SHOWN - 1], "", 1) != 0, 1);
    banyan_schedule_destroy(schedule);
}

TEST(tells_whether_ranks_add_in_the_same_order)
{
    /* Every rank adds up what the others send, each in its own order: right, but not to the last bit. */
    static const int pairs[3][2] = {{1, 2}, {0, 2}, {0, 1}};

    for (int as_tree = 0; as_tree < 2; as_tree++) {
        banyan_schedule *schedule;
        banyan_verdict verdict;
        banyan_builder b;

        banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 3, ranks, 3);
        banyan_builder_cut_evenly(&b, 1);
        for (int r = 0; r < 3 && !as_tree; r++)
            for (int i = 0; i < 2; i++)
                banyan_builder_reduce(&b, 0, pairs[r][i], r, 0, 1, 0);
        if (as_tree) {
            banyan_builder_reduce(&b, 0, 2, 1, 0, 1, 0);
            banyan_builder_reduce(&b, 1, 0, 1, 0, 1, 0);
            banyan_builder_reduce(&b, 1, 1, 0, 0, 1, 0);
            banyan_builder_copy(&b, 2, 0, 2, 0, 1, 0);
        }
        assert_int_equal(banyan_builder_finish(&b, &schedule, NULL), 0);
        assert_int_equal(banyan_verify(schedule, NULL, &verdict, NULL), 0);
        assert_int_equal(verdict.problem_count, 0);
        assert_int_equal(verdict.orders_differ, !as_tree);
        if (!as_tree)
            assert_non_null(strstr(verdict.note, "ranks 0 and 2 add piece 0 in different orders"));
        banyan_schedule_destroy(schedule);
    }
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_topology *t = make_star(0, 1);
    banyan_schedule *schedule;
    banyan_verdict verdict;
    banyan_builder b;
    banyan_status status = BANYAN_SYSTEM_ERROR;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_REDUCE, 0, 5, ranks, 2);
    banyan_builder_cut_evenly(&b, 1);
    banyan_builder_copy(&b, 0, 1, 4, 0, 1, 0);
    banyan_builder_reduce(&b, 1, 4, 0, 0, 1, 0);
    assert_int_equal(banyan_builder_finish(&b, &schedule, NULL), 0);
    for (long calls = 0; status; calls++) {
        banyan_alloc_fail_after(calls);
        status = banyan_verify(schedule, t, &verdict, NULL);
        assert_true(status == BANYAN_SUCCESS || status == BANYAN_SYSTEM_ERROR);
    }
    banyan_alloc_fail_after(-1);
    assert_int_equal(verdict.problem_count, 0);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_a_tree_to_one_root_and_back),
        cmocka_unit_test(accepts_each_collective),
        cmocka_unit_test(accepts_a_doubled_value_that_is_overwritten_later),
        cmocka_unit_test(sees_a_missing_contribution),
        cmocka_unit_test(sees_a_contribution_that_is_counted_twice),
        cmocka_unit_test(sees_data_that_is_read_too_early_or_never_there),
        cmocka_unit_test(accepts_an_idle_worker_as_relay),
        cmocka_unit_test(sees_two_changes_that_race),
        cmocka_unit_test(sees_a_broadcast_that_adds),
        cmocka_unit_test(holds_routes_and_abilities_against_the_network),
        cmocka_unit_test(names_the_rule_for_nodes_that_begin_without_data),
        cmocka_unit_test(follows_explicit_routes_link_by_link),
        cmocka_unit_test(says_when_the_schedule_is_for_another_network),
        cmocka_unit_test(shows_the_first_problems_and_counts_the_rest),
        cmocka_unit_test(tells_whether_ranks_add_in_the_same_order),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
