/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/relays.c: workers without data whose processes serve a group: five of a DGX-1's eight workers
 * are ranks, and the forest leads through the other three. */
#include "bits.h"
#include "jobs.h"
#include "planner/planner.h"

enum { RANKS = 5, RELAYS = 3, ALL = RANKS + RELAYS };

static char sentence[512];

static banyan_config configure(int timeout_ms)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;

    config.topology = "dgx1";
    config.active = "0,1,4-6";
    config.relays = "2,3,7";
    config.algorithm = "forest";
    config.timeout_ms = timeout_ms;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    return config;
}

TEST(the_forest_leads_through_the_relays)
{
    static const int active[RANKS] = {0, 1, 4, 5, 6};
    banyan_topology *topology = NULL;
    banyan_problem problem = {
        .active = active, .active_count = RANKS, .collective = BANYAN_COLLECTIVE_ALLREDUCE};
    banyan_plan plan;
    int found = 0;

    assert_int_equal(banyan_topology_load("dgx1", &topology, NULL), BANYAN_SUCCESS);
    problem.topology = topology;
    assert_int_equal(banyan_plan_choose("forest", &problem, &plan, NULL), BANYAN_SUCCESS);
    for (size_t i = 0; i < plan.schedule->transfer_count; i++)
        found += banyan_schedule_rank(plan.schedule, plan.schedule->transfers[i].src) < 0;
    assert_true(found > 0);
    banyan_plan_fini(&plan);
    banyan_topology_destroy(topology);
}

static int serve(job_rank *self, banyan_status expected)
{
    banyan_config config = configure(CALL_MS);
    banyan_status status = banyan_comm_relay(RANKS, job_id(self), self->rank - RANKS, &config);

    EXPECT(status == expected, "relay: %d: %s", status, sentence);
    return 0;
}

static int compute(job_rank *self)
{
    banyan_config config = configure(CALL_MS);
    double expected[COUNT], data[COUNT];
    banyan_comm *comm = NULL, *half = NULL;
    void *shared = NULL;

    if (self->rank >= RANKS)
        return serve(self, BANYAN_SUCCESS);
    EXPECT(!banyan_mem_alloc(&shared, sizeof data), "no memory");
    EXPECT(!banyan_comm_init_rank(&comm, RANKS, job_id(self), self->rank, &config), "%s", sentence);
    for (int t = 0; t < TYPES; t++)
        for (int again = 0; again < 3; again++) {
            EXPECT(expect_bits_of("forest", "dgx1", "0,1,4-6", RANKS, types[t], expected), "no reference");
            fill(self->rank, types[t], data);
            EXPECT(!banyan_allreduce(data, data, COUNT, types[t], BANYAN_SUM, comm), "%s",
                   banyan_last_error(comm));
            EXPECT(!memcmp(data, expected, COUNT * banyan_datatype_bytes(types[t])), "other bits for %s",
                   banyan_datatype_string(types[t]));
            fill(self->rank, types[t], shared);
            EXPECT(!banyan_allreduce(shared, shared, COUNT, types[t], BANYAN_SUM, comm), "%s",
                   banyan_last_error(comm));
            EXPECT(!memcmp(shared, expected, COUNT * banyan_datatype_bytes(types[t])),
                   "other bits in shared memory for %s", banyan_datatype_string(types[t]));
        }
    banyan_mem_free(shared);
    EXPECT(!banyan_allreduce(data, data, 0, BANYAN_INT8, BANYAN_SUM, comm), "%s", banyan_last_error(comm));
    /* The forest has none: another algorithm serves. */
    EXPECT(!banyan_broadcast(data, data, COUNT, BANYAN_FLOAT64, 3, comm), "%s", banyan_last_error(comm));
    EXPECT(!banyan_barrier(comm), "%s", banyan_last_error(comm));
    EXPECT(banyan_comm_split(comm, 0, 0, &half, NULL) == BANYAN_UNSUPPORTED, "split");
    banyan_comm_destroy(comm);
    return 0;
}

TEST(relays_are_processes_and_change_no_bit)
{
    job_run(ALL, compute);
}

