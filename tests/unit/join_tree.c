/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/join_tree.c: ranks arrive and leave in any order; the tree stays one. */
#include "bootstrap/join_tree.h"

#include "core/alloc.h"
#include "core/random.h"
#include "test.h"

static banyan_join_tree tree;

static void open_tree(int size)
{
    assert_int_equal(banyan_join_tree_init(&tree, size, NULL), 0);
}

static int level_of(int rank)
{
    int level = 0;

    for (; rank != BANYAN_JOIN_ROOT; level++) {
        assert_true(tree.nodes[rank].visit > 0);
        assert_true(level <= tree.size); /* no cycle */
        rank = tree.nodes[rank].parent;
    }
    return level;
}

TEST(the_first_sixteen_wait_with_the_root_and_the_others_with_those)
{
    enum { SIZE = 16 + 256 + 1 };

    open_tree(SIZE);
    for (int r = 0; r < SIZE; r++)
        assert_int_equal(banyan_join_tree_add(&tree, r, 1, 0), r < 16 ? BANYAN_JOIN_ROOT : (r - 16) / 16);
    assert_int_equal(level_of(SIZE - 1), 3);
    banyan_join_tree_fini(&tree);
}

TEST(a_rank_that_takes_no_children_gets_none)
{
    open_tree(40);
    for (int r = 0; r < 40; r++)
        assert_true(banyan_join_tree_add(&tree, r, 1, r < 3) != 0);
    assert_true(!tree.nodes[0].child_count && !tree.nodes[2].child_count && tree.nodes[3].child_count == 16);
    banyan_join_tree_fini(&tree);
    open_tree(40); /* where nobody does, the root takes all */
    for (int r = 0; r < 40; r++)
        assert_int_equal(banyan_join_tree_add(&tree, r, 1, 1), BANYAN_JOIN_ROOT);
    banyan_join_tree_fini(&tree);
}

TEST(a_rank_that_leaves_takes_those_below_it_along_and_its_room_is_used_again)
{
    open_tree(60);
    for (int r = 0; r < 60; r++)
        banyan_join_tree_add(&tree, r, 1, 0);
    banyan_join_tree_remove(&tree, 1); /* whose children are 32 to 47 */
    assert_int_equal(tree.count, 60 - 17);
    assert_true(!tree.nodes[1].visit && !tree.nodes[32].visit && !tree.nodes[47].visit);
    assert_int_equal(banyan_join_tree_add(&tree, 32, 1, 0), BANYAN_JOIN_ROOT); /* in the place of rank 1 */
    assert_int_equal(banyan_join_tree_add(&tree, 33, 2, 0), BANYAN_JOIN_ROOT); /* a second visit */
    assert_int_equal(banyan_join_tree_add(&tree, 34, 1, 0), 2);                /* which has 48 to 59 */
    banyan_join_tree_fini(&tree);
}

static void check_tree(void)
{
    static int children[1000];
    int at_root = 0;

    memset(children, 0, sizeof children);
    for (int i = 0; i < tree.count; i++) {
        int parent = tree.nodes[tree.order[i]].parent;

        level_of(tree.order[i]);
        *(parent == BANYAN_JOIN_ROOT ? &at_root : &children[parent]) += 1;
    }
    assert_int_equal(at_root, tree.root_child_count);
    assert_in_range(at_root, 0, BANYAN_JOIN_ROOT_CHILDREN);
    for (int r = 0; r < tree.size; r++)
        assert_true(children[r] <= BANYAN_JOIN_CHILDREN &&
                    (!tree.nodes[r].visit || children[r] == tree.nodes[r].child_count));
}

TEST(ranks_may_come_and_go_in_any_order)
{
    banyan_random random = {2027};
    int visits[1000] = {0};

    open_tree(1000);
    for (int i = 0; i < 20000; i++) {
        int rank = (int)banyan_random_below(&random, 1000);

        if (!tree.nodes[rank].visit)
            banyan_join_tree_add(&tree, rank, ++visits[rank], rank % 7 == 0);
        else if (banyan_random_below(&random, 20) == 0)
            banyan_join_tree_remove(&tree, rank);
        if (i % 50 == 0)
            check_tree();
    }
    banyan_join_tree_fini(&tree);
}

TEST(the_failure_of_each_allocation_is_survived)
{
    banyan_status status = BANYAN_SYSTEM_ERROR;

    for (int calls = 0; status; calls++) {
        banyan_alloc_fail_after(calls);
        status = banyan_join_tree_init(&tree, 10, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_join_tree_fini(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_sixteen_wait_with_the_root_and_the_others_with_those),
        cmocka_unit_test(a_rank_that_takes_no_children_gets_none),
        cmocka_unit_test(a_rank_that_leaves_takes_those_below_it_along_and_its_room_is_used_again),
        cmocka_unit_test(ranks_may_come_and_go_in_any_order),
        cmocka_unit_test(the_failure_of_each_allocation_is_survived),
    };

    return cmocka_run_group_tests_name("join_tree", tests, NULL, NULL);
}
