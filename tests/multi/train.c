/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/train.c: the training engine between processes: right sums whatever the order of readiness,
 * plans that are made and made again, and what every rank hears when one of them goes wrong. */
#include "multi/jobs.h"

#include "core/random.h"

enum { TENSORS = 12 };

/* Costs are given where nothing is to be measured: a test must not depend on how fast this machine is. */
#define COST "linear:1e-4,1e-9,1.2,none"

typedef struct {
    banyan_comm *comm;
    banyan_train *train;
    int numbers[TENSORS];
    float *data[TENSORS];
    size_t counts[TENSORS];
    _Atomic int told[TENSORS];
} training;

static size_t count_of(int i)
{
    return (size_t)(1 + i * 1117 + (i == 5 ? 600000 : 0));
}

static void note(void *context, int tensor, banyan_status status)
{
    training *t = context;

    (void)status;
    for (int i = 0; i < TENSORS; i++)
        if (t->numbers[i] == tensor)
            atomic_fetch_add(&t->told[i], 1);
}

static banyan_train_config config_for(training *t)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;

    config.cost = COST;
    config.op = BANYAN_SUM;
    config.profile_iterations = 2;
    config.done = note;
    config.context = t;
    return config;
}

/* Registers in an order of the rank's own. */
static int open_training(job_rank *self, training *t, const banyan_train_config *config, int timeout_ms)
{
    banyan_config group = BANYAN_CONFIG_INITIALIZER;
    banyan_status status;

    group.timeout_ms = timeout_ms;
    if (!t->comm) {
        status =
            banyan_comm_init_exchange(&t->comm, self->memory->size, self->rank, job_exchange, self, &group);
        EXPECT(!status, "no communicator: %s", banyan_status_string(status));
    }
    status = banyan_train_create(&t->train, t->comm, config);
    EXPECT(!status, "no engine: %s", banyan_status_string(status));
    for (int k = 0; k < TENSORS; k++) {
        int i = (k * 5 + self->rank * 3) % TENSORS;
        char name[32];

        snprintf(name, sizeof name, "layer%d", i);
        t->counts[i] = count_of(i);
        if (!t->data[i])
            t->data[i] = calloc(t->counts[i], sizeof(float));
        status =
            banyan_train_register(t->train, name, t->data[i], t->counts[i], BANYAN_FLOAT32, &t->numbers[i]);
        EXPECT(!status, "register: %s", banyan_train_last_error(t->train));
    }
    status = banyan_train_commit(t->train);
    EXPECT(!status, "commit: %s", banyan_train_last_error(t->train));
    return 0;
}

static int open_default(job_rank *self, training *t)
{
    banyan_train_config config = config_for(t);

    return open_training(self, t, &config, CALL_MS);
}

static void close_training(training *t)
{
    banyan_train_destroy(t->train);
    banyan_comm_destroy(t->comm);
    for (int i = 0; i < TENSORS; i++)
        free(t->data[i]);
}

static void fill(training *t, int rank, int iteration, int i)
{
    for (size_t k = 0; k < t->counts[i]; k++)
        t->data[i][k] = (float)(rank + 1) * (float)(1 + (k + (size_t)i + (size_t)iteration) % 7);
}

static int check(job_rank *self, const training *t, int iteration, int i)
{
    int sum = self->memory->size * (self->memory->size + 1) / 2;

    for (size_t k = 0; k < t->counts[i]; k++) {
        float wanted = (float)sum * (float)(1 + (k + (size_t)i + (size_t)iteration) % 7);

        EXPECT(t->data[i][k] == wanted, "iteration %d, gradient %d, element %zu is %g, not %g", iteration, i,
               k, (double)t->data[i][k], (double)wanted);
    }
    return 0;
}

static void in_order(int *order)
{
    for (int i = 0; i < TENSORS; i++)
        order[i] = i;
}

static void shuffle(banyan_random *random, int *order)
{
    in_order(order);
    for (int i = TENSORS - 1; i > 0; i--) {
        int j = banyan_random_below(random, i + 1), moved = order[i];

        order[i] = order[j];
        order[j] = moved;
    }
}

