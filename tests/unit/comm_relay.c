/* SPDX-License-Identifier: Apache-2.0 */
/* Relays inside a group: workers without data that a plan leads through. The plan is put into the group by
 * hand, so that the test does not depend on which algorithms use relays. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calls/comm.h"
#include "core/alloc.h"
#include "schedule/build.h"
#include "topology/build.h"
#include "verify/verify.h"

enum { RANKS = 3, COUNT = 501, CALLS = 40 };

static const int active[RANKS] = {0, 1, 3};

/* Everybody sends to relay; it adds up and sends back. */
static banyan_group_plan *make_plan(const banyan_topology *topology, int relay, size_t size_class)
{
    banyan_group_plan *plan = banyan_alloc(1, sizeof *plan);
    banyan_builder builder;
    banyan_verdict verdict;

    banyan_builder_init(&builder, BANYAN_COLLECTIVE_ALLREDUCE, 0, topology->node_count, active, RANKS);
    banyan_builder_cut_evenly(&builder, 2);
    banyan_builder_copy(&builder, 0, 0, relay, 0, 2, 0);
    for (int rank = 1; rank < RANKS; rank++)
        banyan_builder_reduce(&builder, 1, active[rank], relay, 0, 2, 0);
    for (int rank = 0; rank < RANKS; rank++)
        banyan_builder_copy(&builder, 2, relay, active[rank], 0, 2, 0);
    plan->collective = BANYAN_COLLECTIVE_ALLREDUCE;
    plan->size_class = size_class;
    plan->type = BANYAN_GROUP_ANY_TYPE;
    assert_int_equal(banyan_builder_finish(&builder, &plan->schedule, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_verify(plan->schedule, topology, &verdict, NULL), BANYAN_SUCCESS);
    assert_int_equal(verdict.problem_count, 0);
    assert_int_equal(banyan_dependencies_derive(plan->schedule, &plan->dependencies, NULL), BANYAN_SUCCESS);
    plan->programs = banyan_alloc((size_t)topology->node_count, sizeof *plan->programs);
    plan->runners = banyan_alloc((size_t)topology->node_count, sizeof *plan->runners);
    return plan;
}

/* 3 ranks on 5 workers of a full graph; with two, the sizes choose between relay nodes 2 and 4. */
static void make_group(banyan_comm **comms, const char *algorithm, int timeout_ms)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_group *group;

    config.topology = "full:5";
    config.active = "0,1,3";
    config.algorithm = algorithm;
    config.timeout_ms = timeout_ms;
    config.slice_bytes = 256;
    assert_int_equal(banyan_comm_init_all(comms, RANKS, &config), BANYAN_SUCCESS);
    group = comms[0]->group;
    if (*algorithm == 'a') {
        group->plans = make_plan(group->setup.topology, 2, 1024);
        group->plans->next = make_plan(group->setup.topology, 4, 4096);
    } else {
        group->plans = make_plan(group->setup.topology, 2, 0);
    }
}

typedef struct {
    banyan_comm *comm;
    int rank, wrong;
    banyan_status status;
} member;

static void *call_often(void *argument)
{
    member *m = argument;
    static const size_t counts[] = {1, 0, 7, COUNT, 250};

    for (int call = 0; call < CALLS && !m->status; call++) {
        int64_t data[COUNT];
        size_t count = counts[call % 5];

        for (size_t i = 0; i < count; i++)
            data[i] = m->rank * 1000 + (int64_t)i + call;
        m->status = banyan_allreduce(data, data, count, BANYAN_INT64, BANYAN_SUM, m->comm);
        for (size_t i = 0; i < count && !m->status; i++)
            m->wrong += data[i] != 3000 + 3 * ((int64_t)i + call);
    }
    return NULL;
}

static void run_members(banyan_comm **comms, member *members, int count)
{
    pthread_t threads[RANKS];

    for (int i = 0; i < count; i++) {
        members[i] = (member){.comm = comms[i], .rank = i};
        pthread_create(&threads[i], NULL, call_often, &members[i]);
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void check_relayed(const char *algorithm, int relays)
{
    banyan_comm *comms[RANKS];
    member members[RANKS];

    make_group(comms, algorithm, 20000);
    run_members(comms, members, RANKS);
    for (int i = 0; i < RANKS; i++)
        assert_true(!members[i].status && !members[i].wrong);
    assert_int_equal(comms[0]->group->relay_count, relays);
    for (int i = 0; i < RANKS; i++)
        banyan_comm_destroy(comms[i]);
}

static void a_relay_follows_the_calls_of_the_ranks(void **state)
{
    (void)state;
    check_relayed("ring", 1);
}

static void relays_of_different_plans_skip_each_others_calls(void **state)
{
    (void)state;
    check_relayed("auto", 2);
}

static void a_relay_ends_with_the_group_after_a_failure(void **state)
{
    banyan_comm *comms[RANKS];
    member members[RANKS];

    (void)state;
    make_group(comms, "ring", 50);
    run_members(comms, members, RANKS - 1); /* rank 2 never comes */
    for (int i = 0; i < RANKS - 1; i++)
        assert_true(members[i].status == BANYAN_TIMEOUT || members[i].status == BANYAN_REMOTE_ERROR);
    for (int i = 0; i < RANKS; i++)
        banyan_comm_destroy(comms[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relay_follows_the_calls_of_the_ranks),
        cmocka_unit_test(relays_of_different_plans_skip_each_others_calls),
        cmocka_unit_test(a_relay_ends_with_the_group_after_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
