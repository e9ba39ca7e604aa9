/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/start_refused.c: groups that cannot begin: every rank that came hears who is missing or what
 * differs. Ranks meet before any transport is opened, so one is as good as another. */
#include "multi/jobs.h"

enum { RANKS = 4 };

static int short_ms; /* a time-out that passes */

static int start_without_rank_2(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    char sentence[512] = "", words[80];
    banyan_comm *comm = NULL;
    banyan_status status;

    config.timeout_ms = short_ms;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    if (self->rank == 2)
        return 0;
    status = banyan_comm_init_rank(&comm, RANKS, job_id(self), self->rank, &config);
    EXPECT(status == BANYAN_TIMEOUT, "%s: %s", banyan_status_string(status), sentence);
    EXPECT(comm == NULL, "there is a handle");
    snprintf(words, sizeof words, "rank 2 of 4 did not come within %d ms", short_ms);
    EXPECT(strstr(sentence, words), "%s", sentence);
    return 0;
}

TEST(a_rank_that_never_comes_is_named)
{
    job_run(RANKS, start_without_rank_2);
}

static int start_with_wrong_secret(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    char sentence[512] = "", words[120] = "does not hold the same secret";
    banyan_unique_id id = job_id(self);
    banyan_comm *comm = NULL;
    banyan_status status;

    config.timeout_ms = short_ms;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    if (self->rank == 1)
        id.bytes[40] ^= 1;
    status = banyan_comm_init_rank(&comm, RANKS, id, self->rank, &config);
    EXPECT(status == (self->rank == 1 ? BANYAN_MISMATCH : BANYAN_TIMEOUT), "%s: %s",
           banyan_status_string(status), sentence);
    if (self->rank != 1)
        snprintf(words, sizeof words,
                 "rank 1 of 4 did not come within %d ms; 2 connections came with another secret", short_ms);
    EXPECT(strstr(sentence, words), "%s", sentence);
    return 0;
}

TEST(a_wrong_secret_keeps_out_and_is_told)
{
    job_run(RANKS, start_with_wrong_secret);
}

static int start_with(job_rank *self, int size, int rank, const char *algorithm, banyan_status expected,
                      const char *words)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    char sentence[512] = "";
    banyan_comm *comm = NULL;
    banyan_status status;

    config.timeout_ms = CALL_MS;
    config.algorithm = algorithm;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    status = banyan_comm_init_rank(&comm, size, job_id(self), rank, &config);
    EXPECT(status == expected, "%s: %s", banyan_status_string(status), sentence);
    EXPECT(strstr(sentence, words), "%s", sentence);
    pthread_barrier_wait(&self->memory->barrier); /* rank 0's process holds the meeting place */
    return 0;
}

static int start_with_other_size(job_rank *self)
{
    return start_with(self, self->rank == 3 ? 5 : RANKS, self->rank, "ring", BANYAN_MISMATCH,
                      "the number of ranks differs: rank");
}

static int start_with_other_algorithm(job_rank *self)
{
    return start_with(self, RANKS, self->rank, self->rank == 3 ? "ring" : "auto", BANYAN_MISMATCH,
                      "BANYAN_ALGO differs: rank 0 has auto, rank 3 has ring");
}

static int start_as_the_same_rank(job_rank *self)
{
    return start_with(self, RANKS, self->rank == 3 ? 1 : self->rank, "ring", BANYAN_MISMATCH,
                      "two processes say that they are rank 1");
}

TEST(different_sizes_are_told_at_the_start)
{
    job_run(RANKS, start_with_other_size);
}

TEST(different_settings_are_told_at_the_start)
{
    job_run(RANKS, start_with_other_algorithm);
}

TEST(two_processes_with_one_rank_are_told)
{
    job_run(RANKS, start_as_the_same_rank);
}

static int die_while_starting(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    char sentence[512] = "";
    banyan_comm *comm = NULL;
    banyan_status status;

    config.timeout_ms = short_ms;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    if (self->rank == 3) { /* comes, and dies before the others */
        job_id(self);
        alarm(1);
        signal(SIGALRM, SIG_DFL);
    }
    if (self->rank == 0) {
        job_id(self);
        job_wait_step(self->memory, 1); /* holds all up until rank 3 is dead */
    }
    status = banyan_comm_init_rank(&comm, RANKS, job_id(self), self->rank, &config);
    EXPECT(status == BANYAN_TIMEOUT, "%s: %s", banyan_status_string(status), sentence);
    EXPECT(strstr(sentence, "3 of 4 did not come") || strstr(sentence, "does not answer") ||
               strstr(sentence, "no answer"),
           "%s", sentence);
    return 0;
}

TEST(a_rank_that_dies_during_the_start_is_missed)
{
    job j = job_start(RANKS, die_while_starting);
    int wrong = job_end_rank(&j, 3, JOB_SECONDS) != 1000 + SIGALRM;

    atomic_store(&j.memory->step, 1);
    for (int i = 0; i < 3; i++)
        wrong += job_end_rank(&j, i, JOB_SECONDS) != 0;
    job_free(&j);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_never_comes_is_named),
        cmocka_unit_test(a_wrong_secret_keeps_out_and_is_told),
        cmocka_unit_test(different_sizes_are_told_at_the_start),
        cmocka_unit_test(different_settings_are_told_at_the_start),
        cmocka_unit_test(two_processes_with_one_rank_are_told),
        cmocka_unit_test(a_rank_that_dies_during_the_start_is_missed),
    };

    job_stay_here();
    short_ms = job_short_ms(RANKS);
    return cmocka_run_group_tests_name("start_refused", tests, NULL, NULL);
}
