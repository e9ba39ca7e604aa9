/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/learning.c: processes on two hosts that were told no network survey it while they compute, and
 * go on after one of them was killed in the middle of that. A host is known by its boot id; the network is
 * this machine's loopback. What is learnt is for tests/multi/learn.sh to see. */
#include <sys/mount.h>

#include "calls/comm.h"
#include "calls/learning.h"
#include "core/clock.h"
#include "engine/engine.h"
#include "jobs.h"

enum { RANKS = 4, COUNT = 1 << 16, CALLS = 30 };

static int kill_ms; /* so long after its first call rank 3 is killed; 0: never */

/* Another host than this one. 0: that cannot be done here. */
static int take_host(int number)
{
    char path[] = "/tmp/banyan-boot-XXXXXX", id[40];
    int fd, is_done;

    snprintf(id, sizeof id, "00000000-0000-4000-8000-%012d\n", number);
    fd = mkstemp(path);
    is_done = fd >= 0 && write(fd, id, 37) == 37 && !unshare(CLONE_NEWNS) &&
              !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
              !mount(path, "/proc/sys/kernel/random/boot_id", NULL, MS_BIND, NULL);
    unlink(path);
    if (fd >= 0)
        close(fd);
    return is_done;
}

static int has_hosts(void)
{
    pid_t process = fork();
    int how = 1;

    if (!process)
        _exit(!take_host(1));
    waitpid(process, &how, 0);
    if (how)
        fprintf(stderr, "skipped: only root can give a process another host's boot id\n");
    return !how;
}

/* The log goes to a file that is gone when the process ends. */
static int log_to_file(void)
{
    char path[] = "/tmp/banyan-learning-XXXXXX", open_file[40];
    int fd = mkstemp(path);

    snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", fd);
    unlink(path);
    setenv("BANYAN_DEBUG", "INFO", 1);
    setenv("BANYAN_DEBUG_FILE", open_file, 1);
    return fd;
}

static int has_surveyed(int fd)
{
    static char log[1 << 18];

    return pread(fd, log, sizeof log - 1, 0) > 0 && strstr(log, "surveyed 2 hosts");
}

static banyan_status call(banyan_comm *comm, float *data, int size)
{
    banyan_request *request = NULL;
    banyan_status status, health;

    for (int i = 0; i < COUNT; i++)
        data[i] = 1;
    status = banyan_allreduce_async(data, data, COUNT, BANYAN_FLOAT32, BANYAN_SUM, comm, &request);
    if (status)
        return status;
    while ((status = banyan_request_wait(request, 1)) == BANYAN_IN_PROGRESS)
        banyan_comm_get_async_error(comm, &health); /* what a watchdog does meanwhile */
    banyan_request_free(request);
    if (!status && data[COUNT - 1] != (float)size)
        return BANYAN_INTERNAL_ERROR;
    return status;
}

static void *die_soon(void *argument)
{
    (void)argument;
    usleep((useconds_t)kill_ms * 1000);
    kill(getpid(), SIGKILL);
    return NULL;
}

static int learn(job_rank *self)
{
    static float data[COUNT];
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_comm *comm = NULL, *fewer = NULL;
    banyan_status status = BANYAN_SUCCESS;
    int log = log_to_file();
    pthread_t thread;

    EXPECT(self->rank < RANKS / 2 || take_host(1), "no host");
    config.timeout_ms = CALL_MS;
    EXPECT(!banyan_comm_init_rank(&comm, RANKS, job_id(self), self->rank, &config), "init");
    for (int i = 0; i < CALLS && !status; i++) {
        status = call(comm, data, RANKS);
        if (i == 0 && kill_ms && self->rank == RANKS - 1)
            EXPECT(!pthread_create(&thread, NULL, die_soon, NULL), "thread");
    }
    EXPECT(kill_ms || !status, "%s", banyan_last_error(comm));
    EXPECT(kill_ms || has_surveyed(log) || self->rank, "nothing was surveyed");
    if (status) {
        EXPECT(status == BANYAN_PEER_LOST && strstr(banyan_last_error(comm), "rank 3"), "%s: %s",
               banyan_status_string(status), banyan_last_error(comm));
        status = banyan_comm_shrink(comm, NULL, 0, &fewer, NULL);
        EXPECT(!status, "%s", banyan_last_error(comm));
        for (int i = 0; i < CALLS && !status; i++)
            status = call(fewer, data, RANKS - 1);
        EXPECT(!status, "%s", banyan_last_error(fewer));
    }
    banyan_comm_destroy(fewer);
    banyan_comm_destroy(comm);
    close(log);
    return 0;
}

/* The engine measures after the survey, or has spent as long on waiting for that as measuring may take. */
static int measure(job_rank *self)
{
    static float data[COUNT];
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_train_config how = BANYAN_TRAIN_CONFIG_INITIALIZER;
    banyan_comm *comm = NULL;
    banyan_train *train = NULL;
    double begin_s;
    int number;

    EXPECT(take_host(self->rank), "no host");
    config.timeout_ms = CALL_MS;
    how.measure_ms = 2000;
    how.streams = 1;
    EXPECT(!banyan_comm_init_rank(&comm, RANKS, job_id(self), self->rank, &config), "init");
    EXPECT(!banyan_train_create(&train, comm, &how), "no engine");
    EXPECT(!banyan_train_register(train, "gradient", data, COUNT, BANYAN_FLOAT32, &number), "register");
    begin_s = banyan_clock_s();
    EXPECT(!banyan_train_commit(train), "%s", banyan_train_last_error(train));
    EXPECT(train->streams[0].comm->learning, "the engine's group does not learn");
    EXPECT(!banyan_learning_goes_on(train->streams[0].comm, sizeof data) ||
               banyan_clock_s() - begin_s > how.measure_ms / 1e3,
           "costs are measured while the network is");
    EXPECT(!call(train->streams[0].comm, data, RANKS), "%s", banyan_last_error(train->streams[0].comm));
    banyan_train_destroy(train);
    banyan_comm_destroy(comm);
    return 0;
}

TEST(what_a_gradient_costs_is_measured_without_the_survey)
{
    job_run(RANKS, measure);
}

TEST(a_group_surveys_its_network_while_it_computes)
{
    kill_ms = 0;
    job_run(RANKS, learn);
}

TEST(a_rank_that_is_killed_in_a_survey_is_named_and_the_others_go_on)
{
    int factor = getenv("BANYAN_TEST_ALL") ? 3 : 81;

    for (kill_ms = 1; kill_ms < 1000; kill_ms *= factor) {
        job j = job_start(RANKS, learn);
        int failed = 0;

        for (int i = 0; i < RANKS - 1; i++)
            failed += job_end_rank(&j, i, JOB_SECONDS) != 0;
        job_end_rank(&j, RANKS - 1, JOB_SECONDS); /* killed, or faster than that */
        job_free(&j);
        assert_int_equal(failed, 0);
    }
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_gradient_costs_is_measured_without_the_survey),
        cmocka_unit_test(a_group_surveys_its_network_while_it_computes),
        cmocka_unit_test(a_rank_that_is_killed_in_a_survey_is_named_and_the_others_go_on),
    };

    if (!has_hosts())
        return JOB_SKIPPED;
    job_stay_here();
    setenv("BANYAN_TRANSPORT", "auto", 1);
    if (count > 1)
        cmocka_set_test_filter(words[1]);
    return cmocka_run_group_tests_name("learning", tests, NULL, NULL);
}
