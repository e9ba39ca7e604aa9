/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/team_wait.c: members with workspaces that wait on one core spread to others. */
#include "test.h"

#include <sched.h>
#include <stdlib.h>

#include "execute/team_internal.h"

/* The first two cores that this process may use. 0: there is one only. */
static int find_two(int cores[2])
{
    cpu_set_t allowed;
    int count = 0;

    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (int core = 0; core < CPU_SETSIZE && count < 2; core++)
        if (CPU_ISSET((size_t)core, &allowed))
            cores[count++] = core;
    return count == 2;
}

static void allow(int count, const int *cores)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int i = 0; i < count; i++)
        CPU_SET((size_t)cores[i], &set);
    assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

static banyan_workspaces *make_workspaces(int place)
{
    banyan_workspaces *workspaces = calloc(1, sizeof *workspaces);

    workspaces->count = 2;
    workspaces->place = place;
    for (int i = 0; i < 2; i++)
        workspaces->of[i] = aligned_alloc(BANYAN_WORKSPACE_LINE, sizeof *workspaces->of[i]);
    atomic_init(&workspaces->of[0]->core, 0);
    atomic_init(&workspaces->of[1]->core, 0);
    return workspaces;
}

static void free_workspaces(banyan_workspaces *workspaces)
{
    free(workspaces->of[0]);
    free(workspaces->of[1]);
    free(workspaces);
}

TEST(a_member_leaves_a_core_where_another_waits_and_is_not_bound)
{
    banyan_workspaces *workspaces = make_workspaces(1);
    cpu_set_t allowed;
    int cores[2];

    if (!find_two(cores))
        skip();
    allow(1, cores);
    atomic_store(&workspaces->of[0]->core, (uint32_t)cores[0] + 1);
    allow(2, cores);
    banyan_team_leave_shared_core(workspaces);
    assert_int_equal(atomic_load(&workspaces->of[1]->core), cores[1] + 1);
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    assert_int_equal(CPU_COUNT(&allowed), 2);
    free_workspaces(workspaces);
}

TEST(where_all_cores_are_taken_a_member_stays)
{
    banyan_workspaces *workspaces = make_workspaces(1);
    int core = sched_getcpu();

    allow(1, &core);
    atomic_store(&workspaces->of[0]->core, (uint32_t)core + 1);
    banyan_team_leave_shared_core(workspaces);
    assert_int_equal(atomic_load(&workspaces->of[1]->core), core + 1);
    free_workspaces(workspaces);
}

TEST(the_first_member_stays)
{
    banyan_workspaces *workspaces = make_workspaces(0);
    int core = sched_getcpu();

    allow(1, &core);
    atomic_store(&workspaces->of[1]->core, (uint32_t)core + 1);
    banyan_team_leave_shared_core(workspaces);
    assert_int_equal(atomic_load(&workspaces->of[0]->core), core + 1);
    free_workspaces(workspaces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_leaves_a_core_where_another_waits_and_is_not_bound),
        cmocka_unit_test(where_all_cores_are_taken_a_member_stays),
        cmocka_unit_test(the_first_member_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