static int one_iteration(job_rank *self, training *t, int iteration, const int *order, long pause_ns)
{
    struct timespec pause = {.tv_nsec = pause_ns};

    EXPECT(!banyan_train_begin(t->train), "begin: %s", banyan_train_last_error(t->train));
    for (int k = 0; k < TENSORS; k++) {
        fill(t, self->rank, iteration, order[k]);
        if (pause_ns)
            nanosleep(&pause, NULL);
        EXPECT(!banyan_train_ready(t->train, t->numbers[order[k]], NULL), "ready: %s",
               banyan_train_last_error(t->train));
    }
    EXPECT(!banyan_train_wait_all(t->train), "wait_all: %s", banyan_train_last_error(t->train));
    for (int i = 0; i < TENSORS; i++)
        if (check(self, t, iteration, i))
            return 1;
    return 0;
}

static banyan_train_stats stats_of(training *t)
{
    banyan_train_stats stats = {.size = sizeof stats};

    if (banyan_train_get_stats(t->train, &stats))
        abort();
    return stats;
}

static int any_order(job_rank *self)
{
    training t = {0};
    banyan_random random = {(uint64_t)(100 + self->rank)};
    int order[TENSORS];

    if (open_default(self, &t))
        return 1;
    for (int iteration = 0; iteration < 12; iteration++) {
        shuffle(&random, order);
        if (one_iteration(self, &t, iteration, order, 0))
            return 1;
    }
    for (int i = 0; i < TENSORS; i++)
        EXPECT(t.told[i] == 12, "gradient %d was told %d times", i, t.told[i]);
    EXPECT(stats_of(&t).plan >= 1, "no plan was made");
    EXPECT(stats_of(&t).iterations == 12, "%d iterations", (int)stats_of(&t).iterations);
    memcpy(self->memory->results[self->rank], &(uint64_t){stats_of(&t).digest}, 8);
    close_training(&t);
    return 0;
}

TEST(sums_are_right_whatever_is_ready_first_on_each_rank)
{
    job_run(4, any_order);
}

typedef struct {
    training *t;
    job_rank *self;
    int from, iteration, outcome;
} helper;

static void *help(void *argument)
{
    helper *h = argument;

    for (int i = h->from; i < TENSORS; i += 3) {
        fill(h->t, h->self->rank, h->iteration, i);
        h->outcome |= banyan_train_ready(h->t->train, h->t->numbers[i], h->t->data[i]) != BANYAN_SUCCESS;
        h->outcome |= banyan_train_wait(h->t->train, h->t->numbers[i], 0) == BANYAN_INVALID_ARGUMENT;
    }
    return NULL;
}

static int many_threads(job_rank *self)
{
    training t = {0};
    banyan_train_config config = config_for(&t);

    config.policy = "optimal:3";
    if (open_training(self, &t, &config, CALL_MS))
        return 1;
    for (int iteration = 0; iteration < 8; iteration++) {
        pthread_t threads[3];
        helper helpers[3];

        EXPECT(!banyan_train_begin(t.train), "begin: %s", banyan_train_last_error(t.train));
        for (int i = 0; i < 3; i++) {
            helpers[i] = (helper){&t, self, i, iteration, 0};
            pthread_create(&threads[i], NULL, help, &helpers[i]);
        }
        for (int i = 0; i < 3; i++) {
            pthread_join(threads[i], NULL);
            EXPECT(!helpers[i].outcome, "thread %d failed: %s", i, banyan_train_last_error(t.train));
        }
        for (int i = 0; i < TENSORS; i++)
            EXPECT(!banyan_train_wait(t.train, t.numbers[i], -1), "wait: %s",
                   banyan_train_last_error(t.train));
        EXPECT(!banyan_train_wait_all(t.train), "wait_all: %s", banyan_train_last_error(t.train));
        for (int i = 0; i < TENSORS; i++)
            if (check(self, &t, iteration, i))
                return 1;
    }
    EXPECT(stats_of(&t).streams == 3, "%d streams", stats_of(&t).streams);
    close_training(&t);
    return 0;
}

