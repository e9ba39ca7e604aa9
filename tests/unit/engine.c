/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/engine.c: the training engine where ranks are threads, what it refuses, and every allocation
 * failing in turn; and the medians that it plans by. */
#include "unit/test.h"

#include <banyan/banyan.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/alloc.h"
#include "train/observe.h"

enum { RANKS = 3, COUNT = 5000 };

#define COST "linear:1e-4,1e-9,1.2,none"

typedef struct {
    banyan_comm *comm;
    int rank, wrong;
    banyan_train_stats stats;
} worker;

static void *train_one(void *argument)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
    worker *w = argument;
    static const char *const names[] = {"first", "second", "third"};
    float *data[3] = {calloc(COUNT, 4), calloc(COUNT, 4), calloc(COUNT, 4)};
    banyan_train *train;
    int numbers[3];

    config.cost = COST;
    config.policy = "wfbp:2";
    config.profile_iterations = 1;
    if (banyan_train_create(&train, w->comm, &config))
        abort();
    for (int i = 0; i < 3; i++) {
        int which = (i + w->rank) % 3;

        if (banyan_train_register(train, names[which], data[which], COUNT, BANYAN_FLOAT32, &numbers[which]))
            abort();
    }
    w->wrong += banyan_train_commit(train) != BANYAN_SUCCESS;
    for (int iteration = 0; iteration < 5 && !w->wrong; iteration++) {
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < COUNT; k++)
                data[i][k] = (float)(w->rank * (i + 1));
            w->wrong += banyan_train_ready(train, numbers[i], NULL) != BANYAN_SUCCESS;
        }
        w->wrong += banyan_train_wait_all(train) != BANYAN_SUCCESS;
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < COUNT; k++)
                w->wrong += data[i][k] != (float)(i + 1); /* the average of 0, 1, 2 times i + 1 */
    }
    if (w->wrong)
        printf("rank %d: %s\n", w->rank, banyan_train_last_error(train));
    w->stats.size = sizeof w->stats;
    banyan_train_get_stats(train, &w->stats);
    banyan_train_destroy(train);
    for (int i = 0; i < 3; i++)
        free(data[i]);
    return NULL;
}

TEST(ranks_that_are_threads_train_on_two_streams)
{
    banyan_comm *comms[RANKS];
    pthread_t threads[RANKS];
    worker workers[RANKS];

    assert_int_equal(banyan_comm_init_all(comms, RANKS, NULL), 0);
    for (int r = 0; r < RANKS; r++) {
        workers[r] = (worker){.comm = comms[r], .rank = r};
        pthread_create(&threads[r], NULL, train_one, &workers[r]);
    }
    for (int r = 0; r < RANKS; r++)
        pthread_join(threads[r], NULL);
    for (int r = 0; r < RANKS; r++) {
        banyan_comm_destroy(comms[r]);
        assert_int_equal(workers[r].wrong, 0);
        assert_int_equal(workers[r].stats.plan, 1);
        assert_int_equal(workers[r].stats.groups, 3);
        assert_int_equal(workers[r].stats.streams, 2);
        assert_true(workers[r].stats.digest == workers[0].stats.digest);
        assert_true(workers[r].stats.measured_step_s > 0 && workers[r].stats.predicted_step_s > 0);
        assert_true(workers[r].stats.bound_s > 0 &&
                    workers[r].stats.predicted_step_s >= workers[r].stats.bound_s * 0.999999);
    }
}

/* ---- Ranks that share a processor. */

static int become_real_time(int cpu)
{
    struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0 &&
           pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest) == 0;
}

typedef struct {
    banyan_train *train;
    atomic_int is_there, may_go, had_its_turn;
} two_of_one_processor;

/* Always ready to run, so that nothing but its turn is missing. */
static void *have_a_turn(void *argument)
{
    two_of_one_processor *two = argument;

    atomic_store(&two->is_there, 1);
    while (!atomic_load(&two->may_go))
        sched_yield();
    atomic_store(&two->had_its_turn, 1);
    return NULL;
}

