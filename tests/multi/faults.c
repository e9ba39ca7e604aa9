/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/faults.c: what the others see when a rank dies, stops, is cut off or makes other calls: the
 * right status, in time, with a sentence that names it; and survivors that go on. */
#include <sys/socket.h>

#include "multi/calls.h"

enum { RANKS = 4, VICTIM_CALLS = 3 };

typedef struct {
    int descriptors, threads;
    banyan_comm *comm;
    char sentence[512];
} scene;

static int enter_with(job_rank *self, scene *s, banyan_config config)
{
    banyan_status status;
    banyan_unique_id id = job_id(self);

    memset(s, 0, sizeof *s);
    config.error = s->sentence;
    config.error_bytes = sizeof s->sentence;
    status = banyan_comm_init_rank(&s->comm, self->memory->size, id, self->rank, &config);
    EXPECT(!status, "init: %s", s->sentence);
    return 0;
}

static int enter(job_rank *self, scene *s, int timeout_ms)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;

    config.timeout_ms = timeout_ms;
    config.algorithm = "ring";
    return enter_with(self, s, config);
}

/* The survivors make a group and compute in it; then nothing is left of either. */
static int recover(job_rank *self, scene *s, int survivors)
{
    banyan_comm *fresh = NULL;
    float sum = 0;
    int size = 0;
    banyan_status status = banyan_comm_shrink(s->comm, NULL, 0, &fresh, NULL);

    EXPECT(!status, "shrink: %s: %s", banyan_status_string(status), banyan_last_error(s->comm));
    banyan_comm_size(fresh, &size);
    EXPECT(size == survivors, "%d survivors", size);
    for (int i = 0; i < 3; i++) {
        status = sum_ranks(fresh, &sum);
        EXPECT(!status, "after shrink: %s", banyan_last_error(fresh));
        EXPECT(sum == (float)(survivors * (survivors + 1) / 2), "after shrink: %g", (double)sum);
    }
    banyan_comm_destroy(fresh);
    return 0;
}

/* The store's thread of rank 0 ends by itself, a moment later. */
static int leave(job_rank *self, scene *s, int descriptors, int threads)
{
    struct timespec pause = {.tv_nsec = 10000000};

    banyan_comm_destroy(s->comm);
    for (int i = 0; i < 6000; i++) {
        if (job_count_descriptors() == descriptors && job_count_threads() == threads)
            return 0;
        nanosleep(&pause, NULL);
    }
    EXPECT(0, "%d descriptors instead of %d, %d threads instead of %d are left", job_count_descriptors(),
           descriptors, job_count_threads(), threads);
}

#define COUNT_BEFORE int descriptors = job_count_descriptors(), threads = job_count_threads()

/* What ended the group, for the test to compare. */
static void note_words(job_rank *self, const scene *s)
{
    snprintf((char *)self->memory->results[self->rank], sizeof s->sentence, "%s", banyan_last_error(s->comm));
}

static int count_differences(const job *j, int victim)
{
    const char *first = (const char *)j->memory->results[victim == 0];
    int count = 0;

    for (int i = 0; i < RANKS; i++)
        if (i != victim && strcmp(first, (const char *)j->memory->results[i]) != 0) {
            fprintf(stderr, "'%s' on one rank, '%s' on rank %d\n", first, (const char *)j->memory->results[i],
                    i);
            count++;
        }
    return count;
}

/* kill -9 */

static int lose_a_rank(job_rank *self, int victim)
{
    scene s;
    double seconds;
    banyan_status status;
    char name[32];
    COUNT_BEFORE;

    if (enter(self, &s, CALL_MS))
        return 1;
    for (int i = 0; i < VICTIM_CALLS; i++) {
        float sum;

        EXPECT(!sum_ranks(s.comm, &sum), "%s", banyan_last_error(s.comm));
    }
    pthread_barrier_wait(&self->memory->barrier);
    if (self->rank == victim)
        kill(getpid(), SIGKILL);
    status = call_until_failure(s.comm, &seconds);
    snprintf(name, sizeof name, "rank %d ", victim);
    EXPECT(status == BANYAN_PEER_LOST, "%s: %s", banyan_status_string(status), banyan_last_error(s.comm));
    EXPECT(strstr(banyan_last_error(s.comm), name), "who? %s", banyan_last_error(s.comm));
    EXPECT(seconds < CALL_MS * 1e-3 / 2, "%g s", seconds);
    note_words(self, &s);
    if (recover(self, &s, RANKS - 1))
        return 1;
    return leave(self, &s, descriptors, threads);
}

