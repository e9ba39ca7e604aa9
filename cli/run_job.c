/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_job.c: one loop over signals, output and time.
 *
 * Every rank leads a process group, so that what it started ends with it. The first rank that fails decides
 * the exit code; the others are asked to end (SIGTERM), and two seconds later they are made to. Signals that
 * the launcher gets go to all ranks. Should the launcher itself be killed, its ranks die with it: the kernel
 * kills them (PR_SET_PDEATHSIG), and the watcher what they have started (cli/run_watcher.c). */
#include "run_job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/quorum.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/data.h"
#include "core/job.h"
#include "core/settings.h"
#include "core/text.h"
#include "nccl.h"

#define GRACE_S 2.0
#define DRAIN_MS 300 /* for output that outlives its rank */

enum { TIMED_OUT = 124, NOT_STARTED = 127, SIGNALLED = 128 };

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

typedef struct {
    const run_job *job;
    run_outcome *outcome;
    pid_t *pids;     /* by rank; 0: not running */
    run_pipe *pipes; /* two per rank, when output is tagged */
    int running, width;
    int spared;       /* ranks that have failed, which was allowed, */
    char *has_failed; /* and which those are */
    int signal_fd;
    sigset_t old_mask;
    run_watcher watcher;
    int is_ending;
    double deadline_s, kill_s; /* infinity: never */
} show;

static void say(const show *s, const char *sentence)
{
    if (!s->job->is_quiet)
        fprintf(stderr, "banyan run: %s\n", sentence);
}

static void signal_all(show *s, int signal)
{
    for (int i = 0; i < s->job->rank_count; i++)
        if (s->pids[i])
            kill(-s->pids[i], signal);
}

static void end_all(show *s)
{
    if (s->is_ending)
        return;
    s->is_ending = 1;
    signal_all(s, SIGTERM);
    signal_all(s, SIGCONT); /* what is stopped cannot end */
    s->kill_s = banyan_clock_s() + GRACE_S;
}

static void set_number(const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

static int host_of(const run_job *job, int rank)
{
    return job->tree ? job->tree->rank_hosts[rank] : 0;
}

/* Python finds the package that belongs to this launcher, after what the user has named. */
static void set_python_path(void)
{
    const char *named = banyan_environment("PYTHONPATH");
    char folder[BANYAN_DATA_PATH_SIZE];
    banyan_text path = BANYAN_TEXT_EMPTY;

    if (!banyan_data_find("python", "", folder))
        return;
    if (named && *named)
        banyan_text_add(&path, "%s:", named);
    banyan_text_add(&path, "%s", folder);
    if (!path.failed)
        setenv("PYTHONPATH", path.bytes, 1);
    banyan_text_fini(&path);
}

static void set_variable(void *context, const char *name, const char *value)
{
    (void)context;
    setenv(name, value, 0); /* the user's own word counts more */
}

/* torchrun's own variables, for programs that know nothing of Banyan. */
static void set_torch(const run_job *job, int rank, int local_rank, int local_count)
{
    set_number("RANK", rank);
    set_number("WORLD_SIZE", job->rank_count);
    set_number("LOCAL_RANK", local_rank);
    set_number("LOCAL_WORLD_SIZE", local_count);
    setenv("MASTER_ADDR", job->root_host, 1);
    set_number("MASTER_PORT", job->torch_port);
}

static void set_environment(const run_job *job, int rank)
{
    int before = 0, together = 0;

    for (int i = 0; i < job->rank_count; i++) {
        together += host_of(job, i) == host_of(job, rank);
        before += i < rank && host_of(job, i) == host_of(job, rank);
    }
    set_number(BANYAN_JOB_RANK, rank);
    set_number(BANYAN_JOB_SIZE, job->rank_count);
    set_number(BANYAN_JOB_LOCAL_RANK, before);
    set_number(BANYAN_JOB_LOCAL_SIZE, together);
    setenv(BANYAN_JOB_ROOT, job->root, 1);
    setenv(BANYAN_JOB_SECRET, job->secret, 1);
    set_python_path();
    if (job->spec) { /* the user's own word counts more */
        setenv(BANYAN_JOB_TOPO, job->spec, 0);
        setenv(BANYAN_JOB_IFNAME, RUN_NET_INTERFACE, 0);
    }
    set_torch(job, rank, before, together);
    if (job->uses_nccl)
        nccl_variables(0, set_variable, NULL, NULL);
}

/* Rank 0 gets our input, unless that is a terminal, from which a background group cannot read. */
static void set_input(int rank)
{
    int null;

    if (rank == 0 && !isatty(0))
        return;
    null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0)
        dup2(null, 0);
}

