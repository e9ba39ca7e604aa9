/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/tree.c: the control tree up to 16,384 ranks: who is whose parent, how deep it is, and where
 * ranks find a refuge. */
#include "test.h"

#include "bootstrap/tree.h"
#include "group/control.h"

enum { MOST = 16384 };

static const int fanouts[] = {2, 3, 16, 32}, sizes[] = {1, 2, 17, 18, 64, 257, 1024, 4096, MOST};

#define EACH(i, array) (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

TEST(every_rank_but_the_root_is_a_child_of_its_parent)
{
    for
        EACH(f, fanouts)
    for (int rank = 1; rank < 2000; rank++) {
        int parent = banyan_tree_parent(fanouts[f], rank);
        int first = banyan_tree_first_child(fanouts[f], parent);

        assert_true(parent >= 0 && parent < rank);
        assert_in_range(rank, first, first + fanouts[f] - 1);
        assert_int_equal(banyan_tree_level(fanouts[f], rank), 1 + banyan_tree_level(fanouts[f], parent));
    }
    assert_int_equal(banyan_tree_parent(16, 0), -1);
    assert_int_equal(banyan_tree_level(16, 0), 0);
}

TEST(children_are_counted_once_and_nobody_has_more_than_the_fan_out)
{
    for
        EACH(f, fanouts)
        for
            EACH(s, sizes)
            {
                int sum = 0;

                for (int rank = 0; rank < sizes[s]; rank++) {
                    int count = banyan_tree_child_count(fanouts[f], sizes[s], rank);

                    assert_in_range(count, 0, fanouts[f]);
                    sum += count;
                }
                assert_int_equal(sum, sizes[s] - 1);
            }
}

/* What docs/scale.md says of the default. */
TEST(sixteen_thousand_ranks_are_four_levels_below_the_root)
{
    assert_int_equal(banyan_tree_level(BANYAN_CONTROL_FANOUT, 16), 1); /* 17 ranks are a star */
    assert_int_equal(banyan_tree_level(BANYAN_CONTROL_FANOUT, 272), 2);
    assert_int_equal(banyan_tree_level(BANYAN_CONTROL_FANOUT, 1023), 3);
    assert_int_equal(banyan_tree_level(BANYAN_CONTROL_FANOUT, 4095), 3);
    assert_int_equal(banyan_tree_level(BANYAN_CONTROL_FANOUT, MOST - 1), 4);
    assert_true(BANYAN_CONTROL_FANOUT + 1 <= BANYAN_CONTROL_MAX_CONNECTIONS);
}

TEST(a_path_down_leads_to_every_rank_below_and_to_no_other)
{
    for
        EACH(f, fanouts)
    for (int rank = 0; rank < 300; rank += 7)
        for (int other = 0; other < 300; other++) {
            int child = banyan_tree_child_toward(fanouts[f], rank, other), above = other;

            while (above > rank)
                above = banyan_tree_parent(fanouts[f], above);
            assert_int_equal(child >= 0, other != rank && above == rank);
            if (child >= 0)
                assert_int_equal(banyan_tree_parent(fanouts[f], child), rank);
        }
}

/* Links to a higher level only: there is no cycle, whoever takes in whom. */
TEST(refuges_are_higher_up_all_different_and_end_at_the_root)
{
    static char is_named[MOST];

    for
        EACH(f, fanouts)
    for (int rank = 0; rank < 3000; rank += 11) {
        int level = banyan_tree_level(fanouts[f], rank), last = -1, next, count = 0;
        banyan_tree_climb climb;

        memset(is_named, 0, sizeof is_named);
        banyan_tree_climb_init(&climb, fanouts[f], rank);
        while ((next = banyan_tree_climb_next(&climb, fanouts[f], 3000, 1)) >= 0) {
            assert_in_range(next, 0, 2999);
            assert_false(is_named[next]);
            assert_true(banyan_tree_level(fanouts[f], next) < level);
            assert_true(next != banyan_tree_parent(fanouts[f], rank));
            is_named[next] = 1;
            last = next;
            count++;
        }
        assert_int_equal(is_named[0], level > 1);
        if (level > 1) /* the root's other children come last */
            assert_int_equal(banyan_tree_parent(fanouts[f], last), 0);
        assert_true(count <= level * fanouts[f]);
    }
}

TEST(without_others_only_ancestors_are_asked)
{
    banyan_tree_climb climb;

    banyan_tree_climb_init(&climb, 2, 23); /* 23, 11, 5, 2, 0 */
    assert_int_equal(banyan_tree_climb_next(&climb, 2, 100, 0), 5);
    assert_int_equal(banyan_tree_climb_next(&climb, 2, 100, 1), 12);
    assert_int_equal(banyan_tree_climb_next(&climb, 2, 100, 0), 2);
    assert_int_equal(banyan_tree_climb_next(&climb, 2, 100, 0), 0);
    assert_int_equal(banyan_tree_climb_next(&climb, 2, 100, 0), -1);
}

/* A host with eight ranks dies, and half of the root's children with it: those that are left can hold all
 * whose parent they were. */
TEST(the_others_of_a_family_have_room_for_those_who_lose_their_parent)
{
    enum { LOST = 8, RANKS = 273 };
    int held[RANKS] = {0}, most = 0;

    for (int rank = 0; rank < RANKS; rank++)
        held[rank] = (rank > 0) + banyan_tree_child_count(BANYAN_CONTROL_FANOUT, RANKS, rank);
    held[0] -= LOST;
    for (int rank = 17; rank < RANKS; rank++) {
        banyan_tree_climb climb;
        int next;

        if (banyan_tree_parent(BANYAN_CONTROL_FANOUT, rank) > LOST)
            continue;
        banyan_tree_climb_init(&climb, BANYAN_CONTROL_FANOUT, rank);
        do
            next = banyan_tree_climb_next(&climb, BANYAN_CONTROL_FANOUT, RANKS, 1);
        while (next >= 0 && ((next > 0 && next <= LOST) || held[next] == BANYAN_CONTROL_MAX_CONNECTIONS));
        assert_true(next >= 0);
        held[next]++;
    }
    for (int rank = 0; rank < RANKS; rank++)
        most = held[rank] > most ? held[rank] : most;
    assert_int_equal(most, BANYAN_CONTROL_MAX_CONNECTIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_but_the_root_is_a_child_of_its_parent),
        cmocka_unit_test(children_are_counted_once_and_nobody_has_more_than_the_fan_out),
        cmocka_unit_test(sixteen_thousand_ranks_are_four_levels_below_the_root),
        cmocka_unit_test(a_path_down_leads_to_every_rank_below_and_to_no_other),
        cmocka_unit_test(refuges_are_higher_up_all_different_and_end_at_the_root),
        cmocka_unit_test(without_others_only_ancestors_are_asked),
        cmocka_unit_test(the_others_of_a_family_have_room_for_those_who_lose_their_parent),
    };

    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
