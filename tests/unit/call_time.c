/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/call_time.c: how long a call took, by the times of its ranks. */
#include "test.h"

#include "calls/call_time.h"

static void near(double found, double right)
{
    if (found < right - 1e-9 || found > right + 1e-9)
        fail_msg("%g, not %g", found, right);
}

TEST(a_call_lasts_from_the_last_to_come_until_the_last_to_leave)
{
    near(banyan_call_time_of_all((banyan_call_time[]){{0, 3.0}, {1.2, 2.1}, {0.5, 3.4}}, 3), 2.2);
    near(banyan_call_time_of_all((banyan_call_time[]){{1, 3}, {1, 3}}, 2), 2);
}

TEST(a_plan_that_lets_one_rank_go_early_is_not_faster_for_it)
{
    near(banyan_call_time_of_all((banyan_call_time[]){{0, 1}, {0, 3}, {0, 3}}, 3), 3);
}

TEST(a_late_rank_is_not_the_networks_fault)
{
    near(banyan_call_time_of_all((banyan_call_time[]){{0, 5}, {4, 5}, {0, 5}}, 3), 1);
}

TEST(without_a_common_moment_the_least_time_counts)
{
    near(banyan_call_time_of_all((banyan_call_time[]){{-2, 0}, {0, 3}}, 2), 2);
}

/* The moment was late on the second rank, whose whole call seems to lie before the first one's. */
TEST(the_time_is_never_less_than_the_least_nor_more_than_the_most)
{
    near(banyan_call_time_of_all((banyan_call_time[]){{3, 4}, {0, 1.5}}, 2), 1);
    near(banyan_call_time_of_all((banyan_call_time[]){{0, 2}, {0.1, 9}}, 2), 8.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_lasts_from_the_last_to_come_until_the_last_to_leave),
        cmocka_unit_test(a_plan_that_lets_one_rank_go_early_is_not_faster_for_it),
        cmocka_unit_test(a_late_rank_is_not_the_networks_fault),
        cmocka_unit_test(without_a_common_moment_the_least_time_counts),
        cmocka_unit_test(the_time_is_never_less_than_the_least_nor_more_than_the_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
