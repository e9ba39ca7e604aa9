/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/start.c: groups that begin over bad networks, among strangers and with few descriptors: they
 * begin, or say what was seen and name who is missing. */
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

#include "bootstrap/rank_record.h"
#include "multi/forwarder.h"
#include "multi/jobs.h"
#include "transport/bytes.h"
#include "transport/dial.h"
#include "transport/listener.h"

enum { RANKS = 3, ID_PORT = 12, STRANGERS = 500 };

static int short_ms; /* a time-out that passes */
static int tries_ms; /* one with room for tries that are silent for a share of it */

static forwarder *network; /* for the test that runs */

static int sum_ranks(banyan_comm *comm, float *sum)
{
    float one;
    int rank;

    banyan_comm_rank(comm, &rank);
    one = (float)rank + 1;
    return (int)banyan_allreduce(&one, sum, 1, BANYAN_FLOAT32, BANYAN_SUM, comm);
}

static banyan_config make_config(int timeout_ms, char *sentence, size_t bytes)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;

    config.timeout_ms = timeout_ms;
    config.error = sentence;
    config.error_bytes = bytes;
    return config;
}

/* Rank 2 comes to the meeting place through the network; the others do not need it. */
static banyan_unique_id id_through(job_rank *self)
{
    banyan_unique_id id = job_id(self);
    unsigned char *port = (unsigned char *)id.bytes + ID_PORT;

    if (self->rank == 0)
        atomic_store(&network->target_port, (int)banyan_get32(port));
    while (!atomic_load(&network->target_port))
        usleep(1000);
    if (self->rank == 2)
        banyan_put32(port, (uint32_t)network->port);
    return id;
}

static int start_through(job_rank *self, int timeout_ms)
{
    char sentence[512] = "";
    banyan_config config = make_config(timeout_ms, sentence, sizeof sentence);
    banyan_comm *comm = NULL;
    float sum = 0;
    banyan_status status = banyan_comm_init_rank(&comm, RANKS, id_through(self), self->rank, &config);

    EXPECT(!status, "%s: %s", banyan_status_string(status), sentence);
    EXPECT(!sum_ranks(comm, &sum) && sum == 6, "%s", banyan_last_error(comm));
    banyan_comm_destroy(comm);
    return 0;
}

static int start_after_silence(job_rank *self)
{
    return start_through(self, tries_ms);
}

static int start_in_long_time(job_rank *self)
{
    return start_through(self, CALL_MS);
}

static void run_through_network(rank_function function)
{
    pid_t process = forwarder_start(network);
    job j = job_start(RANKS, function);
    int failed = 0;

    for (int i = 0; i < RANKS; i++)
        failed += job_end_rank(&j, i, JOB_SECONDS) != 0;
    job_free(&j);
    forwarder_stop(network, process);
    assert_int_equal(failed, 0);
}

TEST(a_slow_handshake_is_not_a_wrong_one)
{
    network = forwarder_create();
    network->delay_ms = 1400; /* four messages: more than five seconds */
    run_through_network(start_in_long_time);
}

/* Greeting 40, proof 32, verdict 8 bytes; answer 72, hello 24, confirmation 4 bytes. */
enum { HANDSHAKE_THERE = 100, HANDSHAKE_BACK = 80 };

static void cut_until(int most_there, int most_back)
{
    static const int there[] = {0, 7, 8, 40, 71, 72, 95, 96, 99, 100, 600};
    static const int back[] = {0, 8, 39, 40, 71, 72, 79, 80, 100, 1500};

    network = forwarder_create();
    for (size_t i = 0; i < sizeof there / sizeof *there && there[i] < most_there; i++)
        forwarder_add(network, CUT, 0, there[i]);
    for (size_t i = 0; i < sizeof back / sizeof *back && back[i] < most_back; i++)
        forwarder_add(network, CUT, 1, back[i]);
    forwarder_add(network, FORWARD, 0, 0);
}

TEST(a_handshake_that_is_cut_anywhere_is_tried_again)
{
    cut_until(620, 1600); /* into the record, and into the records of all: the visit is made again */
    run_through_network(start_in_long_time);
}