/* Alone on its processor in a class where nobody is interrupted; outcome: 0 as it should be, 1 not, -1 it
 * cannot be seen here. */
static void *complete_a_group_before_another(void *argument)
{
    two_of_one_processor *two = argument;
    intptr_t outcome;
    pthread_t other;

    if (!become_real_time(sched_getcpu()) || pthread_create(&other, NULL, have_a_turn, two))
        return (void *)(intptr_t)-1;
    while (!atomic_load(&two->is_there))
        sched_yield();
    atomic_store(&two->may_go, 1);
    outcome = atomic_load(&two->had_its_turn) ? -1 : 0;
    if (banyan_train_ready(two->train, 0, NULL) || (!outcome && !atomic_load(&two->had_its_turn)))
        outcome = 1;
    pthread_join(other, NULL);
    return (void *)outcome;
}

TEST(who_completes_a_group_lets_others_of_its_processor_go_first)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
    float gradient[4] = {1, 2, 3, 4};
    two_of_one_processor two = {0};
    banyan_train *train;
    banyan_comm *comm;
    pthread_t thread;
    void *outcome;

    config.cost = COST;
    assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
    assert_int_equal(banyan_train_create(&train, comm, &config), 0);
    assert_int_equal(banyan_train_register(train, "g", gradient, 4, BANYAN_FLOAT32, NULL), 0);
    assert_int_equal(banyan_train_commit(train), 0);
    two.train = train;
    pthread_create(&thread, NULL, complete_a_group_before_another, &two);
    pthread_join(thread, &outcome);
    if ((intptr_t)outcome < 0)
        printf("not looked at: real-time priority is not allowed here, or somebody else used it\n");
    assert_true((intptr_t)outcome <= 0);
    banyan_train_destroy(train);
    banyan_comm_destroy(comm);
}

static void refuse(const banyan_train_config *config, banyan_comm *comm, banyan_status status,
                   const char *says)
{
    banyan_train_config with_error = *config;
    banyan_train *train;
    banyan_error err = {""};

    with_error.error = err.text;
    with_error.error_bytes = sizeof err.text;
    assert_int_equal(banyan_train_create(&train, comm, &with_error), status);
    assert_null(train);
    CHECK_SAYS(err, says);
}

TEST(wrong_configs_are_refused_with_a_sentence)
{
    banyan_train_config good = BANYAN_TRAIN_CONFIG_INITIALIZER, config;
    banyan_comm *comm;
    banyan_train *train;

    assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
    assert_int_equal(banyan_train_create(NULL, comm, NULL), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_train_create(&train, NULL, NULL), BANYAN_INVALID_ARGUMENT);
    config = good;
    config.op = BANYAN_MAX;
    refuse(&config, comm, BANYAN_INVALID_ARGUMENT, "op 2 is neither");
    config = good;
    config.policy = "best";
    refuse(&config, comm, BANYAN_INVALID_ARGUMENT, "no policy is named best");
    config.policy = "optimal:9";
    refuse(&config, comm, BANYAN_INVALID_ARGUMENT, "is not an integer from 1 to 8");
    config = good;
    config.cost = "cheap";
    refuse(&config, comm, BANYAN_INVALID_ARGUMENT, "is not linear:A,B");
    config = good;
    config.streams = 9;
    refuse(&config, comm, BANYAN_INVALID_ARGUMENT, "9 streams are not from 1 to 8");
    config = good;
    config.profile_iterations = -1;
    refuse(&config, comm, BANYAN_INVALID_ARGUMENT, "-1 iterations to profile");
    config = good;
    config.measure_ms = -5;
    refuse(&config, comm, BANYAN_INVALID_ARGUMENT, "-5 ms to measure");
    config = good;
    config.magic = 1;
    assert_int_equal(banyan_train_create(&train, comm, &config), BANYAN_INVALID_ARGUMENT);
    config = good;
    config.size = sizeof config + 8;
    assert_int_equal(banyan_train_create(&train, comm, &config), BANYAN_VERSION_MISMATCH);
    banyan_comm_destroy(comm);
}

