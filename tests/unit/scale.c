/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/scale.c: the formulas of docs/scale.md, counted message by message up to 16,384 ranks. A network
 * that only counts carries what the protocols send: who sends to whom is the library's own arithmetic
 * (bootstrap/tree.h). The code that sends is counted in unit/store, unit/control and unit/reunion, with as
 * many ranks as fit into a process. */
#include "test.h"

#include "bootstrap/join_tree.h"
#include "bootstrap/rank_record.h"
#include "bootstrap/store_internal.h"
#include "bootstrap/tree.h"
#include "core/alloc.h"
#include "core/random.h"
#include "group/control_internal.h"
#include "schedule/build.h"
#include "schedule/wire.h"
#include "transport/shm_endpoint.h"

enum { MOST = 16384, FANOUT = BANYAN_CONTROL_FANOUT };

static const int sizes[] = {2, 17, 18, 64, 257, 1000, 1024, 4096, MOST};

typedef struct {
    uint64_t in_bytes, out_bytes, in_messages, out_messages;
    int connections;
    int step; /* when it has what it waits for, in messages on the longest path */
} account;

static account accounts[MOST];

static void connect_ranks(int one, int other)
{
    accounts[one].connections++;
    accounts[other].connections++;
}

static void carry(int from, int to, size_t bytes)
{
    accounts[from].out_bytes += bytes;
    accounts[from].out_messages++;
    accounts[to].in_bytes += bytes;
    accounts[to].in_messages++;
    if (accounts[to].step < accounts[from].step + 1)
        accounts[to].step = accounts[from].step + 1;
}

static void for_each_size(void (*check)(int size))
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(accounts, 0, sizeof accounts);
        check(sizes[i]);
    }
}

/* The number of ranks at and below one: parents have lower numbers. */
static void count_subtrees(int size, int *below)
{
    for (int r = 0; r < size; r++)
        below[r] = 1;
    for (int r = size - 1; r > 0; r--)
        below[banyan_tree_parent(FANOUT, r)] += below[r];
}

/* ---- Start. */

/* Ranks come in some order. Each tells the store who it is, goes to its parent, and gets all descriptors from
 * there. The store is a thread of rank 0's process, which takes no children beside it. */
static void check_start(int size)
{
    static int order[MOST], level[MOST];
    uint64_t table = (uint64_t)size * RECORDS_PER_RANK, told = 0;
    banyan_random random = {27};
    banyan_join_tree tree;
    int deepest = 0;

    assert_int_equal(banyan_join_tree_init(&tree, size, NULL), 0);
    for (int i = 0; i < size; i++) {
        int other = banyan_random_below(&random, i + 1);

        order[i] = order[other];
        order[other] = i;
    }
    for (int i = 0; i < size; i++) {
        int r = order[i], parent = banyan_join_tree_add(&tree, r, 1, r == 0);

        carry(r, 0, RECORD_MESSAGE);
        level[r] = parent == BANYAN_JOIN_ROOT ? 1 : level[parent] + 1;
        deepest = level[r] > deepest ? level[r] : deepest;
        if (parent != BANYAN_JOIN_ROOT) {
            carry(0, r, PARENT_MESSAGE);
            carry(r, parent, PAIR_MESSAGE);
            told += PARENT_MESSAGE;
        }
        if (r) /* rank 0 reaches the store in its own process */
            connect_ranks(r, parent == BANYAN_JOIN_ROOT ? 0 : parent);
    }
    /* The last rank's descriptor makes the table whole; the rank itself has still to reach its parent, three
     * messages after it came. */
    for (int r = 0; r < size; r++)
        accounts[r].step = 0;
    accounts[0].step = 1;
    for (int i = 0; i < size; i++) {
        int r = order[i], parent = tree.nodes[r].parent;

        if (r)
            carry(parent == BANYAN_JOIN_ROOT ? 0 : parent, r, table);
        if (i == size - 1 && parent != BANYAN_JOIN_ROOT && accounts[r].step < 4)
            accounts[r].step = 4;
    }
    assert_true(accounts[0].out_bytes <= 16 * table + told + RECORD_MESSAGE + PAIR_MESSAGE);
    assert_true(accounts[0].in_bytes <= (uint64_t)size * RECORD_MESSAGE + table + PARENT_MESSAGE);
    assert_in_range(accounts[0].connections, 1, 17);
    for (int r = 1; r < size; r++) {
        assert_true(accounts[r].out_bytes <= 16 * table + RECORD_MESSAGE + PAIR_MESSAGE);
        assert_true(accounts[r].in_bytes <= table + PARENT_MESSAGE + 16 * PAIR_MESSAGE);
        assert_in_range(accounts[r].connections, 1, 17);
        assert_in_range(accounts[r].step, 2, size > 16 && deepest < 3 ? 4 : 1 + deepest);
    }
    /* As flat as a tree of this fan-out can be, but for rank 0, which takes no children. */
    assert_in_range(deepest, 1, banyan_tree_level(BANYAN_JOIN_CHILDREN, size) + 1);
    banyan_join_tree_fini(&tree);
}

