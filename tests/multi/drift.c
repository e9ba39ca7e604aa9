/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/drift.c: a group that was told no network learns it while the speeds of its links change at
 * random and ranks are killed; those that are left shrink their group and go on. Every sum must be right, and
 * all survivors must end well.
 *
 * The hosts are a test network of `banyan run --net`, whose ranks are this very program. BANYAN_SOAK_SECONDS
 * says for how long (6 by default; `make check-long` gives it minutes), BANYAN_SEED where it begins. */
#include <unistd.h>

#include "core/random.h"
#include "jobs.h"

#define NETWORK "racks:2x2x1,gbps=0.5,rack_gbps=0.3"
#define COUNT ((size_t)1 << 18) /* a megabyte: enough to learn from */

enum {
    RANKS = 4,
    LEAST_LEFT = 3,
    LOWEST_MBITS = 60,
    HIGHEST_MBITS = 500,
    SPEED_PERIOD = 12,
    TIMEOUT_MS = 20000
};

static long setting(const char *name, long fallback)
{
    const char *text = getenv(name);

    return text && *text ? atol(text) : fallback;
}

static int change_speed(banyan_random *random)
{
    char command[160];

    snprintf(command, sizeof command,
             "tc qdisc change dev eth0 root tbf rate %dmbit burst 24000 limit 1000000",
             LOWEST_MBITS + banyan_random_below(random, HIGHEST_MBITS - LOWEST_MBITS));
    return system(command);
}

static int complain(const banyan_comm *comm, const char *what, banyan_status status)
{
    fprintf(stderr, "%s: %s: %s\n", what, banyan_status_string(status), comm ? banyan_last_error(comm) : "");
    return 1;
}

/* One call; the first element tells all whether the group's first rank wants to end. 0: the sum is wrong. */
static int compute(banyan_comm *comm, float *data, double until_s, banyan_status *status, int *is_over)
{
    int rank = 0, size = 0;

    banyan_comm_rank(comm, &rank);
    banyan_comm_size(comm, &size);
    for (size_t i = 0; i < COUNT; i++)
        data[i] = (float)(rank + 1);
    data[0] = rank == 0 && banyan_clock_s() > until_s;
    *status = banyan_allreduce(data, data, COUNT, BANYAN_FLOAT32, BANYAN_SUM, comm);
    *is_over = !*status && data[0] > 0;
    return *status || (data[1] == (float)(size * (size + 1) / 2) && data[COUNT - 1] == data[1]);
}

/* The same on all ranks: who is killed in this life of the group, and after how many calls. */
static void draw_victim(banyan_random *fates, int size, int *victim, int *calls)
{
    *victim = size > LEAST_LEFT ? banyan_random_below(fates, size) : -1;
    *calls = 5 + banyan_random_below(fates, 20);
}

static int live(long seed, double until_s)
{
    static float data[COUNT];
    banyan_random fates = {.state = (uint64_t)seed}, speeds = {0};
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_comm *comm = NULL, *fresh = NULL;
    banyan_status status;
    int rank, size, victim, victim_calls, is_over = 0, calls = 0;

    config.timeout_ms = TIMEOUT_MS;
    status = banyan_comm_init_env(&comm, &config);
    if (status)
        return complain(NULL, "init", status);
    banyan_comm_rank(comm, &rank);
    banyan_comm_size(comm, &size);
    speeds.state = (uint64_t)(seed * 1000 + rank);
    draw_victim(&fates, size, &victim, &victim_calls);
    while (!is_over) {
        if (rank == victim && calls == victim_calls)
            kill(getpid(), SIGKILL);
        if (++calls % SPEED_PERIOD == 0 && change_speed(&speeds))
            return complain(NULL, "tc", BANYAN_SYSTEM_ERROR);
        if (!compute(comm, data, until_s, &status, &is_over))
            return complain(comm, "a wrong sum", BANYAN_INTERNAL_ERROR);
        if (!status)
            continue;
        if (status != BANYAN_PEER_LOST && status != BANYAN_TIMEOUT)
            return complain(comm, "call", status);
        status = banyan_comm_shrink(comm, NULL, 0, &fresh, NULL);
        if (status)
            return complain(comm, "shrink", status);
        banyan_comm_destroy(comm);
        comm = fresh;
        banyan_comm_rank(comm, &rank);
        banyan_comm_size(comm, &size);
        calls = 0;
        draw_victim(&fates, size, &victim, &victim_calls);
    }
    banyan_comm_destroy(comm);
    return 0;
}

/* This program, and the command line's, which lies in the folder above. */
static void find_programs(char own[512], char banyan[600])
{
    ssize_t length = readlink("/proc/self/exe", own, 511);

    own[length > 0 ? length : 0] = 0;
    snprintf(banyan, 600, "%.*s/../banyan", (int)(strrchr(own, '/') ? strrchr(own, '/') - own : 0), own);
}

/* The lines of rank 0's log that say this; its group was 4 ranks, or 3. */
static int count_lines(const char *path, const char *wanted)
{
    FILE *log = fopen(path, "r");
    char line[1000];
    int count = 0;

    while (log && fgets(line, sizeof line, log))
        count += strstr(line, wanted) != NULL;
    if (log)
        fclose(log);
    return count;
}

TEST(a_group_learns_while_speeds_change_and_ranks_die)
{
    long seconds = setting("BANYAN_SOAK_SECONDS", 6), seed = setting("BANYAN_SEED", 1);
    char command[3000], own[512], banyan[600], log[] = "/tmp/banyan-drift-XXXXXX";
    int how, surveys, fd = mkstemp(log);

    close(fd);
    find_programs(own, banyan);
    snprintf(
        command, sizeof command,
        "BANYAN_TOPO= BANYAN_LEARN=1 BANYAN_STATUS_FOLDER=off BANYAN_DEBUG=INFO BANYAN_DEBUG_SUBSYS=GRAPH "
        "'%s' run --net " NETWORK " --spare %d --timeout %lds -- sh -c "
        "'BANYAN_DEBUG_FILE=%s.$BANYAN_RANK exec %s rank %ld %ld'",
        banyan, RANKS - LEAST_LEFT, seconds + 120, log, own, seed, seconds);
    how = system(command);
    snprintf(command, sizeof command, "cat %s.* > %s", log, log);
    assert_int_equal(system(command), 0);
    surveys = count_lines(log, "] BANYAN INFO surveyed");
    print_message("%d surveys, %d plans kept, %d given up\n", surveys, count_lines(log, "it stays"),
                  count_lines(log, "it goes"));
    snprintf(command, sizeof command, "rm -f %s %s.*", log, log);
    assert_int_equal(system(command), 0);
    if (how)
        fail_msg("seed %ld: the job ended with %d", seed, WEXITSTATUS(how));
    assert_true(surveys > 0);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_group_learns_while_speeds_change_and_ranks_die)};
    char command[700], own[512], banyan[600];

    if (count == 4 && !strcmp(words[1], "rank"))
        return live(atol(words[2]), banyan_clock_s() + (double)atol(words[3]));
    find_programs(own, banyan);
    snprintf(command, sizeof command, "'%s' run --net hosts:1+1,gbps=1 true > /dev/null 2>&1", banyan);
    if (system(command)) {
        fprintf(stderr, "skipped: no test network can be made here\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