TEST(gradients_become_ready_in_many_threads)
{
    job_run(3, many_threads);
}

/* The plan that all ranks have reached: they see a new one at different moments. */
static int common_plan(training *t)
{
    int32_t plan = stats_of(t).plan;

    if (banyan_allreduce(&plan, &plan, 1, BANYAN_INT32, BANYAN_MIN, t->comm))
        abort();
    return plan;
}

static int drifts(job_rank *self)
{
    training t = {0};
    int order[TENSORS], plan;

    if (open_default(self, &t))
        return 1;
    in_order(order);
    for (int iteration = 0; iteration < 5; iteration++)
        if (one_iteration(self, &t, iteration, order, 1000000))
            return 1;
    plan = common_plan(&t);
    EXPECT(plan >= 1, "no plan after five iterations");
    for (int i = 0; i < TENSORS; i++) /* one rank's backward runs the other way round */
        order[i] = self->rank == 1 ? TENSORS - 1 - i : i;
    for (int iteration = 5; iteration < 200 && common_plan(&t) == plan; iteration++)
        if (one_iteration(self, &t, iteration, order, self->rank == 1 ? 3000000 : 1000000))
            return 1;
    EXPECT(stats_of(&t).plan > plan, "still plan %d, drift %g", plan, stats_of(&t).drift);
    close_training(&t);
    return 0;
}

TEST(a_plan_is_made_again_when_one_rank_drifts)
{
    job_run(2, drifts);
}

enum {
    BUCKETS = 2
}; /* of these gradients, as `ddp` cuts them; what is ready ms apart travels in more groups */

/* Iterations that take so long under the policy's plan, and so long in buckets, which are tried next. What
 * came before either takes longest and must not count. */
static int pay_for_plans(job_rank *self, long planned_ns, long buckets_ns, int is_declined)
{
    training t = {0};
    banyan_train_config config = config_for(&t);
    int order[TENSORS];

    config.cost = NULL;
    config.measure_ms = 50;
    config.profile_iterations = 7; /* a median that a busy machine does not move */
    config.drift = 10;
    if (open_training(self, &t, &config, CALL_MS))
        return 1;
    in_order(order);
    for (int iteration = 0; iteration < 100 && common_plan(&t) < 3; iteration++) {
        int plan = common_plan(&t);
        banyan_train_stats stats = stats_of(&t);

        EXPECT(stats.plan != 2 || stats.groups == BUCKETS, "no trial: %d groups", stats.groups);
        if (one_iteration(self, &t, iteration, order,
                          plan == 0   ? 60000000
                          : plan == 1 ? planned_ns
                                      : buckets_ns))
            return 1;
    }
    EXPECT(common_plan(&t) >= 3, "no third plan");
    EXPECT((stats_of(&t).groups == BUCKETS) == is_declined, "%d groups", stats_of(&t).groups);
    close_training(&t);
    return 0;
}

static int pay_more(job_rank *self)
{
    return pay_for_plans(self, 30000000, 1000000, 1);
}

static int pay_less(job_rank *self)
{
    return pay_for_plans(self, 1000000, 30000000, 0);
}

TEST(a_plan_that_takes_longer_than_buckets_is_given_up_for_them)
{
    job_run(2, pay_more);
    job_run(2, pay_less);
}

/* Plans of all ranks are the same after each iteration, also when one of them asks for another. */
static int asks(job_rank *self)
{
    training t = {0};
    banyan_train_config config = config_for(&t);
    int order[TENSORS];
    uint64_t digests[2][3];

    config.drift = -1;
    if (open_training(self, &t, &config, CALL_MS))
        return 1;
    for (int i = 0; i < TENSORS; i++)
        order[i] = TENSORS - 1 - i;
    for (int iteration = 0; iteration < 8; iteration++) {
        if (one_iteration(self, &t, iteration, order, 100000))
            return 1;
        if (iteration == 5 && self->rank == 2)
            EXPECT(!banyan_train_replan(t.train), "replan: %s", banyan_train_last_error(t.train));
    }
    for (int i = 0; i < 100 && stats_of(&t).plan < 2; i++)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    EXPECT(stats_of(&t).plan == 2, "plan %d, not 2", stats_of(&t).plan);
    digests[0][self->rank] = stats_of(&t).digest;
    EXPECT(!banyan_all_gather(&digests[0][self->rank], digests[1], 1, BANYAN_UINT64, t.comm), "all_gather");
    EXPECT(digests[1][0] == digests[1][1] && digests[1][1] == digests[1][2], "plans differ");
    close_training(&t);
    return 0;
}