TEST(calls_out_of_turn_are_refused_with_a_sentence)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
    banyan_train_stats stats = {.size = sizeof stats + 1};
    char plan[4096], name[300];
    float data[4] = {1, 2, 3, 4};
    banyan_comm *comm;
    banyan_train *train;
    size_t needed;
    int number;

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    config.cost = COST;
    config.profile_iterations = 1;
    assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
    assert_int_equal(banyan_train_create(&train, comm, &config), 0);
    assert_int_equal(banyan_train_begin(train), BANYAN_INVALID_USAGE);
    assert_string_equal(banyan_train_last_error(train), "commit comes first");
    assert_int_equal(banyan_train_register(train, name, data, 4, BANYAN_FLOAT32, NULL),
                     BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_train_register(train, "", data, 4, BANYAN_FLOAT32, NULL),
                     BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_train_register(train, "two\nlines", data, 4, BANYAN_FLOAT32, NULL),
                     BANYAN_INVALID_ARGUMENT);
    assert_string_equal(banyan_train_last_error(train),
                        "a gradient's name has 1 to 255 bytes, all in one line");
    assert_int_equal(banyan_train_register(train, "a", data, 4, (banyan_datatype)77, NULL),
                     BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_train_get_plan(train, NULL, 0, &needed), BANYAN_INVALID_USAGE);
    assert_int_equal(banyan_train_register(train, "a", data, 4, BANYAN_FLOAT32, &number), 0);
    assert_int_equal(banyan_train_commit(train), 0);
    assert_int_equal(banyan_train_commit(train), BANYAN_INVALID_USAGE);
    assert_int_equal(banyan_train_register(train, "b", data, 4, BANYAN_FLOAT32, NULL), BANYAN_INVALID_USAGE);
    assert_int_equal(banyan_train_wait_all(train), 0); /* nothing has begun */
    assert_int_equal(banyan_train_ready(train, 1, NULL), BANYAN_INVALID_ARGUMENT);
    assert_string_equal(banyan_train_last_error(train), "there is no gradient 1 of 1");
    assert_int_equal(banyan_train_get_stats(train, &stats), BANYAN_VERSION_MISMATCH);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(banyan_train_ready(train, number, NULL), 0);
        assert_int_equal(banyan_train_begin(train), BANYAN_INVALID_USAGE);
        assert_int_equal(banyan_train_wait_all(train), 0);
        assert_int_equal(banyan_train_test(train, number), 0);
        assert_true(data[3] == 4);
    }
    assert_int_equal(banyan_train_get_plan(train, NULL, 0, &needed), 0);
    assert_int_equal(banyan_train_get_plan(train, plan, needed - 1, NULL), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_train_get_plan(train, plan, sizeof plan, &needed), 0);
    assert_int_equal(strlen(plan) + 1, needed);
    assert_non_null(strstr(plan, "banyan-grouping"));
    banyan_train_destroy(train);
    banyan_comm_destroy(comm);
}

