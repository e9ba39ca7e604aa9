/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/train_grouping.c: groupings as values: their text form, judged under other conditions; profiles
 * and measured speeds. */
#include "unit/test.h"

#include <math.h>

#include "core/alloc.h"
#include "train/train.h"

static banyan_cost cost_of(const char *text)
{
    banyan_cost cost;

    assert_int_equal(banyan_cost_parse(text, &cost, NULL), 0);
    return cost;
}

static banyan_tensor three[] = {
    {(char *)"a", 4000, 1e-3}, {(char *)"b", 8192, 2e-3}, {(char *)"c", 8388608, 3e-3}};
static const banyan_model model = {
    .name = (char *)"three", .tensor_count = 3, .tensors = three, .forward_s = 1e-3, .backward_s = 3e-3};

static const char example[] = "{\"format\":\"banyan-grouping\",\"version\":1,\"streams\":2,\n"
                              "\"parts\":[[0,0,4000],[1,0,8192],[2,0,4194304],[2,4194304,4194304]],\n"
                              "\"groups\":[[2,0,0],[1,1,0],[1,1,0]]}\n";

TEST(a_text_becomes_a_grouping_with_times_and_the_same_text_again)
{
    banyan_cost cost = cost_of("linear:1e-3,1e-9,1.5,none");
    banyan_grouping *g;
    banyan_error err;
    char *text;

    if (banyan_grouping_parse(example, strlen(example), &model, &cost, &g, &err))
        fail_msg("%s", err.text);
    assert_int_equal(g->group_count, 3);
    assert_int_equal(g->groups[0].bytes, 12192);
    assert_true(g->groups[1].stream != g->groups[2].stream);
    assert_true(g->groups[0].start_s == 2e-3);
    /* Both halves start when c is ready: 1.5 times 4194304 ns after their start-up; the first group is gone
     * by then. */
    assert_true(fabs(g->groups[2].end_s - (3e-3 + 1e-3 + 1.5 * 4194304e-9)) < 2e-5);
    assert_true(fabs(g->iteration_s - (1e-3 + g->groups[2].end_s)) < 1e-12);
    assert_true(g->bound_s <= g->iteration_s);
    assert_int_equal(banyan_grouping_format(g, &text, NULL), 0);
    assert_string_equal(text, example);
    banyan_free(text);
    banyan_grouping_destroy(g);
}

TEST(every_policys_grouping_survives_its_text)
{
    banyan_cost cost = cost_of("linear:1e-3,1e-9,1.5,none");
    banyan_model *vgg;

    assert_int_equal(banyan_model_load("vgg16", 4, &vgg, NULL), 0);
    for (int i = 0; i < banyan_policy_count(); i++) {
        banyan_train_problem problem = {vgg, &cost, 0, 0};
        banyan_grouping *made, *read;
        char *text, digests[2][17];

        assert_int_equal(banyan_policy_plan(banyan_policy_at(i), &problem, &made, NULL), 0);
        assert_int_equal(banyan_grouping_format(made, &text, NULL), 0);
        assert_int_equal(banyan_grouping_parse(text, strlen(text), vgg, &cost, &read, NULL), 0);
        banyan_grouping_digest(made, digests[0]);
        banyan_grouping_digest(read, digests[1]);
        assert_string_equal(digests[0], digests[1]);
        assert_true(made->iteration_s == read->iteration_s && made->bound_s == read->bound_s);
        banyan_free(text);
        banyan_grouping_destroy(made);
        banyan_grouping_destroy(read);
    }
    banyan_model_destroy(vgg);
}

