/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/planner.c: efforts, the explained choice, and wisdom. */
#include "unit/test.h"

#include <jansson.h>

#include "core/alloc.h"
#include "planner/wisdom.h"

static banyan_topology *load(const char *spec)
{
    banyan_topology *t;
    banyan_error err;

    if (banyan_topology_load(spec, &t, &err))
        fail_msg("%s", err.text);
    return t;
}

static banyan_problem problem_on(const banyan_topology *t, size_t bytes)
{
    return (banyan_problem){
        .topology = t, .active = t->workers, .active_count = t->worker_count, .bytes = bytes};
}

TEST(candidates_come_best_first_and_the_unapplicable_last)
{
    banyan_topology *t = load("hosts:2+3");
    banyan_problem problem = problem_on(t, 64 << 20);
    banyan_plan *plans;
    int count, applied = 0;

    assert_int_equal(banyan_plan_all(&problem, &plans, &count, NULL), 0);
    assert_int_equal(count, banyan_algorithm_count());
    while (applied < count && plans[applied].schedule)
        applied++;
    for (int i = 1; i < applied; i++)
        assert_true(plans[i].predicted_s >= plans[i - 1].predicted_s);
    for (int i = applied; i < count; i++)
        assert_true(!plans[i].schedule && strlen(plans[i].why_not.text) > 10);
    banyan_plans_destroy(plans, count);
    banyan_topology_destroy(t);
}

/* A plan of that many transfers on 8 full links, one connection on each. */
static banyan_plan fake_plan(banyan_schedule *schedule, size_t transfers, double predicted_s)
{
    *schedule = (banyan_schedule){.transfer_count = transfers, .round_count = 4};
    return (banyan_plan){.schedule = schedule,
                         .predicted_s = predicted_s,
                         .limits = {.bytes_per_s = 1e9, .full_links = 8, .crowd = 8}};
}

TEST(ties_within_half_a_percent_go_to_the_plan_with_the_fewest_transfers)
{
    banyan_schedule schedules[3];
    banyan_plan plans[3] = {fake_plan(&schedules[0], 100, 1), fake_plan(&schedules[1], 40, 1.004),
                            fake_plan(&schedules[2], 10, 1.006)};
    banyan_problem problem = {.bytes = 1 << 20};

    plans[0].limits.bytes_per_s = 1.1e9;
    assert_int_equal(banyan_plan_best(&problem, plans, 3, NULL, NULL), 1);
    plans[1].limits.crowd = 9; /* connections that meet are worse, however few */
    assert_int_equal(banyan_plan_best(&problem, plans, 3, NULL, NULL), 0);
    plans[1].limits.crowd = 8;
    plans[0].schedule = NULL;
    assert_int_equal(banyan_plan_best(&problem, plans, 3, NULL, NULL), 2);
}