TEST(a_start_costs_what_the_table_says)
{
    for_each_size(check_start);
}

/* ---- The control tree. */

static void check_heartbeat(int size)
{
    static int below[MOST];

    count_subtrees(size, below);
    for (int r = 1; r < size; r++) {
        int parent = banyan_tree_parent(FANOUT, r);

        connect_ranks(r, parent);
        for (int i = 0; i < below[r]; i++)
            carry(r, parent, 1);
    }
    for (int r = 0; r < size; r++)
        for (int i = 0; i < banyan_tree_child_count(FANOUT, size, r); i++)
            carry(r, banyan_tree_first_child(FANOUT, r) + i, 1);
    for (int r = 0; r < size; r++) {
        int children = banyan_tree_child_count(FANOUT, size, r);

        assert_true(accounts[r].connections == (r > 0) + children && children <= 16);
        assert_int_equal(accounts[r].out_messages, (uint64_t)(r ? below[r] : 0) + (uint64_t)children);
        assert_int_equal(accounts[r].in_messages, (uint64_t)(below[r] - 1) + (r > 0));
    }
    assert_int_equal(accounts[0].in_messages, size - 1);
}

TEST(a_heartbeat_costs_one_message_per_rank_below)
{
    for_each_size(check_heartbeat);
}

/* Parts of b bytes go up one by one, all of them come down together. */
static void check_exchange(int size)
{
    enum { PART = 200 };
    static int below[MOST];

    count_subtrees(size, below);
    for (int r = size - 1; r > 0; r--)
        for (int i = 0; i < below[r]; i++)
            carry(r, banyan_tree_parent(FANOUT, r), PART);
    for (int r = 1; r < size; r++)
        carry(banyan_tree_parent(FANOUT, r), r, (size_t)size * PART);
    for (int r = 0; r < size; r++) {
        uint64_t children = (uint64_t)banyan_tree_child_count(FANOUT, size, r), all = (uint64_t)size * PART;

        assert_true(accounts[r].out_bytes == children * all + (r ? (uint64_t)below[r] * PART : 0));
        assert_true(accounts[r].in_bytes <= 2 * all);
    }
    /* Up and down 2 log16 n connections at the most. */
    assert_in_range(accounts[size - 1].step, 0, 2 * banyan_tree_level(FANOUT, size - 1));
}

TEST(an_exchange_brings_all_parts_to_each_rank)
{
    for_each_size(check_exchange);
}

/* ---- Ranks that are lost. */

/* One in ten ranks dies at once, the root excepted: the others find refuges, and nobody holds more than 64
 * connections. */