/* Two gradients under way at a time are two buffers; memory that has come back may serve again. */
TEST(gradients_that_share_memory_while_they_are_under_way_are_refused)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
    float data[16] = {0}, far[4] = {0};
    banyan_comm *comm;
    banyan_train *train;

    config.cost = COST;
    config.policy = "single"; /* nothing travels before all are ready */
    config.unused = BANYAN_TRAIN_UNUSED_ZEROS;
    assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
    assert_int_equal(banyan_train_create(&train, comm, &config), 0);
    assert_int_equal(banyan_train_register(train, "a", data, 4, BANYAN_FLOAT32, NULL), 0);
    assert_int_equal(banyan_train_register(train, "b", data + 4, 4, BANYAN_FLOAT32, NULL), 0);
    assert_int_equal(banyan_train_register(train, "c", data + 8, 4, BANYAN_FLOAT32, NULL), 0);
    assert_int_equal(banyan_train_commit(train), 0);
    for (int iteration = 0; iteration < 3; iteration++) {
        assert_int_equal(banyan_train_ready(train, 2, data + 6), 0);
        assert_int_equal(banyan_train_ready(train, 1, data + 3), BANYAN_INVALID_ARGUMENT);
        assert_string_equal(banyan_train_last_error(train),
                            "gradient 'b' shares memory with 'c', which is not reduced yet; gradients may "
                            "share none while they are under way");
        assert_int_equal(banyan_train_ready(train, 1, data + 9), BANYAN_INVALID_ARGUMENT);
        assert_int_equal(banyan_train_ready(train, 1, data + 2), 0);
        assert_int_equal(banyan_train_ready(train, 0, far), 0);
        assert_int_equal(banyan_train_wait_all(train), 0);
    }
    assert_int_equal(banyan_train_ready(train, 0, data + 4), 0); /* and zeros must not go over it */
    assert_int_equal(banyan_train_wait_all(train), BANYAN_INVALID_USAGE);
    assert_string_equal(banyan_train_last_error(train),
                        "gradient 'b' of rank 0 was not ready before wait_all, and shares memory with 'a'");
    banyan_train_destroy(train);
    banyan_comm_destroy(comm);
}

TEST(nothing_to_train_is_refused_with_a_sentence)
{
    banyan_comm *comm;
    banyan_train *train;

    assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
    for (int has_empty = 0; has_empty < 2; has_empty++) {
        assert_int_equal(banyan_train_create(&train, comm, NULL), 0);
        if (has_empty)
            assert_int_equal(banyan_train_register(train, "none", NULL, 0, BANYAN_FLOAT32, NULL), 0);
        assert_int_equal(banyan_train_commit(train), BANYAN_INVALID_ARGUMENT);
        assert_string_equal(banyan_train_last_error(train), "no gradient is registered that has elements");
        assert_int_equal(banyan_train_begin(train), BANYAN_INVALID_ARGUMENT);
        banyan_train_destroy(train);
    }
    banyan_comm_destroy(comm);
}

/* What is measured last is the whole model, where that is more than the size before. */
TEST(a_model_a_little_larger_than_a_measured_size_can_be_committed)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
    banyan_comm *comm;
    banyan_train *train;

    config.measure_ms = 1;
    assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
    for (size_t count = 4096; count <= 4099; count++) {
        assert_int_equal(banyan_train_create(&train, comm, &config), 0);
        assert_int_equal(banyan_train_register(train, NULL, NULL, count, BANYAN_FLOAT32, NULL), 0);
        if (banyan_train_commit(train))
            fail_msg("%zu elements: %s", count, banyan_train_last_error(train));
        banyan_train_destroy(train);
    }
    banyan_comm_destroy(comm);
}

static banyan_status train_alone(banyan_comm *comm, const char *cost)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
    float data[3][64] = {{0}};
    banyan_train *train = NULL;
    banyan_status status;

    config.profile_iterations = 1;
    config.measure_ms = 1;
    config.cost = cost;
    config.unused = BANYAN_TRAIN_UNUSED_ZEROS;
    status = banyan_train_create(&train, comm, &config);
    for (int i = 0; i < 3 && !status; i++)
        status = banyan_train_register(train, NULL, i ? data[i] : NULL, 64, BANYAN_FLOAT32, NULL);
    if (!status)
        status = banyan_train_commit(train);
    for (int k = 0; k < 4 && !status; k++) {
        status = banyan_train_ready(train, 2, NULL);
        if (!status)
            status = banyan_train_wait_all(train);
    }
    banyan_train_destroy(train);
    return status;
}

