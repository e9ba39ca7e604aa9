/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/reunion.c: survivors that are threads here, with pairs of sockets for their connections: a tree
 * of depth 3, members that fall out, and what each sends. */
#include "calls/reunion.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/tree.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "group/control_internal.h"
#include "test.h"

enum { RANKS = 40, FANOUT = 3, LOST_RANK = 5 };

typedef struct {
    banyan_control *control;
    banyan_reunion tree;
    pthread_t thread;
    banyan_status status;
    unsigned char all[RANKS * BANYAN_RANK_RECORD_BYTES];
    int members, falls_out;
} survivor;

static survivor *survivors;

/* As if the rank had dialled its parent. */
static int come(int rank, int parent)
{
    banyan_hello hello = {.purpose = BANYAN_HELLO_JOIN, .from = rank, .size = RANKS};
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends))
        return -1;
    banyan_control_take_at_listener(survivors[parent].control, &hello, ends[0]);
    return ends[1];
}

static void *live(void *argument)
{
    survivor *self = argument;
    banyan_reunion *t = &self->tree;
    int parent = banyan_tree_parent(FANOUT, t->rank);
    unsigned char mine[BANYAN_RANK_RECORD_BYTES];

    memset(mine, t->rank + 1, sizeof mine);
    self->status = parent < 0 ? banyan_reunion_lead(t, 0.7, NULL)
                              : banyan_reunion_follow(t, parent, come(t->rank, parent), t->deadline_ns, NULL);
    self->members = t->count;
    if (!self->status && !self->falls_out)
        self->status = banyan_reunion_exchange(t, mine, self->all, NULL);
    banyan_reunion_part(t);
    return NULL;
}

static void begin(int falls_out)
{
    banyan_address local = {.family = AF_INET, .bytes = {127, 0, 0, 1}};

    survivors = banyan_alloc(RANKS, sizeof *survivors);
    for (int i = 0; i < RANKS; i++) {
        survivor *s = &survivors[i];

        assert_true(!banyan_control_create(RANKS, 1000, &local, 0, 0, &s->control, NULL));
        assert_true(!banyan_reunion_init(&s->tree, s->control, i, RANKS, NULL));
        s->tree.begun_ns = banyan_clock_ns();
        s->tree.deadline_ns = s->tree.begun_ns + 60 * INT64_C(1000000000);
        s->falls_out = i == falls_out;
    }
    for (int i = 0; i < RANKS; i++)
        assert_true(!pthread_create(&survivors[i].thread, NULL, live, &survivors[i]));
    for (int i = 0; i < RANKS; i++)
        pthread_join(survivors[i].thread, NULL);
}

static void end(void)
{
    for (int i = 0; i < RANKS; i++) {
        banyan_reunion_fini(&survivors[i].tree);
        banyan_control_destroy(survivors[i].control);
    }
    banyan_free(survivors);
}

TEST(everybody_gets_all_records_and_nobody_sends_more_than_fan_out_times_all)
{
    size_t table = (size_t)RANKS * BANYAN_RANK_RECORD_BYTES;

    begin(-1);
    for (int i = 0; i < RANKS; i++) {
        const survivor *s = &survivors[i];

        assert_true(!s->status && s->members == RANKS && s->tree.own == i);
        for (int j = 0; j < RANKS; j++)
            assert_true(s->all[(size_t)j * BANYAN_RANK_RECORD_BYTES] == j + 1);
        assert_true(s->tree.number == survivors[0].tree.number);
        assert_true(s->tree.out_bytes < (FANOUT + 2) * table);
        assert_true(banyan_tree_child_count(FANOUT, RANKS, i) ||
                    s->tree.out_bytes < 2 * BANYAN_RANK_RECORD_BYTES);
    }
    end();
}

TEST(the_leader_hears_which_member_fell_out_below_others_and_all_may_go_round_again)
{
    begin(LOST_RANK);
    assert_true(banyan_tree_parent(FANOUT, LOST_RANK) > 0);
    for (int i = 0; i < RANKS; i++) {
        assert_true(survivors[i].members == RANKS);
        assert_true(i == LOST_RANK || survivors[i].status == BANYAN_PEER_LOST);
        assert_true(survivors[0].tree.is_out[i] == (i == LOST_RANK));
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_gets_all_records_and_nobody_sends_more_than_fan_out_times_all),
        cmocka_unit_test(the_leader_hears_which_member_fell_out_below_others_and_all_may_go_round_again),
    };

    return cmocka_run_group_tests_name("reunion", tests, NULL, NULL);
}
