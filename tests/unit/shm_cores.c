/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/shm_cores.c: how many cores the members on one host have together. */
#include "test.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/shm_endpoint.h"

/* A process that is bound to that core and does nothing. */
static pid_t start_bound(int core)
{
    cpu_set_t set;
    pid_t process = fork();

    if (!process) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    assert_true(process > 0);
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    assert_int_equal(sched_setaffinity(process, sizeof set, &set), 0);
    return process;
}

/* Of two members that are bound to these cores. */
static int count_of(int first, int second)
{
    shm_name names[] = {{.magic = 1, .pid = start_bound(first)}, {.magic = 1, .pid = start_bound(second)}};
    int count = banyan_shm_count_cores(names, 2, &names[0]);

    for (int i = 0; i < 2; i++) {
        kill(names[i].pid, SIGKILL);
        waitpid(names[i].pid, NULL, 0);
    }
    return count;
}

TEST(members_that_are_bound_to_a_core_each_are_not_crowded)
{
    cpu_set_t allowed;
    int cores[2], count = 0;

    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (int core = 0; core < CPU_SETSIZE && count < 2; core++)
        if (CPU_ISSET((size_t)core, &allowed))
            cores[count++] = core;
    if (count < 2)
        skip();
    assert_int_equal(count_of(cores[0], cores[1]), 2);
    assert_int_equal(count_of(cores[0], cores[0]), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_that_are_bound_to_a_core_each_are_not_crowded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
