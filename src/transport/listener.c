/* SPDX-License-Identifier: Apache-2.0 */
/* transport/listener.c: an epoll set of its own for the door and those who stand at it, so that whoever owns
 * the listener watches one descriptor. */
#include "transport/listener.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"

#define RETRY_NS 20000000 /* a server that is not there yet is tried again so soon */

typedef struct {
    int fd; /* -1: free */
    int64_t deadline_ns;
    banyan_handshake handshake;
} visitor;

struct banyan_listener {
    int door_count, epoll;
    int doors[BANYAN_INTERFACES]; /* sockets that listen */
    banyan_address addresses[BANYAN_INTERFACES];
    banyan_secret secret;
    banyan_door_handler handler;
    int stranger_count;
    int visitor_count, is_paused;
    visitor visitors[BANYAN_LISTENER_VISITORS];
};

static int watch(int epoll, int operation, int fd, uint32_t events, uint64_t key)
{
    struct epoll_event event = {.events = events, .data = {.u64 = key}};

    return epoll_ctl(epoll, operation, fd, &event) == 0;
}

/* Doors come after the visitors in the epoll set. */
static int watch_door(banyan_listener *listener, int door)
{
    return watch(listener->epoll, EPOLL_CTL_ADD, listener->doors[door], EPOLLIN,
                 (uint64_t)(BANYAN_LISTENER_VISITORS + door));
}

banyan_status banyan_listener_add(banyan_listener *listener, const banyan_address *address, int low_port,
                                  int high_port, banyan_error *err)
{
    int door = listener->door_count;
    banyan_status status;

    assert(door < BANYAN_INTERFACES);
    status = banyan_socket_listen(address, low_port, high_port, &listener->doors[door],
                                  &listener->addresses[door], err);
    if (status)
        return status;
    listener->door_count++;
    return listener->epoll >= 0 && watch_door(listener, door)
               ? BANYAN_SUCCESS
               : banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot watch a socket: %s", strerror(errno));
}

banyan_status banyan_listener_create(const banyan_address *address, int low_port, int high_port,
                                     const banyan_secret *secret, const banyan_door_handler *handler,
                                     banyan_listener **out, banyan_error *err)
{
    banyan_listener *listener = banyan_alloc(1, sizeof *listener);
    banyan_status status;

    *out = NULL;
    if (!listener)
        return banyan_fail_memory(err);
    listener->epoll = epoll_create1(EPOLL_CLOEXEC);
    listener->secret = *secret;
    listener->handler = *handler;
    for (int i = 0; i < BANYAN_LISTENER_VISITORS; i++)
        listener->visitors[i].fd = -1;
    status = banyan_listener_add(listener, address, low_port, high_port, err);
    if (status)
        banyan_listener_destroy(listener);
    else
        *out = listener;
    return status;
}

void banyan_listener_destroy(banyan_listener *listener)
{
    if (!listener)
        return;
    for (int i = 0; i < BANYAN_LISTENER_VISITORS; i++)
        if (listener->visitors[i].fd >= 0)
            close(listener->visitors[i].fd);
    for (int i = 0; i < listener->door_count; i++)
        close(listener->doors[i]);
    if (listener->epoll >= 0)
        close(listener->epoll);
    banyan_auth_forget(listener, sizeof *listener);
    banyan_free(listener);
}

void banyan_listener_set_secret(banyan_listener *listener, const banyan_secret *secret)
{
    listener->secret = *secret;
}

const banyan_address *banyan_listener_address(const banyan_listener *listener)
{
    return &listener->addresses[0];
}

const banyan_address *banyan_listener_door(const banyan_listener *listener, int door)
{
    return door < listener->door_count ? &listener->addresses[door] : NULL;
}

int banyan_listener_descriptor(const banyan_listener *listener)
{
    return listener ? listener->epoll : -1;
}

int banyan_listener_stranger_count(const banyan_listener *listener)
{
    return listener->stranger_count;
}

/* The socket leaves the door: closed, or handed on. */
static int release(banyan_listener *listener, visitor *v)
{
    int fd = v->fd;

    epoll_ctl(listener->epoll, EPOLL_CTL_DEL, fd, NULL);
    banyan_auth_forget(&v->handshake, sizeof v->handshake);
    v->fd = -1;
    listener->visitor_count--;
    for (int i = 0; i < listener->door_count && listener->is_paused; i++)
        watch_door(listener, i);
    listener->is_paused = 0;
    return fd;
}

static void welcome(banyan_listener *listener, visitor *v)
{
    banyan_hello hello = v->handshake.hello;
    banyan_status verdict = hello.protocol != BANYAN_PROTOCOL
                                ? BANYAN_VERSION_MISMATCH
                                : listener->handler.ask(listener->handler.context, &hello);
    int is_told, fd;

    banyan_handshake_give_verdict(&v->handshake, verdict);
    is_told = banyan_handshake_step(&v->handshake, v->fd, "a visitor", NULL) == BANYAN_SUCCESS;
    fd = release(listener, v);
    if (verdict || !is_told)
        close(fd);
    else
        listener->handler.take(listener->handler.context, &hello, fd);
}

static void attend(banyan_listener *listener, visitor *v)
{
    banyan_status status = banyan_handshake_step(&v->handshake, v->fd, "a visitor", NULL);

    if (status == BANYAN_IN_PROGRESS) {
        uint32_t events = banyan_handshake_wants_write(&v->handshake) ? EPOLLIN | EPOLLOUT : EPOLLIN;

        watch(listener->epoll, EPOLL_CTL_MOD, v->fd, events, (uint64_t)(v - listener->visitors));
    } else if (status) {
        listener->stranger_count += status == BANYAN_MISMATCH;
        close(release(listener, v));
    } else {
        welcome(listener, v);
    }
}

