/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/groups.c: the ways into a group, groups out of groups, and calls that do not block. */
#include <sys/stat.h>

#include <banyan/plan.h>

#include "bootstrap/rank_record.h"
#include "jobs.h"

enum { RANKS = 4 };

static float sum_of(banyan_comm *comm, float mine, banyan_status *status)
{
    float data[1000];

    for (int i = 0; i < 1000; i++)
        data[i] = mine;
    *status = banyan_allreduce(data, data, 1000, BANYAN_FLOAT32, BANYAN_SUM, comm);
    return data[999];
}

/* Two for each process that runs these tests, below those that the kernel gives to connections. */
static int free_port(int which)
{
    return 20000 + 2 * (int)(getpid() % 5000) + which;
}

/* A rank whose variables say who it is. */
static int start_and_sum(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    char sentence[512] = "";
    banyan_comm *comm = NULL;
    banyan_status status;
    float sum;

    config.error = sentence;
    config.error_bytes = sizeof sentence;
    config.timeout_ms = CALL_MS;
    EXPECT(!banyan_comm_init_env(&comm, &config), "%s", sentence);
    sum = sum_of(comm, (float)self->rank, &status);
    EXPECT(!status && sum == 6, "%g: %s", (double)sum, banyan_last_error(comm));
    banyan_comm_destroy(comm);
    return 0;
}

static int start_by_environment(job_rank *self)
{
    char text[60];

    snprintf(text, sizeof text, "%d", self->rank);
    setenv("BANYAN_RANK", text, 1);
    setenv("BANYAN_SIZE", "4", 1);
    setenv("BANYAN_SECRET", "nobody knows", 1);
    return start_and_sum(self);
}

TEST(our_own_variables_start_a_job)
{
    char root[40];

    snprintf(root, sizeof root, "127.0.0.1:%d", free_port(0));
    setenv("BANYAN_ROOT", root, 1);
    job_run(RANKS, start_by_environment);
    unsetenv("BANYAN_ROOT");
}

/* Rank 0 tells the others through it where it is, and takes it away; a second job does not find the first's.
 */
TEST(a_file_starts_a_job)
{
    char folder[] = "/tmp/banyan-meeting-XXXXXX", root[80];

    assert_non_null(mkdtemp(folder));
    snprintf(root, sizeof root, "file:%s/place", folder);
    setenv("BANYAN_ROOT", root, 1);
    for (int i = 0; i < 2; i++) {
        job_run(RANKS, start_by_environment);
        assert_int_not_equal(access(root + strlen("file:"), F_OK), 0);
    }
    unsetenv("BANYAN_ROOT");
    assert_int_equal(rmdir(folder), 0);
}

static int start_as_torchrun_does(job_rank *self)
{
    char text[60];

    snprintf(text, sizeof text, "%d", self->rank);
    setenv("RANK", text, 1);
    setenv("WORLD_SIZE", "4", 1);
    return start_and_sum(self);
}

TEST(torchruns_variables_start_a_job)
{
    char port[20];

    snprintf(port, sizeof port, "%d", free_port(1));
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", port, 1);
    job_run(RANKS, start_as_torchrun_does);
    unsetenv("MASTER_ADDR");
    unsetenv("MASTER_PORT");
}

static int use_ipv6(job_rank *self)
{
    banyan_comm *comm = NULL;
    banyan_status status;
    float sum;

    setenv("BANYAN_SOCKET_FAMILY", "AF_INET6", 1);
    EXPECT(!banyan_comm_init_rank(&comm, self->memory->size, job_id(self), self->rank, NULL), "init");
    sum = sum_of(comm, (float)self->rank, &status);
    EXPECT(!status && sum == 3, "%g: %s", (double)sum, banyan_last_error(comm));
    banyan_comm_destroy(comm);
    return 0;
}

TEST(ipv6_works_where_the_machine_has_it)
{
    struct stat about;

    if (stat("/proc/net/if_inet6", &about) != 0)
        skip();
    job_run(3, use_ipv6);
}

static int use_a_port_range(job_rank *self)
{
    banyan_comm *comm = NULL;
    banyan_status status;
    float sum;

    setenv("BANYAN_PORT_RANGE", "45100-45190", 1);
    EXPECT(!banyan_comm_init_exchange(&comm, self->memory->size, self->rank, job_exchange, self, NULL),
           "init");
    for (int i = 0; i < self->memory->size; i++) {
        banyan_rank_record record;

        EXPECT(!banyan_rank_record_read(self->memory->records[i], &record, NULL), "rank %d's record", i);
        EXPECT(record.address.port >= 45100 && record.address.port <= 45190, "rank %d listens on port %u", i,
               (unsigned)record.address.port);
    }
    sum = sum_of(comm, (float)self->rank, &status);
    EXPECT(!status && sum == 3, "%g: %s", (double)sum, banyan_last_error(comm));
    banyan_comm_destroy(comm);
    return 0;
}

