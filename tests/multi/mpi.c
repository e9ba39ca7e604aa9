/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/mpi.c: the mpi transport, under each MPI that was there when Banyan was built.
 *
 * Without arguments this is the test, which starts itself with that MPI's mpirun; with 'TASK FOLDER' it is
 * one rank. A rank that has done what it should leaves a file 'ok.RANK' in the folder: mpirun's own exit code
 * says little once a rank has been killed. */
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "algorithms/algorithms.h"
#include "bits.h"
#include "calls/comm.h"
#include "core/clock.h"
#include "group/group.h"
#include "transport/mpi_job.h"
#include "transport/plugin.h"
#include "unit/test.h"

#include <dirent.h>
#include <signal.h>

enum { RANKS = 4, CALL_MS = 20000, SHORT_MS = 3000 };

/* One rank */

#define EXPECT(condition, ...)                                                                               \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "line %d: ", __LINE__);                                                          \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fprintf(stderr, "\n");                                                                           \
            return 1;                                                                                        \
        }                                                                                                    \
    } while (0)

static char sentence[512];
static const char *transport = "mpi";

static banyan_config configure(const char *algorithm, const char *topology, int timeout_ms)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;

    config.algorithm = algorithm;
    config.topology = topology;
    config.timeout_ms = timeout_ms;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    config.transport = transport;
    return config;
}

static int check_algorithm(const char *algorithm, int *checked)
{
    banyan_config config = configure(algorithm, "hosts:1+3", CALL_MS);
    double expected[COUNT], data[COUNT];
    banyan_comm *comm = NULL;
    banyan_status status = banyan_comm_init_env(&comm, &config);
    int rank = 0;

    EXPECT(!status, "%s: %s", algorithm, sentence);
    banyan_comm_rank(comm, &rank);
    for (int t = 0; t < TYPES; t++) {
        if (!expect_bits(algorithm, "hosts:1+3", RANKS, types[t], expected))
            break;
        fill(rank, types[t], data);
        status = banyan_allreduce(data, data, COUNT, types[t], BANYAN_SUM, comm);
        if (status == BANYAN_UNSUPPORTED)
            break;
        EXPECT(!status, "%s: %s", algorithm, banyan_last_error(comm));
        EXPECT(!memcmp(data, expected, COUNT * banyan_datatype_bytes(types[t])), "%s: other bits for %s",
               algorithm, banyan_datatype_string(types[t]));
        ++*checked;
    }
    banyan_comm_destroy(comm);
    return 0;
}

/* Every algorithm and some types; then all sizes and ops with one of them, the largest only as a sum. */
static int compute(void)
{
    static const size_t counts[] = {0, 1, 7, 1000, 100003, 3000001};
    banyan_config config = configure("auto", NULL, CALL_MS);
    banyan_comm *comm = NULL, *half = NULL;
    float *data = malloc(sizeof(float) * 3000001);
    int rank = 0, checked = 0;
    banyan_request *request = NULL;

    for (int i = 0; i < banyan_algorithm_count(); i++)
        if (check_algorithm(banyan_algorithm_at(i)->name, &checked))
            return 1;
    EXPECT(checked > 10 * TYPES, "only %d were checked", checked);
    EXPECT(!banyan_comm_init_env(&comm, &config), "%s", sentence);
    banyan_comm_rank(comm, &rank);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int op = BANYAN_SUM; op <= (counts[k] < 1000000 ? BANYAN_AVG : BANYAN_SUM); op++) {
            static const float expected[] = {10, 24, 4, 1, 2.5};

            for (size_t i = 0; i < counts[k]; i++)
                data[i] = (float)(rank + 1);
            EXPECT(!banyan_allreduce(data, data, counts[k], BANYAN_FLOAT32, (banyan_op)op, comm), "%s",
                   banyan_last_error(comm));
            for (size_t i = 0; i < counts[k]; i++)
                EXPECT(data[i] == expected[op], "count %zu, op %d: %g", counts[k], op, (double)data[i]);
        }
    EXPECT(!banyan_comm_split(comm, rank % 2, 0, &half, &config), "split: %s", sentence);
    data[0] = (float)rank;
    EXPECT(!banyan_allreduce_async(data, data, 1, BANYAN_FLOAT32, BANYAN_SUM, half, &request), "%s",
           banyan_last_error(half));
    EXPECT(!banyan_request_wait(request, -1), "%s", banyan_last_error(half));
    EXPECT(data[0] == (float)(rank % 2 ? 4 : 2), "%g in half of the group", (double)data[0]);
    banyan_request_free(request);
    banyan_comm_destroy(half);
    banyan_comm_destroy(comm);
    free(data);
    return 0;
}

