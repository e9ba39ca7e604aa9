/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/pmi.c: PMI-1 with a launcher that is a thread here, and with one that answers wrongly or not at
 * all. Real launchers: tests/launchers. */
#include "bootstrap/pmi.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

enum { SHORT_MS = 50, LONG_MS = 20000 };

typedef struct {
    int fd;
    const char *answers[8]; /* NULL: the socket closes */
    char heard[8][512];
    int count;
} launcher;

static void *serve(void *argument)
{
    launcher *l = argument;
    char byte;

    for (l->count = 0; l->count < 8 && l->answers[l->count]; l->count++) {
        char *line = l->heard[l->count];

        for (size_t i = 0; i < sizeof l->heard[0] - 1 && read(l->fd, &byte, 1) == 1 && byte != '\n'; i++)
            line[i] = byte;
        if (send(l->fd, l->answers[l->count], strlen(l->answers[l->count]), MSG_NOSIGNAL) < 0)
            break;
    }
    close(l->fd);
    return NULL;
}

static banyan_status run(launcher *l, int rank, char *text, size_t bytes, banyan_error *err)
{
    banyan_status status;
    pthread_t thread;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    l->fd = ends[0];
    assert_int_equal(pthread_create(&thread, NULL, serve, l), 0);
    status = banyan_pmi_share(ends[1], rank, text, bytes, LONG_MS, err);
    close(ends[1]);
    pthread_join(thread, NULL);
    return status;
}

TEST(rank_0_puts_and_others_get)
{
    launcher first = {.answers = {"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                                  "cmd=my_kvsname kvsname=kvs_7\n", "cmd=put_result rc=0 msg=success\n",
                                  "cmd=barrier_out\n", "cmd=get_result rc=0 msg=success value=abc\n",
                                  "cmd=finalize_ack\n"}};
    launcher second = {.answers = {"cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n",
                                   "cmd=my_kvsname kvsname=kvs_7\n", "cmd=barrier_out rc=0\n",
                                   "cmd=get_result rc=0 msg=success value=abc\n", "cmd=finalize_ack\n"}};
    char text[8] = "abc", other[8] = "";
    banyan_error err = {""};

    assert_int_equal(run(&first, 0, text, sizeof text, &err), BANYAN_SUCCESS);
    assert_string_equal(first.heard[2], "cmd=put kvsname=kvs_7 key=banyan-id value=abc");
    assert_int_equal(run(&second, 1, other, sizeof other, &err), BANYAN_SUCCESS);
    assert_string_equal(other, "abc");
}

TEST(answers_that_are_wrong_are_told)
{
    launcher refuses = {.answers = {"cmd=response_to_init rc=-1\n"}};
    launcher closes = {.answers = {"cmd=response_to_init rc=0\n", NULL}};
    launcher too_long = {.answers = {"cmd=response_to_init rc=0\n", "cmd=my_kvsname kvsname=k\n",
                                     "cmd=barrier_out\n", "cmd=get_result rc=0 value=abcdefgh\n"}};
    char text[8] = "";
    banyan_error err = {""};

    assert_int_equal(run(&refuses, 1, text, sizeof text, &err), BANYAN_REMOTE_ERROR);
    assert_non_null(strstr(err.text, "answers 'cmd=init' with 'cmd=response_to_init rc=-1'"));
    assert_int_equal(run(&closes, 1, text, sizeof text, &err), BANYAN_SYSTEM_ERROR);
    assert_int_equal(run(&too_long, 1, text, sizeof text, &err), BANYAN_REMOTE_ERROR);
    assert_non_null(strstr(err.text, "lost what rank 0 has put"));
}

TEST(a_launcher_that_is_silent_is_a_time_out)
{
    char text[8] = "";
    banyan_error err = {""};
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(banyan_pmi_share(ends[1], 1, text, sizeof text, SHORT_MS, &err), BANYAN_TIMEOUT);
    assert_non_null(strstr(err.text, "does not answer 'cmd=init'"));
    close(ends[0]);
    close(ends[1]);
}

TEST(a_field_is_found_by_its_whole_name)
{
    char out[8];

    assert_true(banyan_pmi_field("cmd=get_result xvalue=1 value=23\n", "value", out, sizeof out));
    assert_string_equal(out, "23");
    assert_false(banyan_pmi_field("cmd=get_result value=12345678\n", "value", out, sizeof out));
    assert_false(banyan_pmi_field("value", "value", out, sizeof out));
    assert_false(banyan_pmi_field("", "value", out, sizeof out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_0_puts_and_others_get),
        cmocka_unit_test(answers_that_are_wrong_are_told),
        cmocka_unit_test(a_launcher_that_is_silent_is_a_time_out),
        cmocka_unit_test(a_field_is_found_by_its_whole_name),
    };

    return cmocka_run_group_tests_name("pmi", tests, NULL, NULL);
}