TEST(ports_stay_in_their_range)
{
    job_run(3, use_a_port_range);
}

/* Even ranks, odd ranks in reverse order, and rank 4 in none. */
static int split_a_group(job_rank *self)
{
    int color = self->rank == 4 ? -1 : self->rank % 2, key = color == 1 ? -self->rank : 0, rank, size;
    int descriptors, threads;
    banyan_comm *comm = NULL, *part = NULL, *again = NULL;
    banyan_status status;
    float sum;

    /* Without a meeting place, whose thread would end at some time. */
    EXPECT(!banyan_comm_init_exchange(&comm, self->memory->size, self->rank, job_exchange, self, NULL),
           "init");
    sum_of(comm, 1, &status);
    descriptors = job_count_descriptors();
    threads = job_count_threads();
    EXPECT(!banyan_comm_split(comm, color, key, &part, NULL), "%s", banyan_last_error(comm));
    EXPECT((part == NULL) == (color < 0), "wrong group");
    if (part) {
        banyan_comm_rank(part, &rank);
        banyan_comm_size(part, &size);
        EXPECT(size == (color ? 3 : 3), "size %d", size);
        EXPECT(rank == (color ? 2 - self->rank / 2 : self->rank == 6 ? 2 : self->rank / 2), "rank %d", rank);
        sum = sum_of(part, (float)self->rank, &status);
        EXPECT(!status && sum == (color ? 9 : 8), "%g: %s", (double)sum, banyan_last_error(part));
    }
    sum = sum_of(comm, (float)self->rank, &status); /* the old one works on */
    EXPECT(!status && sum == 21, "%g: %s", (double)sum, banyan_last_error(comm));
    EXPECT(!banyan_comm_split(comm, 0, -self->rank, &again, NULL), "%s", banyan_last_error(comm));
    banyan_comm_rank(again, &rank);
    EXPECT(rank == 6 - self->rank, "rank %d", rank);
    banyan_comm_destroy(again);
    banyan_comm_destroy(part);
    EXPECT(job_count_descriptors() - descriptors <= self->memory->size && job_comes_down_to_threads(threads),
           "%d descriptors, %d threads", job_count_descriptors() - descriptors,
           job_count_threads() - threads);
    banyan_comm_destroy(comm);
    return 0;
}

TEST(a_group_can_be_split_by_color_and_key)
{
    job_run(7, split_a_group);
}

/* What all ranks do together, of a group of three. */
typedef int joint_action(job_rank *self, banyan_comm *comm);

static int split_in_one(job_rank *self, banyan_comm *comm)
{
    banyan_comm *part = NULL;
    banyan_status status;
    float sum;

    EXPECT(!banyan_comm_split(comm, 0, 0, &part, NULL), "%s", banyan_last_error(comm));
    sum = sum_of(part, (float)self->rank, &status);
    EXPECT(!status && sum == 3, "%g: %s", (double)sum, banyan_last_error(part));
    banyan_comm_destroy(part);
    return 0;
}

static int shrink_by_one(job_rank *self, banyan_comm *comm)
{
    static const int without[] = {2};
    banyan_comm *fewer = NULL;
    banyan_status status;
    float sum;

    if (self->rank == 2)
        return 0;
    EXPECT(!banyan_comm_shrink(comm, without, 1, &fewer, NULL), "%s", banyan_last_error(comm));
    sum = sum_of(fewer, (float)self->rank, &status);
    EXPECT(!status && sum == 1, "%g: %s", (double)sum, banyan_last_error(fewer));
    banyan_comm_destroy(fewer);
    return 0;
}

static int probe_once(job_rank *self, banyan_comm *comm)
{
    banyan_topology *topology = NULL;

    EXPECT(!banyan_comm_probe(comm, NULL, NULL, &topology, NULL), "%s", banyan_last_error(comm));
    banyan_topology_destroy(topology);
    return 0;
}

