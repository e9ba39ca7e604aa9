/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/processes.h: members as forked processes, with an exchange over socket pairs that the parent
 * serves. Every child has a limited time; the parent collects how each ended. A child must not use cmocka's
 * assertions, which would go on in the parent's test: REQUIRE prints and exits. */
#ifndef BANYAN_MULTI_PROCESSES_H
#define BANYAN_MULTI_PROCESSES_H

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "transport/transport.h"

enum { MOST_PROCESSES = 64, FAILED_REQUIREMENT = 99 };

#define REQUIRE(claim, ...)                                                                                  \
    do {                                                                                                     \
        if (!(claim)) {                                                                                      \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #claim);                                      \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fputc('\n', stderr);                                                                             \
            _exit(FAILED_REQUIREMENT);                                                                       \
        }                                                                                                    \
    } while (0)

typedef struct processes processes;

/* One child. */
typedef struct {
    const processes *all;
    int member;
    int fd; /* to the parent */
} child;

struct processes {
    int member_count;
    const char *is_present; /* by member; NULL: all are */
    void (*body)(child *self, void *argument);
    void *argument;
    int seconds; /* a child that takes longer is killed */
    int staying; /* a member, plus 1, that is killed when all others have ended; 0: none */
    pid_t pids[MOST_PROCESSES];
    int ends[MOST_PROCESSES]; /* wait status of each */
};

static inline int is_present(const processes *p, int member)
{
    return !p->is_present || p->is_present[member];
}

static inline int read_all(int fd, void *into, size_t bytes)
{
    for (char *at = into; bytes;) {
        ssize_t got = read(fd, at, bytes);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        at += got;
        bytes -= (size_t)got;
    }
    return 1;
}

static inline int write_all(int fd, const void *from, size_t bytes)
{
    return send(fd, from, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

/* The exchange of a child: its context is the child. */
static inline banyan_status child_allgather(void *context, const void *mine, size_t bytes, void *all,
                                            int64_t deadline_ns, banyan_error *err)
{
    const child *self = context;
    uint64_t size = bytes;

    (void)deadline_ns; /* the parent kills whoever takes too long */
    if (!write_all(self->fd, &size, sizeof size) || !write_all(self->fd, mine, bytes) ||
        !read_all(self->fd, all, bytes * (size_t)self->all->member_count))
        return banyan_fail(err, BANYAN_PEER_LOST, "the exchange has ended");
    return BANYAN_SUCCESS;
}

/* Waits until one that has not spoken yet does. -1: nobody is left to speak. */
static inline int next_speaker(const processes *p, const int *fds, const char *has_spoken)
{
    struct pollfd looks[MOST_PROCESSES];
    int waiting = 0;

    for (int i = 0; i < p->member_count; i++) {
        looks[i] = (struct pollfd){.fd = is_present(p, i) && !has_spoken[i] ? fds[i] : -1, .events = POLLIN};
        waiting += looks[i].fd >= 0;
    }
    if (!waiting || poll(looks, (nfds_t)p->member_count, p->seconds * 1000) <= 0)
        return -1;
    for (int i = 0; i < p->member_count; i++)
        if (looks[i].revents)
            return i;
    return -1;
}

/* One round: a blob from each, all blobs to each. 0 when somebody has left. */
static inline int serve_round(const processes *p, const int *fds)
{
    char has_spoken[MOST_PROCESSES] = "", *all = NULL;
    uint64_t bytes = 0;
    int well = 1, speaker;

    while (well && (speaker = next_speaker(p, fds, has_spoken)) >= 0) {
        has_spoken[speaker] = 1;
        well = read_all(fds[speaker], &bytes, sizeof bytes);
        if (well && !all)
            all = calloc((size_t)p->member_count, bytes);
        well = well && read_all(fds[speaker], all + (size_t)speaker * bytes, bytes);
    }
    for (int i = 0; i < p->member_count && well; i++)
        well =
            !is_present(p, i) || (has_spoken[i] && write_all(fds[i], all, bytes * (size_t)p->member_count));
    free(all);
    return well;
}

static inline void start_child(processes *p, int member, int fds[][2])
{
    child self = {p, member, fds[member][1]};

    fflush(NULL);
    p->pids[member] = fork();
    if (p->pids[member])
        return;
    for (int i = 0; i < p->member_count; i++)
        if (is_present(p, i)) {
            close(fds[i][0]);
            if (i != member)
                close(fds[i][1]);
        }
    p->body(&self, p->argument);
    exit(0);
}

static inline void collect(processes *p)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)p->seconds * 1000000000;

    for (int i = 0; i < p->member_count; i++) {
        if (!is_present(p, i) || i == p->staying - 1)
            continue;
        while (waitpid(p->pids[i], &p->ends[i], WNOHANG) == 0) {
            if (banyan_clock_ns() > deadline_ns) {
                fprintf(stderr, "member %d takes longer than %d s\n", i, p->seconds);
                kill(p->pids[i], SIGKILL);
                waitpid(p->pids[i], &p->ends[i], 0);
                break;
            }
            usleep(1000);
        }
    }
    if (p->staying) {
        kill(p->pids[p->staying - 1], SIGKILL);
        waitpid(p->pids[p->staying - 1], &p->ends[p->staying - 1], 0);
    }
}

/* Starts all, serves their exchanges, and returns when all have ended. */
static inline void run_processes(processes *p)
{
    int fds[MOST_PROCESSES][2], parents[MOST_PROCESSES];

    for (int i = 0; i < p->member_count; i++)
        if (is_present(p, i))
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds[i]), 0);
    for (int i = 0; i < p->member_count; i++)
        if (is_present(p, i))
            start_child(p, i, fds);
    for (int i = 0; i < p->member_count; i++)
        if (is_present(p, i)) {
            close(fds[i][1]);
            parents[i] = fds[i][0];
        }
    while (serve_round(p, parents))
        ;
    for (int i = 0; i < p->member_count; i++)
        if (is_present(p, i))
            close(parents[i]);
    collect(p);
}

static inline void check_all_ended_well(const processes *p, const char *what)
{
    for (int i = 0; i < p->member_count; i++)
        if (is_present(p, i) && p->ends[i])
            fail_msg("%s: member %d ended with wait status %d", what, i, p->ends[i]);
}

static inline int count_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    int count = 0;

    if (!dir)
        return 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* Names of ours among the shared memory of this machine, where others (MPI programs) come and go
 * meanwhile. */
static inline int count_shared(void)
{
    DIR *dir = opendir("/dev/shm");
    int count = 0;

    if (!dir)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strstr(entry->d_name, "banyan") != NULL;
    closedir(dir);
    return count;
}

#endif
