/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/status_report.c: reports that are longer than a socket holds (group/status_report.c). */
#include "unit/test.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/alloc.h"
#include "group/control_internal.h"

enum { RANKS = 4096, MOST_BYTES = 4 << 20 };

/* The hub of a large group, as far as a report needs it, with a socket that only this test knows. */
typedef struct {
    banyan_control control;
    struct sockaddr_un address;
} hub;

static hub *make_hub(void)
{
    hub *h = banyan_alloc(1, sizeof *h);
    banyan_control *c = &h->control;
    banyan_rank_record *records = banyan_alloc(RANKS, sizeof *records);

    c->size = RANKS;
    c->members = banyan_alloc(RANKS, sizeof *c->members);
    c->lost = banyan_alloc(RANKS, 1);
    c->left = banyan_alloc(RANKS, 1);
    c->silent = banyan_alloc(RANKS, 1);
    for (int i = 0; i < RANKS; i++) {
        snprintf(records[i].host, sizeof records[i].host, "host-%d", i);
        c->members[i].told_ns = i ? 1 : 0;
        snprintf(c->members[i].state.call, sizeof c->members[i].state.call, "allreduce %d", i);
    }
    c->records = records;
    pthread_mutex_init(&c->lock, NULL);
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    c->status_socket.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    h->address.sun_family = AF_UNIX; /* without a name in any file system: the kernel chooses one */
    assert_int_equal(bind(c->status_socket.fd, (struct sockaddr *)&h->address, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(c->status_socket.fd, 64), 0);
    return h;
}

static void free_hub(hub *h)
{
    banyan_control_drop_answers(&h->control);
    close(h->control.status_socket.fd);
    close(h->control.epoll);
    pthread_mutex_destroy(&h->control.lock);
    banyan_free((void *)(size_t)h->control.records);
    banyan_free(h->control.members);
    banyan_free(h->control.lost);
    banyan_free(h->control.left);
    banyan_free(h->control.silent);
    banyan_free(h);
}

static int knock(const hub *h)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address;
    socklen_t size = sizeof address;

    assert_int_equal(getsockname(h->control.status_socket.fd, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
    return fd;
}

/* Reads what there is without waiting. Returns 1 when the other side has closed. */
static int read_some(int fd, char *into, size_t *length)
{
    ssize_t got;

    while ((got = recv(fd, into + *length, MOST_BYTES - *length, MSG_DONTWAIT)) > 0)
        *length += (size_t)got;
    return got == 0;
}

TEST(a_report_longer_than_a_socket_holds_comes_whole_and_holds_nobody_up)
{
    hub *h = make_hub();
    char *text = banyan_alloc(MOST_BYTES, 1);
    size_t length = 0, ranks = 0, first;
    int fd = knock(h), turns = 1;

    banyan_control_answer_status(&h->control); /* comes back, although nobody has read a byte */
    assert_int_equal(h->control.answer_count, 1);
    read_some(fd, text, &length);
    first = length;
    while (!read_some(fd, text, &length) && turns++ < 10000)
        banyan_control_go_on_answering(&h->control);
    assert_int_equal(h->control.answer_count, 0);
    assert_true(turns > 1 && first < length);
    assert_string_equal(text + length - 2, "}\n");
    for (const char *at = text; (at = strstr(at, "\"host\":\"host-")) != NULL; at++)
        ranks++;
    assert_int_equal(ranks, RANKS);
    close(fd);
    banyan_free(text);
    free_hub(h);
}

/* Who connects and does not read keeps memory, so there is an end to them; the first ones are not
 * forgotten. */
TEST(readers_that_do_not_read_are_few)
{
    hub *h = make_hub();
    char *text = banyan_alloc(MOST_BYTES, 1);
    size_t length = 0;
    int fds[20], shut = 0;

    for (int i = 0; i < 20; i++)
        fds[i] = knock(h);
    banyan_control_answer_status(&h->control);
    assert_int_equal(h->control.answer_count, 16);
    for (int i = 0; i < 20; i++) {
        struct pollfd look = {.fd = fds[i], .events = POLLIN};

        shut += poll(&look, 1, 0) == 1 && recv(fds[i], text, 1, MSG_PEEK) == 0;
    }
    assert_int_equal(shut, 4);
    for (int turns = 0; !read_some(fds[0], text, &length) && turns < 10000; turns++)
        banyan_control_go_on_answering(&h->control);
    assert_string_equal(text + length - 2, "}\n");
    assert_int_equal(h->control.answer_count, 15);
    for (int i = 0; i < 20; i++)
        close(fds[i]);
    banyan_free(text);
    free_hub(h);
}

/* A reader that goes away in the middle is forgotten, and the rank lives on. */
TEST(a_reader_that_goes_is_forgotten)
{
    hub *h = make_hub();
    int fd = knock(h);

    banyan_control_answer_status(&h->control);
    assert_int_equal(h->control.answer_count, 1);
    close(fd);
    banyan_control_go_on_answering(&h->control);
    assert_int_equal(h->control.answer_count, 0);
    free_hub(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_longer_than_a_socket_holds_comes_whole_and_holds_nobody_up),
        cmocka_unit_test(readers_that_do_not_read_are_few),
        cmocka_unit_test(a_reader_that_goes_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