static int lose_rank_2(job_rank *self)
{
    return lose_a_rank(self, 2);
}

static int lose_rank_0(job_rank *self)
{
    return lose_a_rank(self, 0);
}

static void expect_all_but(int victim, rank_function function, int how)
{
    job j = job_start(RANKS, function);
    int wrong = 0;

    for (int i = 0; i < RANKS; i++) {
        int ended = job_end_rank(&j, i, JOB_SECONDS);

        if (ended != (i == victim ? how : 0)) {
            fprintf(stderr, "rank %d ended with %d\n", i, ended);
            wrong++;
        }
    }
    wrong += count_differences(&j, victim);
    job_free(&j);
    assert_int_equal(wrong, 0);
}

TEST(a_killed_rank_is_named_and_the_survivors_go_on)
{
    expect_all_but(2, lose_rank_2, 1000 + SIGKILL);
}

TEST(a_killed_rank_0_is_named_and_the_survivors_go_on)
{
    expect_all_but(0, lose_rank_0, 1000 + SIGKILL);
}

/* SIGSTOP */

static int stop_ms; /* a time-out that passes */

/* What follows the words, or nothing. */
static const char *after_words(const char *text, const char *words)
{
    const char *found = strstr(text, words);

    return found ? found + strlen(words) : "";
}

static int stop_a_rank(job_rank *self, int victim)
{
    scene s;
    double seconds;
    banyan_status status;
    char name[40], other[40], third[40];
    float sum;

    if (enter(self, &s, stop_ms))
        return 1;
    EXPECT(!sum_ranks(s.comm, &sum), "%s", banyan_last_error(s.comm));
    pthread_barrier_wait(&self->memory->barrier);
    if (self->rank == victim) {
        raise(SIGSTOP);
        status = call_until_failure(s.comm, &seconds);
        EXPECT(status != BANYAN_SUCCESS, "the stopped rank goes on as if nothing had happened");
        snprintf(name, sizeof name, "rank %d was itself stopped", victim);
        snprintf(other, sizeof other, "for rank %d ", victim);
        snprintf(third, sizeof third, "rank %d has been silent", victim);
        EXPECT(strstr(banyan_last_error(s.comm), name) || strstr(banyan_last_error(s.comm), other) ||
                   strstr(banyan_last_error(s.comm), third),
               "the stopped rank blames another: %s", banyan_last_error(s.comm));
        banyan_comm_destroy(s.comm);
        return 0;
    }
    status = call_until_failure(s.comm, &seconds);
    snprintf(name, sizeof name, "rank %d has been silent", victim);
    snprintf(other, sizeof other, "for rank %d", victim);
    EXPECT(status == BANYAN_TIMEOUT, "%s: %s", banyan_status_string(status), banyan_last_error(s.comm));
    EXPECT(strstr(banyan_last_error(s.comm), name) || strstr(banyan_last_error(s.comm), other), "who? %s",
           banyan_last_error(s.comm));
    EXPECT(!strstr(after_words(banyan_last_error(s.comm), "been silent"), "been silent"), "twice: %s",
           banyan_last_error(s.comm));
    EXPECT(seconds < 3e-3 * stop_ms, "%g s", seconds);
    note_words(self, &s);
    if (recover(self, &s, RANKS - 1))
        return 1;
    banyan_comm_destroy(s.comm);
    atomic_fetch_add(&self->memory->step, 1);
    return 0;
}

static int stop_rank_1(job_rank *self)
{
    return stop_a_rank(self, 1);
}