static void check_losses(int size)
{
    static char is_lost[MOST];
    static int held[MOST];
    banyan_random random = {27};

    for (int r = 0; r < size; r++)
        is_lost[r] = r && banyan_random_below(&random, 10) == 0;
    for (int r = 0; r < size; r++)
        held[r] = 0;
    for (int r = 1; r < size; r++) {
        int parent = banyan_tree_parent(FANOUT, r);

        if (!is_lost[r] && !is_lost[parent]) {
            held[r]++;
            held[parent]++;
        }
    }
    for (int r = 1; r < size; r++) {
        banyan_tree_climb climb;
        int next = -1;

        if (is_lost[r] || !is_lost[banyan_tree_parent(FANOUT, r)])
            continue;
        banyan_tree_climb_init(&climb, FANOUT, r);
        do
            next = banyan_tree_climb_next(&climb, FANOUT, size, 1);
        while (next >= 0 && (is_lost[next] || held[next] >= BANYAN_CONTROL_MAX_CONNECTIONS));
        assert_true(next >= 0);
        held[r]++;
        held[next]++;
    }
    for (int r = 0; r < size; r++)
        assert_in_range(held[r], 0, 64);
}

TEST(those_below_a_tenth_that_dies_find_refuges_with_64_connections_at_most)
{
    for_each_size(check_losses);
}

/* ---- The plan. */

/* Two trees of fan-out two over all ranks, up and down, with half of the vector each. */
static banyan_schedule *make_double_tree(int size)
{
    banyan_schedule *schedule = NULL;
    int *active = banyan_alloc((size_t)size, sizeof *active);
    banyan_builder builder;

    assert_non_null(active);
    for (int r = 0; r < size; r++)
        active[r] = r;
    banyan_builder_init(&builder, BANYAN_COLLECTIVE_ALLREDUCE, 0, size, active, size);
    banyan_builder_cut_evenly(&builder, 2);
    for (int r = 1; r < size; r++)
        for (int tree = 0; tree < 2; tree++) {
            int above = banyan_tree_parent(2, r);
            int child = tree ? size - 1 - r : r, parent = tree ? size - 1 - above : above;

            banyan_builder_reduce(&builder, 20 - banyan_tree_level(2, r), child, parent, tree, 1, tree);
            banyan_builder_copy(&builder, 20 + banyan_tree_level(2, r), parent, child, tree, 1, tree);
        }
    assert_int_equal(banyan_builder_finish(&builder, &schedule, NULL), 0);
    banyan_free(active);
    return schedule;
}

static void check_plan_bytes(int size)
{
    banyan_schedule *schedule = make_double_tree(size);
    banyan_text bytes = BANYAN_TEXT_EMPTY;

    banyan_schedule_pack(schedule, &bytes);
    assert_in_range(bytes.length, 6 * schedule->transfer_count, 12 * schedule->transfer_count);
    banyan_text_fini(&bytes);
    banyan_schedule_destroy(schedule);
}

TEST(a_plan_takes_at_most_twelve_bytes_per_transfer)
{
    for_each_size(check_plan_bytes);
}

/* ---- Memory. */

/* What a rank keeps of each other: its descriptor, its member of the control tree with six flags and two
 * times, its node, where it listens, and its segment of shared memory. */
TEST(a_rank_keeps_about_a_kilobyte_of_each_other)
{
    size_t bytes = sizeof(banyan_rank_record) + sizeof(member) + 6 + 2 * sizeof(int64_t) + 2 * sizeof(int) +
                   BANYAN_INTERFACES * sizeof(banyan_address) + sizeof(shm_peer);

    assert_in_range(bytes, 900, 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_costs_what_the_table_says),
        cmocka_unit_test(a_heartbeat_costs_one_message_per_rank_below),
        cmocka_unit_test(an_exchange_brings_all_parts_to_each_rank),
        cmocka_unit_test(those_below_a_tenth_that_dies_find_refuges_with_64_connections_at_most),
        cmocka_unit_test(a_plan_takes_at_most_twelve_bytes_per_transfer),
        cmocka_unit_test(a_rank_keeps_about_a_kilobyte_of_each_other),
    };

    return cmocka_run_group_tests_name("scale", tests, NULL, NULL);
}
