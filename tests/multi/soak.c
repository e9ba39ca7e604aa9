/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/soak.c: many short lives: ranks compute, one or two of them are killed or stopped at a random
 * moment, the others shrink and go on, until few are left; then the next job begins. Every second time
 * vectors lie in memory that ranks share. Nothing may be left behind: no descriptor, thread or memory in a
 * process, no shared memory, socket or process on the machine.
 *
 * BANYAN_SOAK_SECONDS says for how long (2 by default; `make check-long` gives it half an hour), BANYAN_SEED
 * where it begins, and BANYAN_SOAK_RANKS with how many ranks each job begins (by default 3 to 6 in turn,
 * until two are left); jobs of more than six end when they have lost four. */
#include "core/random.h"
#include "jobs.h"

enum { MOST_DRAWN = 6, LEAST_LEFT = 2, FIRST_ROUND_MS = 8000, LAST_ROUND_MS = 64000, MOST_COUNT = 50000 };

/* How a rank ends where a machine that does much else leaves it too little time: the job is done again, with
 * twice as much. */
enum { LATE = 3 };

static int round_ms;
static int least_left; /* of this job */
static uint64_t seed;  /* of this job; ranks are forked after it is set */
static char folder[64];

typedef struct {
    int victim;     /* in the group of this round */
    int calls;      /* before it goes; after the first, everybody has arrived */
    int is_stopped; /* and not killed */
    int is_in_call; /* it goes while others are in a call */
} fate;

/* The same on all ranks. */
static fate draw(banyan_random *random, int size)
{
    return (fate){.victim = banyan_random_below(random, size),
                  .calls = 1 + banyan_random_below(random, 40),
                  .is_stopped = banyan_random_below(random, 8) == 0,
                  .is_in_call = banyan_random_below(random, 2)};
}

static banyan_status compute(banyan_comm *comm, float *data, int size, size_t count, int *is_right)
{
    int rank = 0;
    banyan_status status;

    banyan_comm_rank(comm, &rank);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)(rank + 1);
    status = banyan_allreduce(data, data, count, BANYAN_FLOAT32, BANYAN_SUM, comm);
    *is_right = status || !count || data[count - 1] == (float)(size * (size + 1) / 2);
    return status;
}

static void *die_soon(void *argument)
{
    struct timespec pause = {.tv_nsec = *(long *)argument};

    nanosleep(&pause, NULL);
    kill(getpid(), SIGKILL);
    return NULL;
}

static void go(const fate *f, banyan_random *random)
{
    static long nanoseconds;
    pthread_t thread;

    nanoseconds = 1000L * banyan_random_below(random, 3000);
    if (f->is_stopped)
        raise(SIGSTOP); /* the test kills it in the end */
    else if (!f->is_in_call || pthread_create(&thread, NULL, die_soon, &nanoseconds))
        kill(getpid(), SIGKILL);
}

/* Computes until the group fails, then shrinks. Returns 0 when the group is as it should be. */
static int live_a_round(job_rank *self, banyan_comm **comm, float *data, int *size, banyan_random *random)
{
    fate f = draw(random, *size);
    banyan_status status = BANYAN_SUCCESS;
    banyan_comm *fresh = NULL;
    int rank = 0, is_right = 1, left = 0, call = 0, is_whole;

    banyan_comm_rank(*comm, &rank);
    for (; !status && call < 100000; call++) {
        if (call == f.calls && rank == f.victim)
            go(&f, random);
        status = compute(*comm, data, *size,
                         (size_t)banyan_random_below(&(banyan_random){seed + (uint64_t)call}, MOST_COUNT),
                         &is_right);
        EXPECT(is_right, "seed %llu: a wrong sum in call %d of %d ranks", (unsigned long long)seed, call,
               *size);
    }
    EXPECT(status == BANYAN_PEER_LOST || status == BANYAN_TIMEOUT, "seed %llu: %s: %s",
           (unsigned long long)seed, banyan_status_string(status), banyan_last_error(*comm));
    is_whole = status == BANYAN_TIMEOUT &&
               call <= f.calls + 1; /* a crowded machine: the victim may be there still */
    status = banyan_comm_shrink(*comm, NULL, 0, &fresh, NULL);
    if (status == BANYAN_TIMEOUT && round_ms < LAST_ROUND_MS)
        return LATE;
    EXPECT(!status, "seed %llu: shrink of %d ranks: %s: %s", (unsigned long long)seed, *size,
           banyan_status_string(status), banyan_last_error(*comm));
    banyan_comm_destroy(*comm);
    *comm = fresh;
    banyan_comm_size(fresh, &left);
    EXPECT(left == *size - 1 || (is_whole && left == *size), "seed %llu: %d of %d ranks are left",
           (unsigned long long)seed, left, *size);
    *size = left;
    return 0;
}