static void admit(banyan_listener *listener, int fd)
{
    visitor *v = listener->visitors;

    while (v->fd >= 0)
        v++;
    v->fd = fd;
    v->deadline_ns = banyan_clock_ns() + (int64_t)BANYAN_LISTENER_PATIENCE_MS * 1000000;
    listener->visitor_count++;
    banyan_socket_tune(fd, 0);
    if (banyan_handshake_accept(&v->handshake, &listener->secret, NULL) ||
        !watch(listener->epoll, EPOLL_CTL_ADD, fd, EPOLLIN, (uint64_t)(v - listener->visitors)))
        close(release(listener, v));
    else
        attend(listener, v);
}

static void open_door(banyan_listener *listener, int door)
{
    while (listener->visitor_count < BANYAN_LISTENER_VISITORS) {
        int fd = accept4(listener->doors[door], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0)
            return;
        admit(listener, fd);
    }
    /* The others wait in the kernel's queue until somebody leaves. */
    for (int i = 0; i < listener->door_count && !listener->is_paused; i++)
        epoll_ctl(listener->epoll, EPOLL_CTL_DEL, listener->doors[i], NULL);
    listener->is_paused = 1;
}

void banyan_listener_progress(banyan_listener *listener)
{
    struct epoll_event events[BANYAN_LISTENER_VISITORS + BANYAN_INTERFACES];
    int count = epoll_wait(listener->epoll, events, BANYAN_LISTENER_VISITORS + BANYAN_INTERFACES, 0);
    int64_t now_ns = banyan_clock_ns();

    for (int i = 0; i < count; i++)
        if (events[i].data.u64 >= BANYAN_LISTENER_VISITORS)
            open_door(listener, (int)(events[i].data.u64 - BANYAN_LISTENER_VISITORS));
        else if (listener->visitors[events[i].data.u64].fd >= 0)
            attend(listener, &listener->visitors[events[i].data.u64]);
    for (int i = 0; i < BANYAN_LISTENER_VISITORS; i++)
        if (listener->visitors[i].fd >= 0 && listener->visitors[i].deadline_ns <= now_ns)
            close(release(listener, &listener->visitors[i]));
}

int64_t banyan_listener_deadline_ns(const banyan_listener *listener)
{
    int64_t first = INT64_MAX;

    for (int i = 0; i < BANYAN_LISTENER_VISITORS; i++)
        if (listener->visitors[i].fd >= 0 && listener->visitors[i].deadline_ns < first)
            first = listener->visitors[i].deadline_ns;
    return first;
}

static banyan_status shake(int fd, const banyan_address *to, const banyan_secret *secret,
                           const banyan_hello *hello, const char *other, int64_t deadline_ns,
                           banyan_error *err)
{
    banyan_handshake handshake;
    banyan_status status = BANYAN_TIMEOUT;

    if (banyan_socket_wait(fd, POLLOUT, deadline_ns))
        status = banyan_socket_connected(fd, to, err);
    if (!status)
        status = banyan_handshake_connect(&handshake, secret, hello, err);
    if (!status) {
        banyan_socket_tune(fd, 0);
        while ((status = banyan_handshake_step(&handshake, fd, other, err)) == BANYAN_IN_PROGRESS)
            if (!banyan_socket_wait(fd, banyan_handshake_wants_write(&handshake) ? POLLOUT : POLLIN,
                                    deadline_ns)) {
                status = BANYAN_TIMEOUT;
                break;
            }
        banyan_auth_forget(&handshake, sizeof handshake);
    }
    if (status == BANYAN_TIMEOUT)
        return banyan_fail(err, BANYAN_TIMEOUT, "%s does not answer", other);
    return status;
}

banyan_status banyan_dial_once(const banyan_address *to, const banyan_secret *secret,
                               const banyan_hello *hello, const char *other, int64_t deadline_ns, int *out,
                               banyan_error *err)
{
    banyan_status status;
    int fd;

    *out = -1;
    status = banyan_socket_connect(to, NULL, &fd, err);
    if (status)
        return status;
    status = shake(fd, to, secret, hello, other, deadline_ns, err);
    if (status)
        close(fd);
    else
        *out = fd;
    return status;
}

/* A refused connection only means that the other is not there yet: it is tried again until the deadline. */
banyan_status banyan_dial(const banyan_address *to, const banyan_secret *secret, const banyan_hello *hello,
                          const char *other, int64_t deadline_ns, int *out, banyan_error *err)
{
    struct timespec pause = {.tv_nsec = RETRY_NS};
    banyan_status status;
    banyan_error why = {""};

    for (;;) {
        status = banyan_dial_once(to, secret, hello, other, deadline_ns, out, &why);
        if (status != BANYAN_SYSTEM_ERROR || banyan_clock_ns() + RETRY_NS >= deadline_ns)
            break;
        nanosleep(&pause, NULL);
    }
    if (!status)
        return BANYAN_SUCCESS;
    if (status == BANYAN_SYSTEM_ERROR)
        return banyan_fail(err, BANYAN_TIMEOUT, "%s is not there: %s", other, why.text);
    return banyan_fail(err, status, "%s", why.text);
}
