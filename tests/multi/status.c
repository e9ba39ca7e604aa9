/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/status.c: what a rank says when it is asked, in and after calls, and what is left of its
 * socket. */
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "group/status.h"
#include "jobs.h"

enum { RANKS = 3 };

static char folder[64];

static int join(job_rank *self, banyan_comm **comm)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_unique_id id = job_id(self);
    char sentence[512] = "";

    config.timeout_ms = CALL_MS;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    EXPECT(!banyan_comm_init_rank(comm, self->memory->size, id, self->rank, &config), "init: %s", sentence);
    return 0;
}

/* The socket of a rank; 0: there is none. */
static int find_socket(int rank, char *path, size_t size)
{
    DIR *names = opendir(folder);
    struct dirent *entry;
    int found = 0, number;

    while (names && (entry = readdir(names)))
        if (sscanf(entry->d_name, "%*[0-9a-f]-%d-", &number) == 1 && number == rank) {
            snprintf(path, size, "%s/%.60s", folder, entry->d_name);
            found = 1;
        }
    if (names)
        closedir(names);
    return found;
}

static int ask(int rank, char *answer, size_t size)
{
    char path[160];
    int is_stale, fd = find_socket(rank, path, sizeof path) ? banyan_status_connect(path, &is_stale) : -1;
    size_t length = 0;

    while (fd >= 0 && length < size - 1) {
        struct pollfd look = {.fd = fd, .events = POLLIN};
        ssize_t got = poll(&look, 1, 5000) > 0 ? recv(fd, answer + length, size - 1 - length, 0) : -1;

        if (got <= 0)
            break;
        length += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    answer[length] = 0;
    return length > 0;
}

/* Looks again until the words are there: a heartbeat may still be on its way. */
static int says(int rank, const char *words)
{
    struct timespec pause = {.tv_nsec = 20000000};
    char answer[8192] = "";

    for (int i = 0; i < 6000; i++) {
        if (ask(rank, answer, sizeof answer) && strstr(answer, words))
            return 1;
        nanosleep(&pause, NULL);
    }
    fprintf(stderr, "rank %d does not say '%s': %s\n", rank, words, answer);
    return 0;
}

static int wait_for_one(job_rank *self)
{
    struct stat facts;
    banyan_comm *comm;
    float data[7] = {0};
    char path[160];

    if (join(self, &comm))
        return 1;
    EXPECT(!banyan_allreduce(data, data, 7, BANYAN_FLOAT32, BANYAN_SUM, comm), "%s", banyan_last_error(comm));
    if (self->rank == 2) {
        int well = says(0, "\"begun\":2,\"done\":1") &&
                   says(0, "\"call\":\"allreduce(count 5, float32, sum)\"") &&
                   says(2, "\"begun\":1,\"done\":1") && says(1, "\"lost\":[],\"left\":[]") &&
                   says(0, "\"peers\":[{\"rank\":1,") && says(0, "\"control_connections\":2,") &&
                   says(0, "\"control_connections\":1,") && says(2, "\"control_connections\":1,");

        EXPECT(well, "wrong words");
        EXPECT(find_socket(2, path, sizeof path) && !stat(path, &facts) && (facts.st_mode & 0777) == 0600,
               "the socket is not ours alone");
        EXPECT(!stat(folder, &facts) && (facts.st_mode & 0777) == 0700, "nor the folder");
    }
    EXPECT(!banyan_allreduce(data, data, 5, BANYAN_FLOAT32, BANYAN_SUM, comm), "%s", banyan_last_error(comm));
    banyan_comm_destroy(comm);
    return 0;
}

TEST(ranks_say_what_they_wait_in_while_they_wait)
{
    job_run(RANKS, wait_for_one);
    assert_int_equal(job_count_entries(folder), 0); /* it went with the last rank */
}

static int lose_one(job_rank *self)
{
    banyan_comm *comm;
    float data[7] = {0};
    banyan_status status = BANYAN_SUCCESS;

    if (join(self, &comm))
        return 1;
    if (self->rank == 1)
        raise(SIGKILL);
    while (!status)
        status = banyan_allreduce(data, data, 7, BANYAN_FLOAT32, BANYAN_SUM, comm);
    EXPECT(status == BANYAN_PEER_LOST, "%s", banyan_last_error(comm));
    EXPECT(says(self->rank, "\"lost\":[1]") && says(self->rank, "\"failure\":\"rank 1 (process"), "not told");
    banyan_comm_destroy(comm);
    return 0;
}

TEST(after_a_rank_died_the_others_say_so_and_its_socket_is_swept)
{
    job j = job_start(RANKS, lose_one);
    char path[160];

    assert_int_equal(job_end_rank(&j, 0, JOB_SECONDS), 0);
    assert_int_equal(job_end_rank(&j, 1, JOB_SECONDS), 1000 + SIGKILL);
    assert_int_equal(job_end_rank(&j, 2, JOB_SECONDS), 0);
    job_free(&j);
    assert_true(find_socket(1, path, sizeof path));
    assert_int_equal(banyan_status_sweep(folder), 1);
    assert_false(find_socket(1, path, sizeof path));
    rmdir(folder);
}

/* Five of a DGX-1's workers are ranks, the others relays. */
static int call_with_relays(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    enum { ACTIVE = 5 };
    banyan_comm *comm;
    float data[7] = {0};

    config.topology = "dgx1";
    config.active = "0,1,4-6";
    config.relays = "2,3,7";
    config.algorithm = "forest";
    config.timeout_ms = CALL_MS;
    if (self->rank >= ACTIVE)
        return banyan_comm_relay(ACTIVE, job_id(self), self->rank - ACTIVE, &config) != BANYAN_SUCCESS;
    EXPECT(!banyan_comm_init_rank(&comm, ACTIVE, job_id(self), self->rank, &config), "init");
    EXPECT(!banyan_broadcast(data, data, 7, BANYAN_FLOAT32, 0, comm), "%s", banyan_last_error(comm));
    EXPECT(says(self->rank, "\"begun\":1,\"done\":1"), "still in it");
    /* Relays hear of calls from rank 0. */
    EXPECT(self->rank || says(ACTIVE, "\"begun\":1,\"done\":1"), "the relay is still in it");
    EXPECT(!banyan_barrier(comm), "%s", banyan_last_error(comm));
    EXPECT(self->rank || says(ACTIVE, "\"begun\":2,\"done\":2"), "the relay is still in it");
    EXPECT(!banyan_barrier(comm), "%s", banyan_last_error(comm));
    banyan_comm_destroy(comm);
    return 0;
}

TEST(calls_of_ranks_and_relays_are_over_when_they_are)
{
    job_run(8, call_with_relays);
}

static int differ(job_rank *self)
{
    banyan_comm *comm;
    float data[7] = {0};
    banyan_status status;

    if (join(self, &comm))
        return 1;
    status = banyan_allreduce(data, data, self->rank == 1 ? 6 : 7, BANYAN_FLOAT32, BANYAN_SUM, comm);
    EXPECT(status == BANYAN_MISMATCH, "%s", banyan_last_error(comm));
    EXPECT(says(self->rank, "\"failure\":\"call 0 differs: rank"), "not told");
    EXPECT(says(self->rank, "rank 1 calls allreduce(count 6, float32, sum)"), "nor the call");
    pthread_barrier_wait(&self->memory->barrier);
    banyan_comm_destroy(comm);
    return 0;
}

TEST(calls_that_differ_are_named_with_their_ranks)
{
    job_run(RANKS, differ);
}

TEST(a_folder_that_others_can_enter_is_not_used)
{
    banyan_status_socket place;
    banyan_secret secret = {{0}};
    banyan_error err = {""};

    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(banyan_status_open(&place, folder, &secret, 0, &err), BANYAN_SYSTEM_ERROR);
    CHECK_SAYS(err, "is not a folder that we alone can enter");
    banyan_status_close(&place);
    rmdir(folder);
}

TEST(off_means_no_folder_and_nothing_means_the_users)
{
    char path[BANYAN_STATUS_FOLDER_TEXT], own[40], longer[BANYAN_STATUS_FOLDER_TEXT + 1] = "";

    banyan_status_folder("off", path);
    assert_string_equal(path, "");
    snprintf(own, sizeof own, "/tmp/banyan-%u", (unsigned)geteuid());
    banyan_status_folder("", path);
    assert_string_equal(path, own);
    memset(longer, 'x', sizeof longer - 1);
    banyan_status_folder(longer, path); /* cut off it would be another folder */
    assert_string_equal(path, "");
    banyan_status_folder("/run/x", path);
    assert_string_equal(path, "/run/x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_say_what_they_wait_in_while_they_wait),
        cmocka_unit_test(calls_of_ranks_and_relays_are_over_when_they_are),
        cmocka_unit_test(after_a_rank_died_the_others_say_so_and_its_socket_is_swept),
        cmocka_unit_test(calls_that_differ_are_named_with_their_ranks),
        cmocka_unit_test(a_folder_that_others_can_enter_is_not_used),
        cmocka_unit_test(off_means_no_folder_and_nothing_means_the_users),
    };

    snprintf(folder, sizeof folder, "/tmp/banyan-test-%d", (int)getpid());
    setenv("BANYAN_STATUS_FOLDER", folder, 1);
    job_stay_here();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