static int lose_relay(job_rank *self)
{
    banyan_config config = configure(CALL_MS);
    banyan_comm *comm = NULL, *rest = NULL;
    banyan_status status = BANYAN_SUCCESS;
    float one[1000] = {0};

    if (self->rank >= RANKS)
        return serve(self, BANYAN_PEER_LOST);
    EXPECT(!banyan_comm_init_rank(&comm, RANKS, job_id(self), self->rank, &config), "%s", sentence);
    for (int i = 0; i < 3; i++)
        EXPECT(!banyan_allreduce(one, one, 1000, BANYAN_FLOAT32, BANYAN_SUM, comm), "%s",
               banyan_last_error(comm));
    atomic_fetch_add(&self->memory->counted, 1);
    job_wait_step(self->memory, 1);
    while (!status)
        status = banyan_allreduce(one, one, 1000, BANYAN_FLOAT32, BANYAN_SUM, comm);
    EXPECT(status == BANYAN_PEER_LOST && strstr(banyan_last_error(comm), "relay 1 "), "%d: %s", status,
           banyan_last_error(comm));
    config.algorithm = "auto";
    config.topology = config.active = NULL;
    EXPECT(!banyan_comm_shrink(comm, NULL, 0, &rest, &config), "shrink: %s", banyan_last_error(comm));
    for (int i = 0; i < 1000; i++)
        one[i] = 1;
    EXPECT(!banyan_allreduce(one, one, 1000, BANYAN_FLOAT32, BANYAN_SUM, rest), "%s",
           banyan_last_error(rest));
    EXPECT(one[999] == RANKS, "%g", (double)one[999]);
    banyan_comm_destroy(rest);
    banyan_comm_destroy(comm);
    return 0;
}

TEST(a_killed_relay_is_named_and_the_ranks_go_on)
{
    job j = job_start(ALL, lose_relay);
    struct timespec pause = {.tv_nsec = 2000000};
    int wrong = 0;

    for (int i = 0; atomic_load(&j.memory->counted) < RANKS && i < JOB_SECONDS * 500; i++)
        nanosleep(&pause, NULL);
    kill(j.processes[RANKS + 1], SIGKILL);
    atomic_store(&j.memory->step, 1);
    for (int i = 0; i < ALL; i++) {
        int how = job_end_rank(&j, i, JOB_SECONDS), expected = i == RANKS + 1 ? 1000 + SIGKILL : 0;

        if (how != expected)
            fprintf(stderr, "process %d ended with %d\n", i, how);
        wrong += how != expected;
    }
    job_free(&j);
    assert_int_equal(wrong, 0);
}

static int short_ms; /* a time-out that passes */

static int miss_relay(job_rank *self)
{
    banyan_config config = configure(short_ms);
    banyan_comm *comm = NULL;
    banyan_status status;

    if (self->rank == RANKS + 2) {
        job_id(self);
        return 0;
    }
    if (self->rank >= RANKS)
        status = banyan_comm_relay(RANKS, job_id(self), self->rank - RANKS, &config);
    else
        status = banyan_comm_init_rank(&comm, RANKS, job_id(self), self->rank, &config);
    EXPECT(status == BANYAN_TIMEOUT && strstr(sentence, "rank 7"), "%d: %s", status, sentence);
    return 0;
}

TEST(a_relay_that_does_not_come_is_a_time_out)
{
    short_ms = job_short_ms(ALL);
    job_run(ALL, miss_relay);
}

static int be_refused(job_rank *self)
{
    banyan_config config = configure(1000);
    banyan_unique_id id = job_id(self);

    EXPECT(banyan_comm_relay(RANKS, id, 3, &config) == BANYAN_INVALID_ARGUMENT, "relay 3");
    EXPECT(!strcmp(sentence, "relay 3 is not from 0 to 2: config->relays has 3"), "%s", sentence);
    config.relays = "2,4";
    EXPECT(banyan_comm_relay(RANKS, id, 0, &config) == BANYAN_INVALID_ARGUMENT, "rank and relay");
    EXPECT(strstr(sentence, "is rank 2 and cannot be a relay"), "%s", sentence);
    config.topology = config.active = NULL;
    EXPECT(banyan_comm_relay(RANKS, id, 0, &config) == BANYAN_INVALID_ARGUMENT, "no topology");
    EXPECT(strstr(sentence, "are workers of no topology"), "%s", sentence);
    return 0;
}

TEST(what_cannot_be_a_relay_is_told)
{
    job_run(1, be_refused);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_forest_leads_through_the_relays),
        cmocka_unit_test(relays_are_processes_and_change_no_bit),
        cmocka_unit_test(a_killed_relay_is_named_and_the_ranks_go_on),
        cmocka_unit_test(a_relay_that_does_not_come_is_a_time_out),
        cmocka_unit_test(what_cannot_be_a_relay_is_told),
    };

    return RUN_OVER_TRANSPORTS(tests, count, words);
}