static void cannot_start(const run_job *job, int problem, banyan_error *out)
{
    snprintf(out->text, sizeof out->text, "cannot start %.80s: %s", job->command[0], strerror(problem));
}

/* The child; tells its parent through `trouble` why it cannot become the command. */
static void become_rank(const show *s, int rank, const int *output, int trouble, pid_t parent)
{
    banyan_error problem = {""};

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(NOT_STARTED);
    sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
    set_input(rank);
    if (output) {
        dup2(output[0], 1);
        dup2(output[1], 2);
    }
    set_environment(s->job, rank);
    if (!s->job->net || !run_net_enter(s->job->net, host_of(s->job, rank), &problem)) {
        signal(SIGXFSZ, SIG_DFL);
        execvp(s->job->command[0], s->job->command);
        cannot_start(s->job, errno, &problem);
    }
    (void)!write(trouble, &problem, sizeof problem);
    _exit(NOT_STARTED);
}

static void fail_start(show *s, int rank, const banyan_error *problem)
{
    char sentence[sizeof s->outcome->how + 20];

    if (s->outcome->failed_rank < 0) {
        s->outcome->failed_rank = rank;
        s->outcome->exit_code = NOT_STARTED;
        snprintf(s->outcome->how, sizeof s->outcome->how, "%s", problem->text);
        snprintf(sentence, sizeof sentence, "rank %d %s", rank, s->outcome->how);
        say(s, sentence);
    }
    end_all(s);
}

/* Pipes for a rank's output; 0: none could be made. */
static int make_pipes(show *s, int rank, int writing[2])
{
    for (int i = 0; i < 2; i++) {
        int ends[2];

        if (pipe2(ends, O_CLOEXEC)) {
            if (i)
                close(writing[0]);
            return 0;
        }
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        writing[i] = ends[1];
        s->pipes[2 * rank + i] = (run_pipe){.fd = ends[0], .to = i + 1, .rank = rank};
    }
    return 1;
}

static void start_rank(show *s, int rank)
{
    int writing[2], trouble[2];
    banyan_error problem = {""};
    pid_t parent = getpid(), pid;

    if (pipe2(trouble, O_CLOEXEC) || (s->pipes && !make_pipes(s, rank, writing))) {
        cannot_start(s->job, errno, &problem);
        fail_start(s, rank, &problem);
        return;
    }
    pid = fork();
    if (!pid)
        become_rank(s, rank, s->pipes ? writing : NULL, trouble[1], parent);
    if (pid < 0)
        cannot_start(s->job, errno, &problem);
    close(trouble[1]);
    for (int i = 0; s->pipes && i < 2; i++)
        close(writing[i]);
    if (pid > 0) {
        setpgid(pid, pid); /* whoever comes first; it must be so before we signal the group */
        s->pids[rank] = pid;
        s->running++;
        run_watcher_add(&s->watcher, pid);
        if (read(trouble[0], &problem, sizeof problem) != (ssize_t)sizeof problem)
            problem.text[0] = 0; /* it runs */
    }
    close(trouble[0]);
    if (problem.text[0])
        fail_start(s, rank, &problem);
}

