/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/stragglers.c: who is found slow, and how often ranks exchange what they know. */
#include "calls/stragglers.h"
#include "unit/test.h"

TEST(the_rank_that_waited_least_is_the_one_that_others_waited_for)
{
    banyan_straggler_report all[] = {{.in_calls_s = 5, .waited_for = 2, .waited_s = 0.5},
                                     {.in_calls_s = 7, .waited_for = 0, .waited_s = 0.25},
                                     {.in_calls_s = 1, .waited_for = -1},
                                     {.in_calls_s = 6, .waited_for = 1, .waited_s = 3}};
    banyan_stragglers_found found = banyan_stragglers_find(all, 4);

    assert_true(found.rank == 2);
    assert_float_equal(found.waited_s, 5, 1e-9);
    assert_true(found.src == 1 && found.dst == 3);
    assert_float_equal(found.link_s, 3, 1e-9);
}

TEST(a_group_without_links_names_none)
{
    banyan_straggler_report all[] = {{.in_calls_s = 2, .waited_for = -1},
                                     {.in_calls_s = 2, .waited_for = -1}};
    banyan_stragglers_found found = banyan_stragglers_find(all, 2);

    assert_true(found.src == -1 && found.dst == -1);
    assert_float_equal(found.waited_s, 0, 1e-9);
}

TEST(exchanges_come_about_once_a_period)
{
    int calls = 0, exchanges = 0;

    /* A thousand calls a second for ten minutes, in periods of a minute. */
    for (double now_s = 0, begun_s = 0; now_s < 600; exchanges++) {
        int pause = calls ? banyan_stragglers_pause(calls, now_s - begun_s, 60) : 64;

        if (now_s - begun_s >= 60) {
            begun_s = now_s;
            calls = 0;
        }
        calls += pause;
        now_s += pause / 1000.0;
    }
    assert_true(exchanges >= 10 && exchanges <= 40);
    assert_true(banyan_stragglers_pause(64, 0, 60) == 256);
    assert_true(banyan_stragglers_pause(64, 120, 60) == 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_that_waited_least_is_the_one_that_others_waited_for),
        cmocka_unit_test(a_group_without_links_names_none),
        cmocka_unit_test(exchanges_come_about_once_a_period),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
