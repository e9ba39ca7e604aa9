/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/drift.c: which calls make a group survey its network again, and which do not. */
#include "test.h"

#include <math.h>

#include "calls/drift.h"
#include "core/random.h"

#define MIB ((size_t)1 << 20)
#define USUAL_S 0.027
#define SURVEY_S 0.45 /* as four hosts take it */
#define WATCHED 4     /* of that many calls one is watched */

/* Calls of a mebibyte take USUAL_S. */
static void begin(banyan_drift *drift)
{
    banyan_drift_restart(drift);
    for (int i = 0; i < BANYAN_DRIFT_SAMPLES; i++)
        banyan_drift_learn(drift, MIB, USUAL_S);
}

static int note(banyan_drift *drift, double seconds)
{
    return banyan_drift_note(drift, MIB, seconds, WATCHED, SURVEY_S);
}

/* How many of these are watched until the network is surveyed; 0: it is not. */
static int row(banyan_drift *drift, double seconds, int count)
{
    for (int i = 1; i <= count; i++)
        if (note(drift, seconds))
            return i;
    return 0;
}

TEST(calls_that_take_what_they_took_are_never_a_change)
{
    banyan_random random = {.state = 1};
    banyan_drift drift;

    begin(&drift);
    for (int i = 0; i < 100000; i++)
        assert_false(note(&drift, USUAL_S * (0.81 + 0.43 * banyan_random_unit(&random))));
}

TEST(a_single_late_call_is_no_change_however_late)
{
    banyan_drift drift;

    begin(&drift);
    for (int i = 0; i < 1000; i++) {
        assert_false(note(&drift, 60));
        assert_false(note(&drift, USUAL_S));
    }
}

/* As measured on four quiet hosts with BBR: each empties its queues for 0.2 s of every 10. */
TEST(short_rows_of_late_calls_that_come_back_are_no_change)
{
    banyan_random random = {.state = 2};
    banyan_drift drift;
    double phase_s[4], now_s = 0;

    begin(&drift);
    for (int h = 0; h < 4; h++)
        phase_s[h] = 10 * banyan_random_unit(&random);
    while (now_s < 3600) {
        double took_s = USUAL_S;

        for (int h = 0; h < 4; h++)
            if (fmod(now_s + phase_s[h], 10.2) < 0.2)
                took_s = fmax(took_s, 0.034 + 0.016 * banyan_random_unit(&random));
        assert_false(note(&drift, took_s));
        now_s += WATCHED * took_s;
    }
}

TEST(one_call_as_fast_as_before_ends_a_row)
{
    banyan_drift drift;
    int all;

    begin(&drift);
    all = row(&drift, 2 * USUAL_S, 1000);
    assert_true(all > 2);
    for (int i = 0; i < 100; i++) {
        begin(&drift);
        assert_int_equal(row(&drift, 2 * USUAL_S, all - 1), 0);
        assert_false(note(&drift, USUAL_S));
        assert_int_equal(row(&drift, 2 * USUAL_S, all - 1), 0);
        assert_int_equal(row(&drift, 2 * USUAL_S, 1), 1);
    }
}

TEST(a_link_with_a_tenth_of_its_speed_is_a_change_at_the_second_call)
{
    banyan_drift drift;

    begin(&drift);
    assert_int_equal(row(&drift, 10 * USUAL_S, 10), 2);
}

/* Neither sooner, nor more than what is watched at a time later, whatever calls take. */
TEST(a_row_counts_when_it_has_lost_what_a_survey_takes)
{
    banyan_random random = {.state = 3};

    for (int i = 0; i < 1000; i++) {
        double slower = 1.26 + 4 * banyan_random_unit(&random), lost_s, each_s;
        double survey_s = 0.1 + 5 * banyan_random_unit(&random);
        banyan_drift drift;
        int watched = 1;

        begin(&drift);
        while (!banyan_drift_note(&drift, MIB, slower * USUAL_S, WATCHED, survey_s))
            watched++;
        each_s = (slower - 1) * USUAL_S;
        lost_s = (1 + WATCHED * (watched - 1)) * each_s;
        if (lost_s < survey_s - 1e-9 || lost_s > survey_s + WATCHED * each_s + 1e-9)
            fail_msg("%g s were lost by calls that take %g times as long, and a survey takes %g", lost_s,
                     slower, survey_s);
    }
}

