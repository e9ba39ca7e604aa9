/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/strangers.c: strangers, liars and other versions at the port of a rank that computes. */
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "bootstrap/rank_record.h"
#include "multi/calls.h"
#include "transport/dial.h"
#include "transport/handshake.h"

typedef struct {
    banyan_address address;
    banyan_secret secret;
} target;

/* Rank 0's listener: its record went through the shared memory, with the secret that it made. */
static target find_address(job_rank *self)
{
    banyan_rank_record record;
    target t;

    banyan_rank_record_read(self->memory->records[0], &record, NULL);
    t.address = record.address;
    t.secret = record.secret;
    return t;
}

static int dial_raw(const banyan_address *address)
{
    int fd = -1;

    if (banyan_socket_connect(address, NULL, &fd, NULL))
        return -1;
    banyan_socket_wait(fd, POLLOUT, banyan_clock_ns() + 1000000000);
    return fd;
}

static int strangers_knock(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_comm *comm = NULL;
    int fds[100], made = 0;
    char rubbish[3000];
    float sum;

    config.timeout_ms = CALL_MS;
    EXPECT(!banyan_comm_init_exchange(&comm, 2, self->rank, job_exchange, self, &config), "init");
    if (self->rank == 1) {
        target t = find_address(self);

        memset(rubbish, 'x', sizeof rubbish);
        for (; made < 100; made++) {
            fds[made] = dial_raw(&t.address);
            if (made % 2) /* half of them say nothing at all */
                EXPECT(send(fds[made], rubbish, sizeof rubbish, MSG_NOSIGNAL) != 0, "send");
        }
    }
    for (int i = 0; i < 20; i++) {
        EXPECT(!sum_ranks(comm, &sum), "%s", banyan_last_error(comm));
        EXPECT(sum == 3, "%g", (double)sum);
    }
    while (made > 0)
        close(fds[--made]);
    banyan_comm_destroy(comm);
    return 0;
}

TEST(strangers_at_the_door_do_not_disturb)
{
    job_run(2, strangers_knock);
}

/* What a hello that is not ours is answered with. */
static int other_version_knocks(job_rank *self)
{
    banyan_hello hello = {BANYAN_PROTOCOL + 1, BANYAN_HELLO_DATA, 0, 3, 0, 1};
    char words[80];
    banyan_error err = {""};
    banyan_comm *comm = NULL;
    banyan_status status;
    float sum;
    int fd;

    EXPECT(!banyan_comm_init_exchange(&comm, 2, self->rank, job_exchange, self, NULL), "init");
    if (self->rank == 1) {
        target t = find_address(self);

        status =
            banyan_dial(&t.address, &t.secret, &hello, "rank 0", banyan_clock_ns() + 5000000000, &fd, &err);
        EXPECT(status == BANYAN_VERSION_MISMATCH, "%s: %s", banyan_status_string(status), err.text);
        snprintf(words, sizeof words, "rank 0: it speaks protocol %d, this process speaks %d",
                 BANYAN_PROTOCOL, BANYAN_PROTOCOL + 1);
        EXPECT(strstr(err.text, words), "%s", err.text);
        t.secret.bytes[0] ^= 1;
        status =
            banyan_dial(&t.address, &t.secret, &hello, "rank 0", banyan_clock_ns() + 5000000000, &fd, &err);
        EXPECT(status == BANYAN_MISMATCH, "%s: %s", banyan_status_string(status), err.text);
    }
    EXPECT(!sum_ranks(comm, &sum) && sum == 3, "%s", banyan_last_error(comm));
    banyan_comm_destroy(comm);
    return 0;
}

TEST(other_versions_are_told_apart_from_other_secrets)
{
    job_run(2, other_version_knocks);
}

/* A member that has the secret and sends rubbish in place of frames, as if it were rank 0. In a ring of four,
 * rank 0 has no connection with rank 2, so its own does not come in between. */
static int liar_sends_rubbish(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_DATA, 0, 5, 0, 1}; /* four ranks and a switch */
    banyan_comm *comm = NULL;
    banyan_status status;
    double seconds;
    char rubbish[64];
    int fd;

    setenv("BANYAN_TRANSPORT", "tcp", 1); /* nobody reads frames where there are none */
    setenv("BANYAN_LEARN", "0", 1);
    config.timeout_ms = CALL_MS;
    config.algorithm = "ring";
    EXPECT(!banyan_comm_init_exchange(&comm, 4, self->rank, job_exchange, self, &config), "init");
    if (self->rank == 3) {
        banyan_rank_record record;
        target t = find_address(self);

        banyan_rank_record_read(self->memory->records[2], &record, NULL);
        EXPECT(!banyan_dial(&record.address, &t.secret, &hello, "rank 2", banyan_clock_ns() + 5000000000, &fd,
                            NULL),
               "dial");
        memset(rubbish, 0x77, sizeof rubbish);
        EXPECT(send(fd, rubbish, sizeof rubbish, MSG_NOSIGNAL) == sizeof rubbish, "send");
    }
    status = call_until_failure(comm, &seconds);
    EXPECT(status == BANYAN_REMOTE_ERROR, "%s: %s", banyan_status_string(status), banyan_last_error(comm));
    EXPECT(strstr(banyan_last_error(comm), "rank 0") &&
               strstr(banyan_last_error(comm), "sent what is not ours"),
           "%s", banyan_last_error(comm));
    EXPECT(seconds < CALL_MS * 1e-3 / 2, "%g s", seconds);
    banyan_comm_destroy(comm);
    return 0;
}

TEST(rubbish_in_place_of_frames_ends_the_group_and_names_the_sender)
{
    job_run(4, liar_sends_rubbish);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_at_the_door_do_not_disturb),
        cmocka_unit_test(other_versions_are_told_apart_from_other_secrets),
        cmocka_unit_test(rubbish_in_place_of_frames_ends_the_group_and_names_the_sender),
    };

    job_stay_here();
    return cmocka_run_group_tests_name("strangers", tests, NULL, NULL);
}