static int tune_one_size(job_rank *self, banyan_comm *comm)
{
    banyan_tune_config config = BANYAN_TUNE_CONFIG_INITIALIZER;
    char file[60];

    snprintf(file, sizeof file, "/tmp/banyan-wisdom-%d-%d", (int)getpid(), self->rank);
    config.wisdom = file;
    config.min_bytes = config.max_bytes = 1024;
    config.candidate_count = 2;
    config.budget_s = 0.01;
    EXPECT(!banyan_comm_tune(comm, &config), "%s", banyan_last_error(comm));
    unlink(file);
    return 0;
}

/* The ranks come to it when each has done another number of them. */
static int act_behind_requests(job_rank *self, joint_action *act)
{
    enum { REQUESTS = 30, COUNT = 1000 };
    static float data[REQUESTS][COUNT + REQUESTS];
    banyan_request *requests[REQUESTS];
    banyan_comm *comm = NULL;
    banyan_status status;

    EXPECT(!banyan_comm_init_rank(&comm, 3, job_id(self), self->rank, NULL), "init");
    for (int i = 0; i < REQUESTS; i++) { /* of different sizes: what the ranks know already is no meeting */
        data[i][COUNT + i - 1] = (float)(i + self->rank);
        EXPECT(!banyan_allreduce_async(data[i], data[i], (size_t)(COUNT + i), BANYAN_FLOAT32, BANYAN_SUM,
                                       comm, &requests[i]),
               "%s", banyan_last_error(comm));
    }
    usleep((useconds_t)self->rank * 500);
    if (act(self, comm))
        return 1;
    for (int i = 0; i < REQUESTS; i++) {
        status = banyan_request_wait(requests[i], -1);
        EXPECT(!status && data[i][COUNT + i - 1] == (float)(3 * i + 3), "%s: %g",
               banyan_status_string(status), (double)data[i][COUNT + i - 1]);
        banyan_request_free(requests[i]);
    }
    banyan_comm_destroy(comm);
    return 0;
}

static int split_behind_requests(job_rank *self)
{
    return act_behind_requests(self, split_in_one);
}

static int shrink_behind_requests(job_rank *self)
{
    return act_behind_requests(self, shrink_by_one);
}

static int probe_behind_requests(job_rank *self)
{
    return act_behind_requests(self, probe_once);
}

static int tune_behind_requests(job_rank *self)
{
    return act_behind_requests(self, tune_one_size);
}

TEST(what_all_ranks_do_together_comes_behind_the_requests_that_are_under_way)
{
    job_run(3, split_behind_requests);
    job_run(3, shrink_behind_requests);
    job_run(3, probe_behind_requests);
    job_run(3, tune_behind_requests);
}

static int shrink_by_list(job_rank *self)
{
    static const int without[] = {1};
    banyan_comm *comm = NULL, *fewer = NULL;
    banyan_status status;
    float sum;

    EXPECT(!banyan_comm_init_rank(&comm, RANKS, job_id(self), self->rank, NULL), "init");
    if (self->rank != 1) {
        EXPECT(!banyan_comm_shrink(comm, without, 1, &fewer, NULL), "%s", banyan_last_error(comm));
        sum = sum_of(fewer, (float)self->rank, &status);
        EXPECT(!status && sum == 5, "%g: %s", (double)sum, banyan_last_error(fewer));
        banyan_comm_destroy(fewer);
        status = banyan_comm_shrink(comm, without, 1, &fewer, NULL); /* a rank is in one such group at most */
        EXPECT(status == BANYAN_INVALID_USAGE &&
                   strstr(banyan_last_error(comm), "has agreed to a group that this communicator shrank to"),
               "%s: %s", banyan_status_string(status), banyan_last_error(comm));
    }
    sum = sum_of(comm, (float)self->rank, &status);
    EXPECT(!status && sum == 6, "%g: %s", (double)sum, banyan_last_error(comm));
    banyan_comm_destroy(comm);
    return 0;
}

TEST(a_group_that_works_can_be_shrunk_by_a_list)
{
    job_run(RANKS, shrink_by_list);
}