static banyan_status sum(banyan_comm *comm, float *result)
{
    static float data[300000];
    int rank = 0;
    banyan_status status;

    banyan_comm_rank(comm, &rank);
    for (int i = 0; i < 300000; i++)
        data[i] = (float)(rank + 1);
    status = banyan_allreduce(data, data, 300000, BANYAN_FLOAT32, BANYAN_SUM, comm);
    *result = data[299999];
    return status;
}

/* The survivors of a kill name the victim and go on, over TCP: MPI promises nothing any more. */
static int lose(void)
{
    banyan_config config = configure("ring", NULL, CALL_MS);
    banyan_comm *comm = NULL, *rest = NULL;
    banyan_status status;
    float result = 0;
    int rank = 0;
    double begin_s;

    EXPECT(!banyan_comm_init_env(&comm, &config), "%s", sentence);
    banyan_comm_rank(comm, &rank);
    EXPECT(!sum(comm, &result) && result == 10, "%s", banyan_last_error(comm));
    EXPECT(!banyan_barrier(comm), "%s", banyan_last_error(comm));
    if (rank == 2)
        kill(getpid(), SIGKILL);
    begin_s = banyan_clock_s();
    do
        status = sum(comm, &result);
    while (!status);
    EXPECT(status == BANYAN_PEER_LOST && strstr(banyan_last_error(comm), "rank 2"), "%d: %s", status,
           banyan_last_error(comm));
    EXPECT(banyan_clock_s() - begin_s < CALL_MS * 1e-3 / 2, "%g s", banyan_clock_s() - begin_s);
    config.transport = NULL; /* as before: mpi */
    EXPECT(!banyan_comm_shrink(comm, NULL, 0, &rest, &config), "shrink: %s", sentence);
    EXPECT(!sum(rest, &result) && result == 6, "%g: %s", (double)result, banyan_last_error(rest));
    banyan_comm_destroy(rest);
    banyan_comm_destroy(comm);
    return 0;
}

/* A rank that does not come is a time-out, in time. */
static int miss(void)
{
    banyan_config config = configure("ring", NULL, SHORT_MS);
    banyan_comm *comm = NULL;
    const char *rank = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    double begin_s = banyan_clock_s();
    banyan_status status;

    if (!strcmp(rank, "1")) { /* MPI_Init itself waits for everybody */
        banyan_mpi_job job;

        EXPECT(!banyan_mpi_job_join("auto", "", &job, NULL), "MPI does not start");
        sleep(2 * SHORT_MS / 1000);
        return 0;
    }
    status = banyan_comm_init_env(&comm, &config);
    EXPECT(status == BANYAN_TIMEOUT && strstr(sentence, "not all 4 processes"), "%d: %s", status, sentence);
    EXPECT(banyan_clock_s() - begin_s < 3 * SHORT_MS * 1e-3, "%g s", banyan_clock_s() - begin_s);
    return 0;
}

/* Rank 0 is a host by itself: the others share memory, and MPI carries what goes to it and comes from it. */
static int mix(void)
{
    const char *own = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    int rank = atoi(own);
    banyan_config config;
    banyan_comm *comm = NULL;
    char words[120];

    EXPECT(!unshare(CLONE_NEWUTS) && !sethostname(rank ? "other" : "first", 5), "no host's name of its own");
    transport = "shm+mpi";
    config = configure("auto", NULL, CALL_MS);
    EXPECT(!banyan_comm_init_env(&comm, &config), "%s", sentence);
    for (int peer = 0; peer < RANKS; peer++) {
        const char *way = comm->endpoint->transport->describe(comm->endpoint, comm->group->setup.active[peer],
                                                              words, sizeof words);

        EXPECT(peer == rank || !strcmp(way, "mpi") == (!peer || !rank), "rank %d is reached so: %s", peer,
               way);
    }
    banyan_comm_destroy(comm);
    return compute();
}

static int be_rank(const char *task, const char *folder)
{
    const char *rank = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    int code = !strcmp(task, "compute") ? compute()
               : !strcmp(task, "mix")   ? mix()
               : !strcmp(task, "lose")  ? lose()
                                        : miss();
    char path[300];
    FILE *file;

    snprintf(path, sizeof path, "%s/ok.%s", folder, rank ? rank : "none");
    file = code ? NULL : fopen(path, "w");
    if (file)
        fclose(file);
    if (strcmp(task, "compute") != 0 &&
        strcmp(task, "mix") != 0) /* MPI cannot be finalised without everybody */
        _exit(code);
    return code;
}

