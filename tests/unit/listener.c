/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/listener.c: who is let in, who is turned away, and what a listener does when descriptors run
 * out. The test drives the listener and both kinds of visitors in one thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "test.h"
#include "transport/listener.h"

/* The time-out is long enough for a busy machine; the tenure that follows from it is waited for. */
enum { TIMEOUT_MS = 32000, TENURE_MS = 1000, CROWD = BANYAN_LISTENER_UNPROVEN };

typedef struct {
    banyan_secret secret;
    banyan_listener *listener;
    int taken, asked;
    banyan_status verdict;
} place;

static banyan_status ask(void *context, const banyan_hello *hello)
{
    place *p = context;

    (void)hello;
    p->asked++;
    return p->verdict;
}

static void take(void *context, const banyan_hello *hello, int fd)
{
    place *p = context;

    (void)hello;
    p->taken++;
    close(fd);
}

static void open_place(place *p)
{
    banyan_address local = {.family = AF_INET, .bytes = {127, 0, 0, 1}};
    banyan_listener_handler handler = {.context = p, .ask = ask, .take = take};

    *p = (place){.taken = 0};
    banyan_auth_secret_from_text("place", &p->secret);
    assert_int_equal(
        banyan_listener_create(&local, 0, 0, &p->secret, TIMEOUT_MS, &handler, &p->listener, NULL), 0);
}

static int come_from(const place *p, unsigned char last)
{
    const banyan_address *at = banyan_listener_address(p->listener);
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = {htonl(0x7f000000u | last)}};
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(at->port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && !bind(fd, (struct sockaddr *)&from, sizeof from));
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static void crowd_in(const place *p, unsigned char last, int fds[CROWD])
{
    for (int i = 0; i < CROWD; i++) {
        fds[i] = come_from(p, last);
        banyan_listener_progress(p->listener);
    }
}

static void crowd_out(int fds[CROWD])
{
    for (int i = 0; i < CROWD; i++)
        close(fds[i]);
}

static int is_closed(int fd)
{
    char bytes[100];
    ssize_t count;

    while ((count = recv(fd, bytes, sizeof bytes, 0)) > 0)
        continue;
    return count == 0 || (errno != EAGAIN && errno != EINTR);
}

static int is_closed_soon(const place *p, int fd)
{
    int64_t until_ns = banyan_clock_ns() + (int64_t)TIMEOUT_MS * 1000000;

    while (!is_closed(fd) && banyan_clock_ns() < until_ns)
        banyan_listener_progress(p->listener);
    return is_closed(fd);
}

static void progress_for(const place *p, int ms)
{
    int64_t until_ns = banyan_clock_ns() + (int64_t)ms * 1000000;

    while (banyan_clock_ns() < until_ns) {
        banyan_listener_progress(p->listener);
        usleep(1000);
    }
}

/* As a rank does it; 1: it was let in. */
static int shake(const place *p, int fd, const banyan_secret *secret, banyan_error *err)
{
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_DATA, 0, 2, 0, 1};
    int64_t until_ns = banyan_clock_ns() + (int64_t)TIMEOUT_MS * 1000000;
    banyan_status status = BANYAN_IN_PROGRESS;
    banyan_handshake h;
    int taken = p->taken;

    assert_int_equal(banyan_handshake_connect(&h, secret, &hello, NULL), 0);
    while (status == BANYAN_IN_PROGRESS && banyan_clock_ns() < until_ns) {
        banyan_listener_progress(p->listener);
        status = banyan_handshake_step(&h, fd, "it", err);
    }
    while (!status && p->taken == taken && banyan_clock_ns() < until_ns)
        banyan_listener_progress(p->listener);
    return p->taken > taken;
}