TEST(a_connection_that_is_silent_or_damaged_once_is_tried_again)
{
    network = forwarder_create();
    forwarder_add(network, SWALLOW, 0, 50);
    forwarder_add(network, DAMAGE, 1, 3);  /* the greeting's magic */
    forwarder_add(network, DAMAGE, 0, 60); /* a proof */
    forwarder_add(network, SWALLOW, 1, 40);
    forwarder_add(network, DAMAGE, 1, 50);
    forwarder_add(network, FORWARD, 0, 0);
    run_through_network(start_after_silence);
}

/* The record of the rank that others dial is given another port: control connections go to rank 0, those for
 * data to rank 1. */
static banyan_status exchange_through(void *context, const void *mine, size_t bytes, void *all, int reached)
{
    job_rank *self = context;
    unsigned char *record = (unsigned char *)all + (size_t)reached * bytes;
    banyan_status status = job_exchange(self, mine, bytes, all);
    banyan_rank_record known;

    if (!status)
        status = banyan_rank_record_read(record, &known, NULL);
    if (status)
        return status;
    atomic_store(&network->target_port, known.address.port);
    if (self->rank != reached) {
        known.address.port = (uint16_t)network->port;
        banyan_rank_record_write(&known, record);
    }
    return BANYAN_SUCCESS;
}

static banyan_status exchange_before_rank_0(void *context, const void *mine, size_t bytes, void *all)
{
    return exchange_through(context, mine, bytes, all, 0);
}

static banyan_status exchange_before_rank_1(void *context, const void *mine, size_t bytes, void *all)
{
    return exchange_through(context, mine, bytes, all, 1);
}

static int start_by_exchange(job_rank *self, banyan_allgather_function exchange, int timeout_ms)
{
    char sentence[512] = "";
    banyan_config config = make_config(timeout_ms, sentence, sizeof sentence);
    banyan_comm *comm = NULL;
    float sum = 0;
    banyan_status status = banyan_comm_init_exchange(&comm, RANKS, self->rank, exchange, self, &config);

    EXPECT(!status, "%s: %s", banyan_status_string(status), sentence);
    EXPECT(!sum_ranks(comm, &sum) && sum == 6, "%s", banyan_last_error(comm));
    banyan_comm_destroy(comm);
    return 0;
}

static int start_control_through(job_rank *self)
{
    return start_by_exchange(self, exchange_before_rank_0, CALL_MS);
}

static int start_data_through(job_rank *self)
{
    return start_by_exchange(self, exchange_before_rank_1, CALL_MS);
}

TEST(a_control_connection_that_is_cut_anywhere_is_tried_again)
{
    cut_until(HANDSHAKE_THERE, HANDSHAKE_BACK);
    run_through_network(start_control_through);
}

TEST(a_data_connection_that_is_cut_anywhere_is_tried_again)
{
    cut_until(HANDSHAKE_THERE, HANDSHAKE_BACK);
    run_through_network(start_data_through);
}

/* Nothing comes through at all: what was seen is told, and nobody is said to have another secret. */
static int start_through_a_hole(job_rank *self)
{
    char sentence[512] = "",
         words[120] = " tries, of which the furthest was greeted but got no answer to its proof";
    banyan_config config = make_config(short_ms, sentence, sizeof sentence);
    banyan_comm *comm = NULL;
    banyan_status status = banyan_comm_init_rank(&comm, RANKS, id_through(self), self->rank, &config);

    EXPECT(status == BANYAN_TIMEOUT && !comm, "%s: %s", banyan_status_string(status), sentence);
    EXPECT(!strstr(sentence, "same secret"), "%s", sentence);
    if (self->rank != 2)
        snprintf(words, sizeof words, "rank 2 of 3 did not come within %d ms", short_ms);
    EXPECT(strstr(sentence, words), "%s", sentence);
    return 0;
}

TEST(a_start_that_fails_says_how_far_it_got)
{
    network = forwarder_create();
    forwarder_add(network, SWALLOW, 0, 50);
    run_through_network(start_through_a_hole);
}

/* Strangers: a process that keeps many connections to a port until it is killed, and opens those anew that
 * were closed. */

static int stranger_dial(int port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd >= 0)
        connect(fd, (struct sockaddr *)&to, sizeof to);
    return fd;
}