static int stop_rank_0(job_rank *self)
{
    return stop_a_rank(self, 0);
}

static void expect_to_survive_a_stop(int victim, rank_function function)
{
    job j;
    int wrong = 0;

    stop_ms = job_short_ms(RANKS);
    j = job_start(RANKS, function);
    for (int i = 0; i < RANKS; i++)
        if (i != victim)
            wrong += job_end_rank(&j, i, JOB_SECONDS) != 0;
    wrong += victim ? count_differences(&j, victim) : 0; /* without rank 0 each has words of its own */
    assert_int_equal(kill(j.processes[victim], SIGCONT), 0);
    wrong += job_end_rank(&j, victim, JOB_SECONDS) != 0;
    job_free(&j);
    assert_int_equal(wrong, 0);
}

TEST(a_stopped_rank_is_a_time_out_that_names_it)
{
    expect_to_survive_a_stop(1, stop_rank_1);
}

TEST(a_stopped_rank_0_is_a_time_out_that_names_it)
{
    expect_to_survive_a_stop(0, stop_rank_0);
}

/* Ranks that are slow while the others shrink: the leader to be and a follower stand still for more than a
 * quarter of the time-out. */

enum { SLOW_MS = 16000, SLOW_FOR_MS = 4500 };

static int is_slow(int rank)
{
    return rank == 0 || rank == 2;
}

static int shrink_with_slow_ranks(job_rank *self)
{
    scene s;
    double seconds;
    float sum;

    if (enter(self, &s, SLOW_MS))
        return 1;
    EXPECT(!sum_ranks(s.comm, &sum), "%s", banyan_last_error(s.comm));
    pthread_barrier_wait(&self->memory->barrier);
    if (self->rank == RANKS - 1)
        kill(getpid(), SIGKILL);
    if (is_slow(self->rank)) {
        atomic_fetch_add(&self->memory->step, 1);
        raise(SIGSTOP);
    }
    EXPECT(call_until_failure(s.comm, &seconds) == BANYAN_PEER_LOST, "%s", banyan_last_error(s.comm));
    if (recover(self, &s, RANKS - 1))
        return 1;
    banyan_comm_destroy(s.comm);
    return 0;
}

TEST(ranks_that_are_slow_are_not_left_behind)
{
    job j = job_start(RANKS, shrink_with_slow_ranks);
    int wrong = 0;

    job_wait_step(j.memory, 2);
    usleep(SLOW_FOR_MS * 1000);
    for (int i = 0; i < RANKS; i++)
        if (is_slow(i))
            kill(j.processes[i], SIGCONT);
    for (int i = 0; i < RANKS - 1; i++)
        wrong += job_end_rank(&j, i, JOB_SECONDS) != 0;
    job_end_rank(&j, RANKS - 1, JOB_SECONDS);
    job_free(&j);
    assert_int_equal(wrong, 0);
}

/* Connections that are cut while all processes live */

static int cut_connections(job_rank *self)
{
    scene s;
    double seconds;
    banyan_status status;
    float sum;

    if (enter(self, &s, CALL_MS))
        return 1;
    EXPECT(!sum_ranks(s.comm, &sum), "%s", banyan_last_error(s.comm));
    pthread_barrier_wait(&self->memory->barrier);
    if (self->rank == 3)
        for (int fd = 3; fd < 200; fd++)
            shutdown(fd, SHUT_RDWR); /* what is no socket does not mind */
    status = call_until_failure(s.comm, &seconds);
    EXPECT(status == BANYAN_PEER_LOST, "%s: %s", banyan_status_string(status), banyan_last_error(s.comm));
    EXPECT(seconds < CALL_MS * 1e-3 / 2, "%g s", seconds);
    if (self->rank != 3)
        EXPECT(strstr(banyan_last_error(s.comm), "rank 3"), "who? %s", banyan_last_error(s.comm));
    banyan_comm_destroy(s.comm);
    return 0;
}

TEST(a_rank_that_is_cut_off_is_named)
{
    job_run(RANKS, cut_connections);
}

