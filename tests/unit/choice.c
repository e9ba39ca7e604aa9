/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/choice.c: which algorithm serves which collective (planner/choice.h). */
#include "unit/test.h"

#include "group/plans.h"
#include "planner/choice.h"

static const char *name_of(const banyan_choice *choices, int collective)
{
    return choices[collective].algorithm ? choices[collective].algorithm->name : "auto";
}

static void parse(const char *text, banyan_choice *choices)
{
    banyan_error err;

    if (banyan_choices_parse(text, choices, &err))
        fail_msg("%s: %s", text, err.text);
}

TEST(a_name_alone_binds_the_allreduce_and_is_preferred_where_the_algorithm_can)
{
    banyan_choice choices[BANYAN_COLLECTIVE_COUNT];

    parse("double-tree", choices);
    assert_string_equal(name_of(choices, BANYAN_COLLECTIVE_ALLREDUCE), "double-tree");
    assert_int_equal(choices[BANYAN_COLLECTIVE_ALLREDUCE].is_binding, 1);
    assert_string_equal(name_of(choices, BANYAN_COLLECTIVE_BROADCAST), "double-tree");
    assert_int_equal(choices[BANYAN_COLLECTIVE_BROADCAST].is_binding, 0);
    assert_string_equal(name_of(choices, BANYAN_COLLECTIVE_ALLGATHER), "auto");
}

TEST(each_collective_may_have_its_own_algorithm)
{
    banyan_choice choices[BANYAN_COLLECTIVE_COUNT];

    parse("allreduce:flexreduce,reduce:ring", choices);
    assert_string_equal(name_of(choices, BANYAN_COLLECTIVE_ALLREDUCE), "flexreduce");
    assert_string_equal(name_of(choices, BANYAN_COLLECTIVE_REDUCE), "ring");
    assert_int_equal(choices[BANYAN_COLLECTIVE_REDUCE].is_binding, 1);
    assert_string_equal(name_of(choices, BANYAN_COLLECTIVE_BROADCAST), "auto");
    parse("ring,broadcast:binomial,allgather:auto", choices);
    assert_string_equal(name_of(choices, BANYAN_COLLECTIVE_ALLREDUCE), "ring");
    assert_string_equal(name_of(choices, BANYAN_COLLECTIVE_BROADCAST), "binomial");
    assert_string_equal(name_of(choices, BANYAN_COLLECTIVE_ALLGATHER), "auto");
}

TEST(what_is_not_known_is_named)
{
    static const char *const wrong[][2] = {
        {"rong", "no algorithm is named rong (did you mean ring?)"},
        {"allreduce:zzzzzz", "no algorithm is named zzzzzz"},
        {"ring,", "no algorithm is named ''"},
        {"allredce:ring", "no collective is named allredce (did you mean allreduce?)"},
        {"zzz:ring", "no collective is named zzz"},
        {"broadcast:flexreduce", "flexreduce cannot do broadcast"},
    };
    banyan_choice choices[BANYAN_COLLECTIVE_COUNT];
    banyan_error err;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(banyan_choices_parse(wrong[i][0], choices, &err), BANYAN_INVALID_ARGUMENT);
        assert_string_equal(err.text, wrong[i][1]);
    }
}

/* Every algorithm alone: what the all-reduce can be forced to never stands in the way of another
 * collective. */
TEST(whatever_algorithm_is_forced_the_other_collectives_are_served)
{
    banyan_setup setup = {.size = 5};
    banyan_error err;

    if (banyan_topology_load("hosts:2+3,gbps=1", &setup.topology, &err))
        fail_msg("%s", err.text);
    setup.active = setup.topology->workers;
    for (int a = 0; a < banyan_algorithm_count(); a++) {
        banyan_group_plan *plans = NULL, *plan;

        parse(banyan_algorithm_at(a)->name, setup.choices);
        for (int c = BANYAN_COLLECTIVE_ALLREDUCE + 1; c < BANYAN_COLLECTIVE_COUNT; c++)
            if (banyan_group_plan_get(&plans, &setup, (banyan_collective)c, 0, 1 << 20, BANYAN_FLOAT32, &plan,
                                      &err))
                fail_msg("%s forced, %s: %s", banyan_algorithm_at(a)->name,
                         banyan_collective_name((banyan_collective)c), err.text);
        banyan_group_plans_destroy(plans);
    }
    banyan_topology_destroy(setup.topology);
}

TEST(a_collective_that_names_its_algorithm_gets_no_other)
{
    banyan_setup setup = {.size = 5};
    banyan_group_plan *plans = NULL, *plan;
    banyan_error err;

    if (banyan_topology_load("switch:5", &setup.topology, &err))
        fail_msg("%s", err.text);
    setup.active = setup.topology->workers;
    parse("multi-ring,allreduce:leaders", setup.choices); /* leaders want several hosts */
    assert_int_equal(banyan_group_plan_get(&plans, &setup, BANYAN_COLLECTIVE_ALLREDUCE, 0, 1024,
                                           BANYAN_FLOAT32, &plan, &err),
                     BANYAN_UNSUPPORTED);
    banyan_group_plans_destroy(plans);
    banyan_topology_destroy(setup.topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_alone_binds_the_allreduce_and_is_preferred_where_the_algorithm_can),
        cmocka_unit_test(each_collective_may_have_its_own_algorithm),
        cmocka_unit_test(what_is_not_known_is_named),
        cmocka_unit_test(whatever_algorithm_is_forced_the_other_collectives_are_served),
        cmocka_unit_test(a_collective_that_names_its_algorithm_gets_no_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
