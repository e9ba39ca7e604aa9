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
} forwarder_accepted;

static inline void *forwarder_join(void *argument)
{
    forwarder_accepted *accepted = argument;
    int other = forwarder_dial(accepted->f);
    forwarder_way there = {accepted->f, accepted->treatment, accepted->fd, other};
    forwarder_way back = {accepted->f, accepted->treatment, other, accepted->fd};
    pthread_t thread;

    if (other >= 0) {
        *(accepted->treatment.is_back ? &there : &back) =
            accepted->treatment.is_back ? (forwarder_way){accepted->f, {FORWARD, 0, 0}, accepted->fd, other}
                                        : (forwarder_way){accepted->f, {FORWARD, 0, 0}, other, accepted->fd};
        if (!pthread_create(&thread, NULL, forwarder_carry, &back)) {
            forwarder_carry(&there);
            pthread_join(thread, NULL);
        }
        close(other);
    }
    close(accepted->fd);
    free(accepted);
    return NULL;
}

static inline void forwarder_serve(forwarder *f, int listener)
{
    alarm(JOB_SECONDS + 5);
    for (;;) {
        forwarder_accepted *accepted = malloc(sizeof *accepted);
        pthread_t thread;
        int number;

        *accepted = (forwarder_accepted){.f = f, .fd = accept(listener, NULL, NULL)};
        number = atomic_fetch_add(&f->connections, 1);
        if (f->treatment_count)
            accepted->treatment =
                f->treatments[number < f->treatment_count ? number : f->treatment_count - 1];
        if (accepted->fd >= 0 && !pthread_create(&thread, NULL, forwarder_join, accepted))
            pthread_detach(thread);
    }
}

/* The process; end it with forwarder_stop. Its treatments are given before, and its target port at any
 * time. */
static inline pid_t forwarder_start(forwarder *f)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pid_t process;

    assert_true(!bind(listener, (struct sockaddr *)&at, sizeof at) && !listen(listener, 4096) &&
                !getsockname(listener, (struct sockaddr *)&at, &length));
    f->port = ntohs(at.sin_port);
    fflush(NULL);
    process = fork();
    assert_true(process >= 0);
    if (!process)
        forwarder_serve(f, listener);
    close(listener);
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
