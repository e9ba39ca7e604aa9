/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_watcher.c: the process that cleans up when the launcher is killed.
 *
 *     launcher ── pids ──> watcher          the pipe ends with the launcher, however it dies:
 *        │                    │             then the watcher kills the groups of all pids that it was told.
 *        └── ranks <── kill ──┘             A zero says that all is well and there is nothing to do.
 *
 * It stands in a session of its own and ignores what a terminal sends. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_job.h"

/* A pid comes; minus a pid goes: it has ended, and its number may be somebody else's soon. */
static int update(pid_t *pids, int count, pid_t pid)
{
    if (pid > 0 && count < RUN_MAX_RANKS)
        pids[count++] = pid;
    for (int i = 0; pid < 0 && i < count; i++)
        if (pids[i] == -pid)
            pids[i] = pids[--count];
    return count;
}

static void watch(int fd)
{
    pid_t pids[RUN_MAX_RANKS], pid;
    int count = 0, null = open("/dev/null", O_RDWR);

    setsid();
    for (int i = 1; i < NSIG; i++)
        if (i != SIGKILL && i != SIGSTOP && i != SIGCHLD)
            signal(i, SIG_IGN);
    for (int i = 0; i < 3; i++)
        dup2(null, i);
    dup2(fd, 3);
    syscall(SYS_close_range, 4, ~0u, 0);
    while (read(3, &pid, sizeof pid) == (ssize_t)sizeof pid) {
        if (!pid)
            _exit(0);
        count = update(pids, count, pid);
    }
    for (int i = 0; i < count; i++)
        kill(-pids[i], SIGKILL);
    _exit(0);
}

banyan_status run_watcher_start(run_watcher *out, banyan_error *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC))
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "a pipe cannot be made: %s", strerror(errno));
    out->pid = fork();
    if (!out->pid) {
        close(ends[1]);
        watch(ends[0]);
    }
    close(ends[0]);
    out->fd = ends[1];
    if (out->pid < 0) {
        close(ends[1]);
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "no process can be started: %s", strerror(errno));
    }
    return BANYAN_SUCCESS;
}

static void tell(const run_watcher *watcher, pid_t word)
{
    (void)!write(watcher->fd, &word, sizeof word);
}

void run_watcher_add(const run_watcher *watcher, pid_t pid)
{
    tell(watcher, pid);
}

void run_watcher_remove(const run_watcher *watcher, pid_t pid)
{
    tell(watcher, -pid);
}

void run_watcher_end(run_watcher *watcher)
{
    tell(watcher, 0);
    close(watcher->fd);
    waitpid(watcher->pid, NULL, 0);
}
