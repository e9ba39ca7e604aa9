/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench_processes.c: joins what a launcher has started, or forks ranks on this machine. */
#include "bench_processes.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/launch.h"
#include "bootstrap/pmix.h"
#include "cli.h"
#include "core/alloc.h"

static const char *look_up(void *context, const char *name)
{
    (void)context;
    return banyan_environment(name);
}

int bench_is_launched(int *rank, int *size)
{
    banyan_settings *settings = NULL;
    banyan_launch launch = {0};
    int is_launched = 0;

    if (banyan_settings_load(&settings, NULL))
        return 0;
    /* Where its ranks meet may be missing: joining then says so. */
    is_launched =
        !banyan_launch_detect(settings, look_up, NULL, &launch, NULL) || (launch.launcher && launch.size > 0);
    if (is_launched && !launch.size)
        is_launched = !banyan_pmix_count(
            &launch.size, (int)banyan_settings_integer(settings, BANYAN_SETTING_TIMEOUT_MS), NULL);
    banyan_settings_destroy(settings);
    *rank = launch.rank;
    *size = launch.size;
    return is_launched;
}

static int code_of(int how, int rank)
{
    if (!WIFSIGNALED(how))
        return WEXITSTATUS(how);
    if (WTERMSIG(how) == SIGPIPE) /* nobody reads the results any more: no fault, so nothing is said */
        return 128 + SIGPIPE;
    fprintf(stderr, "banyan: rank %d was ended by signal %d\n", rank, WTERMSIG(how));
    return CLI_FAILED;
}

/* The first code that is not 0 counts; time-outs and losses of the others follow from it. */
static int wait_for_all(const pid_t *processes, int count)
{
    int code = CLI_OK, how;

    for (int i = 0; i < count; i++)
        if (waitpid(processes[i], &how, 0) == processes[i]) {
            int one = code_of(how, i);

            code = code == CLI_OK ? one : code;
        }
    return code;
}

/* What the ranks share until they have met. */
typedef struct {
    _Atomic int state; /* 0: not yet, 1: the id is there, 2: it cannot be had */
    banyan_unique_id id;
} notice;

/* Rank 0 serves the meeting from a thread of its own: it must not be there before the fork. If it dies before
 * it has said where, the others give up after half a minute. */
static int share_id(notice *shared, int rank, banyan_unique_id *out)
{
    struct timespec pause = {.tv_nsec = 500000};

    if (rank == 0)
        atomic_store(&shared->state, banyan_get_unique_id(&shared->id) ? 2 : 1);
    for (int i = 0; i < 60000 && !atomic_load(&shared->state) && getppid() != 1; i++)
        nanosleep(&pause, NULL);
    *out = shared->id;
    return atomic_load(&shared->state) == 1;
}

/* In a rank: gets ready to meet the others. */
static void become_rank(notice *shared, int rank, pid_t parent, const char *transport, banyan_unique_id *id)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(CLI_FAILED);
    setenv("BANYAN_TRANSPORT", transport, 1);
    setenv("BANYAN_SOCKET_IFNAME", "lo", 0);
    if (share_id(shared, rank, id))
        return;
    if (rank == 0)
        fprintf(
            stderr,
            "banyan: no place where ranks meet can be opened: is the interface up that BANYAN_SOCKET_IFNAME "
            "names (lo, if nothing else is set)?\n");
    else if (!atomic_load(&shared->state))
        fprintf(stderr, "banyan: rank %d: rank 0 did not say within 30 s where ranks meet\n", rank);
    _exit(CLI_ENVIRONMENT);
}

int bench_fork(int ranks, const char *transport, int *rank, banyan_unique_id *id)
{
    pid_t *processes = banyan_alloc((size_t)ranks, sizeof *processes), parent = getpid();
    notice *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int made = 0, code;

    if (!processes || shared == MAP_FAILED) {
        fprintf(stderr, "banyan: there is no memory\n");
        banyan_free(processes);
        return CLI_ENVIRONMENT;
    }
    fflush(NULL);
    for (; made < ranks; made++) {
        processes[made] = fork();
        if (processes[made] < 0) {
            fprintf(stderr, "banyan: process %d of %d cannot be started: %s\n", made, ranks, strerror(errno));
            break;
        }
        if (!processes[made]) {
            banyan_free(processes);
            become_rank(shared, made, parent, transport, id);
            *rank = made;
            return -1;
        }
    }
    for (int i = 0; i < made && made < ranks; i++)
        kill(processes[i], SIGTERM);
    code = wait_for_all(processes, made);
    munmap(shared, sizeof *shared);
    banyan_free(processes);
    return made < ranks ? CLI_ENVIRONMENT : code;
}
