/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/tree.c: a control tree of depth 3, since its fan-out is 2: ranks that die, stop, leave and
 * abort at every level of it. All survivors say the same, and go on.
 *
 *                   0
 *             1           2
 *          3     4     5     6
 *         7 8   9 10 11 12 */
#include "multi/calls.h"

enum { RANKS = 13, ROUNDS = 3 };

static unsigned victims; /* by bit */
static int stop_ms;      /* a time-out that passes */

static int is_victim(int rank)
{
    return (int)(victims >> rank & 1u);
}

static int count_survivors(void)
{
    int count = 0;

    for (int i = 0; i < RANKS; i++)
        count += !is_victim(i);
    return count;
}

static banyan_config make_config(int timeout_ms, char *sentence, size_t bytes)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;

    config.timeout_ms = timeout_ms;
    config.algorithm = "ring";
    config.error = sentence;
    config.error_bytes = bytes;
    return config;
}

static int enter(job_rank *self, int timeout_ms, banyan_comm **comm)
{
    char sentence[512] = "";
    banyan_config config = make_config(timeout_ms, sentence, sizeof sentence);
    float sum = 0;

    EXPECT(!banyan_comm_init_rank(comm, RANKS, job_id(self), self->rank, &config), "init: %s", sentence);
    for (int i = 0; i < ROUNDS; i++)
        EXPECT(!sum_ranks(*comm, &sum) && sum == RANKS * (RANKS + 1) / 2, "%g: %s", (double)sum,
               banyan_last_error(*comm));
    pthread_barrier_wait(&self->memory->barrier);
    return 0;
}

static void note_words(job_rank *self, const banyan_comm *comm)
{
    snprintf((char *)self->memory->results[self->rank], 512, "%s", banyan_last_error(comm));
}

/* Survivors make a group of their own, and one of as many ranks as that comes out of it. */
static int go_on(job_rank *self, banyan_comm *comm, int survivors)
{
    banyan_comm *fresh = NULL, *grown = NULL;
    banyan_unique_id id;
    float sum = 0;
    int size = 0, rank = 0;

    EXPECT(!banyan_comm_shrink(comm, NULL, 0, &fresh, NULL), "shrink: %s", banyan_last_error(comm));
    banyan_comm_size(fresh, &size);
    banyan_comm_rank(fresh, &rank);
    EXPECT(size == survivors, "%d survivors", size);
    EXPECT(!sum_ranks(fresh, &sum) && sum == (float)(size * (size + 1) / 2), "%g: %s", (double)sum,
           banyan_last_error(fresh));
    if (rank == 0)
        EXPECT(!banyan_get_unique_id(&id), "id");
    EXPECT(!banyan_broadcast(&id, &id, sizeof id, BANYAN_UINT8, 0, fresh), "%s", banyan_last_error(fresh));
    EXPECT(!banyan_comm_grow(fresh, size, id, -1, &grown, NULL), "grow: %s", banyan_last_error(fresh));
    EXPECT(!banyan_barrier(grown), "%s", banyan_last_error(grown));
    banyan_comm_destroy(grown);
    banyan_comm_destroy(fresh);
    return 0;
}

/* All that live have the same words. */
static int count_differences(const job *j)
{
    const char *first = NULL;
    int count = 0;

    for (int i = 0; i < RANKS; i++) {
        const char *words = (const char *)j->memory->results[i];

        if (is_victim(i))
            continue;
        first = first ? first : words;
        if (strcmp(first, words) != 0 || !*words) {
            fprintf(stderr, "'%s' on one rank, '%s' on rank %d\n", first, words, i);
            count++;
        }
    }
    return count;
}

/* kill -9 */

static int lose_ranks(job_rank *self)
{
    int descriptors = job_count_descriptors();
    banyan_comm *comm;
    double seconds;
    banyan_status status;

    if (enter(self, CALL_MS, &comm))
        return 1;
    if (is_victim(self->rank))
        kill(getpid(), SIGKILL);
    status = call_until_failure(comm, &seconds);
    EXPECT(status == BANYAN_PEER_LOST, "%s: %s", banyan_status_string(status), banyan_last_error(comm));
    EXPECT(seconds < CALL_MS * 1e-3 / 2, "%g s", seconds);
    note_words(self, comm);
    if (go_on(self, comm, count_survivors()))
        return 1;
    banyan_comm_destroy(comm);
    for (int i = 0; i < 6000 && job_count_descriptors() != descriptors; i++)
        usleep(10000); /* the thread that served the meeting ends by itself */
    EXPECT(job_count_descriptors() == descriptors, "descriptors are left");
    return 0;
}