TEST(wrong_texts_are_refused_with_a_sentence)
{
#define HEAD "{\"format\":\"banyan-grouping\",\"version\":1,\"streams\":2,"
#define PARTS "\"parts\":[[0,0,4000],[1,0,8192],[2,0,8388608]],"
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"[]", "a grouping should be an object, not an array"},
        {"{\"format\":\"banyan-schedule\"}", "this is not a banyan-grouping"},
        {"{\"format\":\"banyan-grouping\",\"version\":2}", "a version other than 1"},
        {"{\"format\":\"banyan-grouping\",\"version\":1,\"streams\":9}",
         "\"streams\" should be a number from 1 to 8"},
        {HEAD "\"more\":1}", "unknown field \"more\""},
        {HEAD "\"parts\":[]}", "\"parts\" should be an array"},
        {HEAD "\"parts\":7}", "\"parts\" should be an array"},
        {HEAD PARTS "\"groups\":[[1,0,0],[1,0,0],[1,0,0],[1,0,0]]}",
         "\"groups\" should be an array of 1 to 3"},
        {HEAD "\"parts\":[[0,0]],\"groups\":[[1,0,0]]}", "part 0 should be [tensor, offset, bytes]"},
        {HEAD "\"parts\":[[1,0,8192]],\"groups\":[[1,0,0]]}",
         "part 0 should begin at byte 0 of tensor 0, not at byte 0 of tensor 1"},
        {HEAD "\"parts\":[[0,0,4001]],\"groups\":[[1,0,0]]}", "part 0: tensor 0 has no 4001 bytes left"},
        {HEAD "\"parts\":[[0,0,-1]],\"groups\":[[1,0,0]]}", "part 0: tensor 0 has no -1 bytes left"},
        {HEAD "\"parts\":[[0,0,0.5]],\"groups\":[[1,0,0]]}", "part 0: tensor 0 has no 0.5 bytes left"},
        {HEAD "\"parts\":[[0,0,4000],[1,0,8000]],\"groups\":[[2,0,0]]}", "tensor 1 (b) is not all there"},
        {HEAD "\"parts\":[[0,0,4000],[1,0,8192],[2,0,8388608],[3,0,1]],\"groups\":[[4,0,0]]}",
         "part 3: all 3 tensors are there already"},
        {HEAD PARTS "\"groups\":[[3,0]]}", "group 0 should be [parts, level, release]"},
        {HEAD PARTS "\"groups\":[[4,0,0]]}", "group 0 has 4 parts, but 3 are left"},
        {HEAD PARTS "\"groups\":[[0,0,0],[3,0,0]]}", "group 0 has 0 parts, but 3 are left"},
        {HEAD PARTS "\"groups\":[[3,2,0]]}", "group 0 has level 2, which is not from 0 to 1"},
        {HEAD PARTS "\"groups\":[[3,0,-1]]}", "group 0: no time is -1 s"},
        {HEAD PARTS "\"groups\":[[2,0,0]]}", "part 2 is in no group"},
    };
    banyan_cost cost = cost_of("linear:1e-3,1e-9");
    banyan_grouping *g;
    banyan_error err;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (!banyan_grouping_parse(wrong[i].text, strlen(wrong[i].text), &model, &cost, &g, &err))
            fail_msg("'%s' is accepted", wrong[i].text);
        assert_null(g);
        CHECK_SAYS(err, wrong[i].says);
    }
}

TEST(a_grouping_is_judged_on_what_was_observed)
{
    banyan_cost cost = cost_of("linear:1e-3,1e-9");
    banyan_tensor late[] = {three[0], three[1], three[2]};
    banyan_model observed = model;
    banyan_grouping *g;
    double before_s;

    observed.tensors = late;
    assert_int_equal(banyan_grouping_parse(example, strlen(example), &model, &cost, &g, NULL), 0);
    before_s = g->iteration_s;
    assert_true(banyan_grouping_drift(g, &model, &observed) == 0);
    late[0].ready_s = 2.6e-3; /* a is late, even later than b: the first group waits for it */
    assert_true(fabs(banyan_grouping_drift(g, &model, &observed) - 0.2) < 1e-9);
    assert_int_equal(banyan_grouping_judge(g, &observed, &cost, NULL), 0);
    assert_true(g->groups[0].start_s == 2.6e-3);
    assert_true(g->iteration_s >= before_s && g->iteration_s >= g->bound_s - 1e-12);
    late[2].ready_s = observed.backward_s = 6e-3;
    assert_true(fabs(banyan_grouping_drift(g, &model, &observed) - 1) < 1e-9);
    assert_int_equal(banyan_grouping_judge(g, &observed, &cost, NULL), 0);
    assert_true(g->iteration_s > before_s + 2e-3);
    banyan_grouping_destroy(g);
}

