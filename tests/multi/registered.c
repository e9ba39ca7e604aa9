/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/registered.c: memory of banyan_mem_alloc comes and goes while others have it mapped, and
 * nothing is written there when the caller has its buffer back. */
#include "jobs.h"

/* More pieces, one after the other, than can be in use at a time. */
static int free_and_take_again(job_rank *self)
{
    enum { COUNT = 30000, TIMES = 150, KEPT = 70 };
    banyan_comm *comm = NULL;
    float *kept[KEPT] = {NULL};

    EXPECT(!banyan_comm_init_exchange(&comm, self->memory->size, self->rank, job_exchange, self, NULL),
           "init");
    for (int i = 0; i < TIMES; i++) {
        float *data = NULL;

        EXPECT(!banyan_mem_alloc((void **)&data, COUNT * sizeof *data), "alloc");
        for (int k = 0; k < COUNT; k++)
            data[k] = (float)(self->rank + k % 7 + i);
        EXPECT(!banyan_allreduce(data, data, COUNT, BANYAN_FLOAT32, BANYAN_SUM, comm), "%s",
               banyan_last_error(comm));
        for (int k = 0; k < COUNT; k++)
            EXPECT(data[k] == (float)(3 + 3 * (k % 7 + i)), "time %d, element %d: %g", i, k, (double)data[k]);
        banyan_mem_free(i < KEPT ? NULL : data); /* the first ones are more than there are places */
        if (i < KEPT)
            kept[i] = data;
        if (self->rank == 1 && i == KEPT + 20) /* only here there are places again */
            for (int k = 0; k < KEPT; k++) {
                banyan_mem_free(kept[k]);
                kept[k] = NULL;
            }
    }
    for (int k = 0; k < KEPT; k++)
        banyan_mem_free(kept[k]);
    banyan_comm_destroy(comm);
    return 0;
}

TEST(memory_is_freed_and_taken_again_while_others_still_have_it_mapped)
{
    job_run(3, free_and_take_again);
}

static int split_and_compute(job_rank *self)
{
    enum { COUNT = 50000 };
    banyan_comm *comm = NULL, *half = NULL;
    float *data = NULL;

    EXPECT(!banyan_mem_alloc((void **)&data, COUNT * sizeof *data), "alloc");
    EXPECT(!banyan_comm_init_exchange(&comm, self->memory->size, self->rank, job_exchange, self, NULL),
           "init");
    EXPECT(!banyan_comm_split(comm, self->rank % 2, 0, &half, NULL), "split: %s", banyan_last_error(comm));
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < COUNT; k++)
            data[k] = (float)(self->rank + 1);
        EXPECT(!banyan_allreduce(data, data, COUNT, BANYAN_FLOAT32, BANYAN_SUM, half), "%s",
               banyan_last_error(half));
        EXPECT(data[COUNT - 1] == (self->rank % 2 ? 6 : 4), "half: %g", (double)data[COUNT - 1]);
        EXPECT(!banyan_allreduce(data, data, COUNT, BANYAN_FLOAT32, BANYAN_SUM, comm), "%s",
               banyan_last_error(comm));
        EXPECT(data[0] == 20 && data[COUNT - 1] == 20, "whole: %g", (double)data[0]);
    }
    banyan_comm_destroy(half);
    banyan_comm_destroy(comm);
    banyan_mem_free(data);
    return 0;
}

TEST(groups_out_of_a_group_use_the_same_memory)
{
    job_run(4, split_and_compute);
}

/* ---- Failures. */

enum { FAULT_COUNT = 1 << 20, FAULT_RANKS = 3, VICTIM = 1 };

static void *go_soon(void *argument)
{
    struct timespec pause = {.tv_nsec = 30000000};

    nanosleep(&pause, NULL);
    kill(getpid(), *(int *)argument);
    return NULL;
}

static banyan_status call_until_failure(banyan_comm *comm, float *send, float *recv)
{
    banyan_status status = BANYAN_SUCCESS;

    while (!status)
        status = banyan_allreduce(send, recv, FAULT_COUNT, BANYAN_FLOAT32, BANYAN_SUM, comm);
    return status;
}

/* The survivors make a group and compute in it, with the memory that they have. */
static int go_on(job_rank *self, banyan_comm *comm, float *send, float *recv, int expected)
{
    banyan_comm *fresh = NULL;
    banyan_status status = banyan_comm_shrink(comm, NULL, 0, &fresh, NULL);

    EXPECT(!status, "shrink: %s", banyan_last_error(comm));
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < FAULT_COUNT; k++)
            send[k] = (float)(self->rank + 1);
        EXPECT(!banyan_allreduce(send, recv, FAULT_COUNT, BANYAN_FLOAT32, BANYAN_SUM, fresh), "%s",
               banyan_last_error(fresh));
        for (int k = 0; k < FAULT_COUNT; k++)
            EXPECT(recv[k] == (float)expected, "element %d: %g", k, (double)recv[k]);
    }
    banyan_comm_destroy(fresh);
    return 0;
}