static void tell_how(const siginfo_t *info, char *out, size_t bytes)
{
    if (info->si_code == CLD_EXITED)
        snprintf(out, bytes, "exited with code %d", info->si_status);
    else
        snprintf(out, bytes, "was ended by signal %d (%s)%s", info->si_status, strsignal(info->si_status),
                 info->si_code == CLD_DUMPED ? " and dumped core" : "");
}

/* Whether the others may go on without this rank, too: taken as the last of several losses, each of which the
 * program has shrunk its group after. Ranks that are lost together may be too many for the group even so;
 * that it says itself. Else why tells it, where it is not the number of spare ranks. */
static int can_spare(const show *s, int rank, char *why, size_t bytes)
{
    int before = s->job->rank_count - s->spared, lowest = 0;

    why[0] = 0;
    if (s->spared >= s->job->spare_count || before < 2)
        return 0;
    while (s->has_failed[lowest])
        lowest++;
    if (banyan_quorum_is_met(s->job->quorum, before - 1, before, lowest != rank))
        return 1;
    why[0] = ';';
    why[1] = ' ';
    banyan_quorum_explain(s->job->quorum, before - 1, before, why + 2, bytes - 2);
    return 0;
}

static void note_end(show *s, int rank, pid_t pid, const siginfo_t *info)
{
    run_outcome *o = s->outcome;
    char how[sizeof o->how], why[400], sentence[sizeof how + sizeof why + 80];
    int is_spare = can_spare(s, rank, why, sizeof why);

    if ((info->si_code == CLD_EXITED && !info->si_status) || o->failed_rank >= 0 || o->exit_code)
        return;
    tell_how(info, how, sizeof how);
    snprintf(sentence, sizeof sentence, "rank %d (process %d) %s%s%s", rank, (int)pid, how,
             s->running <= 1 ? "" : why,
             s->running <= 1 ? ""
             : is_spare      ? "; the others go on"
                             : "; the others are ended");
    say(s, sentence);
    if (is_spare) {
        s->spared++;
        s->has_failed[rank] = 1;
        return;
    }
    o->failed_rank = rank;
    o->exit_code = info->si_code == CLD_EXITED ? info->si_status : SIGNALLED + info->si_status;
    memcpy(o->how, how, sizeof how);
    end_all(s);
}