/* The least of the row is what the network takes; the rest comes from elsewhere. */
TEST(a_row_counts_by_its_fastest_call)
{
    banyan_drift drift;

    begin(&drift);
    assert_false(note(&drift, 5.0));
    assert_false(note(&drift, 1.3 * USUAL_S));
    begin(&drift);
    assert_false(note(&drift, 5.0));
    assert_true(note(&drift, 5.0));
}

TEST(calls_that_are_faster_than_before_are_a_change_too)
{
    banyan_drift drift;
    int watched;

    begin(&drift);
    watched = row(&drift, USUAL_S / 10, 1000);
    assert_true((1 + WATCHED * (watched - 1)) * USUAL_S * 0.9 >= SURVEY_S);
    assert_true((1 + WATCHED * (watched - 2)) * USUAL_S * 0.9 < SURVEY_S);
    begin(&drift);
    for (int i = 0; i < 1000; i++)
        assert_false(note(&drift, i % 2 ? 2 * USUAL_S : USUAL_S / 2)); /* neither the one nor the other */
}

TEST(sizes_are_not_compared_with_each_other)
{
    banyan_drift drift;

    begin(&drift);
    for (int i = 0; i < 1000; i++) {
        assert_false(note(&drift, USUAL_S));
        assert_false(banyan_drift_note(&drift, MIB + MIB / 2, 1.5 * USUAL_S, WATCHED, SURVEY_S));
        assert_false(banyan_drift_note(&drift, MIB * 2, 2 * USUAL_S, WATCHED, SURVEY_S));
    }
}

/* A size that is seen for the first time says nothing of the network. */
TEST(a_new_size_neither_ends_a_row_nor_makes_one)
{
    banyan_drift drift;
    int all, watched = 0;

    begin(&drift);
    all = row(&drift, 2 * USUAL_S, 1000);
    begin(&drift);
    for (size_t bytes = 3 * MIB;; bytes += MIB) {
        assert_false(banyan_drift_note(&drift, bytes, 10, WATCHED, SURVEY_S));
        watched++;
        if (note(&drift, 2 * USUAL_S))
            break;
    }
    assert_int_equal(watched, all);
}

TEST(sizes_of_any_length_have_a_place)
{
    static banyan_drift drift;

    banyan_drift_restart(&drift);
    for (size_t bytes = 1; bytes; bytes *= 2)
        for (int i = 0; i < 2 * BANYAN_DRIFT_SAMPLES; i++) {
            assert_false(banyan_drift_note(&drift, bytes, 1, 1, SURVEY_S));
            assert_false(banyan_drift_note(&drift, bytes - 1, 1, 1, SURVEY_S));
        }
    assert_false(banyan_drift_note(&drift, SIZE_MAX, 1, 1, SURVEY_S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_take_what_they_took_are_never_a_change),
        cmocka_unit_test(a_single_late_call_is_no_change_however_late),
        cmocka_unit_test(short_rows_of_late_calls_that_come_back_are_no_change),
        cmocka_unit_test(one_call_as_fast_as_before_ends_a_row),
        cmocka_unit_test(a_link_with_a_tenth_of_its_speed_is_a_change_at_the_second_call),
        cmocka_unit_test(a_row_counts_when_it_has_lost_what_a_survey_takes),
        cmocka_unit_test(a_row_counts_by_its_fastest_call),
        cmocka_unit_test(calls_that_are_faster_than_before_are_a_change_too),
        cmocka_unit_test(sizes_are_not_compared_with_each_other),
        cmocka_unit_test(a_new_size_neither_ends_a_row_nor_makes_one),
        cmocka_unit_test(sizes_of_any_length_have_a_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