/* The last rank leaves out all others. */
static int go_on_alone(job_rank *self)
{
    static const char *const rules[] = {NULL, "majority", "at_least:2", "any"};
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    int others[MOST_RANKS], size = 0;
    banyan_comm *comm = NULL, *alone = NULL;
    banyan_status status = BANYAN_SUCCESS;

    EXPECT(!banyan_comm_init_rank(&comm, RANKS, job_id(self), self->rank, NULL), "init");
    for (int i = 0; i < RANKS; i++)
        others[i] = i;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && self->rank == RANKS - 1; i++) {
        config.shrink = rules[i];
        status = banyan_comm_shrink(comm, others, RANKS - 1, &alone, &config);
        EXPECT(status == (i == 3 ? BANYAN_SUCCESS : BANYAN_TOO_FEW_RANKS), "%s: %s",
               banyan_status_string(status), banyan_last_error(comm));
        EXPECT(!status ||
                   (strstr(banyan_last_error(comm), "1 of the last group's") &&
                    strstr(banyan_last_error(comm), i == 2 ? "at_least:2 asks for 2" : "majority asks for")),
               "%s", banyan_last_error(comm));
    }
    if (alone) {
        banyan_comm_size(alone, &size);
        EXPECT(size == 1, "%d ranks", size);
    }
    banyan_comm_destroy(alone);
    banyan_barrier(comm);
    banyan_comm_destroy(comm);
    return 0;
}

TEST(a_minority_goes_on_only_where_it_is_asked_for)
{
    job_run(RANKS, go_on_alone);
}

static int call_without_blocking(job_rank *self)
{
    enum { REQUESTS = 12, COUNT = 20000 };
    static float data[REQUESTS][COUNT];
    banyan_request *requests[REQUESTS];
    banyan_comm *comm = NULL;
    banyan_status status;
    float sum;

    EXPECT(!banyan_comm_init_rank(&comm, RANKS, job_id(self), self->rank, NULL), "init");
    for (int r = 0; r < REQUESTS; r++) {
        for (int i = 0; i < COUNT; i++)
            data[r][i] = (float)(self->rank + r);
        EXPECT(
            !banyan_allreduce_async(data[r], data[r], COUNT, BANYAN_FLOAT32, BANYAN_SUM, comm, &requests[r]),
            "%s", banyan_last_error(comm));
    }
    sum = sum_of(comm, 1, &status); /* takes its turn behind them */
    EXPECT(!status && sum == RANKS, "%g: %s", (double)sum, banyan_last_error(comm));
    for (int r = 0; r < REQUESTS; r++) {
        status = banyan_request_wait(requests[r], CALL_MS);
        EXPECT(!status, "%s", banyan_status_string(status));
        EXPECT(banyan_request_test(requests[r]) == BANYAN_SUCCESS, "not done after all");
        EXPECT(data[r][COUNT - 1] == (float)(6 + 4 * r), "%g", (double)data[r][COUNT - 1]);
        banyan_request_free(requests[r]);
    }
    banyan_comm_destroy(comm);
    return 0;
}

TEST(several_calls_are_under_way_at_once)
{
    job_run(RANKS, call_without_blocking);
}

static void *call_and_block(void *argument)
{
    float one = 1;

    return (void *)(intptr_t)banyan_allreduce(&one, &one, 1, BANYAN_FLOAT32, BANYAN_SUM, argument);
}

/* Rank 1 calls nothing before rank 0 has made all of its requests, beside a call of another thread that
 * blocks. */
static int make_requests_alone(job_rank *self)
{
    enum { REQUESTS = 3 };
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_request *requests[REQUESTS];
    banyan_status status = BANYAN_SUCCESS;
    banyan_comm *comm = NULL;
    float data[REQUESTS] = {1, 1, 1};
    pthread_t thread;
    void *result;

    config.timeout_ms = CALL_MS;
    EXPECT(!banyan_comm_init_rank(&comm, 2, job_id(self), self->rank, &config), "init");
    if (self->rank == 1)
        job_wait_step(self->memory, 1);
    EXPECT(!pthread_create(&thread, NULL, call_and_block, comm), "thread");
    usleep(50000); /* it is in its call; if not, this is only easier */
    for (int i = 0; i < REQUESTS; i++)
        EXPECT(!banyan_allreduce_async(&data[i], &data[i], 1, BANYAN_FLOAT32, BANYAN_SUM, comm, &requests[i]),
               "%s", banyan_last_error(comm));
    EXPECT(!banyan_comm_get_async_error(comm, &status) && !status, "%s", banyan_status_string(status));
    EXPECT(self->rank || banyan_request_test(requests[0]) == BANYAN_IN_PROGRESS, "done without rank 1");
    atomic_store(&self->memory->step, 1);
    pthread_join(thread, &result);
    EXPECT(!result, "%s", banyan_last_error(comm));
    for (int i = 0; i < REQUESTS; i++) {
        status = banyan_request_wait(requests[i], -1);
        EXPECT(!status && data[i] == 2, "%s: %g", banyan_status_string(status), (double)data[i]);
        banyan_request_free(requests[i]);
    }
    banyan_comm_destroy(comm);
    return 0;
}