/* A third says nothing, a third begins as we do and goes on byte by byte, a third sends rubbish. */
static void stranger_talk(int number, int fd, int turn)
{
    static const char beginning[8] = {'b', 'a', 'n', 'y', 'a', 'n', 0, 2};
    char rubbish[300];

    memset(rubbish, 'x', sizeof rubbish);
    if (number % 3 == 1)
        send(fd, turn < 8 ? &beginning[turn] : rubbish, 1, MSG_NOSIGNAL);
    else if (number % 3 == 2)
        send(fd, rubbish, sizeof rubbish, MSG_NOSIGNAL);
}

static void strangers_stay(int port, int count)
{
    struct rlimit limit;
    int *fds = malloc((size_t)count * sizeof *fds), *turns = calloc((size_t)count, sizeof *turns);

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < count; i++)
        fds[i] = stranger_dial(port);
    for (;;) {
        for (int i = 0; i < count; i++) {
            char bytes[64];
            ssize_t got = recv(fds[i], bytes, sizeof bytes, 0);

            if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
                close(fds[i]);
                fds[i] = stranger_dial(port);
                turns[i] = 0;
            } else {
                stranger_talk(i, fds[i], turns[i]++);
            }
        }
        usleep(20000);
    }
}

static pid_t strangers_come(int port, int count)
{
    pid_t process = fork();

    if (!process) {
        alarm(JOB_SECONDS + 5);
        strangers_stay(port, count);
    }
    usleep(100000); /* they are there before the ranks; a rank that is faster only makes it easier */
    return process;
}

static void strangers_leave(pid_t process)
{
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
}

/* The log goes to a file that is gone when the process ends. */
static int log_to_file(void)
{
    char path[] = "/tmp/banyan-start-XXXXXX", open_file[40];
    int fd = mkstemp(path);

    snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", fd);
    unlink(path);
    setenv("BANYAN_DEBUG", "INFO", 1);
    setenv("BANYAN_DEBUG_FILE", open_file, 1);
    return fd;
}

/* That strangers were turned away there. */
static int has_logged(int fd, const char *where)
{
    char log[8192] = "";
    const char *line = pread(fd, log, sizeof log - 1, 0) > 0 ? strstr(log, where) : NULL;

    close(fd);
    return line && strstr(line, "proved nothing and were turned away");
}

/* At the place where the ranks meet. */
static int start_behind_strangers(job_rank *self)
{
    int log = log_to_file();
    char sentence[512] = "";
    banyan_config config = make_config(CALL_MS, sentence, sizeof sentence);
    banyan_comm *comm = NULL;
    banyan_unique_id id = job_id(self);
    pid_t strangers = 0;
    banyan_status status;
    float sum = 0;

    if (self->rank == 0)
        strangers = strangers_come((int)banyan_get32((unsigned char *)id.bytes + ID_PORT), STRANGERS);
    pthread_barrier_wait(&self->memory->barrier);
    status = banyan_comm_init_rank(&comm, RANKS, id, self->rank, &config);
    if (strangers)
        strangers_leave(strangers);
    EXPECT(!status, "%s: %s", banyan_status_string(status), sentence);
    EXPECT(!sum_ranks(comm, &sum) && sum == 6, "%s", banyan_last_error(comm));
    banyan_comm_destroy(comm);
    EXPECT(has_logged(log, "at the meeting place: ") == (self->rank == 0), "rank %d logs it", self->rank);
    return 0;
}

TEST(strangers_at_the_meeting_place_do_not_keep_ranks_out_and_are_logged)
{
    job_run(RANKS, start_behind_strangers);
}

static int start_behind_strangers_without_rank_2(job_rank *self)
{
    char sentence[512] = "", words[80];
    banyan_config config = make_config(job_timeout_ms, sentence, sizeof sentence);
    banyan_comm *comm = NULL;
    banyan_unique_id id = job_id(self);
    pid_t strangers = 0;
    banyan_status status;

    if (self->rank == 0)
        strangers = strangers_come((int)banyan_get32((unsigned char *)id.bytes + ID_PORT), STRANGERS);
    pthread_barrier_wait(&self->memory->barrier);
    if (self->rank == 2)
        return 0;
    status = banyan_comm_init_rank(&comm, RANKS, id, self->rank, &config);
    if (strangers)
        strangers_leave(strangers);
    EXPECT(status == BANYAN_TIMEOUT, "%s: %s", banyan_status_string(status), sentence);
    snprintf(words, sizeof words, "rank 2 of 3 did not come within %d ms; ", job_timeout_ms);
    if (job_is_too_short(strstr(sentence, words) != NULL))
        return JOB_TOO_SHORT; /* before it was through the strangers, or heard who is missing */
    EXPECT(strstr(sentence, words) && strstr(sentence, "proved nothing and were turned away"), "%s",
           sentence);
    return 0;
}