static void expect_to_survive(unsigned dead)
{
    job j;
    int wrong = 0;

    victims = dead;
    j = job_start(RANKS, lose_ranks);
    for (int i = 0; i < RANKS; i++) {
        int ended = job_end_rank(&j, i, JOB_SECONDS);

        if (ended != (is_victim(i) ? 1000 + SIGKILL : 0)) {
            fprintf(stderr, "rank %d ended with %d\n", i, ended);
            wrong++;
        }
    }
    wrong += count_differences(&j);
    job_free(&j);
    assert_int_equal(wrong, 0);
}

TEST(a_killed_leaf_is_named_by_all)
{
    expect_to_survive(1u << 12);
}

TEST(a_killed_inner_rank_does_not_lose_those_below_it)
{
    expect_to_survive(1u << 4);
    expect_to_survive(1u << 1);
}

TEST(a_killed_root_is_named_by_all)
{
    expect_to_survive(1u << 0);
}

TEST(ranks_that_die_with_their_parent_are_found_and_those_below_go_on)
{
    expect_to_survive(1u << 1 | 1u << 3);
    expect_to_survive(1u << 1 | 1u << 4 | 1u << 9 | 1u << 10);
}

/* SIGSTOP */

static int stop_an_inner_rank(job_rank *self)
{
    banyan_comm *comm;
    double seconds;
    banyan_status status;

    if (enter(self, stop_ms, &comm))
        return 1;
    if (is_victim(self->rank)) {
        raise(SIGSTOP);
        EXPECT(call_until_failure(comm, &seconds), "the stopped rank goes on as if nothing had happened");
        banyan_comm_destroy(comm);
        return 0;
    }
    status = call_until_failure(comm, &seconds);
    EXPECT(status == BANYAN_TIMEOUT, "%s: %s", banyan_status_string(status), banyan_last_error(comm));
    EXPECT(strstr(banyan_last_error(comm), "rank 1"), "who? %s", banyan_last_error(comm));
    note_words(self, comm);
    if (go_on(self, comm, count_survivors()))
        return 1;
    banyan_comm_destroy(comm);
    return 0;
}

TEST(a_stopped_inner_rank_is_a_time_out_in_the_same_words)
{
    job j;
    int wrong = 0;

    victims = 1u << 1;
    stop_ms = job_short_ms(RANKS);
    j = job_start(RANKS, stop_an_inner_rank);
    for (int i = 0; i < RANKS; i++)
        wrong += !is_victim(i) && job_end_rank(&j, i, JOB_SECONDS) != 0;
    wrong += count_differences(&j);
    kill(j.processes[1], SIGCONT);
    wrong += job_end_rank(&j, 1, JOB_SECONDS) != 0;
    job_free(&j);
    assert_int_equal(wrong, 0);
}

/* Stopped for longer than a rank may be silent, but not for a whole time-out: those below go around it, and
 * come back; nothing that was on its way is lost. */

enum { PAUSE_MS = 12000, PAUSED_FOR_MS = 5000 };

static int pause_an_inner_rank(job_rank *self)
{
    banyan_comm *comm;
    float sum = 0, data[64] = {0};

    if (enter(self, PAUSE_MS, &comm))
        return 1;
    if (is_victim(self->rank)) {
        atomic_fetch_add(&self->memory->step, 1);
        raise(SIGSTOP);
    }
    for (int i = 1; i <= 64; i *= 4) /* each needs a plan of its own, which goes through the stopped rank */
        EXPECT(!banyan_allreduce(data, data, (size_t)i, BANYAN_FLOAT32, BANYAN_SUM, comm), "%s",
               banyan_last_error(comm));
    EXPECT(!banyan_broadcast(data, data, 8, BANYAN_FLOAT32, 5, comm), "%s", banyan_last_error(comm));
    EXPECT(!sum_ranks(comm, &sum) && sum == RANKS * (RANKS + 1) / 2, "%g: %s", (double)sum,
           banyan_last_error(comm));
    banyan_comm_destroy(comm);
    return 0;
}

TEST(an_inner_rank_that_pauses_holds_up_calls_and_loses_nothing)
{
    job j;

    victims = 1u << 1;
    j = job_start(RANKS, pause_an_inner_rank);
    job_wait_step(j.memory, 1);
    usleep(PAUSED_FOR_MS * 1000);
    kill(j.processes[1], SIGCONT);
    job_finish(&j);
}

/* Abort, and leaving */