/* The group goes before its leader is forgotten: until then its number cannot be given to anybody else. */
static void collect_ended(show *s)
{
    for (int rank = 0; rank < s->job->rank_count; rank++) {
        siginfo_t info = {.si_pid = 0};
        pid_t pid = s->pids[rank];

        if (!pid || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
            continue;
        kill(-pid, SIGKILL);
        run_watcher_remove(&s->watcher, pid);
        waitpid(pid, NULL, 0);
        note_end(s, rank, pid, &info);
        s->pids[rank] = 0;
        s->running--;
    }
}

static void take_signals(show *s)
{
    struct signalfd_siginfo info;

    while (read(s->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        int number = (int)info.ssi_signo;

        if (number == SIGCHLD)
            continue;
        signal_all(s, number);
        if (number != SIGUSR1 && number != SIGUSR2 && !(s->kill_s < 1e300))
            s->kill_s = banyan_clock_s() + 2 * GRACE_S;
    }
}

static void time_out(show *s)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    int named = 0;

    s->deadline_s = 1e301;
    banyan_text_add(&text, "not done after %g s; still running:", s->job->timeout_s);
    for (int i = 0; i < s->job->rank_count && named < 20; i++)
        if (s->pids[i])
            banyan_text_add(&text, "%s rank %d", named++ ? "," : "", i);
    if (!s->outcome->exit_code) {
        s->outcome->exit_code = TIMED_OUT;
        snprintf(s->outcome->how, sizeof s->outcome->how, "%s",
                 text.failed ? "not done in time" : text.bytes);
        say(s, s->outcome->how);
    }
    banyan_text_fini(&text);
    end_all(s);
}

static int milliseconds_until(double when_s)
{
    double left = (when_s - banyan_clock_s()) * 1e3;

    return left <= 0 ? 0 : left > 1e6 ? 1000000 : (int)left + 1;
}

/* Sleeps until something happens and copies output. Returns how many descriptors had something. */
static int look(show *s, int most_ms)
{
    struct pollfd *looks = banyan_alloc((size_t)(1 + 2 * s->job->rank_count), sizeof *looks);
    int count = 1, found;

    if (!looks) { /* then without looking */
        usleep(10000);
        return 0;
    }
    looks[0] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
    for (int i = 0; s->pipes && i < 2 * s->job->rank_count; i++)
        looks[count++] = (struct pollfd){.fd = s->pipes[i].fd, .events = POLLIN};
    found = poll(looks, (nfds_t)count, most_ms);
    for (int i = 1; i < count && found > 0; i++)
        if (looks[i].revents)
            run_pipe_copy(&s->pipes[i - 1], s->width);
    banyan_free(looks);
    return found;
}

static void loop(show *s)
{
    while (s->running) {
        double next_s = s->deadline_s < s->kill_s ? s->deadline_s : s->kill_s;

        look(s, milliseconds_until(next_s));
        take_signals(s);
        collect_ended(s);
        if (banyan_clock_s() >= s->deadline_s)
            time_out(s);
        if (banyan_clock_s() >= s->kill_s) {
            signal_all(s, SIGKILL);
            s->kill_s = 1e301;
        }
    }
    while (s->pipes && look(s, DRAIN_MS) > 0) {
        int open = 0;

        take_signals(s);
        for (int i = 0; i < 2 * s->job->rank_count; i++)
            open += s->pipes[i].fd >= 0;
        if (!open)
            break;
    }
}

static banyan_status take_over_signals(show *s, banyan_error *err)
{
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        sigaddset(&mask, passed_on[i]);
    sigprocmask(SIG_BLOCK, &mask, &s->old_mask);
    s->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signal_fd < 0)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "signalfd: %s", strerror(errno));
    return BANYAN_SUCCESS;
}

static int digits(int number)
{
    int count = 1;

    while (number /= 10)
        count++;
    return count;
}

static void perform(show *s)
{
    for (int i = 0; i < s->job->rank_count && !s->is_ending; i++)
        start_rank(s, i);
    loop(s);
    for (int i = 0; s->pipes && i < 2 * s->job->rank_count; i++)
        run_pipe_finish(&s->pipes[i], s->width);
}

banyan_status run_job_do(const run_job *job, run_outcome *out, banyan_error *err)
{
    show s = {.job = job, .outcome = out, .signal_fd = -1, .deadline_s = 1e301, .kill_s = 1e301};
    size_t ranks = (size_t)job->rank_count;
    banyan_status status = BANYAN_SUCCESS;

    *out = (run_outcome){.failed_rank = -1};
    s.width = digits(job->rank_count - 1);
    if (job->timeout_s > 0)
        s.deadline_s = banyan_clock_s() + job->timeout_s;
    s.pids = banyan_alloc(ranks, sizeof *s.pids);
    s.has_failed = banyan_alloc(ranks, 1);
    s.pipes = job->is_tagged ? banyan_alloc(2 * ranks, sizeof *s.pipes) : NULL;
    for (size_t i = 0; s.pipes && i < 2 * ranks; i++)
        s.pipes[i].fd = -1;
    if (!s.pids || !s.has_failed || (job->is_tagged && !s.pipes))
        status = banyan_fail_memory(err);
    if (!status)
        status = run_watcher_start(&s.watcher, err);
    if (!status) {
        status = take_over_signals(&s, err);
        if (!status)
            perform(&s);
        run_watcher_end(&s.watcher);
        if (s.signal_fd >= 0)
            close(s.signal_fd);
        sigprocmask(SIG_SETMASK, &s.old_mask, NULL);
    }
    banyan_free(s.pids);
    banyan_free(s.has_failed);
    banyan_free(s.pipes);
    return status;
}