TEST(a_list_of_algorithms_names_each_once)
{
    const banyan_algorithm **list;
    banyan_error err;
    int count;

    assert_int_equal(banyan_plan_select("forest,ring,forest", &list, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_string_equal(list[0]->name, "forest");
    banyan_free(list);
    assert_int_equal(banyan_plan_select(NULL, &list, &count, NULL), 0);
    assert_true(!list && count == banyan_algorithm_count());
    assert_int_equal(banyan_plan_select(",", &list, &count, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "no algorithm is named");
    assert_int_equal(banyan_plan_select("ring,rong", &list, &count, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "did you mean ring?");
    assert_null(list);
}

TEST(a_patient_search_tries_variants_and_is_never_worse)
{
    banyan_topology *t = load("torus:4x4");
    banyan_problem problem = problem_on(t, 256 << 10);
    banyan_plan *some, *all;
    int few, many;

    assert_int_equal(banyan_plan_candidates(&problem, BANYAN_EFFORT_MEASURE, &some, &few, NULL), 0);
    assert_int_equal(banyan_plan_candidates(&problem, BANYAN_EFFORT_PATIENT, &all, &many, NULL), 0);
    assert_true(many > few);
    assert_true(all[0].predicted_s <= some[0].predicted_s);
    banyan_plans_destroy(some, few);
    banyan_plans_destroy(all, many);
    banyan_topology_destroy(t);
}

static const banyan_plan *same_of(const banyan_plan *plan, const banyan_plan *plans, int count)
{
    for (int i = 0; i < count; i++)
        if (plans[i].algorithm == plan->algorithm && plans[i].variant.value == plan->variant.value)
            return &plans[i];
    return NULL;
}

/* Bounds hold, and leave out nothing that would have been chosen. */
static void check_contenders(const char *network, size_t bytes, int *outrun)
{
    banyan_topology *t = load(network);
    banyan_problem problem = problem_on(t, bytes);
    banyan_effort effort = banyan_plan_default_effort(&problem);
    banyan_plan *all, *few;
    int count, few_count, best, few_best;

    assert_int_equal(banyan_plan_candidates(&problem, effort, &all, &count, NULL), 0);
    assert_int_equal(banyan_plan_contenders(&problem, effort, 0, NULL, NULL, &few, &few_count, NULL), 0);
    assert_int_equal(few_count, count);
    best = banyan_plan_best(&problem, all, count, NULL, NULL);
    few_best = banyan_plan_best(&problem, few, few_count, NULL, NULL);
    assert_ptr_equal(few[few_best].algorithm, all[best].algorithm);
    assert_true(few[few_best].predicted_s == all[best].predicted_s);
    for (int i = 0; i < few_count; i++) {
        const banyan_plan *known = same_of(&few[i], all, count);

        assert_non_null(known);
        assert_true(!known->schedule == (!few[i].schedule && !few[i].is_outrun));
        assert_true(!known->schedule || few[i].least_s <= known->predicted_s * (1 + 1e-6));
        assert_true(!known->schedule || known->least_s <= known->predicted_s * (1 + 1e-6));
        assert_true(!few[i].is_outrun || known->predicted_s > BANYAN_PLAN_SIMILAR * all[best].predicted_s);
        *outrun += few[i].is_outrun;
    }
    banyan_plans_destroy(all, count);
    banyan_plans_destroy(few, few_count);
    banyan_topology_destroy(t);
}

TEST(candidates_that_cannot_be_chosen_are_not_predicted)
{
    static const char *const networks[] = {"hosts:2+3",   "switch:24",   "torus:4x4",
                                           "hosts:8+8+4", "rails:2x2x4", "racks:2x2x2,rack_gbps=50"};
    static const size_t sizes[] = {1 << 10, 256 << 10, 16 << 20};
    int outrun = 0;

    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            check_contenders(networks[i], sizes[k], &outrun);
    assert_true(outrun > 0);
}

TEST(efforts_have_names)
{
    banyan_effort effort;
    banyan_error err;

    assert_int_equal(banyan_effort_parse("patient", &effort, &err), 0);
    assert_int_equal(effort, BANYAN_EFFORT_PATIENT);
    assert_string_equal(banyan_effort_name(BANYAN_EFFORT_ESTIMATE), "estimate");
    assert_int_equal(banyan_effort_parse("hard", &effort, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "effort hard is not estimate, measure or patient");
}

TEST(each_step_of_the_effort_allows_more)
{
    for (int i = BANYAN_EFFORT_ESTIMATE; i < BANYAN_EFFORT_PATIENT; i++) {
        const banyan_budget *less = banyan_effort_budget((banyan_effort)i);
        const banyan_budget *more = banyan_effort_budget((banyan_effort)(i + 1));

        assert_true(less->target_share <= more->target_share && less->near_share < more->near_share);
        assert_true(less->near_visits < more->near_visits && less->most_visits < more->most_visits);
        assert_true(less->column_visits < more->column_visits);
    }
}

TEST(the_choice_is_explained_with_the_next_best_and_the_link_that_limits)
{
    banyan_topology *t = load("hosts:2+3");
    banyan_problem problem = problem_on(t, 64 << 20);
    banyan_plan plan;
    char *why;

    assert_int_equal(banyan_plan_search(&problem, BANYAN_EFFORT_MEASURE, NULL, &plan, &why, NULL), 0);
    assert_int_equal(strncmp(why, plan.algorithm->name, strlen(plan.algorithm->name)), 0);
    assert_non_null(strstr(why, "limited by link h"));
    assert_non_null(strstr(why, "; next "));
    assert_non_null(strstr(why, "; ring "));
    banyan_free(why);
    banyan_plan_fini(&plan);
    banyan_topology_destroy(t);
}

TEST(what_was_not_predicted_is_explained_with_what_it_takes_at_least)
{
    banyan_topology *t = load("switch:80");
    banyan_problem problem = problem_on(t, 1 << 10);
    banyan_plan plan;
    char *why;

    assert_int_equal(banyan_plan_search(&problem, BANYAN_EFFORT_MEASURE, NULL, &plan, &why, NULL), 0);
    assert_non_null(strstr(why, "; next "));
    assert_non_null(strstr(why, "; ring at least "));
    banyan_free(why);
    banyan_plan_fini(&plan);
    banyan_topology_destroy(t);
}

TEST(a_plan_from_wisdom_names_its_setting)
{
    banyan_topology *t = load("torus:4x4");
    banyan_problem problem = problem_on(t, 1 << 20);
    int recalled = 0;

    for (int i = 0; i < banyan_algorithm_count(); i++)
        for (const banyan_parameter *v = banyan_algorithm_at(i)->variants; v && v->key; v++) {
            banyan_wisdom_entry entry = {.collective = BANYAN_COLLECTIVE_ALLREDUCE};
            banyan_plan plan;

            snprintf(entry.algorithm, sizeof entry.algorithm, "%s", banyan_algorithm_at(i)->name);
            snprintf(entry.key, sizeof entry.key, "%s", v->key);
            snprintf(entry.value, sizeof entry.value, "%s", v->value);
            if (banyan_wisdom_recall(&entry, &problem, &plan, NULL))
                continue;
            assert_true(plan.variant.key && !strcmp(plan.variant.key, v->key));
            assert_string_equal(plan.variant.value, v->value);
            banyan_plan_fini(&plan);
            recalled++;
        }
    assert_true(recalled > 0);
    banyan_topology_destroy(t);
}

TEST(wisdom_is_found_again_for_sizes_nearby_and_for_nothing_else)
{
    banyan_topology *t = load("hosts:2+3"), *other = load("hosts:2+3,gbps=1");
    banyan_problem problem = problem_on(t, 5 << 20), elsewhere = problem_on(other, 5 << 20);
    banyan_wisdom wisdom;
    banyan_plan plan, again;
    char *why;

    banyan_wisdom_init(&wisdom);
    assert_int_equal(banyan_plan_search(&problem, BANYAN_EFFORT_MEASURE, &wisdom, &plan, NULL, NULL), 0);
    assert_true(wisdom.count == 1 && wisdom.changed);
    problem.bytes = 7 << 20;
    assert_non_null(banyan_wisdom_find(&wisdom, &problem, "", BANYAN_EFFORT_MEASURE));
    assert_non_null(banyan_wisdom_find(&wisdom, &problem, "", BANYAN_EFFORT_ESTIMATE));
    assert_null(banyan_wisdom_find(&wisdom, &problem, "", BANYAN_EFFORT_PATIENT));
    assert_int_equal(banyan_plan_search(&problem, BANYAN_EFFORT_MEASURE, &wisdom, &again, &why, NULL), 0);
    assert_ptr_equal(again.algorithm, plan.algorithm);
    assert_non_null(strstr(why, "known from wisdom"));
    problem.bytes = 8 << 20;
    assert_null(banyan_wisdom_find(&wisdom, &problem, "", BANYAN_EFFORT_MEASURE));
    problem.bytes = 5 << 20;
    problem.collective = BANYAN_COLLECTIVE_ALLGATHER;
    assert_null(banyan_wisdom_find(&wisdom, &problem, "", BANYAN_EFFORT_MEASURE));
    assert_null(banyan_wisdom_find(&wisdom, &elsewhere, "", BANYAN_EFFORT_MEASURE));
    elsewhere = problem_on(t, 5 << 20);
    elsewhere.active_count = 3;
    assert_null(banyan_wisdom_find(&wisdom, &elsewhere, "", BANYAN_EFFORT_MEASURE));
    banyan_free(why);
    banyan_plan_fini(&plan);
    banyan_plan_fini(&again);
    banyan_wisdom_fini(&wisdom);
    banyan_topology_destroy(t);
    banyan_topology_destroy(other);
}

static const char *found_for(const banyan_wisdom *wisdom, const banyan_problem *problem, const char *type)
{
    const banyan_wisdom_entry *entry = banyan_wisdom_find(wisdom, problem, type, BANYAN_EFFORT_ESTIMATE);

    return entry ? entry->algorithm : "nothing";
}

static void remember(banyan_wisdom *wisdom, const banyan_problem *problem, const char *type,
                     const char *algorithm, banyan_effort effort)
{
    banyan_plan plan = {.algorithm = banyan_algorithm_find(algorithm), .predicted_s = 1};

    assert_int_equal(banyan_wisdom_remember(wisdom, problem, type, &plan, effort, NULL), 0);
}

TEST(wisdom_of_a_type_goes_first_and_serves_others_where_there_is_nothing_better)
{
    banyan_topology *t = load("ring:4");
    banyan_problem problem = problem_on(t, 1 << 20);
    banyan_wisdom wisdom, again;
    char *text;

    banyan_wisdom_init(&wisdom);
    remember(&wisdom, &problem, "", "direct", BANYAN_EFFORT_MEASURE);
    assert_false(banyan_wisdom_is_typed(&wisdom, &problem));
    remember(&wisdom, &problem, "float32", "ring", BANYAN_EFFORT_TIMED);
    assert_true(banyan_wisdom_is_typed(&wisdom, &problem));
    assert_string_equal(found_for(&wisdom, &problem, "float32"), "ring");
    assert_string_equal(found_for(&wisdom, &problem, "bfloat16"), "ring"); /* timed, if with another type */
    assert_string_equal(found_for(&wisdom, &problem, ""), "direct");
    remember(&wisdom, &problem, "", "direct", BANYAN_EFFORT_TIMED);
    assert_string_equal(found_for(&wisdom, &problem, "bfloat16"), "direct");
    remember(&wisdom, &problem, "bfloat16", "halving-doubling", BANYAN_EFFORT_ESTIMATE);
    assert_string_equal(found_for(&wisdom, &problem, "bfloat16"), "halving-doubling");
    assert_string_equal(found_for(&wisdom, &problem, "float32"), "ring");
    assert_int_equal(wisdom.count, 3);
    assert_int_equal(banyan_wisdom_format(&wisdom, &text, NULL), 0);
    assert_int_equal(banyan_wisdom_parse(text, strlen(text), &again, NULL), 0);
    assert_string_equal(found_for(&again, &problem, "bfloat16"), "halving-doubling");
    problem.bytes = 1 << 30;
    assert_false(banyan_wisdom_is_typed(&wisdom, &problem));
    banyan_free(text);
    banyan_wisdom_fini(&wisdom);
    banyan_wisdom_fini(&again);
    banyan_topology_destroy(t);
}

TEST(wisdom_about_an_algorithm_that_is_gone_is_passed_over)
{
    banyan_topology *t = load("ring:4");
    banyan_problem problem = problem_on(t, 1 << 20);
    banyan_wisdom wisdom;
    banyan_plan plan;

    banyan_wisdom_init(&wisdom);
    assert_int_equal(banyan_plan_search(&problem, BANYAN_EFFORT_MEASURE, &wisdom, &plan, NULL, NULL), 0);
    banyan_plan_fini(&plan);
    snprintf(wisdom.entries[0].algorithm, sizeof wisdom.entries[0].algorithm, "vanished");
    assert_int_equal(banyan_plan_search(&problem, BANYAN_EFFORT_MEASURE, &wisdom, &plan, NULL, NULL), 0);
    assert_string_equal(wisdom.entries[0].algorithm, plan.algorithm->name);
    assert_int_equal(wisdom.count, 1);
    banyan_plan_fini(&plan);
    banyan_wisdom_fini(&wisdom);
    banyan_topology_destroy(t);
}

static char *make_wisdom_text(void)
{
    banyan_topology *t = load("ring:4");
    banyan_problem problem = problem_on(t, 3);
    banyan_wisdom wisdom;
    banyan_plan plan;
    char *text;

    banyan_wisdom_init(&wisdom);
    for (problem.bytes = 0; problem.bytes < 40; problem.bytes += 13) {
        assert_int_equal(banyan_plan_search(&problem, BANYAN_EFFORT_ESTIMATE, &wisdom, &plan, NULL, NULL), 0);
        banyan_plan_fini(&plan);
    }
    assert_int_equal(wisdom.count, 4);
    assert_int_equal(banyan_wisdom_format(&wisdom, &text, NULL), 0);
    banyan_wisdom_fini(&wisdom);
    banyan_topology_destroy(t);
    return text;
}

TEST(wisdom_writes_what_it_read)
{
    char *text = make_wisdom_text(), *same;
    banyan_wisdom wisdom;

    assert_int_equal(banyan_wisdom_parse(text, strlen(text), &wisdom, NULL), 0);
    assert_true(wisdom.count == 4 && !wisdom.changed);
    assert_int_equal(banyan_wisdom_format(&wisdom, &same, NULL), 0);
    assert_string_equal(text, same);
    banyan_free(text);
    banyan_free(same);
    banyan_wisdom_fini(&wisdom);
}

TEST(says_what_is_wrong_in_wisdom)
{
#define HEAD "{\"format\":\"banyan-wisdom\",\"version\":1,\"entries\":["
#define NETWORK "{\"topology\":\"0123456789abcdef\","
#define KEYS NETWORK "\"active\":\"fedcba9876543210\",\"collective\":\"allreduce\",\"root\":0,"
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{", "line 1"},
        {"{\"format\":\"x\"}", "\"format\" should be"},
        {"{\"format\":\"banyan-wisdom\"}", "\"version\" should be 1"},
        {"{\"format\":\"banyan-wisdom\",\"version\":2}", "\"version\" should be 1"},
        {"{\"format\":\"banyan-wisdom\",\"version\":1}", "\"entries\" should be an array"},
        {HEAD "7]}", "entry 0 should be an object"},
        {HEAD "{}]}", "entry 0: \"topology\""},
        {HEAD "{\"topology\":\"0123456789abcdef0\"}]}", "entry 0: \"topology\""},
        {HEAD "{\"topology\":\"012345678\"}]}", "entry 0: \"topology\""},
        {HEAD NETWORK "\"active\":\"0123456789abcde\\b\"}]}", "entry 0: \"active\""},
        {HEAD KEYS "\"min_bytes\":-1}]}", "\"min_bytes\""},
        {HEAD KEYS "\"min_bytes\":5,\"max_bytes\":4}]}", "\"max_bytes\""},
        {HEAD KEYS "\"min_bytes\":5,\"max_bytes\":9,\"type\":\"float33\"}]}", "entry 0: \"type\""},
        {HEAD KEYS "\"min_bytes\":5,\"max_bytes\":9,\"type\":7}]}", "entry 0: \"type\""},
        {HEAD KEYS "\"min_bytes\":5,\"max_bytes\":9,\"algorithm\":\"x\",\"key\":\"\",\"value\":\"\","
                   "\"effort\":\"none\"}]}",
         "\"effort\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_wisdom wisdom;
        banyan_error err = {""};

        assert_int_equal(banyan_wisdom_parse(cases[i].text, strlen(cases[i].text), &wisdom, &err),
                         BANYAN_INVALID_ARGUMENT);
        assert_null(wisdom.entries);
        CHECK_SAYS(err, cases[i].says);
    }
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_topology *t = load("ring:3");
    banyan_problem problem = problem_on(t, 1 << 10);
    char *text = make_wisdom_text(), *why = NULL;
    banyan_wisdom wisdom;
    banyan_plan plan = {0};
    banyan_status status = BANYAN_SYSTEM_ERROR;

    for (long calls = 0; status; calls++) {
        banyan_alloc_fail_after(calls);
        status = banyan_wisdom_parse(text, strlen(text), &wisdom, NULL);
    }
    for (long calls = 0; !plan.schedule; calls += 7) {
        banyan_alloc_fail_after(calls);
        banyan_plan_search(&problem, BANYAN_EFFORT_ESTIMATE, &wisdom, &plan, &why, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_plan_fini(&plan);
    banyan_free(why);
    banyan_free(text);
    banyan_wisdom_fini(&wisdom);
    banyan_topology_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_come_best_first_and_the_unapplicable_last),
        cmocka_unit_test(ties_within_half_a_percent_go_to_the_plan_with_the_fewest_transfers),
        cmocka_unit_test(a_list_of_algorithms_names_each_once),
        cmocka_unit_test(each_step_of_the_effort_allows_more),
        cmocka_unit_test(a_patient_search_tries_variants_and_is_never_worse),
        cmocka_unit_test(candidates_that_cannot_be_chosen_are_not_predicted),
        cmocka_unit_test(efforts_have_names),
        cmocka_unit_test(the_choice_is_explained_with_the_next_best_and_the_link_that_limits),
        cmocka_unit_test(what_was_not_predicted_is_explained_with_what_it_takes_at_least),
        cmocka_unit_test(a_plan_from_wisdom_names_its_setting),
        cmocka_unit_test(wisdom_is_found_again_for_sizes_nearby_and_for_nothing_else),
        cmocka_unit_test(wisdom_of_a_type_goes_first_and_serves_others_where_there_is_nothing_better),
        cmocka_unit_test(wisdom_about_an_algorithm_that_is_gone_is_passed_over),
        cmocka_unit_test(wisdom_writes_what_it_read),
        cmocka_unit_test(says_what_is_wrong_in_wisdom),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    json_set_alloc_funcs(banyan_malloc, banyan_free);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