static int lose_one(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    float *send = NULL, *recv = NULL;
    int how = SIGKILL, descriptors = job_count_descriptors();
    banyan_comm *comm = NULL;
    banyan_status status;
    pthread_t thread;

    config.timeout_ms = CALL_MS;
    EXPECT(!banyan_mem_alloc((void **)&send, 4 * FAULT_COUNT) &&
               !banyan_mem_alloc((void **)&recv, 4 * FAULT_COUNT),
           "alloc");
    EXPECT(!banyan_comm_init_rank(&comm, FAULT_RANKS, job_id(self), self->rank, &config), "init");
    EXPECT(!banyan_barrier(comm), "%s", banyan_last_error(comm));
    if (self->rank == VICTIM && pthread_create(&thread, NULL, go_soon, &how))
        return 1;
    status = call_until_failure(comm, send, recv);
    EXPECT(status == BANYAN_PEER_LOST, "%s: %s", banyan_status_string(status), banyan_last_error(comm));
    EXPECT(strstr(banyan_last_error(comm), "rank 1"), "who? %s", banyan_last_error(comm));
    if (go_on(self, comm, send, recv, 4))
        return 1;
    banyan_comm_destroy(comm);
    banyan_mem_free(send);
    banyan_mem_free(recv);
    for (int i = 0; i < 6000 && job_count_descriptors() != descriptors; i++)
        usleep(10000);
    EXPECT(job_count_descriptors() == descriptors, "descriptors are left");
    return 0;
}

TEST(a_killed_rank_is_named_and_the_survivors_go_on_with_their_memory)
{
    int shared = job_count_shared(), wrong = 0;
    job j = job_start(FAULT_RANKS, lose_one);

    for (int i = 0; i < FAULT_RANKS; i++)
        wrong += job_end_rank(&j, i, JOB_SECONDS) != (i == VICTIM ? 1000 + SIGKILL : 0);
    job_free(&j);
    assert_int_equal(wrong, 0);
    assert_int_equal(job_count_shared(), shared);
}

static int short_ms; /* a time-out that passes */

/* The victim is stopped, most likely while it writes into the others' results, and goes on when they have
 * given up and use their buffers for something else. */
static int outlive_a_stopped_one(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    float *send = NULL, *recv = NULL;
    banyan_comm *comm = NULL;
    int how = SIGSTOP;
    pthread_t thread;

    config.timeout_ms = short_ms;
    EXPECT(!banyan_mem_alloc((void **)&send, 4 * FAULT_COUNT) &&
               !banyan_mem_alloc((void **)&recv, 4 * FAULT_COUNT),
           "alloc");
    EXPECT(!banyan_comm_init_rank(&comm, FAULT_RANKS, job_id(self), self->rank, &config), "init");
    EXPECT(!banyan_barrier(comm), "%s", banyan_last_error(comm));
    if (self->rank == VICTIM) {
        memcpy(self->memory->results[0], &(pid_t){getpid()}, sizeof(pid_t));
        if (pthread_create(&thread, NULL, go_soon, &how))
            return 1;
    }
    EXPECT(call_until_failure(comm, send, recv), "it goes on");
    for (int k = 0; k < FAULT_COUNT; k++)
        send[k] = recv[k] = 77;
    if (self->rank != VICTIM && atomic_fetch_add(&self->memory->counted, 1) == 1) {
        pid_t victim;

        memcpy(&victim, self->memory->results[0], sizeof victim);
        kill(victim, SIGCONT);
    }
    if (self->rank == VICTIM) {
        pthread_join(thread, NULL);
        atomic_store(&self->memory->step, 1);
    }
    job_wait_step(self->memory, 1);
    for (int k = 0; k < FAULT_COUNT; k++)
        EXPECT(send[k] == 77 && recv[k] == 77, "element %d was written after the end: %g %g", k,
               (double)send[k], (double)recv[k]);
    banyan_comm_destroy(comm);
    banyan_mem_free(send);
    banyan_mem_free(recv);
    return 0;
}

TEST(a_rank_that_was_stopped_writes_nothing_after_the_others_have_given_up)
{
    int times = getenv("BANYAN_TEST_ALL") ? 10 : 1;

    short_ms = job_short_ms(FAULT_RANKS);
    for (int i = 0; i < times; i++)
        job_run(FAULT_RANKS, outlive_a_stopped_one);
}

static int call_differently(job_rank *self)
{
    enum { COUNT = 50000 };
    banyan_comm *comm = NULL;
    float *data = NULL;
    banyan_status status;

    EXPECT(!banyan_mem_alloc((void **)&data, COUNT * sizeof *data), "alloc");
    EXPECT(!banyan_comm_init_exchange(&comm, self->memory->size, self->rank, job_exchange, self, NULL),
           "init");
    /* Who is still on the way out of the first call when the others are in the second may hear of it
     * there. */
    status = banyan_allreduce(data, data, COUNT, BANYAN_FLOAT32, BANYAN_SUM, comm);
    if (!status)
        status =
            banyan_allreduce(data, data, COUNT - (size_t)(self->rank == 2), BANYAN_FLOAT32, BANYAN_SUM, comm);
    EXPECT(status == BANYAN_MISMATCH && strstr(banyan_last_error(comm), "call 1 differs"), "%s: %s",
           banyan_status_string(status), banyan_last_error(comm));
    banyan_comm_destroy(comm);
    banyan_mem_free(data);
    return 0;
}

TEST(different_calls_are_found)
{
    job_run(3, call_differently);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_freed_and_taken_again_while_others_still_have_it_mapped),
        cmocka_unit_test(groups_out_of_a_group_use_the_same_memory),
        cmocka_unit_test(a_killed_rank_is_named_and_the_survivors_go_on_with_their_memory),
        cmocka_unit_test(a_rank_that_was_stopped_writes_nothing_after_the_others_have_given_up),
        cmocka_unit_test(different_calls_are_found),
    };

    job_stay_here();
    return setenv("BANYAN_TRANSPORT", "auto", 1) || cmocka_run_group_tests_name("auto", tests, NULL, NULL) ||
           setenv("BANYAN_TRANSPORT", "tcp", 1) || cmocka_run_group_tests_name("tcp", tests, NULL, NULL);
}
