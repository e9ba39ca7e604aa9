/* SPDX-License-Identifier: Apache-2.0 */
/* transport/listener.c: an epoll set of its own for the listening sockets and for connections that wait, so
 * that whoever owns the listener watches one descriptor. */
#include "transport/listener.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"

enum { MAX_EVENTS = BANYAN_LISTENER_UNPROVEN + BANYAN_INTERFACES };

typedef struct {
    int fd; /* -1: free */
    banyan_address from;
    int64_t since_ns;
    banyan_handshake handshake;
} visitor;

struct banyan_listener {
    int socket_count, epoll;
    int sockets[BANYAN_INTERFACES]; /* sockets that listen */
    banyan_address addresses[BANYAN_INTERFACES];
    banyan_secret secret;
    banyan_listener_handler handler;
    int64_t timeout_ns;
    int most_visitors, visitor_count;
    int is_paused; /* the sockets are not watched until a connection leaves, or until: */
    int64_t paused_until_ns;
    _Atomic int wrong_secret_count, unproven_count, shortage_count, shortage;
    _Atomic int idle_count; /* that have had their tenure and proven nothing */
    visitor visitors[BANYAN_LISTENER_UNPROVEN];
};

static int watch(int epoll, int operation, int fd, uint32_t events, uint64_t key)
{
    struct epoll_event event = {.events = events, .data = {.u64 = key}};

    return epoll_ctl(epoll, operation, fd, &event) == 0;
}

/* Doors come after the visitors in the epoll set. */
static int watch_socket(banyan_listener *listener, int index)
{
    return watch(listener->epoll, EPOLL_CTL_ADD, listener->sockets[index], EPOLLIN,
                 (uint64_t)(BANYAN_LISTENER_UNPROVEN + index));
}

banyan_status banyan_listener_add(banyan_listener *listener, const banyan_address *address, int low_port,
                                  int high_port, banyan_error *err)
{
    int index = listener->socket_count;
    banyan_status status;

    assert(index < BANYAN_INTERFACES);
    status = banyan_socket_listen(address, low_port, high_port, &listener->sockets[index],
                                  &listener->addresses[index], err);
    if (status)
        return status;
    listener->socket_count++;
    return watch_socket(listener, index)
               ? BANYAN_SUCCESS
               : banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot watch a socket: %s", strerror(errno));
}

banyan_status banyan_listener_create(const banyan_address *address, int low_port, int high_port,
                                     const banyan_secret *secret, int timeout_ms,
                                     const banyan_listener_handler *handler, banyan_listener **out,
                                     banyan_error *err)
{
    banyan_listener *listener = banyan_alloc(1, sizeof *listener);
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (!listener)
        return banyan_fail_memory(err);
    listener->epoll = epoll_create1(EPOLL_CLOEXEC);
    listener->secret = *secret;
    listener->handler = *handler;
    listener->most_visitors = BANYAN_LISTENER_UNPROVEN;
    banyan_listener_set_timeout(listener, timeout_ms);
    for (int i = 0; i < BANYAN_LISTENER_UNPROVEN; i++)
        listener->visitors[i].fd = -1;
    if (listener->epoll < 0)
        status = banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot watch sockets: %s%s", strerror(errno),
                             banyan_socket_advice(errno));
    if (!status)
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
    for (int i = 0; i < BANYAN_LISTENER_UNPROVEN; i++)
        if (listener->visitors[i].fd >= 0)
            close(listener->visitors[i].fd);
    for (int i = 0; i < listener->socket_count; i++)
        close(listener->sockets[i]);
    if (listener->epoll >= 0)
        close(listener->epoll);
    banyan_auth_forget(listener, sizeof *listener);
    banyan_free(listener);
}

void banyan_listener_set_secret(banyan_listener *listener, const banyan_secret *secret)
{
    listener->secret = *secret;
}

void banyan_listener_set_timeout(banyan_listener *listener, int timeout_ms)
{
    listener->timeout_ns = (int64_t)timeout_ms * 1000000;
}

void banyan_listener_set_unproven(banyan_listener *listener, int most)
{
    listener->most_visitors = most < 1                          ? 1
                              : most < BANYAN_LISTENER_UNPROVEN ? most
                                                                : BANYAN_LISTENER_UNPROVEN;
}

const banyan_address *banyan_listener_address(const banyan_listener *listener)
{
    return &listener->addresses[0];
}

const banyan_address *banyan_listener_address_of(const banyan_listener *listener, int index)
{
    return index < listener->socket_count ? &listener->addresses[index] : NULL;
}

int banyan_listener_descriptor(const banyan_listener *listener)
{
    return listener ? listener->epoll : -1;
}