TEST(a_rank_gets_in_when_all_places_are_taken_by_idle_strangers)
{
    int fds[CROWD], fd;
    char text[BANYAN_STRANGERS_TEXT];
    place p;

    open_place(&p);
    crowd_in(&p, 1, fds);
    fd = come_from(&p, 1);
    assert_true(shake(&p, fd, &p.secret, NULL));
    assert_true(is_closed(fds[0])); /* the oldest */
    assert_false(is_closed(fds[CROWD - 1]));
    assert_non_null(strstr(banyan_listener_describe_strangers(p.listener, text),
                           "1 connection proved nothing and was turned away; 255 connections are open that "
                           "have proven nothing"));
    close(fd);
    crowd_out(fds);
    banyan_listener_destroy(p.listener);
}

/* The slow one has been there for longer than anybody else, but the others come from one address and are
 * many. */
TEST(a_slow_rank_is_not_turned_away_for_the_crowd_of_another_address)
{
    int fds[CROWD], slow, fd;
    place p;

    open_place(&p);
    slow = come_from(&p, 2);
    banyan_listener_progress(p.listener);
    crowd_in(&p, 1, fds);
    progress_for(&p, 2 * TENURE_MS);
    for (int i = 0; i < 10; i++) {
        fd = come_from(&p, 1);
        progress_for(&p, 2);
        close(fd);
    }
    assert_true(shake(&p, slow, &p.secret, NULL));
    close(slow);
    crowd_out(fds);
    banyan_listener_destroy(p.listener);
}

/* A crowd of ranks is larger than the places, too: nobody is closed before it can have answered. */
TEST(nobody_is_turned_away_before_its_tenure)
{
    int fds[CROWD], fd, closed = 0;
    place p;

    open_place(&p);
    banyan_listener_set_timeout(p.listener, 1000 * TIMEOUT_MS);
    crowd_in(&p, 1, fds);
    fd = come_from(&p, 1);
    progress_for(&p, TENURE_MS / 5);
    for (int i = 0; i < CROWD; i++)
        closed += is_closed(fds[i]);
    assert_int_equal(closed, 0);
    close(fd);
    crowd_out(fds);
    banyan_listener_destroy(p.listener);
}

TEST(rubbish_is_closed_at_its_first_byte_and_a_wrong_secret_is_refused)
{
    char text[BANYAN_STRANGERS_TEXT];
    banyan_secret other;
    banyan_error err = {""};
    place p;
    int fd;

    open_place(&p);
    fd = come_from(&p, 1);
    progress_for(&p, 2);
    assert_int_equal(send(fd, "G", 1, MSG_NOSIGNAL), 1);
    assert_true(is_closed_soon(&p, fd));
    close(fd);
    banyan_auth_secret_from_text("another", &other);
    fd = come_from(&p, 1);
    assert_false(shake(&p, fd, &other, &err));
    CHECK_SAYS(err, "does not hold the same secret");
    close(fd);
    assert_string_equal(
        banyan_listener_describe_strangers(p.listener, text),
        "; 1 connection came with another secret; 1 connection proved nothing and was turned away");
    assert_int_equal(p.asked, 0);
    banyan_listener_destroy(p.listener);
}

/* A connection that its connector gives up before it is confirmed is never handed on. */
TEST(a_connection_is_taken_only_when_it_is_confirmed)
{
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_DATA, 0, 2, 0, 1};
    unsigned char bytes[BANYAN_HANDSHAKE_LARGEST];
    banyan_handshake h;
    place p;
    int fd;

    open_place(&p);
    fd = come_from(&p, 1);
    assert_int_equal(banyan_handshake_connect(&h, &p.secret, &hello, NULL), 0);
    while (h.step < 2) {
        banyan_listener_progress(p.listener);
        assert_int_equal(banyan_handshake_step(&h, fd, "it", NULL), BANYAN_IN_PROGRESS);
    }
    while (!p.asked)
        banyan_listener_progress(p.listener);
    assert_int_equal(recv(fd, bytes, sizeof bytes, 0), 8); /* the verdict */
    assert_int_equal(p.asked, 1);
    close(fd);
    progress_for(&p, 20);
    assert_int_equal(p.taken, 0);
    banyan_listener_destroy(p.listener);
}