TEST(memory_that_runs_out_ends_the_engine_and_names_the_rank)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
    banyan_comm *comm;
    banyan_train *train;
    float data[64] = {0};

    config.cost = COST;
    config.unused = BANYAN_TRAIN_UNUSED_ZEROS;
    assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
    assert_int_equal(banyan_train_create(&train, comm, &config), 0);
    assert_int_equal(banyan_train_register(train, NULL, NULL, 64, BANYAN_FLOAT32, NULL), 0);
    assert_int_equal(banyan_train_register(train, NULL, data, 64, BANYAN_FLOAT32, NULL), 0);
    assert_int_equal(banyan_train_commit(train), 0);
    assert_int_equal(banyan_train_begin(train), 0);
    banyan_alloc_fail_after(0);
    assert_int_equal(banyan_train_wait_all(train), BANYAN_SYSTEM_ERROR);
    banyan_alloc_fail_after(-1);
    assert_string_equal(banyan_train_last_error(train), "rank 0: out of memory");
    assert_int_equal(banyan_train_wait_all(train), BANYAN_SYSTEM_ERROR);
    banyan_train_destroy(train);
    banyan_comm_destroy(comm);
}

TEST(what_was_aborted_cannot_be_committed)
{
    banyan_comm *comm;
    banyan_train *train;

    assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
    assert_int_equal(banyan_train_create(&train, comm, NULL), 0);
    assert_int_equal(banyan_train_register(train, NULL, NULL, 64, BANYAN_FLOAT32, NULL), 0);
    assert_int_equal(banyan_train_abort(train), 0);
    assert_int_equal(banyan_train_commit(train), BANYAN_REMOTE_ERROR);
    assert_string_equal(banyan_train_last_error(train), "rank 0 aborted the training");
    banyan_train_destroy(train);
    banyan_comm_destroy(comm);
}

/* Fails every allocation up to the hundredth, then each that is a per cent later than the one before. */
static void walk_allocations(const char *cost)
{
    banyan_status status = BANYAN_SYSTEM_ERROR;

    for (long calls = 0; status; calls += 1 + calls / 100) {
        banyan_comm *comm;

        assert_true(calls < 200000);
        assert_int_equal(banyan_comm_init_all(&comm, 1, NULL), 0);
        banyan_alloc_fail_after(calls);
        status = train_alone(comm, cost);
        banyan_alloc_fail_after(-1);
        banyan_comm_destroy(comm);
    }
}

TEST(it_survives_failing_allocations)
{
    walk_allocations(COST);
    walk_allocations(NULL);
}

TEST(medians_forget_one_slow_iteration)
{
    banyan_observations seen;
    double rows[][2] = {{9, 9}, {1, 10}, {2, 20}, {100, 30}, {3, 1}, {4, 40}}, median[2];

    assert_int_equal(banyan_observations_init(&seen, 2, 5, NULL), 0);
    for (int i = 0; i < 6; i++)
        banyan_observations_add(&seen, rows[i]);
    banyan_observations_median(&seen, median); /* the first row has gone */
    assert_true(banyan_observations_row(&seen, 0)[0] == rows[5][0]);
    assert_true(banyan_observations_row(&seen, 4)[1] == rows[1][1]);
    assert_true(median[0] == 3 && median[1] == 20);
    banyan_observations_forget(&seen);
    banyan_observations_add(&seen, rows[1]);
    banyan_observations_add(&seen, rows[2]);
    banyan_observations_median(&seen, median);
    assert_true(median[0] == 1.5 && median[1] == 15);
    banyan_observations_fini(&seen);
    assert_true(banyan_median(NULL, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_are_threads_train_on_two_streams),
        cmocka_unit_test(who_completes_a_group_lets_others_of_its_processor_go_first),
        cmocka_unit_test(wrong_configs_are_refused_with_a_sentence),
        cmocka_unit_test(calls_out_of_turn_are_refused_with_a_sentence),
        cmocka_unit_test(gradients_that_share_memory_while_they_are_under_way_are_refused),
        cmocka_unit_test(nothing_to_train_is_refused_with_a_sentence),
        cmocka_unit_test(a_model_a_little_larger_than_a_measured_size_can_be_committed),
        cmocka_unit_test(memory_that_runs_out_ends_the_engine_and_names_the_rank),
        cmocka_unit_test(what_was_aborted_cannot_be_committed),
        cmocka_unit_test(it_survives_failing_allocations),
        cmocka_unit_test(medians_forget_one_slow_iteration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