TEST(a_profile_becomes_a_model_in_the_order_of_readiness)
{
    static const char *const names[] = {"first", "second", "third"};
    const size_t bytes[] = {12, 8, 4};
    double ready_s[] = {3e-3, 1e-3, 3e-3};
    int order[3];
    banyan_model *made;
    banyan_error err;

    assert_int_equal(banyan_model_create("job", 3, names, bytes, ready_s, 1e-3, 4e-3, order, &made, NULL), 0);
    assert_string_equal(made->tensors[0].name, "second");
    assert_string_equal(made->tensors[1].name, "first");
    assert_int_equal(made->tensors[2].bytes, 4);
    assert_int_equal(order[0], 1);
    assert_int_equal(order[2], 2);
    assert_true(made->backward_s == 4e-3);
    banyan_model_destroy(made);
    ready_s[2] = 5e-3;
    assert_int_not_equal(banyan_model_create("job", 3, names, bytes, ready_s, 0, 4e-3, NULL, &made, &err), 0);
    CHECK_SAYS(err, "tensor 2 (third) is ready after 0.005 s, not within the 0.004 s of backward");
    ready_s[2] = NAN;
    assert_int_not_equal(banyan_model_create("job", 3, names, bytes, ready_s, 0, 4e-3, NULL, &made, &err), 0);
    CHECK_SAYS(err, "tensor 2 (third) is ready after nan s");
    assert_int_not_equal(banyan_model_create("job", 0, names, bytes, ready_s, 0, 4e-3, NULL, &made, &err), 0);
    CHECK_SAYS(err, "0 tensors are not 1 to");
    assert_int_not_equal(
        banyan_model_create("job", 1, names, (size_t[]){0}, ready_s, 0, 4e-3, NULL, &made, &err), 0);
    CHECK_SAYS(err, "tensor 0 (first) has 0 bytes");
    assert_int_not_equal(banyan_model_create("job", 3, names, bytes, ready_s, -1, 4e-3, NULL, &made, &err),
                         0);
    CHECK_SAYS(err, "forward of -1 s");
    assert_null(made);
}

TEST(measured_speeds_never_rise_and_saturate_beyond_what_was_measured)
{
    banyan_cost cost = cost_of("linear:1e-3,1e-9");
    banyan_error err;

    assert_int_equal(banyan_cost_set_speeds(&cost, (double[]){2, 1.6, 1.7}, 3, NULL), 0);
    assert_true(fabs(cost.speed[2] - 0.8) < 1e-12 && fabs(cost.speed[3] - 0.8) < 1e-12);
    assert_true(fabs(cost.speed[4] - 0.6) < 1e-12 && fabs(cost.speed[6] - 0.4) < 1e-12);
    assert_true(fabs(cost.gamma - 1.25) < 1e-12);
    assert_int_not_equal(banyan_cost_set_speeds(&cost, (double[]){1, 0}, 2, &err), 0);
    CHECK_SAYS(err, "speed 0 of each of 2 is not above 0");
    assert_int_not_equal(banyan_cost_set_speeds(&cost, (double[]){1}, 0, &err), 0);
    CHECK_SAYS(err, "0 speeds are not 1 to 8");
}

static banyan_status do_all(void)
{
    static const char *const names[] = {"a", "b", "c"};
    const size_t bytes[] = {4000, 8192, 8388608};
    const double ready_s[] = {1e-3, 2e-3, 3e-3};
    banyan_cost cost = cost_of("linear:1e-3,1e-9");
    banyan_model *made;
    banyan_grouping *g = NULL;
    char *text = NULL;
    banyan_status status = banyan_model_create("job", 3, names, bytes, ready_s, 0, 3e-3, NULL, &made, NULL);

    if (!status)
        status = banyan_grouping_parse(example, strlen(example), made, &cost, &g, NULL);
    if (!status)
        status = banyan_grouping_format(g, &text, NULL);
    banyan_free(text);
    banyan_grouping_destroy(g);
    banyan_model_destroy(made);
    return status;
}

TEST(all_of_it_survives_the_failure_of_each_allocation)
{
    banyan_status status = BANYAN_SYSTEM_ERROR;
    int calls = 0;

    for (; status; calls++) {
        banyan_alloc_fail_after(calls);
        status = do_all();
        banyan_alloc_fail_after(-1);
    }
    assert_true(calls > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_becomes_a_grouping_with_times_and_the_same_text_again),
        cmocka_unit_test(every_policys_grouping_survives_its_text),
        cmocka_unit_test(wrong_texts_are_refused_with_a_sentence),
        cmocka_unit_test(a_grouping_is_judged_on_what_was_observed),
        cmocka_unit_test(a_profile_becomes_a_model_in_the_order_of_readiness),
        cmocka_unit_test(measured_speeds_never_rise_and_saturate_beyond_what_was_measured),
        cmocka_unit_test(all_of_it_survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