TEST(one_rank_is_enough_to_ask_for_a_new_plan)
{
    job_run(3, asks);
}

/* Rank 1 is late: rank 0 must be promised no less than it will wait for that. */
static int begins_late(job_rank *self)
{
    training t = {0};
    int order[TENSORS];

    if (open_default(self, &t))
        return 1;
    in_order(order);
    for (int iteration = 0; iteration < 4; iteration++) {
        if (self->rank == 1)
            nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        if (one_iteration(self, &t, iteration, order, 0))
            return 1;
    }
    for (int i = 0; i < 100 && stats_of(&t).plan < 1; i++)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    EXPECT(stats_of(&t).plan == 1, "no plan");
    EXPECT(self->rank == 1 || stats_of(&t).predicted_exposed_s > 0.1, "rank 0 is promised to wait %g s",
           stats_of(&t).predicted_exposed_s);
    EXPECT(stats_of(&t).predicted_step_s >= stats_of(&t).predicted_exposed_s, "exposed is part of a step");
    close_training(&t);
    return 0;
}

TEST(a_rank_that_begins_late_counts_in_what_the_others_are_promised)
{
    job_run(2, begins_late);
}

static int measures(job_rank *self)
{
    training t = {0};
    banyan_train_config config = config_for(&t);
    banyan_train_stats stats;

    config.cost = NULL;
    config.op = BANYAN_AVG;
    config.measure_ms = 200;
    if (open_training(self, &t, &config, CALL_MS))
        return 1;
    stats = stats_of(&t);
    EXPECT(stats.s_per_byte > 0 && stats.start_s >= 0, "no cost was found");
    EXPECT(stats.speed[1] == 1 && stats.speed[2] > 0 && stats.speed[2] <= 1, "two at a time at %g",
           stats.speed[2]);
    for (int iteration = 0; iteration < 4; iteration++) {
        EXPECT(!banyan_train_begin(t.train), "begin: %s", banyan_train_last_error(t.train));
        for (int i = 0; i < TENSORS; i++) {
            for (size_t k = 0; k < t.counts[i]; k++)
                t.data[i][k] = (float)self->rank;
            EXPECT(!banyan_train_ready(t.train, t.numbers[i], NULL), "ready");
        }
        EXPECT(!banyan_train_wait_all(t.train), "wait_all: %s", banyan_train_last_error(t.train));
        for (int i = 0; i < TENSORS; i++)
            EXPECT(t.data[i][t.counts[i] - 1] == 0.5f, "the average of 0 and 1 is %g",
                   (double)t.data[i][t.counts[i] - 1]);
    }
    stats = stats_of(&t);
    EXPECT(stats.plan == 1 || stats.iterations == 4, "plan %d", stats.plan);
    close_training(&t);
    return 0;
}

TEST(costs_are_measured_and_averages_are_right)
{
    job_run(2, measures);
}