TEST(a_start_that_fails_counts_the_strangers)
{
    job_run_in_time(RANKS, start_behind_strangers_without_rank_2, short_ms);
}

/* At every rank's own port, before anybody connects there. */
static pid_t own_strangers;

static banyan_status exchange_and_be_crowded(void *context, const void *mine, size_t bytes, void *all)
{
    job_rank *self = context;
    banyan_status status = job_exchange(self, mine, bytes, all);
    banyan_rank_record record;

    if (!status)
        status = banyan_rank_record_read((unsigned char *)all + (size_t)self->rank * bytes, &record, NULL);
    if (!status)
        own_strangers = strangers_come(record.address.port, STRANGERS);
    pthread_barrier_wait(&self->memory->barrier);
    return status;
}

static int start_with_strangers_everywhere(job_rank *self)
{
    int log = log_to_file(), how = start_by_exchange(self, exchange_and_be_crowded, CALL_MS);

    strangers_leave(own_strangers);
    EXPECT(has_logged(log, "at the port of rank"), "no strangers in the log");
    return how;
}

TEST(strangers_at_the_ports_of_ranks_do_not_keep_ranks_out)
{
    job_run(RANKS, start_with_strangers_everywhere);
}

/* Descriptors */

static void limit_descriptors(int soft, int hard)
{
    struct rlimit limit = {(rlim_t)soft, (rlim_t)hard};

    if (setrlimit(RLIMIT_NOFILE, &limit))
        abort();
}

static int start_with_a_low_soft_limit(job_rank *self)
{
    limit_descriptors(12, 1000);
    return start_by_exchange(self, job_exchange, CALL_MS);
}

TEST(a_soft_limit_of_descriptors_is_raised)
{
    job_run(RANKS, start_with_a_low_soft_limit);
}

static int start_with_a_low_hard_limit(job_rank *self)
{
    char sentence[512] = "";
    banyan_config config = make_config(CALL_MS, sentence, sizeof sentence);
    banyan_comm *comm = NULL;
    int open = job_count_descriptors();
    banyan_status status;

    limit_descriptors(14, 14);
    status = banyan_comm_init_exchange(&comm, RANKS, self->rank, job_exchange, self, &config);
    EXPECT(status == BANYAN_SYSTEM_ERROR && !comm, "%s: %s", banyan_status_string(status), sentence);
    EXPECT(strstr(sentence, "file descriptors") && strstr(sentence, "this process may have 14") &&
               strstr(sentence, "ulimit -Hn"),
           "%s", sentence);
    EXPECT(job_count_descriptors() == open, "%d descriptors, before %d", job_count_descriptors(), open);
    return 0;
}

TEST(a_hard_limit_of_descriptors_that_is_too_low_is_told_at_once)
{
    job_run(RANKS, start_with_a_low_hard_limit);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_handshake_is_not_a_wrong_one),
        cmocka_unit_test(a_handshake_that_is_cut_anywhere_is_tried_again),
        cmocka_unit_test(a_connection_that_is_silent_or_damaged_once_is_tried_again),
        cmocka_unit_test(a_control_connection_that_is_cut_anywhere_is_tried_again),
        cmocka_unit_test(a_data_connection_that_is_cut_anywhere_is_tried_again),
        cmocka_unit_test(a_start_that_fails_says_how_far_it_got),
        cmocka_unit_test(strangers_at_the_meeting_place_do_not_keep_ranks_out_and_are_logged),
        cmocka_unit_test(a_start_that_fails_counts_the_strangers),
        cmocka_unit_test(strangers_at_the_ports_of_ranks_do_not_keep_ranks_out),
        cmocka_unit_test(a_soft_limit_of_descriptors_is_raised),
        cmocka_unit_test(a_hard_limit_of_descriptors_that_is_too_low_is_told_at_once),
    };

    job_stay_here();
    short_ms = 2 * job_short_ms(RANKS);
    tries_ms = 2 * short_ms;
    if (count > 1)
        cmocka_set_test_filter(words[1]);
    return cmocka_run_group_tests_name("start", tests, NULL, NULL);
}
