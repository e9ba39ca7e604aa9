/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/forwarder.h: a bad network in front of a port of this machine: a process that forwards
 * connections to it, late, cut short, silently swallowed or damaged, each as a list says; those beyond the
 * list are treated like the last entry. */
#ifndef BANYAN_TESTS_FORWARDER_H
#define BANYAN_TESTS_FORWARDER_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "multi/jobs.h"

enum { MOST_TREATMENTS = 64 };

typedef enum { FORWARD, CUT, SWALLOW, DAMAGE } treatment_kind;

/* What happens at a byte of the way to the port, or back. */
typedef struct {
    treatment_kind kind;
    int is_back;
    int at;
} treatment;

typedef struct {
    int port;
    int delay_ms; /* of whatever was received at once, each way */
    _Atomic int target_port;
    _Atomic int connections;
    int treatment_count;
    treatment treatments[MOST_TREATMENTS];
} forwarder;

typedef struct {
    const forwarder *f;
    treatment treatment; /* of this direction */
    int from, to;
} forwarder_way;

static inline void forwarder_reset(int fd)
{
    struct linger now = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    shutdown(fd, SHUT_RDWR);
}

static inline void *forwarder_carry(void *argument)
{
    forwarder_way *way = argument;
    treatment t = way->treatment;
    char bytes[4096];
    long passed = 0;
    ssize_t count;

    while ((count = recv(way->from, bytes, sizeof bytes, 0)) > 0) {
        ssize_t kept = t.kind == CUT || t.kind == SWALLOW ? t.at - passed : count;

        usleep((useconds_t)way->f->delay_ms * 1000);
        kept = kept < 0 ? 0 : kept < count ? kept : count;
        if (t.kind == DAMAGE && t.at >= passed && t.at < passed + count)
            bytes[t.at - passed] ^= 0x10;
        if (kept && send(way->to, bytes, (size_t)kept, MSG_NOSIGNAL) < 0)
            break;
        passed += count;
        if (t.kind == CUT && passed > t.at)
            break;
    }
    if (t.kind == CUT && passed > t.at) {
        forwarder_reset(way->from);
        forwarder_reset(way->to);
    } else if (t.kind != SWALLOW || passed <= t.at) {
        shutdown(way->to, SHUT_WR);
    }
    return NULL;
}

static inline int forwarder_dial(const forwarder *f)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atomic_load(&f->target_port)),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (struct sockaddr *)&to, sizeof to)) {
        close(fd);
        return -1;
    }
    return fd;
}

typedef struct {
    forwarder *f;
    int fd;
    treatment treatment;
} forwarder_guest;

static inline void *forwarder_join(void *argument)
{
    forwarder_guest *guest = argument;
    int other = forwarder_dial(guest->f);
    forwarder_way there = {guest->f, guest->treatment, guest->fd, other};
    forwarder_way back = {guest->f, guest->treatment, other, guest->fd};
    pthread_t thread;

    if (other >= 0) {
        *(guest->treatment.is_back ? &there : &back) =
            guest->treatment.is_back ? (forwarder_way){guest->f, {FORWARD, 0, 0}, guest->fd, other}
                                     : (forwarder_way){guest->f, {FORWARD, 0, 0}, other, guest->fd};
        if (!pthread_create(&thread, NULL, forwarder_carry, &back)) {
            forwarder_carry(&there);
            pthread_join(thread, NULL);
        }
        close(other);
    }
    close(guest->fd);
    free(guest);
    return NULL;
}

static inline void forwarder_serve(forwarder *f, int door)
{
    alarm(JOB_SECONDS + 5);
    for (;;) {
        forwarder_guest *guest = malloc(sizeof *guest);
        pthread_t thread;
        int number;

        *guest = (forwarder_guest){.f = f, .fd = accept(door, NULL, NULL)};
        number = atomic_fetch_add(&f->connections, 1);
        if (f->treatment_count)
            guest->treatment = f->treatments[number < f->treatment_count ? number : f->treatment_count - 1];
        if (guest->fd >= 0 && !pthread_create(&thread, NULL, forwarder_join, guest))
            pthread_detach(thread);
    }
}

/* The process; end it with forwarder_stop. Its treatments are given before, and its target port at any
 * time. */
static inline pid_t forwarder_start(forwarder *f)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pid_t process;

    assert_true(!bind(door, (struct sockaddr *)&at, sizeof at) && !listen(door, 4096) &&
                !getsockname(door, (struct sockaddr *)&at, &length));
    f->port = ntohs(at.sin_port);
    fflush(NULL);
    process = fork();
    assert_true(process >= 0);
    if (!process)
        forwarder_serve(f, door);
    close(door);
    return process;
}

static inline void forwarder_stop(forwarder *f, pid_t process)
{
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    munmap(f, sizeof *f);
}

static inline forwarder *forwarder_create(void)
{
    forwarder *f = mmap(NULL, sizeof *f, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(f != MAP_FAILED);
    return f;
}

static inline void forwarder_add(forwarder *f, treatment_kind kind, int is_back, int at)
{
    assert_true(f->treatment_count < MOST_TREATMENTS);
    f->treatments[f->treatment_count++] = (treatment){kind, is_back, at};
}

#endif
