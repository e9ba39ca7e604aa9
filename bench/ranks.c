/* SPDX-License-Identifier: Apache-2.0 */
/* bench/ranks.c: a job of many processes on this machine, from its start to its end.
 *
 *     bench_ranks [RANKS [TRANSPORT [SEED]]]
 *
 * start:   fork, meet, plan, a first all-reduce of 1 KiB done on every rank
 * large:   an all-reduce of 1 MiB
 * split:   into groups of RANKS / 32 ranks, and an all-reduce of 1 KiB in each
 * loss:    ten ranks, or a third, are killed at once; until every survivor's call has returned
 * shrink:  the survivors make a group of their own and all-reduce 1 KiB in it
 * end:     all communicators are destroyed and all processes have ended
 *
 * Prints one line of a table, with the most TCP connections that a rank held after the start and after the
 * loss; with shared memory as the transport these are the control connections alone. Ends with 1 where a call
 * failed that should not have, a sum was wrong, or survivors say different things about the loss. Terminated,
 * it ends its processes and prints what was done by then; '-' stands for the stages that were not. */
#include <arpa/inet.h>
#include <banyan/banyan.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/random.h"

enum { MOST_RANKS = 4096, MOST_VICTIMS = 10, GROUPS = 32, SMALL = 256, LARGE = 262144, TIMEOUT_MS = 180000 };
enum { START, BIG, SPLIT, LOSS, COUNTED, SHRINK, STAGES };

typedef struct {
    banyan_unique_id id;
    _Atomic int has_id, failed, killed, stage[STAGES];
    _Atomic int most_connections[2]; /* after the start, after the loss */
    double begun_s[STAGES], ended_s[STAGES];
    char is_victim[MOST_RANKS];
    char sentences[MOST_RANKS][512];
} job_memory;

static job_memory *shared;
static int size, victims; /* at most a third, so that the others may go on */
static pid_t processes[MOST_RANKS];
static volatile sig_atomic_t is_terminated;

static int complain(int rank, const char *what, banyan_comm *comm)
{
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, comm ? banyan_last_error(comm) : "");
    atomic_fetch_add(&shared->failed, 1);
    return 1;
}

/* Connected over TCP, accepted or dialled. */
static void count_connections(int when)
{
    int count = 0, known;

    for (int fd = 3; fd < 4096; fd++) {
        struct sockaddr_storage peer;
        socklen_t length = sizeof peer;

        count += !getpeername(fd, (struct sockaddr *)&peer, &length) && peer.ss_family != AF_UNIX;
    }
    known = atomic_load(&shared->most_connections[when]);
    while (count > known && !atomic_compare_exchange_weak(&shared->most_connections[when], &known, count))
        continue;
}

/* The last one to come ends the stage. */
static void end_stage(int stage, int ranks)
{
    double now_s = banyan_clock_s();

    if (atomic_fetch_add(&shared->stage[stage], 1) + 1 == ranks)
        shared->ended_s[stage] = now_s;
}

static void await_stage(int stage, int ranks)
{
    struct timespec pause = {.tv_nsec = 1000000};

    while (atomic_load(&shared->stage[stage]) < ranks && !atomic_load(&shared->failed))
        nanosleep(&pause, NULL);
}

static int add_up(int rank, banyan_comm *comm, size_t count, int ranks)
{
    static float data[LARGE];

    for (size_t i = 0; i < count; i++)
        data[i] = 1;
    if (banyan_allreduce(data, data, count, BANYAN_FLOAT32, BANYAN_SUM, comm))
        return complain(rank, "all-reduce", comm);
    if (data[0] != (float)ranks || data[count - 1] != (float)ranks)
        return complain(rank, "a wrong sum", NULL);
    return 0;
}

static banyan_unique_id find_id(int rank)
{
    struct timespec pause = {.tv_nsec = 1000000};

    if (rank == 0 && !banyan_get_unique_id(&shared->id))
        atomic_store(&shared->has_id, 1);
    while (!atomic_load(&shared->has_id))
        nanosleep(&pause, NULL);
    return shared->id;
}

static void begin_stage(int rank, int stage)
{
    if (rank == 0)
        shared->begun_s[stage] = banyan_clock_s();
}

static int run_split(int rank, banyan_comm *comm)
{
    int width = size / GROUPS > 0 ? size / GROUPS : 1, color = rank / width;
    int members = (color + 1) * width <= size ? width : size - color * width;
    banyan_comm *part = NULL;

    begin_stage(rank, SPLIT);
    if (banyan_comm_split(comm, color, rank, &part, NULL))
        return complain(rank, "split", comm);
    if (add_up(rank, part, SMALL, members))
        return 1;
    end_stage(SPLIT, size);
    banyan_comm_destroy(part);
    return 0;
}