/* The test */

static const char *which; /* 'openmpi' */
static char own_path[4096];

/* MPICH's launcher ends the whole job when a process of it dies: so none of those that it knows does. */
static const char outlive[] = "\"$0\" \"$1\" \"$2\"; for i in $(seq 50); do "
                              "[ $(ls \"$2\" | wc -l) -ge \"$3\" ] && break; sleep 0.2; done";

static int start(const char *task, const char *folder)
{
    pid_t process = fork();
    int how = 0;

    if (!process) {
        int is_deadly = !strcmp(task, "lose");
        char name[40];
        const char *const openmpi[] = {name,
                                       "--allow-run-as-root",
                                       "--oversubscribe",
                                       "--enable-recovery",
                                       "-n",
                                       "4",
                                       own_path,
                                       task,
                                       folder,
                                       NULL};
        const char *const mpich[] = {
            name, "-n", "4", "sh", "-c", outlive, own_path, task, folder, is_deadly ? "3" : "4", NULL};

        snprintf(name, sizeof name, "mpirun.%s", which);
        setenv("BANYAN_MPI", which, 1);
        setenv("BANYAN_SOCKET_IFNAME", "lo", 1);
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* MPI's own */
        setenv("OMPI_MCA_btl", "self,vader,tcp", 1);
        setenv("OMPI_MCA_pml", "ob1", 1);
        setenv("UCX_LOG_LEVEL", "fatal", 1);
        alarm(100);
        execvp(name, (char **)(size_t)(!strcmp(which, "openmpi") ? openmpi : mpich));
        _exit(127);
    }
    waitpid(process, &how, 0);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 1000;
}

/* Starts four ranks; returns how many did well. */
static int count_well(const char *task)
{
    char folder[] = "/tmp/banyan-mpi-XXXXXX", path[300];
    int count = 0, code;

    assert_non_null(mkdtemp(folder));
    code = start(task, folder);
    if (code == 127)
        fprintf(stderr, "mpirun.%s is not there\n", which);
    /* A rank may outlive its mpirun for a moment. */
    for (int tries = 0; tries < 100; tries++) {
        for (int i = 0; i < RANKS; i++) {
            snprintf(path, sizeof path, "%s/ok.%d", folder, i);
            count += unlink(path) == 0;
        }
        if (rmdir(folder) == 0)
            break;
        usleep(20000);
    }
    return count;
}

TEST(every_algorithm_computes_the_same_bits_over_mpi_as_in_one_process)
{
    assert_int_equal(count_well("compute"), RANKS);
}

TEST(with_shared_memory_inside_a_host_the_bits_are_the_same)
{
    pid_t process = fork();
    int how = 1;

    if (!process)
        _exit(unshare(CLONE_NEWUTS) != 0);
    waitpid(process, &how, 0);
    if (how) {
        fprintf(stderr, "skipped: only root can give a process another host's name\n");
        skip();
    }
    assert_int_equal(count_well("mix"), RANKS);
}

TEST(a_killed_rank_is_named_and_the_survivors_go_on)
{
    assert_int_equal(count_well("lose"), RANKS - 1);
}

TEST(a_rank_that_does_not_come_is_a_time_out)
{
    assert_int_equal(count_well("miss"), RANKS);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"openmpi", "mpich"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_computes_the_same_bits_over_mpi_as_in_one_process),
        cmocka_unit_test(with_shared_memory_inside_a_host_the_bits_are_the_same),
        cmocka_unit_test(a_killed_rank_is_named_and_the_survivors_go_on),
        cmocka_unit_test(a_rank_that_does_not_come_is_a_time_out),
    };
    int failed = 0;

    if (argc == 3)
        return be_rank(argv[1], argv[2]);
    if (readlink("/proc/self/exe", own_path, sizeof own_path - 1) < 0)
        return 1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char name[40], path[4200];

        which = kinds[i];
        snprintf(name, sizeof name, "mpi-%s", which);
        if (banyan_plugin_find(name, "", path, sizeof path))
            failed += cmocka_run_group_tests_name(which, tests, NULL, NULL);
        else
            fprintf(stderr, "skipped over %s: it was not there when Banyan was built\n", which);
    }
    return failed;
}