/* Ranks that make different calls */

static int differ_in_count(job_rank *self)
{
    scene s;
    float data[30] = {0};
    banyan_status status;

    if (enter(self, &s, CALL_MS))
        return 1;
    EXPECT(!banyan_allreduce(data, data, 30, BANYAN_FLOAT32, BANYAN_SUM, s.comm), "%s",
           banyan_last_error(s.comm));
    pthread_barrier_wait(&self->memory->barrier);
    status = banyan_allreduce(data, data, self->rank == 2 ? 20 : 30, BANYAN_FLOAT32, BANYAN_SUM, s.comm);
    EXPECT(status == BANYAN_MISMATCH, "%s: %s", banyan_status_string(status), banyan_last_error(s.comm));
    EXPECT(strstr(banyan_last_error(s.comm), "call 1 differs") &&
               strstr(banyan_last_error(s.comm), "rank 2 calls allreduce(count 20, float32, sum)") &&
               strstr(banyan_last_error(s.comm), "calls allreduce(count 30, float32, sum)"),
           "%s", banyan_last_error(s.comm));
    banyan_comm_destroy(s.comm);
    return 0;
}

static int differ_in_type(job_rank *self)
{
    scene s;
    float data[30] = {0};
    banyan_status status;

    if (enter(self, &s, CALL_MS))
        return 1;
    status =
        banyan_allreduce(data, data, 30, self->rank == 1 ? BANYAN_INT32 : BANYAN_FLOAT32, BANYAN_SUM, s.comm);
    EXPECT(status == BANYAN_MISMATCH, "%s: %s", banyan_status_string(status), banyan_last_error(s.comm));
    EXPECT(strstr(banyan_last_error(s.comm), "rank 1 calls allreduce(count 30, int32, sum)"), "%s",
           banyan_last_error(s.comm));
    banyan_comm_destroy(s.comm);
    return 0;
}

static int differ_in_collective(job_rank *self)
{
    scene s;
    float data[30] = {0};
    banyan_status status;

    if (enter(self, &s, CALL_MS))
        return 1;
    status = self->rank == 3 ? banyan_barrier(s.comm)
                             : banyan_broadcast(data, data, 30, BANYAN_FLOAT32, 0, s.comm);
    for (int i = 0; i < 10000 && !status;
         i++) { /* the root may be done before it is found; a later call says so */
        usleep(5000);
        status = banyan_broadcast(data, data, 30, BANYAN_FLOAT32, 0, s.comm);
    }
    EXPECT(status == BANYAN_MISMATCH, "%s: %s", banyan_status_string(status), banyan_last_error(s.comm));
    EXPECT(strstr(banyan_last_error(s.comm), "rank 3 calls barrier"), "%s", banyan_last_error(s.comm));
    banyan_comm_destroy(s.comm);
    return 0;
}

/* With plans that everybody has, and of which one needs no streams in shared memory. */
static int differ_in_known_collective(job_rank *self)
{
    scene s;
    float data[30] = {0};
    banyan_status status;

    if (enter(self, &s, CALL_MS))
        return 1;
    EXPECT(!banyan_allreduce(data, data, 30, BANYAN_FLOAT32, BANYAN_SUM, s.comm), "%s",
           banyan_last_error(s.comm));
    EXPECT(!banyan_broadcast(data, data, 30, BANYAN_FLOAT32, 0, s.comm), "%s", banyan_last_error(s.comm));
    pthread_barrier_wait(&self->memory->barrier);
    status = self->rank == 3 ? banyan_broadcast(data, data, 30, BANYAN_FLOAT32, 0, s.comm)
                             : banyan_allreduce(data, data, 30, BANYAN_FLOAT32, BANYAN_SUM, s.comm);
    EXPECT(status == BANYAN_MISMATCH, "%s: %s", banyan_status_string(status), banyan_last_error(s.comm));
    EXPECT(strstr(banyan_last_error(s.comm), "rank 3 calls broadcast(count 30, float32, root 0)"), "%s",
           banyan_last_error(s.comm));
    banyan_comm_destroy(s.comm);
    return 0;
}