static int kinds(job_rank *self)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
    banyan_comm *comm;
    banyan_train *train;
    double wide[300];
    float single[5];
    int64_t whole[7];
    uint16_t half[33];
    int numbers[5];

    config.cost = COST;
    config.op = BANYAN_SUM;
    config.profile_iterations = 1;
    EXPECT(!banyan_comm_init_exchange(&comm, 2, self->rank, job_exchange, self, NULL), "no communicator");
    EXPECT(!banyan_train_create(&train, comm, &config), "no engine");
    EXPECT(!banyan_train_register(train, NULL, wide, 300, BANYAN_FLOAT64, &numbers[0]), "register");
    EXPECT(!banyan_train_register(train, NULL, single, 5, BANYAN_FLOAT32, &numbers[1]), "register");
    EXPECT(!banyan_train_register(train, NULL, NULL, 0, BANYAN_FLOAT32, &numbers[2]), "register");
    EXPECT(!banyan_train_register(train, NULL, whole, 7, BANYAN_INT64, &numbers[3]), "register");
    EXPECT(!banyan_train_register(train, NULL, half, 33, BANYAN_BFLOAT16, &numbers[4]), "register");
    EXPECT(!banyan_train_commit(train), "commit: %s", banyan_train_last_error(train));
    for (int iteration = 0; iteration < 6; iteration++) {
        for (int i = 0; i < 300; i++)
            wide[i] = self->rank + i;
        for (int i = 0; i < 5; i++)
            single[i] = (float)(self->rank + i);
        for (int i = 0; i < 7; i++)
            whole[i] = self->rank * 1000 + i;
        for (int i = 0; i < 33; i++)
            half[i] = 0x3f80; /* 1 */
        for (int i = 0; i < 5; i++)
            EXPECT(!banyan_train_ready(train, numbers[(i + self->rank) % 5], NULL), "ready: %s",
                   banyan_train_last_error(train));
        EXPECT(!banyan_train_wait_all(train), "wait_all: %s", banyan_train_last_error(train));
        EXPECT(wide[299] == 599 && single[4] == 9 && whole[6] == 1012 && half[32] == 0x4000,
               "wrong: %g %g %lld %x", wide[299], (double)single[4], (long long)whole[6], half[32]);
    }
    banyan_train_destroy(train);
    banyan_comm_destroy(comm);
    return 0;
}

TEST(types_are_mixed_and_the_first_that_is_ready_begins)
{
    job_run(2, kinds);
}

static int only_integers(job_rank *self)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
    banyan_train_stats stats = {.size = sizeof stats};
    banyan_comm *comm;
    banyan_train *train;
    int32_t data[9];
    int number;

    config.cost = COST;
    config.op = BANYAN_SUM;
    config.profile_iterations = 1;
    EXPECT(!banyan_comm_init_exchange(&comm, 2, self->rank, job_exchange, self, NULL), "no communicator");
    EXPECT(!banyan_train_create(&train, comm, &config), "no engine");
    EXPECT(!banyan_train_register(train, "counts", NULL, 9, BANYAN_INT32, &number), "register");
    EXPECT(!banyan_train_commit(train), "commit: %s", banyan_train_last_error(train));
    EXPECT(banyan_train_ready(train, number, NULL) == BANYAN_INVALID_ARGUMENT, "there is no memory yet");
    EXPECT(strstr(banyan_train_last_error(train), "gradient 'counts' has no memory"), "%s",
           banyan_train_last_error(train));
    for (int iteration = 0; iteration < 8; iteration++) {
        for (int i = 0; i < 9; i++)
            data[i] = 10 + self->rank;
        EXPECT(!banyan_train_ready(train, number, data), "ready: %s", banyan_train_last_error(train));
        EXPECT(banyan_train_ready(train, number, data) == BANYAN_INVALID_USAGE, "ready twice");
        EXPECT(!banyan_train_wait_all(train), "wait_all: %s", banyan_train_last_error(train));
        EXPECT(data[8] == 21, "%d is not 21", data[8]);
        if (iteration == 4 && self->rank == 0)
            EXPECT(!banyan_train_replan(train), "replan");
    }
    for (int i = 0; i < 100 && (banyan_train_get_stats(train, &stats), stats.plan < 2); i++)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    EXPECT(stats.plan == 2, "integers cannot ask for a plan: %d", stats.plan);
    banyan_train_destroy(train);
    banyan_comm_destroy(comm);
    return 0;
}

TEST(integers_can_ask_for_a_plan_too)
{
    job_run(2, only_integers);
}