static int survive(int rank, banyan_comm *comm)
{
    banyan_comm *rest = NULL;
    banyan_status status = BANYAN_SUCCESS;
    float one[SMALL] = {0};
    int left = 0;

    while (!status)
        status = banyan_allreduce(one, one, SMALL, BANYAN_FLOAT32, BANYAN_SUM, comm);
    if (status != BANYAN_PEER_LOST)
        return complain(rank, banyan_status_string(status), comm);
    snprintf(shared->sentences[rank], sizeof shared->sentences[rank], "%s", banyan_last_error(comm));
    end_stage(LOSS, size - victims);
    await_stage(LOSS, size - victims);
    count_connections(1);
    end_stage(COUNTED, size - victims); /* to shrink, ranks connect to one of them */
    await_stage(COUNTED, size - victims);
    shared->begun_s[SHRINK] = shared->ended_s[COUNTED];
    if (banyan_comm_shrink(comm, NULL, 0, &rest, NULL))
        return complain(rank, "shrink", comm);
    banyan_comm_size(rest, &left);
    if (left != size - victims || add_up(rank, rest, SMALL, left))
        return complain(rank, "another number of survivors", NULL);
    end_stage(SHRINK, size - victims);
    banyan_comm_destroy(rest);
    return 0;
}

static int run_rank(int rank)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    char sentence[512] = "";
    banyan_comm *comm = NULL;

    config.timeout_ms = TIMEOUT_MS;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    if (banyan_comm_init_rank(&comm, size, find_id(rank), rank, &config))
        return complain(rank, sentence, NULL);
    if (add_up(rank, comm, SMALL, size))
        return 1;
    end_stage(START, size);
    await_stage(START, size);
    count_connections(0);
    begin_stage(rank, BIG);
    if (add_up(rank, comm, LARGE, size))
        return 1;
    end_stage(BIG, size);
    await_stage(BIG, size);
    if (run_split(rank, comm))
        return 1;
    await_stage(SPLIT, size);
    if (shared->is_victim[rank]) {
        if (atomic_fetch_add(&shared->killed, 1) == 0)
            shared->begun_s[LOSS] = banyan_clock_s();
        raise(SIGKILL);
    }
    if (survive(rank, comm))
        return 1;
    banyan_comm_destroy(comm);
    return 0;
}

static void choose_victims(uint64_t seed)
{
    banyan_random random = {seed};

    for (int count = 0; count < victims;) {
        int rank = 1 + banyan_random_below(&random, size - 1); /* rank 0 tells the tale */

        count += !shared->is_victim[rank];
        shared->is_victim[rank] = 1;
    }
}

/* How many survivors say something else than the first. */
static int count_differences(void)
{
    const char *first = NULL;
    int count = 0;

    for (int i = 0; i < size; i++) {
        if (shared->is_victim[i])
            continue;
        first = first ? first : shared->sentences[i];
        count += strcmp(first, shared->sentences[i]) != 0;
        if (strcmp(first, shared->sentences[i]) != 0)
            fprintf(stderr, "rank %d says '%s', others '%s'\n", i, shared->sentences[i], first);
    }
    return count;
}

static void print_table(double end_s)
{
    static const char *const names[STAGES] = {"start_s", "large_s", "split_s", "loss_s", NULL, "shrink_s"};

    printf("%6s", "ranks");
    for (int i = 0; i < STAGES; i++)
        if (names[i])
            printf(" %9s", names[i]);
    printf(" %9s %12s %12s\n%6d", "end_s", "connections", "after_loss", size);
    for (int i = 0; i < STAGES; i++)
        if (names[i] && shared->ended_s[i] > 0)
            printf(" %9.3f", shared->ended_s[i] - shared->begun_s[i]);
        else if (names[i])
            printf(" %9s", "-");
    if (is_terminated)
        printf(" %9s", "-");
    else
        printf(" %9.3f", end_s - shared->ended_s[SHRINK]);
    printf(" %12d %12d\n", atomic_load(&shared->most_connections[0]),
           atomic_load(&shared->most_connections[1]));
}

static void end_processes(int number)
{
    (void)number;
    is_terminated = 1;
    for (int i = 0; i < size; i++)
        if (processes[i] > 0)
            kill(processes[i], SIGKILL);
}

/* How many processes ended otherwise than they should have. */
static int await_processes(void)
{
    pid_t process;
    int wrong = 0, how;

    while ((process = wait(&how)) > 0) {
        wrong += WIFEXITED(how) ? WEXITSTATUS(how) != 0 : WTERMSIG(how) != SIGKILL;
        for (int i = 0; i < size; i++)
            processes[i] = processes[i] == process ? 0 : processes[i];
    }
    return wrong + is_terminated;
}

int main(int count, char **words)
{
    struct sigaction action = {.sa_handler = end_processes, .sa_flags = SA_RESTART};
    int wrong;

    size = count > 1 ? atoi(words[1]) : 256;
    if (size < 3 || size > MOST_RANKS) {
        fprintf(stderr, "bench_ranks: from 3 to %d ranks\n", MOST_RANKS);
        return 2;
    }
    victims = size / 3 < MOST_VICTIMS ? size / 3 : MOST_VICTIMS;
    if (count > 2)
        setenv("BANYAN_TRANSPORT", words[2], 1);
    setenv("BANYAN_SOCKET_IFNAME", "lo", 1);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 3;
    choose_victims(count > 3 ? strtoull(words[3], NULL, 10) : 1);
    begin_stage(0, START);
    for (int i = 0; i < size; i++) {
        processes[i] = fork();
        if (processes[i] < 0)
            return complain(i, "cannot fork", NULL);
        if (processes[i] == 0) {
            alarm(TIMEOUT_MS / 1000 * 3);
            _exit(run_rank(i));
        }
    }
    sigaction(SIGTERM, &action, NULL);
    wrong = await_processes();
    print_table(banyan_clock_s());
    wrong += count_differences();
    return wrong != 0;
}