TEST(different_counts_are_named_with_both_ranks)
{
    job_run(RANKS, differ_in_count);
}

TEST(different_types_of_one_size_are_found)
{
    job_run(RANKS, differ_in_type);
}

TEST(different_collectives_are_found)
{
    job_run(RANKS, differ_in_collective);
}

TEST(different_collectives_are_found_when_their_plans_are_known)
{
    job_run(RANKS, differ_in_known_collective);
}

/* Abort, and leaving early */

static int abort_while_others_wait(job_rank *self)
{
    scene s;
    double seconds;
    banyan_status status, async = BANYAN_SUCCESS;
    COUNT_BEFORE;

    if (enter(self, &s, CALL_MS))
        return 1;
    if (self->rank == 1) {
        usleep(100000);
        banyan_comm_abort(s.comm);
    } else {
        status = call_until_failure(s.comm, &seconds);
        EXPECT(status == BANYAN_REMOTE_ERROR, "%s", banyan_status_string(status));
        EXPECT(!strcmp(banyan_last_error(s.comm), "rank 1 aborted the communicator"), "%s",
               banyan_last_error(s.comm));
    }
    banyan_comm_get_async_error(s.comm, &async);
    EXPECT(async == BANYAN_REMOTE_ERROR, "async: %s", banyan_status_string(async));
    return leave(self, &s, descriptors, threads);
}

TEST(an_abort_ends_the_calls_of_all_processes)
{
    job_run(RANKS, abort_while_others_wait);
}

static int leave_early(job_rank *self, int who)
{
    scene s;
    double seconds;
    banyan_status status;
    char words[80];
    float sum;
    COUNT_BEFORE;

    if (enter(self, &s, CALL_MS))
        return 1;
    EXPECT(!sum_ranks(s.comm, &sum), "%s", banyan_last_error(s.comm));
    pthread_barrier_wait(&self->memory->barrier); /* nobody is still in the first call */
    if (self->rank != who) {
        status = call_until_failure(s.comm, &seconds);
        EXPECT(status == BANYAN_PEER_LOST, "%s: %s", banyan_status_string(status), banyan_last_error(s.comm));
        snprintf(words, sizeof words, "rank %d has destroyed its communicator", who);
        EXPECT(strstr(banyan_last_error(s.comm), words), "%s", banyan_last_error(s.comm));
    }
    return leave(self, &s, descriptors, threads);
}

static int rank_2_leaves_early(job_rank *self)
{
    return leave_early(self, 2);
}

static int rank_0_leaves_early(job_rank *self)
{
    return leave_early(self, 0);
}

TEST(a_rank_that_leaves_early_is_named)
{
    job_run(RANKS, rank_2_leaves_early);
}

TEST(rank_0_may_leave_early_too_and_is_named)
{
    job_run(RANKS, rank_0_leaves_early);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_rank_is_named_and_the_survivors_go_on),
        cmocka_unit_test(a_killed_rank_0_is_named_and_the_survivors_go_on),
        cmocka_unit_test(a_stopped_rank_is_a_time_out_that_names_it),
        cmocka_unit_test(a_stopped_rank_0_is_a_time_out_that_names_it),
        cmocka_unit_test(ranks_that_are_slow_are_not_left_behind),
        cmocka_unit_test(a_rank_that_is_cut_off_is_named),
        cmocka_unit_test(different_counts_are_named_with_both_ranks),
        cmocka_unit_test(different_types_of_one_size_are_found),
        cmocka_unit_test(different_collectives_are_found),
        cmocka_unit_test(different_collectives_are_found_when_their_plans_are_known),
        cmocka_unit_test(an_abort_ends_the_calls_of_all_processes),
        cmocka_unit_test(a_rank_that_leaves_early_is_named),
        cmocka_unit_test(rank_0_may_leave_early_too_and_is_named),
    };

    return RUN_OVER_TRANSPORTS(tests, count, words);
}