static int unused_zeros(job_rank *self)
{
    training t = {0};
    banyan_train_config config = config_for(&t);

    config.unused = BANYAN_TRAIN_UNUSED_ZEROS;
    if (open_training(self, &t, &config, CALL_MS))
        return 1;
    for (int iteration = 0; iteration < 5; iteration++) {
        EXPECT(!banyan_train_begin(t.train), "begin: %s", banyan_train_last_error(t.train));
        for (int i = 0; i < TENSORS; i++) {
            fill(&t, self->rank, 0, i);
            if (i % 3 != 0 && (i % 3 != 1 || self->rank == 1)) /* 0: nobody; 1: rank 1 alone; 2: all */
                EXPECT(!banyan_train_ready(t.train, t.numbers[i], NULL), "ready");
        }
        EXPECT(!banyan_train_wait_all(t.train), "wait_all: %s", banyan_train_last_error(t.train));
        for (int i = 0; i < TENSORS; i++) {
            float unit = (float)(1 + (t.counts[i] - 1 + (size_t)i) % 7), wanted[] = {0, 2 * unit, 3 * unit};

            EXPECT(t.data[i][t.counts[i] - 1] == wanted[i % 3], "gradient %d ends with %g, not %g", i,
                   (double)t.data[i][t.counts[i] - 1], (double)wanted[i % 3]);
        }
    }
    close_training(&t);
    return 0;
}

TEST(what_is_unused_counts_as_zeros_where_that_is_wished)
{
    job_run(2, unused_zeros);
}

static int unused_error(job_rank *self)
{
    training t = {0};
    banyan_status status;

    if (open_default(self, &t))
        return 1;
    EXPECT(!banyan_train_begin(t.train), "begin");
    EXPECT(banyan_train_begin(t.train) == BANYAN_INVALID_USAGE, "begin twice");
    for (int i = 0; i < TENSORS; i++)
        if (i != 7 || self->rank != 1)
            EXPECT(!banyan_train_ready(t.train, t.numbers[i], NULL), "ready: %s",
                   banyan_train_last_error(t.train));
    status = banyan_train_wait_all(t.train);
    EXPECT(status == (self->rank == 1 ? BANYAN_INVALID_USAGE : BANYAN_REMOTE_ERROR), "wait_all: %s",
           banyan_status_string(status));
    EXPECT(
        strstr(banyan_train_last_error(t.train), "gradient 'layer7' of rank 1 was not ready before wait_all"),
        "'%s'", banyan_train_last_error(t.train));
    EXPECT(banyan_train_begin(t.train) == BANYAN_REMOTE_ERROR, "the engine lives on");
    close_training(&t);
    return 0;
}

TEST(what_is_unused_is_named_on_all_ranks)
{
    job_run(3, unused_error);
}

static int never_ready(job_rank *self)
{
    training t = {0};
    banyan_train_config config = config_for(&t);
    banyan_status status;

    if (open_training(self, &t, &config, 1500))
        return 1;
    EXPECT(!banyan_train_begin(t.train), "begin");
    for (int i = 0; i < TENSORS; i++)
        if (i != 3)
            EXPECT(!banyan_train_ready(t.train, t.numbers[i], NULL), "ready");
    EXPECT(banyan_train_wait(t.train, t.numbers[3], 10) == BANYAN_IN_PROGRESS, "wait for 10 ms");
    status = banyan_train_wait(t.train, t.numbers[3], -1);
    EXPECT(status == BANYAN_TIMEOUT, "wait: %s", banyan_status_string(status));
    EXPECT(strstr(banyan_train_last_error(t.train), "waited 1500 ms for gradient 'layer3' to become ready"),
           "'%s'", banyan_train_last_error(t.train));
    close_training(&t);
    return 0;
}

TEST(a_gradient_that_never_comes_is_named_after_the_time_out)
{
    job_run(2, never_ready);
}