TEST(requests_are_taken_at_once_whatever_is_under_way)
{
    job_run(2, make_requests_alone);
}

static int short_ms; /* a time-out that passes */

static int a_request_fails(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_request *request = NULL;
    banyan_comm *comm = NULL;
    banyan_status status;
    float one = 1;

    config.timeout_ms = short_ms;
    EXPECT(!banyan_comm_init_rank(&comm, 2, job_id(self), self->rank, &config), "init");
    if (self->rank == 0) {
        EXPECT(!banyan_allreduce_async(&one, &one, 1, BANYAN_FLOAT32, BANYAN_SUM, comm, &request), "async");
        EXPECT(banyan_request_test(request) == BANYAN_IN_PROGRESS, "done without rank 1");
        EXPECT(banyan_request_wait(request, 10) == BANYAN_IN_PROGRESS, "done without rank 1");
        status = banyan_request_wait(request, -1);
        EXPECT(status == BANYAN_TIMEOUT, "%s", banyan_status_string(status));
        EXPECT(strstr(banyan_last_error(comm), "for rank 1"), "%s", banyan_last_error(comm));
        banyan_request_free(request);
        atomic_store(&self->memory->step, 1);
    } else {
        job_wait_step(self->memory, 1);
    }
    banyan_comm_destroy(comm);
    return 0;
}

TEST(a_request_that_times_out_says_so)
{
    short_ms = job_short_ms(2);
    job_run(2, a_request_fails);
}

/* Three of four ranks make a group, and the fourth joins it. */
static int grows(job_rank *self)
{
    banyan_comm *world = NULL, *few = NULL, *all = NULL;
    banyan_unique_id id;
    int rank, size, one = 1;

    EXPECT(!banyan_comm_init_rank(&world, 4, job_id(self), self->rank, NULL), "init");
    EXPECT(!banyan_comm_split(world, self->rank < 3 ? 0 : -1, 0, &few, NULL), "%s", banyan_last_error(world));
    if (self->rank == 0)
        EXPECT(!banyan_get_unique_id(&id), "id");
    EXPECT(!banyan_broadcast(&id, &id, sizeof id, BANYAN_UINT8, 0, world), "%s", banyan_last_error(world));
    if (few)
        EXPECT(banyan_comm_grow(few, 2, id, -1, &all, NULL) == BANYAN_INVALID_ARGUMENT &&
                   strstr(banyan_last_error(few), "a group of 3 ranks cannot grow to 2"),
               "%s", banyan_last_error(few));
    EXPECT(!banyan_comm_grow(few, 4, id, 3, &all, NULL), "grow: %s", few ? banyan_last_error(few) : "?");
    EXPECT(!banyan_comm_rank(all, &rank) && !banyan_comm_size(all, &size) && rank == self->rank && size == 4,
           "rank %d of %d", rank, size);
    EXPECT(!banyan_allreduce(&one, &one, 1, BANYAN_INT32, BANYAN_SUM, all), "%s", banyan_last_error(all));
    EXPECT(one == 4, "%d", one);
    if (few)
        EXPECT(!banyan_barrier(few), "the old group works on: %s", banyan_last_error(few));
    banyan_comm_destroy(all);
    banyan_comm_destroy(few);
    banyan_comm_destroy(world);
    return 0;
}

TEST(a_rank_joins_a_group)
{
    job_run(4, grows);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_variables_start_a_job),
        cmocka_unit_test(a_file_starts_a_job),
        cmocka_unit_test(torchruns_variables_start_a_job),
        cmocka_unit_test(ipv6_works_where_the_machine_has_it),
        cmocka_unit_test(ports_stay_in_their_range),
        cmocka_unit_test(a_group_can_be_split_by_color_and_key),
        cmocka_unit_test(what_all_ranks_do_together_comes_behind_the_requests_that_are_under_way),
        cmocka_unit_test(a_group_that_works_can_be_shrunk_by_a_list),
        cmocka_unit_test(a_minority_goes_on_only_where_it_is_asked_for),
        cmocka_unit_test(several_calls_are_under_way_at_once),
        cmocka_unit_test(requests_are_taken_at_once_whatever_is_under_way),
        cmocka_unit_test(a_request_that_times_out_says_so),
        cmocka_unit_test(a_rank_joins_a_group),
    };

    return RUN_OVER_TRANSPORTS(tests, count, words);
}
