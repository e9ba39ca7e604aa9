/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/jobs.h: starts the ranks of a job as processes of their own, and sees to it that none is left.
 *
 * A rank is a function that returns 0 when all was well; what it wants to say on failure it prints. Ranks
 * meet through memory that they share with the test. A job that does not end in time is killed and has
 * failed. */
#ifndef BANYAN_TESTS_JOBS_H
#define BANYAN_TESTS_JOBS_H

#include <banyan/banyan.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "transport/plugin.h"
#include "unit/test.h"

enum { MOST_RANKS = 64, RECORD_ROOM = 1024, RESULT_ROOM = 1 << 20 };

/* Sanitizers and busy machines slow everything down: what must happen may take long. */
enum { JOB_SECONDS = 240, CALL_MS = 60000 };

typedef struct {
    int size;
    pthread_barrier_t barrier;
    unsigned char records[MOST_RANKS][RECORD_ROOM];
    banyan_unique_id id;
    _Atomic int has_id;
    _Atomic int step; /* what the test's own words say */
    _Atomic int counted;
    _Alignas(16) unsigned char results[MOST_RANKS][RESULT_ROOM]; /* for structures, too */
} job_memory;

typedef struct {
    job_memory *memory;
    int rank;
} job_rank;

typedef int (*rank_function)(job_rank *self);

typedef struct {
    job_memory *memory;
    pid_t processes[MOST_RANKS];
} job;

#define EXPECT(condition, ...)                                                                               \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "rank %d, line %d: ", self->rank, __LINE__);                                     \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fprintf(stderr, "\n");                                                                           \
            return 1;                                                                                        \
        }                                                                                                    \
    } while (0)

static inline void job_wait_step(job_memory *memory, int step)
{
    struct timespec pause = {.tv_nsec = 2000000};

    while (atomic_load(&memory->step) < step)
        nanosleep(&pause, NULL);
}

static inline void *job_tell_thread(void *id)
{
    *(pid_t *)id = (pid_t)syscall(SYS_gettid);
    return NULL;
}

/* Sanitizers start a thread of their own with a process's first one: it shall be there before threads are
 * counted. A joined thread stays in /proc for a moment longer, and shall not be counted. */
static inline void job_warm_up(void)
{
    struct timespec pause = {.tv_nsec = 1000000};
    char path[64];
    pthread_t thread;
    pid_t id = 0;

    if (pthread_create(&thread, NULL, job_tell_thread, &id))
        return;
    pthread_join(thread, NULL);
    snprintf(path, sizeof path, "/proc/self/task/%d", (int)id);
    for (int i = 0; i < 60000 && !access(path, F_OK); i++)
        nanosleep(&pause, NULL);
}

/* With its leaks checked, unless UCX is in the process, in whose threads' memory the checker gets lost. */
static inline void job_exit(int code)
{
    const char *transport = getenv("BANYAN_TRANSPORT");

    fflush(NULL);
    if (transport && strstr(transport, "ucx"))
        _exit(code);
    exit(code);
}

/* Over 'shm+...' the first two ranks are one host and the others another: a host is known by its name, and a
 * process that may can have one of its own. */
static inline void job_take_host(int rank)
{
    const char *transport = getenv("BANYAN_TRANSPORT"), *host = rank < 2 ? "first" : "second";

    if (transport && !strncmp(transport, "shm+", 4) &&
        (unshare(CLONE_NEWUTS) || sethostname(host, strlen(host))))
        abort();
}

/* Whether that can be done here; if not, says so. */
static inline int job_has_hosts(void)
{
    pid_t process = fork();
    int how = 1;

    if (!process)
        _exit(unshare(CLONE_NEWUTS) != 0);
    waitpid(process, &how, 0);
    if (how)
        fprintf(stderr, "skipped over two hosts: only root can give a process another host's name\n");
    return !how;
}

