/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/quorum.c: which sides of a group may go on. */
#include "bootstrap/quorum.h"

#include "unit/test.h"

enum { MOST = 8 };

static int count_bits(unsigned set)
{
    int count = 0;

    for (; set; set &= set - 1)
        count++;
    return count;
}

static int may_go_on(int rule, unsigned side, int size)
{
    return side && banyan_quorum_is_met(rule, count_bits(side), size, (side & 1) != 0);
}

TEST(of_disjoint_sides_at_most_one_may_go_on_under_an_exclusive_rule)
{
    for (int size = 1; size <= MOST; size++)
        for (int rule = 0; rule <= size; rule++) {
            int both = 0;

            for (unsigned a = 1; a < 1u << size; a++)
                for (unsigned b = 1; b < 1u << size; b++)
                    both |= !(a & b) && may_go_on(rule, a, size) && may_go_on(rule, b, size);
            assert_int_equal(both, !banyan_quorum_is_exclusive(rule, size) && size > 1);
        }
}

TEST(a_cut_in_two_always_leaves_a_side_that_may_go_on_under_majority)
{
    for (int size = 1; size <= MOST; size++)
        for (unsigned a = 0; a < 1u << size; a++)
            assert_int_equal(may_go_on(BANYAN_QUORUM_MAJORITY, a, size) +
                                 may_go_on(BANYAN_QUORUM_MAJORITY, ~a & ((1u << size) - 1), size),
                             1);
}

TEST(rules_are_read_and_written)
{
    static const char *const texts[] = {"majority", "any", "at_least:2", "at_least:4096"};
    static const char *const wrong[] = {"",           "most",        "Majority",      "at_least",
                                        "at_least:0", "at_least:-1", "at_least:4097", "at_least:2x"};
    char text[BANYAN_QUORUM_TEXT];
    banyan_error err;
    int rule;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(banyan_quorum_parse(texts[i], &rule, &err), BANYAN_SUCCESS);
        assert_string_equal(banyan_quorum_format(rule, text), texts[i]);
    }
    assert_int_equal(banyan_quorum_parse("at_least:1", &rule, &err), BANYAN_SUCCESS);
    assert_string_equal(banyan_quorum_format(rule, text), "any");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(banyan_quorum_parse(wrong[i], &rule, &err), BANYAN_INVALID_ARGUMENT);
        assert_non_null(strstr(err.text, "is not majority, any or at_least:N with N from 1 to 4096"));
    }
}

TEST(who_may_not_go_on_is_told_how_many_are_left_what_was_asked_and_what_to_set)
{
    char text[400];

    banyan_quorum_explain(BANYAN_QUORUM_MAJORITY, 2, 7, text, sizeof text);
    assert_non_null(strstr(
        text, "2 of the last group's 7 ranks are left on this side, and BANYAN_SHRINK=majority asks for "
              "more than half, or half with rank 0; to go on with fewer, set BANYAN_SHRINK or "
              "config.shrink to any or at_least:N"));
    banyan_quorum_explain(3, 1, 2, text, sizeof text);
    assert_non_null(strstr(
        text,
        "1 of the last group's 2 ranks is left on this side, and BANYAN_SHRINK=at_least:3 asks for 3;"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_disjoint_sides_at_most_one_may_go_on_under_an_exclusive_rule),
        cmocka_unit_test(a_cut_in_two_always_leaves_a_side_that_may_go_on_under_majority),
        cmocka_unit_test(rules_are_read_and_written),
        cmocka_unit_test(who_may_not_go_on_is_told_how_many_are_left_what_was_asked_and_what_to_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