const char *banyan_listener_describe_strangers(const banyan_listener *listener,
                                               char buffer[BANYAN_STRANGERS_TEXT])
{
    int wrong = atomic_load(&listener->wrong_secret_count), unproven = atomic_load(&listener->unproven_count);
    int shortages = atomic_load(&listener->shortage_count), error = atomic_load(&listener->shortage);
    int idle = atomic_load(&listener->idle_count);
    size_t used = 0;

    buffer[0] = '\0';
    if (wrong)
        used += (size_t)snprintf(buffer, BANYAN_STRANGERS_TEXT, "; %d connection%s came with another secret",
                                 wrong, wrong > 1 ? "s" : "");
    if (unproven)
        used += (size_t)snprintf(buffer + used, BANYAN_STRANGERS_TEXT - used,
                                 "; %d connection%s proved nothing and %s turned away", unproven,
                                 unproven > 1 ? "s" : "", unproven > 1 ? "were" : "was");
    if (idle)
        used += (size_t)snprintf(buffer + used, BANYAN_STRANGERS_TEXT - used,
                                 "; %d connection%s open that %s proven nothing", idle,
                                 idle > 1 ? "s are" : " is", idle > 1 ? "have" : "has");
    if (shortages)
        snprintf(buffer + used, BANYAN_STRANGERS_TEXT - used, "; connections could not be accepted: %s%s",
                 strerror(error), banyan_socket_advice(error));
    return buffer;
}

static void pause_accepting(banyan_listener *listener, int64_t until_ns)
{
    for (int i = 0; i < listener->socket_count && !listener->is_paused; i++)
        epoll_ctl(listener->epoll, EPOLL_CTL_DEL, listener->sockets[i], NULL);
    listener->is_paused = 1;
    listener->paused_until_ns = until_ns;
}

static void resume_accepting(banyan_listener *listener)
{
    for (int i = 0; i < listener->socket_count && listener->is_paused; i++)
        watch_socket(listener, i);
    listener->is_paused = 0;
}

/* The socket leaves the listener: closed, or handed on. */
static int release(banyan_listener *listener, visitor *v)
{
    int fd = v->fd;

    epoll_ctl(listener->epoll, EPOLL_CTL_DEL, fd, NULL);
    banyan_auth_forget(&v->handshake, sizeof v->handshake);
    v->fd = -1;
    listener->visitor_count--;
    resume_accepting(listener);
    return fd;
}

/* Who has proven the secret and goes all the same is no stranger. */
static void turn_away(banyan_listener *listener, visitor *v)
{
    if (!banyan_handshake_is_proven(&v->handshake))
        atomic_fetch_add(&listener->unproven_count, 1);
    close(release(listener, v));
}

static void give_verdict(banyan_listener *listener, visitor *v)
{
    const banyan_hello *hello = &v->handshake.hello;

    banyan_handshake_give_verdict(&v->handshake,
                                  hello->protocol != BANYAN_PROTOCOL
                                      ? BANYAN_VERSION_MISMATCH
                                      : listener->handler.ask(listener->handler.context, hello));
}

/* What was welcome when it said hello may not be so any more: another connection says the same and was
 * faster. */
static void hand_on(banyan_listener *listener, visitor *v)
{
    banyan_hello hello = v->handshake.hello;
    int is_welcome =
        hello.protocol == BANYAN_PROTOCOL && !listener->handler.ask(listener->handler.context, &hello);
    int fd = release(listener, v);

    if (is_welcome)
        listener->handler.take(listener->handler.context, &hello, fd);
    else
        close(fd);
}

static void attend(banyan_listener *listener, visitor *v)
{
    banyan_status status = banyan_handshake_step(&v->handshake, v->fd, "a visitor", NULL);

    if (!status && banyan_handshake_awaits_verdict(&v->handshake)) {
        give_verdict(listener, v);
        status = banyan_handshake_step(&v->handshake, v->fd, "a visitor", NULL);
    }
    if (status == BANYAN_IN_PROGRESS) {
        uint32_t events = banyan_handshake_wants_write(&v->handshake) ? EPOLLIN | EPOLLOUT : EPOLLIN;

        watch(listener->epoll, EPOLL_CTL_MOD, v->fd, events, (uint64_t)(v - listener->visitors));
    } else if (status == BANYAN_MISMATCH) {
        atomic_fetch_add(&listener->wrong_secret_count, 1);
        close(release(listener, v));
    } else if (status) {
        turn_away(listener, v);
    } else {
        hand_on(listener, v);
    }
}

static void admit(banyan_listener *listener, int fd, const banyan_address *from)
{
    visitor *v = listener->visitors;

    while (v->fd >= 0)
        v++;
    v->fd = fd;
    v->from = *from;
    v->since_ns = banyan_clock_ns();
    listener->visitor_count++;
    banyan_socket_tune(fd, 0);
    if (banyan_handshake_accept(&v->handshake, &listener->secret, NULL) ||
        !watch(listener->epoll, EPOLL_CTL_ADD, fd, EPOLLIN, (uint64_t)(v - listener->visitors)))
        close(release(listener, v));
    else
        attend(listener, v);
}