static inline job job_start(int size, rank_function function)
{
    job j = {.memory =
                 mmap(NULL, sizeof(job_memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    pthread_barrierattr_t shared;

    assert_true(j.memory != MAP_FAILED);
    j.memory->size = size;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&j.memory->barrier, &shared, (unsigned)size);
    fflush(NULL);
    for (int i = 0; i < size; i++) {
        j.processes[i] = fork();
        assert_true(j.processes[i] >= 0);
        if (!j.processes[i]) {
            job_rank self = {j.memory, i};

            alarm(JOB_SECONDS + 5);
            job_take_host(i);
            job_warm_up();
            job_exit(function(&self));
        }
    }
    return j;
}

/* How rank i ended: its exit code, 1000 + signal, or -1 when it had to be killed. */
static inline int job_end_rank(job *j, int rank, double seconds)
{
    struct timespec pause = {.tv_nsec = 2000000};
    double until_s = banyan_clock_s() + seconds;
    int how;

    while (waitpid(j->processes[rank], &how, WNOHANG) == 0) {
        if (banyan_clock_s() > until_s) {
            kill(j->processes[rank], SIGKILL);
            waitpid(j->processes[rank], &how, 0);
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    return WIFSIGNALED(how) ? 1000 + WTERMSIG(how) : WEXITSTATUS(how);
}

static inline void job_free(job *j)
{
    munmap(j->memory, sizeof *j->memory);
}

/* All ranks end well. */
static inline void job_finish(job *j)
{
    int failed = 0;

    for (int i = 0; i < j->memory->size; i++) {
        int how = job_end_rank(j, i, JOB_SECONDS);

        if (how)
            fprintf(stderr, "rank %d ended with %d\n", i, how);
        failed += how != 0;
    }
    job_free(j);
    assert_int_equal(failed, 0);
}

static inline void job_run(int size, rank_function function)
{
    job j = job_start(size, function);

    job_finish(&j);
}

static inline banyan_status job_exchange(void *context, const void *mine, size_t bytes, void *all)
{
    job_rank *self = context;

    if (bytes > RECORD_ROOM)
        return BANYAN_INTERNAL_ERROR;
    memcpy(self->memory->records[self->rank], mine, bytes);
    pthread_barrier_wait(&self->memory->barrier);
    for (int i = 0; i < self->memory->size; i++)
        memcpy((char *)all + (size_t)i * bytes, self->memory->records[i], bytes);
    pthread_barrier_wait(&self->memory->barrier);
    return BANYAN_SUCCESS;
}

/* Rank 0 makes the id, the others wait for it. */
static inline banyan_unique_id job_id(job_rank *self)
{
    struct timespec pause = {.tv_nsec = 1000000};

    if (self->rank == 0)
        atomic_store(&self->memory->has_id, banyan_get_unique_id(&self->memory->id) ? -1 : 1);
    while (!atomic_load(&self->memory->has_id))
        nanosleep(&pause, NULL);
    if (atomic_load(&self->memory->has_id) < 0)
        abort(); /* all of them, so that none waits for another */
    return self->memory->id;
}

static inline int job_count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;

    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

/* Names of ours among the shared memory of this machine, where others (MPI programs) come and go
 * meanwhile. */
static inline int job_count_shared(void)
{
    DIR *folder = opendir("/dev/shm");
    int count = 0;

    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += strstr(entry->d_name, "banyan") != NULL;
    if (folder)
        closedir(folder);
    return count;
}

/* Descriptors and threads of this process: what must be as before when all is given back. */
static inline int job_count_descriptors(void)
{
    return job_count_entries("/proc/self/fd");
}

static inline int job_count_threads(void)
{
    return job_count_entries("/proc/self/task");
}

/* Waits until that many threads are left: a joined one stays in /proc for a moment. */
static inline int job_comes_down_to_threads(int threads)
{
    struct timespec pause = {.tv_nsec = 1000000};

    for (int i = 0; i < 60000 && job_count_threads() > threads; i++)
        nanosleep(&pause, NULL);
    return job_count_threads() == threads;
}

/* Tests stay on this machine. */
static inline void job_stay_here(void)
{
    setenv("BANYAN_SOCKET_IFNAME", "lo", 1);
    setenv("BANYAN_SOCKET_FAMILY", "AF_INET", 1);
    setenv("BANYAN_TRANSPORT", "tcp", 1);
}

/* Whether an engine's shared object was built; if not, says so once. */
static inline int job_has_engine(const char *name)
{
    char path[4200];
    int found = banyan_plugin_find(name, "", path, sizeof path);

    if (!found)
        fprintf(stderr, "skipped over %s: it was not there when Banyan was built\n", name);
    return found;
}

/* Not over everything that this machine has: over TCP, which UCX has everywhere, or over shared memory. */
static inline int job_choose_ucx(const char *transport, const char *ways)
{
    return setenv("BANYAN_TRANSPORT", transport, 1) || setenv("UCX_TLS", ways, 1) ||
           setenv("UCX_LOG_LEVEL", "fatal", 1);
}

/* A rank's part of a start and a first call, in seconds, into its results. */
static inline int job_time_start(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_comm *comm = NULL;
    double seconds;

    config.timeout_ms = CALL_MS;
    pthread_barrier_wait(&self->memory->barrier);
    seconds = -banyan_clock_s();
    EXPECT(!banyan_comm_init_rank(&comm, self->memory->size, job_id(self), self->rank, &config), "init");
    EXPECT(!banyan_barrier(comm), "%s", banyan_last_error(comm));
    seconds += banyan_clock_s();
    memcpy(self->memory->results[self->rank], &seconds, sizeof seconds);
    banyan_comm_destroy(comm);
    return 0;
}

/* For tests that wait until a time-out has passed: one in which all that must happen before can happen, by
 * what a start of that many ranks takes on this machine, now. */
static inline int job_short_ms(int size)
{
    enum { SHORTEST_MS = 1500, STARTS = 16 };
    job j = job_start(size, job_time_start);
    int failed = 0, ms = SHORTEST_MS;

    for (int i = 0; i < size; i++)
        failed += job_end_rank(&j, i, JOB_SECONDS) != 0;
    for (int i = 0; i < size; i++) {
        double seconds;

        memcpy(&seconds, j.memory->results[i], sizeof seconds);
        if (STARTS * seconds * 1e3 > ms)
            ms = (int)(STARTS * seconds * 1e3);
    }
    job_free(&j);
    assert_int_equal(failed, 0);
    return ms < CALL_MS ? ms : CALL_MS;
}

/* What cannot be measured beforehand: a time-out that was too short for the machine, as a rank says by
 * JOB_TOO_SHORT, is doubled. */
enum { JOB_TOO_SHORT = 76 };

static int job_timeout_ms; /* 0: there is no other to try */

/* Of what a rank found when its time was over: a failure once no longer time-out is tried. */
static inline int job_is_too_short(int is_well)
{
    return !is_well && job_timeout_ms && job_timeout_ms < CALL_MS;
}

static inline void job_run_in_time(int size, rank_function function, int first_ms)
{
    int is_too_short = 1;

    for (job_timeout_ms = first_ms; is_too_short; job_timeout_ms *= 2) {
        job j;
        int failed = 0;

        job_timeout_ms = job_timeout_ms < CALL_MS ? job_timeout_ms : CALL_MS;
        j = job_start(size, function);
        is_too_short = 0;
        for (int i = 0; i < size; i++) {
            int how = job_end_rank(&j, i, JOB_SECONDS);

            is_too_short |= how == JOB_TOO_SHORT;
            failed += how != 0 && how != JOB_TOO_SHORT;
        }
        job_free(&j);
        assert_int_equal(failed, 0);
    }
    job_timeout_ms = 0;
}

enum { JOB_SKIPPED = 77 };

/* Over TCP, over the best that ranks of one host have, over UCX's TCP, or with two hosts that UCX joins. */
static inline int job_run_over(const char *transport, const struct CMUnitTest *tests, size_t count)
{
    if (!strcmp(transport, "shm+ucx") && !job_has_hosts())
        return JOB_SKIPPED;
    if (strstr(transport, "ucx") && (!job_has_engine("ucx") || job_choose_ucx(transport, "tcp,self")))
        return JOB_SKIPPED;
    setenv("BANYAN_TRANSPORT", transport, 1);
    return _cmocka_run_group_tests(transport, tests, count, NULL, NULL);
}

/* The same tests over the transport that the program's first argument names, or over all;
 * tests/CMakeLists.txt makes a test of each. A second argument picks tests by their names. */
static inline int job_run_over_transports(const struct CMUnitTest *tests, size_t count, int word_count,
                                          char **words)
{
    static const char *const all[] = {"tcp", "auto", "ucx", "shm+ucx"};
    int failed = 0;

    job_stay_here();
    if (word_count > 2)
        cmocka_set_test_filter(words[2]);
    if (word_count > 1)
        return job_run_over(words[1], tests, count);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int how = job_run_over(all[i], tests, count);

        failed += how != JOB_SKIPPED ? how : 0;
    }
    return failed;
}

#define RUN_OVER_TRANSPORTS(tests, word_count, words)                                                        \
    job_run_over_transports(tests, sizeof(tests) / sizeof *(tests), word_count, words)

#endif