static int lost(job_rank *self)
{
    training t = {0};
    banyan_status status = BANYAN_SUCCESS;
    banyan_comm *shrunk = NULL;
    int order[TENSORS];

    if (open_default(self, &t))
        return 1;
    in_order(order);
    for (int iteration = 0; iteration < 5; iteration++)
        if (one_iteration(self, &t, iteration, order, 0))
            return 1;
    if (self->rank == 2) {
        banyan_train_begin(t.train);
        banyan_train_ready(t.train, t.numbers[0], NULL);
        raise(SIGKILL);
    }
    banyan_train_begin(t.train);
    for (int i = 0; i < TENSORS; i++)
        banyan_train_ready(t.train, t.numbers[i], NULL);
    status = banyan_train_wait_all(t.train);
    EXPECT(status == BANYAN_PEER_LOST, "wait_all: %s: %s", banyan_status_string(status),
           banyan_train_last_error(t.train));
    EXPECT(strstr(banyan_train_last_error(t.train), "rank 2"), "'%s'", banyan_train_last_error(t.train));
    for (int i = 0; i < TENSORS; i++)
        EXPECT(t.told[i] == 6, "gradient %d was told %d times", i, t.told[i]);
    banyan_train_destroy(t.train);
    t.train = NULL;
    EXPECT(!banyan_comm_shrink(t.comm, (int[]){2}, 1, &shrunk, NULL), "shrink: %s",
           banyan_last_error(t.comm));
    banyan_comm_destroy(t.comm);
    t.comm = shrunk;
    self->memory->size = 2; /* the survivors are ranks 0 and 1 as before */
    if (open_default(self, &t))
        return 1;
    for (int iteration = 0; iteration < 5; iteration++)
        if (one_iteration(self, &t, iteration, order, 0))
            return 1;
    close_training(&t);
    return 0;
}

TEST(a_killed_rank_is_named_and_the_others_go_on_without_it)
{
    job j = job_start(3, lost);

    assert_int_equal(job_end_rank(&j, 2, JOB_SECONDS), 1000 + SIGKILL);
    assert_int_equal(job_end_rank(&j, 0, JOB_SECONDS), 0);
    assert_int_equal(job_end_rank(&j, 1, JOB_SECONDS), 0);
    job_free(&j);
}

static int mismatch(job_rank *self)
{
    enum { SIZE = 1, TYPE, NAME, TWICE, CONFIG, EMPTY, EXTRA_HERE, EXTRA_THERE }; /* what is odd on rank 1 */
    static const struct {
        int odd;
        const char *says;
    } cases[] = {
        {SIZE, "gradient 'b' differs: 11 float32 on rank 1, 10 float32 on rank 0"},
        {TYPE, "gradient 'b' differs: 10 float64 on rank 1, 10 float32 on rank 0"},
        {NAME, "rank 1 has no gradient named 'b', which rank 0 has"},
        {EXTRA_HERE, "rank 0 has no gradient named 'extra', which rank 1 has"},
        {EXTRA_THERE, "rank 1 has 2 gradients, rank 0 has more, the next one being 'extra'"},
        {TWICE, "rank 1 has two gradients named 'a'"},
        {CONFIG, "rank 1 trains with (sum, policy ddp"},
        {EMPTY, "rank 1 has 0 gradients, rank 0 has more, the next one being 'a'"},
    };
    static float data[16];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
        int odd = self->rank == 1 ? cases[i].odd : 0;
        const char *second = odd == NAME ? "c" : odd == TWICE ? "a" : "b";
        banyan_comm *comm;
        banyan_train *train;
        banyan_status status;

        config.cost = COST;
        config.op = BANYAN_SUM;
        config.policy = odd == CONFIG ? "ddp" : NULL;
        EXPECT(!banyan_comm_init_exchange(&comm, 3, self->rank, job_exchange, self, NULL), "no communicator");
        EXPECT(!banyan_train_create(&train, comm, &config), "no engine");
        status =
            odd == EMPTY ? BANYAN_SUCCESS : banyan_train_register(train, "a", data, 10, BANYAN_FLOAT32, NULL);
        if (odd != EMPTY && !status)
            status = banyan_train_register(train, second, data, odd == SIZE ? 11 : 10,
                                           odd == TYPE ? BANYAN_FLOAT64 : BANYAN_FLOAT32, NULL);
        if (!status && (odd == EXTRA_HERE || (self->rank == 0 && cases[i].odd == EXTRA_THERE)))
            status = banyan_train_register(train, "extra", data, 1, BANYAN_FLOAT32, NULL);
        EXPECT(!status, "register: %s", banyan_train_last_error(train));
        status = banyan_train_commit(train);
        EXPECT(status == (cases[i].odd == TWICE ? BANYAN_INVALID_ARGUMENT : BANYAN_MISMATCH),
               "case %zu: %s: %s", i, banyan_status_string(status), banyan_train_last_error(train));
        EXPECT(strstr(banyan_train_last_error(train), cases[i].says), "case %zu: '%s'", i,
               banyan_train_last_error(train));
        banyan_train_destroy(train);
        banyan_comm_destroy(comm);
    }
    return 0;
}