static int64_t tenure_ns(const banyan_listener *listener)
{
    return listener->timeout_ns * listener->most_visitors / (2 * BANYAN_SOCKET_BACKLOG);
}

static int is_from(const visitor *v, const banyan_address *address)
{
    return v->fd >= 0 && v->from.family == address->family &&
           !memcmp(v->from.bytes, address->bytes, sizeof address->bytes);
}

static int count_from(const banyan_listener *listener, const banyan_address *address)
{
    int count = 0;

    for (int i = 0; i < BANYAN_LISTENER_UNPROVEN; i++)
        count += is_from(&listener->visitors[i], address);
    return count;
}

/* Closes the oldest of those who have had their tenure, from the address that has most connections here. 0:
 * there is none. */
static int make_room(banyan_listener *listener)
{
    int64_t before_ns = banyan_clock_ns() - tenure_ns(listener);
    visitor *victim = NULL;
    int most = 0;

    for (int i = 0; i < BANYAN_LISTENER_UNPROVEN; i++) {
        visitor *v = &listener->visitors[i];
        int count;

        if (v->fd < 0 || v->since_ns > before_ns || banyan_handshake_is_proven(&v->handshake))
            continue;
        count = victim && is_from(v, &victim->from) ? most : count_from(listener, &v->from);
        if (!victim || count > most || (count == most && v->since_ns < victim->since_ns)) {
            victim = v;
            most = count;
        }
    }
    if (victim)
        turn_away(listener, victim);
    return victim != NULL;
}

/* The others wait in the kernel's queue. */
static int has_room(banyan_listener *listener, int index)
{
    if (listener->visitor_count < listener->most_visitors)
        return 1;
    return banyan_socket_wait(listener->sockets[index], POLLIN, 0) && make_room(listener);
}

static void note_shortage(banyan_listener *listener, int error)
{
    atomic_store(&listener->shortage, error);
    atomic_fetch_add(&listener->shortage_count, 1);
}

static int is_full(const banyan_listener *listener)
{
    return listener->handler.is_full && listener->handler.is_full(listener->handler.context);
}

/* As many as there may be at once, and then the others have their turn. */
static void accept_all(banyan_listener *listener, int index)
{
    for (int i = 0; i < listener->most_visitors && !is_full(listener); i++) {
        banyan_address from;
        int fd;

        if (!has_room(listener, index)) {
            pause_accepting(listener, banyan_clock_ns() + tenure_ns(listener));
            return;
        }
        fd = banyan_socket_accept(listener->sockets[index], &from);
        if (fd >= 0) {
            admit(listener, fd, &from);
        } else if (banyan_socket_is_shortage(errno)) {
            note_shortage(listener, errno);
            if (!make_room(listener)) {
                pause_accepting(listener, banyan_clock_ns() + tenure_ns(listener));
                return;
            }
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return;
        }
    }
}

static void close_late(banyan_listener *listener, int64_t now_ns)
{
    int idle = 0;

    for (int i = 0; i < BANYAN_LISTENER_UNPROVEN && listener->visitor_count; i++) {
        visitor *v = &listener->visitors[i];

        if (v->fd >= 0 && now_ns - v->since_ns >= listener->timeout_ns)
            turn_away(listener, v);
        else if (v->fd >= 0 && now_ns - v->since_ns >= tenure_ns(listener))
            idle += !banyan_handshake_is_proven(&v->handshake);
    }
    atomic_store(&listener->idle_count, idle);
}

void banyan_listener_progress(banyan_listener *listener)
{
    struct epoll_event events[MAX_EVENTS];
    int count = epoll_wait(listener->epoll, events, MAX_EVENTS, 0);
    int64_t now_ns = banyan_clock_ns();

    for (int i = 0; i < count; i++)
        if (events[i].data.u64 < BANYAN_LISTENER_UNPROVEN && listener->visitors[events[i].data.u64].fd >= 0 &&
            !is_full(listener))
            attend(listener, &listener->visitors[events[i].data.u64]);
    close_late(listener, now_ns);
    for (int i = 0; i < count; i++)
        if (events[i].data.u64 >= BANYAN_LISTENER_UNPROVEN && !listener->is_paused)
            accept_all(listener, (int)(events[i].data.u64 - BANYAN_LISTENER_UNPROVEN));
    if (listener->is_paused && now_ns >= listener->paused_until_ns)
        resume_accepting(listener);
}

int64_t banyan_listener_deadline_ns(const banyan_listener *listener)
{
    int64_t first = listener->is_paused ? listener->paused_until_ns : INT64_MAX;

    for (int i = 0; i < BANYAN_LISTENER_UNPROVEN && listener->visitor_count; i++)
        if (listener->visitors[i].fd >= 0 && listener->visitors[i].since_ns + listener->timeout_ns < first)
            first = listener->visitors[i].since_ns + listener->timeout_ns;
    return first;
}
