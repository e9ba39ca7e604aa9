/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/stragglers.c: a rank is late to every call, and rank 0's log names it; over TCP a link, too. */
#include "calls/stragglers.h"
#include "jobs.h"

enum { RANKS = 3, LATE = 1, CALLS = 150, COUNT = 2000 };

static char file[64];

static int calls(job_rank *self)
{
    static float values[COUNT];
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_unique_id id = job_id(self);
    struct timespec pause = {.tv_nsec = 20000000};
    char sentence[512] = "";
    banyan_comm *comm;

    config.timeout_ms = CALL_MS;
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    EXPECT(!banyan_comm_init_rank(&comm, self->memory->size, id, self->rank, &config), "init: %s", sentence);
    banyan_stragglers_set_period(comm->stragglers, 0.1); /* which 64 calls take longer than */
    for (int i = 0; i < CALLS; i++) {
        if (self->rank == LATE)
            nanosleep(&pause, NULL);
        EXPECT(!banyan_allreduce(values, values, COUNT, BANYAN_FLOAT32, BANYAN_SUM, comm), "call %d: %s", i,
               banyan_last_error(comm));
    }
    banyan_comm_destroy(comm);
    return 0;
}

/* How often the words stand in the log. */
static int count_in_log(const char *words)
{
    FILE *log = fopen(file, "r");
    char line[1000];
    int found = 0;

    while (log && fgets(line, sizeof line, log))
        found += strstr(line, words) != NULL;
    if (log)
        fclose(log);
    return found;
}

static void run_on(const char *transport)
{
    snprintf(file, sizeof file, "/tmp/banyan-stragglers-%d.log", (int)getpid());
    unlink(file);
    setenv("BANYAN_TRANSPORT", transport, 1);
    setenv("BANYAN_DEBUG", "INFO", 1);
    setenv("BANYAN_DEBUG_SUBSYS", "RAS", 1);
    setenv("BANYAN_DEBUG_FILE", file, 1);
    job_run(RANKS, calls);
}

TEST(the_log_names_the_rank_that_is_late)
{
    int reports;

    run_on("auto");
    reports = count_in_log("the other ranks waited for rank ");
    assert_true(reports >= 1 && reports <= CALLS / 64);
    assert_true(2 * count_in_log("the other ranks waited for rank 1 ") > reports);
    unlink(file);
}

TEST(over_streams_it_names_a_link_too)
{
    run_on("tcp");
    assert_true(count_in_log("the other ranks waited for rank 1 ") >= 1);
    assert_true(count_in_log("waited longest for data of a link: ") >= 1);
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_names_the_rank_that_is_late),
        cmocka_unit_test(over_streams_it_names_a_link_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