static int abort_in_a_leaf(job_rank *self)
{
    banyan_comm *comm;
    double seconds;
    banyan_status status;

    if (enter(self, CALL_MS, &comm))
        return 1;
    if (self->rank == 11) {
        banyan_comm_abort(comm);
    } else {
        status = call_until_failure(comm, &seconds);
        EXPECT(status == BANYAN_REMOTE_ERROR &&
                   !strcmp(banyan_last_error(comm), "rank 11 aborted the communicator"),
               "%s: %s", banyan_status_string(status), banyan_last_error(comm));
    }
    banyan_comm_destroy(comm);
    return 0;
}

TEST(an_abort_reaches_every_level)
{
    job_run(RANKS, abort_in_a_leaf);
}

static int leave_early(job_rank *self)
{
    banyan_comm *comm;
    double seconds;
    banyan_status status;

    if (enter(self, CALL_MS, &comm))
        return 1;
    if (self->rank != 2) {
        status = call_until_failure(comm, &seconds);
        EXPECT(status == BANYAN_PEER_LOST &&
                   strstr(banyan_last_error(comm), "rank 2 has destroyed its communicator"),
               "%s: %s", banyan_status_string(status), banyan_last_error(comm));
        EXPECT(seconds < CALL_MS * 1e-3 / 2, "%g s", seconds);
    }
    banyan_comm_destroy(comm);
    return 0;
}

TEST(an_inner_rank_that_leaves_early_is_named)
{
    job_run(RANKS, leave_early);
}

/* Ranks that are done leave in any order, and none takes another for lost. */
static int leave_one_by_one(job_rank *self)
{
    banyan_comm *comm;
    banyan_status async = BANYAN_SUCCESS;

    if (enter(self, CALL_MS, &comm))
        return 1;
    job_wait_step(self->memory, (self->rank * 5 + self->memory->size / 2) % RANKS);
    banyan_comm_get_async_error(comm, &async);
    EXPECT(!async, "%s", banyan_status_string(async));
    banyan_comm_destroy(comm);
    atomic_fetch_add(&self->memory->step, 1);
    return 0;
}

TEST(ranks_leave_in_any_order)
{
    job_run(RANKS, leave_one_by_one);
}

/* A start in which an inner rank never connects: the root names it alone, although ranks wait below it. */

static banyan_status exchange_and_stop(void *context, const void *mine, size_t bytes, void *all)
{
    job_rank *self = context;
    banyan_status status = job_exchange(context, mine, bytes, all);

    if (is_victim(self->rank))
        raise(SIGSTOP);
    return status;
}

static int miss_an_inner_rank(job_rank *self)
{
    char sentence[512] = "";
    banyan_config config = make_config(stop_ms, sentence, sizeof sentence);
    banyan_comm *comm = NULL;
    banyan_status status;

    status = banyan_comm_init_exchange(&comm, RANKS, self->rank, exchange_and_stop, self, &config);
    EXPECT(status == BANYAN_TIMEOUT && !comm, "%s: %s", banyan_status_string(status), sentence);
    snprintf((char *)self->memory->results[self->rank], sizeof sentence, "%s", sentence);
    EXPECT(strstr(sentence, "for rank 1 to join"), "who? %s", sentence);
    return 0;
}

TEST(an_inner_rank_that_does_not_join_is_named_alone)
{
    job j;
    int wrong = 0;

    victims = 1u << 1;
    stop_ms = 2 * job_short_ms(RANKS);
    j = job_start(RANKS, miss_an_inner_rank);
    for (int i = 0; i < RANKS; i++)
        wrong += !is_victim(i) && job_end_rank(&j, i, JOB_SECONDS) != 0;
    kill(j.processes[1], SIGKILL);
    job_end_rank(&j, 1, JOB_SECONDS);
    wrong += count_differences(&j);
    job_free(&j);
    assert_int_equal(wrong, 0);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_leaf_is_named_by_all),
        cmocka_unit_test(a_killed_inner_rank_does_not_lose_those_below_it),
        cmocka_unit_test(a_killed_root_is_named_by_all),
        cmocka_unit_test(ranks_that_die_with_their_parent_are_found_and_those_below_go_on),
        cmocka_unit_test(a_stopped_inner_rank_is_a_time_out_in_the_same_words),
        cmocka_unit_test(an_inner_rank_that_pauses_holds_up_calls_and_loses_nothing),
        cmocka_unit_test(an_abort_reaches_every_level),
        cmocka_unit_test(an_inner_rank_that_leaves_early_is_named),
        cmocka_unit_test(ranks_leave_in_any_order),
        cmocka_unit_test(an_inner_rank_that_does_not_join_is_named_alone),
    };

    job_stay_here();
    setenv("BANYAN_CONTROL_FANOUT", "2", 1);
    if (count > 1)
        setenv("BANYAN_TRANSPORT", words[1], 1);
    if (count > 2)
        cmocka_set_test_filter(words[2]);
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