static int live(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    int descriptors = job_count_descriptors(), threads = job_count_threads(), size = self->memory->size;
    struct timespec pause = {.tv_nsec = 10000000};
    banyan_random random = {.state = seed};
    static float private_data[MOST_COUNT];
    void *shared_data = NULL;
    banyan_comm *comm = NULL;
    banyan_unique_id id = job_id(self);
    char sentence[512] = "";
    int how = 0;

    config.timeout_ms = round_ms;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    EXPECT(!banyan_comm_init_rank(&comm, size, id, self->rank, &config), "seed %llu: init: %s",
           (unsigned long long)seed, sentence);
    EXPECT(seed / 3 % 2 == 0 || !banyan_mem_alloc(&shared_data, sizeof private_data), "no memory");
    while (size > least_left && !how)
        how = live_a_round(self, &comm, shared_data ? shared_data : private_data, &size, &random);
    if (how)
        return how;
    banyan_comm_destroy(comm);
    banyan_mem_free(shared_data);
    for (int i = 0; i < 6000; i++) {
        if (job_count_descriptors() <= descriptors && job_count_threads() <= threads)
            return 0;
        nanosleep(&pause, NULL);
    }
    EXPECT(0, "seed %llu: %d descriptors instead of %d, %d threads instead of %d are left",
           (unsigned long long)seed, job_count_descriptors(), descriptors, job_count_threads(), threads);
}

static int count_survivors(const int *ended, int size)
{
    int count = 0;

    for (int i = 0; i < size; i++)
        count += ended[i] == 0;
    return count;
}

/* Stopped ranks are killed when the others have ended. 0: it was late. */
static int run_job(int size)
{
    job j = job_start(size, live);
    double until_s = banyan_clock_s() + JOB_SECONDS;
    int ended[MOST_RANKS], how, left = size, is_late = 0;

    memset(ended, -1, sizeof ended);
    while (left) {
        for (int i = 0; i < size; i++)
            if (j.processes[i] && waitpid(j.processes[i], &how, WNOHANG) > 0) {
                ended[i] = WIFSIGNALED(how) ? 1000 + WTERMSIG(how) : WEXITSTATUS(how);
                j.processes[i] = 0;
                is_late |= ended[i] == LATE;
                left--;
            }
        if (count_survivors(ended, size) == least_left || is_late || banyan_clock_s() > until_s)
            for (int i = 0; i < size; i++)
                if (j.processes[i])
                    kill(j.processes[i], SIGKILL);
        usleep(2000);
    }
    job_free(&j);
    if (is_late)
        return 0;
    if (count_survivors(ended, size) != least_left)
        fail_msg("seed %llu: %d of %d ranks survived", (unsigned long long)seed, count_survivors(ended, size),
                 size);
    for (int i = 0; i < size; i++)
        if (ended[i] && ended[i] != 1000 + SIGKILL)
            fail_msg("seed %llu: rank %d ended with %d", (unsigned long long)seed, i, ended[i]);
    return 1;
}

static long setting(const char *name, long fallback)
{
    const char *text = getenv(name);

    return text && *text ? atol(text) : fallback;
}

static int draw_size(void)
{
    long wanted = setting("BANYAN_SOAK_RANKS", 0);
    int size = 3 + (int)(seed * 2654435761u % (MOST_DRAWN - 2));

    if (wanted)
        size = (int)(wanted < 3 ? 3 : wanted > MOST_RANKS ? MOST_RANKS : wanted);
    least_left = size > MOST_DRAWN ? size - MOST_DRAWN + LEAST_LEFT : LEAST_LEFT;
    return size;
}

TEST(ranks_that_die_and_stop_at_random_leave_nothing_behind)
{
    static const char *const transports[] = {"tcp", "auto", "shm"};
    double until_s = banyan_clock_s() + (double)setting("BANYAN_SOAK_SECONDS", 2);
    int shared = job_count_shared(), jobs = 0, losses = 0, late = 0;

    seed = (uint64_t)setting("BANYAN_SEED", 1);
    do {
        int size = draw_size();

        setenv("BANYAN_TRANSPORT", transports[seed % 3], 1);
        losses += size - least_left;
        for (round_ms = FIRST_ROUND_MS; !run_job(size); round_ms *= 2)
            late++;
        seed++;
        jobs++;
    } while (banyan_clock_s() < until_s);
    if (job_count_shared() > shared)
        fail_msg("%d things are left in /dev/shm", job_count_shared() - shared);
    print_message("%d jobs, %d ranks killed or stopped, as many shrinks; %d jobs done again with more time\n",
                  jobs, losses, late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_die_and_stop_at_random_leave_nothing_behind),
    };
    char command[120];
    int wrong;

    job_stay_here();
    snprintf(folder, sizeof folder, "/tmp/banyan-soak-%d", (int)getpid());
    setenv("BANYAN_STATUS_FOLDER", folder, 1);
    wrong = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf %s", folder); /* sockets of the dead */
    return system(command) || wrong;
}