TEST(a_listener_without_descriptors_neither_spins_nor_forgets_who_waits)
{
    struct rlimit limit, low;
    char text[BANYAN_STRANGERS_TEXT];
    struct pollfd look;
    place p;
    int fd;

    open_place(&p);
    fd = come_from(&p, 1);
    look = (struct pollfd){.fd = banyan_listener_descriptor(p.listener), .events = POLLIN};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = (struct rlimit){(rlim_t)fd, limit.rlim_max};
    assert_int_equal(poll(&look, 1, 1000), 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    banyan_listener_progress(p.listener);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(poll(&look, 1, 0), 0); /* it waits */
    assert_true(banyan_listener_deadline_ns(p.listener) < INT64_MAX);
    assert_non_null(strstr(banyan_listener_describe_strangers(p.listener, text),
                           "could not be accepted: Too many open files (raise 'ulimit -n')"));
    assert_true(shake(&p, fd, &p.secret, NULL));
    close(fd);
    banyan_listener_destroy(p.listener);
}

/* Those who have proven nothing give up their descriptors first. */
TEST(strangers_make_room_when_descriptors_run_out)
{
    struct rlimit limit, low;
    int strangers[3], fd;
    place p;

    open_place(&p);
    for (int i = 0; i < 3; i++) {
        strangers[i] = come_from(&p, 1);
        banyan_listener_progress(p.listener);
    }
    fd = come_from(&p, 1);
    progress_for(&p, 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = (struct rlimit){(rlim_t)fd + 1, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_true(shake(&p, fd, &p.secret, NULL));
    assert_true(is_closed(strangers[0]));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < 3; i++)
        close(strangers[i]);
    close(fd);
    banyan_listener_destroy(p.listener);
}

/* A network that resets a connection as soon as it is made is not a port that nobody listens at. */
TEST(a_connection_that_is_reset_at_once_is_lost_and_not_refused)
{
    banyan_address local = {.family = AF_INET, .bytes = {127, 0, 0, 1}}, at;
    struct linger now = {.l_onoff = 1};
    banyan_error err = {""};
    int listener, there, here;

    assert_int_equal(banyan_socket_listen(&local, 0, 0, &listener, &at, NULL), 0);
    for (int is_closed_first = 0; is_closed_first < 2; is_closed_first++) {
        assert_int_equal(banyan_socket_connect(&at, NULL, &here, NULL), 0);
        assert_true(banyan_socket_wait(listener, POLLIN, banyan_clock_ns() + TIMEOUT_MS * INT64_C(1000000)));
        there = accept(listener, NULL, NULL);
        assert_true(there >= 0 && !setsockopt(there, SOL_SOCKET, SO_LINGER, &now, sizeof now));
        if (is_closed_first)
            assert_int_equal(shutdown(there, SHUT_WR), 0);
        close(there);
        assert_int_equal(banyan_socket_connected(here, &at, &err), BANYAN_PEER_LOST);
        close(here);
    }
    close(listener);
    assert_int_equal(banyan_socket_connect(&at, NULL, &here, NULL), 0);
    assert_true(banyan_socket_wait(here, POLLOUT, banyan_clock_ns() + TIMEOUT_MS * INT64_C(1000000)));
    assert_int_equal(banyan_socket_connected(here, &at, &err), BANYAN_SYSTEM_ERROR);
    close(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_that_is_reset_at_once_is_lost_and_not_refused),
        cmocka_unit_test(a_rank_gets_in_when_all_places_are_taken_by_idle_strangers),
        cmocka_unit_test(a_slow_rank_is_not_turned_away_for_the_crowd_of_another_address),
        cmocka_unit_test(nobody_is_turned_away_before_its_tenure),
        cmocka_unit_test(rubbish_is_closed_at_its_first_byte_and_a_wrong_secret_is_refused),
        cmocka_unit_test(a_connection_is_taken_only_when_it_is_confirmed),
        cmocka_unit_test(a_listener_without_descriptors_neither_spins_nor_forgets_who_waits),
        cmocka_unit_test(strangers_make_room_when_descriptors_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