TEST(different_registrations_are_named_by_rank_and_gradient)
{
    job_run(3, mismatch);
}

static int leaves(job_rank *self)
{
    training t = {0};
    banyan_status status;

    if (open_default(self, &t))
        return 1;
    EXPECT(!banyan_train_begin(t.train), "begin");
    if (self->rank == 1) { /* in the middle of an iteration */
        close_training(&t);
        return 0;
    }
    for (int i = 0; i < TENSORS; i++)
        banyan_train_ready(t.train, t.numbers[i], NULL);
    status = banyan_train_wait_all(t.train);
    EXPECT(status == BANYAN_REMOTE_ERROR || status == BANYAN_PEER_LOST, "wait_all: %s",
           banyan_status_string(status));
    EXPECT(strstr(banyan_train_last_error(t.train), "rank 1"), "'%s'", banyan_train_last_error(t.train));
    close_training(&t);
    return 0;
}

TEST(a_rank_that_leaves_in_mid_iteration_is_named)
{
    job_run(2, leaves);
}

static int aborts(job_rank *self)
{
    training t = {0};
    banyan_status status;

    if (open_default(self, &t))
        return 1;
    EXPECT(!banyan_train_begin(t.train), "begin");
    if (self->rank == 0)
        banyan_train_abort(t.train);
    for (int i = 0; i < TENSORS; i++)
        banyan_train_ready(t.train, t.numbers[i], NULL);
    status = banyan_train_wait_all(t.train);
    EXPECT(status == BANYAN_REMOTE_ERROR, "wait_all: %s", banyan_status_string(status));
    EXPECT(strstr(banyan_train_last_error(t.train), "rank 0 aborted the training"), "'%s'",
           banyan_train_last_error(t.train));
    close_training(&t);
    return 0;
}

TEST(an_abort_reaches_all_ranks)
{
    job_run(3, aborts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_right_whatever_is_ready_first_on_each_rank),
        cmocka_unit_test(gradients_become_ready_in_many_threads),
        cmocka_unit_test(a_plan_is_made_again_when_one_rank_drifts),
        cmocka_unit_test(a_plan_that_takes_longer_than_buckets_is_given_up_for_them),
        cmocka_unit_test(one_rank_is_enough_to_ask_for_a_new_plan),
        cmocka_unit_test(a_rank_that_begins_late_counts_in_what_the_others_are_promised),
        cmocka_unit_test(costs_are_measured_and_averages_are_right),
        cmocka_unit_test(types_are_mixed_and_the_first_that_is_ready_begins),
        cmocka_unit_test(integers_can_ask_for_a_plan_too),
        cmocka_unit_test(what_is_unused_counts_as_zeros_where_that_is_wished),
        cmocka_unit_test(what_is_unused_is_named_on_all_ranks),
        cmocka_unit_test(a_gradient_that_never_comes_is_named_after_the_time_out),
        cmocka_unit_test(a_killed_rank_is_named_and_the_others_go_on_without_it),
        cmocka_unit_test(different_registrations_are_named_by_rank_and_gradient),
        cmocka_unit_test(a_rank_that_leaves_in_mid_iteration_is_named),
        cmocka_unit_test(an_abort_reaches_all_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
